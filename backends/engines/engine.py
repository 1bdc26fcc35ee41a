"""What an engine is: whoever decides where a run executes. Nothing outside this room names one.

The controller asks :meth:`Engine.schedule` what can go, requests an allocation for each such run,
waits while it is queued, journals what was given, and releases it when the run is over. Everything
that passes between the two is a small frozen value; the words are made where they are shown.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from backends.hosts.host_facts import HostSnapshot
from backends.inventory.host_entry import Host
from backends.transports.transport import Transport
from profiles.errors import DlperfError


@dataclass(frozen=True, slots=True)
class Wanted:
    """A planned run: how many hosts with how many devices each.

    ``not_before``: by :func:`backends.clocks.loop_time`. ``gpu_only``: CPU slots will not do.
    ``avoid``: hosts that are taken only when there are no others (an earlier attempt failed there).
    ``patience_s``: for how long a host may stay away before the run gives up waiting for it.
    ``limit_s``: how long the run may take once it has begun. ``on_cpus``: it uses no GPU, whatever
    the hosts have. ``repeat``: its round. ``expected_s``: how long it takes, or from now on still
    takes; infinite where nobody knows. ``settle_s``: for how long its hosts rest then.
    ``cluster``: of a queue's several the one it is for. ``asks``: of the queue, by key.
    ``pack``: it takes no more of its one host than its devices, and shares that with others.
    ``slowness``: by host, how many times as long it takes where that is not like most.
    """

    run_id: str
    nodes: int
    gpus_per_node: int
    not_before: float = 0.0
    gpu_only: bool = False
    avoid: tuple[str, ...] = ()
    patience_s: float = float("inf")
    limit_s: float = float("inf")
    on_cpus: bool = False
    repeat: int = 0
    expected_s: float = float("inf")
    settle_s: float = 0.0
    cluster: str = ""
    asks: tuple[tuple[str, object], ...] = ()
    pack: bool = False
    slowness: Mapping[str, float] = field(default_factory=dict, hash=False)

    def takes_s(self, hosts: Iterable[str]) -> float:
        """On these; the slowest of them sets the pace."""
        return self.expected_s * max((self.slowness.get(name, 1.0) for name in hosts), default=1.0)

    @property
    def length_s(self) -> float:
        """For how long it has its hosts."""
        return self.expected_s + self.settle_s

    @property
    def needs(self) -> tuple[object, ...]:
        """What decides which hosts will do."""
        return self.nodes, self.gpus_per_node, self.gpu_only, self.avoid, self.cluster, self.pack

    def hosts_taken(self, devices: int) -> float:
        """How many hosts of so many devices it keeps from others; a share of one where it packs."""
        return self.gpus_per_node / devices if self.pack else self.nodes


HELD_BY = "held by "
"""What the reason begins with, where others have a host."""


class WaitKind(StrEnum):
    """Why a run waits."""

    UNUSABLE = "unusable"  # a host that it needs cannot be used: ``detail`` says why
    TOO_FEW = "too few"  # no such hosts are known
    BUSY = "busy"  # runs of this campaign are on them
    SETTLING = "settling"  # the hosts rest between two runs
    BEHIND = "behind"  # runs ahead of it come first; ``behind``: the one that keeps hosts from it
    QUEUED = "queued"  # asked for; ``detail`` is the queue's own reason


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a run waits and for which hosts: ``nodes`` of them, where fewer than all do (0: all).
    ``away``: others that are out of reach. ``known``: how many hosts could take it at all;
    ``expected_at``: when a queue expects to give them, or they have settled, seconds since the
    epoch. ``ending``: it is
    to be cancelled, and that waits for the same. ``behind``: the id of a run for which hosts are
    kept that would do for this one; ``hosts`` are those that it waits for. ``unusable``: hosts that
    would do and cannot be used, each with the reason; those in ``away`` are among them. ``busy``:
    of one that waits for such, the hosts that it needs besides and that runs of this campaign are
    on."""

    kind: WaitKind
    hosts: tuple[str, ...] = ()
    detail: str = ""
    nodes: int = 0
    gpus_per_node: int = 0
    known: int = 0
    expected_at: float | None = None
    ending: bool = False
    away: tuple[str, ...] = ()
    behind: str = ""
    unusable: tuple[tuple[str, str], ...] = ()
    busy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schedule:
    """What can go now and why the rest waits, by run id.

    ``starts``: the hosts, rank 0 first; empty where only the engine's queue will tell. ``vain``:
    runs that wait for hosts which have been away for longer than they may be. ``next_at``: the
    earliest time at which the answer may change without an event, or None, by the same clock.
    """

    starts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    next_at: float | None = None
    vain: Mapping[str, Waiting] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ticket:
    """What was asked for, which :meth:`Engine.given` waits for."""

    want: Wanted
    hosts: tuple[str, ...] = ()
    job_id: str = ""


