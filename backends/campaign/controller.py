"""A live campaign: the scheduler over its runs, the one writer of its journal, and its face.

Whoever holds a controller pulls :meth:`CampaignController.snapshot` and asks for things with plain
calls (cancel, retry); their effects show in later snapshots. Detaching ends only this process's
part: the runs go on on their hosts.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from backends.campaign.folder.paths import host_log_path, log_path
from backends.campaign.host_upkeep import Caretaker
from backends.campaign.plan.selection import ATTEMPTS
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, Journal, LostJournalError
from backends.campaign.record.lock import HEARTBEAT_S, CampaignLock
from backends.campaign.record.snapshot import CampaignSnapshot, RunView, take
from backends.campaign.record.state import CampaignState, RunRecord, RunState, apply
from backends.campaign.run.factory import Crew
from backends.campaign.run.supervisor import Deferred, RunSupervisor
from backends.campaign.run.verdict import retry_delay_s
from backends.engines.direct import DirectEngine, Schedule, Wanted
from backends.hosts.facts import HostSnapshot
from backends.transports.base import HostUnreachableError, Problem
from profiles.durations import parse_duration
from profiles.errors import DlperfError

JOURNAL_EVERY_S = 2.0
RESULTS_DELAY_S = 0.4
DISK_FULL_RETRY_S = 1.0


class LostLockError(DlperfError):
    """Another console has taken the campaign over; this one stopped writing. Runs go on."""

    exit_code = 3

    def __init__(self, path: Path) -> None:
        super().__init__(
            "another console has taken this campaign over",
            where=str(path),
            remedy="the runs go on; follow them with 'dlperf-tui status'",
        )


class CampaignController:
    """Owns the journal and all supervisors of one campaign from :meth:`start` to its end.

    Parameters
    ----------
    path: the campaign's directory, already created and locked.
    state: what its journal says.
    crew: builds supervisors (profiles, launchers, remote hosts).
    hosts: the latest probes of the hosts that the campaign may use, in the order of preference.
    write_results: called, in a thread, with each new state worth reporting.
    """

    def __init__(
        self,
        path: Path,
        lock: CampaignLock,
        state: CampaignState,
        crew: Crew,
        hosts: Sequence[HostSnapshot],
        *,
        write_results: Callable[[CampaignState, Path], None],
        clock: Callable[[], float] = time.time,
        jitter: Callable[[], float] = random.random,
        max_attempts: int = ATTEMPTS,
    ) -> None:
        self.path = path
        self.state = state
        self._lock = lock
        self._crew = crew
        self._clock = clock
        self._max_attempts = max_attempts
        self._write_results = write_results
        self._journal = Journal(path / FILE_NAME, owned=lock.owned)
        self._revision = 0
        self._engine = DirectEngine(hosts, clock, force=state.forced)
        self._supervisors: dict[str, RunSupervisor] = {}
        self._schedule = Schedule({}, {}, None)
        self._wake = asyncio.Event()
        self._results_due = asyncio.Event()
        self._main: asyncio.Task[None] | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._cancel_asked: set[str] = set()
        self._ended_views: dict[str, tuple[RunRecord, RunView]] = {}
        self._caretaker = Caretaker(
            self._engine,
            crew,
            state=lambda: self.state,
            note=lambda text, level: self.note(ev.Noted(t=clock(), text=text, level=level)),
            written=self._written,
            changed=self._wake.set,
            jitter=jitter,
        )

    # The face ----------------------------------------------------------------------------------

    def snapshot(self) -> CampaignSnapshot:
        """The campaign now; cheap enough to be asked for a few times a second."""
        shown = take(
            self.state,
            self.path,
            now=self._clock(),
            expected_s=self._crew.expected_s,
            waiting=self._schedule.waiting,
            revision=self._revision,
            ended=self._ended_views,
        )
        problem = self._journal.problem
        return shown.with_note(self._clock(), problem) if problem else shown

    def start(self) -> None:
        """Begin, or go on, working; returns at once."""
        self._main = asyncio.create_task(self._work(), name=f"campaign {self.path.name}")

    async def wait(self) -> None:
        """Until every run has ended and the results are on disk; raises what stopped it."""
        if self._main is None:
            return
        try:
            await self._main
        except* DlperfError as stopped:
            reason = _first(stopped)
        else:
            return
        raise reason

    async def detach(self) -> None:
        """Stop following and give the campaign back; the runs continue on their hosts."""
        if self._main is not None:
            self._main.cancel()
            await asyncio.gather(self._main, return_exceptions=True)

    @property
    def finished(self) -> bool:
        return self.state.finished

    def cancel_run(self, run_id: str) -> None:
        """Ask for one run's end, planned or live. Unknown and ended runs: nothing happens."""
        run = self.state.runs.get(run_id)
        if run is None or run.state.ended:
            return
        self._cancel_asked.add(run_id)
        if run_id in self._supervisors:
            self._supervisors[run_id].request_cancel()
        elif run_id not in self._engine.under_way:
            self.note(ev.RunCancelled(t=self._clock(), run_id=run_id))
        self._wake.set()

    def cancel_all(self) -> None:
        for run_id in list(self.state.runs):
            self.cancel_run(run_id)

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
        if self._main is not None and self._main.done():
            self._lock.acquire()
            self._journal = Journal(self.path / FILE_NAME, owned=self._lock.owned)
            self.note(ev.CampaignReopened(t=self._clock()))
            self.note(self._attempt_after(run, not_before=0.0))
            self.start()
            return
        self.note(self._attempt_after(run, not_before=0.0))
        self._wake.set()

    def log_path(self, run_id: str, host: str | None = None) -> Path | None:
        """The local raw log of rank 0, or of another host of the run; None before it has one."""
        run = self.state.runs.get(run_id)
        if run is None or not run.log:
            return None
        if host is None or not run.hosts or host == run.hosts[0]:
            return self.path / run.log
        return self.path / host_log_path(run.log, host)

    # Recording (the supervisors' Recorder) -------------------------------------------------------

    def note(self, event: ev.Event) -> None:
        """Apply now, write with the next batch."""
        self.state = apply(self.state, event)
        self._revision += 1
        self._journal.append(event)

    async def record(self, event: ev.Event) -> bool:
        """Apply now, return when it is on disk; False: the disk is full, it is kept until then."""
        self.note(event)
        written = await self._journal.commit()
        if isinstance(event, ev.RunSucceeded | ev.RunFailed | ev.RunCancelled):
            self._results_due.set()
        return written

    async def _written(self) -> None:
        """Return when all that happened is on disk, however long that takes."""
        while True:
            if await self._journal.commit():
                return
            await asyncio.sleep(DISK_FULL_RETRY_S)

    # Working -------------------------------------------------------------------------------------

    async def _work(self) -> None:
        owned = True
        try:
            await self._to_the_end()
        except* (LostLockError, LostJournalError):
            owned = False
        finally:
            try:
                if owned:
                    with contextlib.suppress(LostJournalError):
                        await self._journal.commit()
            finally:  # whatever comes, another console can go on
                self._journal.close()
                self._lock.release()
        if not owned:
            raise LostLockError(self.path)

    async def _to_the_end(self) -> None:
        while True:
            await self._work_off()
            if not self.state.finished:
                self.note(ev.CampaignFinished(t=self._clock()))
            await self._written()
            await self._rewrite_results()
            if self.state.finished:  # else a retry was asked for meanwhile
                return

    async def _work_off(self) -> None:
        async with asyncio.TaskGroup() as self._tasks:
            keepers = [
                self._tasks.create_task(keeper)
                for keeper in (
                    self._keep_lock(),
                    self._keep_journal(),
                    self._keep_results(),
                    self._caretaker.keep_hosts(),
                    self._caretaker.keep_leases(),
                )
            ]
            self._tasks.create_task(self._caretaker.tidy_what_was_left())
            await self._drive(self._tasks)
            for keeper in keepers:
                keeper.cancel()

    async def _drive(self, tasks: asyncio.TaskGroup) -> None:
        """Start what can start, whenever something changed, until all runs have ended."""
        if not self.state.finished:
            for run in self.state.latest_attempts():
                if run.state is RunState.FAILED:  # and the console ended before it planned another
                    await self._plan_retry(run)
        for run in self.state.runs.values():
            if run.state.active:
                self._engine.occupy(run.run_id, run.hosts)
                tasks.create_task(self._see_through(run.run_id, run.hosts))
        while any(not run.state.ended for run in self.state.runs.values()):
            self._wake.clear()
            wanted = self._wanted()
            self._schedule = self._engine.schedule(wanted)
            for run_id, names in self._schedule.starts.items():
                self._engine.occupy(run_id, names)
                tasks.create_task(self._see_through(run_id, names), name=f"run {run_id}")
            if wanted and not self._engine.under_way:
                await self._give_up_hopeless(wanted)
            if not self._wake.is_set():
                await self._changed(self._schedule.next_at)

    async def _changed(self, until: float | None) -> None:
        timeout = None if until is None else max(0.0, until - self._clock())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), timeout)

    def _wanted(self) -> list[Wanted]:
        under_way = self._engine.under_way
        return [
            Wanted(
                run.run_id,
                run.nodes,
                run.gpus_per_node,
                not_before=run.not_before,
                gpu_only=self._crew.profile(run.profile).devices == "gpu",
                avoid=self._failed_before(run),
            )
            for run in self.state.runs.values()
            if run.state is RunState.PLANNED and run.run_id not in under_way
        ]

    def _failed_before(self, run: RunRecord) -> tuple[str, ...]:
        before = self.state.runs.get(run.retry_of)
        return (before.failed_host,) if before is not None and before.failed_host else ()

    async def _give_up_hopeless(self, wanted: Sequence[Wanted]) -> None:
        """Nothing runs, and what is left needs hosts that are not coming back: say so and end."""
        for want in wanted:
            limit = self._crew.profile(self.state.runs[want.run_id].profile).launch.lost_limit
            if why := self._engine.hopeless(want, parse_duration(limit)):
                reason = f"{why}, not back within {limit}"
                await self.record(
                    ev.RunFailed(
                        t=self._clock(), run_id=want.run_id, reason=reason, category="lost"
                    )
                )
                self._wake.set()

    async def _see_through(self, run_id: str, names: Sequence[str]) -> None:
        """One run, from its assignment (unless a resume finds it done) to its end and its retry."""
        collected = False
        try:
            fresh = self.state.runs[run_id].state is RunState.PLANNED
            if fresh:
                await self._assign(self.state.runs[run_id], names)
            run = self.state.runs[run_id]
            supervisor = self._crew.supervisor(
                run, self.path, self, fresh=fresh, idle=lambda: self._free(run_id)
            )
            self._supervisors[run_id] = supervisor
            if run_id in self._cancel_asked:
                supervisor.request_cancel()
            collected = await supervisor.execute()
        except HostUnreachableError as error:  # before anything was started
            self._caretaker.doubt(error.host, error.what)
        except Deferred as deferred:
            self._engine.held(deferred.host, deferred.holder)
            await self.record(ev.RunDeferred(t=self._clock(), run_id=run_id, reason=str(deferred)))
        except LostJournalError:
            raise
        except DlperfError as error:
            await self._fail(run_id, str(error), "request")
        except Exception as error:  # a mistake of ours in one run must not end the others
            await self._fail(run_id, f"internal error: {type(error).__name__}: {error}", "internal")
        finally:
            self._supervisors.pop(run_id, None)
            self._free(run_id)
        await self._after(self.state.runs[run_id], collected)

    def _free(self, run_id: str) -> None:
        settle = self._crew.profile(self.state.runs[run_id].profile).launch.settle
        self._engine.release(run_id, parse_duration(settle))
        self._wake.set()

    async def _fail(self, run_id: str, reason: str, category: str) -> None:
        started = self.state.runs[run_id].state.active
        await self.record(
            ev.RunFailed(
                t=self._clock(),
                run_id=run_id,
                reason=reason,
                category=category,
                clean="unverified: it was not looked for" if started else "",
            )
        )

    async def _after(self, run: RunRecord, collected: bool) -> None:
        if run.state is RunState.PLANNED and run.run_id in self._cancel_asked:
            await self.record(ev.RunCancelled(t=self._clock(), run_id=run.run_id))
            return
        if run.state is RunState.FAILED:
            if run.category in ("lost", "rebooted") and run.failed_host:
                self._caretaker.doubt(
                    run.failed_host, run.reason.removeprefix(f"{run.failed_host}: ")
                )
            await self._plan_retry(run)
        if run.state.ended and self._tasks is not None and (collected or run.clean):
            self._tasks.create_task(self._caretaker.tidy(run, run.hosts))

    async def _assign(self, run: RunRecord, names: Sequence[str]) -> None:
        """Write down where a run goes before anything of it exists there."""
        profile = self._crew.profile(run.profile)
        taken = {other.log for other in self.state.runs.values()}
        try:
            port = await self._crew.free_port(run, names)
        except TimeoutError:
            raise HostUnreachableError(names[0], Problem.TIMEOUT, "no answer") from None
        await self.record(
            ev.RunAssigned(
                t=self._clock(),
                run_id=run.run_id,
                hosts=tuple(names),
                port=port,
                commands=self._crew.command_texts(run, names, port),
                log=log_path(profile, run.case, run.repeat, run.attempt, taken),
            )
        )
        await self._written()

    async def _plan_retry(self, run: RunRecord) -> None:
        if run.attempt >= self._max_attempts or run.run_id in self._cancel_asked:
            return
        delay = retry_delay_s(run.retry)
        if delay is not None:
            await self.record(self._attempt_after(run, not_before=self._clock() + delay))
            self._wake.set()

    def _attempt_after(self, run: RunRecord, not_before: float) -> ev.RunPlanned:
        return ev.RunPlanned(
            t=self._clock(),
            run_id=next_attempt_id(run),
            profile=run.profile,
            framework=run.framework,
            model=run.model,
            unit=run.unit,
            nodes=run.nodes,
            gpus_per_node=run.gpus_per_node,
            parameters=run.parameters,
            repeat=run.repeat,
            attempt=run.attempt + 1,
            not_before=not_before,
            retry_of=run.run_id,
        )

    # Keeping -------------------------------------------------------------------------------------

    async def _keep_lock(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            if not await asyncio.to_thread(self._lock.renew):
                raise LostLockError(self.path)

    async def _keep_journal(self) -> None:
        while True:
            await asyncio.sleep(JOURNAL_EVERY_S)
            await self._journal.commit()

    async def _keep_results(self) -> None:
        """Rewrite the results a moment after a run ended, never in the way of the next start."""
        while True:
            await self._results_due.wait()
            await asyncio.sleep(RESULTS_DELAY_S)
            self._results_due.clear()
            await self._rewrite_results()

    async def _rewrite_results(self) -> None:
        try:
            await asyncio.to_thread(self._write_results, self.state, self.path)
        except OSError as error:
            self.note(ev.Noted(t=self._clock(), text=f"cannot write the results: {error.strerror}"))


def _first(group: BaseExceptionGroup[DlperfError]) -> DlperfError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def next_attempt_id(run: RunRecord) -> str:
    """``…-a2`` after ``…-a1``."""
    stem, _, _ = run.run_id.rpartition("-a")
    return f"{stem}-a{run.attempt + 1}"
