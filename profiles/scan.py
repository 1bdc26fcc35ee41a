"""One pattern over blocks of lines, as cheaply as the pattern and the block allow."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Sequence
from typing import Protocol

from profiles.lines import lines_with, lines_with_backwards
from profiles.literals import starts_with_literal, stays_in_line
from profiles.metrics import MetricValues
from profiles.patterns import compile_pattern
from profiles.ranks import PREFIX_HINT, parts_of_ranks
from profiles.readings import Readings

Text = str | bytes
Row = tuple[Text, ...]
"""What a match caught: value, step, time; empty where the pattern has no such group."""

_GROUPS = ("value", "step", "time")
_BULK = 16


class Sink(Protocol):
    """Where matches go. ``last_only``: an accepted match makes all before it worthless."""

    last_only: bool

    def add(self, row: Row) -> bool:
        """Take one match; False when its value is no finite number."""

    def add_all(self, rows: Sequence[Row]) -> None:
        """Take matches in the order of the log."""


class Search:
    """``literal`` is in every match, if not None; ``ranks`` are those whose output counts."""

    def __init__(
        self, pattern: str, literal: bytes | None, ranks: tuple[int, ...] | str, sink: Sink
    ) -> None:
        self.literal = literal
        self._ranks = ranks if isinstance(ranks, tuple) else None
        self._sink = sink
        self._pattern = compile_pattern(pattern)
        groups = self._pattern.groupindex
        self._columns = tuple(groups[name] - 1 if name in groups else None for name in _GROUPS)
        # Such a pattern finds its literal itself, and faster than line by line.
        self._whole = stays_in_line(pattern) and (literal is None or starts_with_literal(pattern))
        self._bytes_pattern = (
            re.compile(pattern.encode(), re.ASCII | re.MULTILINE) if self._whole else None
        )

    def run_plain(self, block: bytes) -> None:
        """Search a block of ASCII lines in which no rank is named."""
        if self._sink.last_only and self.literal is not None:
            self._run_backwards(block)
        elif self._bytes_pattern is not None:
            self._sink.add_all(self._rows(self._bytes_pattern, block))
        else:
            self.run(block)

    def run(self, block: bytes) -> None:
        """Search any block of lines."""
        for _start, line in lines_with(block, self.literal):
            self._sink.add_all(self._line(line))

    def _run_backwards(self, block: bytes) -> None:
        for line in lines_with_backwards(block, self.literal or b""):
            if any(self._sink.add(row) for row in reversed(self._line(line))):
                return

    def _line(self, line: bytes) -> list[Row]:
        text = line.decode("utf-8", "replace")
        if self._ranks is None or PREFIX_HINT not in line:
            return self._rows(self._pattern, text)
        parts = parts_of_ranks(text, self._ranks)
        return [row for part in parts for row in self._rows(self._pattern, part)]

    def _rows(self, pattern: re.Pattern[str] | re.Pattern[bytes], text: Text) -> list[Row]:
        found = pattern.findall(text)  # type: ignore[arg-type]  # both are str or both bytes
        if pattern.groups == 1:
            return [(value, "", "") for value in found]
        value, step, time = self._columns
        return [
            (row[value], "" if step is None else row[step], "" if time is None else row[time])
            for row in found
        ]


class ReadingSink:
    """Appends to readings. Times go through ``seconds``; ``rejected`` counts unusable values."""

    last_only = False

    def __init__(self, readings: Readings, seconds: Callable[[str], float] | None) -> None:
        self.rejected = 0
        self._readings = readings
        self._seconds = seconds

    def add(self, row: Row) -> bool:
        value, step, time = row
        number = to_number(value)
        if not math.isfinite(number):
            self.rejected += bool(value)
            return False
        self._readings.append(number, to_number(step), self._time(time))
        return True

    def add_all(self, rows: Sequence[Row]) -> None:
        if len(rows) < _BULK or not self._add_bulk(rows):
            for row in rows:
                self.add(row)

    def _add_bulk(self, rows: Sequence[Row]) -> bool:
        """All at once, if every value is a finite number; changes nothing otherwise."""
        try:
            values = array("d", [float(row[0]) for row in rows])
            steps = array("d", [float(row[1] or "nan") for row in rows])
        except ValueError:
            return False
        if not math.isfinite(sum(values)):
            return False
        times = array("d", [self._time(row[2]) for row in rows]) if self._seconds else None
        self._readings.extend(values, steps, times or array("d", [math.nan]) * len(rows))
        return True

    def _time(self, text: Text) -> float:
        if self._seconds is None or not text:
            return math.nan
        return self._seconds(text if isinstance(text, str) else text.decode("ascii"))


class ValueSink:
    """Hands finite values to a metric."""

    def __init__(self, values: MetricValues) -> None:
        self.last_only = values.statistic == "last"
        self._values = values

    def add(self, row: Row) -> bool:
        number = to_number(row[0])
        if not math.isfinite(number):
            return False
        self._values.add(number)
        return True

    def add_all(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.add(row)


def to_number(text: Text) -> float:
    """The number, thousands separated by commas or not; NaN for anything else."""
    try:
        return float(text)
    except ValueError:
        pass
    comma: Text = "," if isinstance(text, str) else b","
    try:
        return float(text.replace(comma, comma[:0]))  # type: ignore[arg-type]  # both str or bytes
    except ValueError:
        return math.nan
