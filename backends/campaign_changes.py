"""What can be changed of a campaign that has begun: by whoever is at work on it, who is asked, or,
where nobody is, here and now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from backends.campaign import cancelling
from backends.campaign.controller import CampaignController
from backends.campaign.folder.directory_identity import check_place
from backends.campaign.folder.reader import CampaignReader, read_campaign
from backends.campaign.folder.refuse_foreign_files import refuse_ways_out
from backends.campaign.pausing import pause_events
from backends.campaign.plan.more_repeats import first_of_more, more_repeats
from backends.campaign.plan.runs_to_retry import runs_to_retry
from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.record.journal import FILE_NAME, write_now
from backends.campaign.record.lock import CampaignLock
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import CampaignState
from backends.campaign_start import Starter
from backends.keeper.asking import ask
from backends.keeper.overtaken import refuse_overtaken
from backends.keeper.request import Answer, Verb
from profiles.errors import DlperfError

Say = Callable[[str], None]
EventsOf = Callable[[CampaignState], Sequence[ev.Event]]


def _unsaid(words: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _Asked:
    """``answer``: None: nobody was asked. ``silent``: the last sign of who gave no other, and is
    taken over; see :meth:`backends.campaign.record.lock.CampaignLock.silent`."""

    answer: Answer | None
    silent: float | None = None


UNTIL_ENDED_S = 60.0
"""Whoever is at work ends a run as soon as its hosts can be asked; so long is waited for that."""
_LOOK_EVERY_S = 0.5


class CampaignChanges:
    """``clock``: seconds since the epoch. ``attached``: takes each controller that is begun."""

    def __init__(
        self,
        starter: Starter,
        attached: Callable[[CampaignController], CampaignController],
        clock: Callable[[], float],
    ) -> None:
        self._starter = starter
        self._attached = attached
        self._clock = clock

    async def ask(
        self,
        path: Path,
        verb: Verb,
        run_ids: Collection[str] | None = None,
        *,
        repeats: int = 0,
        say: Say = _unsaid,
    ) -> Answer | None:
        """See :func:`backends.keeper.asking.ask`."""
        state = await asyncio.to_thread(read_campaign, path)
        return (await self._ask(path, state, verb, run_ids, False, repeats=repeats, say=say)).answer

    async def _ask(
        self,
        path: Path,
        state: CampaignState,
        verb: Verb,
        run_ids: Collection[str] | None,
        take_over: bool,
        *,
        repeats: int = 0,
        say: Say,
    ) -> _Asked:
        """``take_over``: who gives no sign is not asked, whatever the time of the last one."""
        lock = CampaignLock(path, self._clock)
        alive = take_over and await asyncio.to_thread(lock.living) is not None
        if alive and (silent := await lock.silent()) is not None:
            return _Asked(None, silent)
        runs = None if run_ids is None else tuple(run_ids)
        return _Asked(
            await ask(path, state, verb, runs, repeats=repeats, clock=self._clock, say=say)
        )

    async def cancel(
        self,
        path: Path,
        run_ids: Collection[str] | None = None,
        *,
        take_over: bool = False,
        say: Say = _unsaid,
    ) -> cancelling.CancelOutcome:
        """End runs (default: all), and verify it. Their logs are fetched to the last byte.

        What cannot be verified now is taken up again by the next call, by ``resume``, and by
        ``sweep``. ``say``: what it waits for.

        Raises
        ------
        SelectionError: it has no such run. CampaignLockedError, ElsewhereError: as of ``resume``.
        """
        state = await asyncio.to_thread(read_campaign, path)
        check_place(path, state)
        chosen = list(state.runs if run_ids is None else run_ids)
        open_before = [run_id for run_id in chosen if not state.run(run_id).state.ended]
        gone = self._starter.of_other_hosts(state)
        left = bool(open_before) if gone else cancelling.is_left(state, chosen)
        if not left and (gone or state.finished or run_ids is not None):
            return cancelling.CancelOutcome()
        asked = await self._ask(path, state, Verb.CANCEL, run_ids, take_over, say=say)
        if asked.answer is not None:
            return await self._ended_by_others(path, chosen, open_before, say)
        await asyncio.to_thread(self._write, path, state, lambda now: [], take_over, asked.silent)
        order = cancelling.order_of(run_ids)
        controller = await self._starter.resume(path, take_over=take_over, order=order)
        work = self._attached(controller).wait()
        await cancelling.until_ended(work, controller.snapshot, say)
        return cancelling.outcome_of(
            controller.state.runs, controller.unverified, chosen, open_before
        )

    async def _ended_by_others(
        self, path: Path, chosen: Sequence[str], open_before: Sequence[str], say: Say
    ) -> cancelling.CancelOutcome:
        reader = CampaignReader(path)
        loop = asyncio.get_running_loop()
        until = loop.time() + UNTIL_ENDED_S
        told = False
        while True:
            state = await asyncio.to_thread(reader.state)
            runs = [state.runs[run_id] for run_id in chosen]
            left = [run for run in runs if not run.state.ended]
            settled = not left and not any(run.cleanup.may_mend for run in runs)
            if settled or loop.time() >= until:
                break
            if left and not told and loop.time() >= until - UNTIL_ENDED_S + 3.0:
                told = True
                say(f"waiting: {len(left)} of {len(chosen)} have not ended yet")
            await asyncio.sleep(_LOOK_EVERY_S)
        doubts = {run.run_id: run.cleanup for run in state.runs.values() if run.cleanup.doubts}
        doubts |= {run.run_id: _not_ended(run) for run in left}
        return cancelling.outcome_of(state.runs, doubts, chosen, open_before)

    async def pause(
        self,
        path: Path,
        run_ids: Collection[str] | None = None,
        *,
        pause: bool,
        take_over: bool = False,
        say: Say = _unsaid,
    ) -> tuple[str, ...]:
        """Pause runs (default: all that have not started), or let them start; which changed.

        Raises
        ------
        SelectionError: one of them cannot be, or there is none.
        """
        verb = Verb.PAUSE if pause else Verb.UNPAUSE
        state = await asyncio.to_thread(read_campaign, path)
        asked = await self._ask(path, state, verb, run_ids, take_over, say=say)
        if asked.answer is not None:
            return asked.answer.run_ids
        changed: tuple[str, ...] = ()

        def events(now: CampaignState) -> list[ev.Event]:
            nonlocal changed
            changed, wanted = pause_events(now, run_ids, self._clock(), pause=pause)
            return wanted

        await asyncio.to_thread(self._write, path, state, events, take_over, asked.silent)
        return changed

    async def retry(
        self,
        path: Path,
        run_ids: Collection[str] | None = None,
        *,
        take_over: bool = False,
        say: Say = _unsaid,
    ) -> tuple[CampaignController | None, tuple[str, ...]]:
        """Another attempt of these runs (default: of all that failed), and the ids: of the new
        ones, with no controller, where somebody is at work on the campaign; else of the old ones,
        and it is gone on with. Raises like ``resume``.

        Raises
        ------
        SelectionError: one of them neither failed nor was cancelled, or there is none.
        """
        state = await asyncio.to_thread(read_campaign, path)
        again = runs_to_retry(state, run_ids)
        asked = await self._ask(path, state, Verb.RETRY, again, take_over, say=say)
        if asked.answer is not None:
            return None, asked.answer.run_ids
        resumed = self._starter.resume(path, take_over=take_over, silent=asked.silent)
        controller = self._attached(await resumed)
        for run_id in again:  # before it has begun to work: nothing of the campaign ends meanwhile
            controller.retry(run_id)
        return controller, again

    async def repeat(
        self, path: Path, repeats: int, *, take_over: bool = False, say: Say = _unsaid
    ) -> tuple[str, ...]:
        """Plan so many more repeats of each case; the ids of the new runs. Where nobody is at work
        on the campaign, they start when somebody goes on with it.

        Raises
        ------
        SelectionError: it runs nothing.
        """
        state = await asyncio.to_thread(read_campaign, path)
        first_of_more(state)  # what cannot be is said at once
        asked = await self._ask(path, state, Verb.REPEAT, None, take_over, repeats=repeats, say=say)
        if asked.answer is not None:
            return asked.answer.run_ids
        planned: tuple[str, ...] = ()

        def events(now: CampaignState) -> list[ev.RunPlanned]:
            nonlocal planned
            wanted = more_repeats(now, repeats, first_of_more(now), self._clock())
            planned = tuple(event.run_id for event in wanted)
            return wanted

        await asyncio.to_thread(self._write, path, state, events, take_over, asked.silent)
        return planned

    def _write(
        self,
        path: Path,
        state: CampaignState,
        events_of: EventsOf,
        take_over: bool,
        silent: float | None,
    ) -> None:
        """Of a campaign that nobody is at work on; ``state``: as it was read before. It is on disk
        when this returns; what was asked of somebody who was gone is overtaken by it. Blocking.

        Raises
        ------
        CampaignLockedError: a console is at work on it. ElsewhereError: it is a copy.
        SelectionError: its hosts are simulated, and ours are not. Whatever ``events_of`` raises,
        and then nothing is written. DlperfError: it cannot be written.
        """
        refuse_ways_out(path)
        events_of(state)
        self._starter.refuse_other_world(path, state)
        check_place(path, state)
        lock = CampaignLock(path, self._clock)
        lock.acquire(take_over=take_over, silent=silent)
        write = partial(write_now, path / FILE_NAME, owned=lock.owned)
        try:
            now = read_campaign(path)
            events = events_of(now)
            refuse_overtaken(path, now, self._clock, write)
            if events:
                write(events)
        except OSError as error:
            raise DlperfError(
                f"cannot answer what was asked of it: {error.strerror}",
                where=str(path),
                remedy="check permissions and free space",
            ) from error
        finally:
            lock.release()


def _not_ended(run: RunRecord) -> Cleanup:
    away = ((host, why) for host, (_, why) in run.lost_hosts.items())
    doubts = [Doubt(host, Why.AWAY, why) for host, why in away]
    doubts += [Doubt(host, Why.NOT_LOOKED) for host in run.hosts if host not in run.lost_hosts]
    return Cleanup(False, tuple(doubts) or (Doubt("", Why.NOT_LOOKED),))
