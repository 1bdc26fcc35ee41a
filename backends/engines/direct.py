"""The direct engine: which run goes to which hosts, now.

Runs start in planning order on the first fitting free hosts. A run that must wait for hosts
reserves the ones it could use, so that a stream of small runs never starves a large one; hosts
that nobody ahead needs are filled from behind. A run that cannot start whoever ends (too many of
its hosts are out of reach) reserves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from backends.hosts.facts import HostSnapshot, HostState

_ANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """A planned run: how many hosts with how many devices each.

    ``avoid``: hosts that are taken only when there are no others (an earlier attempt failed there).
    """

    run_id: str
    nodes: int
    gpus_per_node: int
    not_before: float = 0.0
    gpu_only: bool = False
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """A host that the campaign may use. ``free_from``: when its settle time is over."""

    name: str
    slots: int
    gpus: int = 0
    busy: bool = False
    free_from: float = 0.0
    unusable: str = ""  # why it cannot be used now: unreachable, held by …

    def devices(self, gpu_only: bool) -> int:
        """GPUs where there are some or must be; slots otherwise."""
        return self.gpus if self.gpus or gpu_only else self.slots


@dataclass(frozen=True, slots=True)
class Schedule:
    """``starts``: run id to host names, rank 0 first. ``waiting``: run id to what it waits for.

    ``next_at``: the earliest time at which the answer may change without an event, or None.
    """

    starts: Mapping[str, tuple[str, ...]]
    waiting: Mapping[str, str]
    next_at: float | None


def schedule(wanted: Sequence[Wanted], offers: Sequence[Offer], now: float) -> Schedule:
    """Assign what can start at ``now`` (seconds since the epoch). Pure."""
    free = {o.name for o in offers if not o.busy and not o.unusable and o.free_from <= now}
    taken: set[str] = set()
    starts: dict[str, tuple[str, ...]] = {}
    waiting: dict[str, str] = {}
    times = [o.free_from for o in offers if o.free_from > now]
    for want in wanted:
        if want.not_before > now:
            times.append(want.not_before)
            continue
        fitting = [o for o in offers if o.devices(want.gpu_only) >= want.gpus_per_node]
        usable = [o for o in fitting if o.name in free and o.name not in taken]
        usable.sort(key=lambda o: o.name in want.avoid)  # stable: else in the hosts' order
        if len(usable) >= want.nodes:
            names = tuple(o.name for o in usable[: want.nodes])
            starts[want.run_id] = names
            taken.update(names)
            continue
        waiting[want.run_id] = _reason(want, fitting, now)
        promising = usable + [o for o in fitting if o not in usable and not o.unusable]
        if len(promising) >= want.nodes:
            taken.update(o.name for o in promising[: want.nodes])
    return Schedule(starts, waiting, min(times, default=None))


def _reason(want: Wanted, fitting: Sequence[Offer], now: float) -> str:
    blocked = [o for o in fitting if o.unusable]
    if len(fitting) - len(blocked) < want.nodes and blocked:
        return f"waiting for {blocked[0].name}: {blocked[0].unusable}"
    if len(fitting) < want.nodes:
        return f"needs {want.nodes} hosts with {want.gpus_per_node} devices, {len(fitting)} known"
    busy = [o.name for o in fitting if o.busy]
    if busy:
        return f"waiting for {', '.join(busy[:3])}"
    if any(o.free_from > now for o in fitting):
        return "settling"
    return "waiting for runs ahead"


@dataclass(slots=True)
class _HostUse:
    """What is known of a host beyond its last probe. ``away_since``: when it went out of reach."""

    snapshot: HostSnapshot
    run_id: str = ""
    free_from: float = 0.0
    held_by: str = ""
    away_since: float | None = None


class DirectEngine:
    """The hosts of one campaign: who uses them, who else holds them, which are out of reach.

    Parameters
    ----------
    hosts: their latest probes, in the order of preference.
    force: use hosts that somebody else keeps busy, too.
    """

    def __init__(
        self, hosts: Sequence[HostSnapshot], clock: Callable[[], float], *, force: bool = False
    ) -> None:
        self._clock = clock
        self._force = force
        self._hosts: dict[str, _HostUse] = {}
        for snapshot in hosts:
            self._hosts[snapshot.name] = _HostUse(snapshot)
            self.seen(snapshot)

    def schedule(self, wanted: Sequence[Wanted]) -> Schedule:
        now = self._clock()
        return schedule(wanted, [self._offer(use) for use in self._hosts.values()], now)

    def _offer(self, use: _HostUse) -> Offer:
        snapshot = use.snapshot
        unusable = ""
        if snapshot.state is HostState.UNREACHABLE:
            unusable = snapshot.reason or "unreachable"
        elif snapshot.state is HostState.BUSY and not self._force:
            unusable = snapshot.reason or "busy"
        elif use.held_by:
            unusable = f"held by {use.held_by}"
        # Of a host that was never seen nobody knows what it would not fit.
        unknown = _ANY if snapshot.facts is None else 0
        return Offer(
            snapshot.name,
            slots=snapshot.slots or unknown,
            gpus=len(snapshot.facts.gpus) if snapshot.facts else unknown,
            busy=bool(use.run_id),
            free_from=use.free_from,
            unusable=unusable,
        )

    # Runs ----------------------------------------------------------------------------------------

    def occupy(self, run_id: str, names: Sequence[str]) -> None:
        for name in names:
            if name in self._hosts:
                self._hosts[name].run_id = run_id

    def release(self, run_id: str, settle_s: float) -> None:
        """The run has ended; its hosts are idle for ``settle_s`` before the next."""
        for use in self._hosts.values():
            if use.run_id == run_id:
                use.run_id = ""
                use.free_from = self._clock() + settle_s

    @property
    def under_way(self) -> frozenset[str]:
        """The runs that have hosts."""
        return frozenset(use.run_id for use in self._hosts.values() if use.run_id)

    # Hosts ---------------------------------------------------------------------------------------

    def held(self, name: str, holder: str) -> None:
        """Somebody else's run holds the host; empty: not any more."""
        if name in self._hosts:
            self._hosts[name].held_by = holder

    def out_of_reach(self, name: str, reason: str) -> None:
        """A host that could not be reached just now is not used until a probe finds it again."""
        if name in self._hosts:
            use = self._hosts[name]
            self.seen(replace(use.snapshot, state=HostState.UNREACHABLE, reason=reason))

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
            use.away_since = self._clock()

    @property
    def held_hosts(self) -> tuple[str, ...]:
        return tuple(name for name, use in self._hosts.items() if use.held_by)

    @property
    def away(self) -> frozenset[str]:
        """The hosts that are out of reach."""
        return frozenset(n for n, use in self._hosts.items() if use.away_since is not None)

    @property
    def doubtful_hosts(self) -> tuple[str, ...]:
        """Idle hosts that cannot be used now, as far as a probe can tell."""
        return tuple(
            name
            for name, use in self._hosts.items()
            if not use.run_id and use.snapshot.state is not HostState.READY
        )

    def hopeless(self, want: Wanted, limit_s: float) -> str:
        """Why a run waits in vain: without the hosts that have been out of reach for ``limit_s``
        there are too few for it. Empty: it does not."""
        now = self._clock()
        fitting = [
            use
            for use in self._hosts.values()
            if self._offer(use).devices(want.gpu_only) >= want.gpus_per_node
        ]
        away = [u for u in fitting if u.away_since is not None and now - u.away_since >= limit_s]
        if not away or len(fitting) - len(away) >= want.nodes:
            return ""
        return "; ".join(f"{use.snapshot.name}: {use.snapshot.reason}" for use in away[:3])
