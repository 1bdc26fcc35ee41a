"""Where matches go: readings to columns, figures of merit to their statistic, texts to be kept."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from profiles.logs.intervals import Intervals
from profiles.logs.metric_window import WindowedValues
from profiles.logs.metrics import Figure, MetricValues
from profiles.logs.readings import Columns, Text, to_number

if TYPE_CHECKING:
    from profiles.logs.digits import Numbers

Column = Sequence[Text]
Seconds = Callable[[str], float]
AddNumbers = Callable[["Numbers", "Numbers", Column | None], None]

_NAN = math.nan
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}  # of the units that a log may name
_BULK = 16  # matches from which on columns are faster than rows


class Sink(Protocol):
    """Where matches go. ``last_only``: an accepted match makes all before it worthless.

    ``numbers_alone``: a value without a digit is none. ``add_numbers``: as ``add_all``, of finite
    values and of steps that are numbers already, NaN where there are none; None where the texts are
    wanted, or the last match alone.
    """

    last_only: bool
    numbers_alone: bool
    add_numbers: AddNumbers | None

    def add(self, value: Text, step: Text, time: Text) -> bool:
        """Take one match, empty texts for what it lacks; False when its value is no number."""

    def add_all(self, values: Column, steps: Column | None, times: Column | None) -> None:
        """Take matches in the order of the log; None for a group that the pattern lacks."""


class ReadingSink:
    """Appends to columns, by the rule's scale and since the reading before.

    Times go through ``seconds``, or with ``units`` are those of the values; ``rejected`` counts
    unusable values.
    """

    last_only = False
    numbers_alone = True

    def __init__(
        self,
        columns: Columns,
        seconds: Seconds | None,
        scale: float = 1.0,
        intervals: Intervals | None = None,
        *,
        units: bool = False,
    ) -> None:
        self.rejected = 0
        self._columns = columns
        self._seconds = seconds
        self._scale = scale
        self._intervals = intervals
        self._units = units
        self.add_numbers: AddNumbers | None = self._add_numbers

    def add(self, value: Text, step: Text, time: Text) -> bool:
        return bool(value) and self._add(to_number(value), to_number(step), time)

    def add_all(self, values: Column, steps: Column | None, times: Column | None) -> None:
        if not self._add_bulk(values, steps, times):
            nothing = ("",) * len(values)
            for value, step, time in zip(values, steps or nothing, times or nothing, strict=True):
                self.add(value, step, time)

    def _add_bulk(self, values: Column, steps: Column | None, times: Column | None) -> bool:
        """All at once, if there are many and every value is a finite number; else nothing."""
        numbers = _finite(values)
        scale = self._common_scale(times)
        if numbers is None or min(numbers) < 0 or not math.isfinite(sum(numbers) * scale):
            return False
        if scale != 1:
            numbers = array("d", map(scale.__mul__, numbers))
        self._columns.extend(
            numbers, None if steps is None else _numbers(steps), self._times(times)
        )
        return True

    def _add_numbers(self, values: Numbers, steps: Numbers, times: Column | None) -> None:
        scaled = values * self._common_scale(times)
        if math.isfinite(scaled.sum()) and scaled.min() >= 0:
            self._columns.extend(_array(scaled), _array(steps), self._times(times))
            return
        nothing = ("",) * len(values)
        rows = zip(values.tolist(), steps.tolist(), times or nothing, strict=True)
        for value, step, time in rows:
            self._add(value, step, time)

    def _common_scale(self, times: Column | None) -> float:
        """What all values are multiplied by; NaN where each has to be looked at."""
        if self._intervals is not None:
            return _NAN
        if not self._units:
            return self._scale
        if times is None or times.count(times[0]) < len(times):  # now one and now the other
            return _NAN
        return self._scale * _in_seconds(times[0])

    def _times(self, times: Column | None) -> array[float] | None:
        return None if self._units or times is None else array("d", map(self._time, times))

    def _add(self, number: float, at: float, time: Text) -> bool:
        if self._units:
            number, time = number * _in_seconds(time), ""
        if not math.isfinite(number) or number < 0:
            self.rejected += 1
            return False
        if self._intervals is not None:
            number = self._intervals.since_before(number, at)
            if math.isnan(number):  # nothing to compare it with
                return False
        self._columns.append(number * self._scale, at, self._time(time))
        return True

    def _time(self, text: Text) -> float:
        if self._seconds is None or not text:
            return _NAN
        return self._seconds(_decoded(text))


def _in_seconds(unit: Text) -> float:
    return _SECONDS.get(unit if isinstance(unit, str) else unit.decode("ascii", "replace"), _NAN)


class TextSink:
    """Keeps the last text."""

    last_only = True
    numbers_alone = False
    add_numbers: AddNumbers | None = None

    def __init__(self) -> None:
        self.text: str | None = None

    def add(self, value: Text, step: Text = "", time: Text = "") -> bool:
        self.text = _decoded(value)
        return True

    def add_all(
        self, values: Column, steps: Column | None = None, times: Column | None = None
    ) -> None:
        self.add(values[-1])


class FigureSink:
    """Hands finite values to a figure of merit. ``seconds`` reads those that are points in time."""

    def __init__(self, figure: Figure, seconds: Seconds | None = None) -> None:
        self.last_only = figure.last_only
        self.numbers_alone = seconds is None
        self._figure = figure
        self._seconds = seconds
        by_number = seconds is None and not figure.last_only
        self.add_numbers: AddNumbers | None = self._add_numbers if by_number else None

    def add(self, value: Text, step: Text, time: Text) -> bool:
        number = to_number(value) if self._seconds is None else self._seconds(_decoded(value))
        if not math.isfinite(number):
            return False
        self._figure.add(number, to_number(step), marked=bool(time))
        return True

    def add_all(self, values: Column, steps: Column | None, times: Column | None) -> None:
        if self._seconds is None and isinstance(self._figure, MetricValues | WindowedValues):
            numbers = _finite(values)
            if numbers is not None:
                self._figure.extend(numbers)
                return
        nothing = ("",) * len(values)
        for value, step, time in zip(values, steps or nothing, times or nothing, strict=True):
            self.add(value, step, time)

    def _add_numbers(self, values: Numbers, steps: Numbers, times: Column | None) -> None:
        if isinstance(self._figure, MetricValues | WindowedValues):
            self._figure.extend(_array(values))
            return
        nothing = ("",) * len(values)
        rows = zip(values.tolist(), steps.tolist(), times or nothing, strict=True)
        for value, step, time in rows:
            self._figure.add(value, step, marked=bool(time))


def _array(numbers: Numbers) -> array[float]:
    return array("d", numbers.tobytes())


def _finite(texts: Column) -> array[float] | None:
    """The numbers, if there are many and all are finite."""
    if len(texts) < _BULK:
        return None
    encoded = _encoded(texts)
    try:
        numbers = array("d", map(float, encoded))
    except ValueError:
        try:
            numbers = array("d", (float(text.rstrip(b",")) for text in encoded))
        except ValueError:
            numbers = array("d", map(to_number, encoded))
    return numbers if math.isfinite(sum(numbers)) else None


def _numbers(texts: Column) -> array[float]:
    encoded = _encoded(texts)
    try:
        return array("d", map(float, encoded))
    except ValueError:
        return array("d", map(to_number, encoded))


def _encoded(texts: Column) -> Sequence[bytes]:
    """The texts, all of one kind, as bytes: of these float() takes ASCII digits only."""
    if texts and isinstance(texts[0], str):
        return list(map(str.encode, cast("Sequence[str]", texts)))
    return cast("Sequence[bytes]", texts)


def _decoded(text: Text) -> str:
    return text if isinstance(text, str) else text.decode("ascii")
