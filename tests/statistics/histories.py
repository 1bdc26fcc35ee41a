"""How often a history of campaigns cries wolf, and how soon it finds a slow-down."""

from __future__ import annotations

import numpy as np

from backends.results.change_points import change_points
from tests.statistics.table import Simulation, Table

THRESHOLD = 0.02
CAMPAIGNS = (2, 3, 5, 8, 12, 20, 30)
BEFORE = (2, 4, 8, 16)

Scatter = tuple[str, int, float, float]
"""In words; repeats of a campaign, their CV, and that of the campaigns' own means."""
KINDS: tuple[Scatter, ...] = (
    ("5 repeats, CV 1%", 5, 0.01, 0.0),
    ("3 repeats, CV 2%", 3, 0.02, 0.0),
    ("1 repeat, CV 1%", 1, 0.01, 0.0),
    ("5 repeats, CV 1%, days 0.5%", 5, 0.01, 0.005),
    ("5 repeats, CV 1%, days 1%", 5, 0.01, 0.01),
)


def campaigns(
    rng: np.random.Generator, kind: Scatter, before: int, after: int = 0, change: float = 0.0
) -> list[list[float]]:
    """Repeats of so many campaigns, and of so many after a change."""
    _, repeats, cv, days = kind
    level = np.where(np.arange(before + after) < before, 1.0, 1.0 + change)
    means = level * (1 + days * rng.standard_normal(before + after))
    noise = 1 + cv * rng.standard_normal((before + after, repeats))
    return (means[:, None] * noise).tolist()


def regressed(series: list[list[float]]) -> bool:
    """Whether the last change beyond the threshold goes down, as a history judges one case."""
    ratios = [change.evidence.ratio for change in change_points(series, THRESHOLD)]
    beyond = [ratio for ratio in ratios if abs(ratio - 1) > THRESHOLD]
    return bool(beyond) and beyond[-1] < 1


def false_alarms(count: int) -> Table:
    rng = np.random.default_rng(31)
    rates = {
        kind[0]: [
            float(np.mean([regressed(campaigns(rng, kind, n)) for _ in range(count)]))
            for n in CAMPAIGNS
        ]
        for kind in KINDS
    }
    return Table("scatter", tuple(f"{n} campaigns" for n in CAMPAIGNS), rates)


def ever(count: int) -> Table:
    """Of histories that are looked at each night, from the first on."""
    rng = np.random.default_rng(32)

    def alarmed(kind: Scatter, nights: int) -> bool:
        series = campaigns(rng, kind, nights)
        return any(regressed(series[: night + 1]) for night in range(1, nights))

    nights = (10, 30)
    rates = {
        kind[0]: [float(np.mean([alarmed(kind, night) for _ in range(count)])) for night in nights]
        for kind in KINDS
    }
    return Table("scatter", tuple(f"{n} nights" for n in nights), rates)


def found(count: int) -> Table:
    rng = np.random.default_rng(33)
    rates = {
        f"{kind[0]}, seen {after} time{'s' * (after > 1)}": [
            float(np.mean([regressed(campaigns(rng, kind, n, after, -0.03)) for _ in range(count)]))
            for n in BEFORE
        ]
        for kind in KINDS
        for after in (1, 2, 3)
    }
    return Table("scatter", tuple(f"after {n} campaigns" for n in BEFORE), rates)


SIMULATIONS = (
    Simulation("history false alarms", false_alarms, 4_000, 200),
    Simulation("history nights", ever, 500, 60),
    Simulation("history found", found, 2_000, 150),
)
