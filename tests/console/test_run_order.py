from __future__ import annotations

from dataclasses import replace

import pytest

from backends.campaign.record.run_state import RunState
from tests.console.conftest import LARGE, SMALL, begin, console, screen_text, tick, until
from tests.console.fakes import FakeWorkspace
from tests.console.test_runs import open_runs, pass_time
from tui.screens.run_order import PLANNED
from tui.screens.run_text import BEHIND_BAR, PROGRESS
from tui.widgets.keyed_table import KeyedTable


@pytest.mark.parametrize("key", ["home", "x", "end"])
async def test_o_sorts_the_runs_and_the_cursor_stays_on_its_run_and_in_sight(
    workspace: FakeWorkspace, key: str
) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace, SMALL) as (app, pilot):
        begin(app, workspace, repeats=4)
        page = await open_runs(app, pilot)
        for _ in range(3):
            await pass_time(workspace, app, pilot, 30)
        table = page.query_one(KeyedTable)
        await pilot.press(key)
        planned, here = table.shown_keys, table.current_key
        for name in [*list(PLANNED.sorts)[1:], "plan"]:
            await pilot.press("o")
            assert (f"by {name}" in screen_text(app)) is (name != "plan")
            assert sorted(table.shown_keys) == sorted(planned)
            assert table.current_key == here
            top = round(table.scroll_y)
            assert top <= table.cursor_row < top + table.scrollable_content_region.height - 1
        assert table.shown_keys == planned


async def test_by_state_what_is_at_work_is_first_then_what_failed_and_what_was_done_again_last(
    workspace: FakeWorkspace,
) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=3)
        page = await open_runs(app, pilot)
        await pilot.press("o")
        for _ in range(3):
            await pass_time(workspace, app, pilot, 30)
        await pilot.press("x", "t")
        table = page.query_one(KeyedTable)
        for _ in range(12):
            await pass_time(workspace, app, pilot, 20)
            assert page.viewed is not None
            last = {run.run_id for run in page.viewed.state.latest_attempts()}
            states = {run.run_id: run.state for run in page.viewed.runs}
            ranks = []
            for key in table.shown_keys:
                state = states[key]
                failed = state is RunState.FAILED
                ranks.append(0 if state.active else 9 if key not in last else 1 if failed else 2)
            assert ranks == sorted(ranks)
        assert 9 in ranks


async def test_a_sorted_list_goes_on_with_what_is_at_work(workspace: FakeWorkspace) -> None:
    """The key concerns no run."""
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pilot.press("o")
        for _ in range(4):
            await pass_time(workspace, app, pilot, 30)
            assert page.selected is not None
            assert page.selected.state.active


@pytest.mark.parametrize("columns", range(80, 201, 5))
async def test_a_bar_of_progress_takes_the_room_that_there_is(
    workspace: FakeWorkspace, columns: int
) -> None:
    async with console(workspace, (columns, 40)) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        table = page.query_one(KeyedTable)
        width = next(w for column, w in table._shown if column.key == "progress")
        hosts = any(column.key == "hosts" for column, _ in table._shown)
        row = next(row for row in table._rows if "%" in row.cells[PROGRESS].plain)
        said = row.cells[PROGRESS].cell_len
        assert said <= max(width, 8 + BEHIND_BAR)
        if hosts and width >= 32 + BEHIND_BAR + 1:
            assert said == 32 + BEHIND_BAR


async def test_the_cursor_goes_with_what_is_at_work_once_a_campaign_is_gone_on_with(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        app.session.controller = None
        app.session.opened = replace(controller.snapshot(), read_only=True)
        await pilot.press("3", "G")
        table = app.screen.query_one(KeyedTable)
        last = table.current_key
        app.session.controller, app.session.opened = controller, None
        workspace.clock.tick(2)
        tick(app)
        active = {run.run_id for run in controller.snapshot().runs if run.state.active}
        assert last not in active
        await until(pilot, lambda: table.current_key in active)
