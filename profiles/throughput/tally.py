"""What a measuring rule needs of a log's readings, added up as they come.

Any batching gives the same result, to the last bit, as having all readings at once. Memory does not
grow with the log but where a rule needs an order, and then by 8 bytes per reading: the values for a
median or trimmed mean, the distances between steps for ``elapsed``.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from fractions import Fraction
from itertools import repeat
from operator import le, mul, sub, truediv
from typing import Protocol

from profiles.exact_sums import ExactSum, median, sort
from profiles.format.measure_section import Rule
from profiles.logs.readings import Readings
from profiles.throughput.chosen import Chooser, Part, part_of
from profiles.throughput.steady import Disturbance
from profiles.throughput.window_speeds import FarAbove, Speeds


class Tally:
    """One log's readings by one rule.

    ``count``: readings of the log. ``used``: of those, in the window, as far as is known.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._times = rule.statistic == "elapsed" and rule.timestamp is not None
        self._steps = self._times or rule.has_steps
        self._chooser = Chooser(rule.window)
        self._kept = _statistic_of(rule)
        self._speeds = Speeds(durations=rule.lower_is_faster)
        self._bandwidth = rule.kind == "bandwidth"
        self._last_alone = rule.statistic == "last"
        self.span = Span() if self._times else None
        self.count = 0
        self.used = 0

    def take(self, readings: Readings) -> None:
        self.count += len(readings)
        part = part_of(readings, steps=self._steps, times=self._times)
        self._add(self._chooser.take(part))

    def finish(self) -> None:
        """The log has ended."""
        self._add(self._chooser.end())

    def _add(self, part: Part) -> None:
        if not part:
            return
        if not self.used:
            self._kept.begin(self._chooser.before)
        self.used += len(part)
        self._kept.add(part)
        self._speeds.add(part)
        if self.span is not None:
            self.span.add(part)

    @property
    def value(self) -> float:
        """The statistic over the window, which must not be empty."""
        return self._kept.value

    @property
    def first(self) -> int | None:
        """Number of the first reading that counts, once the log has ended; None where none does."""
        return self._chooser.passed if self.used else None

    @property
    def disturbances(self) -> tuple[Disturbance, ...] | None:
        """What was not steady in the window; None where there is too little to tell, and of a
        bandwidth over sizes, which is a curve and no course of time."""
        if self._over_sizes:
            return None
        return self._speeds.disturbances(self._chooser.passed, self._figure)

    def _figure(self, part: Part) -> float:
        """The statistic over a whole window of such readings."""
        kept = _statistic_of(self._rule)
        kept.begin(self._chooser.before)
        kept.add(part)
        return kept.value

    @property
    def far_above(self) -> FarAbove | None:
        """Readings that are several times as fast as the others; of a curve over sizes none is."""
        if self._over_sizes:
            return None
        return self._speeds.far_above(self._chooser.passed)

    @property
    def _over_sizes(self) -> bool:
        return self._bandwidth and (self._last_alone or self._speeds.over_sizes)

    @property
    def untrimmed(self) -> bool:
        """Values were to be dropped, and there were too few."""
        return isinstance(self._kept, _Trimmed) and self._kept.too_few


class _Kept(Protocol):
    """Values of the window, and what is made of them."""

    def begin(self, before: float) -> None:
        """The first part comes now; ``before``: the step of the reading before it."""

    def add(self, part: Part) -> None: ...

    @property
    def value(self) -> float: ...


def _statistic_of(rule: Rule) -> _Kept:  # noqa: PLR0911 (one for each statistic)
    match rule.statistic:
        case "mean":
            return _Mean()
        case "median":
            return _Median()
        case "last":
            return _Last()
        case "harmonic_mean":
            return _Harmonic()
        case "trimmed_mean":
            return _Trimmed(rule.trim.at_least, rule.trim.fraction)
        case "elapsed" if _weighs(rule):
            return _Elapsed(harmonic=not rule.lower_is_faster)
        case "elapsed":
            return _Harmonic() if not rule.lower_is_faster else _Mean()


def _weighs(rule: Rule) -> bool:
    """Readings count by the steps that they stand for."""
    return rule.statistic == "elapsed" and rule.has_steps


class Span:
    """The first and the last reading of the window: their steps and times.

    ``set_back``: where a time is before that of the reading before it, by how many seconds; the
    most of them, None: nowhere.
    """

    def __init__(self) -> None:
        self.first: tuple[float, float] | None = None
        self.last = (math.nan, math.nan)
        self.set_back: tuple[float, float] | None = None

    def add(self, part: Part) -> None:
        if self.first is None:
            self.first = (part.steps[0], part.times[0])
            self.last = self.first
        before = array("d", (self.last[1],)) + part.times[:-1]
        if not all(map(le, before, part.times)):  # seldom
            for step, then, now in zip(part.steps, before, part.times, strict=True):
                if then - now > (self.set_back[1] if self.set_back else 0.0):
                    self.set_back = (step, then - now)
        self.last = (part.steps[-1], part.times[-1])


