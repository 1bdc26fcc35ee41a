"""The list of campaigns on disk: named whole, put in order, removed, tagged and noted."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import Input

from backends.campaign.folder import save_tags_and_note
from backends.campaign.folder.artifacts import rewrite_results
from backends.campaign.folder.index import CampaignSummary, list_campaigns
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.remove import Removable
from backends.campaign.folder.tags_and_note import About, read_about, write_about
from backends.campaign.record import events as ev
from backends.campaign.record.lock import CampaignLockedError, Role
from backends.campaign.record.state import CampaignState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.inventory.host_entry import Inventory
from backends.results.findings import Grade
from backends.results.past_result import PastResult
from backends.use_cases import Workspace
from profiles.errors import DlperfError
from tests.console.conftest import HUGE, LARGE, SMALL, console, screen_text, shows, until
from tests.console.fakes import START, FakeSummary, FakeWorkspace
from tests.unit.cli.conftest import FINISHED, append, assigned, hold, planned, succeeded
from tui.app import DlperfApp
from tui.backend_protocols import Controller
from tui.cli import main
from tui.past_reading import PastReading
from tui.screens.campaign_list import CampaignList, Unfinished
from tui.screens.campaign_text import SORTS, Listed, fastest_of, not_removable
from tui.screens.dialogs import Choice, Prompt, Reading
from tui.session import Session
from tui.text import both_ends, cell, without_middle
from tui.widgets.keyed_table import KeyedTable

DONE = (planned("a"), assigned("a"), succeeded("a"), FINISHED)


class OnDisk(FakeWorkspace):
    """Hosts are made up, campaigns are not."""

    def campaigns(self) -> tuple[CampaignSummary, ...]:  # type: ignore[override]
        return list_campaigns(self.campaigns_dir, time.time)

    @property
    def _real_clock(self) -> Callable[[], float]:
        return time.time

    @property
    def _real(self) -> Workspace:
        return cast(Workspace, self)

    def look_at_removable(self, path: Path) -> Removable:
        return Workspace.look_at_removable(self._real, path)

    def remove_campaign(self, path: Path, *, asked: Removable | None = None) -> None:
        Workspace.remove_campaign(self._real, path, asked=asked)

    def checked(self, path: Path) -> CampaignState:
        return read_campaign(path)

    def move_campaign(self, path: Path, new: str) -> Path:
        return Workspace.move_campaign(self._real, path, new)

    def describe_campaign(self, path: Path, change: Callable[[About], About]) -> About:
        return Workspace.describe_campaign(self._real, path, change)


@pytest.fixture
def on_disk(tmp_path: Path) -> OnDisk:
    workspace = OnDisk(tmp_path / "campaigns")
    workspace.clock.now = time.time()
    return workspace


def campaign(workspace: OnDisk, name: str, *events: ev.Event, age_s: float = 0.0) -> Path:
    path = workspace.campaigns_dir / name
    path.mkdir(parents=True)
    begun = ev.CampaignCreated(t=time.time() - age_s, campaign=name)
    append(path, begun, *events)
    return path


async def open_list(app: DlperfApp, pilot: Pilot[str], rows: int) -> KeyedTable:
    await pilot.press("O")
    await until(pilot, lambda: isinstance(app.screen, CampaignList))
    table = app.screen.query_one(KeyedTable)
    await until(pilot, lambda: len(table.shown_keys) == rows)
    return table


def cli_says(workspace: OnDisk, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    code = main(["--campaigns", str(workspace.campaigns_dir), "campaigns", *words])
    assert code == 2
    return capsys.readouterr().err.strip().removeprefix("dlperf-tui: ")


# Removing ----------------------------------------------------------------------------------------


async def test_a_campaign_is_removed_after_a_question_that_says_what_is_lost(
    on_disk: OnDisk,
) -> None:
    path = campaign(on_disk, "done", *DONE)
    campaign(on_disk, "other", *DONE, age_s=100)
    (path / "logs").mkdir()
    (path / "logs" / "a.log").write_bytes(b"x" * (3 << 20))
    (path / "speedup.csv").write_text("exported")
    async with console(on_disk, LARGE) as (app, pilot):
        table = await open_list(app, pilot, 2)
        assert table.current_key == str(path)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        words = " ".join(cast(Choice, app.screen).text.plain.split())
        assert words.startswith("Remove done, 3.0 MiB, with its logs? 1 of 1 run succeeded.")
        assert words.endswith("for good, and speedup.csv with it.")
        await pilot.press("enter")  # the answer that it begins with removes nothing
        await until(pilot, lambda: isinstance(app.screen, CampaignList))
        assert path.is_dir()
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, lambda: len(table.shown_keys) == 1)
        assert not path.exists()
        assert (on_disk.campaigns_dir / "other" / "events.jsonl").is_file()
        assert isinstance(app.screen, CampaignList)


@pytest.mark.parametrize("why", ["at work", "locked", "files of others", "unreadable", "a link"])
async def test_what_is_not_removed_is_refused_before_any_question_with_the_keys_that_help(
    on_disk: OnDisk, capsys: pytest.CaptureFixture[str], why: str
) -> None:
    at_work = (planned("a"), assigned("a", "node3"))
    path = campaign(on_disk, "kept", *(at_work if why == "at work" else DONE))
    if why == "locked":
        hold(path)
    if why == "files of others":
        (path / "thesis.ipynb").write_text("hours of work")
    if why == "unreadable":
        with (path / "events.jsonl").open("wb") as file:
            file.write(b'{"kind":"CampaignBegun","schema":9}\n')
    if why == "a link":
        path.rename(on_disk.campaigns_dir.parent / "elsewhere")
        path.symlink_to(on_disk.campaigns_dir.parent / "elsewhere")
    before = sorted(str(one) for one in path.rglob("*"))
    async with console(on_disk, HUGE) as (app, pilot):
        if why == "at work":
            await until(pilot, lambda: isinstance(app.screen, Unfinished))
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, Unfinished))
        await open_list(app, pilot, 1)
        await pilot.press("d")
        await until(pilot, lambda: app._notifications)
        assert isinstance(app.screen, CampaignList)
        (told,) = app._notifications
        said = f"{told.title}: {told.message}".replace("\n→ ", "; ")
    expected = cli_says(on_disk, capsys, "rm", "kept", "--yes")
    before_it = f"{on_disk.campaigns_dir}/"
    assert expected.startswith(f"{before_it}kept: "), "the command line has the whole path"
    expected = expected.removeprefix(before_it)
    assert (
        said.split("; ")[0].split(", last sign")[0]
        == expected.split("; ")[0].split(", last sign")[0]
    )
    keys = {
        "at work": "r goes on with it",
        "locked": "d removes it then",
        "files of others": "move it away",
        "unreadable": "by hand",
    }
    if keys.get(why):
        assert keys[why] in said
        assert "'dlperf-tui" not in said
        assert "--" not in said
    else:
        assert said == expected
    assert sorted(str(one) for one in path.rglob("*")) == before


@pytest.mark.parametrize(
    ("role", "way"),
    [
        (Role.CONSOLE, "C on Runs, or q and c;"),
        (Role.COMMAND, "end that command"),
        (Role.KEEPER, "Enter opens it, and C on Runs"),
    ],
)
@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("ahead_s", [0.0, 3540.0])
async def test_of_one_that_somebody_writes_it_is_said_who_and_how_to_end_it_there(
    on_disk: OnDisk, role: Role, way: str, simulated: bool, ahead_s: float
) -> None:
    """Nobody else can go on with it; and simulated time says nothing of when a sign was given."""
    path = on_disk.campaigns_dir / "theirs"
    path.mkdir(parents=True)
    begun = ev.CampaignCreated(t=time.time(), campaign="theirs", simulated=simulated)
    append(path, begun, planned("a"), assigned("a", "node3"))
    hold(path, age_s=-ahead_s, role=role)
    with pytest.raises(CampaignLockedError) as caught:
        Workspace.look_at_removable(on_disk._real, path)
    said = not_removable(caught.value)
    assert "bob on elsewhere (pid 3) writes the campaign" in said.what
    assert way in said.remedy
    assert "r goes on" not in said.remedy
    assert (", " in said.what) is not simulated
    assert ("clock" in said.what) is (not simulated and ahead_s > 0)


async def test_what_was_looked_at_and_is_removed_is_no_longer_shown(on_disk: OnDisk) -> None:
    path = campaign(on_disk, "done", *DONE)
    async with console(on_disk, LARGE) as (app, pilot):
        app.session.opened = Workspace.load(Workspace.open(campaigns=on_disk.campaigns_dir), path)
        await open_list(app, pilot, 1)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, lambda: not path.exists())
        await until(pilot, lambda: app.session.opened is None)


async def test_what_is_being_removed_here_is_not_told_as_moved(
    on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = campaign(on_disk, "begun-so", *DONE).rename(on_disk.campaigns_dir / "done")
    going, gone = threading.Event(), threading.Event()

    def remove(of: Path, *, asked: Removable | None = None) -> None:
        aside = of.rename(of.with_name(f".{of.name}.removed-1"))
        going.set()
        gone.wait(10)
        shutil.rmtree(aside)

    monkeypatch.setattr(on_disk, "remove_campaign", remove)
    async with console(on_disk, LARGE) as (app, pilot):
        app.session.opened = Workspace.load(Workspace.open(campaigns=on_disk.campaigns_dir), path)
        await open_list(app, pilot, 1)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, going.is_set)
        for _ in range(3):
            app.session._written = ()  # so that it is read again
            await app.session.refresh()
            assert app.session.opened is not None
        gone.set()
        await until(pilot, partial(shows, app, "done is removed, "))
        assert not shows(app, "begun-so is removed")
        assert app.session.opened is None
        assert not [one for one in app._notifications if "was moved" in one.message]


async def test_the_question_is_about_the_campaign_as_it_is_now(on_disk: OnDisk) -> None:
    path = campaign(on_disk, "done", planned("a"), planned("b", 2))
    async with console(on_disk, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Unfinished))
        await open_list(app, pilot, 1)
        append(path, assigned("a"), succeeded("a"), assigned("b"), succeeded("b"), FINISHED)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "2 of 2 runs succeeded" in asked_in(app)


@pytest.mark.parametrize("changed", ["longer", "another"])
async def test_what_has_changed_since_it_was_asked_about_is_kept_and_listed_as_it_is(
    on_disk: OnDisk, changed: str
) -> None:
    path = campaign(on_disk, "done", planned("a"), planned("b", 2))
    async with console(on_disk, HUGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Unfinished))
        await open_list(app, pilot, 1)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "0 of 2 runs succeeded" in asked_in(app)
        if changed == "longer":
            append(path, assigned("a"), succeeded("a"), assigned("b"), succeeded("b"), FINISHED)
        else:  # as long
            written = (path / "events.jsonl").read_bytes()
            (path / "events.jsonl").rename(path.parent.parent / "before")
            (path / "events.jsonl").write_bytes(written)
        before = (path / "events.jsonl").read_bytes()
        await pilot.press("y")
        await until(pilot, lambda: app._notifications)
        assert "has changed since it was asked about" in told(app)
        assert (path / "events.jsonl").read_bytes() == before
        assert not (path / "writer.lock").exists()
        if changed == "longer":
            await until(pilot, partial(shows, app, "2/2"))
        app.clear_notifications()
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, lambda: not path.exists())


def asked_in(app: DlperfApp) -> str:
    return " ".join(cast(Choice, app.screen).text.plain.split())


def told(app: DlperfApp) -> str:
    return "\n".join(notification.message for notification in app._notifications)


class Slow(OnDisk):
    """Removes when it is let; and tells that not all of it could be, or that it stays."""

    def __init__(self, campaigns_dir: Path) -> None:
        super().__init__(campaigns_dir)
        self.begun, self.let = threading.Event(), threading.Event()
        self.problem: DlperfError | None = None
        self.stays = False

    def remove_campaign(self, path: Path, *, asked: Removable | None = None) -> None:
        self.begun.set()
        assert self.let.wait(30)
        if not self.stays:
            super().remove_campaign(path, asked=asked)
        if self.problem is not None:
            raise self.problem


@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("problem", ["", "some of it stays", "all of it stays"])
async def test_what_becomes_of_a_removal_is_told_whether_the_list_was_left_or_not(
    tmp_path: Path, leaves: bool, problem: str
) -> None:
    workspace = Slow(tmp_path / "campaigns")
    workspace.clock.now = time.time()
    workspace.problem = DlperfError(problem, where="x", remedy="y") if problem else None
    workspace.stays = problem.startswith("all")
    path = campaign(workspace, "done", *DONE)
    async with console(workspace, LARGE) as (app, pilot):
        app.session.opened = Workspace.load(Workspace.open(campaigns=workspace.campaigns_dir), path)
        await open_list(app, pilot, 1)
        assert app.session.last is not None
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, workspace.begun.is_set)
        await until(pilot, lambda: isinstance(app.screen, CampaignList))
        if leaves:
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, CampaignList))
        workspace.let.set()
        await until(pilot, lambda: problem in told(app))
        await until(pilot, lambda: path.exists() == workspace.stays)
        if workspace.stays:
            assert app.session.opened is not None
        else:
            await until(pilot, lambda: app.session.opened is None)
            await until(pilot, lambda: app.session.last is None)
            if not leaves:
                table = app.screen.query_one(KeyedTable)
                await until(pilot, lambda: not table.shown_keys)


async def test_a_note_is_written_and_its_problem_told_though_the_list_was_left(
    on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign(on_disk, "done", *DONE)
    begun, let = threading.Event(), threading.Event()

    def describe(path: Path, change: Callable[[About], About]) -> About:
        begun.set()
        assert let.wait(30)
        raise DlperfError("the disk is full", where=str(path), remedy="make room")

    monkeypatch.setattr(on_disk, "describe_campaign", describe)
    async with console(on_disk, LARGE) as (app, pilot):
        await open_list(app, pilot, 1)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = "new driver"
        await pilot.press("enter")
        await until(pilot, begun.is_set)
        await until(pilot, lambda: isinstance(app.screen, CampaignList))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, CampaignList))
        let.set()
        await until(pilot, lambda: "the disk is full" in told(app))


# Tags and notes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("slow", ["read", "write"])
async def test_what_is_said_in_a_burst_is_all_kept_and_the_campaign_can_be_removed_then(
    on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    """Whatever a write takes its time for: the next begins when it is done, as does a removal."""
    path = campaign(on_disk, "done", *DONE)
    rewrite_results(read_campaign(path), path)
    name = {"read": "read_about", "write": "rewrite_results"}[slow]
    real = getattr(save_tags_and_note, name)

    def slowly(*words: object) -> object:
        time.sleep(0.3)
        return real(*words)

    monkeypatch.setattr(save_tags_and_note, name, slowly)
    async with console(on_disk, HUGE) as (app, pilot):
        await open_list(app, pilot, 1)
        for key, text in (("t", "nightly"), ("n", "hello"), ("t", "weekly")):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, Prompt))
            app.screen.query_one(Input).value = text
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, CampaignList))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert read_about(path) == About(("weekly",), "hello")
        report = (path / "report.md").read_text()
        assert "hello" in report
        assert "weekly" in report


def test_who_holds_the_directorys_lock_for_ever_stops_nobody(
    on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can read it can lock it."""
    monkeypatch.setattr(save_tags_and_note, "MOST_WAIT_S", 0.2)
    path = campaign(on_disk, "done", *DONE)
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        on_disk.describe_campaign(path, lambda about: replace(about, note="mine"))
    finally:
        os.close(fd)
    assert read_about(path).note == "mine"


