"""Who has how many lines on Runs: the list what it needs, as far as the panels can spare it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.coordinate import Coordinate

from backends.campaign.record import events as ev
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import take
from backends.engines.engine import WaitKind
from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    begin,
    console,
    screen_text,
    tick,
    until,
    words,
)
from tests.console.fakes import FakeWorkspace
from tests.console.test_runs import open_runs, pass_time
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned, succeeded
from tui.screens.results_page import ResultsPage
from tui.screens.run_text import summary
from tui.screens.runs_page import RunsPage
from tui.widgets.filter_table import CORNERS, TablePanel
from tui.widgets.keyed_table import KeyedTable

FRAME, HEADING = 2, 1


def heights(page: RunsPage) -> dict[str, int]:
    panels = [page.query_one("#runs-panel"), *page.panels.children]
    return {str(one.id): one.outer_size.height for one in panels if one.is_on_screen}


async def test_on_first_opening_the_list_is_there_before_anything_that_the_panels_show(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunsPage, "tick", lambda page: None)  # it has not come to that
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3")
        await until(pilot, lambda: "4n8g b128 fp32 #2" in screen_text(app))
        assert isinstance(app.screen, RunsPage)
        assert set(heights(app.screen)) == {"runs-panel"}


@pytest.mark.parametrize("repeats", [1, 12])
@pytest.mark.parametrize(
    ("size", "least", "beside_schedule"), [(SMALL, 7, 7), (LARGE, 11, 18), (HUGE, 22, 29)], ids=str
)
async def test_the_list_has_the_lines_that_the_panels_below_do_not_need_and_none_is_left_over(
    workspace: FakeWorkspace,
    size: tuple[int, int],
    least: int,
    beside_schedule: int,
    repeats: int,
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace, repeats=repeats)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        table = page.query_one(KeyedTable)
        room = page.query_one("#body").size.height
        for key in ("", "s", "s", "v", "v", "v", "z", "z", "s", "z"):
            await pilot.press(*key)
            await pilot.pause()
            now = heights(page)
            assert sum(now.values()) == room, (key, now)
            if (listed := now.get("runs-panel", 0)) and len(now) > 1:
                rows = beside_schedule if "schedule" in now else least
                wanted = min(rows, table.row_total) + HEADING + FRAME
                assert listed >= wanted, (key, now)
                assert listed <= table.row_total + HEADING + FRAME, (key, now)
                assert 0 <= table.cursor_row - table.scroll_offset.y < listed - HEADING - FRAME
            if "schedule" in now and "log" in now:
                lines = page.panels.schedule.text.count("\n") + 1
                assert now["schedule"] == lines + FRAME


@pytest.mark.parametrize("size", [(40, 10), (80, 12), (100, 17)], ids=str)
async def test_on_a_low_terminal_the_list_has_all_lines_until_a_panel_is_asked_for(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        assert set(heights(page)) == {"runs-panel"}
        assert any(word in screen_text(app) for word in ("running", "preparing"))
        await pilot.press("v")
        await pilot.pause()
        assert len(heights(page)) == 2


@pytest.mark.parametrize("size", [SMALL, LARGE, (159, 60), (160, 33), (160, 34), HUGE], ids=str)
async def test_on_a_broad_terminal_the_details_stand_at_the_right_and_take_nobodys_place(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    broad = size in ((160, 34), HUGE)
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 60)
        beside, table = page.panels.beside, page.query_one(KeyedTable)
        for row in ("", "down", "x"):
            await pilot.press(*([row] if row else []))
            await pilot.pause()
            assert beside.is_on_screen is broad
            run = page.selected
            assert run is not None
            assert page.check_action("view", ()) is not broad
            if not broad:
                continue
            assert beside.region.right == size[0]
            assert beside.region.height == page.query_one("#body").size.height
            assert page.panels.chart.is_on_screen
            assert page.panels.log_panel.is_on_screen
            assert not page.panels.details.display
            named = page._rows.names(page.viewed)[run.run_id]
            assert named in str(beside.border_title), "as the list, the chart and the log call it"
            told = " ".join(words(beside).split())
            assert named == run.label or run.label in told
            await pilot.press("s")
            assert page.panels.schedule.is_on_screen
            assert page.check_action("view", ())
            await pilot.press("v")
            assert page.panels.chart.is_on_screen
            await pilot.press("tab")
            assert beside.has_focus
            await pilot.press("z")
            assert page.panels.details.region.width == size[0]
            assert page.panels.details.has_focus
            assert not beside.display
            await pilot.press("z")
            assert beside.has_focus
            await pilot.press("escape")
            assert table.has_focus
            await pilot.press("y")
            assert app.clipboard == beside.text


@pytest.mark.parametrize("profiles", [1, 3])
@pytest.mark.parametrize("size", [(50, 15), (60, 15), (66, 15), SMALL, LARGE], ids=str)
async def test_no_two_names_of_runs_are_alike_however_narrow_the_list_is(
    workspace: FakeWorkspace, size: tuple[int, int], profiles: int
) -> None:
    models = ("paddle-bert", "paddle-resnet50", "torch-resnet50")[:profiles]
    cases = product(models, ("1n8g", "2n8g", "4n8g"), (128, 256), (1, 2, 3))
    told: list[ev.Event] = [
        ev.RunPlanned(
            t=0.0,
            run_id=f"r-{n:04d}-a1",
            profile=model,
            framework="f",
            model="m",
            unit="images/s",
            nodes=int(tag[0]),
            gpus_per_node=8,
            parameters={"batch_size": batch, "precision": "fp32"},
            repeat=repeat,
            attempt=1,
        )
        for n, (model, tag, batch, repeat) in enumerate(cases)
    ]
    async with console(workspace, size) as (app, pilot):
        controller = begin(app, workspace)
        controller.state = fold(told)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)
        await until(pilot, lambda: table.row_total == len(told))
        width = next(width for column, width in table._shown if column.key == "label")
        number = [column.key for column, _ in table._shown].index("label")
        rows = range(len(table.shown_keys))
        names = [str(table.get_cell_at(Coordinate(row, number))) for row in rows]
        assert len(set(names)) == len(told)
        assert max(map(cell_len, names)) <= width
        if profiles == 1:
            said = [name for name in names if "128" in name or "256" in name]
            assert len(said) == len(told), "what tells them apart goes last"


@pytest.mark.parametrize("size", [(60, 24), SMALL, (95, 24), LARGE, (160, 34), HUGE], ids=str)
async def test_elapsed_and_hosts_stay_where_short_bars_leave_room_and_names_are_whole(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        table = page.query_one(KeyedTable)

        def widths() -> dict[str, int]:
            return {str(column.label): column.width for column in table.ordered_columns}

        assert "ETA" in widths()
        for _ in range(100):
            await pass_time(workspace, app, pilot, 60)
        assert page.viewed is not None
        assert page.viewed.finished
        shown = widths()
        assert "ETA" not in shown, "nothing is estimated of what is over"
        assert "━ done" in screen_text(app)
        blank = shown["Progress"] - len("━━━━━━━━ done")
        for column, room in (("Elapsed", 9), ("Hosts", 14)):
            assert column in shown or blank < room
        assert ("Elapsed" in shown) is (size[0] >= 80)
        if size[0] >= 80:
            cells = [table.get_cell_at(Coordinate(0, n)).plain for n in range(2)]
            assert not any("…" in one for one in cells)


@pytest.mark.parametrize("size", [(120, 40), HUGE])
async def test_of_a_run_that_waits_the_chart_of_what_trains_has_the_room_and_not_its_empty_log(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("G")
        await until(pilot, lambda: "No log yet" in screen_text(app))
        await pilot.pause()
        now = heights(page)
        assert now["chart"] > now["log"]
        assert page.panels.chart._plot.lines
        await pilot.press("enter", "g")
        await until(pilot, lambda: "No log yet" not in screen_text(app))
        assert heights(page)["log"] > now["log"]


async def test_the_chart_stays_while_hosts_rest_between_two_runs(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        idle = replace(controller.snapshot(), active=0)
        waits = idle.runs[-1]
        names = {run.run_id: run.label for run in idle.runs}
        page.panels.show(idle, waits, names)
        assert page.panels.details.display
        page.panels.show(idle, replace(waits, waiting=WaitKind.SETTLING), names)
        assert page.panels.chart.display
        assert not page.panels.details.display


@pytest.mark.parametrize("tried", [False, True])
async def test_elapsed_has_its_room_before_bars_are_long(
    workspace: FakeWorkspace, *, tried: bool
) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace, (86, 24) if tried else SMALL) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 60)
        failed = next(run for run in controller.state.runs.values() if run.reason)
        if tried:
            controller.retry(failed.run_id)
        await pass_time(workspace, app, pilot, 5)
        await pass_time(workspace, app, pilot, 5)
        table = page.query_one(KeyedTable)
        names = [row.cells[2].plain for row in table._rows]
        assert any("attempt 2" in name for name in names) is tried
        widths = {str(column.label): column.width for column in table.ordered_columns}
        assert "Elapsed" in widths
        for row in table.ordered_rows:
            label, bar = (
                table.get_row(row.key)[list(widths).index(c)] for c in ("Run", "Progress")
            )
            assert "…" not in label.plain
            if "━" in bar.plain or "done" in bar.plain:
                assert bar.cell_len <= widths["Progress"], "whole"


@pytest.mark.parametrize("keys", ["", "o", "o/1n1g", "/1n1g"])
@pytest.mark.parametrize("name", ["2026-11-21-resnet50", "nightly-" * 9 + "b"])
async def test_of_a_title_the_name_of_the_campaign_gives_way_and_no_word_behind_it(
    workspace: FakeWorkspace, name: str, keys: str
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin(app, workspace).path = Path("/c") / name
        page = await open_runs(app, pilot)
        await pilot.press(*keys, *["enter"] * ("/" in keys))
        tick(app)
        title = str(page.main_panel().heading)
        assert len(title) <= SMALL[0] - CORNERS
        behind = ["by state ▴"] * ("o" in keys) + ["/1n1g"] * ("/" in keys)
        assert [words in title.split(" · ") for words in behind] == [True] * len(behind)
        assert (name in title) is (len(name) < 40)
        assert title.count("…") == (len(name) > 40)
        await pilot.press("4")
        await until(pilot, lambda: isinstance(app.screen, ResultsPage))
        tick(app)
        title = str(app.screen.query_one(TablePanel).heading)
        assert len(title) <= SMALL[0] - CORNERS
        assert not title.endswith("…")


@given(st.integers(0, 20), st.integers(0, 20), st.integers(20, 120))
def test_the_way_to_the_results_is_told_whole_or_not_at_all(
    well: int, failed: int, width: int
) -> None:
    told: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c")]
    for number in range(well + failed):
        run_id = f"r-{number:04}-a1"
        end = ev.RunFailed(t=3.0, run_id=run_id, reason="x")
        told += [planned(run_id), assigned(run_id), end if number < failed else succeeded(run_id)]
    viewed = take(fold([*told, ev.CampaignFinished(t=9.0)]), Path("c"), now=9.0)
    text = summary(viewed, width).plain
    way = "4 shows the results"
    assert way not in text or len(text) <= width
    if well and len(text) + len(way) + 3 <= width:
        assert text.endswith(way)
