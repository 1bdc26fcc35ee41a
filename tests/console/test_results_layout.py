"""Who has how many lines on Results, and when every quantity has a curve of its own in sight."""

from __future__ import annotations

from random import Random
from typing import get_args

import pytest

from backends.campaign.plan.selection import Selection
from backends.results.short_flags import SHORT
from profiles.format.measure_section import Statistic
from tests.console.conftest import (
    HUGE,
    LARGE,
    ONEFLOW,
    SMALL,
    console,
    screen_text,
    tick,
    until,
)
from tests.console.fakes import FakeWorkspace
from tests.console.test_results import open_results
from tui.app import DlperfApp
from tui.flag_words import MEANINGS
from tui.key_bindings import PANELS
from tui.rule_words import RULES
from tui.screens.results_page import OTHERS, VIEWS, ResultsPage
from tui.widgets.details import Details
from tui.widgets.keyed_table import KeyedTable

FRAME, LEAST = 2, 3
CURVES = ("curve", *OTHERS)
NAMES = ("Speedup over GPUs", "Efficiency over GPUs", "images/s per GPU over GPUs")
FEW, MANY = ("1n1g", "1n8g"), ("1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g")
TOO_SMALL = "too small for a chart"


def begin_with(
    app: DlperfApp, workspace: FakeWorkspace, tags: tuple[str, ...], batches: tuple[str, ...]
) -> None:
    values = {**ONEFLOW, "batch_size": batches}
    plan = workspace.plan(Selection(("oneflow-resnet50",), tags, values, 2))
    app.session.controller = workspace.controller(plan)


def in_sight(page: ResultsPage) -> list[str]:
    panels = (page.query_one("#results-panel"), *page.query_one("#results-lower").children)
    return [str(panel.id) for panel in panels if panel.region.area]


