"""Sums and order of any number of values in bounded memory, exact to the last bit."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from fractions import Fraction
from itertools import islice

_PIECE = 1 << 16  # values that are objects of Python at one time
_MANY = 1 << 16  # from here on it pays to load numpy


class ExactSum:
    """Grows by floats; :attr:`value` is their sum correctly rounded, as ``math.fsum`` over all is.

    What was added is kept as the few floats whose sum it is without any error: its rounded value,
    the rounded value of what that leaves, and so on (J. R. Shewchuk, Adaptive Precision
    Floating-Point Arithmetic, 1997).
    """

    def __init__(self) -> None:
        self._parts: list[float] = []
        self.endless = False
        """The sum, or a value, was beyond all floats or no number; :attr:`value` is infinite."""

    def add(self, values: Iterable[float]) -> None:
        more = iter(values)
        while piece := list(islice(more, _PIECE)):
            self._add(piece)

    def _add(self, piece: list[float]) -> None:
        left = [*self._parts, *piece]
        parts: list[float] = []
        try:
            while rest := math.fsum(left):
                if not math.isfinite(rest):
                    self.endless = True
                    break
                parts.append(rest)
                left.append(-rest)
        except (OverflowError, ValueError):  # ValueError: infinite and minus infinite
            self.endless = True
        self._parts = [] if self.endless else parts

    @property
    def value(self) -> float:
        return math.inf if self.endless else math.fsum(self._parts)

    @property
    def fraction(self) -> Fraction:
        """The sum itself, where it is not :attr:`endless`."""
        return sum(map(Fraction, self._parts), Fraction())


def sort(values: array[float]) -> None:
    """In place. As objects of Python ten million are 400 MB, and hold up all other threads."""
    if len(values) < _MANY:
        values[:] = array("d", sorted(values))
        return
    import numpy as np  # noqa: PLC0415  # as slow to load as all of the rest

    np.frombuffer(values).sort()


def median(values: array[float]) -> float:
    """As :func:`statistics.median`; the values are sorted by it."""
    sort(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
