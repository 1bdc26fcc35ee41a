"""What stopping early leaves of an interval's 95%."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from backends.results.auto_repeats import (
    CONFIRMING,
    LOOKS,
    PLATEAU_FROM,
    PLATEAU_SHARE,
    AutoRepeats,
    Progress,
    Quantity,
    decide,
)
from backends.results.ratios import ratio_interval
from backends.results.statistics import median_interval
from tests.statistics.noise import KINDS, Noise, Samples
from tests.statistics.table import Simulation, Table

RULE = AutoRepeats()
SPREADS = (0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03)
SPEEDUP_SPREADS = (0.003, 0.005, 0.01, 0.015)


@cache
def _ranks(n: int) -> tuple[int, int]:
    """Positions in the sorted values that the interval of the median ends at."""
    interval = median_interval([float(k) for k in range(n)])
    assert interval is not None
    return int(interval.low), int(interval.high)


def half_widths(values: Samples, n: int) -> Samples:
    """Of campaigns (rows), with their first n repeats."""
    ordered = np.sort(values[:, :n], axis=1)
    low, high = _ranks(n)
    return (ordered[:, high] - ordered[:, low]) / 2 / np.median(ordered, axis=1)


def repeats_of(values: Samples, rule: AutoRepeats = RULE) -> NDArray[np.int64]:
    """How many repeats each campaign takes, of one case and without a budget."""
    taken = np.full(len(values), rule.max_repeats)
    running = np.arange(len(values))
    for look in (look for look in LOOKS if look < rule.max_repeats):
        rows = values[running]
        narrow = half_widths(rows, look) <= rule.target
        before = np.zeros(len(rows), dtype=bool)
        if look - CONFIRMING >= LOOKS[0]:
            before = half_widths(rows, look - CONFIRMING) <= rule.target
        over = narrow & before
        if look >= PLATEAU_FROM:
            then = max(earlier for earlier in LOOKS if earlier <= PLATEAU_SHARE * look)
            over |= ~narrow & (half_widths(rows, look) >= half_widths(rows, then))
        taken[running[over]] = look
        confirmed = np.zeros(len(rows), dtype=bool)
        if look + CONFIRMING < rule.max_repeats:
            pending = narrow & ~over
            confirmed[pending] = half_widths(rows[pending], look + CONFIRMING) <= rule.target
            taken[running[confirmed]] = look + CONFIRMING
        running = running[~over & ~confirmed]
    return taken


def covered(values: Samples, taken: NDArray[np.int64], truth: float) -> float:
    held = np.zeros(len(values), dtype=bool)
    for n in np.unique(taken):
        rows = taken == n
        ordered = np.sort(values[rows, :n], axis=1)
        low, high = _ranks(int(n))
        held[rows] = (ordered[:, low] <= truth) & (truth <= ordered[:, high])
    return float(held.mean())


def _truth(noise: Noise, cv: float) -> float:
    return float(np.median(noise(np.random.default_rng(7), 1, 1_000_001, cv)))


def _campaigns(noise: Noise, count: int, cv: float) -> Samples:
    return noise(np.random.default_rng([9, round(cv * 1e5)]), count, RULE.max_repeats, cv)


def auto_coverage(count: int) -> Table:
    def rate(noise: Noise, cv: float) -> float:
        values = _campaigns(noise, count, cv)
        return covered(values, repeats_of(values), _truth(noise, cv))

    rates = {name: [rate(noise, cv) for cv in SPREADS] for name, noise in KINDS.items()}
    return Table("noise", tuple(f"CV {cv:.2%}" for cv in SPREADS), rates)


def auto_repeats(count: int) -> Table:
    def share(noise: Noise, cv: float) -> float:
        return float(repeats_of(_campaigns(noise, count, cv)).mean() / RULE.max_repeats)

    rates = {name: [share(noise, cv) for cv in SPREADS] for name, noise in KINDS.items()}
    return Table("noise", tuple(f"CV {cv:.2%}" for cv in SPREADS), rates)


def speedup_campaign(base: list[float], case: list[float], rule: AutoRepeats) -> tuple[int, int]:
    """How many repeats base and case get, by the product's own rule."""
    n = m = 0
    while True:
        progress = [
            Progress("1n1g", tuple(base[:n]), n, "1n1g", gpu_s=1.0),
            Progress("1n8g", tuple(case[:m]), m, "1n1g", gpu_s=8.0),
        ]
        more = decide(rule, progress).more
        if not more:
            return n, m
        n, m = n + more.get("1n1g", 0), m + more.get("1n8g", 0)


def auto_speedup_coverage(count: int) -> Table:
    rule = AutoRepeats(quantity=Quantity.SPEEDUP)

    def rate(noise: Noise, cv: float) -> float:
        rng = np.random.default_rng([10, round(cv * 1e5)])
        bases = noise(rng, count, rule.max_repeats, cv)
        cases = noise(rng, count, rule.max_repeats, cv)
        held = 0
        for base, case in zip(bases.tolist(), cases.tolist(), strict=True):
            n, m = speedup_campaign(base, case, rule)
            interval = ratio_interval(base[:n], case[:m])
            held += interval is not None and interval.low <= 1 <= interval.high
        return held / count

    rates = {name: [rate(noise, cv) for cv in SPEEDUP_SPREADS] for name, noise in KINDS.items()}
    return Table("noise", tuple(f"CV {cv:.2%}" for cv in SPEEDUP_SPREADS), rates)


SIMULATIONS = (
    Simulation("auto coverage", auto_coverage, 10_000, 2_000),
    Simulation("auto repeats", auto_repeats, 10_000, 2_000),
    Simulation("auto speedup coverage", auto_speedup_coverage, 2_000, 60),
)
