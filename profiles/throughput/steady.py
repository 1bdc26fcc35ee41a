"""Whether a run had a steady state: what happened to its speed inside the window, and where.

Benchmarks do not always settle (Barrett et al., Virtual Machine Warmup Blows Hot and Cold, OOPSLA
2017). Two questions are asked of the readings that count, one after the other:

1. *Stalls*: readings far below the median. Where they come first they are warm-up.
2. *A change of level* in the rest: of a step, a straight trend and an exponential approach the one
   that explains most of the scatter counts, if that is far more than chance, and material.

Nothing is ever left out for it: the window is the profile's, and so is the figure.
docs/statistics.md says how often this is right.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Any  # JSON

FEWEST_READINGS = 10
"""Below, nothing is said."""
STALL_DEPTH = 0.05
STALL_DEVIATIONS = 6.0
"""A stall lies below the median by both of these, the second in robust standard deviations …"""
STALL_SURELY = 0.5
"""… or by this in any case: where a third of the readings stall, so does the deviation grow."""
LONGEST_WARM_UP = 0.25
"""Share of the window; what is slow for longer and then fast is a step."""
LEVEL_Z = 4.5
"""How many standard errors a change of level must have. Three shapes at dozens of places are
tried, so that 2 would be nothing."""
MATERIAL_SIZE = 0.01
MATERIAL_COST = 0.001
"""What is smaller, or moves the window's mean by less, is not worth a word."""
_CORRELATED_AT_MOST = 0.9
_BLOCKS = 512
"""Means of more readings than these stand for them where a level is looked for."""
_DECAYS = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 80.0)
_SHORTEST_LEVEL = 3


