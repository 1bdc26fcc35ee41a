"""A campaign played by its schedule: runs take what they take, whatever was expected of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backends.engines.engine import Wanted
from backends.engines.filling import Offer, Use
from backends.engines.hosts_schedule import schedule_on
from profiles.format.host_capacity import HostCapacity


@dataclass(frozen=True)
class Played:
    """A run: where and when."""

    want: Wanted
    hosts: tuple[str, ...]
    start: float
    end: float

    @property
    def settled(self) -> float:
        return self.end + self.want.settle_s


def play(
    wanted: Sequence[Wanted], hosts: Sequence[HostCapacity], takes_s: Mapping[str, float]
) -> list[Played]:
    """From an idle cluster to the end, in the order of starting; ``takes_s``: by run id."""
    left, played, now = list(wanted), list[Played](), 0.0
    while True:
        starts = schedule_on([_offer(host, played, now) for host in hosts], left, now).starts
        played += [
            Played(want, starts[want.run_id], now, now + takes_s[want.run_id])
            for want in left
            if want.run_id in starts
        ]
        left = [want for want in left if want.run_id not in starts]
        times = [*(run.settled for run in played), *(want.not_before for want in left)]
        later = [time for time in times if time > now]
        if not left or not later:
            return played
        now = min(later)


def _offer(host: HostCapacity, played: Sequence[Played], now: float) -> Offer:
    there = [run for run in played if host.name in run.hosts and run.settled > now]
    return Offer(host, tuple(_use(run) for run in there))


def _use(run: Played) -> Use:
    """Which devices it has does not matter here, only how many."""
    own = tuple(range(run.want.gpus_per_node)) if run.want.pack else None
    return Use(run.start + run.want.length_s, devices=own)


def lower_bound_s(wanted: Sequence[Wanted], hosts: int, takes_s: Mapping[str, float]) -> float:
    """No schedule of these hosts ends sooner: the host time spread evenly, the longest run, and all
    runs of which no two fit side by side, one after the other."""
    lengths = {want.run_id: takes_s[want.run_id] + want.settle_s for want in wanted}
    settle_s = max(want.settle_s for want in wanted)
    area = sum(want.nodes * lengths[want.run_id] for want in wanted) / hosts - settle_s
    wide = sum(lengths[want.run_id] for want in wanted if 2 * want.nodes > hosts) - settle_s
    return max(area, wide, *takes_s.values())