def test_programs_that_say_something_at_once_lose_nothing(on_disk: OnDisk) -> None:
    path = campaign(on_disk, "done", *DONE)
    said = [f"t{number}" for number in range(8)]

    def say(tag: str) -> None:
        on_disk.describe_campaign(path, lambda about: replace(about, tags=(*about.tags, tag)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(say, said))
    assert sorted(read_about(path).tags) == said


async def test_tags_and_note_are_written_as_the_commands_write_them(on_disk: OnDisk) -> None:
    path = campaign(on_disk, "done", *DONE)
    async with console(on_disk, HUGE) as (app, pilot):
        await open_list(app, pilot, 1)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = "baseline #v100"
        await pilot.press("enter")
        await until(pilot, lambda: read_about(path).tags == ("baseline", "v100"))
        await until(pilot, partial(shows, app, "#baseline #v100"))
        write_about(path, About(("baseline", "v100", "by-somebody"), ""))  # since it was listed
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = "new  driver [x](y)"
        await pilot.press("enter")
        await until(pilot, lambda: read_about(path).note == "new driver [x](y)")
        assert read_about(path).tags == ("baseline", "v100", "by-somebody")
        await until(pilot, partial(shows, app, "note: new driver [x](y)"))
        assert shows(app, "#by-somebody")
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        assert app.screen.query_one(Input).value == "baseline v100 by-somebody"
        app.screen.query_one(Input).value = ""
        await pilot.press("enter")
        await until(pilot, lambda: read_about(path) == About((), "new driver [x](y)"))


async def test_a_campaign_is_given_another_name_and_stays_what_it_is(on_disk: OnDisk) -> None:
    path, other = campaign(on_disk, "done", *DONE), campaign(on_disk, "other", *DONE)
    write_about(path, About(("v100",), "a note"))
    async with console(on_disk, HUGE) as (app, pilot):
        await open_list(app, pilot, 2)
        listed = app.screen
        assert isinstance(listed, CampaignList)
        listed._panel.table.select(str(path))
        await pilot.press("space", "slash", *"done", "enter", "m")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        entry = app.screen.query_one(Input)
        assert entry.value == "done"
        (path.parent / "notes.txt").touch()
        for wrong in ("", "..", ".hidden", "-x", "a/b", "\u202egnp", "other", "notes.txt"):
            entry.value = wrong
            await pilot.press("enter")
            await until(pilot, partial(shows, app, "✗ "))
            assert path.is_dir(), wrong
            await pilot.press("d")  # which removes one in the list
            await until(pilot, lambda: not shows(app, "✗ "))
            assert isinstance(app.screen, Prompt), wrong
            assert len(entry.value) == len(wrong) + 1
        app.screen.query_one(Input).value = "baseline"
        await pilot.press("enter")
        new = path.with_name("baseline")
        await until(pilot, lambda: new.is_dir() and not path.exists())
        await until(pilot, partial(shows, app, "done is called baseline now"))
        await until(pilot, partial(shows, app, "#v100"))
        assert read_about(new) == About(("v100",), "a note")
        assert listed._panel.table.current_key == str(new)
        assert list(app.session.marked) == [new], "marks stay where they were"
        assert other.is_dir()


@pytest.mark.parametrize("shown", [False, True])
async def test_a_campaign_that_is_shown_is_shown_under_its_new_name(
    on_disk: OnDisk, *, shown: bool
) -> None:
    path, other = campaign(on_disk, "a", *DONE), campaign(on_disk, "other", *DONE)
    session = Session(Workspace(Inventory(()), None, on_disk.campaigns_dir))
    await session.open(path if shown else other)
    new = await session.rename(path, "b")
    assert new == path.with_name("b")
    assert session.opened is not None
    assert session.opened.path == (new if shown else other)
    assert session.opened.total


@pytest.mark.parametrize("at_work", [False, True])
async def test_what_is_being_renamed_here_is_not_told_as_moved_and_stays_in_sight(
    on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch, *, at_work: bool
) -> None:
    path = campaign(on_disk, "a", *DONE)
    session = Session(Workspace(Inventory(()), None, on_disk.campaigns_dir))
    await session.open(path)
    if at_work:
        shown, session.opened = session.opened, None
        ours = SimpleNamespace(path=path, snapshot=lambda: shown, detach=partial(asyncio.sleep, 0))
        session.controller = cast(Controller, ours)
    seen: list[Path | None] = []

    async def looks_on() -> None:
        session._written = ()  # so that it is read again
        await session.refresh()
        seen.append(session.viewed_path)

    move, load, loop = session.workspace.move_campaign, session._load, asyncio.get_running_loop()

    def moved(of: Path, new: str) -> Path:
        found = move(of, new)
        asyncio.run_coroutine_threadsafe(looks_on(), loop).result(10)
        return found

    def loaded(of: Path) -> tuple[CampaignSnapshot, tuple[int, ...] | None]:
        if of.name == "b" and not session.opened:
            seen.append(session.viewed_path)
        return load(of)

    monkeypatch.setattr(session.workspace, "move_campaign", moved)
    monkeypatch.setattr(session, "_load", loaded)
    new = await session.rename(path, "b")
    await looks_on()
    assert None not in seen
    assert session.viewed_path == new
    assert session.controller is None or not at_work
    assert session.moved_to is None


async def test_what_somebody_is_at_work_on_is_not_renamed(workspace: FakeWorkspace) -> None:
    workspace.summaries.append(FakeSummary("there", Path("/c/there"), "live", 1, 2))
    async with console(workspace, HUGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "▶ live"))
        await pilot.press("m")
        await until(pilot, partial(shows, app, "somebody is at work on it"))
        assert not isinstance(app.screen, Prompt)


