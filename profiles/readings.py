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


class Readings(Sequence[Reading]):
    """A growing or sliced sequence of readings; items are made when they are asked for."""

    def __init__(
        self, values: array[float], steps: array[float], times: array[float], first: int = 0
    ) -> None:
        self.values = values
        self.steps = steps  # NaN: the line has none
        self.times = times
        self.first = first  # index of the first one here

    @classmethod
    def empty(cls) -> Readings:
        return cls(array("d"), array("d"), array("d"))

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Reading: ...
    @overload
    def __getitem__(self, index: slice) -> Readings: ...
    def __getitem__(self, index: int | slice) -> Reading | Readings:
        if isinstance(index, slice):
            start, _stop, stride = index.indices(len(self))
            if stride != 1:
                raise ValueError("readings are sliced one by one")
            return Readings(
                self.values[index], self.steps[index], self.times[index], self.first + start
            )
        position = range(len(self))[index]
        return Reading(
            self.first + position,
            _known(self.steps[position]),
            self.values[position],
            _known(self.times[position]),
        )

    def __iter__(self) -> Iterator[Reading]:
        return (self[position] for position in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return list(self) == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it grows

    def append(self, value: float, step: float, time: float) -> None:
        self.values.append(value)
        self.steps.append(step)
        self.times.append(time)

    def extend(self, values: array[float], steps: array[float], times: array[float]) -> None:
        self.values.extend(values)
        self.steps.extend(steps)
        self.times.extend(times)


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