class _Unweighted:
    def begin(self, before: float) -> None:
        pass


class _Mean(_Unweighted):
    """As :func:`statistics.fmean`."""

    def __init__(self) -> None:
        self._sum = ExactSum()
        self._count = 0

    def add(self, part: Part) -> None:
        self._sum.add(part.values)
        self._count += len(part)

    @property
    def value(self) -> float:
        return self._sum.value / self._count


class _Last(_Unweighted):
    def __init__(self) -> None:
        self.value = math.nan

    def add(self, part: Part) -> None:
        self.value = part.values[-1]


class _Values(_Unweighted):
    """Order statistics need all of them."""

    def __init__(self) -> None:
        self._values = array("d")

    def add(self, part: Part) -> None:
        self._values.extend(part.values)


class _Median(_Values):
    @property
    def value(self) -> float:
        return median(self._values)


class _Trimmed(_Values):
    """The rule of Paddle's benchmark and TIPC log analysis: sort, drop the larger of ``at_least``
    and ``fraction`` from each end, average; of all, where nothing would be left."""

    def __init__(self, at_least: int, fraction: float) -> None:
        super().__init__()
        self._at_least = at_least
        self._fraction = fraction

    @property
    def _dropped(self) -> int:
        dropped = max(self._at_least, int(self._fraction * len(self._values)))
        return dropped if 2 * dropped < len(self._values) else 0

    @property
    def too_few(self) -> bool:
        return not self._dropped and bool(max(self._at_least, self._fraction))

    @property
    def value(self) -> float:
        sort(self._values)
        dropped = self._dropped
        with memoryview(self._values) as values:
            kept = values[dropped : len(values) - dropped]
            total = ExactSum()
            total.add(kept)
            return total.value / len(kept)


class _Harmonic(_Unweighted):
    """As :func:`statistics.harmonic_mean`; 0 if a value is not positive: it took for ever."""

    def __init__(self) -> None:
        self._inverse = ExactSum()
        self._first = math.nan
        self._lowest = math.inf
        self._count = 0

    def add(self, part: Part) -> None:
        if not self._count:
            self._first = part.values[0]
        self._count += len(part)
        self._lowest = min(self._lowest, part.lowest)
        if self._lowest > 0:
            self._inverse.add(map((1.0).__truediv__, part.values))

    @property
    def value(self) -> float:
        if self._lowest <= 0 or self._inverse.endless:
            return 0.0
        return self._first if self._count == 1 else float(self._count / self._inverse.fraction)


class _Elapsed:
    """Samples ÷ time by what the readings say, each weighted by the steps that it stands for: the
    distance to the one before it. Where steps are unknown or do not grow (a new epoch) the usual
    distance stands in; where none is known all count alike.

    ``harmonic``: the values are speeds, else durations.
    """

    def __init__(self, *, harmonic: bool) -> None:
        self._harmonic = harmonic
        self._alike: _Harmonic | _Mean = _Harmonic() if harmonic else _Mean()
        self._distances = array("d")  # finite ones
        self._weights = ExactSum()
        self._weighted = ExactSum()
        self._odd = array("d")  # values of readings without a distance
        self._before = math.nan
        self._lowest = math.inf

    def begin(self, before: float) -> None:
        self._before = before

    def add(self, part: Part) -> None:
        if not self._distances:
            self._alike.add(part)
        self._lowest = min(self._lowest, part.lowest)
        then = array("d", (self._before,)) + part.steps[:-1]
        self._before = part.steps[-1]
        distances = array("d", map(sub, part.steps, then))
        values = part.values
        if not min(distances) > 0 or math.isnan(sum(distances)):  # NaN is in the sum, at least
            pairs = list(zip(values, distances, strict=True))
            self._odd.extend(value for value, distance in pairs if not distance > 0)
            values = array("d", (value for value, distance in pairs if distance > 0))
            distances = array("d", (distance for distance in distances if distance > 0))
        self._distances.extend(filter(math.isfinite, distances))
        self._weights.add(distances)
        self._weighted.add(self._terms(values, distances))

    def _terms(self, values: Iterable[float], weights: Iterable[float]) -> Iterable[float]:
        if not self._harmonic:
            return map(mul, values, weights)
        return map(truediv, weights, values) if self._lowest > 0 else ()

    @property
    def value(self) -> float:
        if not self._distances:
            return self._alike.value
        if self._harmonic and self._lowest <= 0:
            return 0.0
        if self._weights.endless:
            return math.nan
        usual = median(self._distances) if self._odd else 0.0
        odd = ExactSum()
        odd.add(self._terms(self._odd, repeat(usual)))
        weights = self._weights.fraction + len(self._odd) * Fraction(usual)
        if self._weighted.endless or odd.endless:
            return 0.0 if self._harmonic else math.inf
        total = self._weighted.fraction + odd.fraction
        return float(weights / total) if self._harmonic else float(total) / float(weights)