async def test_where_several_are_marked_each_is_given_one_more_tag(on_disk: OnDisk) -> None:
    paths = [campaign(on_disk, name, *DONE) for name in ("a", "b", "c")]
    write_about(paths[0], About(("first",), ""))
    async with console(on_disk, HUGE) as (app, pilot):
        await open_list(app, pilot, 3)
        listed = app.screen
        assert isinstance(listed, CampaignList)
        for path in paths[:2]:
            listed._marked[path] = None
        listed._fill()
        listed._panel.table.select(str(paths[2]))
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        assert shows(app, "2 that are marked")
        app.screen.query_one(Input).value = "baseline"
        await pilot.press("enter")
        await until(pilot, lambda: read_about(paths[1]).tags == ("baseline",))
        await until(pilot, lambda: read_about(paths[0]).tags == ("first", "baseline"))
        assert not read_about(paths[2]).tags


async def test_what_was_said_is_seen_at_once_and_not_when_all_campaigns_were_read_again(
    on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign(on_disk, "done", *DONE)
    async with console(on_disk, SMALL) as (app, pilot):
        await open_list(app, pilot, 1)
        read, known = threading.Event(), on_disk.campaigns()
        monkeypatch.setattr(on_disk, "campaigns", lambda: read.wait(30) and known)
        try:
            await pilot.press("t")
            await until(pilot, lambda: isinstance(app.screen, Prompt))
            app.screen.query_one(Input).value = "baseline"
            await pilot.press("enter")
            await until(pilot, partial(shows, app, "done is tagged baseline"))
            assert "#baseline" in screen_text(app)
        finally:
            read.set()


async def test_what_is_no_tag_is_told_where_it_is_written_and_nothing_changes(
    on_disk: OnDisk,
) -> None:
    path = campaign(on_disk, "done", *DONE)
    async with console(on_disk, LARGE) as (app, pilot):
        await open_list(app, pilot, 1)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = "fine ../x"
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "'../x' is no tag"))
        app.screen.query_one(Input).value = "nightly,h200"
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "spaces part tags: nightly h200"))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))
        assert not (path / "about.toml").exists()


