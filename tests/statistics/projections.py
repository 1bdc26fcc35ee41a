"""How often a projection's band holds the truth, and how far off published figures it is."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from backends.results.projection import (
    TERMS,
    UNKNOWN_ERROR,
    WIDEST,
    Measured,
    Projection,
    Reason,
    ScalingModel,
    project,
)
from backends.results.projection_words import model_name
from profiles.case_tag import parse_tag
from tests.statistics.table import Simulation, Table

LADDER = ("1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g")
ERRORS = (0.002, 0.005, 0.01)
TRUTHS = {
    ScalingModel.AMDAHL: (0.004,),
    ScalingModel.ALPHA_BETA: (0.01, 0.06),
    ScalingModel.USL: (0.003, 0.00008),
    ScalingModel.TWO_LINKS: (0.03, 0.12),
}
"""At 32 devices about 89%, 90%, 85% and 90% efficient, and at 128 from 66% to 88%."""
HELD_OUT = Path(__file__).with_name("held_out.toml")


def throughput(model: ScalingModel, nodes: int, gpus: int) -> float:
    terms = TERMS[model][1](nodes, gpus)
    lost = sum(value * term for value, term in zip(TRUTHS[model], terms, strict=True))
    return nodes * gpus / (1 + lost)


def coverage(count: int) -> Table:
    """Of bands at 2 and 4 times the largest; the rest was withheld."""
    rates: dict[str, list[float]] = {}
    for row, model in enumerate(TRUTHS):
        for column, error in enumerate(ERRORS):
            rng = np.random.default_rng([11, row, column])
            said = [_said(model, error, rng) for _ in range(count)]
            rates[f"{model_name(model)}, {error:.1%}"] = [
                sum(one.get(factor) is verdict for one in said) / count
                for factor in (2, 4)
                for verdict in (True, False)
            ]
    return Table("truth, error of a median", ("2 ×: held", "missed", "4 ×: held", "missed"), rates)


def _said(model: ScalingModel, error: float, rng: np.random.Generator) -> dict[int, bool]:
    """By factor: whether the band holds the truth; without those that were withheld."""
    sizes = [parse_tag(tag) for tag in LADDER]
    noise = np.exp(error * rng.standard_normal(len(sizes)))
    found = project(
        [
            Measured(*size, throughput(model, *size) * float(factor), error)
            for size, factor in zip(sizes, noise, strict=True)
        ]
    )
    largest = math.prod(sizes[-1])
    return {
        point.gpus // largest: point.low <= throughput(model, point.nodes, 8) <= point.high
        for point in (found.points if found else ())
    }


def held_out(_count: int) -> Table:
    """Projections of published figures from those of smaller systems."""
    rates: dict[str, list[float]] = {}
    for name, figures, largest in published():
        smaller = [one for one in figures if one.gpus <= largest]
        found, given = project(smaller, widest=math.inf), project(smaller)
        assert found is not None
        assert given is not None
        for truth in (one for one in figures if largest < one.gpus <= 4 * largest):
            rates[f"{name}: {truth.nodes}n{truth.gpus_per_node}g, {_how(given, truth)}"] = _errors(
                found, truth
            )
    return Table("published", ("leave-one-out", "error", "band from", "to"), rates)


def published() -> Iterator[tuple[str, list[Measured], int]]:
    """Name, all figures, and the largest number of devices that is projected from."""
    for entry in tomllib.loads(HELD_OUT.read_text(encoding="utf-8"))["held_out"]:
        figures = [
            Measured(*parse_tag(tag), value, error[0] if error else UNKNOWN_ERROR)
            for tag, (value, *error) in entry["figures"].items()
        ]
        yield entry["name"], figures, math.prod(parse_tag(entry["largest"]))


def _how(given: Projection, truth: Measured) -> str:
    model = model_name(given.model) if given.model else "no model"
    if any(point.gpus == truth.gpus for point in given.points):
        return model
    why = "no better than a line" if given.reason is Reason.NO_BETTER else f"beyond {WIDEST:.0%}"
    return f"{model}; withheld, {why}"


def _errors(found: Projection, truth: Measured) -> list[float]:
    """All relative to what was published."""
    error = math.nan if found.error is None else found.error
    for point in found.points:
        if point.gpus == truth.gpus:
            edges = (point.throughput, point.low, point.high)
            return [error, *(edge / truth.throughput - 1 for edge in edges)]
    return [error, math.nan, math.nan, math.nan]


SIMULATIONS = (
    Simulation("projection coverage", coverage, 2_000, 200),
    Simulation("held out", held_out, 1, 1, exact=True),
)
