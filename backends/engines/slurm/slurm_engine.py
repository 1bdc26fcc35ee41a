"""The Slurm engine: every run is a job of its own, and Slurm decides when and where.

All jobs are asked for at once, every few seconds, and less often while the controller does not
answer. What runs in a job needs neither it nor us.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from backends import debug
from backends.clocks import loop_time
from backends.engines.engine import (
    Allocation,
    AllocationEnd,
    AllocationEndedError,
    EndKind,
    Journaled,
    Schedule,
    Ticket,
    Trouble,
    Waiting,
    WaitKind,
    Wanted,
)
from backends.engines.slurm.batch_script import NAME_PREFIX, request_for
from backends.engines.slurm.commands import RefusedError, SlurmCommands, SlurmError
from backends.engines.slurm.job_nodes import JobNodes
from backends.engines.slurm.jobs import Job, JobState, accounted_jobs, current_jobs
from backends.engines.slurm.run_job import RunJob
from backends.engines.slurm.submission import Submission
from backends.hosts.host_facts import HostSnapshot, Sought
from backends.inventory.host_entry import Host
from backends.inventory.job_options import JobOptions
from backends.transports.transport import HostUnreachableError, Transport

MOST_QUEUED = 32
"""Jobs of a campaign that wait at once: a queue is shared, and has a limit."""
LOOK_EVERY_S = 3.0
LONGEST_LOOK_S = 30.0
FIRST_LOOK_S = 0.5
EXPLAIN_WITHIN_S = 45.0
ENDS_BY_ITSELF_S = 20.0
"""For so long a job may outlive its run, and a run, as far as we see, its job."""
_NO_ROOM = "MaxSubmit"
"""In Slurm's words where the user has too many jobs in the queue: later there is room."""
NO_ANSWER = (SlurmError, HostUnreachableError)