async def test_a_console_that_only_looks_changes_nothing_and_its_help_has_no_such_key(
    on_disk: OnDisk,
) -> None:
    path = campaign(on_disk, "done", *DONE)
    async with console(on_disk, HUGE, readonly=True) as (app, pilot):
        await open_list(app, pilot, 1)
        shown = screen_text(app)
        assert not any(words in shown for words in ("d Remove", "t Tag", "n Note"))
        for key in ("d", "t", "n"):
            await pilot.press(key)
            assert isinstance(app.screen, CampaignList)
            assert shows(app, "this console is read-only")
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Reading))
        assert shows(app, "look at the campaign")
        assert not shows(app, "from this disk")
        assert sorted(one.name for one in path.iterdir()) == ["events.jsonl"]


# Order -------------------------------------------------------------------------------------------


async def test_the_list_is_sorted_by_key_and_the_cursor_stays_on_its_campaign_in_sight(
    workspace: FakeWorkspace,
) -> None:
    workspace.summaries = [
        FakeSummary(
            f"{number * 7 % 40:02}-x",
            workspace.campaigns_dir / str(number),
            ("finished", "live", "copy")[number % 3],
            1,
            1 + number % 5,
            None if number == 3 else START - 60 * number,
            failed=number % 4,
        )
        for number in range(40)
    ]
    results = {
        one.path: (
            PastResult(
                profile="p",
                tag="1n1g",
                parameters={},
                settings=None,
                devices=f"GPU {number % 2}" * (number % 5 > 0),
                campaign=one.name,
                path=one.path,
                at=START,
                simulated=False,
                imported=False,
                throughput=1.0 + number,
                unit="images/s",
                repeats=3,
                half_width=None,
                grade=(None, *Grade)[number % 5],
                run_s=None,
                speedup=None if number % 3 else 1.0 + number % 7,
            ),
        )
        for number, one in enumerate(workspace.summaries)
        if number % 4
    }
    every = {str(one.path): Listed(one, fastest_of(one, results)) for one in workspace.summaries}
    async with console(workspace, SMALL) as (app, pilot):
        table = await open_list(app, pilot, 40)
        assert isinstance(app.screen, CampaignList)
        read = SimpleNamespace(
            by_campaign=results, stop=lambda: None, look_at_logs=nothing, known=True
        )
        app.screen._past = cast("PastReading", read)
        app.screen._show_results()
        await until(pilot, lambda: "speedup" in table.shown_columns)
        await pilot.press("j", "j")
        cursor = table.current_key
        as_before = screen_text(app).splitlines()[:3]
        assert " by " not in as_before[0]
        orders = {}
        for name in [*list(SORTS)[1:], "age"]:
            await pilot.press("s")
            assert table.current_key == cursor
            assert cursor is not None
            assert every[cursor].summary.name in screen_text(app)
            orders[name] = shown_as(table, every, SORTS[name])
            most_first = name in ("runs", "failed", "speedup")
            first, other = "▾▴" if most_first else "▴▾"
            if name != "age":
                assert f"· by {name} {first} ─" in screen_text(app)
            await pilot.press("S")
            assert f"· by {name} {other} ─" in screen_text(app)
            backwards = shown_as(table, every, SORTS[name])
            told = [value for value in orders[name] if value is not None]
            assert told == sorted(told, reverse=most_first)
            turned = [value for value in backwards if value is not None]
            assert turned == sorted(told, reverse=not most_first)
            for values in (orders[name], backwards):  # what has no value is last, either way
                assert None not in values[: len(told)]
            await pilot.press("S")
        assert screen_text(app).splitlines()[:3] == as_before


