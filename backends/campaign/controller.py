"""A live campaign: the scheduler over its runs, the one writer of its journal, and its face.

Whoever holds a controller pulls :meth:`CampaignController.snapshot` and asks for things with plain
calls (cancel, retry); their effects show in later snapshots. Detaching ends only this process's
part: the runs go on on their hosts.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from backends.campaign import events as ev
from backends.campaign.crew import Crew
from backends.campaign.journal import FILE_NAME, Journal, read_events
from backends.campaign.layout import host_log_path, log_path
from backends.campaign.lock import HEARTBEAT_S, CampaignLock
from backends.campaign.scheduling import Offer, Schedule, Wanted, schedule
from backends.campaign.snapshot import CampaignSnapshot, take
from backends.campaign.state import CampaignState, RunRecord, RunState, apply, fold
from backends.campaign.supervisor import Deferred, RunSupervisor
from backends.campaign.verdict import retry_delay_s
from backends.hosts.model import HostSnapshot, HostState
from backends.transports.base import HostUnreachableError
from profiles.durations import parse_duration
from profiles.errors import DlperfError

JOURNAL_EVERY_S = 1.0
RESULTS_DELAY_S = 0.4
REPROBE_EVERY_S = 30.0
SET_ASIDE_S = 10.0


class LostLockError(DlperfError):
    """Another console has taken the campaign over; this one stopped writing. Runs go on."""

    exit_code = 3

    def __init__(self, path: Path) -> None:
        super().__init__(
            "another console has taken this campaign over",
            where=str(path),
            remedy="the runs go on; follow them with 'dlperf-tui status'",
        )


@dataclass(slots=True)
class _HostUse:
    """What the scheduler knows of a host beyond its last probe."""

    snapshot: HostSnapshot
    run_id: str = ""
    free_from: float = 0.0
    aside: str = ""
    aside_until: float = 0.0

    def offer(self, now: float, *, force: bool) -> Offer:
        unusable = ""
        if self.snapshot.state is HostState.UNREACHABLE:
            unusable = self.snapshot.reason or "unreachable"
        elif self.snapshot.state is HostState.BUSY and not force:
            unusable = self.snapshot.reason or "busy"
        elif self.aside_until > now:
            unusable = self.aside
        facts = self.snapshot.facts
        return Offer(
            self.snapshot.name,
            slots=self.snapshot.slots,
            gpus=len(facts.gpus) if facts else 0,
            busy=bool(self.run_id),
            free_from=max(self.free_from, self.aside_until),
            unusable=unusable,
        )


class CampaignController:
    """Owns the journal and all supervisors of one campaign from :meth:`start` to its end.

    Parameters
    ----------
    path: the campaign's directory, already created and locked.
    crew: builds supervisors (profiles, launchers, remote hosts).
    hosts: the latest probes of the hosts that the campaign may use, in the order of preference.
    write_results: called, in a thread, with each new state worth reporting.
    """

    def __init__(
        self,
        path: Path,
        lock: CampaignLock,
        crew: Crew,
        hosts: Sequence[HostSnapshot],
        *,
        write_results: Callable[[CampaignState, Path], None],
        clock: Callable[[], float] = time.time,
        max_attempts: int = 2,
    ) -> None:
        self.path = path
        self._lock = lock
        self._crew = crew
        self._clock = clock
        self._max_attempts = max_attempts
        self._write_results = write_results
        self._journal = Journal(path / FILE_NAME)
        self.state: CampaignState = fold(read_events(path / FILE_NAME))
        self._revision = 0
        self._hosts = {host.name: _HostUse(host) for host in hosts}
        self._supervisors: dict[str, RunSupervisor] = {}
        self._schedule = Schedule({}, {}, None)
        self._wake = asyncio.Event()
        self._results_due = asyncio.Event()
        self._main: asyncio.Task[None] | None = None
        self._cancel_asked: set[str] = set()

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
        )
        problem = self._journal.problem
        return shown.with_note(self._clock(), problem) if problem else shown

    def start(self) -> None:
        """Begin, or go on, working; returns at once."""
        self._main = asyncio.create_task(self._work(), name=f"campaign {self.path.name}")

    async def wait(self) -> None:
        """Until every run has ended and the results are on disk; raises what stopped it."""
        if self._main is not None:
            await self._main

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
        elif not any(use.run_id == run_id for use in self._hosts.values()):
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
            self._journal = Journal(self.path / FILE_NAME)
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

    # Recording (the supervisors' Recorder) ---------------------------------------------------------

    def note(self, event: ev.Event) -> None:
        """Apply now, write with the next batch."""
        self.state = apply(self.state, event)
        self._revision += 1
        self._journal.append(event)

    async def record(self, event: ev.Event) -> None:
        """Apply now, return when it is on disk; a full disk is waited for in the background."""
        self.note(event)
        await self._journal.commit()
        self._results_due.set()

    # Working -------------------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                keepers = [
                    tasks.create_task(keeper)
                    for keeper in (
                        self._keep_lock(),
                        self._keep_journal(),
                        self._keep_results(),
                        self._keep_hosts(),
                    )
                ]
                await self._drive(tasks)
                for keeper in keepers:
                    keeper.cancel()
            await self.record(ev.CampaignFinished(t=self._clock()))
            await self._rewrite_results()
        finally:
            await self._journal.commit()
            self._journal.close()
            self._lock.release()

    async def _drive(self, tasks: asyncio.TaskGroup) -> None:
        """Start what can start, whenever something changed, until all runs have ended."""
        for run in self.state.runs.values():
            if run.state.active:
                self._occupy(run.run_id, run.hosts)
                tasks.create_task(self._see_through(run.run_id, run.hosts))
        while any(not run.state.ended for run in self.state.runs.values()):
            self._wake.clear()
            now = self._clock()
            self._schedule = schedule(self._wanted(), self._offers(now), now)
            for run_id, names in self._schedule.starts.items():
                self._occupy(run_id, names)
                tasks.create_task(self._see_through(run_id, names), name=f"run {run_id}")
            await self._changed(self._schedule.next_at)

    async def _changed(self, until: float | None) -> None:
        timeout = None if until is None else max(0.0, until - self._clock())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), timeout)

    def _wanted(self) -> list[Wanted]:
        under_way = {use.run_id for use in self._hosts.values()}
        return [
            Wanted(
                run.run_id,
                run.nodes,
                run.gpus_per_node,
                not_before=run.not_before,
                gpu_only=self._crew.profile(run.profile).devices == "gpu",
            )
            for run in self.state.runs.values()
            if run.state is RunState.PLANNED and run.run_id not in under_way
        ]

    def _offers(self, now: float) -> list[Offer]:
        return [use.offer(now, force=self.state.forced) for use in self._hosts.values()]

    def _occupy(self, run_id: str, names: Sequence[str]) -> None:
        for name in names:
            if name in self._hosts:
                self._hosts[name].run_id = run_id

    async def _see_through(self, run_id: str, names: Sequence[str]) -> None:
        """One run, from its assignment (unless a resume finds it done) to its end and its retry."""
        try:
            if self.state.runs[run_id].state is RunState.PLANNED:
                await self._assign(self.state.runs[run_id], names)
            supervisor = self._crew.supervisor(self.state.runs[run_id], self.path, self)
            self._supervisors[run_id] = supervisor
            if run_id in self._cancel_asked:
                supervisor.request_cancel()
            await supervisor.execute()
        except HostUnreachableError as error:  # before anything was started
            self._set_aside(error.host, str(error.problem))
        except Deferred as deferred:
            self._set_aside(deferred.host, f"held by {deferred.holder}")
            await self.record(ev.RunDeferred(t=self._clock(), run_id=run_id, reason=str(deferred)))
        except DlperfError as error:
            await self.record(
                ev.RunFailed(t=self._clock(), run_id=run_id, reason=str(error), category="request")
            )
        finally:
            self._supervisors.pop(run_id, None)
            self._release_hosts(run_id)
            self._wake.set()
        await self._plan_retry(self.state.runs[run_id])

    async def _assign(self, run: RunRecord, names: Sequence[str]) -> None:
        """Write down where a run goes before anything of it exists there."""
        profile = self._crew.profile(run.profile)
        taken = {other.log for other in self.state.runs.values()}
        port = await self._crew.free_port(run, names)
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

    def _set_aside(self, host: str, why: str) -> None:
        """Use a host no more for a while."""
        if host in self._hosts:
            self._hosts[host].aside = why
            self._hosts[host].aside_until = self._clock() + SET_ASIDE_S

    def _release_hosts(self, run_id: str) -> None:
        profile = self._crew.profile(self.state.runs[run_id].profile)
        for use in self._hosts.values():
            if use.run_id == run_id:
                use.run_id = ""
                use.free_from = self._clock() + parse_duration(profile.launch.settle)

    async def _plan_retry(self, run: RunRecord) -> None:
        if run.state is not RunState.FAILED or run.attempt >= self._max_attempts:
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

    async def _keep_hosts(self) -> None:
        """Look again at hosts that could not be used, so that they join when they are back."""
        while True:
            await asyncio.sleep(REPROBE_EVERY_S)
            for name, use in self._hosts.items():
                if not use.run_id and use.snapshot.state is not HostState.READY:
                    use.snapshot = await self._crew.probe(name)
                    self._wake.set()


def next_attempt_id(run: RunRecord) -> str:
    """``…-a2`` after ``…-a1``."""
    stem, _, _ = run.run_id.rpartition("-a")
    return f"{stem}-a{run.attempt + 1}"
