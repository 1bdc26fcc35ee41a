"""Asking whoever is at work on a campaign: who is asked, and that late answers are heard."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.campaign.controller import CampaignController
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, write_now
from backends.campaign.record.lock import FILE_NAME as LOCK
from backends.campaign.record.lock import HEARTBEAT_S, STALE_AFTER_S, CampaignLock
from backends.campaign.record.state import CampaignState
from backends.campaign_changes import CampaignChanges
from backends.campaign_start import Starter
from backends.keeper.asking import NoAnswerError, ask
from backends.keeper.request import Answer, Verb
from backends.keeper.spool import Spool
from profiles.errors import SelectionError
from tests.unit.keeper.test_server import NOW, planned, run_id

AHEAD_S = 3600.0
CHANGES: dict[str, Callable[[CampaignChanges, Path], Any]] = {
    "cancel": lambda changes, path: changes.cancel(path, [run_id(1)], take_over=True),
    "retry": lambda changes, path: changes.retry(path, [run_id(2)], take_over=True),
    "repeat": lambda changes, path: changes.repeat(path, 1, take_over=True),
    "pause": lambda changes, path: changes.pause(path, [run_id(1)], pause=True, take_over=True),
}


class Resumed(Exception):
    """The campaign would be gone on with here."""


class NoHosts(Starter):
    def __init__(self, lock: CampaignLock) -> None:
        self._own = lock

    def refuse_other_world(self, path: Path, state: CampaignState) -> None: ...

    async def resume(
        self, path: Path, *, take_over: bool, silent: float | None = None, **_: object
    ) -> CampaignController:
        self._own.acquire(take_over=take_over, silent=silent)
        raise Resumed


@pytest.fixture
def held(campaign: Path) -> Path:
    """By somebody of another machine, whose last sign is an hour ahead of the clock here."""
    created = ev.CampaignCreated(t=NOW, campaign="steady")
    failed = ev.RunFailed(t=NOW, run_id=run_id(2), reason="no reason")
    write_now(campaign / FILE_NAME, [created, planned(1, 1), planned(2, 2), failed])
    CampaignLock(campaign).acquire()
    holder = json.loads((campaign / LOCK).read_text())
    (campaign / LOCK).write_text(json.dumps({**holder, "host": "login2"}))
    os.utime(campaign / LOCK, (NOW + AHEAD_S, NOW + AHEAD_S))
    return campaign


def changes_of(path: Path) -> CampaignChanges:
    def clock() -> float:
        return NOW

    return CampaignChanges(NoHosts(CampaignLock(path, clock)), lambda one: one, clock)


@pytest.mark.parametrize("name", CHANGES)
async def test_of_who_is_silent_nothing_is_asked_when_it_is_taken_over(
    held: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    watched: list[float] = []

    async def sleep(seconds: float) -> None:
        watched.append(seconds)

    monkeypatch.setattr("backends.campaign.record.lock.asyncio.sleep", sleep)
    before = read_campaign(held)
    done = CHANGES[name](changes_of(held), held)
    if name in ("cancel", "retry"):
        with pytest.raises(Resumed):
            await done
    else:
        assert len(await done) == 1
        assert read_campaign(held).runs != before.runs
    assert watched == [STALE_AFTER_S], "once, for another sign"
    assert not list((held / "spool" / "requests").iterdir())


@pytest.mark.parametrize("name", CHANGES)
async def test_who_gives_another_sign_is_asked_also_when_it_is_to_be_taken_over(
    held: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("backends.campaign_changes.UNTIL_ENDED_S", 0.0)
    asked: list[str] = []

    async def sleep(seconds: float) -> None:
        if seconds == STALE_AFTER_S:
            sign = NOW + AHEAD_S + HEARTBEAT_S
            os.utime(held / LOCK, (sign, sign))
        elif (taken := Spool(held, lambda: NOW).take()) is not None:
            assert taken.request is not None
            asked.append(taken.request.verb)
            Spool(held).reply(Answer(taken.id, True, "done"))

    monkeypatch.setattr("backends.campaign.record.lock.asyncio.sleep", sleep)
    before = read_campaign(held)
    await CHANGES[name](changes_of(held), held)
    assert asked == [name]
    assert read_campaign(held).runs == before.runs, "nobody else has changed anything"


@pytest.mark.parametrize("done", [True, False])
async def test_an_answer_that_comes_while_the_request_is_taken_back_is_heard(
    held: Path, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    def too_late(spool: Spool, request_id: str) -> bool:
        assert spool.take() is not None
        spool.reply(Answer(request_id, done, "heard"))
        return False

    monkeypatch.setattr(Spool, "take_back", too_late)
    asking = ask(held, read_campaign(held), Verb.PAUSE, clock=lambda: NOW + AHEAD_S, patience_s=0.0)
    if done:
        answer = await asking
        assert answer is not None
        assert answer.text == "heard"
    else:
        with pytest.raises(SelectionError, match="heard"):
            await asking


async def test_what_nobody_takes_is_taken_back_and_that_is_said(held: Path) -> None:
    asking = ask(held, read_campaign(held), Verb.PAUSE, clock=lambda: NOW + AHEAD_S, patience_s=0.0)
    with pytest.raises(NoAnswerError, match="nothing was done"):
        await asking
    assert not list((held / "spool" / "requests").iterdir())