async def nothing() -> None:
    """Its logs are not looked at."""


def shown_as(
    table: KeyedTable,
    every: dict[str, Listed],
    value: Callable[[Listed], object],
) -> list[object]:
    return [value(every[key]) for key in table.shown_keys]


# Names -------------------------------------------------------------------------------------------

NAMES = (
    "2026-11-21-torch-resnet50-b256-amp-compile-graphs-the-new-driver-before",
    "2026-11-21-torch-resnet50-b256-amp-compile-graphs-the-new-driver-after",
    "2026-11-20-torch-resnet50-b256-amp-compile-graphs-the-new-driver-after",
)


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
@pytest.mark.parametrize("simulated", [False, True])
async def test_names_that_differ_at_either_end_are_told_apart_at_every_width(
    workspace: FakeWorkspace, size: tuple[int, int], simulated: bool
) -> None:
    workspace.simulated = simulated
    workspace.summaries = [
        FakeSummary(
            name,
            workspace.campaigns_dir / name,
            "finished",
            12,
            12,
            START - 3600 * number,
            failed=number,
            simulated=simulated,
            about=About(("baseline",), "as it was"),
        )
        for number, name in enumerate(NAMES)
    ]
    async with console(workspace, size) as (app, pilot):
        await open_list(app, pilot, 3)
        rows = [line for line in screen_text(app).splitlines() if re.search(r" \d+/12 ", line)][:3]
        named = [next(one for one in row.split() if one.startswith(("2026", "…"))) for row in rows]
        assert len(set(named)) == 3, rows
        assert all(row.count("SIMULATED") == simulated for row in rows)
        for shown, name in zip(named, NAMES, strict=True):
            begin, *_, end = shown.split("…") if "…" in shown else ("", shown)
            assert name.startswith(begin)
            assert name.endswith(end)
            assert size != HUGE or shown == name


