"""From a case on Results to its run on Runs, where Results sends there."""

from __future__ import annotations

from functools import partial

import pytest

from backends.campaign.record.run_state import RunState
from tests.console.conftest import LARGE, SMALL, begin, console, shows, tick, until
from tests.console.fakes import FakeWorkspace
from tui.screens.repeats import Repeats
from tui.screens.results_page import ResultsPage
from tui.screens.runs_page import RunsPage
from tui.widgets.keyed_table import KeyedTable

FAILS = {"1n8g": "NCCL error", "4n8g": "out of GPU memory"}


@pytest.mark.parametrize(("size", "filtered"), [(SMALL, True), (LARGE, False)], ids=str)
@pytest.mark.parametrize("at", [0, 60, 600])
async def test_3_goes_to_the_run_that_results_sends_there_for_and_else_leaves_the_cursor(
    workspace: FakeWorkspace, size: tuple[int, int], at: float, filtered: bool
) -> None:
    workspace.fails = FAILS
    async with console(workspace, size) as (app, pilot):
        controller = begin(app, workspace)
        controller.cancel_run("r05")  # skipped
        controller.cancel_run("r06")
        await pilot.press("3")
        for _ in range(12):
            workspace.clock.tick(at / 12)
            tick(app)
        await pilot.press("4", *"v" * (size == SMALL))
        page = app.screen
        assert isinstance(page, ResultsPage)
        tick(app)
        await pilot.pause()
        table = page.main_panel().table
        ways = 0
        for key in table.shown_keys:
            table.select(key)
            await pilot.pause()
            case = page.selected[1] if page.selected else None
            assert case is not None
            advised = "→ 3" in page.query_one("#case").text  # type: ignore[attr-defined]
            ways += advised
            await pilot.press("3")
            runs = app.screen
            assert isinstance(runs, RunsPage)
            await pilot.press("escape", "home")
            before = runs.main_panel().table.current_key
            if filtered:
                await pilot.press("slash", *"1n1g", "enter")
            await pilot.press("4")
            await until(pilot, lambda: app.screen is page and page.selected)
            await pilot.press("3")
            tick(app)
            await until(pilot, partial(shows, app, "Runs · "))
            found = runs.selected
            if advised:
                assert found is not None
                assert found.case.key == case.as_case.key
                if case.failed_runs:
                    assert found.state.ended
                    assert "retry" in runs._able.changes, "t there does what was said"
            else:
                assert runs.main_panel().table.current_key == before
            await pilot.press("escape")
            await pilot.press("4")
            await until(pilot, lambda: app.screen is page)
        assert ways


async def test_from_another_page_the_cursor_of_runs_stays(workspace: FakeWorkspace) -> None:
    workspace.fails = FAILS
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3")
        workspace.clock.tick(600)
        tick(app)
        await pilot.press("home", "4")
        page = app.screen
        assert isinstance(page, ResultsPage)
        failed = next(k for k, (_, case) in page._cases.items() if case.failed_runs)
        page.main_panel().table.select(failed)
        await pilot.pause()
        assert page.run_to_see
        await pilot.press("1", "3")
        tick(app)
        runs = app.screen
        assert isinstance(runs, RunsPage)
        assert runs.main_panel().table.cursor_row == 0


@pytest.mark.parametrize("filtered", [False, True])
async def test_enter_on_a_repeat_leads_to_its_own_attempt(
    workspace: FakeWorkspace, filtered: bool
) -> None:
    workspace.fails = FAILS
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g", "1n8g"), repeats=2)
        workspace.clock.tick(600)
        tick(app)
        failed = [one for one in controller.snapshot().runs if one.state is RunState.FAILED]
        controller.retry(failed[0].run_id)
        workspace.clock.tick(600)
        tick(app)
        seen = set()
        for place in range(len(controller.snapshot().runs)):
            await pilot.press("3", "escape")
            if filtered:
                await pilot.press("slash", *"1n1g", "enter")
            await pilot.press("4")
            page = app.screen
            assert isinstance(page, ResultsPage)
            await until(pilot, lambda page=page: page.selected)
            table = page.main_panel().table
            for key in table.shown_keys:
                table.select(key)
                await pilot.pause()
                await pilot.press("enter")
                await until(pilot, lambda: isinstance(app.screen, Repeats))
                rows = app.screen.query_one(KeyedTable)
                if place >= len(rows.shown_keys):
                    await pilot.press("escape")
                    continue
                rows.move_cursor(row=place)
                await pilot.pause()
                wanted = rows.current_key
                await pilot.press("enter")
                await until(pilot, lambda: isinstance(app.screen, RunsPage))
                runs = app.screen
                assert isinstance(runs, RunsPage)
                tick(app)
                await until(
                    pilot,
                    lambda runs=runs, wanted=wanted: (
                        runs.selected and runs.selected.run_id == wanted
                    ),
                )
                seen.add(wanted)
                await pilot.press("4")
                await until(pilot, lambda page=page: app.screen is page)
        assert seen == {one.run_id for one in controller.snapshot().runs}
