"""One job of Slurm's holds the nodes for all runs of a campaign; our own scheduler says which run
goes to which of them, and each is a step of the job that lives as long as it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from backends.clocks import loop_time
from backends.engines.direct import DirectEngine
from backends.engines.engine import (
    AllocatedHost,
    Allocation,
    AllocationEnd,
    AllocationEndedError,
    EndKind,
    Held,
    Journal,
    Journaled,
    Schedule,
    Ticket,
    Trouble,
    Waiting,
    WaitKind,
    Wanted,
)
from backends.engines.slurm.batch_script import step_post
from backends.engines.slurm.campaign_job import CampaignJob, NodesOfJob, end_of
from backends.engines.slurm.commands import SlurmCommands
from backends.engines.slurm.job_nodes import JobNodes
from backends.engines.slurm.job_steps import JobSteps
from backends.engines.slurm.job_watch import NO_ANSWER, JobWatch
from backends.engines.slurm.jobs import JobState, accounted_jobs
from backends.engines.slurm.run_job import RunJob
from backends.engines.slurm.step_transport import StepTransport
from backends.engines.slurm.submission import Submission
from backends.hosts.host_facts import HostSnapshot, Sought
from backends.hosts.placement import Placement
from backends.inventory.host_entry import Host
from backends.inventory.job_options import JobOptions
from backends.transports.transport import HostUnreachableError, Problem, Transport


class CampaignEngine:
    """The job of one campaign, and the runs in it.

    Parameters
    ----------
    login: the machine that has Slurm's programs and shares its ``work_dir`` with the nodes.
    known: nodes, each with what is known of it.
    campaign, held: see :class:`~backends.engines.slurm.campaign_job.CampaignJob`.
    sought: where a look at a node's software looks.
    clock: seconds since the epoch.
    """

    def __init__(
        self,
        login: Transport,
        known: Sequence[tuple[Host, HostSnapshot]],
        options: JobOptions,
        *,
        campaign: str,
        held: Held | None,
        placement: Placement = Placement.FIRST,
        sought: Sequence[Sought] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._login = login
        self._campaign = campaign
        self._placement = placement
        self._sought = tuple(sought)
        self._clock = clock
        self._commands = SlurmCommands(login)
        self._known = JobNodes(login, self._commands, known, sought, clock)
        self._steps = JobSteps(login)
        self._runs: dict[str, RunJob] = {}  # the job that a run is in, by its id
        self._ends: asyncio.Queue[AllocationEnd] = asyncio.Queue()
        jobs: dict[str, RunJob] = {}
        submission = Submission(login, self._commands, lambda _cluster: options)
        self._watch = JobWatch(self._commands, submission, self._known, jobs, lambda job: None)
        self._job = CampaignJob(
            self._watch,
            jobs,
            self._known,
            self._steps,
            options,
            campaign=campaign,
            held=held,
            in_use=lambda: bool(self._runs),
            is_over=self._job_is_over,
            inside=self._inside,
            clock=clock,
        )

    def _inside(self, hosts: Sequence[AllocatedHost], devices_each: int) -> DirectEngine:
        return DirectEngine(
            [(host.host, replace(host.snapshot, slots=devices_each)) for host in hosts],
            _Ways({host.name: host.transport for host in hosts}),
            force=True,  # who else is on them is Slurm's to say
            placement=self._placement,
            sought=self._sought,
            clock=self._clock,
        )

    # Runs ----------------------------------------------------------------------------------------

    def schedule(self, wanted: Sequence[Wanted], silent_s: Mapping[str, float]) -> Schedule:
        self._job.want(wanted)
        nodes, now = self._job.nodes, loop_time()
        if self._job.refused is not None:
            return Schedule({want.run_id: () for want in wanted})
        if nodes is None or nodes.job.over:
            due = [want for want in wanted if want.not_before <= now]
            later = (want.not_before for want in wanted if want.not_before > now)
            waiting = {want.run_id: self._waiting() for want in due}
            return Schedule(waiting=waiting, next_at=min(later, default=None))
        fitting = [want for want in wanted if nodes.holds(want, self._clock())]
        found = nodes.inside.schedule(fitting, silent_s)
        later_ones = Waiting(WaitKind.QUEUED, detail="for the campaign's next job")
        rest = {want.run_id: later_ones for want in wanted if want not in fitting}
        return replace(found, waiting={**found.waiting, **rest})

    def _waiting(self) -> Waiting:
        job = self._job.job
        if job is None or job.seen is None or self._watch.silent:
            held_up = "" if job is None else job.held_up
            return Waiting(WaitKind.QUEUED, detail=self._watch.silent or held_up)
        if job.seen.state is JobState.RUNNING:
            return Waiting(WaitKind.QUEUED, detail="the job's nodes are looked at")
        return Waiting(WaitKind.QUEUED, detail=job.seen.reason, expected_at=job.seen.start_time)

    @property
    def queues(self) -> bool:
        return False

    def request(self, want: Wanted, hosts: Sequence[str]) -> Ticket:
        nodes = self._job.nodes
        if nodes is None or not hosts:
            return Ticket(want)
        self._runs[want.run_id] = nodes.job
        in_order = [name for name in nodes.hosts if name in hosts]  # as Slurm numbers its ranks
        return nodes.inside.request(want, in_order)

    async def submit(self, ticket: Ticket) -> Ticket:
        return ticket

    async def given(self, ticket: Ticket) -> Allocation:
        run_id, nodes = ticket.want.run_id, self._job.nodes
        if self._job.refused is not None:
            raise AllocationEndedError(replace(self._job.refused, run_id=run_id))
        if nodes is None or nodes.job.seen is None:
            raise self._gone(ticket)
        job, seen = nodes.job, nodes.job.seen
        others = [name for name in nodes.hosts if name not in ticket.hosts]
        await self._steps.begin(job.job_id, run_id, ticket.hosts, others)
        posts = [f"{step_post(job.job_id, run_id)}.{name}" for name in ticket.hosts]
        if not await self._known.there(seen, posts, lambda: job.over):
            raise self._gone(ticket)
        given = await nodes.inside.given(ticket)
        hosts = tuple(
            replace(host, devices=_visible(host.devices, nodes.hosts[host.name].devices))
            for host in given.hosts
        )
        return self._in_steps(replace(given, hosts=hosts), nodes)

    def _gone(self, ticket: Ticket) -> HostUnreachableError:
        """Nothing of it has begun: it waits for the next job."""
        where = next(iter(ticket.hosts), self._login.host.name)
        return HostUnreachableError(where, Problem.NO_STEP, "the campaign's job has ended")

    def _in_steps(self, given: Allocation, nodes: NodesOfJob) -> Allocation:
        """Each host by the steps of the job, and as Slurm calls it."""
        job = nodes.job
        post = step_post(job.job_id, given.run_id)
        hosts = []
        for site in given.hosts:
            known = nodes.hosts[site.name]
            steps = StepTransport(known.host, job.job_id, self._login, lambda: job.over, post)
            taken = replace(known, devices=site.devices, cpus=site.cpus, nics=site.nics)
            hosts.append(replace(taken, transport=steps))
        return replace(given, hosts=tuple(hosts), job_id=job.job_id)

    async def adopt(self, before: Journaled) -> Ticket | Allocation | None:
        await self._job.looked_for.wait()
        run_id, nodes = before.want.run_id, self._job.nodes
        if not before.hosts:
            return None
        ours = nodes is not None and before.job_id in ("", nodes.job.job_id)
        if nodes is None or not ours or not set(before.hosts) <= set(nodes.hosts):
            return await self._of_before(before)
        if not await self._steps.wait(nodes.job.job_id, run_id, before.hosts):
            raise AllocationEndedError(AllocationEnd(run_id, EndKind.VANISHED))
        self._runs[run_id] = nodes.job
        return self._in_steps(await nodes.inside.adopt(before), nodes)

    async def _of_before(self, before: Journaled) -> Allocation:
        """A run whose job is over: what it left tells how it ended."""
        run_id = before.want.run_id
        if await self._known.all_ended(run_id, before.hosts):
            hosts = await self._known.before(before, before.job_id, lambda: True)
            return Allocation(run_id, hosts, job_id=before.job_id)
        of_all = replace(before.want, run_id=self._campaign)
        job = RunJob(of_all, before.job_id, of_all=True)
        known = dict(await anext(self._watch.answers()))
        with contextlib.suppress(*NO_ANSWER):
            known = {**await accounted_jobs(self._commands, [before.job_id]), **known}
        job.seen = job.of(known)
        if job.seen is not None and job.seen.state is JobState.NODE_FAIL:
            job.failed_node = await self._known.down(job.seen.nodes)
        raise AllocationEndedError(end_of(job, run_id))

    async def withdraw(self, ticket: Ticket) -> None:
        run_id = ticket.want.run_id
        if (job := self._runs.get(run_id)) is not None and not job.over:
            await self._steps.withdraw(job.job_id, run_id)
        self.release(run_id, 0.0)

    def release(self, run_id: str, settle_s: float) -> None:
        if self._runs.pop(run_id, None) is not None:
            self._job.used()
        if self._job.nodes is not None:
            self._job.nodes.inside.release(run_id, settle_s)

    async def ended(self, run_id: str) -> AllocationEnd | None:
        if (job := self._runs.get(run_id)) is None:
            return None
        await self._watch.settled(job)
        return end_of(job, run_id) if job.over else None

    async def ends(self) -> AsyncIterator[AllocationEnd]:
        while True:
            yield await self._ends.get()

    def _job_is_over(self, job: RunJob) -> None:
        for run_id, its in self._runs.items():
            if its is job:
                self._ends.put_nowait(end_of(job, run_id))

    # Nodes ---------------------------------------------------------------------------------------

    def trouble(self, host: str, kind: Trouble, detail: str) -> None:
        if self._job.nodes is not None:
            self._job.nodes.inside.trouble(host, kind, detail)

    def transport(self, host: str) -> Transport:
        """The login node, which has the files of what ran there."""
        return self._known.files_of(host)

    async def tend(
        self, changed: Callable[[], None], back: Callable[[str], None], journal: Journal
    ) -> None:
        async with asyncio.TaskGroup() as tasks:
            tended: NodesOfJob | None = None
            tending: asyncio.Task[None] | None = None

            async def looked(news: bool) -> None:
                nonlocal tended, tending
                if await self._job.see_to_it(journal) or news:
                    changed()
                if self._job.nodes is tended:
                    return
                if tending is not None:
                    tending.cancel()
                tended, tending = self._job.nodes, None
                if tended is not None:
                    tending = tasks.create_task(tended.inside.tend(changed, back, journal))

            self._watch.soon()
            await self._watch.keep(looked)

    async def give_back(self, journal: Journal) -> str:
        return await self._job.give_back(journal)


@dataclass(frozen=True, slots=True)
class _Ways:
    """To the nodes of a job, by name; :class:`~backends.engines.direct.Pool`."""

    by_name: Mapping[str, Transport]

    def get(self, host: Host) -> Transport:
        return self.by_name[host.name]


def _visible(chosen: Sequence[int], visible: Sequence[int]) -> tuple[int, ...]:
    """Of the devices that the job has of a node, as many as were chosen, by their indices."""
    if max(chosen, default=0) < len(visible):
        return tuple(visible[index] for index in chosen)
    return tuple(visible[: len(chosen)])
