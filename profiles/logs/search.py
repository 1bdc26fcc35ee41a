"""One pattern over blocks of lines, as cheaply as the pattern and the block allow."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Protocol, cast

from profiles.format.line_reading import LineReading
from profiles.format.regex.line_pattern import LINE_LIMIT, line_pattern
from profiles.logs.intervals import Intervals
from profiles.logs.json_fields import JsonFields
from profiles.logs.lines import has_longer, lines_backwards, lines_with
from profiles.logs.literals import required_literals, stays_in_line
from profiles.logs.metrics import Curve, MarkedSpan, MetricValues
from profiles.logs.prefilter import Narrower
from profiles.logs.ranks import RankFilter
from profiles.logs.readings import Columns, to_number

Text = str | bytes
Column = Sequence[Text]

_NAN = math.nan
_BULK = 16  # matches from which on columns are faster than rows
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}  # of the units that a log may name
_END = 16384  # where a log's last match of a pattern often is


class Sink(Protocol):
    """Where matches go. ``last_only``: an accepted match makes all before it worthless."""

    last_only: bool

    def add(self, value: Text, step: Text, time: Text) -> bool:
        """Take one match, empty texts for what it lacks; False when its value is no number."""

    def add_all(self, values: Column, steps: Column | None, times: Column | None) -> None:
        """Take matches in the order of the log; None for a group that the pattern lacks."""


class Search:
    """One reading's pattern, where its matches go, and ``ranks``: whose output counts."""

    def __init__(self, reading: LineReading, ranks: RankFilter, sink: Sink) -> None:
        pattern = reading.reading
        literals = required_literals(pattern)
        self._literal = literals[0] if literals else None
        self._literals = tuple(literal.decode() for literal in literals)
        self._narrower = Narrower(literals)
        self._ranks = ranks
        self._sink = sink
        self._pattern = line_pattern(pattern)
        self._objects = JsonFields(reading.paths, reading.where) if reading.paths else None
        groups = self._pattern.groupindex
        third = next((name for name in ("end", "unit") if name in groups), "time")
        names = ("value", "step", third)
        self._columns = tuple(groups[name] - 1 if name in groups else None for name in names)
        whole = stays_in_line(pattern) and self._pattern.longest
        self._bytes_pattern = re.compile(pattern.encode(), re.MULTILINE) if whole else None
        self._text_pattern = re.compile(pattern, re.ASCII | re.MULTILINE) if whole else None

    def run(self, block: bytes) -> None:
        """Search a block of lines that ends where a line ends."""
        if self._sink.last_only:
            end = block[block.rfind(b"\n", 0, -_END) + 1 :] if len(block) > _END else block
            if self._last(end) or end is block:
                return
        lines = self._narrower.narrow(block)
        if self._sink.last_only:
            self._last(lines)
            return
        if self._bytes_pattern is None or self._text_pattern is None or self._costly(lines):
            found: list[Any] = []
            for _start, line in lines_with(lines, self._literal):
                found += self._line(line)
            self._take(found)
            return
        if self._ranks.concerns(lines):
            lines = self._ranks.select(lines)
        if lines.isascii():
            self._take(self._each(self._bytes_pattern.findall(lines)))
        else:
            self._take(self._each(self._text_pattern.findall(lines.decode("utf-8", "replace"))))

    def _costly(self, lines: bytes) -> bool:
        """Whether a line is longer than the engine that takes blocks should be given."""
        longest = self._pattern.longest
        return longest < LINE_LIMIT and has_longer(lines, longest)

    def _last(self, block: bytes) -> bool:
        """Hand over the last acceptable match; False without one."""
        for line in lines_backwards(block, self._literal):
            for row in reversed(self._line(line)):
                fields = self._fields(row)
                if fields is not None and self._sink.add(*fields):
                    return True
        return False

    def _fields(self, row: Any) -> tuple[str, str, str] | None:
        """Value, step and time of what findall found; None where its object does not count."""
        if self._objects is not None:
            return self._objects.fields(row)
        value, step, time = (
            "" if at is None else row if isinstance(row, str) else row[at] for at in self._columns
        )
        return value, step, time

    def _each(self, found: Sequence[Any]) -> Sequence[Any]:
        """With the objects that follow another one on their line: lines get glued together."""
        if self._objects is None:
            return found
        texts: list[str] = []
        for row in found:
            text: str | None = row if isinstance(row, str) else row.decode()
            while text:
                texts.append(text)
                more = all(text.find(literal, 1) > 0 for literal in self._literals)
                text = next(iter(self._pattern.findall(text[1:])), None) if more else None
        return texts

    def _line(self, line: bytes) -> list[str] | list[tuple[str, ...]]:
        text = line.decode("utf-8", "replace")
        parts = self._ranks.parts(text) if self._ranks.concerns(line) else [text]
        return [row for part in parts for row in self._each(self._pattern.findall(part))]

    def _take(self, found: Sequence[Any]) -> None:
        """What findall found (Any: the texts of the only group, or tuples of all groups)."""
        if not found:
            return
        if self._objects is not None:
            objects = [fields for text in found if (fields := self._objects.fields(text))]
            if objects:
                self._sink.add_all(*map(list, zip(*objects, strict=True)))
            return
        columns: list[Column | None] = [None, None, None]
        for position, group in enumerate(self._columns):
            if group is not None:  # picking columns costs a fifth of zip(*found)
                single = self._pattern.groups == 1
                columns[position] = found if single else list(map(itemgetter(group), found))
        values, steps, times = columns
        self._sink.add_all(values or (), steps, times)


