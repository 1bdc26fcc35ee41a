"""What a group's measured scales say about larger ones: a projection, never a measurement.

Every model says what one sample costs, in device-seconds, on n = m·g devices: m nodes of g. From
measured throughputs X that is t = n/X, so that ideal scaling is a constant t, and every model is a
sum of known functions of m and g with coefficients that cannot be negative:

========================  ======================================================================
Amdahl                    t = c·(1 + σ·(n − 1)); Amdahl, AFIPS 1967
alpha-beta                t = c·(1 + α·log₂ n + β·(n − 1)/n): a tree's latency and a ring's
                          bandwidth; Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005)
USL                       t = c·(1 + σ·(n − 1) + κ·n·(n − 1)); Gunther, Guerrilla Capacity
                          Planning (2007)
alpha-beta, two links     t = c·(1 + β₁·(g − 1)/g + β₂·(m − 1)/m): a ring within each node, and one
                          between the nodes
========================  ======================================================================

c is a sample's computing, the rest what devices cost each other. Under strong scaling, where the
global batch is fixed, a device has n times fewer samples per step to spread an all-reduce over:
both alpha-beta models have n times their α and β.

Linear in the coefficients, fits have one best answer (Lawson and Hanson's NNLS) and need no start.

How good the chosen model and its band are: docs/statistics.md, "Projections".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from backends.results.scaling_loss import Scaling, scaling
from profiles.case_tag import format_tag

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from backends.results.case_result import CaseResult
    from backends.results.summary import Group

    Floats = NDArray[np.float64]

FEWEST_SCALES = 4
FACTORS = (2, 4)
"""Times the largest measured number of devices, and never farther."""
WIDEST = 0.30
"""A band that reaches farther from the projected figure is no use, and nothing is said."""
UNKNOWN_ERROR = 0.005
"""Relative, of a figure whose repeats do not tell; two in three of DLPerf's medians have less."""
MISFIT = 0.01
"""Relative: what no model is expected to explain, beside the repeats' scatter. Keeps a case with
many quiet repeats from outvoting all others."""
_PLAUSIBLE = 2.0  # times the best model's error
_SAME = 1e-6  # relative errors that differ by less are equal
_Z = 1.96
_HOPELESS = 100.0  # a logarithm whose power a float still holds


class ScalingModel(StrEnum):
    """The simpler first: of equally good ones the first is taken."""

    AMDAHL = "amdahl"
    ALPHA_BETA = "alpha_beta"
    USL = "usl"
    TWO_LINKS = "alpha_beta_two_links"


class Reason(StrEnum):
    """Why nothing is projected."""

    ONE_NODE = "one_node"  # no link between nodes was measured
    NO_BETTER = "no_better"  # than a straight line, or than no speedup at all
    WIDE = "wide"  # the band at every scale


Terms = Callable[[int, int], tuple[float, ...]]

TERMS: Mapping[ScalingModel, tuple[tuple[str, ...], Terms]] = {
    ScalingModel.AMDAHL: (("sigma",), lambda m, g: (m * g - 1.0,)),
    ScalingModel.ALPHA_BETA: (
        ("alpha", "beta"),
        lambda m, g: (math.log2(m * g), 1 - 1 / (m * g)),
    ),
    ScalingModel.USL: (
        ("sigma", "kappa"),
        lambda m, g: (m * g - 1.0, m * g * (m * g - 1.0)),
    ),
    ScalingModel.TWO_LINKS: (
        ("beta_within", "beta_between"),
        lambda m, g: (1 - 1 / g, 1 - 1 / m),
    ),
}
"""The names of a model's coefficients relative to c, and what they stand before (weak scaling)."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A throughput in samples/s; ``error``: its standard error, relative."""

    nodes: int
    gpus_per_node: int
    throughput: float
    error: float = UNKNOWN_ERROR

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node


@dataclass(frozen=True, slots=True)
class Projected:
    """A throughput that nobody measured, in samples/s, with its band."""

    nodes: int
    gpus_per_node: int
    throughput: float
    low: float
    high: float

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    @property
    def case(self) -> str:
        return format_tag(self.nodes, self.gpus_per_node)

    def over(self, base: float) -> Projected:
        """As speedups relative to a throughput."""
        low, high = self.low / base, self.high / base
        return replace(self, throughput=self.throughput / base, low=low, high=high)

    def within(self, widest: float) -> bool:
        """Whether the band stays that near, relative to the figure."""
        nearest, farthest = self.throughput * (1 - widest), self.throughput * (1 + widest)
        return nearest <= self.low and self.high <= farthest


