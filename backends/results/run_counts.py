"""What became of a campaign's runs, in numbers that add up to all of its rows, and in words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, TypedDict

from backends.results.attempts import Attempt, planned_again, tried_again
from backends.results.run_result import ENDED


class RunCounts(TypedDict):
    """Of the last attempts at each run how many are ``done``, that is have ended; of these
    ``failed`` and ``cancelled``; of those ``not_begun``, as it was in vain, and ``skipped`` before
    they had started. The others are of the attempts before them."""

    done: int
    failed: int
    not_begun: int
    cancelled: int
    skipped: int
    tried_again: int
    planned_again: int


def run_counts(runs: Collection[Attempt], latest: Collection[Attempt]) -> RunCounts:
    """``latest``: of :func:`backends.results.attempts.latest_attempts`."""
    failed = [run for run in latest if run.state == "failed"]
    cancelled = [run for run in latest if run.state == "cancelled"]
    return {
        "done": sum(run.state in ENDED for run in latest),
        "failed": len(failed),
        "not_begun": sum(run.never_begun for run in failed),
        "cancelled": len(cancelled),
        "skipped": sum(run.never_begun for run in cancelled),
        "tried_again": tried_again(runs, latest),
        "planned_again": planned_again(runs, latest),
    }


class Counted(Protocol):
    """What has :class:`RunCounts` as attributes."""

    @property
    def done(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def not_begun(self) -> int: ...
    @property
    def cancelled(self) -> int: ...
    @property
    def skipped(self) -> int: ...


def succeeded(counted: Counted) -> int:
    """How many runs: with those of :func:`lost_words` they are all that have ended."""
    return counted.done - counted.failed - counted.cancelled


def lost_words(counted: Counted) -> list[str]:
    """``2 failed``, ``1 not begun``, ``1 cancelled``, ``3 skipped``, each run under one of them."""
    counts = (
        (counted.failed - counted.not_begun, "failed"),
        (counted.not_begun, "not begun"),
        (counted.cancelled - counted.skipped, "cancelled"),
        (counted.skipped, "skipped"),
    )
    return [f"{number} {word}" for number, word in counts if number]
