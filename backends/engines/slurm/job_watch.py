"""What becomes of a campaign's jobs: handed in once each, looked at all together, withdrawn.

All jobs are asked for at once, every few seconds, and less often while the controller does not
answer. What runs in a job needs neither it nor us.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace

from backends import debug
from backends.engines.engine import AllocationEnd, AllocationEndedError, EndKind
from backends.engines.slurm.batch_script import NAME_PREFIX, JobRequest
from backends.engines.slurm.commands import RefusedError, SlurmCommands, SlurmError
from backends.engines.slurm.job_nodes import JobNodes
from backends.engines.slurm.jobs import Job, JobState, accounted_jobs, current_jobs
from backends.engines.slurm.run_job import RunJob
from backends.engines.slurm.submission import Submission
from backends.transports.transport import HostUnreachableError

LOOK_EVERY_S = 3.0
LONGEST_LOOK_S = 30.0
FIRST_LOOK_S = 0.5
EXPLAIN_WITHIN_S = 45.0
_NO_ROOM = "MaxSubmit"
"""In Slurm's words where the user has too many jobs in the queue: later there is room."""
_BEFORE_IT_BEGAN = (JobState.CANCELLED, JobState.FAILED, JobState.BOOT_FAIL)
"""How Slurm calls it where a prolog or a launch failed, as well."""
NO_ANSWER = (SlurmError, HostUnreachableError)


