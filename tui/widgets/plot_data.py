"""What the charts show, as plots: samples/s over time, speedup over devices."""

from __future__ import annotations

from collections.abc import Sequence

from backends.campaign.record.status_view import ChartSeries
from backends.results.projection import Projected
from profiles.durations import format_duration
from tui.text import number
from tui.theme import MUTED
from tui.widgets.chart import MAX_LINES, Line, Plot, finite, nice_step, series_colour

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
    shown = ordered[:MAX_LINES]
    points = [p for s in shown for p in finite(s.points)]
    if not points:
        return Plot(empty="no reading yet; the chart begins with the first one")
    end = max(10.0, max(x for x, _ in points) * 1.02)
    top = max(y for _, y in points)
    colours = {s.run_id: series_colour(i) for i, s in enumerate(sorted(series, key=_run_id))}
    lines = tuple(
        Line(
            s.label,
            s.points,
            colours[s.run_id],
            tag=str(index + 1),
            lead=min(s.warmup, len(s.points)),
            note=number(s.points[-1][1]) if s.points else "",
        )
        for index, s in enumerate(shown)
    )
    warm = ("· warm-up",) if any(s.warmup and s.points for s in shown) else ()
    return Plot(
        lines,
        (0.0, end),
        top if top > 0 else 1.0,
        time_ticks(end, width),
        legend=warm,
        more=len(series) - len(shown),
    )


def _run_id(series: ChartSeries) -> str:
    return series.run_id


def speedup_plot(
    curves: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    farther: Projected | None = None,
    *,
    width: int,
) -> Plot:
    """Speedup over devices for every curve that has more than its base, against the ideal.

    ``farther``: a projected speedup of the first curve, drawn where the measured ones keep room.
    """
    drawable = [(label, finite(points)) for label, points in curves]
    drawable = [(label, points) for label, points in drawable if points]
    places = sorted({x for _, points in drawable for x, _ in points})
    if len(places) < 2:
        return Plot(empty="a curve needs two sizes of the same case")
    end, start = places[-1], places[0]
    if farther is not None and (
        width < WIDE or drawable[0] != (curves[0][0], finite(curves[0][1]))
    ):
        farther = None
    if farther is not None:
        end = max(end, float(farther.gpus))
        places.append(float(farther.gpus))
    ideal = ((start, 1.0), (end, end / start))
    top = max(end / start, *(y for _, points in drawable for _, y in points))
    top = max(top, farther.high) if farther is not None else top
    shown = drawable[: MAX_LINES - 1]
    lines = [
        Line(label, tuple(points), series_colour(i), tag=str(i + 1))
        for i, (label, points) in enumerate(shown)
    ]
    if farther is not None:
        lines.append(_projected(lines[0], farther))
    lines.append(Line("ideal", ideal, MUTED))
    return Plot(
        tuple(lines),
        (0.0, end * 1.02),
        top,
        _device_ticks(places, end, width),
        more=len(drawable) - len(shown),
    )


def _projected(measured: Line, farther: Projected) -> Line:
    point = (float(farther.gpus), farther.throughput)
    return Line(
        "PROJECTED",
        (measured.points[-1], point),
        measured.colour,
        tag="◇",
        note=f"{farther.gpus}: {farther.throughput:.3g}, {farther.low:.3g} to {farther.high:.3g}",
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