@dataclass(frozen=True, slots=True)
class AllocatedHost:
    """One host of an allocation: its devices by index, how to reach it, and what is known of it.

    ``files``: a machine that shares its work_dir, where looking there takes less.
    ``cpus``, ``nics``: next to the devices, for its ranks to keep to; empty: any. ``node_name``:
    what the engine's own launchers call it; empty: by its address.
    """

    host: Host
    devices: tuple[int, ...]
    transport: Transport = field(repr=False, compare=False)
    snapshot: HostSnapshot
    files: Transport | None = field(default=None, repr=False, compare=False)
    cpus: str = ""
    nics: tuple[str, ...] = ()
    node_name: str = ""

    @property
    def name(self) -> str:
        return self.host.name

    def on_cpus(self) -> AllocatedHost:
        if self.snapshot.facts is None:
            return self
        facts = self.snapshot.facts.without_gpus()
        return replace(self, snapshot=replace(self.snapshot, facts=facts))

    @property
    def has_gpus(self) -> bool:
        return bool(self.snapshot.facts and self.snapshot.facts.gpus)


@dataclass(frozen=True, slots=True)
class Allocation:
    """What an engine gives a run; rank 0's host first.

    ``lease``: who takes the hosts, for others to read; empty where the engine keeps others off.
    ``group``: with whose runs it shares its host, each on devices of its own; empty: with none's.
    ``placement``: how the devices were chosen; empty where it was not us.
    """

    run_id: str
    hosts: tuple[AllocatedHost, ...]
    job_id: str = ""
    lease: str = ""
    group: str = ""
    placement: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts)

    def on_cpus(self) -> Allocation:
        """The same for a run that computes on CPUs: its devices are slots."""
        return replace(self, hosts=tuple(host.on_cpus() for host in self.hosts))

    @property
    def devices(self) -> dict[str, tuple[int, ...]]:
        return {host.name: host.devices for host in self.hosts}