@dataclass(frozen=True, slots=True)
class Projection:
    """``error``: leave-one-out, relative; of the best model even where nothing is projected.

    ``coefficients``: relative to c. ``withheld``: farther scales whose band would be no use. Either
    there are ``points`` or there is a ``reason``.
    """

    model: ScalingModel | None = None
    error: float | None = None
    coefficients: Mapping[str, float] | None = None
    points: tuple[Projected, ...] = ()
    withheld: tuple[str, ...] = ()
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """``error``: root mean square of ln(predicted / measured), each scale from all others.

    ``noise``: relative standard error of a prediction that the measured figures' own errors cause.
    """

    theta: Floats
    error: float
    predict: Callable[[int, int], float]
    noise: Callable[[int, int], float]


def project_group(group: Group) -> Projection | None:
    """From the medians of a group's cases; None below four different numbers of devices, and of
    what does not grow with them."""
    if not group.scales:
        return None
    strong = scaling(group) is Scaling.STRONG
    return _remembered(tuple(_measured(case) for case in group.measured_cases), strong)


@lru_cache(maxsize=256)
def _remembered(measured: tuple[Measured, ...], strong: bool) -> Projection | None:
    """Report, JSON and figure of a campaign ask for the same, after every run; a fit takes 4 ms."""
    return project(measured, strong=strong)


def _measured(case: CaseResult) -> Measured:
    width = case.spread.half_width if case.spread else None
    error = UNKNOWN_ERROR if width is None else width / _Z
    return Measured(case.nodes, case.gpus_per_node, case.throughput or 0.0, error)


def project(
    measured: Sequence[Measured], *, strong: bool = False, widest: float = WIDEST
) -> Projection | None:
    """Fit, choose by leave-one-out, extrapolate to 2 and 4 times the largest scale.

    ``strong``: the global batch is fixed, else that of a device.
    ``widest``: a band that reaches farther from its figure, relative to it, is withheld.

    Returns
    -------
    None below four different numbers of devices; a :class:`Reason` where the figures carry no
    projection. Never raises for finite throughputs above 0.
    """
    if len({one.gpus for one in measured}) < FEWEST_SCALES:
        return None
    if all(one.nodes == 1 for one in measured):
        return Projection(reason=Reason.ONE_NODE)
    fits = {
        model: fit
        for model in ScalingModel
        if (fit := _fit(measured, terms_of(model, strong=strong))) is not None
    }
    if not fits:
        return Projection(reason=Reason.NO_BETTER)
    lowest = min(fit.error for fit in fits.values())
    best = next(model for model, fit in fits.items() if fit.error <= lowest + _SAME)
    theta = fits[best].theta
    coefficients = (float(value / theta[0]) for value in theta[1:])
    named = dict(zip(TERMS[best][0], coefficients, strict=True))
    found = Projection(best, fits[best].error, named)
    trivial = (_trivial_error(measured, lambda _: 1.0), _trivial_error(measured, float))
    if fits[best].error >= min(trivial) - _SAME:
        return replace(found, reason=Reason.NO_BETTER)
    largest = max(measured, key=lambda one: (one.gpus, one.nodes))
    sizes = [(largest.nodes * factor, largest.gpus_per_node) for factor in FACTORS]
    bands = [banded(fits, best, *size) for size in sizes]
    points = []
    for point in bands:  # what is farther than one that cannot be told cannot be told either
        if point is None or not point.within(widest):
            break
        points.append(point)
    withheld = tuple(format_tag(*size) for size in sizes[len(points) :])
    reason = None if points else Reason.WIDE
    return replace(found, points=tuple(points), withheld=withheld, reason=reason)


def banded(
    fits: Mapping[ScalingModel, Fit], best: ScalingModel, nodes: int, gpus_per_node: int
) -> Projected | None:
    """The hull of all plausible models; around it what they miss and what the noise leaves open.

    USL always has a say in the noise: a cost that grows with n² may not show yet.
    """
    limit = _PLAUSIBLE * fits[best].error + _SAME
    plausible = {model: fit for model, fit in fits.items() if fit.error <= limit}
    costs = [fit.predict(nodes, gpus_per_node) for fit in plausible.values()]
    heard = plausible | {model: fit for model, fit in fits.items() if model is ScalingModel.USL}
    noise = max(fit.noise(nodes, gpus_per_node) for fit in heard.values())
    reach = math.hypot(fits[best].error, _Z * noise)
    cost = fits[best].predict(nodes, gpus_per_node)
    gpus = nodes * gpus_per_node
    if not (reach < _HOPELESS and min(costs) > 0 and math.isfinite(gpus / min(costs))):
        return None
    return Projected(
        nodes,
        gpus_per_node,
        gpus / cost,
        low=gpus / max(costs) * math.exp(-reach),
        high=gpus / min(costs) * math.exp(reach),
    )


