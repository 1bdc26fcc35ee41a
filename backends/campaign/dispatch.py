"""Brings a campaign's runs to hosts and through to their ends, whatever engine gives the hosts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from backends import debug
from backends.campaign.cancelling import CancelOrder
from backends.campaign.due_runs import DueRuns, tell_why
from backends.campaign.pausing import paused
from backends.campaign.plan.does_not_fit import repeats_in_vain
from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.record import events as ev
from backends.campaign.record.cause import AWAY, Cause
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.record.journal import LostJournalError
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.run_view import TAKEN_UP
from backends.campaign.record.silence import SILENT_S
from backends.campaign.record.state import RunRecord, RunState
from backends.campaign.run.cleanup import Cleaner
from backends.campaign.run.end_and_fetch import Kept
from backends.campaign.run.end_events import failed, requeued
from backends.campaign.run.end_reason import Ended, judge_allocation_end, retry_delay_s
from backends.campaign.run.factory import RunFactory
from backends.campaign.run.start_on_hosts import Deferred
from backends.campaign.run.supervisor import RunSupervisor
from backends.clocks import loop_time, timeout
from backends.engines.engine import (
    Allocation,
    AllocationEnd,
    AllocationEndedError,
    EndKind,
    Engine,
    Journaled,
    Schedule,
    Ticket,
    Trouble,
)
from backends.transports.transport import HostUnreachableError, Problem
from profiles.durations import parse_duration
from profiles.errors import DlperfError


class Dispatcher:
    """Starts what can start, whenever something changed, until every run has ended.

    Parameters
    ----------
    path: the campaign's directory.
    max_attempts: how often a run is tried where another attempt can help.
    order: end these runs, do nothing else, and leave what cannot be verified for another time.
    clock: seconds since the epoch, for the journal.
    """

    def __init__(
        self,
        path: Path,
        recorder: Recorder,
        engine: Engine,
        factory: RunFactory,
        *,
        clock: Callable[[], float],
        max_attempts: int,
        order: CancelOrder | None = None,
    ) -> None:
        self._path = path
        self._recorder = recorder
        self._engine = engine
        self._factory = factory
        self._clock = clock
        self._max_attempts = max_attempts
        self._order = order
        self._cleaner = Cleaner(path, engine, factory, recorder, clock)
        self._due = DueRuns(recorder, factory, order, clock=clock)
        self.schedule = Schedule()
        self._under_way: set[str] = set()
        self._unadopted: set[str] = set()
        runs = recorder.state.runs.values()
        self._to_take_up = {run.run_id for run in runs if run.state is RunState.RUNNING}
        self._supervisors: dict[str, RunSupervisor] = {}
        self._queued: dict[str, asyncio.Task[Allocation]] = {}
        self.cancel_asked = set(recorder.state.cancel_wished)
        self._wake = asyncio.Event()

    # Asked from outside --------------------------------------------------------------------------

    def wake(self) -> None:
        """Something changed: look again what can start."""
        self._wake.set()

    @property
    def left_open(self) -> dict[str, Cleanup]:
        """Runs that are left ``cancelling``, with what could not be verified of them."""
        return self._due.left_open

    def pause(self, run_id: str, by: str) -> bool:
        """Do not start the run before it is unpaused; False: it has started, or is about to."""
        run = self._recorder.state.runs.get(run_id)
        on_its_way = run_id in self._under_way and run_id not in self._queued
        if run is None or not run.pausable or on_its_way:
            return False
        for event in paused(self._clock(), run_id, by):
            self._recorder.note(event)
        if run_id in self._queued:
            self._queued[run_id].cancel()
        self.wake()
        return True

    def unpause(self, run_id: str) -> bool:
        """Start the run when its turn comes; False: it is not paused."""
        run = self._recorder.state.runs.get(run_id)
        if run is None or not run.paused:
            return False
        self._recorder.note(ev.RunUnpaused(t=self._clock(), run_id=run_id))
        self.wake()
        return True

    def cancel(self, run_id: str) -> None:
        """Ask for one run's end, planned, queued or live. Unknown and ended: nothing happens."""
        self.cancel_asked.add(run_id)  # of a run that has just failed, too: it is not tried again
        run = self._recorder.state.runs.get(run_id)
        if run is None or run.state.ended:
            return
        if run_id in self._supervisors:
            self._supervisors[run_id].request_cancel()
        elif run_id in self._queued:
            self._queued[run_id].cancel()
        elif run.state is RunState.PLANNED and run_id not in self._under_way:
            self._recorder.note(ev.RunCancelled(t=self._clock(), run_id=run_id))
        self.wake()

    @property
    def starting(self) -> Mapping[str, str]:
        """By run: what its start is at, on which hosts, or that it is taken up again."""
        said = dict.fromkeys(self._to_take_up, TAKEN_UP)
        said |= {run_id: one.starting for run_id, one in self._supervisors.items()}
        return {run_id: words for run_id, words in said.items() if words}

    @property
    def given_up(self) -> Mapping[str, float]:
        """By run: when it will be ended as stalled, of those without a reading for a while."""
        return self._told_of_each(attrgetter("given_up_at"))

    @property
    def unread(self) -> Mapping[str, float]:
        """By run: since when what it printed waits to be read, of those where something does."""
        return self._told_of_each(attrgetter("unread_since"))

    def _told_of_each(self, when: Callable[[RunSupervisor], float | None]) -> dict[str, float]:
        at = {run_id: when(one) for run_id, one in self._supervisors.items()}
        return {run_id: t for run_id, t in at.items() if t is not None}

    def diagnose(self, run_id: str) -> bool:
        """Have the run's hosts asked what keeps it; False: it is not at work."""
        supervisor = self._supervisors.get(run_id)
        if supervisor is not None:
            supervisor.request_diagnosis()
        return supervisor is not None

    def cancel_all(self) -> None:
        """Ask for the end of every run; no further attempt of any is made."""
        if not self._recorder.state.cancel_asked:
            self._recorder.note(ev.CancelAsked(t=self._clock()))
        for run_id in list(self._recorder.state.runs):
            self.cancel(run_id)

    # Working -------------------------------------------------------------------------------------

    async def work(self) -> None:
        """Until every run has ended."""
        async with asyncio.TaskGroup() as tasks:

            def back(host: str) -> None:
                tasks.create_task(self._cleaner.tidy_host(host))

            keepers = [
                tasks.create_task(self._engine.tend(self.wake, back, self._recorder.held)),
                tasks.create_task(self._hear_of_ends()),
            ]
            tasks.create_task(self._cleaner.tidy_what_was_left())
            await self._drive(tasks)
            await self._cleaner.tidy_again()
            for keeper in keepers:
                keeper.cancel()

    async def _drive(self, tasks: asyncio.TaskGroup) -> None:
        await self._take_up()
        while any(not run.state.ended for run in self._due.ours()):
            self._wake.clear()
            for run in self._due.left_behind(self._under_way):
                self._under_way.add(run.run_id)
                self._unadopted.add(run.run_id)
                tasks.create_task(self._see_through(run.run_id, None, tasks))
            # The engine takes for free what is not adopted yet.
            wanted = [] if self._unadopted else self._due.wanted(self._under_way)
            before, self.schedule = self.schedule, self._engine.schedule(wanted, self._silent_s)
            tell_why(self.schedule, before)
            for want in wanted:
                if want.run_id in self.schedule.starts:
                    self._under_way.add(want.run_id)
                    hosts = self.schedule.starts[want.run_id]
                    ticket = self._engine.request(want, hosts)
                    name = f"run {want.run_id}"
                    tasks.create_task(self._see_through(want.run_id, ticket, tasks), name=name)
            if wanted and not self._under_way:
                await self._give_up_hopeless()
            if not self._wake.is_set():
                await self._changed(self._looks_again_at(waits=bool(wanted)))

    async def _take_up(self) -> None:
        """What was asked for, and what an earlier console had no time for."""
        state = self._recorder.state
        if self._order is not None and self._order.run_ids is not None:
            for run_id in self._order.run_ids:
                self.cancel(run_id)
        elif state.finished:
            return
        elif self._order is not None or state.cancel_asked:
            self.cancel_all()
        else:
            for run in state.latest_attempts():
                if run.state is RunState.FAILED:  # and no other attempt had been planned
                    await self._plan_retry(run)

    @property
    def _silent_s(self) -> Mapping[str, float]:
        """By run: in how many seconds it will be ended as stalled."""
        now = self._clock()
        return {run_id: max(0.0, at - now) for run_id, at in self.given_up.items()}

    def _looks_again_at(self, *, waits: bool) -> float | None:
        """Also while runs are at work, of which one may fall silent and leave room meanwhile."""
        if not waits or not self._supervisors:
            return self.schedule.next_at
        look = loop_time() + SILENT_S
        return look if self.schedule.next_at is None else min(look, self.schedule.next_at)

    async def _changed(self, until: float | None) -> None:
        wait_s = None if until is None else max(0.0, until - loop_time())
        with contextlib.suppress(TimeoutError):
            async with timeout(wait_s):  # wait_for would swallow a cancellation
                await self._wake.wait()

    async def _give_up_hopeless(self) -> None:
        """Nothing runs, and what is left needs hosts that are not coming back: say so and end."""
        for event in self._due.hopeless(self.schedule):
            await self._recorder.record(event)
            self.wake()

    async def _hear_of_ends(self) -> None:
        async for end in self._engine.ends():
            if end.run_id in self._supervisors:
                self._supervisors[end.run_id].allocation_ended(end)

    # One run -------------------------------------------------------------------------------------

    async def _see_through(
        self, run_id: str, ticket: Ticket | None, tasks: asyncio.TaskGroup
    ) -> None:
        """From its request, or from where a restart found it, to its end and its retry."""
        kept: Kept = {}
        try:
            kept = await self._attempt(run_id, ticket)
        except HostUnreachableError as error:  # before anything was started
            self._engine.trouble(error.host, Trouble.OUT_OF_REACH, error.what)
            await self._back_to_planned(run_id, error.what)
        except Deferred as deferred:
            self._engine.trouble(deferred.host, Trouble.HELD, deferred.holder)
            await self._back_to_planned(run_id, str(deferred))
        except AllocationEndedError as error:
            await self._fail(run_id, judge_allocation_end(error.end))
        except LostJournalError:
            raise
        except DlperfError as error:
            debug.log().exception("run %s cannot be executed", run_id)
            await self._fail(run_id, Ended(reason=str(error), category=Cause.REQUEST))
        except Exception as error:  # a mistake of ours in one run must not end the others
            debug.log().exception("run %s failed by a mistake of ours", run_id)
            what = f"internal error: {type(error).__name__}: {error}"
            await self._fail(run_id, Ended(reason=what, category=Cause.INTERNAL))
        finally:
            self._supervisors.pop(run_id, None)
            self._free(run_id)
        await self._after(self._recorder.state.runs[run_id], kept, tasks)

    async def _attempt(self, run_id: str, ticket: Ticket | None) -> Kept:
        """Until the run has ended, or is left open; which of its logs are safely here."""
        allocation = await self._obtain(run_id, ticket)
        if allocation is None:
            return {}
        fresh = self._recorder.state.runs[run_id].state.waits
        if fresh:
            await self._assign(self._recorder.state.runs[run_id], allocation)
        supervisor = self._supervisors[run_id] = self._factory.supervisor(
            self._recorder.state.runs[run_id],
            allocation,
            self._path,
            self._recorder,
            fresh=fresh,
            idle=lambda: self._free(run_id),
            taken=lambda: self._engine.ended(run_id),
            patience_s=None if self._order is None else self._order.patience_s,
        )
        self._to_take_up.discard(run_id)
        if run_id in self.cancel_asked:
            supervisor.request_cancel()
        ended = await supervisor.execute()
        if not self._recorder.state.runs[run_id].state.ended:
            self.left_open[run_id] = ended.cleanup
        return supervisor.kept

    async def _obtain(self, run_id: str, ticket: Ticket | None) -> Allocation | None:
        """The run's hosts, now or when the queue gives them; None: it goes without any."""
        if ticket is None:
            try:
                found = await self._adopt(self._recorder.state.runs[run_id])
            finally:
                self._unadopted.discard(run_id)
                self.wake()
            if found is None or (isinstance(found, Allocation) and not self._unwanted(run_id)):
                return found
            ticket = found if isinstance(found, Ticket) else self._ticket_of(found)
        elif self._engine.queues:
            await self._recorder.record(ev.RunQueued(t=self._clock(), run_id=run_id))
            await self._recorder.written()
            ticket = await self._engine.submit(ticket)
            await self._recorder.record(
                ev.RunQueued(t=self._clock(), run_id=run_id, job_id=ticket.job_id)
            )
            self.wake()  # the engine can tell now why it waits
        allocation = await self._given(run_id, ticket)
        if allocation is None or self._unwanted(run_id):
            await self._engine.withdraw(ticket)
            await self._go_without(run_id)
            return None
        return allocation

    def _unwanted(self, run_id: str) -> bool:
        """Nothing is started of it, though hosts were asked for or are given."""
        run = self._recorder.state.runs[run_id]
        return not run.state.active and (run.paused or run_id in self.cancel_asked)

    def _ticket_of(self, given: Allocation) -> Ticket:
        want = self._due.want(self._recorder.state.runs[given.run_id])
        return Ticket(want, given.names, given.job_id)

    async def _given(self, run_id: str, ticket: Ticket) -> Allocation | None:
        """None: it was paused or cancelled meanwhile, whatever became of that since."""
        if self._unwanted(run_id):
            return None
        waiting = asyncio.ensure_future(self._engine.given(ticket))
        self._queued[run_id] = waiting
        try:
            return await waiting
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise  # this console lets go; the request stays in the queue
            return None
        finally:
            self._queued.pop(run_id, None)

    async def _go_without(self, run_id: str) -> None:
        if run_id in self.cancel_asked:
            await self._recorder.record(ev.RunCancelled(t=self._clock(), run_id=run_id))
        else:
            await self._back_to_planned(run_id, "paused")

    async def _adopt(self, run: RunRecord) -> Ticket | Allocation | None:
        """What the engine knows of a run from before a restart; None: nothing, and that is said."""
        before = Journaled(self._due.want(run), run.hosts, run.devices, run.job_id)
        found = await self._engine.adopt(before)
        if found is None and run.state.active:
            gone = AllocationEnd(run.run_id, EndKind.VANISHED)
            await self._fail(run.run_id, judge_allocation_end(gone))
        elif found is None:
            await self._back_to_planned(run.run_id, "the queue does not know it")
        elif isinstance(found, Ticket) and run.state.active:  # queued again while nobody looked
            end = AllocationEnd(run.run_id, EndKind.REQUEUED, job_id=found.job_id)
            await self._recorder.record(requeued(run, end, self._clock()))
            return None
        return found

    async def _assign(self, run: RunRecord, allocation: Allocation) -> None:
        """Write down where a run goes before anything of it exists there."""
        taken = {other.log for other in self._recorder.state.runs.values()}
        try:
            port = await self._factory.free_port(run, allocation, self._recorder)
        except TimeoutError:
            raise HostUnreachableError(allocation.names[0], Problem.TIMEOUT, "no answer") from None
        event = self._factory.assignment(run, allocation, port, taken, self._clock())
        await self._recorder.record(event)
        await self._recorder.written()

    def _free(self, run_id: str) -> None:
        """Nothing of the run is at work on its devices any more."""
        settle = self._factory.profile(self._recorder.state.runs[run_id].profile).launch.settle
        self._engine.release(run_id, parse_duration(settle))
        self.wake()

    async def _back_to_planned(self, run_id: str, reason: str) -> None:
        if self._recorder.state.runs[run_id].state is not RunState.PLANNED:
            event = ev.RunDeferred(t=self._clock(), run_id=run_id, reason=reason)
            await self._recorder.record(event)

    # Ends ----------------------------------------------------------------------------------------

    async def _fail(self, run_id: str, ended: Ended) -> None:
        """By something else than its own end, so that nobody has looked what is left of it."""
        run = self._recorder.state.runs[run_id]
        hosts = run.hosts if run.state.active else ()
        unlooked = Cleanup(False, tuple(Doubt(host, Why.NOT_LOOKED) for host in hosts))
        event = failed(run, replace(ended, cleanup=unlooked), self._clock())
        await self._recorder.record(event)

    async def _after(self, run: RunRecord, kept: Kept, tasks: asyncio.TaskGroup) -> None:
        self._under_way.discard(run.run_id)
        self.wake()
        if run.state is RunState.PLANNED and run.run_id in self.cancel_asked:
            await self._recorder.record(ev.RunCancelled(t=self._clock(), run_id=run.run_id))
            return
        if run.state is RunState.FAILED:
            if run.failed_host and (what := AWAY.get(run.category)):
                self._engine.trouble(run.failed_host, Trouble.OUT_OF_REACH, what)
            await self._spare_repeats(run)
            await self._plan_retry(run)
        away = {doubt.host: doubt for doubt in run.cleanup.doubts if doubt.why is Why.AWAY}
        for doubt in away.values():  # cleaned up when the engine finds it again
            self._engine.trouble(doubt.host, Trouble.OUT_OF_REACH, doubt.detail)
        if run.state.ended:
            names = [name for name in run.hosts if name not in away]
            tasks.create_task(self._cleaner.tidy(run, names, kept))

    async def _spare_repeats(self, run: RunRecord) -> None:
        """All at once, before another of them begins."""
        state = self._recorder.state
        if self._order is not None or state.cancel_asked:
            return
        for event in (found := repeats_in_vain(state, run, self._under_way, self._clock())):
            self._recorder.note(event)
        if found:
            await self._recorder.commit()

    async def _plan_retry(self, run: RunRecord) -> None:
        tries = self._recorder.state.tries(run)
        if tries >= self._max_attempts or run.run_id in self.cancel_asked:
            return
        if self._order is not None or self._recorder.state.cancel_asked:
            return
        delay = retry_delay_s(run.retry)
        if delay is not None:
            await self._recorder.record(next_attempt(run, self._clock(), self._clock() + delay))
            self.wake()