class Shape(StrEnum):
    """How the speed was not steady."""

    WARM_UP = "warm_up"
    STEP = "step"
    TREND = "trend"
    STALLS = "stalls"


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One way in which a run was not steady.

    Parameters
    ----------
    size: relative change of speed: of a warm-up its first reading against what it settles at, of a
        trend from the first reading to the last, of stalls the deepest; -0.15 is 15% slower.
    cost: of stalls by how much the figure is below what it would be with these readings at the
        level of the others, relative to that; else by how much the mean over the window is off what
        it would be without. 0 or more. Of stalls in older journals it is of the mean, too.
    reading: where in the log, from 0: the first after a warm-up or a step, the first stall, the
        first of a trend; ``step`` is that reading's step where the log has steps.
    count: readings concerned.
    every: readings from stall to stall where they come regularly.
    """

    shape: Shape
    size: float
    cost: float
    reading: int
    step: float | None = None
    count: int = 1
    every: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "shape": str(self.shape),
            "size": self.size,
            "cost": self.cost,
            "reading": self.reading,
            "step": self.step,
            "count": self.count,
            "every": self.every,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Disturbance:
        """Raises TypeError, ValueError or KeyError for anything that :meth:`to_json` never gave."""
        step, every = value["step"], value["every"]
        disturbance = cls(
            shape=Shape(value["shape"]),
            size=float(value["size"]),
            cost=float(value["cost"]),
            reading=int(value["reading"]),
            step=None if step is None else float(step),
            count=int(value["count"]),
            every=None if every is None else int(every),
        )
        if not math.isfinite(disturbance.size) or not math.isfinite(disturbance.cost):
            raise ValueError("not a number")
        return disturbance


def lost_to_stalls(found: Iterable[Disturbance] | None) -> float:
    """The share of a figure that stalls cost, 0 to 1; 0 where nobody looked."""
    return min(1.0, sum(one.cost for one in found or () if one.shape is Shape.STALLS))


def disturbances(
    speeds: Sequence[float],
    steps: Sequence[float] = (),
    first: int = 0,
    figure: Callable[[Sequence[float]], float] = statistics.fmean,
) -> tuple[Disturbance, ...] | None:
    """What was not steady about the readings of a window; None where they are too few to tell.

    Parameters
    ----------
    speeds: of the readings in the window, in their order; any unit in which more is faster.
    steps: theirs, NaN for unknown; may be left out.
    first: number of the first of them in the log.
    figure: what the run's figure is of such speeds; twice as fast is twice as much.
    """
    if len(speeds) < FEWEST_READINGS:
        return None
    center = statistics.median(speeds)
    if not math.isfinite(center) or center <= 0 or not all(map(math.isfinite, speeds)):
        return None
    relative = [speed / center for speed in speeds]
    if min(relative) < 1e-6 or max(relative) > 1e6:
        # Standing still, and whatever else no speed can be, must not overflow a sum of squares.
        relative = [min(max(speed, 1e-6), 1e6) for speed in relative]
    stalled = _stalled(relative)
    lead = _run(stalled)
    going = [i for i, stall in enumerate(stalled) if not stall]  # the median and more, at least
    level = _level([relative[i] for i in going])
    found = []
    if lead:
        found.append(_cold_start(relative, lead, level))
        level = None if level is not None and level.shape is Shape.WARM_UP else level
    if level is not None:
        at = going[min(level.reading, len(going) - 1)]
        found.append(replace(level, reading=at))
    stalls = [i for i in range(lead, len(relative)) if stalled[i]]
    of_mean = [disturbance.cost for disturbance in found]
    if stalls:
        mended = list(relative)
        level_of_others = statistics.median(relative[i] for i in going)
        for at in stalls:
            mended[at] = level_of_others
        of_mean.append(_below(relative, mended, statistics.fmean))
        found.append(_stalls(relative, stalls, _below(relative, mended, figure)))
    return tuple(
        _located(disturbance, steps, first)
        for disturbance, cost in zip(found, of_mean, strict=True)
        if abs(disturbance.size) >= MATERIAL_SIZE and max(disturbance.cost, cost) >= MATERIAL_COST
    )


def _below(
    was: Sequence[float], could: Sequence[float], figure: Callable[[Sequence[float]], float]
) -> float:
    """By how much, relative to what could be; 0 or more."""
    best = figure(could)
    return max(0.0, 1 - figure(was) / best) if math.isfinite(best) and best > 0 else 0.0


def _stalled(relative: Sequence[float]) -> list[bool]:
    """Which readings lie far below the median, which is 1."""
    deviation = 1.4826 * statistics.median(abs(value - 1) for value in relative)
    depth = min(max(STALL_DEPTH, STALL_DEVIATIONS * deviation), STALL_SURELY)
    stalled = [value < 1 - depth for value in relative]
    # What begins low for longer than a warm-up, or stays low to the end, is a level.
    lead, tail = _run(stalled), _run(stalled[::-1])
    longest = len(relative) * LONGEST_WARM_UP
    if lead > longest:
        stalled[:lead] = [False] * lead
    elif lead:  # a warm-up ends where the first reading is like the others
        ends = _run([value < 1 - deviation for value in relative])
        lead = ends if ends <= longest else lead
        stalled[:lead] = [True] * lead
    if tail >= _SHORTEST_LEVEL:
        stalled[len(stalled) - tail :] = [False] * tail
    return stalled


def _run(stalled: Sequence[bool]) -> int:
    """How many are stalled from the beginning on."""
    return next((i for i, stall in enumerate(stalled) if not stall), len(stalled))


def _cold_start(relative: Sequence[float], lead: int, level: Disturbance | None) -> Disturbance:
    """Stalls before anything else, and the approach behind them where there is one."""
    settled, off = lead, 0.0
    if level is not None and level.shape is Shape.WARM_UP:
        settled, off = lead + level.reading, level.cost
    missing = sum(1 - value for value in relative[:lead]) / len(relative)
    return Disturbance(Shape.WARM_UP, relative[0] - 1, missing + off, settled, count=settled)


def _stalls(relative: Sequence[float], stalls: Sequence[int], cost: float) -> Disturbance:
    starts = [at for at, before in zip(stalls, [-2, *stalls], strict=False) if at - before > 1]
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    every = None
    if len(gaps) >= 2 and max(gaps) - min(gaps) <= 2:
        every = round(statistics.median(gaps))
    deepest = min(relative[at] for at in stalls) - 1
    return Disturbance(Shape.STALLS, deepest, cost, stalls[0], count=len(stalls), every=every)


@dataclass(frozen=True, slots=True)
class _Fit:
    """``explained``: of the sum of squares; ``at``: the reading that the shape begins or ends."""

    explained: float
    shape: Shape
    size: float
    at: int
    values: Sequence[float]


def _level(values: Sequence[float]) -> Disturbance | None:
    """The change of level that explains most of how the readings scatter, if it is none of chance.

    Its F statistic takes the scatter around the fit, and neighbours that take after each other
    (running means, slow swings) count for fewer than they are.
    """
    if len(values) < FEWEST_READINGS:
        return None
    width = -(-len(values) // _BLOCKS)
    blocks = [statistics.fmean(part) for part in _parts(values, width)]
    total = sum((value - statistics.fmean(blocks)) ** 2 for value in blocks)
    best = max(_fits(blocks), key=lambda fit: fit.explained)
    left = [value - fitted for value, fitted in zip(blocks, best.values, strict=True)]
    scatter = math.fsum(rest * rest for rest in left)
    if total <= 1e-24:
        return None
    after = math.fsum(a * b for a, b in pairwise(left)) / scatter if scatter else 0.0
    correlated = min(max(after, 0.0), _CORRELATED_AT_MOST)
    noise = max(scatter, 1e-12 * total) / (len(blocks) - 3)
    if best.explained * (1 - correlated) / (1 + correlated) < LEVEL_Z**2 * noise:
        return None
    at = min(best.at * width, len(values))
    cost = abs(statistics.fmean(best.values) / best.values[-1] - 1)
    count = at if best.shape is Shape.WARM_UP else len(values) - at
    return Disturbance(best.shape, best.size, cost, at, count=count)


def _parts(values: Sequence[float], width: int) -> Iterator[Sequence[float]]:
    return (values[at : at + width] for at in range(0, len(values) - width + 1, width))


def _fits(values: Sequence[float]) -> Iterator[_Fit]:
    n, mean = len(values), statistics.fmean(values)
    yield _step(values, mean)
    yield _regression(values, mean, [float(i) for i in range(n)], Shape.TREND)
    for tau in _DECAYS:
        if tau > n / 2:
            return
        fit = _regression(values, mean, [math.exp(-i / tau) for i in range(n)], Shape.WARM_UP)
        # Settled where what is left is no longer material.
        settled = math.ceil(tau * math.log(max(1.0, abs(fit.size) / MATERIAL_SIZE)))
        yield _Fit(fit.explained, fit.shape, fit.size, min(settled, n - 1), fit.values)


def _step(values: Sequence[float], mean: float) -> _Fit:
    """The best of all places, three readings from either end at least."""
    n, sums = len(values), list(accumulate(values))
    places = range(_SHORTEST_LEVEL, n - _SHORTEST_LEVEL + 1)
    explained, at = max(((sums[k - 1] - k * mean) ** 2 * n / (k * (n - k)), k) for k in places)
    before, after = sums[at - 1] / at, (sums[-1] - sums[at - 1]) / (n - at)
    fitted = [before] * at + [after] * (n - at)
    if at <= n * LONGEST_WARM_UP and before < after:
        return _Fit(explained, Shape.WARM_UP, before / after - 1, at, fitted)
    return _Fit(explained, Shape.STEP, after / before - 1, at, fitted)


def _regression(values: Sequence[float], mean: float, by: Sequence[float], shape: Shape) -> _Fit:
    """Least squares on one regressor; the size is from the first reading to the last."""
    middle = statistics.fmean(by)
    squares = math.fsum((x - middle) ** 2 for x in by)
    slope = math.fsum((x - middle) * (y - mean) for x, y in zip(by, values, strict=True)) / squares
    fitted = [mean + slope * (x - middle) for x in by]
    first, last = fitted[0], fitted[-1]
    if min(first, last) <= 0:  # no shape that a speed can have
        return _Fit(0.0, shape, 0.0, 0, [mean] * len(fitted))
    size = last / first - 1 if shape is Shape.TREND else first / last - 1
    return _Fit(slope * slope * squares, shape, size, 0, fitted)


def _located(disturbance: Disturbance, steps: Sequence[float], first: int) -> Disturbance:
    at = disturbance.reading
    step = steps[at] if at < len(steps) and math.isfinite(steps[at]) else None
    return replace(disturbance, reading=first + at, step=step)