def terms_of(model: ScalingModel, *, strong: bool = False) -> Terms:
    """What stands before the coefficients, on ``nodes`` and ``gpus_per_node``."""
    _, terms = TERMS[model]
    if not strong or model in (ScalingModel.AMDAHL, ScalingModel.USL):
        return terms
    return lambda m, g: tuple(m * g * term for term in terms(m, g))


def _fit(measured: Sequence[Measured], terms: Terms) -> Fit | None:
    """None where the figures cannot tell the terms apart, or make computing cost nothing."""
    scales = {one.gpus for one in measured}
    theta = _solve(measured, terms)
    noise = _noise(measured, terms)
    if theta is None or noise is None or len(theta) >= len(scales):
        return None
    misses: list[float] = []
    for left_out in scales:
        rest = _solve([one for one in measured if one.gpus != left_out], terms)
        if rest is None:
            return None
        for one in (one for one in measured if one.gpus == left_out):
            cost = _cost(rest, terms, one.nodes, one.gpus_per_node)
            misses.append(math.log(one.gpus / one.throughput / cost))
    return Fit(
        theta,
        math.sqrt(math.fsum(miss * miss for miss in misses) / len(misses)),
        lambda nodes, gpus: _cost(theta, terms, nodes, gpus),
        noise,
    )


def _cost(theta: Floats, terms: Terms, nodes: int, gpus_per_node: int) -> float:
    return float(theta @ (1.0, *terms(nodes, gpus_per_node)))


def _solve(measured: Sequence[Measured], terms: Terms) -> Floats | None:
    """The coefficients ≥ 0 with the least squared relative errors; 0 where nothing tells of one."""
    import numpy as np  # noqa: PLC0415
    from scipy.optimize import nnls  # noqa: PLC0415 (0.4 s, and only from four scales on)

    rows, weights, units = _rows(measured, terms)
    if not np.isfinite(rows).all():
        return None
    try:
        scaled, _ = nnls(rows, weights)
    except RuntimeError:  # it did not converge
        return None
    theta: Floats = scaled / units
    return theta if theta[0] > 0 and np.isfinite(theta).all() else None


def _rows(measured: Sequence[Measured], terms: Terms) -> tuple[Floats, Floats, Floats]:
    """A model's functions over each measured cost, so that a fit explains ones, times the case's
    weight; the weights; and the units that make all columns alike."""
    import numpy as np  # noqa: PLC0415

    functions = np.array([(1.0, *terms(one.nodes, one.gpus_per_node)) for one in measured])
    speeds = np.array([one.throughput / one.gpus for one in measured])
    weights = np.array([1 / math.hypot(MISFIT, one.error) for one in measured])
    with np.errstate(over="ignore", invalid="ignore"):  # whoever solves looks at what came out
        rows = functions * (speeds * weights)[:, None]
        units = rows.max(axis=0)
        units[units == 0] = 1.0
        return rows / units, weights, units


def _noise(measured: Sequence[Measured], terms: Terms) -> Callable[[int, int], float] | None:
    """Of a prediction, relative to the fitted one: first-order, and as if coefficients could be
    negative, for one that is held at 0 is not known to be 0. None: they cannot be told apart."""
    import numpy as np  # noqa: PLC0415

    rows, weights, units = _rows(measured, terms)
    if not np.isfinite(rows).all() or np.linalg.matrix_rank(rows) < rows.shape[1]:
        return None
    inverse = np.linalg.pinv(rows) * weights
    errors = np.array([one.error for one in measured])
    level = inverse @ np.ones(len(measured))

    def noise(nodes: int, gpus_per_node: int) -> float:
        functions = np.array([1.0, *terms(nodes, gpus_per_node)]) / units
        return float(np.linalg.norm((functions @ inverse) * errors) / abs(functions @ level))

    return noise


def _trivial_error(measured: Sequence[Measured], cost: Callable[[int], float]) -> float:
    """Leave-one-out error of t = c·cost(n): 1 is linear scaling, n is no speedup at all."""
    misses: list[float] = []
    for left_out in {one.gpus for one in measured}:
        level = [_level(one, cost) for one in measured if one.gpus != left_out]
        center = math.fsum(level) / len(level)
        misses += [_level(one, cost) - center for one in measured if one.gpus == left_out]
    return math.sqrt(math.fsum(miss * miss for miss in misses) / len(misses))


def _level(one: Measured, cost: Callable[[int], float]) -> float:
    return math.log(one.gpus) - math.log(one.throughput) - math.log(cost(one.gpus))
