"""What the charts show, as plots: samples/s over time, speedup over devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backends.campaign.record.status_view import ChartSeries
from backends.results.numbers import significant
from backends.results.projection import Projected
from profiles.case_tag import format_tag
from profiles.durations import format_duration
from tui.text import number
from tui.theme import MUTED
from tui.widgets.chart import (
    CURSOR,
    MAX_LINES,
    Line,
    Plot,
    Point,
    decimated,
    finite,
    nice_step,
    series_colour,
)

ONE_HOST, HOSTS = "●", "◆"
"""What marks the cases on one host, and those on several."""
WIDE = 50
"""Columns from which a curve may go on to twice its length without hiding what was measured."""
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


def time_ticks(end: float, columns: int) -> tuple[tuple[float, str], ...]:
    """Ticks from 0 to ``end`` seconds, one for every twelve columns at most."""
    most = max(1, columns // 12)
    step = next((s for s in TIME_STEPS if end / s <= most), nice_step(end, most))
    return tuple((i * step, format_duration(i * step)) for i in range(int(end / step) + 1))


def throughput_plot(series: Sequence[ChartSeries], selected: str | None, *, width: int) -> Plot:
    """samples/s of the runs; the selected one first, and at most five."""
    ordered = sorted(series, key=lambda s: s.run_id != selected)
    shown = [(s, finite(s.points)) for s in ordered[:MAX_LINES]]
    if not any(points for _, points in shown):
        return Plot(empty="no reading yet; the chart begins with the first one")
    end = max(10.0, max(max(points)[0] for _, points in shown if points) * 1.02)
    notes = [number(points[-1][1]) if points else "" for _, points in shown]
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
        )
        for index, (s, points) in enumerate(shown)
    )
    warm = ("· warm-up",) if any(s.warmup and points for s, points in shown) else ()
    return Plot(
        lines,
        (0.0, end),
        top if top > 0 else 1.0,
        time_ticks(end, width),
        legend=warm,
        more=len(series) - len(shown),
    )


def _thinned(series: ChartSeries, points: list[Point], end: float, width: int) -> list[Point]:
    """What is left of them in so many columns; before any of it is compared and drawn."""
    lead = points[: series.warmup]
    return [*lead, *decimated(points[series.warmup :], (0.0, end), width)]


def _run_id(series: ChartSeries) -> str:
    return series.run_id


@dataclass(frozen=True, slots=True)
class Measured:
    """A case's speedup."""

    nodes: int
    gpus_per_node: int
    speedup: float

    @property
    def point(self) -> Point:
        return float(self.nodes * self.gpus_per_node), self.speedup


def speedup_plot(
    curves: Sequence[tuple[str, Sequence[Measured]]],
    farther: Projected | None = None,
    *,
    width: int,
    cursor: Measured | None = None,
) -> Plot:
    """Speedup over devices for every curve that has more than its base, against the ideal.

    Cases on one host and cases on several, by the devices of each, are lines of their own: as many
    devices on one host and on several are two results. ``farther``: a projected speedup of the
    first curve, drawn where the measured ones keep room. ``cursor``: a case of it.
    """
    drawable = [(label, [m for m in found if finite([m.point])]) for label, found in curves]
    first = drawable[0][0] if drawable and drawable[0][1] else None
    drawable = [(label, found) for label, found in drawable if found]
    points = [m.point for _, found in drawable for m in found]
    places = sorted({x for x, _ in points})
    if len(places) < 2:
        return Plot(empty="a curve needs two sizes of the same case")
    end, start = places[-1], places[0]
    if farther is not None and (width < WIDE or first is None):
        farther = None
    if farther is not None:
        end = max(end, float(farther.gpus))
        places.append(float(farther.gpus))
    ideal = ((start, 1.0), (end, end / start))
    top = max(end / start, *(y for _, y in points))
    top = max(top, farther.high) if farther is not None else top
    shown = drawable[: MAX_LINES - 1]
    lines = [
        line
        for place, (label, found) in enumerate(shown)
        for line in _by_hosts(label, found, place)
    ]
    if farther is not None:
        lines.append(_projected(max(m.point for m in shown[0][1]), lines[0].colour, farther))
    lines.append(Line("ideal", ideal, MUTED))
    several = {m.nodes > 1 for _, found in shown for m in found} == {True, False}
    on = cursor if cursor is not None and first is not None else None
    said = f"{CURSOR} {format_tag(on.nodes, on.gpus_per_node)} {number(on.speedup)}" if on else ""
    return Plot(
        tuple(lines),
        (0.0, end * 1.02),
        top,
        _device_ticks(places, end, width),
        legend=tuple(filter(None, (said, f"{ONE_HOST} one host  {HOSTS} several" * several))),
        more=len(drawable) - len(shown),
        cursor=on.point if on else None,
    )


def _by_hosts(label: str, found: Sequence[Measured], place: int) -> list[Line]:
    """The cases on one host, and those on several by the devices of each, which go on from the
    case on one host that has as many."""
    alone = sorted((m for m in found if m.nodes == 1), key=lambda m: m.point)
    series = [(alone, alone, ONE_HOST)] if alone else []
    for size in sorted({m.gpus_per_node for m in found if m.nodes > 1}):
        of_size = (m for m in found if m.nodes > 1 and m.gpus_per_node == size)
        own = sorted(of_size, key=lambda m: m.point)
        series.append(([*(m for m in alone if m.gpus_per_node == size), *own], own, HOSTS))
    farthest = max(range(len(series)), key=lambda n: series[n][0][-1].point)
    return [
        Line(
            label if n == 0 else "",
            tuple(m.point for m in line),
            series_colour(place),
            tag=str(place + 1) if n in (0, farthest) else "",
            marks=tuple(m.point for m in own),
            mark=mark,
        )
        for n, (line, own, mark) in enumerate(series)
    ]


def _projected(start: Point, colour: str, farther: Projected) -> Line:
    point = (float(farther.gpus), farther.throughput)
    return Line(
        "PROJECTED",
        (start, point),
        colour,
        tag="◇",
        note=f"{farther.gpus}: {significant(farther.throughput)}, "
        f"{significant(farther.low)} to {significant(farther.high)}",
        band=(farther.low, farther.high),
    )


def _device_ticks(places: Sequence[float], end: float, width: int) -> tuple[tuple[float, str], ...]:
    """The measured sizes, without those whose words would touch; the largest is always there."""
    ticks: list[tuple[float, str]] = []
    for place in reversed(places):
        words = f"{place:g}"
        if not ticks or (ticks[-1][0] - place) / end * (width - 8) > len(words) + 2:
            ticks.append((place, words))
    return tuple(reversed(ticks))
