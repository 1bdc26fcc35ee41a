"""A ratio of two noisy figures, and how far it can be trusted: speedups, efficiencies, changes.

Two 95% intervals, for two purposes:

- :func:`median_ratio_interval` belongs to the figure that is printed, the ratio of two medians. It
  takes six repeats on both sides.
- :func:`welch` is of the ratio of the geometric means. It serves from three repeats on, and it
  decides comparisons: of few repeats a mean knows more than a median does.

What they cover was simulated: docs/statistics.md.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from backends.results.student import incomplete_beta, quantile, two_sided_p

CONFIDENCE = 0.95
FEWEST = 3
"""Repeats on either side for any interval: two say next to nothing about their spread."""
FEWEST_FOR_MEDIANS = 6
"""As for the interval of one median; fewer medians can take too few values to resample."""
MOST_FOR_MEDIANS = 1000
"""Beyond, binomial coefficients leave the range of a float; so many repeats nobody runs."""
_NEGLIGIBLE = 1e-9


class Method(StrEnum):
    """How an interval was made."""

    BOOTSTRAP = "bootstrap"
    WELCH = "welch"


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """95% of a ratio: a speedup, an efficiency, or candidate over baseline."""

    low: float
    high: float
    method: Method

    def times(self, factor: int, over: int) -> RatioInterval:
        """In the order in which efficiencies are computed, so that an end that is equal to the
        ratio stays so."""
        return RatioInterval(self.low * factor / over, self.high * factor / over, self.method)

    def holding(self, ratio: float) -> RatioInterval:
        """Wide enough for ``ratio``: rounding may leave it a last digit outside."""
        return RatioInterval(min(self.low, ratio), max(self.high, ratio), self.method)


@dataclass(frozen=True, slots=True)
class Welch:
    """Two samples compared on logarithms: ln(candidate / baseline), its standard error, and Welch's
    degrees of freedom (infinite where neither sample scatters)."""

    log_ratio: float
    error: float
    df: float

    @property
    def ratio(self) -> float:
        """Of the geometric means: the best estimate that few repeats allow."""
        return math.exp(self.log_ratio)

    def interval(self, confidence: float = CONFIDENCE) -> RatioInterval:
        reach = quantile(confidence, self.df) * self.error if self.error else 0.0
        low, high = math.exp(self.log_ratio - reach), math.exp(self.log_ratio + reach)
        return RatioInterval(low, high, Method.WELCH)

    @property
    def p(self) -> float:
        """Two-sided: how often equal populations differ by as much."""
        if not self.error:
            return 0.0 if self.log_ratio else 1.0
        return two_sided_p(self.log_ratio / self.error, self.df)


def ratio_interval(
    base: Sequence[float], values: Sequence[float], center: Literal["median", "mean"] = "median"
) -> RatioInterval | None:
    """95% of center(values) / center(base); None below three values on either side.

    Means, and medians of fewer than six values, get Welch's interval. It holds the ratio, also
    where Welch's, which is of another one, would leave it just outside.
    """
    fewest = min(len(base), len(values))
    if fewest < FEWEST:
        return None
    most = max(len(base), len(values))
    middle = statistics.fmean if center == "mean" else statistics.median
    ratio = middle(values) / middle(base)
    if center == "median" and fewest >= FEWEST_FOR_MEDIANS and most <= MOST_FOR_MEDIANS:
        return median_ratio_interval(base, values).holding(ratio)
    return welch(base, values).interval().holding(ratio)


def welch(base: Sequence[float], values: Sequence[float]) -> Welch:
    """Welch's comparison of ln(values) with ln(base); at least two values each, all above 0.

    On logarithms a ratio is a difference, equal spreads in percent are equal spreads, and the
    inverse ratio has the inverse interval, none of which holds for Fieller's. Welch, Biometrika 34
    (1947).
    """
    logs = [[math.log(value) for value in side] for side in (base, values)]
    shares = [statistics.variance(side) / len(side) for side in logs]
    variance = sum(shares)
    difference = statistics.fmean(logs[1]) - statistics.fmean(logs[0])
    if variance == 0:
        return Welch(difference, 0.0, math.inf)
    # Relative to the sum: a variance of rounding errors squares to nothing.
    parts = ((s / variance) ** 2 / (len(side) - 1) for s, side in zip(shares, logs, strict=True))
    return Welch(difference, math.sqrt(variance), 1 / sum(parts))


def median_ratio_interval(base: Sequence[float], values: Sequence[float]) -> RatioInterval:
    """The bootstrap's percentile interval of median(values) / median(base).

    Not resampled but enumerated: how often a resample has which median is known exactly, so the
    same repeats always give the same interval, that of infinitely many resamples. Efron &
    Tibshirani, An Introduction to the Bootstrap (1993), §13.3; for odd n also Maritz & Jarrett,
    JASA 73 (1978).
    """
    import numpy as np  # noqa: PLC0415 (loads when needed)

    below, of_below = np.array(_resampled(base)).T
    above, of_above = np.array(_resampled(values)).T
    reached = np.concatenate(([0.0], np.cumsum(of_above)))

    def reached_by(p: float) -> float:
        """The smallest ratio that at least p of the pairs of resamples stay below or at."""
        low, high = float(above[0] / below[-1]), float(above[-1] / below[0])
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            if of_below @ reached[np.searchsorted(above, middle * below, side="right")] < p:
                low = middle
            else:
                high = middle
        return high

    tail = (1 - CONFIDENCE) / 2
    return RatioInterval(reached_by(tail), reached_by(1 - tail), Method.BOOTSTRAP)


def _resampled(values: Sequence[float]) -> list[tuple[float, float]]:
    """The medians that resamples of ``values`` can have, ascending, with their probabilities."""
    ordered = sorted(values)
    return sorted(
        ((ordered[i] + ordered[j]) / 2, weight) for i, j, weight in median_weights(len(values))
    )


@lru_cache(maxsize=32)
def median_weights(n: int) -> tuple[tuple[int, int, float], ...]:
    """(i, j, P): the middle of n draws from n ordered values is between the i-th and the j-th.

    Odd n: i = j. Even n: the two middle draws are values i < j when half the draws lie at i or
    below, one at least at i, and half at j or above, one at least at j.
    """
    half, lower_middle = n // 2, (n + 1) // 2
    # P(the lower middle draw is one of the k smallest values), a tail of Binomial(n, k/n).
    reached = [incomplete_beta(lower_middle, n - lower_middle + 1, k / n) for k in range(n + 1)]
    halves = math.comb(n, half)
    weights = []
    for i in range(n):
        lower = reached[i + 1] - reached[i]
        apart = []
        if n % 2 == 0:
            left = ((i + 1) / n) ** half - (i / n) ** half
            rights = (((n - j) / n) ** half - ((n - j - 1) / n) ** half for j in range(i + 1, n))
            apart = [halves * left * right for right in rights]
            weights += [(i, i + 1 + k, weight) for k, weight in enumerate(apart)]
        weights.append((i, i, lower - math.fsum(apart)))
    return tuple(entry for entry in weights if entry[2] > _NEGLIGIBLE)
