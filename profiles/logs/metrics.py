"""Figures of merit beside the throughput: loss, accuracy, time to train, memory."""

from __future__ import annotations

import math
from array import array
from typing import Literal, Protocol

from profiles.exact_sums import median

MetricStatistic = Literal["last", "first", "max", "min", "mean", "median", "sum", "span"]

MOST_STEPS = 64
"""Of a curve: sizes that double reach 2^64 by then."""


class Figure(Protocol):
    """What values are made into. ``last_only``: the last value makes all before it worthless."""

    last_only: bool

    def add(self, value: float, step: float = math.nan, *, marked: bool = False) -> None:
        """Take a value with its step, and whether the log marks it as an end."""


class MetricValues:
    """Values as they come, kept only as far as the statistic needs them."""

    def __init__(self, statistic: MetricStatistic) -> None:
        self.statistic = statistic
        self.last_only = statistic == "last"
        self._count = 0
        self._kept = 0.0
        self._first = 0.0  # for the span, last - first
        self._values: array[float] = array("d")  # the median alone needs all of them

    def add(self, value: float, step: float = math.nan, *, marked: bool = False) -> None:
        self._count += 1
        if self._count == 1:
            self._first = value
        if self.statistic == "median":
            self._values.append(value)
        elif self._count == 1 or self.statistic in ("last", "span"):
            self._kept = value
        elif self.statistic in ("mean", "sum"):
            self._kept += value
        elif self.statistic == "max":
            self._kept = max(self._kept, value)
        elif self.statistic == "min":
            self._kept = min(self._kept, value)

    def extend(self, values: array[float]) -> None:
        """As :meth:`add` of each; there is at least one."""
        if self.statistic == "median":
            self._count += len(values)
            self._values.extend(values)
        elif self.statistic == "max":
            self.add(max(values))
        elif self.statistic == "min":
            self.add(min(values))
        else:
            for value in values:
                self.add(value)

    @property
    def value(self) -> float | None:
        """The statistic over the values so far; None before the first, a span's second."""
        if self._count < (2 if self.statistic == "span" else 1):
            return None
        if self.statistic == "median":
            return median(self._values)
        if self.statistic == "span":
            return self._kept - self._first
        return self._kept / self._count if self.statistic == "mean" else self._kept


class MarkedSpan:
    """From the first value that is no end to the last that is one; None where either is missing."""

    last_only = False

    def __init__(self) -> None:
        self._first: float | None = None
        self.value: float | None = None

    def add(self, value: float, step: float = math.nan, *, marked: bool = False) -> None:
        if not marked:
            self._first = value if self._first is None else self._first
        elif self._first is not None:
            self.value = value - self._first


class Curve:
    """Values by whole steps, of which no more than :data:`MOST_STEPS` are kept."""

    last_only = False

    def __init__(self, statistic: MetricStatistic) -> None:
        self._statistic = statistic
        self._at: dict[int, MetricValues] = {}

    def add(self, value: float, step: float = math.nan, *, marked: bool = False) -> None:
        if not (math.isfinite(step) and step == int(step)):
            return
        if int(step) in self._at or len(self._at) < MOST_STEPS:
            self._at.setdefault(int(step), MetricValues(self._statistic)).add(value)

    @property
    def values(self) -> dict[int, float]:
        """The statistic at each step, in their order."""
        found = {step: self._at[step].value for step in sorted(self._at)}
        return {step: value for step, value in found.items() if value is not None}
