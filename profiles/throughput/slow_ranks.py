"""Which ranks are slower than the others, while a run is at work. Pure.

Under synchronous data parallelism every rank's *step* takes the same time, that of the slowest.
What tells them apart is the time that a rank takes of its own, from the end of one exchange of
gradients to the moment when it has its own ready for the next: the others wait for the longest.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

WARM_UP = 2
"""The first times of each rank, with compiling and the choice of kernels in them, do not count."""
WINDOW = 5
LEAST = 0.05
"""By how much a rank has to be slower to be named …"""
STAYS = 0.03
"""… and to stay so."""
NOISES = 3.0
"""Of its own standard error, and of the usual rank's."""
KEPT = 4096
"""Times of a rank that wait for the others' or that a median can be of."""


@dataclass(frozen=True, slots=True)
class Slow:
    """``excess``: 0.12 is 12% above ``usual_s``, the median of the other ranks' own times per step.

    Both and ``own_s`` are medians over ``steps``, the first and the last. ``since``, ``until``:
    where its first span begins and the last ends, in the seconds of who asks; until None: it still
    is. ``between_s``: not slow in that time.
    """

    rank: int
    excess: float
    own_s: float
    usual_s: float
    since: float
    until: float | None
    between_s: float
    steps: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Told:
    """A rank's mean per step over the steps after ``begin`` up to ``end``, told ``at``."""

    begin: int
    end: int
    own_s: float
    at: float


@dataclass(frozen=True, slots=True)
class _Lap:
    """All ranks' means over the same steps; ``at``: when the first of them had told of it."""

    begin: int
    end: int
    own_s: tuple[float, ...]
    at: float


@dataclass(slots=True)
class _Span:
    """Laps in which a rank is slow, by their number."""

    first: int
    last: int
    since: float
    until: float


