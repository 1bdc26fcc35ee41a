"""The example lines beside a profile's patterns, read as a log would be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from profiles.cleantext import ESCAPE_BYTES
from profiles.format.every_pattern import PatternAt, every_pattern
from profiles.format.patterns import line_pattern
from profiles.format.profile import Profile
from profiles.logs.ranks import MPI_PREFIX, RankFilter
from profiles.logs.readings import to_number
from profiles.logs.search import Search, TextSink


class Flaw(StrEnum):
    """What is wrong with a pattern's example."""

    MISSING = "has no example"
    NOT_FOUND = "does not find its example"
    NO_NUMBER = "reads no number from its example"


@dataclass(frozen=True, slots=True)
class ExampleFlaw:
    """``key``: of the example in the profile."""

    key: str
    flaw: Flaw


def example_flaws(profile: Profile) -> Iterator[ExampleFlaw]:
    """The patterns without an example, and those that are not as theirs says."""
    measure = profile.measure
    ranks = RankFilter(measure.ranks, measure.rank_prefix or MPI_PREFIX)
    for at in every_pattern(profile):
        if at.example_key and (flaw := _flaw(at, ranks)) is not None:
            yield ExampleFlaw(at.example_key, flaw)


def _flaw(at: PatternAt, ranks: RankFilter) -> Flaw | None:
    if not at.reading.example:
        return Flaw.MISSING
    if "value" not in at.reading.names:
        found = line_pattern(at.reading.reading).search(at.reading.example)
        return None if found is not None else Flaw.NOT_FOUND
    sink = TextSink()
    line = ESCAPE_BYTES.sub(b"", at.reading.example.encode())
    Search(at.reading, ranks, sink).run(line + b"\n")
    if sink.text is None:
        return Flaw.NOT_FOUND
    if at.is_number and not math.isfinite(to_number(sink.text)):
        return Flaw.NO_NUMBER
    return None
