from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from backends.campaign.plan.selection import Selection
from backends.campaign.record.lock import CampaignLockedError
from profiles.errors import DlperfError
from tests.console.conftest import LARGE, ONEFLOW, SMALL, console, screen_text, shows, until
from tests.console.fakes import START, FakeController, FakeSummary, FakeWorkspace
from tui.screens.campaign_list import CampaignList, Unfinished
from tui.screens.campaign_text import campaign_rows, summary_words
from tui.screens.dialogs import Choice
from tui.theme import BAD, GOOD, WARN


async def prepared(workspace: FakeWorkspace, state: str, name: str = "left") -> FakeController:
    await workspace.probe()
    workspace.probed.clear()
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 2))
    controller = workspace.controller(plan, name)
    workspace.summaries.append(FakeSummary(name, controller.path, state, 1, 2, START))
    return controller


async def test_on_start_unfinished_campaigns_are_offered_and_enter_resumes(
    workspace: FakeWorkspace,
) -> None:
    controller = await prepared(workspace, "unfinished")
    await prepared(workspace, "finished", "done")
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        shown = screen_text(app)
        assert "left" in shown
        assert "1/2" in shown
        assert "finished  done" not in shown
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "runs")
        assert workspace.resumed == [(controller.path, False)]
        assert app.session.controller is controller


async def test_an_unfinished_campaign_can_be_opened_read_only_or_ignored(
    workspace: FakeWorkspace,
) -> None:
    controller = await prepared(workspace, "unfinished")
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        await pilot.press("o")
        await until(pilot, lambda: app.session.opened is not None)
        assert app.session.opened is not None
        assert app.session.opened.path == controller.path
        assert not workspace.resumed


async def test_a_campaign_of_another_console_is_followed_live_and_its_loss_is_said_once(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.app.FOLLOW_S", 0.02)
    controller = await prepared(workspace, "live")
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "▶ live"))
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "runs")
        await until(pilot, partial(shows, app, "read-only"))
        assert shows(app, "0/2 runs")
        workspace.clock.tick(20)
        await until(pilot, partial(shows, app, "50%"))
        del workspace.controllers[controller.path]
        await until(pilot, partial(shows, app, "no campaign here"))
        assert shows(app, "50%")


async def test_escape_ignores_what_was_left(workspace: FakeWorkspace) -> None:
    await prepared(workspace, "unfinished")
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await pilot.press("escape")
        await until(pilot, partial(shows, app, "no campaign"))
        assert not workspace.resumed


async def test_a_read_only_console_offers_nothing(workspace: FakeWorkspace) -> None:
    await prepared(workspace, "unfinished")
    async with console(workspace, readonly=True) as (app, pilot):
        await pilot.pause(0.1)
        assert not isinstance(app.screen, Unfinished)


@pytest.mark.parametrize(("key", "taken"), [("t", True), ("escape", False)])
async def test_a_campaign_of_another_console_is_taken_over_only_after_a_question(
    workspace: FakeWorkspace, key: str, taken: bool
) -> None:
    controller = await prepared(workspace, "unfinished")
    workspace.resume_errors.append(CampaignLockedError(controller.path, None, 12.0, True))
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "last sign 12 s ago" in screen_text(app)
        await pilot.press(key)
        await until(pilot, lambda: not isinstance(app.screen, Choice))
        assert ((controller.path, True) in workspace.resumed) is taken


async def test_a_resume_that_fails_is_told(workspace: FakeWorkspace) -> None:
    await prepared(workspace, "unfinished")
    workspace.resume_errors.append(DlperfError("the journal is empty", remedy="remove it"))
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "the journal is empty"))
        await until(pilot, partial(shows, app, "→ remove it"))


async def test_any_campaign_can_be_looked_at_from_every_page(workspace: FakeWorkspace) -> None:
    controller = await prepared(workspace, "finished", "2026-11-01-bert")
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("4", "O")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))
        await until(pilot, partial(shows, app, "✓ finished"))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "Results · 2026-11-01-bert"))
        assert app.session.opened is not None
        assert app.session.opened.path == controller.path


async def test_without_campaigns_the_list_says_how_to_get_one(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "No campaigns yet"))


@pytest.mark.parametrize(
    ("failed", "cancelled", "symbol", "colour"),
    [
        (0, 0, "✓", GOOD),
        (1, 0, "▲", WARN),
        (2, 0, "✗", BAD),
        (0, 1, "✓", WARN),
        (1, 1, "✗", BAD),
        (0, 2, "–", WARN),
    ],
)
def test_what_failed_or_was_cancelled_is_not_green_because_it_is_finished(
    tmp_path: Path, failed: int, cancelled: int, symbol: str, colour: str
) -> None:
    lost = FakeSummary("a", tmp_path, "finished", 2, 2, failed=failed, cancelled=cancelled)
    (row,) = campaign_rows([lost], START)
    _mark, state, _name, _runs, failures, ended, _measures, _said, _begun = row.cells
    assert str(state) == (f"{symbol} {failed} failed" if failed else f"{symbol} finished")
    assert str(failures) == ("", "1", "2")[failed]
    assert str(ended) == ("", "1", "2")[cancelled]
    assert str(state.style) == colour
    said = summary_words(lost, START).plain
    assert (f"{failed} failed" in said) is bool(failed)
    assert (f"{cancelled} cancelled" in said) is bool(cancelled)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_campaigns_of_one_day_are_told_apart(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    for number, (tag, minutes) in enumerate((("1n1g", 12), ("1n2g", 200))):
        workspace.summaries.append(
            FakeSummary(
                f"2026-11-21-smoke-{number}",
                Path(f"/c/{number}"),
                "finished",
                2,
                2,
                START - 60 * minutes,
                measures=f"cpu-smoke {tag}",
            )
        )
    async with console(workspace, size) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "12m ago"))
        assert shows(app, "3h ago")
        assert shows(app, "cpu-smoke 1n1g")
        await pilot.press("j")
        await until(pilot, partial(shows, app, "cpu-smoke 1n2g · 2 of 2 runs ended · begun 20"))


@pytest.mark.parametrize("state", ["unfinished", "live", "finished"])
async def test_a_console_that_only_looks_offers_to_look_and_nothing_else(
    workspace: FakeWorkspace, state: str
) -> None:
    controller = await prepared(workspace, state)
    async with console(workspace, LARGE, readonly=True) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "⏎ Open"))
        assert not any(words in screen_text(app) for words in ("Resume", "Keeper", "resumed"))
        await pilot.press("r", "b")
        assert isinstance(app.screen, CampaignList)
        await pilot.press("enter")
        await until(pilot, lambda: app.session.viewed_path == controller.path)
        assert not workspace.resumed
