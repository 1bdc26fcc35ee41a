"""What was measured on the same hosts before, and how they did in real runs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from backends.precheck.figures import About, Figure
from backends.precheck.naming import Named, Why
from backends.precheck.slower import FEWEST, slower_than_others

FEWEST_RUNS = 3
"""Runs of a host that tell how fast it is."""
RUNS_TOLERANCE = 0.05
FEWEST_FAILURES = 2
TIMES_AS_OFTEN = 3.0
"""So much more often than on the other hosts."""


@dataclass(frozen=True, slots=True)
class HostInRuns:
    """A host in real runs. ``speeds``: of each that succeeded, its throughput over the median of
    its case; ``faults``: for each run that something was amiss with here, what: why it ended, or a
    rank that was slow to its end."""

    host: str
    runs: int = 0
    speeds: tuple[float, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Past:
    """``before``: figures of earlier prechecks, the newest first. ``runs``: by host."""

    before: Sequence[Sequence[Figure]] = ()
    runs: Mapping[str, HostInRuns] = field(default_factory=dict)

    def values_of(self, figure: Figure) -> Sequence[float]:
        """What the same had before."""
        return self._values.get((figure.series, figure.subject), ())

    @cached_property
    def _values(self) -> Mapping[object, Sequence[float]]:
        found: dict[object, list[float]] = {}
        for figures in self.before:
            for old in figures:
                found.setdefault((old.series, old.subject), []).append(old.value)
        return found

    @property
    def suspects(self) -> Iterable[Named]:
        """Hosts that were slow, or faulty, in real runs, whatever the measurements say."""
        return (*_slow_in_runs(self.runs.values()), *_faulty_in_runs(self.runs.values()))


def _slow_in_runs(hosts: Iterable[HostInRuns]) -> Iterable[Named]:
    speeds = {
        told.host: statistics.median(told.speeds)
        for told in hosts
        if len(told.speeds) >= FEWEST_RUNS
    }
    for host, than in slower_than_others(speeds, RUNS_TOLERANCE).items():
        yield Named(Why.IN_RUNS, About.HOST, (host,), metric="runs", than=than)


def _faulty_in_runs(hosts: Iterable[HostInRuns]) -> Iterable[Named]:
    known = [told for told in hosts if told.runs]
    if len(known) < FEWEST:
        return
    for told in known:
        others = [other for other in known if other is not told]
        share = len(told.faults) / told.runs
        usual = sum(len(o.faults) for o in others) / sum(o.runs for o in others)
        if len(told.faults) >= FEWEST_FAILURES and share > TIMES_AS_OFTEN * usual:
            kinds = ", ".join(
                f"{told.faults.count(kind)} × {kind}" for kind in dict.fromkeys(told.faults)
            )
            reason = f"{kinds} in {told.runs} real runs"
            yield Named(Why.IN_RUNS, About.HOST, (told.host,), metric="runs", reason=reason)
