"""What a campaign's writer does with requests: each done once and answered once, whenever it is
killed.

That a request was taken is in the journal before anything of it is done, and that it is answered
before the answer can be read. All that a request can do may be begun again: it says which runs it
means, and new ones have the ids that were written down with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from backends import debug
from backends.campaign.pausing import runs_to_pause
from backends.campaign.plan.more_repeats import first_of_more, new_runs, number_of_more
from backends.campaign.plan.runs_to_retry import runs_to_retry
from backends.campaign.record import events as ev
from backends.campaign.record.state import (
    CampaignState,
    RunState,
    Wish,
    campaign_of,
    next_attempt_id,
)
from backends.file_modes import Share, share_of
from backends.keeper.request import MOST_RUNS, Answer, Request, Verb, unique
from backends.keeper.spool import GOOD_FOR_S, Spool, Taken
from profiles.counted import counted
from profiles.errors import SelectionError

LOOK_EVERY_S = 0.5
LAST_S = 30.0
"""At the end of a campaign, for what was asked for until then: who asks may do so for ever."""
_MOST_NOTED = 20
"""Refusals that are noted in the campaign: who is refused may try again for ever."""


class Work(Protocol):
    """What can be done with a live campaign: :class:`backends.campaign.controller`'s."""

    @property
    def state(self) -> CampaignState: ...
    def note(self, event: ev.Event) -> None: ...
    async def written(self) -> None: ...
    def pause(self, run_id: str, by: str) -> bool: ...
    def unpause(self, run_id: str) -> bool: ...
    def cancel_run(self, run_id: str) -> None: ...
    def cancel_all(self) -> None: ...
    def retry(self, run_id: str) -> None: ...
    def repeat(self, repeats: int, first: int) -> None: ...
    def diagnose(self, run_id: str) -> bool: ...


class RequestServer:
    """Belongs to whoever writes the journal. ``clock``: seconds since the epoch; ``askers``: those
    who ask have another one, where the hosts are simulated and their time passes faster."""

    def __init__(
        self,
        campaign: Path,
        clock: Callable[[], float],
        askers: Callable[[], float] | None = None,
    ) -> None:
        self._campaign = campaign
        self._clock = clock
        self._spool = Spool(campaign, askers or clock)
        self._noted = 0

    async def serve(self, work: Work) -> None:
        """Until cancelled. A file system that does not answer now is looked at again."""
        begun = False
        while True:
            try:
                await asyncio.to_thread(self._spool.make)
                if not begun:
                    await self._finish(work)
                    begun = True
                await self._serve_what_is_there(work)
            except OSError as error:
                debug.log().info("requests cannot be looked at: %s", error)
            await asyncio.sleep(LOOK_EVERY_S)

    async def serve_the_last(self, work: Work) -> None:
        """All runs have ended: what was asked for until now is done before the campaign is over."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(LAST_S):
                await self._serve_what_is_there(work)

    async def _serve_what_is_there(self, work: Work) -> None:
        """Every request that was put until now. Raises OSError."""
        while (taken := await asyncio.to_thread(self._spool.take)) is not None:
            await self._one(work, taken)

    async def _finish(self, work: Work) -> None:
        """What was taken by somebody who was killed, and every answer that is not there and that
        somebody may wait for."""
        for request_id, wish in work.state.wishes.items():
            if wish.verb == Verb.CANCEL and not wish.everything and wish.done is not False:
                _do(wish, work)  # of a run at work only its own writer knew
            if wish.done is None or self._clock() - wish.answered_at <= GOOD_FOR_S:
                await self._fulfil(work, request_id, wish)

    async def _one(self, work: Work, taken: Taken) -> None:
        wish = work.state.wishes.get(taken.id)
        if wish is None:
            by, refusal = await asyncio.to_thread(asker_of, self._campaign, taken.uid)
            if refusal or taken.request is None:
                await self._refuse(work, taken, by, refusal or taken.problem)
                return
            try:
                event = _taken_event(taken.request, by, work.state, self._clock())
            except SelectionError as error:
                verb = str(taken.request.verb)
                await self._answer(work, taken.id, str(error), done=False, verb=verb, by=by)
                return
            work.note(event)
            await work.written()
            wish = work.state.wishes[taken.id]
        await self._fulfil(work, taken.id, wish)

    async def _fulfil(self, work: Work, request_id: str, wish: Wish) -> None:
        if wish.done is None and wish.verb not in tuple(Verb):  # of a newer version's journal
            text = f"this version does not know what {wish.verb!r} asks for"
            await self._answer(work, request_id, text, done=False)
        elif wish.done is None:
            _do(wish, work)
            changed = _changed(wish, work.state)
            words = _words(wish, changed)
            named = () if wish.everything else changed  # of all there may be too many to name
            await self._answer(work, request_id, words, done=True, changed=named)
        else:
            answer = Answer(request_id, wish.done, wish.text, wish.changed)
            await asyncio.to_thread(self._spool.reply, answer)

    async def _answer(
        self,
        work: Work,
        request_id: str,
        text: str,
        *,
        done: bool,
        changed: tuple[str, ...] = (),
        verb: str = "",
        by: str = "",
    ) -> None:
        now = self._clock()
        work.note(
            ev.RequestAnswered(
                t=now, request=request_id, done=done, text=text, run_ids=changed, verb=verb, by=by
            )
        )
        await work.written()
        await asyncio.to_thread(self._spool.reply, Answer(request_id, done, text, changed))

    async def _refuse(self, work: Work, taken: Taken, by: str, why: str) -> None:
        """It is no request, or nobody's who may ask: not worth a line for each in the journal."""
        debug.log().info("request %s of %s is refused: %s", taken.id, by, why)
        if self._noted < _MOST_NOTED:
            self._noted += 1
            text = f"a request of {by} was refused: {why}"
            work.note(ev.Noted(t=self._clock(), text=text))
        await asyncio.to_thread(self._spool.reply, Answer(taken.id, False, why))