@dataclass(frozen=True, slots=True)
class Journaled:
    """What the journal says of an allocation from before a restart. No ``hosts``: it was queued.

    ``devices``: by host; a journal of an older version has none.
    """

    want: Wanted
    hosts: tuple[str, ...] = ()
    devices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    job_id: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """What an engine asks for to hold it for all of a campaign's runs; nothing is known of one that
    stood in a line of the journal which is lost.

    ``limit_s``: from when it is given, for so long.
    """

    nodes: int = 0
    gpus_per_node: int = 0
    limit_s: float = 0.0


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job of ours that has not ended. ``of``: the id of its run, or of its campaign where it is
    for all runs; ``hosts``: that it has, none while it waits."""

    job_id: str
    of: str
    hosts: tuple[str, ...] = ()


Journal = Callable[[Held | None], Awaitable[None]]
"""Writes down, on disk when it returns, what is about to be asked for and held for all runs; None:
nothing is any more."""


class EndKind(StrEnum):
    """Why an allocation ended that nobody released."""

    NODE_FAILED = "node failed"
    TIME_LIMIT = "time limit"
    PREEMPTED = "preempted"
    REQUEUED = "requeued"  # … and the engine has queued it again by itself
    CANCELLED = "cancelled"
    OUT_OF_MEMORY = "out of memory"
    PROLOG_FAILED = "prolog failed"
    LAUNCH_FAILED = "launch failed"  # the queue gave hosts, and could not begin there
    DEADLINE = "deadline"  # the queue was told not to run it later than that
    REFUSED = "refused"  # it was never in the queue
    VANISHED = "vanished"  # the engine does not know it any more


@dataclass(frozen=True, slots=True)
class AllocationEnd:
    """``host``: where it was one host's doing. ``by``: who cancelled it. ``job_id``: of what is
    queued again. ``detail``: the engine's own words. ``of_all``: it was not the run's own, but held
    for the campaign as a whole."""

    run_id: str
    kind: EndKind
    host: str = ""
    by: str = ""
    job_id: str = ""
    detail: str = ""
    of_all: bool = False


class AllocationEndedError(DlperfError):
    """An allocation ended before it was given."""

    def __init__(self, end: AllocationEnd) -> None:
        self.end = end
        super().__init__(f"the allocation ended: {end.kind}", where=end.host or end.run_id)


class Trouble(StrEnum):
    """What a run met on a host that it was given."""

    OUT_OF_REACH = "out of reach"
    HELD = "held"


class Engine(Protocol):
    """Decides where runs execute. All methods are called on the campaign's event loop."""

    def schedule(self, wanted: Sequence[Wanted], silent_s: Mapping[str, float]) -> Schedule:
        """What of ``wanted``, in planning order, can go now. Changes nothing.

        ``silent_s``: by run id, of those at work that are silent, in how many seconds they will be
        ended if they stay so.
        """

    @property
    def queues(self) -> bool:
        """Whether what is asked for may have to wait in a queue that is not ours."""

    def request(self, want: Wanted, hosts: Sequence[str]) -> Ticket:
        """Set aside what :meth:`schedule` proposed; nothing has left this process yet."""

    async def submit(self, ticket: Ticket) -> Ticket:
        """Hand the request to the queue, if there is one. It carries the run's id: where the
        answer is lost, :meth:`adopt` finds it, and it is never made twice.

        Raises
        ------
        AllocationEndedError: the queue refuses it.
        """

    async def given(self, ticket: Ticket) -> Allocation:
        """What was asked for, as soon as it is there.

        Raises
        ------
        AllocationEndedError: it never will be.
        """

    async def adopt(self, before: Journaled) -> Ticket | Allocation | None:
        """What has become of a request or an allocation since the journal was written; None: the
        engine knows nothing of it.

        Raises
        ------
        AllocationEndedError: it was taken away meanwhile.
        """

    async def withdraw(self, ticket: Ticket) -> None:
        """Take back what was asked for; what was given meanwhile goes back too. Nothing of the run
        has been started there."""

    def release(self, run_id: str, settle_s: float) -> None:
        """The run is over; its devices rest for ``settle_s`` before the next. Twice is once."""

    async def ended(self, run_id: str) -> AllocationEnd | None:
        """Why a run's allocation ended, asked when the run itself ended badly: what ends a job ends
        its processes first. None: it did not, as far as the engine can tell."""

    def ends(self) -> AsyncIterator[AllocationEnd]:
        """Allocations that ended although nobody released them, as they end."""

    def trouble(self, host: str, kind: Trouble, detail: str) -> None:
        """A run could not use a host: it is left out until the engine finds it well again."""

    def transport(self, host: str) -> Transport:
        """How to reach a host, now or after a run, to look and to clean up.

        Raises
        ------
        SelectionError: this engine does not know the host.
        """

    async def tend(
        self, changed: Callable[[], None], back: Callable[[str], None], journal: Journal
    ) -> None:
        """Keep the picture of the hosts true, until cancelled. ``changed``: :meth:`schedule` may
        answer something else now. ``back``: a host that was out of reach is there again.
        ``journal``: what is held for all runs together."""

    async def give_back(self, journal: Journal) -> str:
        """No run is left: whatever was held for all of them goes back. Why it could not, in words;
        empty: nothing is held any more."""
