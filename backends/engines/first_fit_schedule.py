"""Which run goes to which hosts, now: first fit without starvation. Pure.

Runs start in planning order on the first fitting free hosts. A run that must wait for hosts
reserves the ones it could use, so that a stream of small runs never starves a large one; hosts
that nobody ahead needs are filled from behind. A run that cannot start whoever ends (too many of
its hosts are out of reach) reserves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backends.engines.engine import Schedule, Waiting, WaitKind, Wanted
from profiles.format.host_capacity import HostCapacity


@dataclass(frozen=True, slots=True)
class Offer:
    """A host that the campaign may use.

    ``free_from``: when its settle time is over. ``unusable``: why it cannot be used now
    (unreachable, held by …). ``away_s``: for how long it has been out of reach.
    """

    capacity: HostCapacity
    busy: bool = False
    free_from: float = 0.0
    unusable: str = ""
    away_s: float | None = None

    @property
    def name(self) -> str:
        return self.capacity.name

    def fits(self, want: Wanted) -> bool:
        return self.capacity.holds(want.gpus_per_node, gpu_only=want.gpu_only)


def first_fit(wanted: Sequence[Wanted], offers: Sequence[Offer], now: float) -> Schedule:
    """Assign what can start at ``now`` (by the clock of ``not_before``)."""
    free = {o.name for o in offers if not o.busy and not o.unusable and o.free_from <= now}
    taken: set[str] = set()
    starts: dict[str, tuple[str, ...]] = {}
    waiting: dict[str, Waiting] = {}
    vain: dict[str, Waiting] = {}
    times = [o.free_from for o in offers if o.free_from > now]
    for want in wanted:
        if want.not_before > now:
            times.append(want.not_before)
            continue
        fitting = [o for o in offers if o.fits(want)]
        usable = [o for o in fitting if o.name in free and o.name not in taken]
        usable.sort(key=lambda o: o.name in want.avoid)  # stable: else in the hosts' order
        if len(usable) >= want.nodes:
            names = tuple(o.name for o in usable[: want.nodes])
            starts[want.run_id] = names
            taken.update(names)
            continue
        waiting[want.run_id] = _why(want, fitting, now)
        if (lost := _in_vain(want, fitting)) is not None:
            vain[want.run_id] = lost
        promising = usable + [o for o in fitting if o not in usable and not o.unusable]
        if len(promising) >= want.nodes:
            taken.update(o.name for o in promising[: want.nodes])
    return Schedule(starts, waiting, min(times, default=None), vain)


def _why(want: Wanted, fitting: Sequence[Offer], now: float) -> Waiting:
    blocked = [o for o in fitting if o.unusable]
    if len(fitting) - len(blocked) < want.nodes and blocked:
        return Waiting(WaitKind.UNUSABLE, (blocked[0].name,), blocked[0].unusable)
    if len(fitting) < want.nodes:
        return Waiting(
            WaitKind.TOO_FEW,
            nodes=want.nodes,
            gpus_per_node=want.gpus_per_node,
            known=len(fitting),
        )
    if busy := tuple(o.name for o in fitting if o.busy):
        return Waiting(WaitKind.BUSY, busy)
    if any(o.free_from > now for o in fitting):
        return Waiting(WaitKind.SETTLING)
    return Waiting(WaitKind.BEHIND)


def _in_vain(want: Wanted, fitting: Sequence[Offer]) -> Waiting | None:
    """The hosts without which there are too few, when they have been away for too long."""
    away = [o for o in fitting if o.away_s is not None and o.away_s >= want.patience_s]
    if not away or len(fitting) - len(away) >= want.nodes:
        return None
    detail = "; ".join(f"{o.name}: {o.unusable}" for o in away[:3])
    return Waiting(WaitKind.UNUSABLE, tuple(o.name for o in away), detail)
