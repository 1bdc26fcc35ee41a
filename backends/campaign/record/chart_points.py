"""When readings that came together were made: what a chart shows where they all arrive at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

TOGETHER_S = 0.05
"""What comes within this time came in one piece."""
MUCH_SLOWER = 3.0
"""A piece that would have been made so many times slower than all before it was over long before it
came."""


def spread(times: Sequence[float], start: float) -> list[float]:
    """Times of receipt as the times at which the readings were made, as far as anybody can tell.

    Readings that came in one piece, after a lost connection or while nobody was attached, are put
    evenly between the one before them and their receipt, or at the pace of those before where that
    is far shorter: the run had ended meanwhile. ``start``: when the first could have been made. In
    order, as they came.
    """
    made: list[float] = []
    before, first = start, 0
    for number, at in enumerate(times):
        if number + 1 < len(times) and times[number + 1] - times[first] <= TOGETHER_S:
            continue
        many = number + 1 - first
        since = min(before, at)
        end = _ended(since, at, many, usual=(before - start) / first if first else math.inf)
        made += [since + (end - since) * (n + 1) / many for n in range(many - 1)]
        made.append(end)
        before, first = (end if math.isfinite(end) else before), number + 1
    return made


def _ended(since: float, at: float, many: int, usual: float) -> float:
    """When the last of a piece was made: at its receipt, unless the usual step says it was over."""
    if many == 1 or not 0.0 < usual * MUCH_SLOWER < (at - since) / many:
        return at
    return since + usual * many