class ReadingSink:
    """Appends to columns, by the rule's scale and since the reading before.

    Times go through ``seconds``, or with ``units`` are those of the values; ``rejected`` counts
    unusable values.
    """

    last_only = False

    def __init__(
        self,
        columns: Columns,
        seconds: Callable[[str], float] | None,
        scale: float = 1.0,
        intervals: Intervals | None = None,
        *,
        units: bool = False,
    ) -> None:
        self.rejected = 0
        self._columns = columns
        self._seconds = seconds
        self._scale = scale
        self._intervals = intervals
        self._units = units

    def add(self, value: Text, step: Text, time: Text) -> bool:
        number = to_number(value)
        if self._units:
            number, time = number * _in_seconds(time), ""
        if not math.isfinite(number):
            self.rejected += bool(value)
            return False
        at = to_number(step)
        if self._intervals is not None:
            number = self._intervals.since_before(number, at)
            if math.isnan(number):  # nothing to compare it with
                return False
        self._columns.append(number * self._scale, at, self._time(time))
        return True

    def add_all(self, values: Column, steps: Column | None, times: Column | None) -> None:
        if not self._add_bulk(values, steps, times):
            nothing = ("",) * len(values)
            for value, step, time in zip(values, steps or nothing, times or nothing, strict=True):
                self.add(value, step, time)

    def _add_bulk(self, values: Column, steps: Column | None, times: Column | None) -> bool:
        """All at once, if there are many and every value is a finite number; else nothing."""
        if len(values) < _BULK or self._intervals is not None:
            return False
        scale = self._scale
        if self._units:
            if times is None or len(set(times)) > 1:  # now one and now the other
                return False
            scale, times = scale * _in_seconds(times[0]), None
        try:
            numbers = array("d", map(float, _encoded(values)))
        except ValueError:
            return False
        if not math.isfinite(sum(numbers) * scale):
            return False
        if scale != 1:
            numbers = array("d", map(scale.__mul__, numbers))
        seconds = None if times is None else array("d", map(self._time, times))
        self._columns.extend(numbers, None if steps is None else _encoded(steps), seconds)
        return True

    def _time(self, text: Text) -> float:
        if self._seconds is None or not text:
            return _NAN
        return self._seconds(text if isinstance(text, str) else text.decode("ascii"))


def _in_seconds(unit: Text) -> float:
    return _SECONDS.get(unit if isinstance(unit, str) else unit.decode("ascii", "replace"), _NAN)


class TextSink:
    """Keeps the last text."""

    last_only = True

    def __init__(self) -> None:
        self.text: str | None = None

    def add(self, value: Text, step: Text = "", time: Text = "") -> bool:
        self.text = value if isinstance(value, str) else value.decode("ascii")
        return True

    def add_all(
        self, values: Column, steps: Column | None = None, times: Column | None = None
    ) -> None:
        self.add(values[-1])


class ValueSink:
    """Hands finite values to a metric. ``seconds`` reads them where they are points in time."""

    def __init__(self, values: MetricValues, seconds: Callable[[str], float] | None = None) -> None:
        self.last_only = values.statistic == "last"
        self._values = values
        self._seconds = seconds

    def add(self, value: Text, step: Text = "", time: Text = "") -> bool:
        if self._seconds is None:
            number = to_number(value)
        else:
            number = self._seconds(value if isinstance(value, str) else value.decode("ascii"))
        if not math.isfinite(number):
            return False
        self._values.add(number)
        return True

    def add_all(
        self, values: Column, steps: Column | None = None, times: Column | None = None
    ) -> None:
        if self._seconds is None and len(values) >= _BULK and isinstance(values[0], bytes):
            try:
                numbers = array("d", map(float, _encoded(values)))
            except ValueError:
                numbers = array("d")
            if numbers and math.isfinite(sum(numbers)):
                self._values.extend(numbers)
                return
        for value in values:
            self.add(value)


class SpanSink:
    """Hands finite values to a span. Where a reading's time would be is what marks an end."""

    last_only = False

    def __init__(self, span: MarkedSpan, seconds: Callable[[str], float] | None = None) -> None:
        self._span = span
        self._seconds = seconds or to_number

    def add(self, value: Text, step: Text, time: Text) -> bool:
        number = self._seconds(value if isinstance(value, str) else value.decode("ascii"))
        if not math.isfinite(number):
            return False
        self._span.add(number, ends=bool(time))
        return True

    def add_all(self, values: Column, steps: Column | None, times: Column | None) -> None:
        for value, end in zip(values, times or (), strict=True):
            self.add(value, "", end)


class CurveSink:
    """Hands finite values to a curve, each by its step."""

    last_only = False

    def __init__(self, curve: Curve) -> None:
        self._curve = curve

    def add(self, value: Text, step: Text = "", time: Text = "") -> bool:
        number = to_number(value)
        if not math.isfinite(number):
            return False
        self._curve.add(to_number(step), number)
        return True

    def add_all(
        self, values: Column, steps: Column | None = None, times: Column | None = None
    ) -> None:
        for value, step in zip(values, steps or (), strict=False):
            self.add(value, step)


def _encoded(texts: Column) -> Sequence[bytes]:
    """The texts as bytes; findall gives all of one kind."""
    if texts and isinstance(texts[0], str):
        return [str(text).encode() for text in texts]
    return cast("Sequence[bytes]", texts)
