"""Which of a profile's patterns cannot be left to the fast engine: what ``profiles check`` says."""

from __future__ import annotations

from collections.abc import Iterator

from profiles.format.measuring import Rule, Variant
from profiles.format.patterns import costly
from profiles.format.profile import Profile


def costly_patterns(profile: Profile) -> Iterator[tuple[str, str]]:
    """The key of each pattern that runs in linear time instead, and which part makes it costly."""
    for key, text in _patterns(profile):
        if reason := costly(text):
            yield key, reason


def _patterns(profile: Profile) -> Iterator[tuple[str, str]]:
    """Every pattern once, by the key where it stands first."""
    seen: set[str] = set()
    for key, text in _all(profile):
        if text and text not in seen:
            seen.add(text)
            yield key, text


def _all(profile: Profile) -> Iterator[tuple[str, str | None]]:
    measure = profile.measure
    if profile.explain is not None:
        yield "explain.reading", profile.explain.reading
    rules: list[tuple[str, Rule | Variant]] = [("measure", measure)]
    rules += [(f"measure.variant[{number}]", it) for number, it in enumerate(measure.variant)]
    for key, rule in rules:
        yield f"{key}.reading", rule.reading
        yield f"{key}.summary", rule.summary
        yield f"{key}.rank_prefix", rule.rank_prefix
    for name, metric in measure.metrics.items():
        yield f"measure.metrics.{name}.reading", metric.reading
    for name, pattern in measure.stated.items():
        yield f"measure.stated.{name}", pattern
    for number, failure in enumerate(measure.failure):
        yield f"measure.failure[{number}].pattern", failure.pattern
    for number, path in enumerate(profile.import_.paths):
        yield f"import.paths[{number}]", path