@pytest.mark.parametrize("size", [(160, 45), HUGE], ids=str)
async def test_on_a_large_terminal_every_quantity_has_its_curve_and_c_says_which_is_first(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin_with(app, workspace, FEW, ("128",))
        page = await open_results(workspace, app, pilot)
        for first in (0, 1, 2, 0):
            titles = [str(page.query_one(f"#{curve}").border_title) for curve in CURVES]
            assert [title.strip() for title in titles] == [*NAMES[first:], *NAMES[:first]]
            assert {page.query_one(f"#{one}").region.y for one in CURVES} == {
                page.query_one("#results-panel").region.bottom
            }
            assert {"case", "repeats"} < set(in_sight(page))
            assert NAMES[0] in screen_text(app)
            await pilot.press("c")
        for smaller in ((size[0], 44), (159, size[1])):
            await pilot.resize_terminal(*smaller)
            await until(pilot, lambda: not {*OTHERS} & {*in_sight(page)})
            assert "curve" in in_sight(page)
            assert "▸ Efficiency" in screen_text(app)
        await pilot.resize_terminal(*size)
        await until(pilot, lambda: {*CURVES} < {*in_sight(page)})


async def test_cases_of_one_size_have_bars_alone_on_a_large_terminal(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin_with(app, workspace, ("2n8g",), ("128", "160"))
        page = await open_results(workspace, app, pilot)
        assert [name for name in CURVES if name in in_sight(page)] == ["curve"]


@pytest.mark.parametrize(
    ("tags", "batches"),
    [(("2n8g",), ("128", "160")), (FEW, ("128",)), (MANY, ("128", "160"))],
)
async def test_every_panel_has_its_least_lines_and_a_chart_is_drawn_at_every_size(
    workspace: FakeWorkspace, tags: tuple[str, ...], batches: tuple[str, ...]
) -> None:
    random = Random(len(tags) * len(batches))
    drawn = [(random.randint(80, 220), random.randint(24, 70)) for _ in range(6)]
    async with console(workspace, SMALL) as (app, pilot):
        begin_with(app, workspace, tags, batches)
        page = await open_results(workspace, app, pilot, 3000)
        table, lower = page.query_one(KeyedTable), page.query_one("#results-lower")
        for size in (SMALL, LARGE, (160, 45), (220, 45), HUGE, *drawn):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: page.size == size)  # noqa: B023 - awaited here
            for key in ("", "c", "v"):
                await pilot.press(*key)
                await pilot.pause()
                for panel in in_sight(page):
                    lines = page.query_one(f"#{panel}").outer_size.height - FRAME
                    assert lines >= LEAST, (size, key, panel)
                at = table.cursor_row - table.scroll_offset.y
                assert 0 <= at < table.size.height - 1
                told = screen_text(app)
                assert TOO_SMALL not in told, (size, key, told)
                lowest = max(page.query_one(f"#{panel}").region.bottom for panel in in_sight(page))
                assert lowest == lower.region.bottom, "no line is left over"


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_zoom_gives_a_panel_all_of_the_page_and_v_the_next_one(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin_with(app, workspace, FEW, ("128",))
        page = await open_results(workspace, app, pilot)
        table, before = page.query_one(KeyedTable), in_sight(page)
        assert " z Zoom " in screen_text(app)
        for back in ("z", "escape", "slash"):
            await pilot.press("z")
            for view in ("curve", "case", "repeats"):
                await until(pilot, lambda: in_sight(page) == [view])  # noqa: B023 - awaited here
                panel = page.query_one(f"#{view}")
                lower = page.query_one("#results-lower")
                assert panel.region == lower.region
                assert panel.region.y == 2
                assert panel.has_focus
                assert " z All panels " in screen_text(app)
                assert TOO_SMALL not in screen_text(app)
                await pilot.press("s", "v")  # the list cannot be sorted out of sight
            await pilot.press(back)
            await until(pilot, lambda: table.size.height)
            await until(pilot, lambda: back == "slash" or table.has_focus)  # noqa: B023
            await until(pilot, lambda: in_sight(page) == before)
            await pilot.press(*["escape"] * (back == "slash"))
        assert page._order.given


@pytest.mark.parametrize("panel", ["case", "repeats"])
async def test_the_panel_with_the_focus_is_zoomed_and_the_list_has_the_keys_again_after(
    workspace: FakeWorkspace, panel: str
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin_with(app, workspace, FEW, ("128",))
        page = await open_results(workspace, app, pilot)
        page.set_focus(page.query_one(f"#{panel}"))
        await pilot.press("z")
        await until(pilot, lambda: in_sight(page) == [panel])
        await pilot.press("z")
        await until(pilot, lambda: page.query_one(KeyedTable).has_focus)


@pytest.mark.parametrize("back", ["z", "escape"])
@pytest.mark.parametrize("down", ["pagedown", "end", "down"])
async def test_a_panel_that_was_read_alone_shows_its_top_again_below_the_list(
    workspace: FakeWorkspace, back: str, down: str
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin_with(app, workspace, FEW, ("128",))
        page = await open_results(workspace, app, pilot)
        await pilot.press("v", "z")
        case = page.query_one("#case")
        await until(pilot, lambda: in_sight(page) == ["case"] and case.max_scroll_y > 0)
        await pilot.press(down)
        await until(pilot, lambda: case.scroll_y > 0)
        await pilot.press(back)
        await until(pilot, lambda: page.query_one(KeyedTable).has_focus)
        await until(pilot, lambda: "grade " in screen_text(app))
        assert case.scroll_y == 0


async def test_a_curve_alone_goes_on_to_the_next_case_and_names_it(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin_with(app, workspace, FEW, ("128",))
        page = await open_results(workspace, app, pilot)
        await pilot.press("z", "j")
        await until(pilot, lambda: page.query_one(KeyedTable).cursor_row == 1)
        await until(pilot, lambda: "1n8g" in str(page.query_one("#curve").border_subtitle))
        await pilot.press("k")
        await until(pilot, lambda: "1n1g" in str(page.query_one("#curve").border_subtitle))


async def test_a_campaign_without_cases_has_its_page_again_where_a_panel_was_alone(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin_with(app, workspace, FEW, ("128",))
        page = await open_results(workspace, app, pilot)
        await pilot.press("z")
        await until(pilot, lambda: in_sight(page) == ["curve"])
        app.session.controller = None
        tick(app)
        await until(pilot, lambda: "results-panel" in in_sight(page))
        assert "All panels" not in screen_text(app)


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_a_case_has_its_figures_in_a_line_then_its_grade_and_reasons(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin_with(app, workspace, FEW, ("128",))
        page = await open_results(workspace, app, pilot)
        if size == SMALL:
            await pilot.press("v")
        case = page.selected[1] if page.selected else None
        assert case is not None
        assert case.grade is not None
        _, *lines = page.query_one("#case", Details).text.splitlines()
        assert lines[0].startswith("median ")
        assert lines[1].startswith(f"grade {case.grade}, by what is marked")
        first = [lines.index(line) for line in lines if line.startswith(("▲ ", "→ "))]
        assert first == list(range(2, len(first) + 2))
        assert any(line.startswith(f"▲ {case.grade} ") for line in lines[2:3])
        assert f"grade {case.grade}, by what" in screen_text(app)


@pytest.mark.parametrize(
    "words",
    [
        *("without data loading", "not level before", "below a curve", "†: ", "‡: "),
        *(
            "✗: ",
            "▲: ",
            "outlier: ",
            "too near to matter",
            "nothing drops out",
            "then gpus or devices, then cv, then n",
        ),
    ],
)
def test_the_help_of_results_explains_words_that_stand_there(words: str) -> None:
    assert words in PANELS["results"].about.lower()


def test_the_help_of_results_has_each_sign_on_a_line_and_every_rule() -> None:
    lines = PANELS["results"].about.splitlines()
    for sign in ("Gr", "n", "CV", "†", "‡", "w", "Flags"):
        assert sum(line.startswith(f"{sign}: ") for line in lines) == 1, sign
    (rule,) = (line for line in lines if line.startswith("rule, "))
    assert all(name.replace("_", " ") in rule for name in RULES)


@pytest.mark.parametrize("panel", ["results", "compare"])
def test_each_flag_stands_in_the_help_of_the_pages_that_show_it(panel: str) -> None:
    lines = PANELS[panel].about.splitlines()
    for concern, words in SHORT.items():
        assert f"{words}: {MEANINGS[concern]}." in lines


def test_every_rule_is_said_in_words() -> None:
    assert set(RULES) == set(get_args(Statistic))


async def test_the_repeats_have_heads_and_say_whose_all_the_cases_below_them_are(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, (200, 60)) as (app, pilot):
        begin_with(app, workspace, FEW, ("128", "160"))
        page = await open_results(workspace, app, pilot, 3000)
        for key, (group, _) in page._cases.items():
            page.main_panel().table.select(key)
            batch = group.parameters["batch_size"]
            await until(pilot, lambda: f"all cases of b{batch}" in screen_text(app))  # noqa: B023
        assert "images/s vs median  hosts" in screen_text(app)


async def test_no_two_keys_of_a_zoomed_panel_are_called_alike(workspace: FakeWorkspace) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin_with(app, workspace, FEW, ("128",))
        page = await open_results(workspace, app, pilot)
        await pilot.press("z")
        for _ in VIEWS:
            labels = page.labels_now
            assert labels["open"] == "Repeats in full"
            assert labels["view"] != labels["open"]
            await pilot.press("v")
