"""Attempts at a run: it counts once, however often it was tried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Attempt(Protocol):
    @property
    def attempt(self) -> int: ...
    @property
    def slot(self) -> tuple[object, ...]:
        """The repeat, or the profiled run, that this is an attempt at."""
        ...


A = TypeVar("A", bound=Attempt)


def latest_attempts(runs: Iterable[A]) -> tuple[A, ...]:
    """The last attempt at each run, in planning order."""
    latest: dict[tuple[object, ...], A] = {}
    for run in runs:
        latest[run.slot] = run
    return tuple(latest.values())


def tried_again(runs: Iterable[Attempt]) -> int:
    """How many runs have had more attempts than one."""
    return sum(run.attempt > 1 for run in latest_attempts(runs))
