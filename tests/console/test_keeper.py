"""A campaign is left to a keeper, followed while it goes on with it, and changed through it."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from backends.campaign.folder.paths import KEEPER_LOG
from backends.campaign.plan.selection import Selection
from backends.campaign.record.journal import FILE_NAME
from backends.campaign.record.lock import CampaignLock, CampaignLockedError, Holder, Role
from backends.campaign.record.state import RunState
from backends.keeper.process import Begun, KeeperError
from backends.keeper.request import Answer, Verb
from backends.remote.lease import Lease
from backends.transports.credential import Credential
from backends.use_cases import default_campaigns_dir
from profiles.errors import DlperfError
from tests.console.conftest import (
    LARGE,
    SMALL,
    begin,
    console,
    screen_text,
    settled,
    shows,
    tick,
    until,
    words,
)
from tests.console.fakes import FakeFinding, FakeWorkspace, facts, known_host, v100_hosts
from tests.console.test_campaigns import prepared
from tests.console.test_matrix import open_matrix
from tui.app import DlperfApp
from tui.kept_words import titled
from tui.leaving import finished_words
from tui.screens.campaign_list import Unfinished
from tui.screens.dialogs import Choice
from tui.screens.dry_run import DryRunView
from tui.screens.quit_question import detached_words, followed_words, left_words
from tui.screens.start_dialog import StartDialog

KEEPER = Holder("alice", "login02", 4711, 1, "n", Role.KEEPER)


class Keepers:
    """Stands in for the process: which campaigns were left to one."""

    def __init__(self) -> None:
        self.left: list[Path] = []
        self.error: KeeperError | None = None
        self.notes: tuple[str, ...] = ()
        self.begun = asyncio.Event()
        self.begun.set()

    async def leave(self, campaign: Path, options: list[str], *, more: object = ()) -> Begun:
        assert options[0] == "--campaigns"
        await self.begun.wait()
        if self.error is not None:
            raise self.error
        self.left.append(campaign)
        return Begun(4711, self.notes)


@pytest.fixture
def keepers(monkeypatch: pytest.MonkeyPatch) -> Keepers:
    found = Keepers()
    monkeypatch.setattr("tui.keeping.leave_to_keeper", found.leave)
    return found


async def test_enter_on_the_question_of_q_leaves_the_campaign_to_a_keeper(
    workspace: FakeWorkspace, keepers: Keepers
) -> None:
    keepers.notes = ("node1: the login is made with a key of the ssh agent",)
    async with console(workspace, SMALL) as (app, pilot):
        controller = begin(app, workspace)
        workspace.clock.tick(10)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "3 runs at work and 5 to come" in screen_text(app)
        await until(pilot, partial(shows, app, "leave it to a keeper"))
        await pilot.press("enter")
        await until(pilot, lambda: workspace.closed)
        assert controller.detached
        assert not controller.cancelled
    assert keepers.left == [controller.path]
    told = app.return_value or ""
    far = "2026-11-21-resnet50: 0/8 runs · ETA "
    assert f"A keeper (pid 4711) goes on with {far}" in told
    assert "note: node1: the login is made with a key" in told


async def test_a_keeper_that_does_not_begin_leaves_the_campaign_to_the_console(
    workspace: FakeWorkspace, keepers: Keepers
) -> None:
    keepers.error = KeeperError("no room on the disk", remedy="make some")
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("b")
        await until(pilot, partial(shows, app, "no room on the disk"))
        assert app.session.controller is controller
        assert app.session.opened is None
        assert workspace.resumed == [(controller.path, False)]
        assert not workspace.closed


async def test_the_question_names_hosts_at_which_a_keeper_cannot_log_in(
    workspace: FakeWorkspace, keepers: Keepers
) -> None:
    workspace.credentials = {"node2": Credential.HAND, "node3": Credential.FILE}
    async with console(workspace, SMALL) as (app, pilot):
        begin(app, workspace)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await until(pilot, partial(shows, app, "node2: you answered what the login asked"))


async def test_a_lost_terminal_leaves_the_campaign_to_a_keeper(
    workspace: FakeWorkspace, keepers: Keepers
) -> None:
    before = signal.getsignal(signal.SIGHUP)
    try:
        async with console(workspace) as (app, pilot):
            controller = begin(app, workspace)
            os.kill(os.getpid(), signal.SIGHUP)
            await until(pilot, lambda: workspace.closed)
        assert keepers.left == [controller.path]
        assert controller.detached
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_what_is_typed_or_lost_while_a_keeper_begins_leaves_no_campaign_alone(
    workspace: FakeWorkspace, keepers: Keepers, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGHUP)
    keepers.begun.clear()
    try:
        async with console(workspace, LARGE) as (app, pilot):
            controller = begin(app, workspace)
            await pilot.press("3", "q")
            await until(pilot, lambda: isinstance(app.screen, Choice))
            controller.path.mkdir(parents=True)
            detach, told = controller.detach, list[str]()

            async def detached() -> None:
                by = CampaignLock(controller.path).living()
                told.append("" if by is None else by.role)
                await detach()

            monkeypatch.setattr(controller, "detach", detached)
            await pilot.press("b")
            await until(pilot, lambda: app.session.leaving and bool(told))
            assert told == [Role.HANDOVER], "before it lets go"
            await pilot.press("q")
            await until(pilot, partial(shows, app, "one moment"))
            tick(app)
            await until(pilot, lambda: screen_text(app).count("handing over to a keeper …") == 2)
            assert "handing over to a keeper …" in screen_text(app).splitlines()[0]
            for wrong in ("nobody goes on with this campaign", "nobody at work", "overdue"):
                assert not shows(app, wrong)
            assert not shows(app, "last seen")
            with pytest.raises(DlperfError, match="a keeper is being started"):
                await app.session.resume(controller.path)
            assert not workspace.closed
            os.kill(os.getpid(), signal.SIGHUP)
            await pilot.pause(0.05)
            assert not workspace.closed
            keepers.begun.set()
            await until(pilot, lambda: workspace.closed)
        assert keepers.left == [controller.path]
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_a_console_that_only_looks_starts_no_keeper(
    workspace: FakeWorkspace, keepers: Keepers
) -> None:
    await prepared(workspace, "unfinished")
    async with console(workspace, LARGE, readonly=True) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "unfinished"))
        assert not shows(app, "b Keeper")
        await pilot.press("b")
        assert keepers.left == []


async def test_an_unfinished_campaign_is_left_to_a_keeper_with_b_and_looked_at(
    workspace: FakeWorkspace, keepers: Keepers
) -> None:
    controller = await prepared(workspace, "unfinished")
    workspace.kept_by = KEEPER
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "Nobody goes on with these"))
        await until(pilot, partial(shows, app, "b Keeper"))
        await pilot.press("b")
        await until(pilot, lambda: keepers.left == [controller.path])
        await until(pilot, partial(shows, app, "a keeper goes on with it"))
        assert app.session.controller is None


async def followed(workspace: FakeWorkspace, app: DlperfApp, pilot: object) -> None:
    """The campaign of a keeper, opened by itself, with a run at work."""
    await until(pilot, lambda: app.current_mode == "runs")  # type: ignore[arg-type]
    workspace.clock.tick(10)
    await until(pilot, partial(shows, app, "▶ running"))  # type: ignore[arg-type]


async def kept(workspace: FakeWorkspace) -> None:
    await prepared(workspace, "live", "kept")
    summary = workspace.summaries.pop()
    workspace.summaries.append(type(summary)(**{**vars(summary), "keeper": True}))
    workspace.kept_by = KEEPER


async def test_the_campaign_of_a_keeper_is_shown_live_and_changed_through_it(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.app.FOLLOW_S", 0.02)
    await kept(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await followed(workspace, app, pilot)
        assert shows(app, "a keeper goes on with it")
        assert not shows(app, "read-only")
        opened = app.session.opened
        assert opened is not None
        run = next(run for run in opened.runs if run.state is RunState.RUNNING)
        workspace.answers += [Answer("0", True, "1 run whose hosts are asked", (run.run_id,))]
        await pilot.press("d")
        await until(pilot, partial(shows, app, "1 run whose hosts are asked"))
        assert workspace.asked == [(Verb.DIAGNOSE, (run.run_id,), 0)]
        workspace.asked.clear()
        workspace.answers += [Answer("1", True, "1 run asked to end", (run.run_id,))]
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, partial(shows, app, "1 run asked to end"))
        assert workspace.asked == [(Verb.CANCEL, (run.run_id,), 0)]
        workspace.answers += [Answer("2", True, "1 run more planned"), None]
        await pilot.press("plus")
        await until(pilot, partial(shows, app, "One more repeat of each case?"))
        await pilot.press("y")
        await until(pilot, partial(shows, app, "1 run more planned"))
        assert workspace.asked[-1] == (Verb.REPEAT, None, 1)
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, partial(shows, app, "nobody goes on with this campaign"))
        assert workspace.asked[-1] == (Verb.CANCEL, None, 0)


async def test_hosts_tell_of_a_keepers_runs_what_they_tell_of_the_consoles_own(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a probe met is outdated by the run's end, and the host is asked again."""
    monkeypatch.setattr("tui.app.FOLLOW_S", 0.02)
    monkeypatch.setattr("tui.screens.page.AGAIN_EVERY_S", 0.05)
    await kept(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await followed(workspace, app, pilot)
        opened = app.session.opened
        assert opened is not None
        run = next(run for run in opened.runs if run.state is RunState.RUNNING)
        lease = Lease("root@vm, campaign kept, run 1", run_id=run.run_id)
        met = known_host("node1", "10.0.0.1", replace(facts(), lease=lease))
        rest = v100_hosts()[1:]
        workspace.answer(replace(met, probed_at=workspace.clock()), *rest)
        await workspace.probe()
        await pilot.press("1")
        await until(pilot, partial(shows, app, f"held by our run {run.label}"))
        assert not any(workspace.refreshed_among), "its run is at work"
        workspace.clock.tick(1000)
        await until(pilot, lambda: app.session.opened is not None and app.session.opened.finished)
        tick(app)
        assert not shows(app, f"our run {run.label}")
        assert not shows(app, "◐ in use")
        asked = workspace.refreshed_among
        await until(pilot, lambda: any("node1" in (among or ()) for among in asked))


@pytest.mark.parametrize("state", ["finished", "unfinished"])
@pytest.mark.parametrize("ended_s", [None, 90.0, 3 * 86400.0])
@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("gone_on_with", [False, True])
async def test_what_a_keeper_brought_to_its_end_lately_is_said_at_the_start(
    workspace: FakeWorkspace,
    state: str,
    ended_s: float | None,
    simulated: bool,
    gone_on_with: bool,
) -> None:
    controller = await prepared(workspace, state)
    summary = workspace.summaries.pop()
    workspace.summaries.append(
        type(summary)(**{**vars(summary), "failed": 1, "simulated": simulated})
    )
    if ended_s is not None:
        log = controller.path / KEEPER_LOG
        controller.path.mkdir(parents=True, exist_ok=True)
        log.touch()
        os.utime(log, (time.time() - ended_s,) * 2)
        journal = controller.path / FILE_NAME
        journal.touch()
        os.utime(journal, (time.time() - ended_s + 60.0 * gone_on_with,) * 2)
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: not app.session.looking)
        await pilot.pause()
        lately = (state, ended_s, simulated, gone_on_with) == ("finished", 90.0, False, False)
        said = f"O opens {controller.path.name}: a keeper ended it 90s ago, finished, 1 failed"
        assert shows(app, said) is lately
        await pilot.press("2")
        assert not shows(app, said)


