"""How often a 95% interval holds what it is of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from backends.results.ratios import CONFIDENCE, FEWEST_FOR_MEDIANS, median_weights
from backends.results.statistics import median_interval
from tests.statistics.comparisons import welch
from tests.statistics.noise import KINDS, Noise, Samples, autoregressive
from tests.statistics.table import Simulation, Table

RATIO_REPEATS = (3, 4, 5, 6, 7, 8, 10, 15, 20)
MEDIAN_REPEATS = (6, 7, 8, 10, 15, 20, 30)
CV = 0.01


def ratio_holds_one(a: Samples, b: Samples) -> float:
    """The share of pairs whose interval of the ratio holds the true ratio, 1."""
    if a.shape[1] < FEWEST_FOR_MEDIANS:
        change, error, df = welch(a, b)
        return float((abs(change) <= stats.t.ppf((1 + CONFIDENCE) / 2, df) * error).mean())
    i, j, weights = (np.array(column) for column in zip(*median_weights(a.shape[1]), strict=True))
    below, above = ((np.sort(x, axis=1)[:, i] + np.sort(x, axis=1)[:, j]) / 2 for x in (a, b))
    tail = (1 - CONFIDENCE) / 2
    return float(np.mean([_held(x, y, weights, tail) for x, y in zip(below, above, strict=True)]))


def _held(below: Samples, above: Samples, weights: Samples, tail: float) -> bool:
    """Whether 1 lies between the resampled ratio's quantiles, without making the ratios."""
    order = np.argsort(above)
    reached = np.concatenate([[0.0], np.cumsum(weights[order])])
    at_most = weights @ reached[np.searchsorted(above[order], below, side="right")]
    less = weights @ reached[np.searchsorted(above[order], below, side="left")]
    return bool(at_most >= tail and less < 1 - tail)


def _coverage(
    seed: int, count: int, columns: tuple[int, ...], held: Callable[[Noise, int], float]
) -> Table:
    rates = {name: [held(noise, n) for n in columns] for name, noise in KINDS.items()}
    return Table("noise", tuple(f"n = {n}" for n in columns), rates)


def ratio_coverage(count: int) -> Table:
    def held(noise: Noise, n: int) -> float:
        rng = np.random.default_rng([5, n])
        return ratio_holds_one(noise(rng, count, n, CV), noise(rng, count, n, CV))

    return _coverage(5, count, RATIO_REPEATS, held)


def median_coverage(count: int) -> Table:
    kinds = {**KINDS, "AR(1) 0.5": autoregressive(0.5)}

    def held(noise: Noise, n: int) -> float:
        interval = median_interval([float(k) for k in range(n)])
        assert interval is not None
        rng = np.random.default_rng([6, n])
        values = np.sort(noise(rng, count, n, CV), axis=1)
        # What the noise's own median is, 1 but for the outliers.
        center = float(np.median(noise(np.random.default_rng(7), 1, 1_000_001, CV)))
        low, high = values[:, int(interval.low)], values[:, int(interval.high)]
        return float(((low <= center) & (center <= high)).mean())

    rates = {name: [held(noise, n) for n in MEDIAN_REPEATS] for name, noise in kinds.items()}
    return Table("noise", tuple(f"n = {n}" for n in MEDIAN_REPEATS), rates)


SIMULATIONS = (
    Simulation("ratio coverage", ratio_coverage, 20_000, 1_000),
    Simulation("median coverage", median_coverage, 20_000, 4_000),
)
