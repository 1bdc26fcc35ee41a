"""samples/s over time, as a plot."""

from __future__ import annotations

from collections.abc import Sequence

from backends.campaign.record.status_view import ChartSeries
from profiles.durations import format_duration
from tui.text import number
from tui.widgets.chart import (
    MAX_LINES,
    Line,
    Plot,
    Point,
    decimated,
    finite,
    nice_step,
    series_colour,
)

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
