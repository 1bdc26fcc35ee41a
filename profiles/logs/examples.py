"""The example lines beside a profile's patterns, read as a log would be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from profiles.cleantext import ESCAPE_BYTES
from profiles.format.every_pattern import PatternAt, Reads, every_pattern
from profiles.format.line_reading import LineReading
from profiles.format.measure_section import Metric, Rule
from profiles.format.profile import Profile
from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.format.regex.line_pattern import line_pattern
from profiles.format.validators import OWN_TIME_GROUPS, RANK_GROUPS
from profiles.logs.lines import cut_long_lines
from profiles.logs.ranks import MPI_PREFIX, RankFilter
from profiles.logs.readings import Text, to_number
from profiles.logs.search import Search
from profiles.logs.sinks import AddNumbers, Column
from profiles.logs.timestamps import TimestampParser


class Flaw(Enum):
    """What is wrong with a pattern's example."""

    MISSING = auto()
    NOT_FOUND = auto()  # the pattern does not find it
    NO_NUMBER = auto()  # what it reads is none
    NO_STEP = auto()  # the rule needs one
    NO_TIME = auto()  # what it reads is not in the format


@dataclass(frozen=True, slots=True)
class ExampleFlaw:
    """``key``: of the example in the profile."""

    key: str
    flaw: Flaw


def example_flaws(profile: Profile) -> Iterator[ExampleFlaw]:
    """The patterns without an example, and those that do not read theirs."""
    for at in every_pattern(profile):
        if at.example_key and (flaw := _flaw(at)) is not None:
            yield ExampleFlaw(at.example_key, flaw)


def _flaw(at: PatternAt) -> Flaw | None:
    if not at.reading.example:
        return Flaw.MISSING
    lines = _as_in_a_log(at.reading.example)
    if not at.rules:
        return _line_flaw(at, lines)
    # A metric is for every case: it is enough that one of their rules shows its line.
    found = (_found(at.reading, rule, lines) for rule in at.rules)
    rows = next(filter(None, found), [])
    flaws = (_row_flaw(at, row) for row in rows)
    return next(filter(None, flaws), None) if rows else Flaw.NOT_FOUND


def _as_in_a_log(example: str) -> bytes:
    """The lines that a log with this text has, as :mod:`profiles.logs.log_parser` sees them."""
    lines = cut_long_lines(example.encode().replace(b"\r", b"\n") + b"\n", LINE_LIMIT)
    return ESCAPE_BYTES.sub(b"", lines)


def _line_flaw(at: PatternAt, lines: bytes) -> Flaw | None:
    """Of a pattern for which every rank's lines count."""
    pattern = line_pattern(at.reading.reading)
    texts = lines.decode("utf-8", "replace").split("\n")
    match = next(filter(None, map(pattern.search, texts)), None)
    if match is None:
        return Flaw.NOT_FOUND
    numbers = {Reads.RANK: RANK_GROUPS, Reads.OWN_TIME: OWN_TIME_GROUPS}.get(at.reads, ())
    if not all(_is_number(match[name] or "") for name in numbers):
        return Flaw.NO_NUMBER
    return None


class _Rows:
    """A sink that keeps all: value, step and time of each match that reads something."""

    last_only = False
    numbers_alone = True

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        self.add_numbers: AddNumbers | None = None

    def add(self, value: Text, step: Text, time: Text) -> bool:
        row = (_text(value), _text(step), _text(time))
        if row[0]:
            self.rows.append(row)
        return bool(row[0])

    def add_all(self, values: Column, steps: Column | None, times: Column | None) -> None:
        nothing = ("",) * len(values)
        for row in zip(values, steps or nothing, times or nothing, strict=True):
            self.add(*row)


def _text(told: Text) -> str:
    return told if isinstance(told, str) else told.decode("utf-8", "replace")


def _found(reading: LineReading, rule: Rule, lines: bytes) -> list[tuple[str, str, str]]:
    kept = _Rows()
    Search(reading, RankFilter(rule.ranks, rule.rank_prefix or MPI_PREFIX), kept).run(lines)
    return kept.rows


def _row_flaw(at: PatternAt, row: tuple[str, str, str]) -> Flaw | None:
    value, step, time = row
    if at.reads in (Reads.READING, Reads.NUMBER) and not _is_number(value):
        return Flaw.NO_NUMBER
    if isinstance(at.reading, Rule):
        if at.reading.needs_steps and not _is_number(step):
            return Flaw.NO_STEP
        return _time_flaw(at.reading.timestamp, time)
    return _time_flaw(at.reading.timestamp, value) if isinstance(at.reading, Metric) else None


def _time_flaw(layout: str | None, text: str) -> Flaw | None:
    if layout is None or math.isfinite(TimestampParser(layout).seconds(text)):
        return None
    return Flaw.NO_TIME


def _is_number(text: str) -> bool:
    return math.isfinite(to_number(text))
