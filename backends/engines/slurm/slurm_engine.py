"""The Slurm engine: every run is a job of its own, and Slurm decides when and where."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from backends.clocks import loop_time
from backends.engines.engine import (
    Allocation,
    AllocationEnd,
    AllocationEndedError,
    EndKind,
    Journal,
    Journaled,
    Schedule,
    Ticket,
    Trouble,
    Waiting,
    WaitKind,
    Wanted,
)
from backends.engines.slurm.batch_script import JobRequest, request_for
from backends.engines.slurm.commands import SlurmCommands
from backends.engines.slurm.job_nodes import JobNodes
from backends.engines.slurm.job_watch import JobWatch
from backends.engines.slurm.jobs import Job, JobState
from backends.engines.slurm.node_share import partition_of
from backends.engines.slurm.run_job import RunJob
from backends.engines.slurm.submission import Submission
from backends.engines.waiting_line import in_turn
from backends.hosts.host_facts import HostSnapshot, Sought
from backends.inventory.host_entry import Host
from backends.inventory.job_options import JobOptions
from backends.transports.transport import Transport

MOST_QUEUED = 32
"""Jobs of a campaign that wait at once: a queue is shared, and has a limit."""
ENDS_BY_ITSELF_S = 20.0
"""For so long a job may outlive its run, and a run, as far as we see, its job."""


class SlurmEngine:
    """The jobs of one campaign.

    Parameters
    ----------
    login: the machine that has Slurm's programs and shares its ``work_dir`` with the nodes.
    nodes: those that are known, each with what is known of it.
    sought: where a look at a node's software looks.
    clock: seconds since the epoch.
    """

    def __init__(
        self,
        login: Transport,
        nodes: Sequence[tuple[Host, HostSnapshot]],
        options: Callable[[str], JobOptions],
        *,
        sought: Sequence[Sought] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        commands = SlurmCommands(login)
        self._nodes = JobNodes(login, commands, nodes, sought, clock)
        self._options = options
        self._jobs: dict[str, RunJob] = {}
        self._ends: asyncio.Queue[AllocationEnd] = asyncio.Queue()
        submission = Submission(login, commands, options)
        self._watch = JobWatch(commands, submission, self._nodes, self._jobs, self._saw)

    # Runs ----------------------------------------------------------------------------------------

    def schedule(self, wanted: Sequence[Wanted], silent_s: Mapping[str, float]) -> Schedule:
        """Slurm's queue is the order of things; only what it would not take at once waits here."""
        now = loop_time()
        due = [want for _, want in in_turn(wanted) if want.not_before <= now]
        queued = [job for job in self._jobs.values() if not job.given and not job.over]
        room = max(0, MOST_QUEUED - len(queued))
        waiting = {job.want.run_id: self._waiting(job) for job in queued}
        waiting |= {want.run_id: Waiting(WaitKind.BEHIND) for want in due[room:]}
        starts: dict[str, tuple[str, ...]] = {want.run_id: () for want in due[:room]}
        later = (want.not_before for want in wanted if want.not_before > now)
        return Schedule(starts, waiting, min(later, default=None))

    def _waiting(self, job: RunJob) -> Waiting:
        if self._watch.silent or job.seen is None:
            return Waiting(WaitKind.QUEUED, detail=self._watch.silent or job.held_up)
        return Waiting(WaitKind.QUEUED, detail=job.seen.reason, expected_at=job.seen.start_time)

    @property
    def queues(self) -> bool:
        return True

    def request(self, want: Wanted, hosts: Sequence[str]) -> Ticket:
        self._jobs[want.run_id] = RunJob(want)
        return Ticket(want)

    async def submit(self, ticket: Ticket) -> Ticket:
        job = self._jobs[ticket.want.run_id]

        async def asked() -> JobRequest:
            partition = partition_of(job.want, self._options(job.want.cluster))
            return request_for(job.want, await self._nodes.share(partition))

        try:
            await self._watch.submit(job, asked)
        except AllocationEndedError:
            self._forget(ticket.want.run_id)
            raise
        return replace(ticket, job_id=job.job_id)

    async def given(self, ticket: Ticket) -> Allocation:
        job = self._jobs[ticket.want.run_id]
        while True:
            job.changed.clear()
            if job.over:
                raise AllocationEndedError(await self._end_of(job))
            if (seen := job.seen) is None or seen.state is not JobState.RUNNING:
                await job.changed.wait()
            elif await self._nodes.ready(seen, self._ended(job)):
                return await self._allocation(job, seen)

    async def _end_of(self, job: RunJob) -> AllocationEnd:
        """Of a job that ended before its run began."""
        if job.end is not None:
            return job.end
        said = await self._nodes.said(job.job_id)
        return AllocationEnd(job.want.run_id, EndKind.VANISHED, detail=said)

    async def _allocation(self, job: RunJob, seen: Job) -> Allocation:
        job.given, job.restarts = True, seen.restarts
        hosts = await self._nodes.allocated(seen, job.want.gpus_per_node, self._ended(job))
        return Allocation(job.want.run_id, hosts, job_id=job.job_id)

    @staticmethod
    def _ended(job: RunJob) -> Callable[[], bool]:
        return lambda: job.over or job.requeued

    async def adopt(self, before: Journaled) -> Ticket | Allocation | None:
        run_id = before.want.run_id
        job = self._jobs[run_id] = RunJob(before.want, before.job_id)
        jobs = await anext(self._watch.answers())
        job.seen = job.of(jobs)
        job.gone = job.seen is None
        if job.seen is not None and job.seen.state.ended:
            job.seen = await self._watch.explained(job, job.seen)
        if before.hosts:
            return await self._taken_up(job, before)
        if job.seen is None:
            self._forget(run_id)
            return None
        job.job_id = job.seen.job_id
        return Ticket(before.want, job_id=job.job_id)

    async def _taken_up(self, job: RunJob, before: Journaled) -> Ticket | Allocation:
        """A run that had its nodes: where its job is over, what it left tells how it ended."""
        run_id = before.want.run_id
        if job.seen is not None and job.seen.state.waits:  # again, while nobody looked
            return Ticket(before.want, job_id=job.job_id)
        if job.over and not await self._nodes.all_ended(run_id, before.hosts):
            self._forget(run_id)
            raise AllocationEndedError(job.end or AllocationEnd(run_id, EndKind.VANISHED))
        job.given, job.restarts = True, job.seen.restarts if job.seen else 0
        hosts = await self._nodes.before(before, job.job_id, self._ended(job))
        return Allocation(run_id, hosts, job_id=job.job_id)

    async def withdraw(self, ticket: Ticket) -> None:
        if (job := self._jobs.get(ticket.want.run_id)) is not None:
            await self._watch.withdraw(job)
            self._forget(ticket.want.run_id)

    def release(self, run_id: str, settle_s: float) -> None:
        job = self._jobs.get(run_id)
        if job is not None and job.requeued:
            self._forget(run_id)  # the job is another attempt's now
        elif job is not None and job.released_at is None:
            job.released_at = loop_time()

    def _forget(self, run_id: str) -> None:
        self._jobs.pop(run_id, None)

    async def ended(self, run_id: str) -> AllocationEnd | None:
        job = self._jobs.get(run_id)
        if job is None:
            return None
        await self._watch.settled(job)
        return job.end

    async def ends(self) -> AsyncIterator[AllocationEnd]:
        while True:
            yield await self._ends.get()

    # Nodes ---------------------------------------------------------------------------------------

    def trouble(self, host: str, kind: Trouble, detail: str) -> None:
        """Which nodes are well is Slurm's to know; a run's next attempt avoids where it failed."""

    def transport(self, host: str) -> Transport:
        """The login node, which has the files of what ran there."""
        return self._nodes.files_of(host)

    # Looking -------------------------------------------------------------------------------------

    async def tend(
        self, changed: Callable[[], None], back: Callable[[str], None], journal: Journal
    ) -> None:
        async def looked(news: bool) -> None:
            if news:
                changed()
            await self._settle()

        await self._watch.keep(looked)

    async def give_back(self, journal: Journal) -> str:
        """Every job ends with its run."""
        return ""

    def _saw(self, job: RunJob) -> None:
        if job.over:
            job.over_at = loop_time()
        self._tell(job, job.end)

    def _tell(self, job: RunJob, end: AllocationEnd | None) -> None:
        if end is not None and job.given and not job.told and job.released_at is None:
            job.told = True
            self._ends.put_nowait(end)

    async def _settle(self) -> None:
        """A job ends by itself when its run is over; one whose run never began does not. And a run
        whose job is over has ended by now, or nobody will ever tell how."""
        before = loop_time() - ENDS_BY_ITSELF_S
        for run_id, job in list(self._jobs.items()):
            if job.released_at is None:
                if job.over_at is not None and job.over_at < before:
                    self._tell(job, AllocationEnd(run_id, EndKind.VANISHED))
            elif job.over or not job.job_id:
                self._forget(run_id)
            elif job.released_at < before:
                await self._watch.end(job.job_id)
