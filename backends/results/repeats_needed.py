"""How many repeats, or campaigns, would decide what a comparison or a history leaves open."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence

from backends.results.ratios import CONFIDENCE, FEWEST
from backends.results.student import quantile

MOST_NEEDED = 1000
"""Repeats beyond which "more repeats would decide" is no advice; a campaign takes no more."""


def needed_words(number: int | None, of: str = "repeats on either side") -> str:
    """Of what :func:`repeats_needed` found."""
    if number is None:
        return f"more than {MOST_NEEDED} {of} would be needed to decide"
    return f"about {number} {of} would decide"


def repeats_needed(
    ours: Sequence[float], theirs: Sequence[float], threshold: float, places: int = 1
) -> int | None:
    """How many repeats on either side would give a verdict, if estimate and spread stay as they
    are: the fewest whose interval excludes 1, or stays within the threshold. ``places``: over how
    many a change beyond the threshold has to stand.

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
    within = down <= change <= up
    room = min(change - down, up - change) if within else abs(change)
    confidence = CONFIDENCE if within else 1 - (1 - CONFIDENCE) / places

    def decides(n: int) -> bool:
        return quantile(confidence, 2 * (n - 1)) * math.sqrt(2 * variance / n) < room

    possible = range(max(FEWEST, min(len(ours), len(theirs)) + 1), MOST_NEEDED + 1)
    found = bisect_left(possible, True, key=decides)
    return possible[found] if found < len(possible) else None
