"""Which run goes where, now: pure.

Runs start in planning order on the first fitting free hosts. A run that must wait for hosts
reserves the ones it could use, so that a stream of small runs never starves a large one; hosts
that nobody ahead needs are filled from behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wanted:
    """A planned run: how many hosts with how many devices each, and which hosts are allowed."""

    run_id: str
    nodes: int
    gpus_per_node: int
    not_before: float = 0.0
    gpu_only: bool = False


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
    """Assign what can start at ``now`` (seconds since the epoch)."""
    free = [o for o in offers if not o.busy and not o.unusable and o.free_from <= now]
    taken: set[str] = set()
    starts: dict[str, tuple[str, ...]] = {}
    waiting: dict[str, str] = {}
    times = [o.free_from for o in offers if o.free_from > now]
    for want in wanted:
        if want.not_before > now:
            times.append(want.not_before)
            continue
        fitting = [o for o in offers if o.devices(want.gpu_only) >= want.gpus_per_node]
        usable = [o for o in fitting if o in free and o.name not in taken]
        if len(usable) >= want.nodes:
            names = tuple(o.name for o in usable[: want.nodes])
            starts[want.run_id] = names
            taken.update(names)
            continue
        waiting[want.run_id] = _reason(want, fitting, now)
        promising = usable + [o for o in fitting if o not in usable and not o.unusable]
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
