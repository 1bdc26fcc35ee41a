"""Attempts at a run: it counts once, however often it was tried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Attempt(Protocol):
    @property
    def run_id(self) -> str: ...
    @property
    def skipped(self) -> bool: ...
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
    """How many of ``runs`` have had an attempt before the ``latest`` that was not skipped."""
    last = {run.run_id for run in latest}
    return len({run.slot for run in runs if run.run_id not in last and not run.skipped})
