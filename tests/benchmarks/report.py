"""How a benchmark says what it measured."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def headline(text: str) -> None:
    print(f"\n== {text}", flush=True)


def line(what: str, value: str, *, target: str = "", met: bool | None = None) -> None:
    verdict = "" if met is None else ("  ok" if met else "  MISSED")
    aim = f"  (target {target})" if target else ""
    print(f"  {what:<58} {value:>16}{aim}{verdict}", flush=True)


def percentile(values: Sequence[float], part: float) -> float:
    """Nearest rank; ``part`` 0 … 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def middle(values: Sequence[float]) -> float:
    return median(values)
