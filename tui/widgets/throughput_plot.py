"""samples/s over time, or over the numbers of readings, as a plot."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil, inf
from types import MappingProxyType

from backends.campaign.record.run_view import ChartSeries
from backends.campaign.record.run_window import RunWindow
from backends.results.numbers import scatter
from backends.results.steady_words import disturbance_brief
from profiles.counted import counted
from profiles.durations import format_duration
from profiles.throughput.steady import Shape
from tui.text import number
from tui.theme import WARN
from tui.widgets.chart import (
    EDGE,
    MAX_LINES,
    Line,
    Plot,
    Point,
    decimated,
    finite,
    series_colour,
)
from tui.widgets.chart_scale import AXIS_ABOVE_0, nice_step

TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


def time_ticks(end: float, columns: int, start: float = 0.0) -> tuple[tuple[float, str], ...]:
    """Ticks from ``start`` to ``end`` seconds, one for every twelve columns at most."""
    most = max(1, columns // 12)
    span = end - start
    step = next((s for s in TIME_STEPS if span / s <= most), nice_step(span, most))
    first = ceil(start / step)
    return tuple((i * step, format_duration(i * step)) for i in range(first, int(end / step) + 1))


def number_ticks(end: float, columns: int, start: float = 1.0) -> tuple[tuple[float, str], ...]:
    """The same of numbers of readings."""
    step = ceil(nice_step(end - start, max(1, columns // 12)))
    first = ceil(start / step)
    return tuple((i * step, f"{i * step:,}") for i in range(first, int(end / step) + 1))


LEAST_SPAN = 0.02
"""Of a speed: what the axis of a window spans at least."""
CHANGED, STALLED = "◆", "×"
"""Where the speed changed, and where it stalled."""


def throughput_plot(
    series: Sequence[ChartSeries],
    selected: str | None,
    *,
    width: int,
    window: RunWindow,
    until_s: float = 0.0,
    empty: str = "",
    latest: Mapping[str, str] = MappingProxyType({}),
    silent: Collection[str] = (),
) -> Plot:
    """samples/s of the runs; the selected one first, and at most five. ``window``: of that one.
    ``empty``: what stands there while there is no reading. ``until_s``: the chart goes on to there,
    at least; seconds since the run began. ``latest``: what the list says
    of runs at work, by their ids; the points of a long series are not all of its readings.
    ``silent``: ids of runs of which no reading has come for too long."""
    ordered = sorted(series, key=lambda s: s.run_id != selected)
    shown = [(s, finite(s.points)) for s in ordered[:MAX_LINES]]
    if not any(points for _, points in shown):
        return Plot(empty=empty)
    last = max(max(points)[0] for _, points in shown if points)
    by_number = any(s.by_number for s, _ in shown)
    end = last if by_number else max(10.0, until_s, last if until_s else last * 1.02)
    notes = [latest.get(s.run_id) or _figure_text(s, points) for s, points in shown]
    shown = [(s, _thinned(s, points, end, width)) for s, points in shown]
    top = max(y for _, points in shown for _, y in points)
    colours = {s.run_id: series_colour(i) for i, s in enumerate(sorted(series, key=_run_id))}
    lines = tuple(
        Line(
            s.label,
            tuple(points),
            colours[s.run_id],
            tag=str(index + 1),
            lead=min(s.warmup, len(points)),
            note=notes[index],
            key=s.run_id,
        )
        for index, (s, points) in enumerate(shown)
    )
    dotted = any(s.warmup and points for s, points in shown)
    each = [f"{line.tag}: " * (len(lines) > 1) for line in lines]
    whose = each[0]
    ends = [
        (whose_end, points[-1])
        for whose_end, (s, points) in zip(each, shown, strict=True)
        if points and s.run_id in silent
    ]
    since = (f"{STALLED} {one}no reading after {format_duration(at)}" for one, (at, _) in ends)
    return Plot(
        (*(_at((at + 2 * end / max(1, width), y)) for _, (at, y) in ends), *_marks(window), *lines),
        (0.0, end),
        top if top > 0 else 1.0,
        number_ticks(end, width) if by_number else time_ticks(end, width),
        legend=(*_legend(window, dotted=dotted, whose=whose), *since),
        more=len(series) - len(shown),
        edges=_edges(window),
    )


def _edges(window: RunWindow) -> tuple[float, ...]:
    """Where what counts begins, and ends, as far as that is not where the readings do."""
    return tuple(at for at in (window.start, window.end) if at is not None)


_MEASURED = {"elapsed": "over the window", "summary": "by the log's summary"}


def _figure_text(series: ChartSeries, points: Sequence[Point]) -> str:
    """The figure that the list has for the run: once it is measured that, and never the last
    reading in its place."""
    if series.measured is not None:
        statistic = series.statistic.replace("_", " ")
        how = _MEASURED.get(statistic, f"{statistic} of the window" if statistic else "measured")
        return f"{number(series.measured)} {how}"
    last = number(points[-1][1]) if points else ""
    return f"{last} at last" if last and series.end < inf else last


def window_plot(series: ChartSeries, *, width: int, window: RunWindow, latest: str = "") -> Plot:
    """samples/s of one run over its window alone, on an axis that its readings fill, or a fiftieth
    of them where they are closer together: no scatter is made larger than that."""
    start = -inf if window.start is None else window.start
    end = inf if window.end is None else window.end
    points = [point for point in finite(series.points) if start <= point[0] <= end]
    if window.start is None:
        points = points[series.warmup :]
    if len(points) < 2 or points[0][0] == points[-1][0]:
        return Plot(empty="no two readings that count yet")
    begin, until = points[0][0], points[-1][0]
    low, high = (pick(value for _, value in points) for pick in (min, max))
    apart = max(0.0, LEAST_SPAN * abs(high) - (high - low)) / 2
    limits = (begin, until + 0.02 * (until - begin))
    drawn = tuple(decimated(points, limits, width))
    note = latest or _figure_text(series, points)
    line = Line(series.label, drawn, series_colour(0), "1", note=note, key=series.run_id)
    marks = [one for one in _marks(window) if begin <= one.points[0][0] <= until]
    return Plot(
        (*marks, line),
        limits,
        high + apart,
        (number_ticks if series.by_number else time_ticks)(limits[1], width, begin),
        legend=(AXIS_ABOVE_0, *_disturbed(window)),
        bottom=low - apart,
    )


def _marks(window: RunWindow) -> list[Line]:
    """Where it was not steady, on the curve."""
    return [
        _at(at, _mark(one.shape))
        for one, at in window.disturbed
        if one.shape is not Shape.TREND  # which is all along
    ]


def _at(point: Point, mark: str = STALLED) -> Line:
    return Line("", (point,), WARN, marks=(point,), mark=mark, alone=True)


def _mark(shape: Shape) -> str:
    return STALLED if shape is Shape.STALLS else CHANGED


def _legend(window: RunWindow, *, dotted: bool, whose: str) -> Iterator[str]:
    """``whose``: the number of its curve, where there are others."""
    if window.warmup and window.summed_up:
        yield f"· the first {counted(window.warmup, 'reading')}"
    elif window.warmup:
        yield f"· warm-up, {counted(window.warmup, 'reading')}"
    elif dotted:
        yield "· warm-up"
    if _edges(window):
        yield f"{EDGE} {_between_edges(window)}"
    yield from _disturbed(window, whose)


def _between_edges(window: RunWindow) -> str:
    """Of a window that goes on: the end of the warm-up, which stands before it."""
    if window.used is None:
        return "their end" if window.summed_up else "its end"
    return f"{counted(window.used, 'reading')} that count"


def _disturbed(window: RunWindow, whose: str = "") -> Iterator[str]:
    for one, _ in window.disturbed:
        words = f"{whose}{disturbance_brief(one)}{' so far' * window.so_far}"
        yield words if one.shape is Shape.TREND else f"{_mark(one.shape)} {words}"


_LAST_COUNT = "only its last readings count"
_SUMS_UP = "the log sums the figure up at its end"


def no_jitter_yet(window: RunWindow) -> str:
    """Why that of a run at work is not told."""
    if window.summed_up:
        return f"told at its end: {_SUMS_UP}"
    return f"cannot be told before it ends: {_LAST_COUNT}"


def readings_looked_at(window: RunWindow) -> str:
    """What step times are of where the figure is of no window: "after reading 10"."""
    return f"after reading {window.warmup}" if window.warmup else "of all readings"


def jitter_text(window: RunWindow, *, at_work: bool) -> str:
    """ "in the window so far: step times p95 1.02 × median, CV 0.93%"; "" where nothing is known.
    Of a figure that the log sums up "step times after reading 10: p95 1.02 × median, CV 0.93%"."""
    if window.jitter is None:
        if window.summed_up and at_work and not window.known:
            return _SUMS_UP
        return f"{_LAST_COUNT}: known at its end" if at_work and not window.known else ""
    so_far, of = " so far" * at_work, window.jitter
    spread = f"p95 {number(of.p95)} × median, CV {scatter(of.cv)}"
    if window.summed_up:
        return f"step times {readings_looked_at(window)}{so_far}: {spread}"
    return f"in the window{so_far}: step times {spread}"


def _thinned(series: ChartSeries, points: list[Point], end: float, width: int) -> list[Point]:
    """What is left of them in so many columns; before any of it is compared and drawn."""
    lead = points[: series.warmup]
    return [*lead, *decimated(points[series.warmup :], (0.0, end), width)]


def _run_id(series: ChartSeries) -> str:
    return series.run_id
