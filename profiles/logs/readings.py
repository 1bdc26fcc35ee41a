"""Readings in compact form: 24 bytes each while they are kept."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

Text = str | bytes


@dataclass(frozen=True, slots=True)
class Reading:
    """One value parsed from a log line, by the rule's scale, of one rank.

    ``index`` counts from 0. ``t``: the log's own timestamp in seconds, comparable within one log.
    """

    index: int
    step: float | None
    value: float
    t: float | None


class Columns:
    """What readings are made of, NaN for what a line lacks.

    ``first``: the number of the first that is still here.
    """

    def __init__(self) -> None:
        self.first = 0
        self.values: array[float] = array("d")
        self.steps: array[float] = array("d")
        self.times: array[float] = array("d")

    @property
    def count(self) -> int:
        """Readings so far, those that are not here any more with them."""
        return self.first + len(self.values)

    def forget(self) -> None:
        """Keep their number alone."""
        self.first = self.count
        for column in (self.values, self.steps, self.times):
            del column[:]

    def place_of(self, number: int) -> int:
        """Where in the columns the reading of this number is. Raises IndexError: not any more."""
        if number < self.first:
            raise IndexError(f"reading {number} was not kept")
        return number - self.first

    def append(self, value: float, step: float, time: float) -> None:
        self.values.append(value)
        self.steps.append(step)
        self.times.append(time)

    def extend(
        self, values: array[float], steps: array[float] | None, times: array[float] | None
    ) -> None:
        """Several at once; None: the lines have no steps, or no times."""
        self.values.extend(values)
        unknown = array("d", (math.nan,))
        for column, more in ((self.steps, steps), (self.times, times)):
            column.extend(unknown * len(values) if more is None else more)


class Readings(Sequence[Reading]):
    """A view of columns, growing with them if it has no end; items are made when asked for.

    ``start`` and ``stop`` are numbers of readings, which begin with 0 in the log.
    """

    def __init__(self, columns: Columns, start: int = 0, stop: int | None = None) -> None:
        self._columns = columns
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return max(0, self.stop - self._start)

    @property
    def start(self) -> int:
        """The number of the first reading."""
        return self._start

    @property
    def stop(self) -> int:
        """The number of the reading after the last."""
        return self._columns.count if self._stop is None else self._stop

    @property
    def values(self) -> array[float]:
        return self._of(self._columns.values)

    @property
    def steps(self) -> array[float]:
        return self._of(self._columns.steps)

    @property
    def times(self) -> array[float]:
        return self._of(self._columns.times)

    def _of(self, column: array[float]) -> array[float]:
        start = self._columns.place_of(self._start)
        return column[start : start + len(self)]

    @overload
    def __getitem__(self, index: int) -> Reading: ...
    @overload
    def __getitem__(self, index: slice) -> Readings: ...
    def __getitem__(self, index: int | slice) -> Reading | Readings:
        if isinstance(index, slice):
            chosen = range(self._start, self.stop)[index]
            if chosen.step != 1:
                raise ValueError("readings are sliced one by one")
            return Readings(self._columns, chosen.start, max(chosen.start, chosen.stop))
        number = range(self._start, self.stop)[index]
        position = self._columns.place_of(number)
        return Reading(
            number,
            _known(self._columns.steps[position]),
            self._columns.values[position],
            _known(self._columns.times[position]),
        )

    def __iter__(self) -> Iterator[Reading]:
        return (self[position] for position in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return list(self) == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it grows


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


_GROUPED = re.compile(rb"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?(?:[eE][-+]?\d+)?")


def to_number(text: Text) -> float:
    """The number, thousands separated by commas or not; NaN for anything else, as ``26,5``."""
    if not text.isascii():  # float() would take other scripts' digits in a str, but not in bytes
        return math.nan
    try:
        return float(text)
    except ValueError:
        pass
    encoded = (text.encode() if isinstance(text, str) else text).rstrip(b",")
    if b"," not in encoded:
        try:
            return float(encoded)
        except ValueError:
            return math.nan
    return float(encoded.replace(b",", b"")) if _GROUPED.fullmatch(encoded) else math.nan
