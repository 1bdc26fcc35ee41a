"""Results of cases that do not differ in size: bars, and a chart of no more lines than it needs."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from backends.campaign.plan.selection import Selection
from backends.results.case_result import CaseResult
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tests.console.conftest import (
    HUGE,
    LARGE,
    ONEFLOW,
    SMALL,
    begin,
    console,
    screen_text,
    shows,
    until,
)
from tests.console.fakes import FakeWorkspace
from tests.console.test_chart import CONSOLE
from tests.console.test_results import open_results
from tui.screens.results_page import LEAST_BELOW, ResultsPage
from tui.text import number
from tui.widgets.case_bars import SOLID, case_bars, is_curve
from tui.widgets.chart import AXIS_ROWS, CURVE_ROWS, Chart, draw
from tui.widgets.distribution import REPEAT
from tui.widgets.scaling_plot import PUBLISHED, Published

SPEEDS = st.lists(st.floats(1, 1e6), min_size=1, max_size=7)
ANY_SPEED = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


def cases_of(speeds: list[list[float]], tag: str = "1n8g") -> list[CaseResult]:
    """A case for each list of repeats, told apart by its batch size."""
    runs = [
        RunResult(
            *(f"{place}-{n}", "p", "F", "M", tag, 1, int(tag[2])),
            {"batch_size": place + 1},
            n,
            throughput=value or None,
            state="succeeded" if value else "failed",
            unit="images/s",
        )
        for place, values in enumerate(speeds)
        for n, value in enumerate(values, 1)
    ]
    return [case for group in summarise(runs) for case in group.cases]


@given(
    st.lists(SPEEDS | st.just([0.0]), min_size=1, max_size=9),
    st.data(),
    st.integers(40, 200),
    st.integers(1, 12),
)
def test_every_bar_ends_at_its_figure_and_every_repeat_has_a_mark(
    speeds: list[list[float]], data: st.DataObject, width: int, rows: int
) -> None:
    cases = cases_of(speeds)
    measured = [case for case in cases if case.throughput is not None]
    assume(measured)
    selected = data.draw(st.sampled_from(measured))
    bars = [(f"b{place}", case, None) for place, case in enumerate(cases)]
    plot = case_bars(bars, selected, width=width, rows=rows)
    assert len(plot.names) == min(rows, len(cases))
    assert plot.more == len(cases) - len(plot.names)
    assert [name[0] for name in plot.names].count("◉") == 1, "the selected one is always there"
    first = int(plot.names[0].split("b")[1].split()[0])
    for row, case in enumerate(cases[first : first + len(plot.names)]):
        level = len(plot.names) - 1 - row
        assert number(case.throughput) in plot.names[row]
        here = [line for line in plot.lines if line.points[0][1] == level]
        ends = [line.points[-1][0] for line in here if line.solid]
        assert ends == ([] if case.throughput is None else [case.throughput])
        marked = [x for line in here if line.mark == REPEAT for x, _ in line.marks]
        assert marked == list(case.throughputs)
        assert all(line.points[0][0] == 0 for line in here if line.solid), "bars begin at 0"
    assert plot.x_limits[1] >= max(x for line in plot.lines for x, _ in line.points)


@given(
    st.lists(st.lists(ANY_SPEED | st.just(0.0), min_size=1, max_size=3), min_size=1, max_size=9),
    st.data(),
    st.integers(40, 120),
    st.integers(1, 9),
)
@example([[5e-324]], None, 60, 5)
@example([[1e300], [1.0]], None, 60, 5)
@example([[1.79e308], [1.0]], None, 60, 5)
@settings(max_examples=40)
def test_no_figure_of_a_journal_is_too_odd_to_be_drawn(
    speeds: list[list[float]], data: st.DataObject | None, width: int, rows: int
) -> None:
    cases = cases_of(speeds)
    selected = data.draw(st.sampled_from(cases)) if data is not None else cases[0]
    bars = [(f"b{place}", case, None) for place, case in enumerate(cases)]
    plot = case_bars(bars, selected, width=width, rows=rows)
    measured = any(case.throughputs for case in cases)
    assert len(plot.names) == (min(rows, len(cases)) if measured else 0)
    if measured:
        height = len(plot.names) + 2
        lines = ["".join(s.text for s in strip) for strip in draw(plot, width, height, CONSOLE)]
        assert all(len(line) <= width for line in lines)
        assert "┤" in lines[0]


def test_cases_without_a_figure_keep_their_place_beside_those_that_have_one() -> None:
    cases = cases_of([*[[0.0]] * 8, [100.0]])
    bars = [(f"b{place}", case, None) for place, case in enumerate(cases)]
    plot = case_bars(bars, cases[0], width=80, rows=3)
    assert len(plot.names) == 3
    assert plot.x_limits[1] >= 100, "the scale is that of all"
    lines = ["".join(s.text for s in strip) for strip in draw(plot, 80, 5, CONSOLE)]
    assert [line.count("┤") for line in lines[:3]] == [1, 1, 1]


def test_a_bar_is_as_long_as_its_figure_and_a_published_one_is_marked() -> None:
    cases = cases_of([[1000.0, 1000.0], [500.0]])
    bars = [
        ("b1", cases[0], Published(8, 750.0, "DLPerf")),
        ("b2", cases[1], None),
    ]
    plot = case_bars(bars, cases[0], width=100, rows=5)
    lines = ["".join(s.text for s in strip) for strip in draw(plot, 100, 4, CONSOLE)]
    long, short = (line.partition("┤")[2] for line in lines[:2])
    assert long.strip()[-1] == short.strip()[-1] == REPEAT
    assert len(short.strip()) == pytest.approx(len(long.strip()) / 2, abs=1)
    assert long.index(PUBLISHED) == pytest.approx(0.75 * len(long.strip()), abs=1)
    assert set(short.strip()) == {SOLID, REPEAT}
    assert "☆ published: DLPerf" in plot.legend


def test_sizes_of_another_unit_make_no_curve() -> None:
    one = summarise([run for case in cases_of([[5.0]]) for run in case.runs])
    two = summarise(
        run for tag in ("1n1g", "1n8g") for case in cases_of([[5.0]], tag) for run in case.runs
    )
    assert is_curve(two, "images/s")
    assert not is_curve(two, "tokens/s")
    assert not is_curve(one, "images/s")


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_of_one_size_there_are_bars_and_the_repeats_have_the_rest(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        values = {**ONEFLOW, "batch_size": ("128", "160")}
        plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n8g",), values, 7))
        app.session.controller = workspace.controller(plan)
        page = await open_results(workspace, app, pilot, 3000)
        await until(pilot, partial(shows, app, "images/s of each case"))
        chart = page.query_one("#curve", Chart)
        await until(pilot, lambda: chart.size.height == 2 + AXIS_ROWS + 1)
        assert screen_text(app).count("┤━") == 2
        assert shows(app, "◉ 1n8g b128 fp32")
        assert page.query_one("#repeats").display
        below, above = page.query_one("#repeats").region, chart.region
        assert below.y >= above.bottom
        assert not shows(app, "a curve needs")
        assert page.check_action("quantity", ()) is False
        await pilot.press("j")
        await until(pilot, partial(shows, app, "◉ 1n8g b160 fp32"))


@pytest.mark.parametrize("size", [SMALL, LARGE, (120, 60), HUGE])
async def test_a_curve_has_no_more_lines_than_help_to_read_it(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace, ("1n1g", "1n8g"), repeats=7)
        page = await open_results(workspace, app, pilot, 3000)
        assert isinstance(page, ResultsPage)
        await until(pilot, partial(shows, app, "Speedup over GPUs"))
        chart, lower = page.query_one("#curve", Chart), page.query_one("#results-lower")
        assert chart.size.height < CURVE_ROWS + LEAST_BELOW
        filled = chart.outer_size.height
        if page.query_one("#repeats").region.y > chart.region.y:
            filled += page.query_one("#repeats").outer_size.height
        assert filled == lower.size.height, "no line below the table is left empty"


@given(st.lists(st.integers(1, 999), min_size=2, max_size=6, unique=True), st.integers(60, 200))
def test_no_two_names_of_bars_look_alike(numbers: list[int], width: int) -> None:
    cases = cases_of([[float(number)] for number in numbers])
    names = [f"2026-11-29-SIMULATED-ngc-pytorch-resnet50-{number:03}" for number in numbers]
    held = [(name, case, None) for name, case in zip(names, cases, strict=True)]
    drawn = case_bars(held, cases[0], width=width, rows=9).names
    assert len({name.split()[-2] for name in drawn}) == len(numbers), drawn
    assert all(len(name) <= width // 2 + 1 for name in drawn)
