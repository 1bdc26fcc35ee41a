"""All patterns of a profile, each by the key where it stands first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from profiles.format.line_reading import LineReading
from profiles.format.profile import Profile


@dataclass(frozen=True, slots=True)
class PatternAt:
    """``example_key``: where its example line stands, or should; empty where it needs none.

    ``is_number``: its value is one.
    """

    key: str
    reading: LineReading
    example_key: str = ""
    is_number: bool = True


def every_pattern(profile: Profile) -> Iterator[PatternAt]:
    """Every pattern once; a variant's only where it is another than those before it."""
    seen: set[tuple[str, str]] = set()
    for at in _all(profile):
        text = (at.reading.reading, repr(sorted(at.reading.paths.items())))
        if text not in seen:
            seen.add(text)
            yield at


def _all(profile: Profile) -> Iterator[PatternAt]:
    measure = profile.measure
    if (explain := profile.explain) is not None:
        told = LineReading(reading=explain.reading, example=explain.example)
        yield PatternAt("explain.reading", told, "explain.example", is_number=False)
    keys = [*(f"measure.variant[{number}]" for number in range(len(measure.variant))), "measure"]
    for key, (_when, rule) in reversed(list(zip(keys, measure.rules, strict=True))):
        yield PatternAt(f"{key}.reading", rule, f"{key}.example")
        if rule.summary:
            summary = LineReading(reading=rule.summary, example=rule.summary_example)
            yield PatternAt(f"{key}.summary", summary, f"{key}.summary_example")
        if rule.rank_prefix:
            yield PatternAt(f"{key}.rank_prefix", LineReading(reading=rule.rank_prefix))
    for name, metric in measure.metrics.items():
        key = f"measure.metrics.{name}"
        is_number = metric.timestamp is None
        yield PatternAt(f"{key}.reading", metric, f"{key}.example", is_number)
    for name, stated in measure.stated.items():
        key = f"measure.stated.{name}"
        yield PatternAt(f"{key}.reading", stated, f"{key}.example", is_number=False)
    for number, failure in enumerate(measure.failure):
        key = f"measure.failure[{number}]"
        told = LineReading(reading=failure.pattern, example=failure.example)
        yield PatternAt(f"{key}.pattern", told, f"{key}.example", is_number=False)
    for number, path in enumerate(profile.import_.paths):
        yield PatternAt(f"import.paths[{number}]", LineReading(reading=path))