class SlurmEngine:
    """The jobs of one campaign.

    Parameters
    ----------
    login: the machine that has Slurm's programs and shares its ``work_dir`` with the nodes.
    nodes: those that are known, each with what is known of it.
    sought: where a look at a node's software looks.
    clock: seconds since the epoch. monotonic: what waiting goes by.
    """

    def __init__(
        self,
        login: Transport,
        nodes: Sequence[tuple[Host, HostSnapshot]],
        options: JobOptions,
        *,
        sought: Sequence[Sought] = (),
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = loop_time,
    ) -> None:
        self._commands = SlurmCommands(login)
        self._submission = Submission(login, self._commands, options)
        self._nodes = JobNodes(login, self._commands, nodes, sought, clock)
        self._monotonic = monotonic
        self._jobs: dict[str, RunJob] = {}
        self._ends: asyncio.Queue[AllocationEnd] = asyncio.Queue()
        self._look_again = asyncio.Event()
        self._looking = asyncio.Lock()
        self._silent = ""  # what came instead of an answer

    # Runs ----------------------------------------------------------------------------------------

    def schedule(self, wanted: Sequence[Wanted]) -> Schedule:
        """Slurm's queue is the order of things; only what it would not take at once waits here."""
        now = self._monotonic()
        due = [want for want in wanted if want.not_before <= now]
        queued = [job for job in self._jobs.values() if not job.given and not job.over]
        room = max(0, MOST_QUEUED - len(queued))
        waiting = {job.want.run_id: self._waiting(job) for job in queued}
        waiting |= {want.run_id: Waiting(WaitKind.BEHIND) for want in due[room:]}
        starts: dict[str, tuple[str, ...]] = {want.run_id: () for want in due[:room]}
        later = (want.not_before for want in wanted if want.not_before > now)
        return Schedule(starts, waiting, min(later, default=None))

    def _waiting(self, job: RunJob) -> Waiting:
        if self._silent or job.seen is None:
            return Waiting(WaitKind.QUEUED, detail=self._silent or job.held_up)
        return Waiting(WaitKind.QUEUED, detail=job.seen.reason, expected_at=job.seen.start_time)

    @property
    def queues(self) -> bool:
        return True

    def request(self, want: Wanted, hosts: Sequence[str]) -> Ticket:
        self._jobs[want.run_id] = RunJob(want)
        return Ticket(want, queued=True)

    async def submit(self, ticket: Ticket) -> Ticket:
        job = self._jobs[ticket.want.run_id]
        try:
            job.job_id = await self._submitted(job)
        except RefusedError as error:
            self._forget(ticket.want.run_id)
            end = AllocationEnd(ticket.want.run_id, EndKind.REFUSED, detail=error.words)
            raise AllocationEndedError(end) from error
        self._look_again.set()
        return replace(ticket, job_id=job.job_id)

    async def _submitted(self, job: RunJob) -> str:
        """Where the answer was lost, it is made again only when Slurm says that it is not there."""
        delay_s, lost = LOOK_EVERY_S, False
        while True:
            try:
                if lost and (found := job.of(await anext(self._answers()))) is not None:
                    return found.job_id
                gpus = job.want.gpu_only or await self._nodes.have_gpus()
                return await self._submission.submit(request_for(job.want, gpus=gpus))
            except RefusedError as error:
                if _NO_ROOM not in error.words:
                    raise
                lost, job.held_up = False, error.words
            except NO_ANSWER as error:
                debug.log().warning("whether run %s was submitted: %s", job.want.run_id, error)
                lost, job.held_up = True, error.what
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, LONGEST_LOOK_S)

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
        jobs = await anext(self._answers())
        job.seen = job.of(jobs)
        job.gone = job.seen is None
        if before.hosts:
            return await self._taken_up(job, before)
        if job.seen is None:
            self._forget(run_id)
            return None
        job.job_id = job.seen.job_id
        return Ticket(before.want, job_id=job.job_id, queued=True)

    async def _taken_up(self, job: RunJob, before: Journaled) -> Ticket | Allocation:
        """A run that had its nodes: where its job is over, what it left tells how it ended."""
        run_id = before.want.run_id
        if job.seen is not None and job.seen.state.waits:  # again, while nobody looked
            return Ticket(before.want, job_id=job.job_id, queued=True)
        if job.over and not await self._nodes.all_ended(run_id, before.hosts):
            self._forget(run_id)
            raise AllocationEndedError(job.end or AllocationEnd(run_id, EndKind.VANISHED))
        job.given, job.restarts = True, job.seen.restarts if job.seen else 0
        hosts = await self._nodes.before(before, job.job_id, self._ended(job))
        return Allocation(run_id, hosts, job_id=job.job_id)

    async def withdraw(self, ticket: Ticket) -> None:
        job = self._jobs.get(ticket.want.run_id)
        if job is None:
            return
        async for jobs in self._answers():
            job.seen = job.of(jobs)
            if job.seen is None or job.seen.state.ended:
                break
            with contextlib.suppress(*NO_ANSWER):
                await self._commands.run("scancel", job.seen.job_id)
        self._forget(ticket.want.run_id)

    def release(self, run_id: str, settle_s: float) -> None:
        job = self._jobs.get(run_id)
        if job is not None and job.requeued:
            self._forget(run_id)  # the job is another attempt's now
        elif job is not None and job.released_at is None:
            job.released_at = self._monotonic()

    def _forget(self, run_id: str) -> None:
        self._jobs.pop(run_id, None)

    async def ended(self, run_id: str) -> AllocationEnd | None:
        job = self._jobs.get(run_id)
        if job is None:
            return None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXPLAIN_WITHIN_S):
                await self._look()
                while job.seen is not None and job.seen.state is JobState.COMPLETING:
                    await asyncio.sleep(1.0)
                    await self._look()
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

    async def tend(self, changed: Callable[[], None], back: Callable[[str], None]) -> None:
        delay_s = LOOK_EVERY_S
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self._look_again.wait()
                    self._look_again.clear()
                    await asyncio.sleep(FIRST_LOOK_S)
            before = self._silent
            if await self._look():
                changed()
            delay_s = min(2 * delay_s, LONGEST_LOOK_S) if self._silent else LOOK_EVERY_S
            if self._silent != before:
                changed()
            await self._settle()

    async def _look(self) -> bool:
        """Ask for all jobs at once; whether something has changed."""
        async with self._looking:
            jobs = [job for job in self._jobs.values() if not job.over]
            if not jobs:
                return False
            try:
                known = await self._known()
            except NO_ANSWER as error:
                self._silent = error.what
                debug.log().info("squeue: %s", error)
                return False
            self._silent = ""
            news = [await self._saw(job, job.of(known)) for job in jobs]
            return any(news)

    async def _with_who(self, job: Job) -> Job:
        """Who cancelled it, where there is an accounting."""
        with contextlib.suppress(*NO_ANSWER):
            told = (await accounted_jobs(self._commands, [job.job_id])).get(job.job_id)
            return replace(job, cancelled_by=told.cancelled_by if told else "")
        return job

    async def _known(self) -> Mapping[str, Job]:
        ids = {job.job_id for job in self._jobs.values()}
        return await current_jobs(self._commands, prefix=NAME_PREFIX, ids=ids)

    async def _answers(self) -> AsyncIterator[Mapping[str, Job]]:
        """What Slurm knows of our jobs, as often as it is asked for; waits until it answers."""
        delay_s = LOOK_EVERY_S
        while True:
            try:
                known = await self._known()
            except NO_ANSWER as error:
                self._silent = error.what
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, LONGEST_LOOK_S)
            else:
                self._silent = ""
                yield known
                await asyncio.sleep(delay_s)

    async def _saw(self, job: RunJob, seen: Job | None) -> bool:
        """Whether that is news."""
        if seen is None and not job.job_id:
            return False  # sbatch has not answered yet
        if seen == job.seen and seen is not None:
            return False
        if seen is not None and seen.state is JobState.NODE_FAIL:
            job.failed_node = await self._nodes.down(seen.nodes)
        elif seen is not None and seen.state is JobState.CANCELLED:
            seen = await self._with_who(seen)
        job.seen, job.gone = seen, seen is None
        job.changed.set()
        if job.over:
            job.over_at = self._monotonic()
        self._tell(job, job.end)
        return True

    def _tell(self, job: RunJob, end: AllocationEnd | None) -> None:
        if end is not None and job.given and not job.told and job.released_at is None:
            job.told = True
            self._ends.put_nowait(end)

    async def _settle(self) -> None:
        """A job ends by itself when its run is over; one whose run never began does not. And a run
        whose job is over has ended by now, or nobody will ever tell how."""
        before = self._monotonic() - ENDS_BY_ITSELF_S
        for run_id, job in list(self._jobs.items()):
            if job.released_at is None:
                if job.over_at is not None and job.over_at < before:
                    self._tell(job, AllocationEnd(run_id, EndKind.VANISHED))
            elif job.over or not job.job_id:
                self._forget(run_id)
            elif job.released_at < before:
                with contextlib.suppress(*NO_ANSWER):
                    await self._commands.run("scancel", job.job_id)
