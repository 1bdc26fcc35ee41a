"""Averages over the readings of a window. All take at least one finite number."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from profiles.format.profile import Trim


def trimmed_mean(values: Sequence[float], trim: Trim) -> tuple[float, int]:
    """Sort, drop the larger of ``trim.at_least`` and ``trim.fraction`` from each end, average.

    The rule of Paddle's benchmark and TIPC log analysis with its defaults. Returns the mean and how
    many were dropped from each end: none where nothing would be left.
    """
    dropped = max(trim.at_least, int(trim.fraction * len(values)))
    kept = sorted(values)[dropped : len(values) - dropped]
    if not kept:
        return statistics.fmean(values), 0
    return statistics.fmean(kept), dropped


def harmonic_mean(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Weighted harmonic mean; 0 if a value is not positive (that part took forever)."""
    if min(values) <= 0:
        return 0.0
    return statistics.harmonic_mean(values, weights)


def step_weights(steps: Sequence[float], before: float) -> list[float] | None:
    """Steps that each reading stands for: the distance to the one before it.

    ``before``: the step of the reading before the first one, NaN without. Where steps are unknown
    or do not grow (a new epoch), the usual distance stands in. None: no distance is known.
    """
    previous = [before, *steps[:-1]]
    distances = [now - then for then, now in zip(previous, steps, strict=True)]
    known = [distance for distance in distances if distance > 0 and math.isfinite(distance)]
    if not known:
        return None
    usual = statistics.median(known)
    return [distance if distance > 0 else usual for distance in distances]
