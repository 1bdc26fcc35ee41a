"""The job that holds nodes for all runs of a campaign: asked for when runs wait and there is none,
entered, and given back when none is left to run.

It is found by its name, which has the campaign's id, and is journaled before it is handed in.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from backends import debug
from backends.clocks import loop_time
from backends.engines.direct import DirectEngine
from backends.engines.engine import (
    AllocatedHost,
    AllocationEnd,
    AllocationEndedError,
    EndKind,
    Held,
    Journal,
    Wanted,
)
from backends.engines.slurm.batch_script import (
    JobRequest,
    job_name,
    request_for_all,
    steps_directory,
    time_s,
)
from backends.engines.slurm.job_nodes import JobNodes
from backends.engines.slurm.job_steps import JobSteps
from backends.engines.slurm.job_watch import JobWatch
from backends.engines.slurm.jobs import Job, JobState
from backends.engines.slurm.node_share import partition_of
from backends.engines.slurm.run_job import RunJob
from backends.inventory.job_options import JobOptions
from backends.transports.transport import HostUnreachableError
from profiles.errors import DlperfError

IDLE_S = 30.0
"""Nodes that no run has and none waits for go back after so long: all that is left is paused."""
GIVE_BACK_WITHIN_S = 30.0
ENDS_WITHIN_S = 5.0
MOST_VAIN = 3
"""Jobs in a row that end before a run began in one: then what waits fails, with their reason."""
VAIN_DELAY_S = 10.0

Inside = Callable[[Sequence[AllocatedHost], int], DirectEngine]
"""Makes what gives nodes to runs, each of which has so many devices."""


@dataclass(frozen=True, slots=True)
class NodesOfJob:
    """The nodes of a job that has them, by name, in Slurm's order.

    ``inside``: gives them to runs; ``held``: what was asked for; ``until``: seconds since the
    epoch.
    """

    job: RunJob
    hosts: Mapping[str, AllocatedHost]
    inside: DirectEngine
    held: Held
    until: float

    def holds(self, want: Wanted, now: float) -> bool:
        """Whether they are enough for the run, and what is left of their time; of a job that is too
        short for it in any case, half of it."""
        if want.nodes > self.held.nodes or want.gpus_per_node > self.held.gpus_per_node:
            return False
        known_s = want.expected_s if want.expected_s < math.inf else 0.0
        takes_s = min(known_s, self.held.limit_s / 2)
        return self.until - now >= takes_s


class CampaignJob:
    """Parameters
    ----------
    jobs: where ``watch`` finds the job, while there is one.
    campaign: the id that its runs' begin with.
    held: what the journal says was asked for and may still be held; None: nothing.
    in_use: whether a run is in the job.
    is_over: told of a job that is.
    clock: seconds since the epoch.
    """

    def __init__(
        self,
        watch: JobWatch,
        jobs: dict[str, RunJob],
        known: JobNodes,
        steps: JobSteps,
        options: JobOptions,
        *,
        campaign: str,
        held: Held | None,
        in_use: Callable[[], bool],
        is_over: Callable[[RunJob], None],
        inside: Inside,
        clock: Callable[[], float],
    ) -> None:
        self._watch = watch
        self._jobs = jobs
        self._known = known
        self._steps = steps
        self._options = options
        self._campaign = campaign
        self._held = held
        self._in_use = in_use
        self._tell = is_over
        self._inside = inside
        self._clock = clock
        self.nodes: NodesOfJob | None = None
        self.refused: AllocationEnd | None = None
        """Why nothing is asked for any more, until nothing is wanted any more."""
        self.looked_for = asyncio.Event()
        """What an earlier console has asked for is known."""
        self._wanted: tuple[Wanted, ...] = ()
        self._vain = 0
        self._avoid: set[str] = set()  # where a job could not begin
        self._ask_at = 0.0
        self._used_at = loop_time()

    @property
    def job(self) -> RunJob | None:
        """That was asked for."""
        return self._jobs.get(self._campaign)

    def want(self, wanted: Sequence[Wanted]) -> None:
        """These runs wait for nodes."""
        if wanted and not self._wanted:
            self._watch.soon()
        if not wanted:
            self.refused = None
        self._wanted = tuple(wanted)

    def used(self) -> None:
        """A run has just ended there."""
        self._used_at = loop_time()
        self._watch.soon()

    async def see_to_it(self, journal: Journal) -> bool:
        """Do what is to be done next; whether a run may go now that could not, or not any more."""
        if not self.looked_for.is_set():
            await self._find()
            return True
        job = self.job
        if job is None:
            asks = self._wanted and not self.refused and loop_time() >= self._ask_at
            return await self._ask(journal) if asks else False
        if job.over:
            await self._is_over(job, journal)
        elif self.nodes is None and job.seen is not None and job.seen.state is JobState.RUNNING:
            await self._enter(job, job.seen)
        elif self.nodes is not None and self._useless(self.nodes):
            await self._end(job, journal)
        else:
            return False
        return True

    def _useless(self, nodes: NodesOfJob) -> bool:
        """Nothing runs there, and nothing that waits fits, or nothing has waited for a while."""
        if self._in_use():
            return False
        if self._wanted:
            now = self._clock()
            return not any(nodes.holds(want, now) for want in self._wanted)
        return loop_time() - self._used_at > IDLE_S

    # From asking to the nodes --------------------------------------------------------------------

    async def _find(self) -> None:
        if self._held is not None:
            job = self._new_job()
            job.seen = job.of(await anext(self._watch.answers()))
            if job.seen is None:  # it never was, or ended so long ago that it is forgotten
                self._held = None
            else:
                job.job_id = job.seen.job_id
                self._jobs[self._campaign] = job
                if job.seen.state is JobState.RUNNING:
                    await self._enter(job, job.seen)
        self.looked_for.set()
        self._watch.soon()

    def _new_job(self) -> RunJob:
        return RunJob(Wanted(self._campaign, 0, 0), of_all=True)

    async def _ask(self, journal: Journal) -> bool:
        request = await self._request()
        self._held = Held(request.nodes, request.gpus_per_node, time_s(request, self._options))
        await journal(self._held)
        job = self._jobs[self._campaign] = self._new_job()

        async def asked() -> JobRequest:
            return request

        try:
            await self._watch.submit(job, asked)
        except AllocationEndedError as error:
            job.gone = True
            await self._is_over(job, journal)
            self.refused = replace(error.end, of_all=True)
        return True

    async def _request(self) -> JobRequest:
        share = await self._known.share(partition_of(self._wanted[0], self._options))
        request = request_for_all(self._campaign, self._wanted, self._options, share)
        return replace(request, avoid=tuple(sorted({*request.avoid, *self._avoid})))

    async def _enter(self, job: RunJob, seen: Job) -> None:
        held = self._held or Held()
        directory = steps_directory(job.job_id).removeprefix("jobs/")
        try:
            if not await self._known.there(seen, [directory], lambda: job.over):
                return
            hosts = await self._known.allocated(seen, held.gpus_per_node, lambda: job.over)
        except (HostUnreachableError, TimeoutError) as error:
            debug.log().info("job %s: %s", job.job_id, error)
            return
        except DlperfError as error:
            await self._watch.look()
            if not job.over:
                self.refused = AllocationEnd("", EndKind.REFUSED, detail=str(error), of_all=True)
            return
        by_name = {host.name: host for host in hosts}
        until = (seen.start_time or self._clock()) + held.limit_s
        inside = self._inside(hosts, held.gpus_per_node)
        self.nodes = NodesOfJob(job, by_name, inside, held, until)
        self._used_at = loop_time()
        job.given = True
        self._vain = 0

    # Its end -------------------------------------------------------------------------------------

    async def _is_over(self, job: RunJob, journal: Journal) -> None:
        """Whatever ran in it is told; what is left of it goes, and another can be asked for."""
        self._tell(job)
        if self.nodes is None and job.job_id:
            await self._in_vain(job)
        self.nodes = self._held = None
        self._jobs.clear()
        if job.job_id:
            await self._steps.close(job.job_id)
        await journal(None)
        self._watch.soon()

    async def _in_vain(self, job: RunJob) -> None:
        self._vain += 1
        if job.failed_node:
            self._avoid.add(job.failed_node)
        self._ask_at = loop_time() + self._vain * VAIN_DELAY_S
        if self._vain >= MOST_VAIN:
            said = await self._known.said(job.job_id)
            self.refused = replace(end_of(job, ""), detail=said)

    async def _end(self, job: RunJob, journal: Journal) -> None:
        """It ends by itself when the directory of its steps is gone; else Slurm is told."""
        if job.job_id:
            await self._steps.close(job.job_id)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ENDS_WITHIN_S):
                while self.nodes is not None and not job.over:
                    await asyncio.sleep(0.5)
                    await self._watch.look()
        if not job.over:
            await self._watch.withdraw(job)
            job.gone = True
        await self._is_over(job, journal)

    async def give_back(self, journal: Journal) -> str:
        """See :meth:`backends.engines.engine.Engine.give_back`."""
        try:
            async with asyncio.timeout(GIVE_BACK_WITHIN_S):
                if not self.looked_for.is_set():
                    await self._find()
                if (job := self.job) is not None:
                    await self._end(job, journal)
        except (TimeoutError, DlperfError) as error:
            why = error.what if isinstance(error, DlperfError) else self._watch.silent
            return f"job {job_name(self._campaign)} may still hold nodes: {why or 'no answer'}"
        return ""


def end_of(job: RunJob, run_id: str) -> AllocationEnd:
    """Of a run that was in the campaign's job when that ended."""
    end = job.end or AllocationEnd(run_id, EndKind.VANISHED)
    return replace(end, run_id=run_id, of_all=True)