class RankPaces:
    """The own times of all ranks of a run, ``world`` of them, as they come, however late some do.

    Ranks are compared over the same steps alone, those of a lap of rank 0, once all have told of
    these: what is found then does not depend on whose times came first.
    """

    def __init__(self, world: int) -> None:
        self._world = world
        self._told: list[deque[_Told]] = [deque(maxlen=KEPT) for _ in range(world)]
        self._seen = [0] * world
        self._ends = [0] * world  # the last step that each has told of
        self._warm_from = 0
        self._due = 0  # the last step of the lap that is next
        self._behind: set[int] = set()  # who has not told of it
        self._laps: deque[_Lap] = deque(maxlen=KEPT)
        self._count = 0
        self._named: frozenset[int] = frozenset()
        self._spans: dict[int, list[_Span]] = {}
        self._over: dict[int, tuple[int, Slow | None]] = {}  # of those that are not slow now

    def take(self, rank: int, step: int, own_s: float, now: float) -> None:
        """One more time of a rank, the mean per step since the step that it told of before.

        What was told of a step counts, and not what is told of it again.
        """
        if not 0 <= rank < self._world or not 0 < own_s < 1e6 or step <= self._ends[rank]:
            return
        self._seen[rank] += 1
        if self._seen[rank] <= WARM_UP:
            self._warm_from = max(self._warm_from, step)
        else:
            self._told[rank].append(_Told(self._ends[rank], step, own_s, now))
        self._ends[rank] = step
        if step >= self._due and self._seen[rank] >= WARM_UP:
            self._behind.discard(rank)
        while self._told[0]:
            if (due := self._told[0][0].end) != self._due:
                self._due = due
                self._behind = {
                    one
                    for one in range(self._world)
                    if self._ends[one] < due or self._seen[one] < WARM_UP
                }
            if self._behind:
                break
            self._judge(self._told[0].popleft())

    @property
    def judged(self) -> bool:
        """Whether all ranks have told of enough steps."""
        return self._count >= WINDOW

    def slow(self, *, ended: bool = False) -> tuple[Slow, ...]:
        """Who is or was slow, the slowest first. At most half of the ranks are at a time.

        By its last times, whoever is; with ``ended`` and of the others by all in which it was. Of
        spans that are over, those of fewer laps than a median is of count for nothing.
        """
        slow = [self._slow(rank, ended=ended) for rank in self._spans]
        found = [one for one in slow if one is not None]
        return tuple(sorted(found, key=lambda one: (-one.excess, one.rank)))

    def _judge(self, lap: _Told) -> None:
        if lap.begin < self._warm_from:
            return
        means = [_mean(told, lap) for told in self._told[1:]]
        own_s = (lap.own_s, *(mean for mean, _ in means))
        at = min(lap.at, *(at for _, at in means)) if means else lap.at
        self._laps.append(_Lap(lap.begin, lap.end, own_s, at))
        self._count += 1
        if self._count < WINDOW or self._world < 2:
            return
        self._named = self._slow_now()
        number = self._count - 1 - WINDOW // 2
        first = 0 if self._count == WINDOW else number
        for rank in self._named:
            spans = self._spans.setdefault(rank, [])
            if not spans or spans[-1].last < first - 1:
                spans.append(_Span(first, first, self._lap(first).at, 0.0))
            spans[-1].last, spans[-1].until = number, self._lap(number).at
        if self._count % (KEPT // 2) == 0:
            self.slow()  # of spans that are over, before their laps are let go

    def _slow_now(self) -> frozenset[int]:
        """Those that are slower than the usual rank, the lower median of all: with half of them
        slow it is one which is not."""
        times = list(zip(*self._last(WINDOW), strict=True))
        medians = [sorted(own)[WINDOW // 2] for own in times]
        usual = sorted(medians)[(self._world - 1) // 2]
        noise = _error(times[medians.index(usual)])
        named = set()
        for rank, own in enumerate(medians):
            excess = own / usual - 1
            if excess >= (STAYS if rank in self._named else LEAST) and (
                excess * usual >= NOISES * (noise + _error(times[rank]))
            ):
                named.add(rank)
        return frozenset(named)

    def _slow(self, rank: int, *, ended: bool) -> Slow | None:
        spans = self._spans[rank]
        if rank in self._named:
            spans = [*_long(spans[:-1]), spans[-1]]
            tail = range(spans[-1].last + 1, self._count)
            window = range(self._count - WINDOW, self._count)
            numbers = [*_numbers(spans), *tail] if ended else window
            return self._over_laps(rank, spans, numbers, still=True)
        last = spans[-1].last
        known = self._over.get(rank)
        if known is None or known[0] != last:
            spans = _long(spans)
            slow = self._over_laps(rank, spans, _numbers(spans), still=False)
            known = self._over[rank] = (last, slow)
        return known[1]

    def _over_laps(
        self, rank: int, spans: Sequence[_Span], numbers: Sequence[int], *, still: bool
    ) -> Slow | None:
        laps = [self._lap(number) for number in numbers if number >= self._count - len(self._laps)]
        if not laps:
            return None
        times = zip(*(lap.own_s for lap in laps), strict=True)
        medians = [statistics.median(own_s) for own_s in times]
        own = medians[rank]
        if own < sorted(medians)[(self._world - 1) // 2] * (1 + STAYS):
            return None
        usual = statistics.median(medians[:rank] + medians[rank + 1 :])
        return Slow(
            rank=rank,
            excess=own / usual - 1,
            own_s=own,
            usual_s=usual,
            since=spans[0].since,
            until=None if still else spans[-1].until,
            between_s=sum(
                after.since - before.until
                for before, after in pairwise(spans)
                if after.first - before.last > 2
            ),
            steps=(laps[0].begin + 1, laps[-1].end),
        )

    def _lap(self, number: int) -> _Lap:
        return self._laps[number - self._count]

    def _last(self, count: int) -> list[tuple[float, ...]]:
        return [lap.own_s for lap in islice(reversed(self._laps), count)]


def _long(spans: Sequence[_Span]) -> list[_Span]:
    return [span for span in spans if span.last - span.first >= WINDOW - 1]


def _numbers(spans: Iterable[_Span]) -> list[int]:
    return [number for span in spans for number in range(span.first, span.last + 1)]


def _mean(told: deque[_Told], lap: _Told) -> tuple[float, float]:
    """Per step of the lap, by what a rank told of it, and when it had; what is before is let go."""
    while told[0].end <= lap.begin:
        told.popleft()
    seconds, step, at = 0.0, lap.begin, told[0].at
    for one in told:
        steps = min(one.end, lap.end) - step
        seconds, step, at = seconds + steps * one.own_s, step + steps, one.at
        if step == lap.end:
            break
    return seconds / (lap.end - lap.begin), at


def _error(values: Sequence[float]) -> float:
    """The standard error of their median, by their median absolute deviation."""
    middle = _middle(values)
    deviation = _middle(abs(value - middle) for value in values)
    return float(1.4826 * 1.2533 * deviation / len(values) ** 0.5)


def _middle(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
