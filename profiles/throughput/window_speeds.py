"""The speeds of a window in bounded memory, for the question whether they were steady."""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from profiles.throughput.chosen import Part
from profiles.throughput.steady import Disturbance, disturbances

MOST = 1 << 16
"""Up to so many readings each counts by itself; of more, means of two, of four … stand for them."""

FAR_ABOVE = 3.0
"""Times the median of the window, above which no reading of a published log is."""
_FEWEST = 3  # readings of which the median is one of the others


@dataclass(frozen=True, slots=True)
class FarAbove:
    """``count`` of the ``of`` readings are far above the median, the highest ``times`` of it: the
    one with this number in the log, from 0, and this step, NaN for unknown."""

    count: int
    of: int
    times: float
    reading: int
    step: float


class Speeds:
    """Grows with the readings of a window; any batching gives the same.

    ``durations``: the readings are seconds per step.
    """

    def __init__(self, *, durations: bool) -> None:
        self._durations = durations
        self._width = 1  # readings for which one value stands
        self._values = array("d")
        self._steps = array("d")  # of the first of them
        self._rest = array("d")  # fewer than the width

    def add(self, part: Part) -> None:
        values = part.values
        if self._durations:
            values = _inverse(values) if self._width == 1 else _inverse_of_many(values)
        # Pieces, so that no more than twice the most are here at once.
        for start in range(0, len(values), MOST):
            self._add(values[start : start + MOST], part.steps[start : start + MOST])

    def _add(self, values: array[float], steps: array[float]) -> None:
        begun = len(self._rest)
        self._rest.extend(values)
        whole = len(self._rest) - len(self._rest) % self._width
        self._values.extend(_means(self._rest[:whole], self._width))
        self._steps.extend(steps[-begun % self._width :: self._width])
        del self._rest[:whole]
        while len(self._values) > MOST:
            odd = len(self._values) % 2
            if odd:  # it has no partner yet
                self._rest = array("d", [self._values.pop()] * self._width) + self._rest
            self._values = _means(self._values, 2)
            self._steps = self._steps[::2]
            self._width *= 2

    @property
    def over_sizes(self) -> bool:
        """Whether their steps rise all the way and are no count: sizes in bytes, say."""
        pairs = list(pairwise(self._steps))
        rising = bool(pairs) and all(after > before for before, after in pairs)
        return rising and any(after - before > self._width for before, after in pairs)

    def disturbances(
        self, first: int, figure: Callable[[Part], float]
    ) -> tuple[Disturbance, ...] | None:
        """What was not steady; ``first``: the number in the log of the window's first reading;
        ``figure``: what the rule makes of readings of the log's kind."""
        steps = self._steps[: len(self._values)]

        def speed(values: Sequence[float]) -> float:
            speeds = array("d", values)
            if not self._durations:
                return figure(Part(speeds, steps, array("d")))
            seconds = figure(Part(_inverse(speeds), steps, array("d")))
            return 1 / seconds if seconds > 0 else math.inf

        found = disturbances(self._values, self._steps, figure=speed)
        if found is None:
            return None
        return tuple(self._scaled(disturbance, first) for disturbance in found)

    def far_above(self, first: int) -> FarAbove | None:
        """Readings that are more than ``FAR_ABOVE`` times as fast as the median; ``first`` as of
        :meth:`disturbances`."""
        values = self._values
        if len(values) < _FEWEST or max(values) <= FAR_ABOVE * min(values):
            return None  # the second without sorting them
        center = statistics.median(values)
        if center <= 0 or max(values) <= FAR_ABOVE * center:
            return None
        at = values.index(max(values))
        return FarAbove(
            count=self._width * sum(value > FAR_ABOVE * center for value in values),
            of=self._width * len(values) + len(self._rest),
            times=values[at] / center,
            reading=first + at * self._width,
            step=self._steps[at] if at < len(self._steps) else math.nan,
        )

    def _scaled(self, one: Disturbance, first: int) -> Disturbance:
        return replace(
            one,
            reading=first + one.reading * self._width,
            count=one.count * self._width,
            every=None if one.every is None else one.every * self._width,
        )


def _inverse(durations: array[float]) -> array[float]:
    """Speeds; infinite where no time passed."""
    if min(durations) > 0:  # as most, and fast
        return array("d", map((1.0).__truediv__, durations))
    return array("d", (1 / duration if duration > 0 else math.inf for duration in durations))


def _inverse_of_many(durations: array[float]) -> array[float]:
    """The same, where numpy is here because there are many."""
    import numpy as np  # noqa: PLC0415

    seconds = np.array(durations)
    speeds = np.full(len(seconds), math.inf)
    np.divide(1.0, seconds, out=speeds, where=seconds > 0)
    return array("d", speeds.tobytes())


def _means(values: array[float], width: int) -> array[float]:
    """Of each ``width``, a power of two, pair by pair; they come out even."""
    if width == 1:
        return values
    import numpy as np  # noqa: PLC0415  # of more readings than it takes to be worth it

    means = np.array(values)
    while width > 1:
        means = (means[::2] + means[1::2]) * 0.5
        width //= 2
    return array("d", means.tobytes())
