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
        self._world = run.nodes * run.gpus_per_node
        self._section = profile.ranks if self._world > 1 else None
        self._has_steps = False
        self._paces = RankPaces(self._world)
        self._readers: dict[str, OwnTimeReader] = {}
        self._hosts: dict[int, str] = {}
        self._earlier = {one.rank: one for one in run.slow_ranks or ()}
        self._told = run.slow_ranks
        self._looked_at = float("-inf")

    def take(self, host: str, data: bytes) -> None:
        """More bytes of a host's log."""
        if self._section is None:
            return
        reader = self._readers.get(host)
        if reader is None:
            reader = self._readers[host] = OwnTimeReader(self._section)
        self._has_steps = reader.has_steps
        now = self._clock()
        for rank, step, seconds in reader.feed(data):
            self._hosts[rank] = host
            self._paces.take(rank, step, seconds, now)
        if self._paces.judged and not 0 <= now - self._looked_at < EVERY_S:
            self._tell(now)

    def finish(self) -> None:
        """The run has ended and its logs are here: the last word, by all of their times."""
        if self._section is not None and self._paces.judged:
            self._tell(self._clock(), ended=True)

    def restart(self, host: str) -> None:
        """The host's log is read anew; what was said of its ranks counts no less for that."""
        self._readers.pop(host, None)

    def _tell(self, now: float, *, ended: bool = False) -> None:
        self._looked_at = now
        found: dict[int, SlowRank] = {}
        for slow in self._paces.slow(ended=ended):
            host = self._hosts.get(slow.rank, "")
            one = SlowRank(
                rank=slow.rank,
                host=host,
                device=self._device(slow.rank, host),
                excess=slow.excess,
                own_s=slow.own_s,
                usual_s=slow.usual_s,
                since=slow.since,
                until=slow.until,
                between_s=slow.between_s,
                others=self._world - 1,
                steps=slow.steps if self._has_steps else None,
            )
            found[slow.rank] = self._as_seen(one)
        if not ended:  # of a log that is read again not all may be here
            found = {**self._earlier, **found}
        before = None if self._told is None else {one.rank: one for one in self._told}
        if before is not None and not _differs(before, found, ended=ended):
            return
        self._told = tuple(found.values())
        self._recorder.note(ev.SlowRanksTold(t=now, run_id=self._run.run_id, slow_ranks=self._told))

    def _as_seen(self, slow: SlowRank) -> SlowRank:
        """With the times at which an earlier console saw it: the logs from before come at once."""
        known = self._earlier.get(slow.rank)
        if known is None or known.until is None or slow.until is None:
            return slow.after(known)
        if known.steps is not None and known.steps != slow.steps:
            return slow.after(known)
        return replace(slow, since=known.since, until=known.until, between_s=known.between_s)

    def _device(self, rank: int, host: str) -> int | None:
        """The device of a rank, where the host's ranks are as many as its devices."""
        devices = self._run.devices.get(host, ())
        if not self._on_gpus or not devices:
            return None
        there = sorted(one for one, where in self._hosts.items() if where == host)
        return devices[there.index(rank)] if len(there) == len(devices) else None


def _differs(before: Mapping[int, SlowRank], found: Mapping[int, SlowRank], *, ended: bool) -> bool:
    """By more than what is worth a line."""
    if ended or before.keys() != found.keys():
        return before != found
    for rank, slow in found.items():
        known = before[rank]
        if (known.since, known.until, known.between_s) != (slow.since, slow.until, slow.between_s):
            return True
        if abs(known.excess - slow.excess) > MUCH:
            return True
    return False
