"""Numbers and texts at the same places of many lines, read from all of them at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiles.logs.json_fields import Place
from profiles.logs.readings import to_number

Bytes = NDArray[np.uint8]
"""Lines of one length, a row each."""
Numbers = NDArray[np.float64]

_PLAIN = re.compile(rb"[+-]?(?=\.?\d)(?:\d*|\d{1,3}(?:,\d{3})+)(?:\.(?P<decimals>\d*))?,*")
_DIGITS = b"0123456789"
_MOST_DIGITS = 14  # their codes, added up as digits are, stay below 2^53


@dataclass(frozen=True, slots=True)
class NumberAt:
    """A number that all lines of a shape have at one place; NaN where that is empty.

    ``digits``: where these are, if it is plainly written: perhaps a sign, commas and a point;
    ``grouped``: in thousands, of which the first do not begin with 0. Whole numbers below 2^53 are
    exact, and so are powers of ten up to 10^22: a division of the two is rounded once, as
    :class:`float` rounds the text (W. D. Clinger, How to Read Floating Point Numbers Accurately,
    1990).
    """

    place: Place
    digits: tuple[int, ...]
    divisor: float
    grouped: bool = False

    @classmethod
    def of(cls, line: bytes, place: Place) -> NumberAt:
        start, stop = place
        text = line[start:stop]
        plain = _PLAIN.fullmatch(text)
        digits = [start + at for at, byte in enumerate(text) if byte in _DIGITS]
        if plain is None or len(digits) > _MOST_DIGITS:
            return cls(place, (), 1.0)
        divisor = 10.0 ** len(plain["decimals"] or b"")
        signed = -divisor if text[:1] == b"-" else divisor
        return cls(place, tuple(digits), signed, grouped=b"," in text.rstrip(b","))

    def read(self, rows: Bytes) -> Numbers:
        if self.place[0] == self.place[1]:
            return np.full(len(rows), np.nan)
        if not self.digits:
            return np.array([to_number(text) for text in texts_at(rows, self.place)])
        total = np.zeros(len(rows))
        zero = 0
        for at in self.digits:
            total *= 10
            total += rows[:, at]
            zero = 10 * zero + ord("0")
        total -= zero
        total /= self.divisor
        if self.grouped:
            total[rows[:, self.digits[0]] == ord("0")] = np.nan
        return total


def texts_at(rows: Bytes, place: Place) -> Sequence[bytes]:
    """What stands there in each line of a shape; empty where nothing does."""
    start, stop = place
    if start == stop:
        return ()
    first = rows[0, start:stop].tobytes()
    if not any(map(_DIGITS.__contains__, first)):  # of a shape: the same everywhere
        return [first] * len(rows)
    columns = np.ascontiguousarray(rows[:, start:stop])
    texts: list[bytes] = columns.view(f"V{stop - start}").ravel().tolist()
    return texts
