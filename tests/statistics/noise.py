"""Throughputs as training runs give them: around 1, ``count`` campaigns of ``n`` repeats each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Samples = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int, float], Samples]


def normal(rng: np.random.Generator, count: int, n: int, cv: float) -> Samples:
    return 1 + cv * rng.standard_normal((count, n))


def lognormal(rng: np.random.Generator, count: int, n: int, cv: float) -> Samples:
    """Skewed as its logarithm is not; the median is 1."""
    return np.exp(cv * rng.standard_normal((count, n)))


def autoregressive(rho: float) -> Noise:
    """Repeats that take after the one before: AR(1), as slow heat or a neighbour gives."""

    def ar1(rng: np.random.Generator, count: int, n: int, cv: float) -> Samples:
        shocks = rng.standard_normal((count, n))
        shocks[:, 1:] *= np.sqrt(1 - rho * rho)
        return 1 + cv * np.asarray(lfilter([1], [1, -rho], shocks, axis=1))

    return ar1


def outliers(rng: np.random.Generator, count: int, n: int, cv: float) -> Samples:
    """Every tenth repeat lost ten standard deviations to something else."""
    values = normal(rng, count, n, cv)
    return values - 10 * cv * (rng.random((count, n)) < 0.1)


KINDS: Mapping[str, Noise] = {
    "normal": normal,
    "lognormal": lognormal,
    "AR(1) 0.3": autoregressive(0.3),
    "one outlier in ten": outliers,
}