async def test_what_a_keeper_brought_to_its_end_is_said_once(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    """And not at all where a console was left after it: that has told it, or shown it."""
    controller = await prepared(workspace, "finished")
    controller.path.mkdir(parents=True)
    for name, ago_s in ((KEEPER_LOG, 9.0), (FILE_NAME, 9.0)):
        (controller.path / name).touch()
        os.utime(controller.path / name, (time.time() - ago_s,) * 2)
    told = []
    for ended_again in (False, False, True):
        if ended_again:
            os.utime(controller.path / KEEPER_LOG)
        async with console(workspace, LARGE, marks_file=tmp_path / "s" / "marks.json") as (
            app,
            pilot,
        ):
            await until(pilot, lambda app=app: not app.session.looking)
            await pilot.pause()
            told.append(shows(app, f"O opens {controller.path.name}: a keeper ended it"))
            await pilot.press("q")
            await until(pilot, lambda: workspace.closed)
    assert told == [True, False, True]


async def test_leaving_the_campaign_of_a_keeper_says_where_it_is_and_how_to_come_back(
    workspace: FakeWorkspace,
) -> None:
    await kept(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await followed(workspace, app, pilot)
        path = app.session.viewed_path
        await pilot.press("q")
        await until(pilot, lambda: workspace.closed)
    told = app.return_value or ""
    assert "A keeper (pid 4711) goes on with kept: " in told
    log = ["The keeper's log:", f"  {path}/keeper.log"]
    again = ["Come back with:", "  dlperf-tui", "or look on with:"]
    figures = told.splitlines()[1]
    assert re.fullmatch(r"(No|\d of \d) cases? ha(s|ve) a figure (yet|so far)\.", figures)
    assert told.splitlines()[2:] == [*log, *again, f"  dlperf-tui status --watch {path}"]


async def test_leaving_a_campaign_that_ended_while_it_was_followed_says_how_and_where_it_is(
    workspace: FakeWorkspace,
) -> None:
    await kept(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await followed(workspace, app, pilot)
        path = app.session.viewed_path
        workspace.clock.tick(100_000)
        workspace.kept_by = None
        await app.session.refresh()
        await pilot.press("q")
        await until(pilot, lambda: workspace.closed)
    told = app.return_value or ""
    assert told.startswith("kept: 2/2 runs · finished")
    assert told.endswith(f"or print it with:\n  dlperf-tui report {path}")


async def test_leaving_a_campaign_that_was_over_when_it_was_opened_says_nothing(
    workspace: FakeWorkspace,
) -> None:
    controller = await prepared(workspace, "finished", "over")
    workspace.clock.tick(100_000)
    async with console(workspace, LARGE) as (app, pilot):
        await app.session.open(controller.path)
        await pilot.press("q")
        await until(pilot, lambda: workspace.closed)
    assert app.return_value == ""


@pytest.mark.parametrize("role", [Role.CONSOLE, Role.COMMAND, Role.REPLAY, None])
async def test_leaving_what_another_or_nobody_goes_on_with_names_no_keeper(
    workspace: FakeWorkspace, role: Role | None
) -> None:
    controller = await prepared(workspace, "live", "other")
    workspace.clock.tick(10)
    workspace.kept_by = None if role is None else replace(KEEPER, role=role)
    opened = workspace.load(controller.path)
    told = followed_words(opened)
    assert bool(told) == (role in (Role.CONSOLE, Role.COMMAND))
    assert "keeper" not in told
    assert not told or "alice on login02 (pid 4711)" in told
    workspace.clock.tick(1000)
    assert followed_words(workspace.load(controller.path)) == ""


@pytest.mark.parametrize("name", ["kept", "two words", "a" * 60])
@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize("at_home", [True, False])
async def test_a_command_that_is_told_at_the_end_names_a_campaign_by_its_name_where_that_will_do(
    workspace: FakeWorkspace,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    *,
    default: bool,
    at_home: bool,
) -> None:
    """It is as long as the path else, which 80 columns break."""
    if at_home:
        monkeypatch.setenv("HOME", str(workspace.campaigns_dir.parent))
    data = workspace.campaigns_dir.parent / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    controller = await prepared(workspace, "live", "kept")
    lies_in = default_campaigns_dir() if default else workspace.campaigns_dir
    live = replace(workspace.load(controller.path), path=lies_in / name, kept_by=KEEPER)
    word = name if default else str(lies_in / name)
    begun = Begun(4711, ())
    for told in (
        left_words(live, begun),
        followed_words(live),
        detached_words(live),
        finished_words(live),
    ):
        assert str(Path(shlex.split(told.splitlines()[-1])[-1]).expanduser()) == word
    for told in (left_words(live, begun), followed_words(live)):
        assert told.startswith(f"A keeper (pid 4711) goes on with {titled(live)}.\n")
        log = shlex.split(told.splitlines()[3])
        assert [Path(word).expanduser() for word in log] == [live.path / "keeper.log"]
        assert log[0].startswith("~/") is at_home


async def test_a_yes_is_of_the_campaign_that_was_asked_about(workspace: FakeWorkspace) -> None:
    await kept(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await followed(workspace, app, pilot)
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        other = begin(app, workspace)  # resumed meanwhile, as of a key that was typed before
        app.session.opened = None
        await pilot.press("y")
        await until(pilot, partial(shows, app, "another campaign is shown now"))
        assert not other.cancelled
        assert workspace.asked == []


async def test_one_plus_is_one_repeat_however_long_its_answer_takes(
    workspace: FakeWorkspace,
) -> None:
    await kept(workspace)
    answered = asyncio.Event()
    asking = workspace.ask

    async def slowly(*arguments: Any, **more: Any) -> Answer | None:
        await answered.wait()
        return await asking(*arguments, **more)

    workspace.ask = slowly  # type: ignore[method-assign]
    async with console(workspace, LARGE) as (app, pilot):
        await followed(workspace, app, pilot)
        workspace.answers += [Answer("2", True, "1 run more planned")]
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, partial(shows, app, "asking whoever goes on with it"))
        await pilot.press("plus")
        await until(pilot, partial(shows, app, "is not answered yet"))
        answered.set()
        await until(pilot, partial(shows, app, "1 run more planned"))
        assert len(workspace.asked) == 1


async def test_a_refusal_is_shown_as_the_line_it_is(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.app.FOLLOW_S", 0.02)
    await kept(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await followed(workspace, app, pilot)
        workspace.answers += [DlperfError("run x is \x1b[31mred", remedy="paint it")]
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, partial(shows, app, "→ paint it"))


async def test_where_nobody_goes_on_that_is_said_and_no_key_changes_anything(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.app.FOLLOW_S", 0.02)
    await kept(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await followed(workspace, app, pilot)
        workspace.kept_by = None
        await until(pilot, partial(shows, app, "nobody goes on with this campaign"))
        await pilot.press("c", "C", "t", "p", "P", "plus")
        await pilot.pause()
        assert not isinstance(app.screen, Choice)
        assert workspace.asked == []


async def test_resuming_what_a_keeper_goes_on_with_is_looking_at_it(
    workspace: FakeWorkspace,
) -> None:
    controller = await prepared(workspace, "unfinished")
    workspace.resume_errors.append(CampaignLockedError(controller.path, KEEPER, 2.0, False))
    workspace.kept_by = KEEPER
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        await pilot.press("r")
        await until(pilot, partial(shows, app, "a keeper goes on with it"))
        assert app.session.controller is None


@pytest.mark.parametrize("at_work", [True, False])
async def test_a_keeper_starts_a_campaign_whatever_is_at_work_here(
    workspace: FakeWorkspace, keepers: Keepers, at_work: bool
) -> None:
    """What is at work stays in sight and goes on here; else what the keeper does is looked at."""
    async with console(workspace, LARGE) as (app, pilot):
        ours = begin(app, workspace) if at_work else None
        await start_dialog(app, pilot)
        await pilot.press("K")
        await until(pilot, lambda: bool(keepers.left))
        await until(pilot, lambda: not isinstance(app.screen, StartDialog))
        (path,) = keepers.left
        if ours is None:
            await until(pilot, lambda: app.current_mode == "runs")
        else:
            await until(pilot, partial(shows, app, f"O shows {path.name}: a keeper (pid 4711)"))
            assert app.current_mode == "matrix"
            assert not ours.detached
            assert not ours.cancelled
        assert app.session.controller is ours
        assert app.session.viewed_path == (path if ours is None else ours.path)
        await pilot.press("q")
        if ours is not None:
            await until(pilot, lambda: isinstance(app.screen, Choice))
            await pilot.press("d")
        await until(pilot, lambda: workspace.closed)
    assert (app.return_value or "").count(f"goes on with {path.name}") == at_work


async def test_what_no_keeper_goes_on_with_is_not_begun(
    workspace: FakeWorkspace, keepers: Keepers
) -> None:
    """What is at work stays as it is; the plan is there to be started in another way."""
    keepers.error = KeeperError("no room on the disk", remedy="make some")
    async with console(workspace, LARGE) as (app, pilot):
        ours = begin(app, workspace)
        await start_dialog(app, pilot)
        await pilot.press("K")
        await until(pilot, partial(shows, app, "no room on the disk"))
        assert isinstance(app.screen, StartDialog)
        assert app.session.controller is ours
        assert [one.path for one in workspace.summaries] == []


@pytest.mark.parametrize("why", ["SIMULATED", "answer", "read-only"])
async def test_no_keeper_is_offered_where_none_could_go_on(
    workspace: FakeWorkspace, keepers: Keepers, why: str
) -> None:
    workspace.simulated = why == "SIMULATED"
    if why == "answer":
        workspace.credentials = {"node1": Credential.HAND}
    async with console(workspace, LARGE, readonly=why == "read-only") as (app, pilot):
        if why != "read-only":
            begin(app, workspace)
        await start_dialog(app, pilot)
        assert "K Keeper" not in screen_text(app)
        assert "keeper" not in screen_text(app)
        await pilot.press("K")
        await until(pilot, partial(shows, app, why))
        assert keepers.left == workspace.started == []


async def test_cases_are_added_to_the_campaign_at_work_and_seen_there(
    workspace: FakeWorkspace, keepers: Keepers
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        plan = workspace.plan(Selection(("cpu-smoke",), ("1n1g",), {}, 1))
        ours = app.session.controller = workspace.controller(plan)
        await start_dialog(app, pilot)
        assert "A Add to it" in screen_text(app)
        assert shows(app, "A adds 5 runs of 5 new cases to it")
        await pilot.press("A")
        await until(pilot, lambda: app.current_mode == "runs")
        (added,) = ours.added
        await until(pilot, lambda: len(ours.state.runs) == 1 + added.run_count)
        assert app.session.controller is ours
        assert workspace.started == keepers.left == []


@pytest.mark.parametrize("kept", [True, False])
async def test_why_nothing_is_added_to_the_campaign_at_work_is_said(
    workspace: FakeWorkspace, keepers: Keepers, monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        why = None if kept else DlperfError("no keeper here")
        monkeypatch.setattr(app.session, "why_not_kept", lambda plan: why)
        ours = begin(app, workspace)
        await start_dialog(app, pilot)
        assert "A Add to it" not in screen_text(app)
        told = " ".join(words(app.screen.query_one("#checks")).split())
        assert "A cannot add these to it: it has no cpu-smoke" in told
        assert ("K has a keeper start" in told) is kept
        await pilot.press("A")
        await until(pilot, partial(shows, app, "it has no cpu-smoke"))
        assert isinstance(app.screen, StartDialog)
        assert ours.added == keepers.left == []


async def test_that_what_was_at_work_has_ended_is_said_where_a_start_was_refused(
    workspace: FakeWorkspace, keepers: Keepers
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await start_dialog(app, pilot)
        assert shows(app, "a campaign is at work here")
        workspace.clock.tick(9000)
        await until(pilot, partial(shows, app, "nothing is at work here any more"))
        await until(pilot, lambda: not shows(app, "a campaign is at work here"))


@pytest.mark.parametrize("host", ["node1", "node4"])
async def test_a_key_counts_though_another_run_of_ours_has_a_host_by_then(
    workspace: FakeWorkspace, keepers: Keepers, host: str
) -> None:
    """But not where something else is found that it would be typed in spite of."""
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, ("1n1g",), repeats=1)
        await start_dialog(app, pilot)
        dialog = app.screen
        assert isinstance(dialog, StartDialog)
        await until(pilot, lambda: dialog.sight.drawn)
        since = dialog.sight.since
        held = FakeFinding("warn", "held by run r07: runs wait for it", "wait", host)
        dialog._show([held])
        await settled(app)
        assert (dialog.sight.since == since) == (host == "node1")


async def start_dialog(app: DlperfApp, pilot: Pilot[str]) -> None:
    await open_matrix(app, pilot)
    await pilot.press("d")
    await until(pilot, lambda: isinstance(app.screen, DryRunView))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, StartDialog))
    await until(pilot, partial(shows, app, "nothing to object"))
    await settled(app)
