"""When readings that came together were made: what a chart shows where they all arrive at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

TOGETHER_S = 0.05
"""What comes within this time came in one piece."""


def spread(times: Sequence[float], start: float) -> list[float]:
    """Times of receipt as the times at which the readings were made, as far as anybody can tell.

    Readings that came in one piece, after a lost connection or while nobody was attached, are put
    evenly between the one before them and their receipt; ``start``: when the first could have been
    made. In order, as they came.
    """
    made: list[float] = []
    before, first = start, 0
    for number, at in enumerate(times):
        if number + 1 < len(times) and times[number + 1] - times[first] <= TOGETHER_S:
            continue
        many = number + 1 - first
        since = min(before, at)
        made += [since + (at - since) * (n + 1) / many for n in range(many - 1)]
        made.append(at)
        before, first = (at if math.isfinite(at) else before), number + 1
    return made
