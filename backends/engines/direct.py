"""The direct engine: our own scheduler over hosts that we reach ourselves, one run a host, or
several of one campaign that pack.

Everything that is SSH and leases is here: hosts that are lost are probed again, hosts that others
hold are looked at until they are free.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from backends.clocks import loop_time, sleep, timeout
from backends.engines.engine import (
    HELD_BY,
    AllocatedHost,
    Allocation,
    AllocationEnd,
    EndKind,
    Journal,
    Journaled,
    Schedule,
    Ticket,
    Trouble,
    Wanted,
)
from backends.engines.filling import Offer, Use
from backends.engines.hosts_schedule import schedule_on
from backends.hosts.host_facts import USABLE, HostFacts, HostSnapshot, HostState, Sought
from backends.hosts.placement import Placement, Site, beside, choose
from backends.hosts.probe import probe_all
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RemoteError
from backends.transports.transport import HostUnreachableError, Transport
from profiles.errors import SelectionError

REPROBE_EVERY_S = 30.0
LEASE_LOOK_EVERY_S = 5.0


class Pool(Protocol):
    """Connections by host; see :class:`backends.transports.pool.TransportPool`."""

    def get(self, host: Host) -> Transport: ...


class _Part(NamedTuple):
    """What a run has of a host, and until when as is expected."""

    site: Site
    use: Use


@dataclass(slots=True)
class _HostUse:
    """What is known of a host beyond its last probe.

    ``runs``: who has it, or devices of it, settle time included; after a restart also two of which
    the first has just ended there. ``rests``: what has not settled. ``away_since``: when it went
    out of reach.
    """

    host: Host
    snapshot: HostSnapshot
    runs: dict[str, _Part] = field(default_factory=dict)
    rests: list[Use] = field(default_factory=list)
    held_by: str = ""
    away_since: float | None = None

    @property
    def uses(self) -> tuple[Use, ...]:
        return (*(part.use for part in self.runs.values()), *self.rests)

    def expected(self, now: float, silent_s: Mapping[str, float]) -> tuple[Use, ...]:
        """As :attr:`uses`, but of what is late and silent until it is ended: so long it may stay,
        for all that is known."""
        late = {run_id for run_id, part in self.runs.items() if part.use.until <= now}
        until = {run_id: now + silent_s[run_id] for run_id in late & silent_s.keys()}
        runs = (
            part.use._replace(until=until.get(run_id, part.use.until))
            for run_id, part in self.runs.items()
        )
        return (*runs, *self.rests)

    def free(self, now: float) -> Collection[int] | None:
        """The devices that nothing is on, where runs may share it; None: it is not known which."""
        count = self.snapshot.capacity.devices(gpu_only=False)
        if not count:
            return None
        taken = (use for use in self.uses if not use.resting or use.until > now)
        return set(range(count)).difference(*(use.devices or () for use in taken))


class DirectEngine:
    """The hosts of one campaign: who uses them, who else holds them, which are out of reach.

    Parameters
    ----------
    hosts: all that the campaign may use, in the order of preference, each with its latest probe.
    lease: who takes a host, for others to read: "alice@login01, campaign 2026-11-21-resnet50".
    group: names the campaign where its runs share a host; no other campaign has the same.
    force: use hosts that somebody else keeps busy, too.
    placement: which devices of its hosts a run gets.
    sought: where a probe looks for software.
    learnt: told what a host is that was out of reach and has answered.
    clock: seconds since the epoch; a probe notes it. monotonic: what waiting goes by.
    """

    def __init__(
        self,
        hosts: Sequence[tuple[Host, HostSnapshot]],
        pool: Pool,
        *,
        lease: str = "",
        group: str = "",
        force: bool = False,
        placement: Placement = Placement.FIRST,
        sought: Sequence[Sought] = (),
        learnt: Callable[[HostSnapshot], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = loop_time,
    ) -> None:
        self._pool = pool
        self._lease = lease
        self._group = group
        self._force = force
        self._placement = placement
        self._sought = tuple(sought)
        self._learnt = learnt
        self._clock = clock
        self._monotonic = monotonic
        self._hosts: dict[str, _HostUse] = {}
        self._look_again = asyncio.Event()
        for host, snapshot in hosts:
            self._hosts[host.name] = _HostUse(host, snapshot)
            self.seen(snapshot)
            if (held := snapshot.lease) and not held.run_id.startswith(f"{group}-"):
                # A start there would only be taken back; who has it is looked at first of all.
                self._hosts[host.name].held_by = held.told_to(lease, group)

    # Runs ----------------------------------------------------------------------------------------

    def schedule(self, wanted: Sequence[Wanted], silent_s: Mapping[str, float]) -> Schedule:
        now = self._monotonic()
        offers = [self._offer(use, now, silent_s) for use in self._hosts.values()]
        return _dated(schedule_on(offers, wanted, now), self._clock() - now)

    def _offer(self, use: _HostUse, now: float, silent_s: Mapping[str, float]) -> Offer:
        snapshot = use.snapshot
        unusable = ""
        if snapshot.state is HostState.UNREACHABLE:
            unusable = snapshot.reason or "unreachable"
        elif snapshot.state is HostState.BUSY and not self._force:
            unusable = snapshot.reason or "busy"
        elif use.held_by:
            unusable = f"{HELD_BY}{use.held_by}"
        return Offer(
            snapshot.capacity,
            use.expected(now, silent_s),
            unusable=unusable,
            away_s=None if use.away_since is None else now - use.away_since,
        )

    @property
    def queues(self) -> bool:
        return False

    def request(self, want: Wanted, hosts: Sequence[str]) -> Ticket:
        for name in hosts:
            free = self._use(name).free(self._monotonic()) if want.pack else None
            facts = self._facts(name, want)
            self._occupy(want, name, choose(self._placement, facts, want.gpus_per_node, free))
        return Ticket(want, tuple(hosts))

    async def submit(self, ticket: Ticket) -> Ticket:
        return ticket

    async def given(self, ticket: Ticket) -> Allocation:
        """At once. The devices of a host that is not shared are the same ones each time, so that
        repeats share a topology."""
        run_id = ticket.want.run_id
        sites = {name: self._use(name).runs[run_id].site for name in ticket.hosts}
        return self._allocation(ticket.want, sites)

    async def adopt(self, before: Journaled) -> Allocation:
        want = before.want
        first = tuple(range(want.gpus_per_node))
        sites = {
            name: beside(self._placement, self._facts(name, want), before.devices.get(name, first))
            for name in before.hosts
        }
        for name, site in sites.items():
            self._occupy(want, name, site)
        return self._allocation(want, sites)

    async def withdraw(self, ticket: Ticket) -> None:
        self.release(ticket.want.run_id, 0.0)

    def release(self, run_id: str, settle_s: float) -> None:
        now = self._monotonic()
        for use in self._hosts.values():
            if (part := use.runs.pop(run_id, None)) is not None:
                rest = part.use._replace(until=now + settle_s, resting=True)
                use.rests = [*(one for one in use.rests if one.until > now), rest]

    async def ended(self, run_id: str) -> AllocationEnd | None:
        return None

    async def ends(self) -> AsyncIterator[AllocationEnd]:
        """None: what ends a run on a host of ours is seen by the run itself."""
        await asyncio.Event().wait()
        yield AllocationEnd("", EndKind.VANISHED)

    def _facts(self, name: str, want: Wanted) -> HostFacts | None:
        """What a run can see of a host."""
        facts = self._use(name).snapshot.facts
        return facts.without_gpus() if facts is not None and want.on_cpus else facts

    def _occupy(self, want: Wanted, name: str, site: Site) -> None:
        use = self._use(name)
        devices = (
            site.devices if want.pack and use.snapshot.capacity.devices(gpu_only=False) else None
        )
        until = self._monotonic() + want.length_s
        use.runs[want.run_id] = _Part(site, Use(until, devices=devices))

    def _known(self, name: str, site: Site) -> AllocatedHost:
        use = self._use(name)
        return AllocatedHost(
            use.host,
            site.devices,
            self.transport(name),
            use.snapshot,
            cpus=site.cpus,
            nics=site.nics,
        )

    def _allocation(self, want: Wanted, sites: Mapping[str, Site]) -> Allocation:
        chosen = {site.placement for site in sites.values()}
        placement = Placement.LINKED if chosen == {Placement.LINKED} else Placement.FIRST
        hosts = tuple(self._known(name, site) for name, site in sites.items())
        group = self._group if want.pack else ""
        return Allocation(want.run_id, hosts, lease=self._lease, group=group, placement=placement)

    # Hosts ---------------------------------------------------------------------------------------

    def _use(self, name: str) -> _HostUse:
        try:
            return self._hosts[name]
        except KeyError:
            raise SelectionError(
                f"this campaign uses host {name!r}, which the inventory does not have",
                remedy="give the inventory it was started with (--inventory)",
            ) from None

    def transport(self, host: str) -> Transport:
        return self._pool.get(self._use(host).host)

    def trouble(self, host: str, kind: Trouble, detail: str) -> None:
        use = self._hosts.get(host)
        if use is None:
            return
        if kind is Trouble.HELD:
            use.held_by = detail
        else:
            self.seen(replace(use.snapshot, state=HostState.UNREACHABLE, reason=detail))
            self._look_again.set()

    def seen(self, snapshot: HostSnapshot) -> None:
        """A new probe's finding."""
        use = self._hosts[snapshot.name]
        if snapshot.facts is None:  # what it is made of is not forgotten while it is away
            known = use.snapshot
            snapshot = replace(snapshot, facts=known.facts, slots=snapshot.slots or known.slots)
        use.snapshot = snapshot
        if snapshot.state is not HostState.UNREACHABLE:
            use.away_since = None
        elif use.away_since is None:
            use.away_since = self._monotonic()

    async def give_back(self, journal: Journal) -> str:
        """Nothing is held but for runs."""
        return ""

    async def tend(
        self, changed: Callable[[], None], back: Callable[[str], None], journal: Journal
    ) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._probe_again(changed, back))
            tasks.create_task(self._look_at_leases(changed))

    async def _probe_again(self, changed: Callable[[], None], back: Callable[[str], None]) -> None:
        """Hosts that could not be used join when they are well."""
        while True:
            with contextlib.suppress(TimeoutError):
                # Python 3.11's wait_for would swallow a cancellation that comes with the event.
                async with timeout(REPROBE_EVERY_S):
                    await self._look_again.wait()
            self._look_again.clear()
            doubtful = [
                use
                for use in self._hosts.values()
                if not use.runs and use.snapshot.state not in USABLE
            ]
            away = {use.host.name for use in doubtful if use.away_since is not None}
            hosts = [use.host for use in doubtful]
            async for snapshot in probe_all(self._pool, hosts, self._clock, sought=self._sought):
                self.seen(snapshot)
                is_back = snapshot.state is not HostState.UNREACHABLE and snapshot.name in away
                if is_back:
                    back(snapshot.name)
                changed()
                if is_back and self._learnt is not None:
                    await self._learnt(snapshot)

    async def _look_at_leases(self, changed: Callable[[], None]) -> None:
        """Hosts that others held join when they are free; who has the others may have changed."""
        while True:
            held = [use for use in self._hosts.values() if use.held_by]
            holders = await asyncio.gather(*(self._holder(use.host.name) for use in held))
            for use, holder in zip(held, holders, strict=True):
                if use.held_by and holder != use.held_by:
                    use.held_by = holder
                    changed()
            # Two consoles do not always look at the same moment.
            await sleep(LEASE_LOOK_EVERY_S * (0.5 + random.random()))  # noqa: S311 (no secret)

    async def _holder(self, name: str) -> str:
        try:
            lease = await RemoteHost(self.transport(name)).lease(self._group)
        except (HostUnreachableError, RemoteError, TimeoutError):
            return ""  # the next start will tell
        return "" if lease is None else lease.told_to(self._lease, self._group)


def _dated(schedule: Schedule, ahead_s: float) -> Schedule:
    """What runs wait for in seconds since the epoch, which are so many more than the loop's."""
    dated = {
        run_id: replace(why, expected_at=why.expected_at + ahead_s)
        for run_id, why in schedule.waiting.items()
        if why.expected_at is not None
    }
    return replace(schedule, waiting={**schedule.waiting, **dated})