def _do(wish: Wish, work: Work) -> None:
    """All of it that is not done yet."""
    match wish.verb:
        case Verb.CANCEL if wish.everything:
            work.cancel_all()
        case Verb.CANCEL:
            for run_id in wish.run_ids:
                work.cancel_run(run_id)
        case Verb.RETRY:
            for run_id in wish.run_ids:
                work.retry(run_id)
        case Verb.PAUSE:
            for run_id in wish.run_ids:
                work.pause(run_id, wish.by)
        case Verb.UNPAUSE:
            for run_id in wish.run_ids:
                work.unpause(run_id)
        case Verb.REPEAT:
            work.repeat(wish.repeats, wish.first)
        case Verb.DIAGNOSE:
            for run_id in wish.run_ids:
                work.diagnose(run_id)


def _changed(wish: Wish, state: CampaignState) -> tuple[str, ...]:
    """The runs that are as was asked for, whether it was done just now or before a kill."""
    runs = state.runs
    known = [run_id for run_id in wish.run_ids if run_id in runs]  # damage may have taken some
    match wish.verb:
        case Verb.CANCEL:
            ends = (RunState.CANCELLED, RunState.CANCELLING)
            return tuple(i for i in known if not runs[i].state.ended or runs[i].state in ends)
        case Verb.RETRY:
            return tuple(
                again
                for run_id in known
                if (again := next_attempt_id(run_id, runs[run_id].attempt)) in runs
            )
        case Verb.PAUSE:
            return tuple(run_id for run_id in known if runs[run_id].paused)
        case Verb.UNPAUSE:
            return tuple(run_id for run_id in known if not runs[run_id].paused)
        case Verb.DIAGNOSE:
            return tuple(known)
        case _:
            return new_runs(state, wish.repeats, wish.first)


def asker_of(campaign: Path, uid: int) -> tuple[str, str]:
    """The name of a file's owner, and why he may not ask; empty: he may. Blocking."""
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        user = None
    name = user.pw_name if user is not None else f"user {uid}"
    if uid == os.getuid():
        return name, ""
    if share_of(campaign) is not Share.GROUP:
        return name, "the campaign is its owner's alone"
    gid = campaign.stat().st_gid
    if user is None or gid not in os.getgrouplist(user.pw_name, user.pw_gid):
        return name, "only the campaign's group may ask"
    return name, ""


def _taken_event(request: Request, by: str, state: CampaignState, now: float) -> ev.RequestTaken:
    """What a request means at this moment. Raises SelectionError where that cannot be."""
    if request.campaign != campaign_of(next(iter(state.runs), "")):
        raise SelectionError("it is meant for another campaign", where=state.called)
    runs = None if request.run_ids is None else unique(request.run_ids)
    chosen: tuple[str, ...] = ()
    first = more = 0
    everything = request.verb is Verb.CANCEL and runs is None
    match request.verb:
        case Verb.CANCEL if everything:
            chosen = tuple(run.run_id for run in state.runs.values() if not run.state.ended)
        case Verb.CANCEL:
            asked = [state.run(run_id) for run_id in runs or ()]
            # One that failed just now is not to be tried again.
            over = (RunState.CANCELLED, RunState.SUCCEEDED)
            chosen = tuple(run.run_id for run in asked if run.state not in over)
        case Verb.RETRY:
            chosen = runs_to_retry(state, runs)
        case Verb.PAUSE | Verb.UNPAUSE:
            chosen = runs_to_pause(state, runs, pause=request.verb is Verb.PAUSE)
        case Verb.DIAGNOSE:
            asked = [state.run(run_id) for run_id in runs or ()]
            chosen = tuple(run.run_id for run in asked if run.state is RunState.RUNNING)
        case Verb.REPEAT:
            first = first_of_more(state)
            more = number_of_more(state, request.repeats, first)
    if not everything and (count := len(chosen) or more) > MOST_RUNS:
        raise SelectionError(
            f"that is {count} runs, and no more than {MOST_RUNS} at once can be answered",
            where=state.called,
            remedy="ask for less at a time",
        )
    return ev.RequestTaken(
        t=now,
        request=request.id,
        verb=str(request.verb),
        by=by,
        run_ids=chosen,
        everything=everything,
        repeats=request.repeats,
        first=first,
    )


_DONE = {
    Verb.CANCEL: "asked to end",
    Verb.RETRY: "planned again",
    Verb.PAUSE: "paused",
    Verb.UNPAUSE: "unpaused",
    Verb.REPEAT: "more planned",
    Verb.DIAGNOSE: "whose hosts are asked why it does not move",
}


def _words(wish: Wish, changed: tuple[str, ...]) -> str:
    if wish.everything and not wish.run_ids:
        return "all runs asked to end"
    if wish.verb == Verb.CANCEL and not changed:
        return "nothing to end: it has ended before"
    if wish.verb == Verb.DIAGNOSE and not changed:
        return "nobody to ask: the run is not at work"
    words = f"{counted(len(changed), 'run')} {_DONE[Verb(wish.verb)]}"
    left = len(wish.run_ids) - len(changed)
    if wish.verb == Verb.PAUSE and left > 0:
        words = f"{words}; {left} had started"
    return words
