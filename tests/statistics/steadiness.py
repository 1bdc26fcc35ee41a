"""How often a run that was not steady is found out, and how often a steady one is accused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from profiles.throughput.steady import disturbances
from tests.statistics.noise import Samples, autoregressive
from tests.statistics.table import Simulation, Table

READINGS = (10, 15, 20, 40, 100)
NOISE = 0.01
Shape = Callable[[np.random.Generator, int], Samples]


def _flat(rng: np.random.Generator, n: int) -> Samples:
    return np.ones(n)


def warm_up(tau: float) -> Shape:
    """25% slow at reading 0, which a skip of 1 leaves out; gone after some ``tau``."""
    return lambda rng, n: 1 - 0.25 * np.exp(-np.arange(1, n + 1) / tau)


def throttle(rng: np.random.Generator, n: int) -> Samples:
    return np.where(np.arange(n) < n // 2, 1.0, 0.85)


def stall(rng: np.random.Generator, n: int) -> Samples:
    """One reading, anywhere, at half the speed."""
    return np.where(np.arange(n) == rng.integers(n), 0.5, 1.0)


def checkpoints(rng: np.random.Generator, n: int) -> Samples:
    """Every fifth reading 20% slow."""
    return np.where(np.arange(n) % 5 == 4, 0.8, 1.0)


def drift(rng: np.random.Generator, n: int) -> Samples:
    return 1 - 0.05 * np.arange(n) / (n - 1)


UNSTEADY: Mapping[str, Shape] = {
    "warm-up over 2 readings": warm_up(2),
    "warm-up over 5 readings": warm_up(5),
    "warm-up over 20 readings": warm_up(20),
    "15% throttle half way": throttle,
    "a stall": stall,
    "20% at every fifth reading": checkpoints,
    "5% drift": drift,
}


def unsteady(count: int) -> Table:
    rng = np.random.default_rng(8)

    def rate(shape: Shape, scatter: Callable[[int], Samples]) -> Callable[[int], float]:
        return lambda n: float(
            np.mean([bool(disturbances(list(shape(rng, n) * scatter(n)))) for _ in range(count)])
        )

    def white(n: int) -> Samples:
        return 1 + NOISE * rng.standard_normal(n)

    def swinging(n: int) -> Samples:
        return autoregressive(0.5)(rng, 1, n, NOISE)[0]

    rows = {
        "nothing": rate(_flat, white),
        "nothing, readings AR(1) 0.5": rate(_flat, swinging),
        **{name: rate(shape, white) for name, shape in UNSTEADY.items()},
    }
    rates = {name: [found(n) for n in READINGS] for name, found in rows.items()}
    return Table("what happened", tuple(f"{n} readings" for n in READINGS), rates)


SIMULATIONS = (Simulation("unsteady", unsteady, 2_000, 150),)
