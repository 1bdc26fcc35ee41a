"""Cumulative readings turned back into what happened since the reading before."""

from __future__ import annotations

import math

from profiles.format.measure_section import Cumulative


class Intervals:
    """Readings that are the ``mean``, or the ``total``, of all steps since the run began.

    A mean that is printed with few digits says little of a short interval late in the run; over a
    window such errors cancel.
    """

    def __init__(self, kind: Cumulative) -> None:
        self._kind = kind
        self._step = self._total = math.nan

    def since_before(self, value: float, step: float) -> float:
        """Per step, in the steps since the reading before; NaN where there is none to compare with.

        Where the steps fall, or a total does, a new count has begun. A step that is told again
        is no interval: what it took since goes to the next.
        """
        total = value * step if self._kind == "mean" else value
        steps, more = step - self._step, total - self._total
        if steps == 0 and more >= 0:
            return math.nan
        fresh = not (steps > 0 and more >= 0)
        self._step, self._total = step, total
        if not fresh:
            return more / steps
        return value if self._kind == "mean" else math.nan
