"""Ranks that are slower than the others, told to the journal while the run is at work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from backends.campaign.record import events as ev
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.run_record import RunRecord
from backends.hangs.slow_rank import SlowRank
from profiles.format.profile import Profile
from profiles.throughput.own_times import OwnTimeReader
from profiles.throughput.slow_ranks import RankPaces

EVERY_S = 5.0
MUCH = 0.05
"""A change of the excess that is worth a line."""


class SlowRankFeed:
    """Reads every host's log for the times that its ranks take of their own.

    ``on_gpus``: the run's devices are GPUs.
    """

    def __init__(
        self,
        run: RunRecord,
        profile: Profile,
        recorder: Recorder,
        clock: Callable[[], float],
        *,
        on_gpus: bool,
    ) -> None:
        self._run = run
        self._recorder = recorder
        self._clock = clock
        self._on_gpus = on_gpus
        world = run.nodes * run.gpus_per_node
        self._section = profile.ranks if world > 1 else None
        self._paces = RankPaces(world)
        self._readers: dict[str, OwnTimeReader] = {}
        self._hosts: dict[int, str] = {}
        self._told = run.slow_ranks
        self._looked_at = float("-inf")

    def take(self, host: str, data: bytes) -> None:
        """More bytes of a host's log."""
        if self._section is None:
            return
        reader = self._readers.get(host)
        if reader is None:
            reader = self._readers[host] = OwnTimeReader(self._section)
        now = self._clock()
        for rank, seconds in reader.feed(data):
            self._hosts[rank] = host
            self._paces.take(rank, seconds, now)
        if self._paces.judged and not 0 <= now - self._looked_at < EVERY_S:
            self._tell(now)

    def finish(self) -> None:
        """The run has ended: how it was at its end is told, too."""
        if self._section is not None and self._paces.judged:
            self._tell(self._clock())

    def restart(self, host: str) -> None:
        """The host's log is read anew; what was said of its ranks counts no less for that."""
        self._readers.pop(host, None)

    def _tell(self, now: float) -> None:
        seen_at, self._looked_at = self._looked_at, now
        before = {one.rank: one for one in self._told or ()}
        found: dict[int, SlowRank] = {}
        for slow in self._paces.slow(now):
            host = self._hosts.get(slow.rank, "")
            place = (slow.rank, host, self._device(slow.rank, host))
            now_slow = SlowRank(*place, slow.excess, slow.own_s, slow.usual_s, slow.since)
            known = before.get(slow.rank)
            if known is not None and known.until is None and known.since < seen_at < slow.since:
                known = replace(known, until=seen_at)  # and not all the time since
            found[slow.rank] = now_slow.after(known, slow.every_s)
        over = {
            rank: one if one.until is not None else replace(one, until=self._end(one, seen_at, now))
            for rank, one in before.items()
            if rank not in found
        }
        if self._told is not None and not self._differs(before, found, over):
            return
        self._told = (*found.values(), *over.values())
        self._recorder.note(ev.SlowRanksTold(t=now, run_id=self._run.run_id, slow_ranks=self._told))

    def _end(self, one: SlowRank, seen_at: float, now: float) -> float:
        """When it was slow last, as far as that was seen."""
        last = self._paces.last_slow(one.rank)
        return min(now, max(one.since, seen_at, last if last is not None else seen_at))

    def _differs(
        self,
        before: Mapping[int, SlowRank],
        found: Mapping[int, SlowRank],
        over: Mapping[int, SlowRank],
    ) -> bool:
        if over != {rank: one for rank, one in before.items() if rank not in found}:
            return True
        for rank, slow in found.items():
            known = before.get(rank)
            if known is None or known.until is not None or known.between_s != slow.between_s:
                return True
            if abs(known.excess - slow.excess) > MUCH:
                return True
        return False

    def _device(self, rank: int, host: str) -> int | None:
        """The device of a rank, where the host's ranks are as many as its devices."""
        devices = self._run.devices.get(host, ())
        if not self._on_gpus or not devices:
            return None
        there = sorted(one for one, where in self._hosts.items() if where == host)
        return devices[there.index(rank)] if len(there) == len(devices) else None
