"""What lies over Results goes on with the campaign, and what it writes is of that moment."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from backends.campaign.folder.export_report import Export, exported
from backends.results.layouts.common import LayoutOptions
from tests.console.conftest import LARGE, begin, console, screen_text, until
from tests.console.fakes import FakeController, FakeWorkspace
from tests.console.test_results import choose, open_export, open_results
from tui.app import DlperfApp
from tui.screens.dialogs import Prompt
from tui.screens.export_sheet import ExportSheet
from tui.screens.repeats import Repeats, repeat_rows
from tui.screens.results_page import ResultsPage
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.text_lines import TextLines

TAGS = ("1n1g", "1n8g", "2n8g")


def goes_on(random: Random, controller: FakeController, workspace: FakeWorkspace) -> None:
    """Something happens to the campaign: time passes, a run is tried again, cancelled, paused."""
    controller.fails = random.choice([{}, {random.choice(TAGS): "NCCL error"}])
    workspace.clock.tick(random.choice([1, 40, 200, 3000]))
    runs = controller.snapshot().runs
    one = random.choice(runs)
    match random.randrange(4):
        case 0 if one.state.ended:
            controller.retry(one.run_id)
        case 1 if not one.state.ended:
            controller.cancel_run(one.run_id)
        case 2 if one.state.waits and not one.paused:
            controller.pause(one.run_id)


async def followed(pilot: Pilot[str], sheet: ExportSheet) -> None:
    sheet.tick()
    await until(pilot, lambda: not sheet._at_work)


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_ends_while_the_sheet_is_open_it_and_its_file_and_results_agree(
    workspace: FakeWorkspace, tmp_path: Path, seed: int
) -> None:
    random, target = Random(seed), tmp_path / "out.md"
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, TAGS, repeats=3)
        page = await open_results(workspace, app, pilot, seconds=100)
        sheet = await open_export(app, pilot)
        layout = random.choice([one for one in sheet._layouts if _has_tables(one)])
        await choose(sheet, pilot, layout, "table")
        await pilot.press(*random.sample(["s", "s", "p", "L"], 2))
        await until(pilot, lambda: not sheet._at_work)
        for _ in range(4):
            chosen = (sheet._shown, sheet._format, sheet._lang, sheet._order)
            goes_on(random, controller, workspace)
            await followed(pilot, sheet)
            assert (sheet._shown, sheet._format, sheet._lang, sheet._order) == chosen
            now = controller.snapshot()
            what = Export(layout, "md", LayoutOptions(sheet._lang, arrangement=sheet._order))
            if sheet._wanted.format == "md":
                assert sheet._written == exported(now.state, now.path, what, now.path)
        wanted = sheet._wanted
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        target = target.with_suffix(f".{wanted.format}")
        app.screen.query_one(Input).value = str(target)
        workspace.clock.tick(3000)  # while the name is typed
        await pilot.press("enter")
        await until(pilot, lambda: sheet._last == target)
        await followed(pilot, sheet)
        now = controller.snapshot()
        assert target.read_text("utf-8") == exported(now.state, now.path, wanted, target.parent)
        shown = [line.plain for line in sheet.query_one(TextLines)._given]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)
        again = await open_export(app, pilot)
        await choose(again, pilot, layout, "table")
        again._lang, again._order = sheet._lang, sheet._order
        again._renew()
        await until(pilot, lambda: not again._at_work)
        assert [line.plain for line in again.query_one(TextLines)._given] == shown


def _has_tables(layout: str) -> bool:
    from backends.results.publish import LAYOUTS  # noqa: PLC0415

    return layout in LAYOUTS and LAYOUTS[layout].tables is not None


async def test_the_sheet_stays_where_it_was_read_and_lays_out_only_what_is_new(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(workspace, (60, 12)) as (app, pilot):
        controller = begin(app, workspace, TAGS, repeats=3)
        await open_results(workspace, app, pilot, seconds=100)
        sheet = await open_export(app, pilot)
        lines = sheet.query_one(TextLines)
        await pilot.press("V")  # the report, which is long
        await until(pilot, lambda: not sheet._at_work)
        await pilot.press("right", "down", "down")
        await pilot.pause(0.5)
        at, times, before = lines.scroll_offset, [], sheet._written
        assert all(at)
        told = sheet._told
        monkeypatch.setattr(sheet, "_told", lambda *what: (times.append(1), told(*what))[1])
        for _ in range(3):
            await followed(pilot, sheet)
        assert times == []
        workspace.clock.tick(6000)
        await followed(pilot, sheet)
        await pilot.pause()
        assert len(times) == 1
        assert controller.snapshot().finished
        assert sheet._written != before
        assert lines.scroll_offset == at


async def open_repeats(app: DlperfApp, pilot: Pilot[str]) -> Repeats:
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, Repeats))
    assert isinstance(app.screen, Repeats)
    return app.screen


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_ends_while_repeats_are_read_they_and_results_agree(
    workspace: FakeWorkspace, seed: int
) -> None:
    random = Random(seed)
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, TAGS, repeats=3)
        page: ResultsPage = await open_results(workspace, app, pilot, seconds=100)
        dialog = await open_repeats(app, pilot)
        table = dialog.query_one(KeyedTable)
        for _ in range(5):
            await pilot.press(random.choice("jk"))
            on = table.current_key
            goes_on(random, controller, workspace)
            dialog.tick()
            await pilot.pause()
            assert table.current_key == on
            case = dialog._case
            (_, now) = page._cases[case.as_case.key]
            assert now is case
            assert set(table.shown_keys) == {row.key for row in repeat_rows(case)}
            states = {run.run_id: run for run in controller.snapshot().runs}
            for row in table._rows:
                assert (
                    row.cells[1].plain.endswith(
                        "paused" if states[row.key].paused else str(states[row.key].state)
                    )
                    or row.cells[1].plain == "– skipped"
                )
            assert f"{case.succeeded} of {case.wanted} repeats succeeded" in screen_text(app)
        drawn = dialog._case
        dialog.tick()
        assert dialog._case is drawn
