"""The arithmetic behind the tables: pure functions of a few floats, no data frames.

Values are throughputs (global samples/s, finite, above 0) of one case's successful repeats, in the
order in which they were run. Formulas and sources: docs/reports.md, "Statistics".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from backends.results.ratios import CONFIDENCE, RatioInterval
from backends.results.student import quantile

CV_AMBER = 0.02
CV_RED = 0.05
CV_LIMITS = (CV_AMBER, CV_RED)
OUTLIER_LIMIT = 3.5
"""Modified z-score above which a value is called an outlier (Iglewicz & Hoaglin, 1993)."""
DRIFT_ALPHA = 0.01
"""Two-sided. Campaigns test dozens of cases: at 0.05 every twentieth would be accused."""
DEPENDENCE_Z = 2.326
"""One-sided 1% of a normal distribution."""
FEWEST_FOR_DEPENDENCE = 8
MATERIAL = 0.01
"""A slow first run or a drift of less than 1% is not worth the reader's time, whatever its p."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Two order statistics that hold the population's median with probability ``coverage``."""

    low: float
    high: float
    coverage: float


def low_high(interval: Interval | RatioInterval | None) -> list[float] | None:
    """As JSON has it."""
    return [interval.low, interval.high] if interval else None


@dataclass(frozen=True, slots=True)
class Drift:
    """A trend over the repeats: Kendall's tau, its p, and the Theil-Sen change first to last."""

    tau: float
    p: float
    change: float  # −0.021: the last repeat is 2.1% below the first, along the fitted line


@dataclass(frozen=True, slots=True)
class Spread:
    """What :func:`describe` says of one case's values."""

    n: int
    median: float
    mean: float
    minimum: float
    maximum: float
    cv: float | None  # sample standard deviation / mean; None for fewer than two values
    interval: Interval | None  # 95%; None for fewer than six values
    half_width: float | None  # relative, of the 95% interval; None for fewer than three values
    student: float | None  # the same of Student's, of the mean; None for fewer than two values
    outliers: tuple[int, ...]  # positions in the values
    largest_outlier: float  # relative to the median, without its sign; 0.0 where there is none
    first_run_slow: bool
    drift: Drift | None
    dependence: float | None  # correlation of each repeat with the one before, where it is one


