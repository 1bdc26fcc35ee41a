"""Readings in compact form: 24 bytes each, so that a log of millions of them fits."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True, slots=True)
class Reading:
    """One value parsed from a log line, as the log says it: unscaled, of one rank.

    ``index`` counts from 0. ``t``: the log's own timestamp in seconds, comparable within one log.
    """

    index: int
    step: float | None
    value: float
    t: float | None


class Columns:
    """What readings are made of, NaN for what a line lacks.

    Most rules never look at the steps, and to parse them takes as long as to parse the values: they
    stay texts until somebody asks.
    """

    def __init__(self) -> None:
        self.values: array[float] = array("d")
        self.times: array[float] = array("d")
        self._steps: array[float] = array("d")
        self._texts: list[bytes] = []  # one per line, for the readings after _steps

    @property
    def steps(self) -> array[float]:
        for texts in self._texts:
            self._steps.extend(_numbers(texts.split(b"\n")))
        self._texts.clear()
        return self._steps

    def append(self, value: float, step: float, time: float) -> None:
        self.values.append(value)
        self.steps.append(step)
        self.times.append(time)

    def extend(
        self, values: array[float], steps: Sequence[bytes] | None, times: array[float] | None
    ) -> None:
        """Several at once; None: the lines have no steps, or no times."""
        unknown = (math.nan,)
        self.values.extend(values)
        self.times.extend(array("d", unknown) * len(values) if times is None else times)
        if steps is None:
            self.steps.extend(array("d", unknown) * len(values))
        elif values:
            self._texts.append(b"\n".join(steps))


class Readings(Sequence[Reading]):
    """A view of columns, growing with them if it has no end; items are made when asked for."""

    def __init__(self, columns: Columns, start: int = 0, stop: int | None = None) -> None:
        self._columns = columns
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        stop = len(self._columns.values) if self._stop is None else self._stop
        return max(0, stop - self._start)

    @property
    def values(self) -> array[float]:
        return self._columns.values[self._start : self._start + len(self)]

    @property
    def steps(self) -> array[float]:
        return self._columns.steps[self._start : self._start + len(self)]

    @overload
    def __getitem__(self, index: int) -> Reading: ...
    @overload
    def __getitem__(self, index: slice) -> Readings: ...
    def __getitem__(self, index: int | slice) -> Reading | Readings:
        if isinstance(index, slice):
            chosen = range(self._start, self._start + len(self))[index]
            if chosen.step != 1:
                raise ValueError("readings are sliced one by one")
            return Readings(self._columns, chosen.start, max(chosen.start, chosen.stop))
        position = range(self._start, self._start + len(self))[index]
        return Reading(
            position,
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


def _numbers(texts: Sequence[bytes]) -> array[float]:
    try:
        return array("d", map(int, texts))  # half the cost of float
    except ValueError:
        return array("d", map(to_number, texts))


def to_number(text: str | bytes) -> float:
    """The number, thousands separated by commas or not; NaN for anything else."""
    if not text.isascii():  # float() would take other scripts' digits in a str, but not in bytes
        return math.nan
    try:
        return float(text)
    except ValueError:
        pass
    try:
        if isinstance(text, bytes):
            return float(text.replace(b",", b""))
        return float(text.replace(",", ""))
    except ValueError:
        return math.nan
