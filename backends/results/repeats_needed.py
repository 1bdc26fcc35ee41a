"""How many repeats would decide what a comparison leaves open."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence

from backends.results.ratios import CONFIDENCE, FEWEST
from backends.results.student import quantile

MOST_NEEDED = 1000
"""Repeats beyond which "more repeats would decide" is no advice; a campaign takes no more."""


def repeats_needed(ours: Sequence[float], theirs: Sequence[float], threshold: float) -> int | None:
    """How many repeats on either side would give a verdict, if estimate and spread stay as they
    are: the fewest whose interval excludes 1, or stays within the threshold.

    None where more than 1000 would be needed.
    """
    logs = [[math.log(value) for value in side] for side in (ours, theirs)]
    scattering = [side for side in logs if len(side) > 1]
    freedom = sum(len(side) - 1 for side in scattering)
    if not freedom:
        return FEWEST
    variance = sum(statistics.variance(side) * (len(side) - 1) for side in scattering) / freedom
    change = statistics.fmean(logs[1]) - statistics.fmean(logs[0])
    down, up = math.log1p(-threshold), math.log1p(threshold)
    room = min(change - down, up - change) if down <= change <= up else abs(change)

    def decides(n: int) -> bool:
        return quantile(CONFIDENCE, 2 * (n - 1)) * math.sqrt(2 * variance / n) < room

    possible = range(max(FEWEST, min(len(ours), len(theirs)) + 1), MOST_NEEDED + 1)
    found = bisect_left(possible, True, key=decides)
    return possible[found] if found < len(possible) else None