def describe(values: Sequence[float]) -> Spread:
    """Every figure of design "Statistics" for one case.

    Raises
    ------
    ValueError: for no values.
    """
    if not values:
        raise ValueError("a case without a successful repeat has no statistics")
    center, strange = statistics.median(values), outliers(values)
    return Spread(
        n=len(values),
        median=center,
        mean=statistics.fmean(values),
        minimum=min(values),
        maximum=max(values),
        cv=coefficient_of_variation(values),
        interval=median_interval(values),
        half_width=half_width(values),
        student=students_half_width(values),
        outliers=strange,
        largest_outlier=max((abs(values[i] / center - 1) for i in strange), default=0.0),
        first_run_slow=first_run_slow(values),
        drift=drift(values),
        dependence=dependence(values),
    )


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """Sample standard deviation (n − 1) over the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / statistics.fmean(values)


def median_interval(values: Sequence[float]) -> Interval | None:
    """The narrowest symmetric pair of order statistics that covers the median often enough.

    The number of values below the median is Binomial(n, 1/2) whatever the distribution, so
    [x(r), x(n+1−r)] covers it with probability 1 − 2·P(B ≤ r − 1). Six values are the fewest that
    reach 95% (with their minimum and maximum: 96.9%); fewer give None rather than a fake interval.
    Conover, Practical Nonparametric Statistics, 3rd ed., §3.2; Hahn & Meeker, Statistical
    Intervals, §5.2.
    """
    n = len(values)
    ordered = sorted(values)
    below = 0  # 2^n · P(B ≤ r − 1)
    best: Interval | None = None
    for r in range(1, n // 2 + 1):
        below += math.comb(n, r - 1)
        # Integers first: 2**n overflows a float from n = 1024 on, the quotient does not.
        coverage = 1 - 2 * below / 2**n
        if coverage < CONFIDENCE:
            break
        best = Interval(ordered[r - 1], ordered[n - r], coverage)
    return best


def half_width(values: Sequence[float]) -> float | None:
    """Half of the 95% interval of the median, relative to it: 0.01 is ±1%.

    Of three to five values, which have no such interval, Student's of their mean; None below.
    """
    interval = median_interval(values)
    if interval is not None:
        return (interval.high - interval.low) / 2 / statistics.median(values)
    return students_half_width(values) if len(values) >= 3 else None


def students_half_width(values: Sequence[float]) -> float | None:
    """Half of Student's 95% interval of the mean, relative to it; None for fewer than two values.

    Of the same scatter it is the narrower the more values there are, from two on. That of the
    median goes in steps: of eight values it is all of their range, as it is of six.
    """
    n = len(values)
    if n < 2:
        return None
    error = statistics.stdev(values) / math.sqrt(n) / statistics.fmean(values)
    return quantile(CONFIDENCE, n - 1) * error


def _scale(values: Sequence[float], center: float) -> float:
    """A robust standard deviation: 1.4826 · MAD.

    Where more than half of the values are equal the MAD is 0 and would call every other value an
    outlier; the mean absolute deviation (× 1.2533) then takes its place, as Iglewicz & Hoaglin do.
    """
    deviations = [abs(value - center) for value in values]
    mad = statistics.median(deviations)
    return 1.4826 * mad if mad > 0 else 1.253314 * statistics.fmean(deviations)


def outliers(values: Sequence[float]) -> tuple[int, ...]:
    """Positions with |x − median| > 3.5 × 1.4826 × MAD. They are named, never dropped.

    Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993.
    """
    center = statistics.median(values)
    limit = OUTLIER_LIMIT * _scale(values, center)
    return tuple(i for i, value in enumerate(values) if abs(value - center) > limit)


def first_run_slow(values: Sequence[float]) -> bool:
    """Whether the first repeat lies below all others, and is an outlier against them.

    At least four others are needed to know how much they scatter, and the gap must be 1% or more.
    """
    if len(values) < 5:
        return False
    first, rest = values[0], values[1:]
    center = statistics.median(rest)
    limit = max(OUTLIER_LIMIT * _scale(rest, center), MATERIAL * center)
    return first < min(rest) and center - first > limit


def drift(values: Sequence[float]) -> Drift | None:
    """A significant monotone trend over the repeats, or None.

    The Mann-Kendall test (Mann 1945, Kendall 1975): exact without ties, otherwise normal with the
    variance corrected for ties; two-sided p ≤ 0.01, which takes at least six values. Its size is
    the Theil-Sen slope (the median of all pairwise slopes) times n − 1, over the median.
    """
    n = len(values)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    if not pairs:
        return None
    score = sum((values[j] > values[i]) - (values[j] < values[i]) for i, j in pairs)
    p = _kendall_p(values, score)
    slope = statistics.median((values[j] - values[i]) / (j - i) for i, j in pairs)
    change = slope * (n - 1) / statistics.median(values)
    if p > DRIFT_ALPHA or abs(change) < MATERIAL:
        return None
    return Drift(tau=score / len(pairs), p=p, change=change)


def dependence(values: Sequence[float]) -> float | None:
    """The correlation of each repeat with the one before it, where it is no chance; else None.

    One-sided at 1%, with the mean and variance of independent values (Moran, Biometrika 35, 1948);
    from eight values on. An interval takes repeats for independent and is too narrow where they
    are not.
    """
    n = len(values)
    if n < FEWEST_FOR_DEPENDENCE:
        return None
    center = statistics.fmean(values)
    off = [value - center for value in values]
    total = math.fsum(d * d for d in off)
    if total <= 0:
        return None
    r = math.fsum(a * b for a, b in pairwise(off)) / total
    expected, deviation = -1 / n, (n - 2) / (n * math.sqrt(n - 1))
    return r if r > expected + DEPENDENCE_Z * deviation else None


def _kendall_p(values: Sequence[float], score: int) -> float:
    n = len(values)
    ties = [values.count(value) for value in set(values)]
    if max(ties) == 1 and n <= 30:
        discordant = (n * (n - 1) // 2 - abs(score)) // 2
        counts = _inversions(n)
        return min(1.0, 2 * sum(counts[: discordant + 1]) / math.factorial(n))
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    if variance <= 0 or score == 0:
        return 1.0
    return math.erfc((abs(score) - 1) / math.sqrt(2 * variance))


def _inversions(n: int) -> tuple[int, ...]:
    """How many permutations of n have 0, 1, 2 … inversions (the Mahonian numbers)."""
    counts = [1]
    for size in range(2, n + 1):
        grown = [0] * (len(counts) + size - 1)
        for inversions, ways in enumerate(counts):
            for extra in range(size):
                grown[inversions + extra] += ways
        counts = grown
    return tuple(counts)


def speedup(value: float | None, base: float | None) -> float | None:
    """S(p) = X(p) / X(base); None where either was not measured, never 0."""
    return None if value is None or base is None else value / base


def efficiency(speedup_: float | None, gpus: int, base_gpus: int) -> float | None:
    """E = S · p_base / p: 1.0 where every device is as fast as in the base case."""
    return None if speedup_ is None else speedup_ * base_gpus / gpus
