"""A collective's bus bandwidth over the sizes of its messages, as a plot: a curve per case."""

from __future__ import annotations

import math
from collections.abc import Sequence

from backends.results.busbw_curve import curve, is_collective, size_text
from backends.results.case_result import CaseResult
from backends.results.summary import Group
from tui.text import number
from tui.widgets.chart import CURSOR, Line, Plot, finite, series_colour


def busbw_plot(groups: Sequence[Group], selected: CaseResult, *, width: int) -> Plot:
    """Every case that is a bandwidth, its name within the groups as label, ``selected`` on top.

    Sizes lie on a logarithmic axis.
    """
    several = len([group for group in groups if is_collective(group)]) > 1
    found = [
        (place, case, f"{case.profile} {case.case}" if several else case.case)
        for place, case in enumerate(c for g in groups if is_collective(g) for c in g.cases)
    ]
    ordered = sorted(found, key=lambda one: one[1] is not selected)
    lines = [
        Line(label, points, series_colour(place), tag=str(place + 1)[-1], marks=points[-1:])
        for place, case, label in ordered
        if (points := _points(case))
    ]
    places = sorted({x for line in lines for x, _ in line.points})
    if len(places) < 2:
        return Plot(empty="the log tells the bandwidth of one size")
    best = max(_points(selected), key=lambda point: point[1], default=None)
    said = "" if best is None else f"{CURSOR} {number(best[1])} GB/s at {_size(best[0])}"
    return Plot(
        tuple(lines),
        (places[0], places[-1] + (places[-1] - places[0]) * 0.02),
        max(y for line in lines for _, y in line.points),
        _ticks(places, width),
        legend=tuple(filter(None, (said, "sizes on a logarithmic scale"))),
        cursor=best,
    )


def _points(case: CaseResult) -> tuple[tuple[float, float], ...]:
    return tuple(finite([(math.log2(size), y) for size, y in curve(case).items() if size > 0]))


def _size(place: float) -> str:
    return size_text(round(2**place))


def _ticks(places: Sequence[float], width: int) -> tuple[tuple[float, str], ...]:
    """Without those whose words would touch; the largest is always there."""
    ticks: list[tuple[float, str]] = []
    span = places[-1] - places[0]
    for place in reversed(places):
        words = _size(place)
        if not ticks or (ticks[-1][0] - place) / span * (width - 8) > len(words) + 2:
            ticks.append((place, words))
    return tuple(reversed(ticks))