class JobWatch:
    """Parameters
    ----------
    jobs: by what is theirs to do; whoever makes and forgets them is the caller.
    news: called with each whose state is another one than before.
    """

    def __init__(
        self,
        commands: SlurmCommands,
        submission: Submission,
        nodes: JobNodes,
        jobs: Mapping[str, RunJob],
        news: Callable[[RunJob], None],
    ) -> None:
        self._commands = commands
        self._submission = submission
        self._nodes = nodes
        self._jobs = jobs
        self._news = news
        self._looking = asyncio.Lock()
        self._look_again = asyncio.Event()
        self._begun: set[str] = set()  # jobs whose first line was seen
        self.silent = ""
        """What came instead of an answer, when Slurm was last asked."""

    # Handing in and taking back ------------------------------------------------------------------

    async def submit(self, job: RunJob, asked: Callable[[], Awaitable[JobRequest]]) -> None:
        """Hand it in, once; where the answer was lost, it is made again only when Slurm says that
        it is not there.

        Raises
        ------
        AllocationEndedError: Slurm refuses it.
        """
        try:
            job.job_id = await self._submitted(job, asked)
        except RefusedError as error:
            end = AllocationEnd(job.want.run_id, EndKind.REFUSED, detail=error.words)
            raise AllocationEndedError(end) from error
        self._look_again.set()

    async def _submitted(self, job: RunJob, asked: Callable[[], Awaitable[JobRequest]]) -> str:
        delay_s, lost = LOOK_EVERY_S, False
        while True:
            try:
                if lost and (found := job.of(await anext(self.answers()))) is not None:
                    return found.job_id
                return await self._submission.submit(await asked())
            except RefusedError as error:
                if _NO_ROOM not in error.words:
                    raise
                lost, job.held_up = False, error.words
            except NO_ANSWER as error:
                debug.log().warning("whether %s was submitted: %s", job.want.run_id, error)
                lost, job.held_up = True, error.what
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, LONGEST_LOOK_S)

    async def withdraw(self, job: RunJob) -> None:
        """Once it returns Slurm has ended the job, or does not know it."""
        async for jobs in self.answers():
            job.seen = job.of(jobs)
            if job.seen is None or job.seen.state.ended:
                return
            await self.end(job.seen.job_id)

    async def end(self, job_id: str) -> None:
        """Tell Slurm to end it; whether it heard that is not known."""
        with contextlib.suppress(*NO_ANSWER):
            await self._commands.run("scancel", job_id)

    # Looking -------------------------------------------------------------------------------------

    async def keep(self, looked: Callable[[bool], Awaitable[None]]) -> None:
        """Look again and again, until cancelled; ``looked``: each time, whether something is
        another than before."""
        delay_s = LOOK_EVERY_S
        while True:
            await self._until_due(delay_s)
            before = self.silent
            changed = await self.look()
            delay_s = min(2 * delay_s, LONGEST_LOOK_S) if self.silent else LOOK_EVERY_S
            await looked(changed or self.silent != before)

    async def _until_due(self, delay_s: float) -> None:
        """Until the next look: after ``delay_s``, in a moment where somebody asks for one, or as
        soon as a job that waits begins: what it writes tells that, and not the controller."""
        tasks = (
            asyncio.create_task(self._asked_for()),
            asyncio.create_task(self._begins(delay_s)),
        )
        try:
            await asyncio.wait(tasks, timeout=delay_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _asked_for(self) -> None:
        await self._look_again.wait()
        self._look_again.clear()
        await asyncio.sleep(FIRST_LOOK_S)

    async def _begins(self, within_s: float) -> None:
        waiting = {job.job_id for job in self._jobs.values() if job.waits} - self._begun
        if waiting:
            with contextlib.suppress(HostUnreachableError, TimeoutError):
                begun = await self._nodes.begun(sorted(waiting), within_s)
                self._begun |= begun
                if begun:
                    return
        await asyncio.Event().wait()  # nothing tells: the next look is when it is due

    def soon(self) -> None:
        """Look in a moment."""
        self._look_again.set()

    async def look(self) -> bool:
        """Ask for all jobs at once; whether something has changed."""
        async with self._looking:
            jobs = [job for job in self._jobs.values() if not job.over]
            if not jobs:
                return False
            try:
                known = await self.known()
            except NO_ANSWER as error:
                self.silent = error.what
                debug.log().info("squeue: %s", error)
                return False
            self.silent = ""
            news = [await self._saw(job, job.of(known)) for job in jobs]
            return any(news)

    async def settled(self, job: RunJob) -> None:
        """Look until it is not just about to be over, for a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXPLAIN_WITHIN_S):
                await self.look()
                while job.seen is not None and job.seen.state is JobState.COMPLETING:
                    await asyncio.sleep(1.0)
                    await self.look()

    async def known(self) -> Mapping[str, Job]:
        """What Slurm says; of what it has forgotten (``MinJobAge``), what the accounting does.

        Raises
        ------
        SlurmError, HostUnreachableError.
        """
        ids = {job.job_id for job in self._jobs.values() if job.job_id and not job.gone}
        found = await current_jobs(self._commands, prefix=NAME_PREFIX, ids=ids)
        if forgotten := sorted(ids - set(found)):
            with contextlib.suppress(*NO_ANSWER):
                found |= await accounted_jobs(self._commands, forgotten)
        return found

    async def answers(self) -> AsyncIterator[Mapping[str, Job]]:
        """What Slurm knows of our jobs, as often as it is asked for; waits until it answers."""
        delay_s = LOOK_EVERY_S
        while True:
            try:
                known = await self.known()
            except NO_ANSWER as error:
                self.silent = error.what
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, LONGEST_LOOK_S)
            else:
                self.silent = ""
                yield known
                await asyncio.sleep(delay_s)

    async def _saw(self, job: RunJob, seen: Job | None) -> bool:
        """Whether that is news."""
        if seen is None and not job.job_id:
            return False  # sbatch has not answered yet
        if seen == job.seen and seen is not None:
            return False
        if seen is not None:
            seen = await self.explained(job, seen)
        job.seen, job.gone = seen, seen is None
        job.changed.set()
        self._news(job)
        return True

    async def explained(self, job: RunJob, seen: Job) -> Job:
        """With what squeue alone does not tell of its end: which node's doing it was, and who
        cancelled it."""
        if seen.state is JobState.NODE_FAIL:
            job.failed_node = await self._nodes.down(seen.nodes)
        elif seen.state in _BEFORE_IT_BEGAN and seen.nodes and not job.given:
            job.failed_node, job.fault = await self._nodes.at_fault(seen.nodes)
        elif not seen.launched and not seen.state.ended:  # held, until an operator lets it go
            await self.end(seen.job_id)
        if seen.state is JobState.CANCELLED and job.fault is None:
            return await self._with_who(seen)
        return seen

    async def _with_who(self, job: Job) -> Job:
        """Who cancelled it, where there is an accounting."""
        with contextlib.suppress(*NO_ANSWER):
            told = (await accounted_jobs(self._commands, [job.job_id])).get(job.job_id)
            return replace(job, cancelled_by=told.cancelled_by if told else "")
        return job
