"""Where the level of a figure changed from one campaign to the next.

Campaigns scatter twice: their repeats around the campaign's mean, and these means from day to
day, which repeats of one night do not show. Places are proposed by the partition of the series that
costs least (Jackson et al., IEEE Signal Processing Letters 12, 2005, with a price per place); each
is then tested between its neighbours, and the weakest goes until all that are left stand.

How often this is right was simulated: docs/statistics.md, "History".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from backends.results.ratios import FEWEST, Welch, welch

ALPHA = 0.05
"""Of a place, two-sided, over all places where the series could have changed."""
SMALLEST = 0.01
"""A change of less than 1%, or than the threshold where that is less, is not worth a word."""
FEWEST_FOR_DAYS = 5
"""Campaigns from which on their own scatter can be told before it is known where they changed."""
_PENALTY = 2.0
_ROUNDING = 1e-12
"""Relative variance below which figures are equal but for their last digits."""


@dataclass(frozen=True, slots=True)
class Change:
    """``at``: the first campaign after it. ``evidence``: the level after against that before it.
    ``p``: two-sided, over all places where it could have been."""

    at: int
    evidence: Welch
    p: float


@dataclass(frozen=True, slots=True)
class _Campaign:
    """Of the logarithms: ``squares`` is the sum of squared deviations from the mean."""

    n: int
    mean: float
    squares: float


@dataclass(frozen=True, slots=True)
class _Scatter:
    """Variances of repeats and of days, with their degrees of freedom."""

    repeats: float
    repeats_df: int
    days: float
    days_df: int

    def of_mean(self, campaign: _Campaign) -> float:
        return max(self.days + self.repeats / campaign.n, _ROUNDING)


def change_points(campaigns: Sequence[Sequence[float]], threshold: float) -> tuple[Change, ...]:
    """In their order; none where there is nothing to know it from: see :func:`tellable`.

    ``campaigns``: of each its repeats, one at least, all above 0.
    """
    if not tellable(campaigns):
        return ()
    series = [_campaign(values) for values in campaigns]
    places = _proposed(series)
    while places:
        changes = _tested(campaigns, series, places)
        weak = [c for c in changes if c.p > ALPHA or _size(c) < min(threshold, SMALLEST)]
        if not weak:
            return changes
        places.remove(max(weak, key=lambda change: change.p).at)
    return ()


def tellable(campaigns: Sequence[Sequence[float]]) -> bool:
    """Whether their scatter is known at all: three repeats of each of two campaigns, as for a
    comparison; of three campaigns on any repeat that was repeated; or five campaigns."""
    if len(campaigns) <= 2:
        return len(campaigns) == 2 and min(map(len, campaigns)) >= FEWEST
    return len(campaigns) >= FEWEST_FOR_DAYS or any(len(values) > 1 for values in campaigns)


def last_against_level(
    campaigns: Sequence[Sequence[float]], places: Sequence[int]
) -> tuple[Welch, int] | None:
    """The last campaign against its level so far, and over how many places it was looked; None
    where it is alone on it."""
    start = places[-1] if places else 0
    if not tellable(campaigns) or len(campaigns) - start < 2:
        return None
    series = [_campaign(values) for values in campaigns]
    last = len(series) - 1
    found = _tested(campaigns, series, [*places, last])[-1]
    return found.evidence, last


def _size(change: Change) -> float:
    return abs(change.evidence.ratio - 1)


def _campaign(values: Sequence[float]) -> _Campaign:
    logs = [math.log(value) for value in values]
    mean = statistics.fmean(logs)
    return _Campaign(len(logs), mean, math.fsum((value - mean) ** 2 for value in logs))


def _proposed(series: Sequence[_Campaign]) -> list[int]:
    """The partition into levels that costs least: squared residuals in variances, and a price for
    each change that is a little below what the test of it asks."""
    within = _within(series)
    if len(series) == 2:
        return [1]
    days = 0.0
    if len(series) >= FEWEST_FOR_DAYS:
        steps = [abs(b.mean - a.mean) for a, b in pairwise(series)]
        of_a_mean = (1.4826 * statistics.median(steps)) ** 2 / 2  # a step is of two
        days = max(0.0, of_a_mean - statistics.fmean(within / c.n for c in series))
    scatter = _Scatter(within, 0, days, 0)
    weights = [1 / scatter.of_mean(campaign) for campaign in series]
    center = statistics.fmean(campaign.mean for campaign in series)
    off = [campaign.mean - center for campaign in series]
    sums = [0.0, *accumulate(weights)]
    firsts = [0.0, *accumulate(w * x for w, x in zip(weights, off, strict=True))]
    seconds = [0.0, *accumulate(w * x * x for w, x in zip(weights, off, strict=True))]

    def cost(start: int, end: int) -> float:
        first = firsts[end] - firsts[start]
        return seconds[end] - seconds[start] - first * first / (sums[end] - sums[start])

    price = _PENALTY * (1 + math.log(len(series)))
    best, before = [-price], [0]
    for end in range(1, len(series) + 1):
        least, start = min((best[start] + cost(start, end), start) for start in range(end))
        best.append(least + price)
        before.append(start)
    places: list[int] = []
    at = before[-1]
    while at > 0:
        places.insert(0, at)
        at = before[at]
    return places


def _within(series: Sequence[_Campaign]) -> float:
    df = sum(campaign.n - 1 for campaign in series)
    return math.fsum(campaign.squares for campaign in series) / df if df else 0.0


def _tested(
    campaigns: Sequence[Sequence[float]], series: Sequence[_Campaign], places: Sequence[int]
) -> tuple[Change, ...]:
    """Each place between its neighbours, with the scatter of the whole series."""
    possible = len(series) - 1
    if possible == 1:  # as `compare` does it
        evidence = welch(*campaigns)
        return (Change(1, evidence, evidence.p),)
    bounds = [0, *places, len(series)]
    levels = [series[a:b] for a, b in pairwise(bounds)]
    scatter = _scatter(levels)
    found = []
    for at, (one, other) in zip(places, pairwise(levels), strict=True):
        evidence = _evidence(one, other, scatter)
        found.append(Change(at, evidence, min(1.0, evidence.p * possible)))
    return tuple(found)


def _scatter(levels: Sequence[Sequence[_Campaign]]) -> _Scatter:
    """By moments: what campaigns of a level scatter more than their repeats explain is the days'.

    DerSimonian & Laird, Controlled Clinical Trials 7 (1986), with repeats as weights.
    """
    everything = [campaign for level in levels for campaign in level]
    within = _within(everything)
    repeats_df = sum(campaign.n - 1 for campaign in everything)
    days_df = len(everything) - len(levels)
    squares = counted = 0.0
    for level in levels:
        n = sum(c.n for c in level)
        mean = math.fsum(c.n * c.mean for c in level) / n
        squares += math.fsum(c.n * (c.mean - mean) ** 2 for c in level)
        counted += n - sum(c.n * c.n for c in level) / n
    days = max(0.0, (squares - days_df * within) / counted) if days_df else 0.0
    return _Scatter(within, repeats_df, days, days_df)


def _evidence(one: Sequence[_Campaign], other: Sequence[_Campaign], scatter: _Scatter) -> Welch:
    """Both levels as weighted means of campaigns; degrees of freedom by Satterthwaite."""
    means, by_repeats, by_days = [], 0.0, 0.0
    for level in (one, other):
        weights = [1 / scatter.of_mean(campaign) for campaign in level]
        total = math.fsum(weights)
        shares = [weight / total for weight in weights]
        means.append(math.fsum(s * c.mean for s, c in zip(shares, level, strict=True)))
        by_days += scatter.days * math.fsum(share * share for share in shares)
        by_repeats += scatter.repeats * math.fsum(
            s * s / c.n for s, c in zip(shares, level, strict=True)
        )
    variance = by_repeats + by_days
    if variance < _ROUNDING:
        return Welch(means[1] - means[0], 0.0, math.inf)
    unsure = 0.0
    for part, df in ((by_repeats, scatter.repeats_df), (by_days, scatter.days_df)):
        if part:
            unsure += (part / variance) ** 2 / df
    return Welch(means[1] - means[0], math.sqrt(variance), 1 / unsure)
