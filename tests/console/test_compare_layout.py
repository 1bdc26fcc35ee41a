"""Who has how many lines in Compare, whatever the terminal's size, and each panel alone."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from rich.text import Text

from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    console,
    screen_text,
    settled,
    shows,
    until,
    words,
)
from tests.console.fakes import FakeWorkspace
from tests.console.test_bursts import key_event
from tests.console.test_compare import NEW_DRIVER, measured, open_compare
from tui.screens import compare_screen
from tui.screens.compare_screen import VIEWS, Compare
from tui.text import cell
from tui.widgets.chart import Chart
from tui.widgets.keyed_table import KeyedTable, Row

FRAME, LEAST = 1, 3
"""Lines: that above a panel, and those in it."""
MANY = ("1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g")
TOO_SMALL = "too small for a chart"


async def several(
    workspace: FakeWorkspace, campaigns: int, tags: tuple[str, ...], name: str = "night"
) -> None:
    """The second is on another driver, which is told below the rows."""
    for days in reversed(range(campaigns)):
        await measured(
            workspace,
            f"{'abcdef'[days]}-{name}",
            days=days,
            tags=tags,
            speed=1 - 0.03 * days,
            **({"environment": NEW_DRIVER} if days == 1 else {}),
        )
    workspace.probed.clear()


def in_sight(screen: Compare) -> list[str]:
    panels = (screen.query_one(f"#{name}") for name in ("compared", *VIEWS))
    return [str(panel.id) for panel in panels if panel.region.area]


@pytest.mark.parametrize(
    ("size", "back"), [(SMALL, "z"), (LARGE, "escape"), (HUGE, "q"), (SMALL, "slash")], ids=str
)
async def test_zoom_gives_a_panel_all_of_the_page_and_v_the_next_one(
    workspace: FakeWorkspace, size: tuple[int, int], back: str
) -> None:
    await several(workspace, 3, MANY)
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 3)
        before = in_sight(screen)
        assert shows(app, "z Zoom")
        await pilot.press("z")
        assert in_sight(screen) == ["curves"], "from the list what is below it"
        seen = []
        for _ in VIEWS:
            [view] = in_sight(screen)
            seen.append(view)
            panel = screen.query_one(f"#{view}")
            assert panel.outer_size == (size[0] - 2, size[1] - 2)
            assert panel.has_focus is panel.focusable
            assert shows(app, "z All panels")
            assert shows(app, "Esc q Back")
            await pilot.press("v")
        assert seen == [*VIEWS]
        await pilot.press(back)
        assert in_sight(screen) == before
        assert screen.query_one(KeyedTable).has_focus is (back != "slash")
        await pilot.press(*(["escape"] if back == "slash" else []), "tab")
        if screen.focused is not None and (name := screen.focused.id) in VIEWS:
            await pilot.press("z")
            assert in_sight(screen) == [name]
            await pilot.press("escape")
            assert app.screen is screen, "Esc leads back to the panels first"


@pytest.mark.parametrize(
    ("size", "before"), [(SMALL, ()), (LARGE, ("tab",)), (SMALL, ("shift+tab",))], ids=str
)
async def test_z_zooms_what_v_led_to_however_fast_it_follows(
    workspace: FakeWorkspace, size: tuple[int, int], before: tuple[str, ...]
) -> None:
    await several(workspace, 3, MANY)
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 3)
        await pilot.press(*before)
        for _ in VIEWS:
            for name in ("v", "z"):
                app.post_message(key_event(name))
            await settled(app)
            assert in_sight(screen) == [screen._view]
            await pilot.press("z", *before)


async def test_a_terminal_that_grew_while_a_panel_was_alone_has_all_of_the_title_then(
    workspace: FakeWorkspace,
) -> None:
    await several(workspace, 2, MANY, "resnet50-after-the-driver-went-back-to-450.80")
    async with console(workspace, SMALL) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        await pilot.press("z")
        await pilot.resize_terminal(*HUGE)
        await until(pilot, lambda: screen.query_one(Chart).size.width > SMALL[0])
        await settled(app)
        await pilot.press("z")
        assert shows(app, "Against 1 a-resnet50-after-the-driver-went-back-to-450.80 · 6 slower")


async def test_curves_alone_go_on_to_the_next_case(workspace: FakeWorkspace) -> None:
    await several(workspace, 2, MANY)
    async with console(workspace, SMALL) as (app, pilot):
        await open_compare(app, pilot, 2)
        await pilot.press("z")
        assert shows(app, "◉ 1n1g")
        for key, tag in (("j", "1n2g"), ("down", "1n4g"), ("k", "1n2g"), ("up", "1n1g")):
            await pilot.press(key)
            assert shows(app, f"◉ {tag}")


def sizes(seed: int, many: int) -> list[tuple[int, int]]:
    random = Random(seed)
    drawn = [(random.randint(80, 220), random.randint(24, 70)) for _ in range(many)]
    return [SMALL, LARGE, (160, 24), HUGE, *drawn]


@pytest.mark.parametrize(
    ("campaigns", "tags", "name"),
    [
        (2, ("2n8g",), "night"),
        (4, ("2n8g",), "resnet50-after-the-driver-went-back-to-450.80"),
        (4, MANY, "night"),
        (6, MANY, "resnet50-after-the-driver-went-back-to-450.80"),
    ],
)
async def test_every_panel_has_its_least_lines_and_a_chart_is_drawn_at_every_size(
    workspace: FakeWorkspace,
    monkeypatch: pytest.MonkeyPatch,
    campaigns: int,
    tags: tuple[str, ...],
    name: str,
) -> None:
    random = Random(campaigns)
    said = Text()
    monkeypatch.setattr(compare_screen, "below_rows", lambda *_: said)
    await several(workspace, campaigns, tags, name)
    async with console(workspace, SMALL) as (app, pilot):
        screen = await open_compare(app, pilot, campaigns)
        table, chart = screen.query_one(KeyedTable), screen.query_one(Chart)
        for size in sizes(campaigns * len(tags), 3):
            said = Text("\n".join(["what is so of all rows"] * random.choice((1, 3, 6, 9))))
            await pilot.resize_terminal(*size)
            for key in ("", "c", "z", "z"):
                await pilot.press(*key)
                shown = in_sight(screen)
                for panel in shown:
                    lines = screen.query_one(f"#{panel}").outer_size.height - FRAME
                    needed = table.row_total + 1 if panel == "compared" else LEAST
                    assert lines >= min(LEAST, needed), (size, key, panel)
                at = table.cursor_row - table.scroll_offset.y
                assert "compared" not in shown or 0 <= at < table.size.height - 1
                told = screen_text(app)
                assert TOO_SMALL not in told, (size, key, told)
                assert ("curves" in shown) is bool(chart.region.area)


@pytest.mark.parametrize("size", [LARGE, HUGE], ids=str)
async def test_bars_of_one_case_begin_with_the_numbers_of_their_campaigns(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    """By which everything around calls them; their names are cut where they are long."""
    await several(workspace, 2, ("1n8g",), "night-with-a-name-that-is-cut-everywhere")
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        await settled(app)
        there = screen.query_one("#curves", Chart).region
        assert there.area
        lines = screen_text(app).splitlines()[there.y : there.bottom]
        drawn = [line[there.x : there.right] for line in lines]
        bars = [line for line in drawn if "-night" in line]
        assert [re.findall(r"(\d) [ab]-night", line) for line in bars] == [["1"], ["2"]]


@pytest.mark.parametrize(("marks", "width"), [(2, 80), (3, 100), (2, 120), (3, 160)])
async def test_the_interval_stands_in_every_row_however_long_the_names_of_cases_are(
    workspace: FakeWorkspace, marks: int, width: int
) -> None:
    """It is what the screen is for: names are cut before it, as far as they can be read."""
    await several(workspace, marks, ("1n1g", "1n8g"))
    async with console(workspace, (width, 40)) as (app, pilot):
        screen = await open_compare(app, pilot, marks)
        label = "1n8g adam compile=max-autotune batch_size=b128→256 x"
        figures = ["12,345.6", "12,345.7", "12/14, 11/14", "0.998", "0.945…0.985"]
        said = [label, *["2"] * (marks > 2), *figures, "= same"]
        table = screen.query_one(KeyedTable)
        table.refill([Row("a", tuple(map(cell, said)))])
        await pilot.pause()
        row = next(line for line in screen_text(app).splitlines() if "0.998" in line)
        assert "0.945…0.985" in row
        assert " = same " in row
        shown = {column.key: width for column, width in table._shown}
        assert shown["case"] >= 24
        assert "95% interval" in screen_text(app)
        assert "candidate" not in shown or "12,345.7 " in row


def listed(told: str) -> list[str]:
    """The page to the panels below the rows."""
    lines = told.splitlines()
    return lines[: next(n for n, line in enumerate(lines) if "Speedup over" in line)]


@pytest.mark.parametrize(
    ("size", "between"), [(LARGE, (100, 30)), (SMALL, (200, 60)), (LARGE, (40, 12))], ids=str
)
async def test_a_size_that_it_had_before_looks_as_it_did(
    workspace: FakeWorkspace, size: tuple[int, int], between: tuple[int, int]
) -> None:
    await several(workspace, 2, MANY[:3], "resnet50-after-the-driver-went-back-to-450.80")
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        table = screen.query_one(KeyedTable)
        await settled(app)
        before = screen_text(app)
        for other in (between, size):
            await pilot.resize_terminal(*other)
            await until(pilot, lambda: screen.size == other)  # noqa: B023 - awaited here
            await settled(app)
            await pilot.pause()
            assert table.size.height <= table.row_total + 1, "no empty line below the rows"
        assert listed(screen_text(app)) == listed(before)


async def test_several_cases_are_in_sight_on_the_lowest_terminal(workspace: FakeWorkspace) -> None:
    await several(workspace, 2, MANY, "resnet50-after-the-driver-went-back-to-450.80")
    async with console(workspace, SMALL) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: screen.size.height == 12)
        await settled(app)
        await pilot.pause()
        assert screen.query_one(KeyedTable).size.height - 1 >= LEAST
        assert TOO_SMALL not in screen_text(app)


async def test_the_threshold_has_its_key_in_the_foot_at_80_columns(
    workspace: FakeWorkspace,
) -> None:
    await several(workspace, 2, MANY)
    async with console(workspace, SMALL) as (app, pilot):
        await open_compare(app, pilot, 2)
        for _ in VIEWS:
            assert "t Threshold  Esc q Close" in screen_text(app)
            await pilot.press("c", "v")


@pytest.mark.parametrize("width", [80, 100, 120, 140, 200])
async def test_which_way_a_case_that_is_not_judged_points_is_told_where_there_is_room(
    workspace: FakeWorkspace, width: int
) -> None:
    await measured(workspace, "b-slower", speed=0.5, days=1)
    await measured(workspace, "a-before")
    async with console(workspace, (width, 40)) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        found = screen._found
        assert found is not None
        (other,) = found.others
        assert other.comparison is not None
        cases = tuple(replace(one, other_machines=True) for one in other.comparison.cases)
        in_doubt = replace(other, comparison=replace(other.comparison, cases=cases))
        screen._found = replace(found, others=(in_doubt,))
        screen._fill()
        await until(pilot, lambda: "? slower" in screen_text(app))
        await pilot.pause()
        rows = words(screen.query_one(KeyedTable)).splitlines()[1:]
        assert rows
        directed = "? slower, in doubt" if width >= 120 else "? slower"
        assert all(directed in row for row in rows), rows
        assert width < 120 or all("other hosts" in row for row in rows), rows
        assert "Ratio" in screen_text(app)
