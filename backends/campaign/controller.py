"""A live campaign: the one writer of its journal, and its face.

Whoever holds a controller pulls :meth:`CampaignController.snapshot` and asks for things with plain
calls (cancel, retry); their effects show in later snapshots. Detaching ends only this process's
part: the runs go on on their hosts.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from backends import debug
from backends.campaign.cancelling import CancelOrder
from backends.campaign.dispatch import Dispatcher
from backends.campaign.folder.debug_log import DebugLog
from backends.campaign.folder.moment import Moment, forget_moment, write_moment
from backends.campaign.folder.raw_logs import LogDoubt, levelled_lines, with_doubts
from backends.campaign.folder.results_writer import ResultsWriter
from backends.campaign.more_cases import (
    BegunWith,
    more_cases,
    new_cases,
    others,
    why_not_added,
)
from backends.campaign.notify.notifier import Notifier
from backends.campaign.pausing import operator
from backends.campaign.plan.further_runs import further_runs
from backends.campaign.plan.more_repeats import first_of_more, more_repeats
from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.plan.plan import Plan
from backends.campaign.plan.selection import ATTEMPTS
from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import Cleanup
from backends.campaign.record.journal import LostJournalError
from backends.campaign.record.lock import HEARTBEAT_S, CampaignLock
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.state import CampaignState, RunState
from backends.campaign.record.status_view import CampaignSnapshot, Kept, take
from backends.campaign.run.factory import RunFactory
from backends.clocks import sleep
from backends.engines.engine import Engine
from backends.hosts.preflight_finding import Finding
from backends.inventory.notify_settings import NotifySettings
from profiles.errors import DlperfError

TELL_EVERY_S = 1.0
"""Who looks on learns within this time why runs wait and what starts are at."""
RESULTS_DELAY_S = 0.4


class LostLockError(DlperfError):
    """Another console has taken the campaign over; this one stopped writing. Runs go on."""

    exit_code = 3

    def __init__(self, path: Path) -> None:
        super().__init__(
            "another console has taken this campaign over",
            where=str(path),
            remedy="the runs go on; follow them with 'dlperf-tui status'",
        )


class Requests(Protocol):
    """What others ask of whoever is at work: :class:`backends.keeper.server.RequestServer`."""

    async def serve(self, work: CampaignController) -> None: ...
    async def serve_the_last(self, work: CampaignController) -> None: ...


class CampaignController:
    """Owns the journal and all runs of one campaign from :meth:`start` to its end.

    Parameters
    ----------
    path: the campaign's directory, already created and locked.
    state: what its journal says.
    engine: gives the runs their hosts.
    factory: builds what a run needs (profiles, launchers, logs).
    write_results: called, in a thread, with each new state worth reporting.
    log_doubts: what there is to say of the logs of what has ended before; called in a thread, once
        for each time that the campaign is gone on with.
    order: end these runs, do nothing else, and leave what cannot be verified for another time.
    notify: whom to tell, of what; None: nobody.
    requests: does what others ask for; None: nobody can.
    debug_log: where the engine tells what it does; None: wherever the caller has it told.
    begun_with: what cases that are added have to be like; None: none can be added.
    """

    def __init__(
        self,
        path: Path,
        lock: CampaignLock,
        state: CampaignState,
        engine: Engine,
        factory: RunFactory,
        *,
        write_results: Callable[[CampaignState, Path], None],
        log_doubts: Callable[[CampaignState, Path], Sequence[LogDoubt]],
        clock: Callable[[], float] = time.time,
        max_attempts: int = ATTEMPTS,
        order: CancelOrder | None = None,
        notify: NotifySettings | None = None,
        requests: Requests | None = None,
        debug_log: DebugLog | None = None,
        begun_with: BegunWith | None = None,
    ) -> None:
        self.path = path
        self._begun_with = begun_with
        self._debug_log = debug_log
        self._lock = lock
        self._engine = engine
        self._factory = factory
        self._clock = clock
        self._recorder = Recorder(
            path,
            state,
            owned=lock.owned,
            log=None if debug_log is None else debug_log.logger,
            clock=clock,
        )
        self._results = ResultsWriter(path, write_results, lambda: self.state, lock.owned)
        self._order = order
        self._requests = requests
        self._dispatcher = Dispatcher(
            path,
            self._recorder,
            engine,
            factory,
            clock=clock,
            max_attempts=max_attempts,
            order=order,
        )
        self._notifier = None
        if notify is not None:
            self._notifier = Notifier(
                path, self._recorder, notify, clock=clock, max_attempts=max_attempts
            )
        self._main: asyncio.Task[None] | None = None
        self._kept = Kept()
        self._log_doubts = log_doubts
        self._log_lines: tuple[tuple[str, str], ...] = ()

    # The face ----------------------------------------------------------------------------------

    @property
    def state(self) -> CampaignState:
        return self._recorder.state

    def snapshot(self) -> CampaignSnapshot:
        """The campaign now; cheap enough to be asked for a few times a second."""
        moment = self._moment()
        shown = take(
            self.state,
            self.path,
            now=self._clock(),
            waiting=moment.waiting,
            starting=moment.starting,
            given_up=moment.given_up,
            unread=moment.unread,
            revision=self._recorder.revision,
            kept=self._kept,
        )
        shown = shown.of_its_begin(self._log_lines)
        problem = self._recorder.problem
        return shown.with_note(self._clock(), problem) if problem else shown

    def _moment(self) -> Moment:
        waiting = dict(self._dispatcher.schedule.waiting)
        for run_id in self._dispatcher.cancel_asked & waiting.keys():
            waiting[run_id] = replace(waiting[run_id], ending=True)
        dispatcher = self._dispatcher
        return Moment(
            waiting,
            dict(dispatcher.starting),
            given_up=dict(dispatcher.given_up),
            unread=dict(dispatcher.unread),
        )

    def start(self) -> None:
        """Begin, or go on, working; returns at once."""
        self._tell_writer(left=False)
        self._main = asyncio.create_task(self._work(), name=f"campaign {self.path.name}")

    async def wait(self) -> None:
        """Until every run has ended and the results are on disk; raises what stopped it. Who waits
        may be cancelled: the work goes on."""
        if self._main is None:
            return
        try:
            await asyncio.shield(self._main)
        except* DlperfError as stopped:
            reason = _first(stopped)
        else:
            return
        raise reason

    async def detach(self) -> None:
        """Stop following and give the campaign back; the runs continue on their hosts."""
        if self._main is not None:
            await asyncio.sleep(0)  # a task that never began would not give back what it holds
            self._main.cancel()
            await asyncio.gather(self._main, return_exceptions=True)

    @property
    def finished(self) -> bool:
        return self.state.finished

    def note(self, event: ev.Event) -> None:
        """Record something that belongs to no run."""
        self._recorder.note(event)

    async def written(self) -> None:
        """Return when all that happened is on disk, however long that takes."""
        await self._recorder.written()

    def pause(self, run_id: str, by: str = "") -> bool:
        """Do not start a run before :meth:`unpause`; what runs goes on. False: it has started."""
        return self._dispatcher.pause(run_id, by or operator())

    def unpause(self, run_id: str) -> bool:
        """Start a paused run when its turn comes; False: it is not paused."""
        return self._dispatcher.unpause(run_id)

    def cancel_run(self, run_id: str) -> None:
        """Ask for one run's end, planned or live. Unknown and ended runs: nothing happens."""
        self._dispatcher.cancel(run_id)

    def diagnose(self, run_id: str) -> bool:
        """Have a run's hosts asked what keeps it, which disturbs nothing; the state has the answer
        some seconds later. False: the run is not at work."""
        return self._dispatcher.diagnose(run_id)

    def cancel_all(self) -> None:
        """Ask for the end of every run; no further attempt of any is made."""
        self._dispatcher.cancel_all()

    @property
    def unverified(self) -> Mapping[str, Cleanup]:
        """By run id: what nobody could verify of runs that were ended, or were to be."""
        ended = {r.run_id: r.cleanup for r in self.state.runs.values() if r.cleanup.doubts}
        return {**ended, **self._dispatcher.left_open}

    def retry(self, run_id: str) -> None:
        """Plan another attempt of a failed or cancelled run that has none yet.

        A finished campaign is taken up again for it.

        Raises
        ------
        CampaignLockedError: the campaign had finished and another console writes it now.
        """
        run = self.state.runs.get(run_id)
        if run is None or run.state not in (RunState.FAILED, RunState.CANCELLED):
            return
        if run not in self.state.latest_attempts():
            return
        with self._open():
            self.note(next_attempt(run, self._clock(), not_before=0.0))

    def repeat(self, repeats: int, first: int | None = None) -> None:
        """Plan so many more repeats of each case; see
        :func:`backends.campaign.plan.more_repeats.more_repeats`.

        Raises
        ------
        SelectionError: the campaign runs nothing.
        """
        number = first_of_more(self.state) if first is None else first
        with self._open():
            for event in more_repeats(self.state, repeats, number, self._clock()):
                self.note(event)

    def why_not_added(self, plan: Plan, findings: Sequence[Finding] = ()) -> str:
        """Why not to :meth:`add` it; see :func:`backends.campaign.more_cases.why_not_added`."""
        if self._begun_with is None:
            return "nothing can be added to it"
        return why_not_added(self._begun_with, self.state, plan, findings)

    def to_add(self, plan: Plan) -> tuple[Plan, list[str]]:
        """Of a plan what :meth:`add` takes, and why it takes no others."""
        if self._begun_with is None:
            return replace(plan, cases=()), []
        return new_cases(self._begun_with, self.state, plan), others(self._begun_with, plan)

    def add(self, plan: Plan) -> int:
        """Plan these runs, too, of cases that it has not got; how many they are.
        :meth:`why_not_added` has no reason against it.

        Raises
        ------
        CampaignLockedError: the campaign had finished and another console writes it now.
        """
        more = more_cases(self.state, self.to_add(plan)[0], self._clock())
        with self._open():
            for event in more:
                self.note(event)
        return len(more)

    def judge_logs(self, doubts: Sequence[LogDoubt]) -> None:
        """Have the state and the notes say what there is to say of the logs of what has ended."""
        self._log_lines = levelled_lines(doubts)
        self._recorder.judge(lambda state: with_doubts(state, doubts))

    @contextlib.contextmanager
    def _open(self) -> Iterator[None]:
        """Something is planned meanwhile: a campaign that has finished is taken up again for it."""
        over = self._main is not None and self._main.done()
        if over:
            self._lock.acquire()
            self._recorder.reopen()
            self.note(ev.CampaignReopened(t=self._clock()))
        yield
        if over:
            self.start()
        else:
            self._dispatcher.wake()

    # Working -------------------------------------------------------------------------------------

    async def _work(self) -> None:
        if self._debug_log is not None:
            self._debug_log.open()
            debug.log_to(self._debug_log.logger)
        owned = True
        try:
            await self._to_the_end()
        except* (LostLockError, LostJournalError):
            owned = False
        finally:
            try:
                if self._notifier is not None:
                    await self._notifier.close()
                await self._results.ended()
                if owned and not self.finished:
                    self._tell_writer(left=True)
                if owned:
                    with contextlib.suppress(LostJournalError):
                        await self._recorder.commit()
            finally:  # whatever comes, another console can go on
                self._recorder.close()
                if owned:
                    forget_moment(self.path)
                self._lock.release()
                stopped = sys.exception()
                asked = isinstance(stopped, asyncio.CancelledError)
                words = "this console lets go" if owned else "another console goes on"
                debug.log().info(words, exc_info=None if asked else stopped)
                if self._debug_log is not None:
                    await asyncio.to_thread(self._debug_log.close)
        if not owned:
            raise LostLockError(self.path)

    def _tell_writer(self, *, left: bool) -> None:
        """Who goes on with it, or that they no longer do; once for a campaign that is reopened."""
        me, now = self._lock.me, self._clock()
        told = ev.WriterChanged(
            t=now, role=me.role, user=me.user, host=me.host, pid=me.pid, left=left
        )
        if not self.state.writers or replace(self.state.writers[-1], t=now) != told:
            self.note(told)

    async def _look_at_logs(self) -> None:
        try:
            found = await asyncio.to_thread(self._log_doubts, self.state, self.path)
        except (DlperfError, OSError):
            debug.log().exception("the logs of what ended before are not looked at")
            return
        self.judge_logs(found)

    async def _to_the_end(self) -> None:
        looked = False
        while True:
            async with asyncio.TaskGroup() as tasks:
                if not looked:  # beside the work; the last results wait for it
                    tasks.create_task(self._look_at_logs())
                    looked = True
                keepers = [
                    tasks.create_task(keeper)
                    for keeper in (
                        self._keep_lock(),
                        self._keep_telling(),
                        self._recorder.keep(),
                        self._keep_results(),
                        *([] if self._notifier is None else [self._notifier.keep()]),
                    )
                ]
                if self._requests is not None:
                    keepers.append(tasks.create_task(self._requests.serve(self)))
                await self._dispatcher.work()
                for keeper in keepers:
                    keeper.cancel()
            if self._requests is not None:
                await self._requests.serve_the_last(self)
            if self._order is None:
                for event in further_runs(self.state, self._clock()):
                    self.note(event)
            open_runs = any(not run.state.ended for run in self.state.runs.values())
            if not open_runs:
                await self._give_back()
            if not open_runs and not self.state.finished:
                self.note(ev.CampaignFinished(t=self._clock()))
            await self._recorder.written()
            await self._rewrite_results()
            if self.state.finished or self._order is not None:
                await self._tell_the_end()
            # Else a retry was asked for meanwhile.
            if self.state.finished or self._order is not None:
                return

    async def _tell_the_end(self) -> None:
        """Keeping the lock meanwhile: a command may take its time."""
        if self._notifier is None:
            return
        async with asyncio.TaskGroup() as tasks:
            lock = tasks.create_task(self._keep_lock())
            await self._notifier.ended()
            lock.cancel()
        await self._recorder.written()

    async def _give_back(self) -> None:
        if problem := await self._engine.give_back(self._recorder.held):
            self.note(ev.Noted(t=self._clock(), text=problem))

    async def _keep_lock(self) -> None:
        while True:
            await sleep(HEARTBEAT_S)
            if not await asyncio.to_thread(self._lock.renew):
                raise LostLockError(self.path)

    async def _keep_telling(self) -> None:
        """Those who look on see what we do; a full disk costs them that, and us nothing."""
        told = None
        while True:
            moment, told_all = self._moment(), True
            if self.state.simulated:
                moment = replace(moment, at=self._clock())
                told_all = await self._recorder.commit()
            else:  # a log that flows is read in a moment: nothing to write a file for
                late = self._clock() - TELL_EVERY_S
                unread = {run_id: t for run_id, t in moment.unread.items() if t < late}
                moment = replace(moment, unread=unread)
            if moment != told and told_all:
                with contextlib.suppress(OSError):
                    await asyncio.to_thread(write_moment, self.path, moment)
                    told = moment
            await asyncio.sleep(TELL_EVERY_S)

    async def _keep_results(self) -> None:
        """Rewrite the results a moment after a run ended, never in the way of the next start."""
        while True:
            await self._recorder.result_due.wait()
            await asyncio.sleep(RESULTS_DELAY_S)
            self._recorder.result_due.clear()
            await self._rewrite_results()

    async def _rewrite_results(self) -> None:
        try:
            await self._results.write()
        except OSError as error:
            debug.log().exception("the results are not written")
            self.note(ev.Noted(t=self._clock(), text=f"cannot write the results: {error.strerror}"))


def _first(group: BaseExceptionGroup[DlperfError]) -> DlperfError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
