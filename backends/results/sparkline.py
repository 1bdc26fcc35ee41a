"""A series as one line of text."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from backends.results.numbers import NOTHING

LONGEST = 40
MISSING, FAILED, CHANGED, DOUBTED = "·", "×", "│", "D"
_BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(
    values: Sequence[float | None],
    changed: Collection[int] = (),
    least: float = 0.02,
    doubted: Collection[int] = (),
) -> str:
    """``▇▇█▇│▂▂▁``: the last 40, scaled from their smallest to their largest.

    ``values``: None for what failed, NaN for what is not there. ``changed``: places before which
    there is a bar. ``least``: relative range that takes the whole height, so that noise is flat.
    ``doubted``: places of grade D, which have that behind them.
    """
    shown = range(max(0, len(values) - LONGEST), len(values))
    known = [v for at in shown if (v := values[at]) is not None and not math.isnan(v)]
    if not known:
        return NOTHING
    low, high = min(known), max(known)
    room = max(0.0, least * high - (high - low))
    low, high = low - room / 2, high + room / 2
    text = "…" if shown.start else ""
    for at in shown:
        text += CHANGED if at in changed and at > shown.start else ""
        text += _mark(values[at], low, high) + DOUBTED * (at in doubted)
    return text


def _mark(value: float | None, low: float, high: float) -> str:
    if value is None:
        return FAILED
    if math.isnan(value):
        return MISSING
    share = (value - low) / (high - low) if high > low else 0.5
    return _BLOCKS[min(int(share * len(_BLOCKS)), len(_BLOCKS) - 1)]
