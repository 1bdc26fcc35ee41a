"""How often ``compare`` cries wolf, and how often it misses one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from backends.results.comparison import CONFIDENCE, FAMILY_ALPHA
from tests.statistics.noise import Samples, normal
from tests.statistics.table import Simulation, Table

THRESHOLD = 0.02
REPEATS = (3, 4, 5, 6, 7, 8, 9, 10)
SPREADS = (0.005, 0.01, 0.02, 0.03)
CASES = 24

Flags = NDArray[np.bool_]


def welch(a: Samples, b: Samples) -> tuple[Samples, Samples, Samples]:
    """ln(b / a), its standard error and degrees of freedom, pair by pair."""
    la, lb = np.log(a), np.log(b)
    va, vb = (x.var(axis=-1, ddof=1) / x.shape[-1] for x in (la, lb))
    df = (va + vb) ** 2 / (va**2 / (a.shape[-1] - 1) + vb**2 / (b.shape[-1] - 1))
    return lb.mean(axis=-1) - la.mean(axis=-1), np.sqrt(va + vb), df


def regressions(a: Samples, b: Samples, threshold: float = THRESHOLD) -> Flags:
    return _slower(a, b) & (np.exp(welch(a, b)[0]) < 1 - threshold)


def regressions_by_medians(a: Samples, b: Samples, threshold: float = THRESHOLD) -> Flags:
    """What the rule would find with the printed ratio as its estimate."""
    return _slower(a, b) & (np.median(b, axis=-1) / np.median(a, axis=-1) < 1 - threshold)


def _slower(a: Samples, b: Samples) -> Flags:
    change, error, df = welch(a, b)
    return change + stats.t.ppf((1 + CONFIDENCE) / 2, df) * error < 0


def sames(a: Samples, b: Samples, threshold: float = THRESHOLD) -> Flags:
    change, error, df = welch(a, b)
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, df) * error
    return (np.exp(change - reach) >= 1 - threshold) & (np.exp(change + reach) <= 1 + threshold)


def exits(a: Samples, b: Samples) -> Flags:
    """Of campaigns (first axis) with cases (second): whether a regression stands among all."""
    change, error, df = welch(a, b)
    p = stats.t.cdf(change / error, df)
    order = np.argsort(p, axis=1)
    limits = FAMILY_ALPHA / (p.shape[1] - np.arange(p.shape[1]))
    stands = np.logical_and.accumulate(np.take_along_axis(p, order, 1) <= limits, axis=1)
    return (stands & np.take_along_axis(regressions(a, b), order, 1)).any(axis=1)


def _pairs(seed: int, count: int, n: int, cv: float, factor: float) -> tuple[Samples, Samples]:
    rng = np.random.default_rng([seed, n, round(cv * 1000)])
    return normal(rng, count, n, cv), factor * normal(rng, count, n, cv)


def false_regressions(count: int) -> Table:
    rates = {
        f"{cv:.1%}": [regressions(*_pairs(1, count, n, cv, 1.0)).mean() for n in REPEATS]
        for cv in SPREADS
    }
    return Table("CV", _repeats(), rates)


def found(count: int) -> Table:
    slower = [(0.97, 0.01), (0.95, 0.02), (0.97, 0.02)]
    rates = {
        f"{factor - 1:.0%} at CV {cv:.0%}": [
            regressions(*_pairs(2, count, n, cv, factor)).mean() for n in REPEATS
        ]
        for factor, cv in slower
    }
    rates["-3% at CV 1%, by medians"] = [
        regressions_by_medians(*_pairs(2, count, n, 0.01, 0.97)).mean() for n in REPEATS
    ]
    return Table("true change", _repeats(), rates)


def shown_same(count: int) -> Table:
    rates = {
        f"{cv:.1%}": [sames(*_pairs(3, count, n, cv, 1.0)).mean() for n in REPEATS]
        for cv in SPREADS
    }
    return Table("CV", _repeats(), rates)


def false_exits(count: int) -> Table:
    def rate(n: int, cv: float) -> float:
        a, b = _pairs(4, count * CASES, n, cv, 1.0)
        return exits(a.reshape(count, CASES, n), b.reshape(count, CASES, n)).mean()

    return Table("CV", _repeats(), {f"{cv:.1%}": [rate(n, cv) for n in REPEATS] for cv in SPREADS})


def _repeats() -> tuple[str, ...]:
    return tuple(f"n = {n}" for n in REPEATS)


SIMULATIONS = (
    Simulation("false regressions", false_regressions, 20_000, 4_000),
    Simulation("found", found, 20_000, 4_000),
    Simulation("shown same", shown_same, 20_000, 4_000),
    Simulation("false exits", false_exits, 20_000, 1_000),
)
