"""Cases as bars: what each does, where they do not differ in size and no curve has a meaning."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from backends.results.case_result import CaseResult
from backends.results.summary import Group
from tui.text import number, plain, shorten, told_apart
from tui.theme import TEXT
from tui.widgets.chart import CURSOR, Line, Plot, series_colour
from tui.widgets.chart_scale import SMALLEST_TOP, value_ticks
from tui.widgets.distribution import REPEAT
from tui.widgets.scaling_plot import PUBLISHED, Published

SOLID = "━"


def is_curve(groups: Sequence[Group], unit: str) -> bool:
    """Whether some group in this unit was measured with two numbers of devices."""
    measured = (group.measured_cases for group in groups if group.unit == unit)
    return any(len({case.gpus for case in cases}) > 1 for cases in measured)


def case_bars(
    cases: Sequence[tuple[str, CaseResult, Published | None]],
    selected: CaseResult,
    *,
    width: int,
    rows: int,
) -> Plot:
    """The throughput of every case from 0 on, its name before it, its repeats as marks; the
    published figure that it is best held against. As many cases as ``rows`` has room for, around
    the ``selected`` one."""
    places = [place for place, (_, case, _) in enumerate(cases) if case is selected]
    room = max(1, rows)
    first = max(0, min((places or [0])[0] - room // 2, len(cases) - room))
    shown = list(enumerate(cases))[first : first + room]
    names = _names([(name, case) for _, (name, case, _) in shown], selected, width // 2)
    lines: list[Line] = []
    for row, (place, (_, case, theirs)) in enumerate(reversed(shown)):
        level = float(row)
        published = [] if theirs is None else [theirs.value]
        for values, mark in ((case.throughputs, REPEAT), (published, PUBLISHED)):
            if points := tuple((value, level) for value in values):
                lines.append(Line("", points, TEXT, marks=points, mark=mark, alone=True))
        if case.throughput is not None:
            ends = ((0.0, level), (case.throughput, level))
            lines.append(Line("", ends, series_colour(place), solid=SOLID))
    systems = dict.fromkeys(theirs.system for _, (_, _, theirs) in shown if theirs is not None)
    known = chain.from_iterable(
        (*case.throughputs, *([] if theirs is None else [theirs.value]))
        for _, case, theirs in cases
    )
    top = max(known, default=0.0)  # of all, so that the scale stands still
    if top <= 0:
        return Plot(empty="no case has a figure")
    top = max(top, SMALLEST_TOP)
    said = (f"{REPEAT} a repeat", *(f"{PUBLISHED} published: {system}" for system in systems))
    lines.sort(key=lambda line: bool(line.solid))  # the first lie on top
    return Plot(
        tuple(lines),
        (0.0, top * 1.02),
        len(names) - 1.0,
        value_ticks(top, width - max(map(len, names))),
        legend=said,
        more=len(cases) - len(shown),
        names=names,
    )


def _names(
    cases: Sequence[tuple[str, CaseResult]], selected: CaseResult, most: int
) -> tuple[str, ...]:
    """Each with its figure, below one another."""
    figures = [shorten(number(case.throughput), most // 2) for _, case in cases]
    room = most - max(map(len, figures)) - len(f"{CURSOR}  ")
    told = told_apart({plain(name) for name, _ in cases}, room)
    names = [f"{CURSOR if case is selected else ' '} {told[plain(name)]}" for name, case in cases]
    wide = max(map(len, names))
    figured = max(map(len, figures))
    return tuple(
        f"{name:<{wide}} {figure:>{figured}} " for name, figure in zip(names, figures, strict=True)
    )
