"""The axes of a chart: round values, in rows of braille, and names of rows in their place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

DOTS, MIDDLE = 4, 2
"""Dots in a row of braille, and which of them, from below, stands for the middle of a word."""
SMALLEST_TOP = 1e-9
GOOD_TICKS = 4
AXIS_ABOVE_0 = "axis not from 0"


def nice_step(span: float, steps: int) -> float:
    """The smallest of 1, 2, 2.5, 5 × 10^n that divides ``span`` into at most ``steps``."""
    if span <= 0 or steps < 1:
        return 1.0
    raw = span / steps
    power = 10.0 ** math.floor(math.log10(raw))
    return next((m * power for m in (1, 2, 2.5, 5) if m * power >= raw * 0.999), 10 * power)


@dataclass(frozen=True, slots=True)
class Scale:
    """A value axis in rows of four dots, the finest that braille draws. ``bottom`` is in the middle
    of the lowest row.

    ``dot``: the value from one dot to the next; every tick is the middle of a row.
    """

    rows: int
    dot: float
    ticks: tuple[tuple[float, str], ...]
    bottom: float = 0.0

    @property
    def limits(self) -> tuple[float, float]:
        """The values of the lowest and of the highest dot."""
        low = self.bottom - MIDDLE * self.dot
        return low, low + (DOTS * self.rows - 1) * self.dot

    def middle(self, value: float) -> float:
        """The middle of the row in which a curve shows ``value``."""
        row = int((value - self.limits[0]) / self.dot + 0.5) // DOTS
        return self.bottom + min(max(row, 0), self.rows - 1) * DOTS * self.dot

    def between(self, low: float, high: float) -> list[float]:
        """The middles of the rows from the one of ``low`` to the one of ``high``."""
        first, last = self.middle(low), self.middle(high)
        apart = DOTS * self.dot
        return [first + row * apart for row in range(round((last - first) / apart) + 1)]


THREE_TICKS = 8
"""Rows from which a third tick costs the values little of their height."""


def value_scale(top: float, rows: int, bottom: float = 0.0, unit: str = "") -> Scale:
    """The axis from ``bottom``, or a little below, to at least ``top`` whose ticks are round and
    equally many rows apart.

    Of all such axes: about four ticks, and as little space beside the values as that allows; never
    two ticks with values far above them where :data:`THREE_TICKS` have room.
    """
    dots = DOTS * rows - 1 - MIDDLE
    dot = max(top - bottom, SMALLEST_TOP) / dots
    highest = top - 0.002 * (top - bottom)
    found: list[tuple[float, int, float, float]] = []
    for apart in range(min(2, rows - 1), rows):
        step = nice_step(DOTS * apart * dot, 1)
        while (start := _at_or_below(bottom, step)) + dots * step / (DOTS * apart) < highest:
            step = nice_step(1.5 * step, 1)
        waste = step / (DOTS * apart * dot) - 1
        number = (rows - 1) // apart + 1
        if rows >= THREE_TICKS and number < 3 and apart < rows - 1 and start + step < highest:
            continue  # its last tick is far below the values
        found.append((waste + 0.15 * abs(number - GOOD_TICKS), apart, step, start))
    _, apart, step, start = min(found)
    values = (start + i * step for i in range((rows - 1) // apart + 1))
    ticks = tuple((value, f"{_tick(value)}{unit}") for value in values)
    return Scale(rows, step / (DOTS * apart), ticks, start)


def _tick(value: float) -> str:
    """1,500,000, and not 1.5e+06; what nobody could read either way is short."""
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e9 else f"{value:,.6g}"


def _at_or_below(value: float, step: float) -> float:
    return math.floor(value / step + 1e-9) * step


def named_scale(names: Sequence[str], rows: int) -> Scale:
    """The lowest of ``rows`` have names, the last of them is at 0: 1 lies a row above."""
    ticks = tuple((float(place), name) for place, name in enumerate(reversed(names)))
    return Scale(rows, 1 / DOTS, ticks)


def value_ticks(top: float, columns: int) -> tuple[tuple[float, str], ...]:
    """Round values from 0 to ``top``, one for every sixteen columns at most."""
    step = nice_step(top, max(1, columns // 16))
    return tuple((place * step, _tick(place * step)) for place in range(int(top / step) + 1))
