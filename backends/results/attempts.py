"""Attempts at a run: it counts once, however often it was tried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Attempt(Protocol):
    @property
    def run_id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def never_begun(self) -> bool: ...
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


def tried_again(runs: Iterable[Attempt], latest: Iterable[Attempt]) -> int:
    """How many of ``runs`` were begun, and have a later attempt in their place: with the ``latest``
    and what was :func:`planned_again` these are all."""
    last = {run.run_id for run in latest}
    return sum(run.run_id not in last and not run.never_begun for run in runs)


def planned_again(runs: Iterable[Attempt], latest: Iterable[Attempt]) -> int:
    """How many of ``runs`` were never begun, and have another in their place."""
    last = {run.run_id for run in latest}
    return sum(run.run_id not in last and run.never_begun for run in runs)
