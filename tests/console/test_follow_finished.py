"""A past campaign that is looked at, while others may plan further runs of it, or remove it."""

from __future__ import annotations

import shlex
import shutil
import tempfile
import time
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.directory_identity import place_of
from backends.campaign.record import events as ev
from backends.campaign.record.status_view import CampaignSnapshot
from backends.inventory.host_entry import Inventory
from backends.use_cases import Workspace
from profiles.errors import DlperfError
from tests.console.conftest import HUGE, console, screen_text, until
from tests.console.test_campaign_files import DONE, OnDisk, campaign
from tests.unit.cli.conftest import FINISHED, append, assigned, planned, succeeded
from tui.leaving import finished_words
from tui.screens.page import Page
from tui.session import Session
from tui.widgets.keyed_table import current_key


class Counting(Workspace):
    """``meanwhile``: is written while a campaign is being read."""

    loads = 0
    meanwhile: tuple[ev.Event, ...] = ()

    def load(self, path: Path, *, quick: bool = False) -> CampaignSnapshot:
        self.loads += 1
        found = super().load(path, quick=quick)
        append(path, *self.meanwhile)
        self.meanwhile = ()
        return found


def further(number: int) -> list[tuple[ev.Event, ...]]:
    """What `dlperf-tui retry` of another console writes, in pieces as they may be read."""
    run_id = f"more-{number}"
    reopened = ev.CampaignReopened(t=time.time())
    return [(reopened, planned(run_id)), (assigned(run_id),), (succeeded(run_id), FINISHED)]


PIECES = [piece for number in range(3) for piece in further(number)]


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.sampled_from(["appended", "while read", "nothing"]), max_size=16))
async def test_what_others_add_after_the_end_is_seen_and_else_nothing_is_read(
    steps: list[str],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "past")
        path.mkdir()
        append(path, ev.CampaignCreated(t=time.time(), campaign="past"), *DONE)
        workspace = Counting(Inventory(()), None, path.parent)
        session = Session(workspace)
        to_write = iter(PIECES)
        await session.open(path)
        for step in steps:
            piece = () if step == "nothing" else next(to_write, ())
            if step == "while read":
                workspace.meanwhile = piece
                await session.open(path)
            else:
                append(path, *piece)
            await session.refresh()
            now = Workspace(Inventory(()), None, path.parent).load(path)
            assert session.opened is not None
            assert session.opened.state == now.state
            loads = workspace.loads
            await session.refresh()
            assert (workspace.loads == loads) is session.opened.finished
        await workspace.close()


@pytest.mark.parametrize("over", [True, False])
@pytest.mark.parametrize("alone", [True, False])
async def test_one_that_was_taken_away_is_looked_at_no_longer(
    tmp_path: Path, over: bool, alone: bool
) -> None:
    """Where all that lay beside it is away, too, the disk may come back: what was read stays."""
    path = tmp_path / "campaigns" / "past"
    path.mkdir(parents=True)
    events = DONE if over else (planned("a"), assigned("a"))
    append(path, ev.CampaignCreated(t=time.time(), campaign="past"), *events)
    workspace = Workspace(Inventory(()), None, path.parent)
    session = Session(workspace)
    await session.open(path)
    shutil.rmtree(path if alone else path.parent)
    with pytest.raises(DlperfError, match="it was moved or removed" if alone else "no events"):
        await session.refresh()
    await session.refresh()  # which says nothing more
    assert session.views is not alone
    await workspace.close()


def placed(path: Path) -> Path:
    """A campaign that is over, known by where it lies."""
    path.mkdir(parents=True)
    inodes = place_of(path).inodes
    began = time.time() - 60
    append(path, ev.CampaignCreated(t=began, campaign=path.name, place=inodes), *DONE)
    return path


class Looking(OnDisk):
    def load(self, path: Path, *, quick: bool = False) -> CampaignSnapshot:
        return Workspace(Inventory(()), None, path.parent).load(path)


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.parametrize("renamed", [True, False])
async def test_what_is_asked_of_one_that_lies_there_no_more_says_so_and_what_it_is_called_now(
    tmp_path: Path, ours: bool, renamed: bool
) -> None:
    """``ours``: it has ended in this console, which goes on showing it."""
    path = placed(tmp_path / "campaigns" / "past")
    session = Session(Workspace(Inventory(()), None, path.parent))
    await session.open(path)
    (path.parent / "other").mkdir()
    path.rename(path.parent / "baseline" if renamed else tmp_path / "away")
    if ours:
        error = await session.told(DlperfError("cannot write: No such file", where=str(path)))
    else:
        with pytest.raises(DlperfError) as caught:
            await session.refresh()
        error = caught.value
    assert error.what == ("it was moved" if renamed else "it was moved or removed")
    assert session.told_place(error.where) == "past"
    assert error.remedy.startswith("it is baseline now" if renamed else "O lists what there is")
    await session.workspace.close()


@pytest.mark.parametrize("renamed", [True, False])
def test_what_is_printed_at_the_end_is_of_where_the_campaign_lies(
    tmp_path: Path, renamed: bool
) -> None:
    path = placed(tmp_path / "campaigns" / "past")
    live = Workspace(Inventory(()), None, path.parent).load(path)
    if renamed:
        path.rename(path.with_name("other"))
    report = shlex.split(finished_words(live).splitlines()[-1])
    assert report[-1] == str(path.with_name("other") if renamed else path)


@pytest.mark.parametrize("page", "34")
async def test_keys_that_are_said_to_open_what_was_moved_open_it(tmp_path: Path, page: str) -> None:
    """Whatever else was begun later."""
    workspace = Looking(tmp_path / "campaigns")
    workspace.clock.now = time.time()
    path = placed(tmp_path / "campaigns" / "past")
    campaign(workspace, "newer", *DONE)
    workspace.campaigns = Workspace(Inventory(()), None, path.parent).campaigns  # type: ignore[method-assign]
    async with console(workspace, HUGE) as (app, pilot):
        await app.session.open(path)
        await pilot.press(page)
        await until(pilot, lambda: "past campaign" in screen_text(app))
        path.rename(path.with_name("third"))
        await until(pilot, lambda: "it is third now: O, then Enter opens it" in screen_text(app))
        await until(pilot, lambda: "O, then Enter, opens third" in screen_text(app))
        await pilot.press("O")
        await until(pilot, lambda: current_key(app.screen) == str(path.with_name("third")))
        await pilot.press("enter")
        await until(pilot, lambda: app.session.viewed_path == path.with_name("third"))
        assert app.session.moved_to is None


@pytest.mark.parametrize("page", "34")
async def test_no_page_shows_one_that_was_taken_away(tmp_path: Path, page: str) -> None:
    workspace = Looking(tmp_path / "campaigns")
    workspace.clock.now = time.time()
    path = campaign(workspace, "past", *DONE)
    async with console(workspace, HUGE) as (app, pilot):
        await app.session.open(path)
        await pilot.press(page)
        await until(pilot, lambda: "past campaign" in screen_text(app))
        shutil.rmtree(path)
        await until(pilot, lambda: "it was moved or removed" in screen_text(app))
        await until(pilot, lambda: cast(Page, app.screen).viewed is None)
        await until(pilot, lambda: "past campaign" not in screen_text(app))
        assert "1/1" not in screen_text(app)
        for key in ("plus", "t", "e"):
            await pilot.press(key)
            await pilot.pause()
            assert not app.screen.is_modal, (key, screen_text(app))
