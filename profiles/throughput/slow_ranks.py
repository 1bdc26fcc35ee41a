"""Which ranks are slower than the others, while a run is at work. Pure.

Under synchronous data parallelism every rank's *step* takes the same time, that of the slowest.
What tells them apart is the time that a rank takes of its own, from the end of one exchange of
gradients to the moment when it has its own ready for the next: the others wait for the longest.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile

WARM_UP = 2
"""The first times of each rank, with compiling and the choice of kernels in them, do not count."""
WINDOW = 5
LEAST = 0.05
"""By how much a rank has to be slower to be named …"""
STAYS = 0.03
"""… and to stay so."""
NOISES = 3.0
"""Of its own standard error, and of the usual rank's."""


@dataclass(frozen=True, slots=True)
class Slow:
    """``excess``: 0.12 is 12% above ``usual_s``, own time of the usual rank per step; ``since``:
    when that began, in the seconds of who asks; ``every_s``: from one of its times to the next."""

    rank: int
    excess: float
    own_s: float
    usual_s: float
    since: float
    every_s: float


@dataclass(slots=True)
class _Pace:
    seen: int = 0
    began_at: float = 0.0
    times: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    taken_at: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    median: float | None = None
    """Of the window; None until it is full."""
    slower_since: float | None = None

    @property
    def every_s(self) -> float:
        return (self.taken_at[-1] - self.began_at) / max(1, self.seen - 1)

    def begin(self, limit_s: float) -> float:
        """When that began which its median tells: the first of its times that is above, or longer
        ago, if all have been since."""
        times = zip(self.taken_at, self.times, strict=True)
        first = next((at for at, own_s in times if own_s > limit_s), self.taken_at[-1])
        return first if self.slower_since is None else min(first, self.slower_since)


class RankPaces:
    """The own times of all ranks of a run, ``world`` of them, as they come."""

    def __init__(self, world: int) -> None:
        self._world = world
        self._paces: dict[int, _Pace] = {}
        self._medians: list[float] = []  # of those that are known, sorted
        self._named: frozenset[int] = frozenset()

    def take(self, rank: int, own_s: float, now: float) -> None:
        """One more time of a rank, of a step or the mean over several."""
        if not 0 <= rank < self._world or not 0 < own_s < 1e6:
            return
        pace = self._paces.setdefault(rank, _Pace())
        pace.began_at = pace.began_at if pace.seen else now
        pace.seen += 1
        if pace.seen <= WARM_UP:
            return
        pace.times.append(own_s)
        pace.taken_at.append(now)
        if len(pace.times) == WINDOW:
            if pace.median is not None:
                del self._medians[bisect_left(self._medians, pace.median)]
            pace.median = statistics.median(pace.times)
            insort(self._medians, pace.median)
        usual = self._usual()
        if usual is None or own_s <= usual * (1 + STAYS):
            pace.slower_since = None
        elif pace.slower_since is None:
            pace.slower_since = now

    @property
    def judged(self) -> bool:
        """Whether enough ranks have told often enough."""
        return 2 <= self._world <= 2 * len(self._medians)

    def slow(self, now: float) -> tuple[Slow, ...]:
        """Who is slow at this moment, the slowest first. At most half of the ranks can be."""
        usual = self._usual()
        if not self.judged or usual is None:
            return ()
        medians = {
            rank: pace.median
            for rank, pace in sorted(self._paces.items())
            if pace.median is not None
        }
        of_usual = min(medians, key=lambda rank: (abs(medians[rank] - usual), rank))
        found = []
        for rank, own in medians.items():
            excess = own / usual - 1
            noise = _error(self._paces[rank].times) + _error(self._paces[of_usual].times)
            limit = STAYS if rank in self._named else LEAST
            if excess >= max(limit, NOISES * noise / usual):
                pace = self._paces[rank]
                since = pace.begin(usual * (1 + STAYS))
                found.append(Slow(rank, excess, own, usual, since, pace.every_s))
        self._named = frozenset(slow.rank for slow in found)
        return tuple(sorted(found, key=lambda slow: (-slow.excess, slow.rank)))

    def last_slow(self, rank: int) -> float | None:
        """When the last of its times came that was above what a slow rank stays above, of those
        that its median is of, before one was below; None where the first is."""
        pace, usual = self._paces.get(rank), self._usual()
        if pace is None or usual is None:
            return None
        times = zip(pace.taken_at, pace.times, strict=True)
        slow = takewhile(lambda time: time[1] > usual * (1 + STAYS), times)
        return max((at for at, _ in slow), default=None)

    def _usual(self) -> float | None:
        """The lower median of all ranks: with half of them slow it is that of one which is not."""
        count = len(self._medians)
        return self._medians[(count - 1) // 2] if count > 1 else None


def _error(times: Iterable[float]) -> float:
    """The standard error of their median, by their median absolute deviation."""
    values = list(times)
    middle = statistics.median(values)
    deviation = statistics.median(abs(value - middle) for value in values)
    return float(1.4826 * 1.2533 * deviation / len(values) ** 0.5)
