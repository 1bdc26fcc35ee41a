"""Bytes of a log to readings, incrementally: any chunking gives the same readings.

A log is cut into lines at newlines and carriage returns, of which the first ``LINE_LIMIT`` bytes
count; escape sequences are dropped; a rank filter picks the parts that count. In each line every
non-overlapping match of the profile's patterns is taken.

Most lines of a log are of no interest. So a block of lines is first searched for a text that every
match must contain (:mod:`profiles.logs.literals`); only lines that hold it are decoded. Where a
pattern cannot cross a line end and the block is plain ASCII, it runs over the whole block at once.
Where most lines are readings, those that differ in digits alone are matched once
(:mod:`profiles.logs.shapes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from profiles.cleantext import ESCAPE_BYTES, clean_text
from profiles.format.case import Case
from profiles.format.line_reading import LineReading
from profiles.format.measure_section import Metric, Window
from profiles.format.profile import Profile
from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.format.rule_for_case import rule_for
from profiles.logs.any_number import with_any_number
from profiles.logs.failures import (
    BUILT_IN,
    IN_FP8,
    SIMULATED,
    Failure,
    FailureScanner,
    from_profile,
)
from profiles.logs.intervals import Intervals
from profiles.logs.lines import cut_long_lines, lines_with
from profiles.logs.metric_window import Edge, WindowedValues
from profiles.logs.metrics import Curve, MarkedSpan, MetricValues
from profiles.logs.ranks import MPI_PREFIX, RankFilter
from profiles.logs.readings import Columns, Readings
from profiles.logs.search import Search
from profiles.logs.sinks import FigureSink, ReadingSink, Sink, TextSink
from profiles.logs.timestamps import TimestampParser

if TYPE_CHECKING:
    from profiles.logs.shapes import Shapes

DENSE = 1 << 20
"""Bytes of dense blocks after which numpy, which takes a while to import, makes good for that."""
_SMALL = 1 << 14  # a block for which it does not even then


class LogParser:
    """Reads one log by the profile's rule for the case.

    Attributes
    ----------
    rule: the profile's measuring rule for the case.
    readings: all readings so far; without ``keep`` only while nothing more is fed.
    offset: how many bytes of the log were looked at: up to its last line end, or its end.

    Parameters
    ----------
    keep: False: readings are not kept beyond the next call of :meth:`feed` or :meth:`finish`.
    """

    def __init__(self, profile: Profile, case: Case, *, keep: bool = True) -> None:
        self.rule = rule_for(profile, case)
        self.offset = 0
        self._keep = keep
        self._taken = 0
        columns = self._columns = Columns()
        self.readings = Readings(columns)
        times = TimestampParser(self.rule.timestamp).seconds if self.rule.timestamp else None
        intervals = Intervals(self.rule.cumulative) if self.rule.cumulative else None
        units = "unit" in self.rule.names
        self._sink = ReadingSink(columns, times, self.rule.scale, intervals, units=units)
        self._summary = MetricValues("last")
        self._edge = Edge(self.rule.window, columns)
        self._metrics = {
            name: (_figure_of(metric, self.rule.window, self._edge), metric.scale)
            for name, metric in profile.measure.metrics.items()
        }
        figures = [figure for figure, _scale in self._metrics.values()]
        self._windowed = any(isinstance(figure, WindowedValues) for figure in figures)
        self._stated = {name: TextSink() for name in profile.measure.stated}
        ranks = RankFilter(self.rule.ranks, self.rule.rank_prefix or MPI_PREFIX)
        self._searches = self._plan(profile, ranks)
        self._ranks = ranks
        self._shapes: Shapes | None = None
        self._dense = 0
        self._failures = FailureScanner((*from_profile(profile), *BUILT_IN))
        self._tail = bytearray()

    def feed(self, data: bytes) -> Readings:
        """Take the next bytes of the log; returns the new readings."""
        before = self._new()
        end = data.rfind(b"\n") + 1
        returns = b"\r" in data
        if returns:  # to look for the last one is slow where there is none
            end = max(end, data.rfind(b"\r") + 1)
        if end:
            self.offset = self._taken + end
            block = b"".join((self._tail, memoryview(data)[:end]))
            self._tail.clear()
            # The tail is what came after a line end: it has none.
            self._block(block.replace(b"\r", b"\n") if returns else block)
        # What is beyond the limit of an unfinished line will not be looked at: do not keep it.
        self._tail += data[end : end + LINE_LIMIT - len(self._tail)]
        self._taken += len(data)
        return Readings(self._columns, before, self._columns.count)

    def finish(self) -> Readings:
        """The log has ended, perhaps without a newline; returns the readings of its last line."""
        before = self._new()
        self.offset = self._taken
        if self._tail:
            block = bytes(self._tail)
            self._tail.clear()
            self._block(block)
        return Readings(self._columns, before, self._columns.count)

    def _new(self) -> int:
        """The number that the next reading will have."""
        if not self._keep:
            self._columns.forget()
        return self._columns.count

    @property
    def rejected(self) -> int:
        """Matches of the reading whose value was no number of 0 or more."""
        return self._sink.rejected

    @property
    def summary_value(self) -> float | None:
        """The value of the last summary line; None without one."""
        return self._summary.value

    @property
    def metrics(self) -> dict[str, float]:
        """The further figures of merit that the log has, scaled to their units."""
        found: dict[str, float] = {}
        for name, (figure, scale) in self._metrics.items():
            if isinstance(figure, Curve):
                found |= {f"{name}_at_{step}": it * scale for step, it in figure.values.items()}
            elif figure.value is not None:
                found[name] = figure.value * scale
        return found

    @property
    def stated(self) -> dict[str, str]:
        """Parameter values and facts that the log itself tells, display-safe."""
        texts = {name: sink.text for name, sink in self._stated.items()}
        return {name: clean_text(text) for name, text in texts.items() if text is not None}

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Named failures, the profile's own before the built-in ones."""
        return self._failures.failures

    @property
    def in_fp8(self) -> bool:
        """Whether the log's beginning or end says that FP8 is used."""
        return self._failures.has(IN_FP8)

    @property
    def kept(self) -> bytes:
        """The log's beginning and end."""
        return self._failures.kept

    @property
    def simulated(self) -> bool:
        """Whether the log says that a simulated host has printed it."""
        return self._failures.has(SIMULATED)

    def _plan(self, profile: Profile, ranks: RankFilter) -> tuple[Search, ...]:
        sinks: list[tuple[LineReading, Sink]] = [(self.rule, self._sink)]
        if self.rule.summary:
            summary = LineReading(reading=self.rule.summary)
            sinks.append((summary, FigureSink(self._summary)))
        for name, metric in profile.measure.metrics.items():
            seconds = TimestampParser(metric.timestamp).seconds if metric.timestamp else None
            sinks.append((metric, FigureSink(self._metrics[name][0], seconds)))
        searches = [Search(_wider(reading), ranks, sink) for reading, sink in sinks]
        stated = profile.measure.stated
        return (
            *searches,
            *(Search(stated[name], ranks, sink) for name, sink in self._stated.items()),
        )

    def _block(self, block: bytes) -> None:
        """Take complete lines, ended by newlines."""
        block = cut_long_lines(block, LINE_LIMIT)
        self._failures.feed(block)
        if self._windowed and self._edge.near:
            block = self._to_the_edge(block)
        searches = self._by_shape(block)
        if searches and b"\x1b" in block:
            block = ESCAPE_BYTES.sub(b"", block)
        for search in searches:
            search.run(block)

    def _to_the_edge(self, block: bytes) -> bytes:
        """Take lines until all that follow are on one side of the window's edge; returns those."""
        if b"\x1b" in block:
            block = ESCAPE_BYTES.sub(b"", block)
        taken = 0
        for start, line in lines_with(block, self._searches[0].literal):
            end = start + len(line) + 1
            for lines in (block[taken:start], block[start:end]):
                self._edge.line()
                for search in self._searches if lines else ():
                    search.run(lines)
                self._edge.end_of_line()
            taken = end
            if not self._edge.near:
                return block[taken:]
        self._edge.line()
        for search in self._searches:
            search.run(block[taken:])
        return b""

    def _by_shape(self, block: bytes) -> Sequence[Search]:
        """Take the lines of a dense log all at once; returns the searches that this is not for."""
        first = self._searches[0]
        if len(block) <= _SMALL or not first.has_shapes or not self._ranks.any_digits:
            return self._searches
        if not first.dense(block):
            return self._searches
        self._dense += len(block)
        if self._dense < DENSE:
            return self._searches
        if self._shapes is None:
            from profiles.logs.shapes import Shapes  # noqa: PLC0415  # as slow as a small log

            self._shapes = Shapes(self._searches, self._ranks)
        return self._shapes.search(block)


def _wider(reading: LineReading) -> LineReading:
    return reading.model_copy(update={"reading": with_any_number(reading.reading)})


def _figure_of(
    metric: Metric, window: Window, edge: Edge
) -> MetricValues | WindowedValues | MarkedSpan | Curve:
    if metric.is_curve:
        return Curve(metric.statistic)
    if metric.is_marked:
        return MarkedSpan()
    if metric.statistic in ("mean", "median"):
        return WindowedValues(metric.statistic, window, edge)
    return MetricValues(metric.statistic)