@given(
    st.text("abcд漢 ", max_size=40),
    st.lists(st.text("xyz漢", min_size=1, max_size=9), max_size=3),
    st.integers(1, 60),
)
def test_the_middle_that_is_left_out_is_that_of_the_longest_word_or_of_all_of_it(
    word: str, others: Sequence[str], width: int
) -> None:
    whole = Text(" ".join([word.replace(" ", ""), *others]))
    shown = without_middle(whole, width)
    if shown.plain == whole.plain:
        assert whole.cell_len <= width or width < 8
        return
    begin, _, end = shown.plain.partition("…")
    assert min(len(begin), len(end)) > 0
    assert whole.plain.startswith(begin)
    assert whole.plain.endswith(end)
    assert width - 2 <= shown.cell_len <= width
    left_out = whole.plain[len(begin) : len(whole.plain) - len(end)]
    longest = max(map(cell_len, whole.plain.split(" ")))
    assert (" " in left_out) <= (longest - (whole.cell_len - width) < 8)


@given(st.text("abcд漢 /", max_size=60), st.integers(4, 60))
def test_of_a_long_place_both_ends_stay(place: str, width: int) -> None:
    shown = both_ends(place, width)
    assert cell_len(shown) <= width
    if shown != place:
        assert cell_len(place) > width
        begin, _, end = shown.partition("…")
        assert place.startswith(begin)
        assert place.endswith(end)
        assert cell_len(shown) >= width - 2


def test_what_is_cut_keeps_its_colours() -> None:
    text = cell("abcdefghijklmnop", "bold").append(" · rest", "red")
    shown = without_middle(text, 17)
    assert shown.plain == "abcde…mnop · rest"
    assert (shown.style, shown.no_wrap, shown.end) == ("bold", True, "")
    assert [shown.plain[span.start : span.end] for span in shown.spans if span.style == "red"] == [
        " · rest"
    ]
