"""A second, small engine: a queue that gives hosts nobody knew, late, and takes them back.

:class:`Queue` is what outlives a console; :class:`QueueEngine` is one console's view of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backends.engines.engine import (
    AllocatedHost,
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
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.transports.local import LocalTransport
from backends.transports.transport import Transport

DEVICES = (4, 5)


@dataclass
class Job:
    """``ended``: why, once it has; ``requeues``: how often the queue put it back by itself."""

    job_id: str
    run_id: str
    nodes: int
    given: asyncio.Event = field(default_factory=asyncio.Event)
    ended: EndKind | None = None
    withdrawn: bool = False


class Queue:
    """Jobs by id. Whoever tests it says when a job gets its hosts, loses them, or dies."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.jobs: dict[str, Job] = {}
        self.submissions: list[str] = []
        self.lose_answers = False
        self._listeners: list[asyncio.Queue[AllocationEnd]] = []

    def submit(self, run_id: str, nodes: int) -> Job:
        self.submissions.append(run_id)
        job = Job(str(100 + len(self.jobs)), run_id, nodes)
        self.jobs[job.job_id] = job
        return job

    def of(self, run_id: str) -> Job:
        return next(job for job in self.jobs.values() if job.run_id == run_id)

    def give(self, run_id: str) -> None:
        self.of(run_id).given.set()

    def die(self, run_id: str, kind: EndKind) -> None:
        """While it still waits."""
        job = self.of(run_id)
        job.ended = kind
        job.given.set()

    async def take_back(
        self, run_id: str, kind: EndKind, next_id: str = "", *, tell: bool = True
    ) -> None:
        """Tell, and end what runs there, as a controller does; requeued: it waits again. Not told,
        it knows why when it is asked."""
        job = self.of(run_id)
        if kind is EndKind.REQUEUED:
            job.run_id = next_id
            job.given = asyncio.Event()
        else:
            job.ended = kind
        for listener in self._listeners if tell else ():
            listener.put_nowait(AllocationEnd(run_id, kind, job_id=job.job_id))
        for host in self.hosts(job):
            await RemoteHost(self.transport(host.name)).cancel(run_id, grace_s=1.0)

    def hosts(self, job: Job) -> tuple[AllocatedHost, ...]:
        return tuple(self.host(f"gpu{number}") for number in range(1, job.nodes + 1))

    def host(self, name: str) -> AllocatedHost:
        host = Host(
            name,
            transport="local",
            work_dir=str(self.directory / name),
            lease_dir=str(self.directory / "leases"),
        )
        snapshot = HostSnapshot(name, name, HostState.READY, slots=8)
        return AllocatedHost(host, DEVICES, self.transport(name, host), snapshot)

    def transport(self, name: str, host: Host | None = None) -> Transport:
        return LocalTransport(host or self.host(name).host)

    def listen(self) -> asyncio.Queue[AllocationEnd]:
        self._listeners.append(asyncio.Queue())
        return self._listeners[-1]


class QueueEngine:
    """One console's engine."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.released: list[str] = []
        self._ends = queue.listen()

    @property
    def queues(self) -> bool:
        return True

    def schedule(self, wanted: Sequence[Wanted], silent_s: Mapping[str, float]) -> Schedule:
        starts: dict[str, tuple[str, ...]] = {want.run_id: () for want in wanted}
        waiting = {
            job.run_id: Waiting(WaitKind.QUEUED, detail="Priority")
            for job in self._queue.jobs.values()
            if not job.given.is_set()
        }
        return Schedule(starts, waiting)

    def request(self, want: Wanted, hosts: Sequence[str]) -> Ticket:
        return Ticket(want)

    async def submit(self, ticket: Ticket) -> Ticket:
        job = self._queue.submit(ticket.want.run_id, ticket.want.nodes)
        if self._queue.lose_answers:
            await asyncio.Event().wait()
        return Ticket(ticket.want, job_id=job.job_id)

    async def given(self, ticket: Ticket) -> Allocation:
        job = self._queue.jobs[ticket.job_id]
        await job.given.wait()
        if job.ended is not None:
            raise AllocationEndedError(AllocationEnd(ticket.want.run_id, job.ended))
        return self._allocation(job)

    def _allocation(self, job: Job) -> Allocation:
        return Allocation(job.run_id, self._queue.hosts(job), job_id=job.job_id)

    async def adopt(self, before: Journaled) -> Ticket | Allocation | None:
        named = [j for j in self._queue.jobs.values() if j.run_id == before.want.run_id]
        held = [j for j in self._queue.jobs.values() if j.job_id == before.job_id]
        job = next(iter([*named, *held]), None)
        if job is None or job.ended is not None or job.withdrawn:
            return None
        if job.given.is_set():
            return self._allocation(job)
        return Ticket(before.want, job_id=job.job_id)

    async def withdraw(self, ticket: Ticket) -> None:
        self._queue.jobs[ticket.job_id].withdrawn = True

    def release(self, run_id: str, settle_s: float) -> None:
        if run_id not in self.released:
            self.released.append(run_id)

    async def ended(self, run_id: str) -> AllocationEnd | None:
        job = next((j for j in self._queue.jobs.values() if j.run_id == run_id), None)
        return AllocationEnd(run_id, job.ended) if job is not None and job.ended else None

    async def ends(self) -> AsyncIterator[AllocationEnd]:
        while True:
            yield await self._ends.get()

    def trouble(self, host: str, kind: Trouble, detail: str) -> None:
        raise AssertionError(f"{host}: {kind}: {detail}")

    def transport(self, host: str) -> Transport:
        return self._queue.transport(host)

    async def give_back(self, journal: Journal) -> str:
        return ""

    async def tend(
        self, changed: Callable[[], None], back: Callable[[str], None], journal: Journal
    ) -> None:
        await asyncio.Event().wait()
