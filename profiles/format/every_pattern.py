"""All patterns of a profile, each by its key, with the line that it is for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from profiles.format.line_reading import LineReading
from profiles.format.measure_section import Metric, Rule, Variant
from profiles.format.profile import Profile
from profiles.format.run_fact_names import NUMBERS


class Reads(Enum):
    """What a pattern takes from its line."""

    READING = auto()  # of the rule: a number, perhaps its step and time
    NUMBER = auto()
    TIME = auto()
    TEXT = auto()
    RANK = auto()  # where a rank's time goes
    OWN_TIME = auto()  # of a rank, while the run is at work
    NOTHING = auto()  # that the line is there says it


@dataclass(frozen=True, slots=True)
class PatternAt:
    """``example_key``: where its example line stands, or should; empty where it needs none.

    ``rules``: one of these, by the case, says whose output counts and what a reading is.
    """

    key: str
    reading: LineReading
    example_key: str = ""
    reads: Reads = Reads.NOTHING
    rules: tuple[Rule, ...] = ()


def every_pattern(profile: Profile) -> Iterator[PatternAt]:
    """The patterns of all sections; a variant's where they or their examples are its own."""
    measure = profile.measure
    *variants, always = (rule for _when, rule in measure.rules)
    if (explain := profile.explain) is not None:
        told = LineReading(reading=explain.reading, example=explain.example)
        yield PatternAt("explain.reading", told, "explain.example", Reads.RANK)
    if (ranks := profile.ranks) is not None:
        told = LineReading(reading=ranks.reading, example=ranks.example)
        yield PatternAt("ranks.reading", told, "ranks.example", Reads.OWN_TIME)
    yield from _of_rule("measure", always)
    for number, (variant, rule) in enumerate(zip(measure.variant, variants, strict=True)):
        yield from _of_rule(f"measure.variant[{number}]", rule, variant)
    rules = (always, *variants)
    for name, metric in measure.metrics.items():
        yield _at(f"measure.metrics.{name}", metric, _of_metric(metric), rules)
    for name, stated in measure.stated.items():
        reads = Reads.NUMBER if name in NUMBERS else Reads.TEXT
        yield _at(f"measure.stated.{name}", stated, reads, rules)
    for number, failure in enumerate(measure.failure):
        key = f"measure.failure[{number}]"
        told = LineReading(reading=failure.pattern, example=failure.example)
        yield PatternAt(f"{key}.pattern", told, f"{key}.example")
    for number, path in enumerate(profile.import_.paths):
        yield PatternAt(f"import.paths[{number}]", LineReading(reading=path))


def _of_rule(key: str, rule: Rule, own: Variant | None = None) -> Iterator[PatternAt]:
    """The rule's patterns; of a variant's rule those that are its ``own``."""

    def says(*names: str) -> bool:
        return own is None or any(getattr(own, name) is not None for name in names)

    if says("reading", "paths", "where", "example"):
        yield _at(key, rule, Reads.READING, (rule,))
    if rule.summary and says("summary", "summary_example"):
        summary = LineReading(reading=rule.summary, example=rule.summary_example)
        yield PatternAt(f"{key}.summary", summary, f"{key}.summary_example", Reads.NUMBER, (rule,))
    if rule.rank_prefix and says("rank_prefix"):
        yield PatternAt(f"{key}.rank_prefix", LineReading(reading=rule.rank_prefix))


def _of_metric(metric: Metric) -> Reads:
    return Reads.NUMBER if metric.timestamp is None else Reads.TIME


def _at(key: str, reading: LineReading, reads: Reads, rules: tuple[Rule, ...]) -> PatternAt:
    return PatternAt(f"{key}.reading", reading, f"{key}.example", reads, rules)
