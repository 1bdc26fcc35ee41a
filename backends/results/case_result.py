"""All repeats of one case, and what follows from them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from statistics import median
from typing import TYPE_CHECKING

from backends.hosts.same_machine import one_name_each
from backends.results.findings import Concern, Finding, Grade, grade_of
from backends.results.ratios import RatioInterval
from backends.results.run_result import (
    BANDWIDTH,
    MEMORY_METRIC,
    SUCCEEDED,
    SUMMARY,
    RunResult,
    batch_size,
    ran_on_cpus,
)
from backends.results.statistics import Spread
from profiles.format.case import Case

if TYPE_CHECKING:
    from profiles.scalars import Scalar


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All repeats of one case. Throughputs are global samples/s; None where nothing succeeded.

    ``runs`` are the last attempts of every repeat that has ended, in the order they were run;
    ``superseded`` the earlier attempts that a retry replaced. ``speedup`` and ``efficiency`` refer
    to the group's base and are None without one; their intervals are None for the base itself too,
    whose speedup is 1 by definition. ``profiled_runs`` are none of the repeats.
    ``planned``: repeats that there are to be, as far as is known; some may not have ended.
    ``unended_runs``: those that wait, are paused or at work, in order; also what is tried again.
    ``stopped``: why there are no further repeats, a value of
    :class:`backends.results.auto_repeats.Stop`; None while there may be.
    ``findings``: what there is to distrust, the gravest first.
    """

    profile: str
    framework: str
    model: str
    case: str
    nodes: int
    gpus_per_node: int
    parameters: Mapping[str, Scalar]
    unit: str
    runs: tuple[RunResult, ...]
    superseded: tuple[RunResult, ...]
    spread: Spread | None
    throughput: float | None
    profiled_runs: tuple[RunResult, ...] = ()
    speedup: float | None = None
    efficiency: float | None = None
    speedup_interval: RatioInterval | None = None
    efficiency_interval: RatioInterval | None = None
    findings: tuple[Finding, ...] = ()
    stopped: str | None = None
    planned: int = 0
    unended_runs: tuple[RunResult, ...] = ()

    @property
    def as_case(self) -> Case:
        return Case(self.profile, self.nodes, self.gpus_per_node, self.parameters)

    @property
    def concerns(self) -> tuple[Concern, ...]:
        """Its flags, in the order of :attr:`findings`."""
        return tuple(finding.concern for finding in self.findings)

    @property
    def grade(self) -> Grade | None:
        """How far the figure can be trusted; None where there is none to trust."""
        if self.throughput is None and not (self.succeeded and self.failed_runs):
            return None
        return grade_of(self.findings)

    @property
    def failed(self) -> bool:
        """All repeats have ended, none succeeded nor is tried again, and at least one was not only
        cancelled."""
        uncancelled = any(run.state != "cancelled" for run in self.failed_runs)
        return uncancelled and not (self.succeeded or self.unended or self.unended_runs)

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    @property
    def profiled(self) -> RunResult | None:
        """The last run that tells of every rank where its time went."""
        told = [
            run
            for run in self.profiled_runs
            if run.state == SUCCEEDED
            and sorted(rank.rank for rank in run.ranks) == list(range(run.gpus))
        ]
        return told[-1] if told else None

    @property
    def scales(self) -> bool:
        """Whether twice the devices should give twice the figure."""
        return self.unit != BANDWIDTH

    @property
    def throughput_per_device(self) -> float | None:
        if self.throughput is None or not self.scales:
            return None
        return self.throughput / self.gpus

    @property
    def batch_size(self) -> int | None:
        """Per device."""
        return batch_size(self.parameters)

    @property
    def measured_runs(self) -> tuple[RunResult, ...]:
        """The runs behind :attr:`spread`, in its order."""
        return tuple(run for run in self.runs if run.measured is not None)

    @property
    def throughputs(self) -> tuple[float, ...]:
        """Of the successful repeats, in the order in which they were run."""
        return tuple(value for run in self.runs if (value := run.measured) is not None)

    @property
    def succeeded(self) -> int:
        """The k of "k of n"."""
        return len(self.runs) - len(self.failed_runs)

    @property
    def repeats(self) -> int:
        """The n of "k of n": repeats that have ended, one way or another."""
        return len(self.runs)

    @property
    def unended(self) -> int:
        """Repeats that are planned and have not ended."""
        return max(0, self.planned - self.repeats)

    @property
    def wanted(self) -> int:
        """Repeats that have ended or are planned: the n of "k/n"."""
        return self.repeats + self.unended

    @property
    def failed_runs(self) -> tuple[RunResult, ...]:
        return tuple(run for run in self.runs if not run.succeeded)

    @property
    def lost_runs(self) -> tuple[RunResult, ...]:
        """Of :attr:`failed_runs` those that are not being tried again."""
        again = {run.repeat for run in self.unended_runs}
        return tuple(run for run in self.failed_runs if run.repeat not in again)

    @property
    def retried_runs(self) -> tuple[RunResult, ...]:
        """Attempts that failed and were tried again, whatever became of that."""
        return tuple(
            run for run in self.superseded if run.state == "failed" and not run.never_begun
        )

    @property
    def skipped_runs(self) -> tuple[RunResult, ...]:
        """Of the failed: those that were cancelled before they had started."""
        return tuple(run for run in self.failed_runs if run.skipped)

    @property
    def never_begun_runs(self) -> tuple[RunResult, ...]:
        """Of the failed: the skipped ones, and those that were in vain."""
        return tuple(run for run in self.failed_runs if run.never_begun)

    @property
    def fingerprints(self) -> frozenset[str]:
        """The environments that the figures come from, as far as they are known."""
        return frozenset(run.fingerprint for run in self.measured_runs if run.fingerprint)

    @property
    def rules(self) -> frozenset[tuple[str, str]]:
        """Statistic and window by which its runs were measured, as far as that is known."""
        return frozenset((run.statistic, run.window) for run in self.measured_runs if run.statistic)

    @property
    def on_cpus(self) -> bool:
        """Its devices are known to be CPU slots: no host that it ran on had a GPU that it used."""
        return ran_on_cpus(self.runs)

    @property
    def measured_hosts(self) -> frozenset[str]:
        """That the figures come from, as far as they are known."""
        return frozenset(host for run in self.measured_runs for host in run.hosts)

    @property
    def figure_hosts(self) -> frozenset[str]:
        """The same, or where there is no figure those that its runs were on."""
        tried = frozenset(host for run in self.runs for host in run.hosts)
        return tried if self.spread is None else self.measured_hosts

    @property
    def gpu_memory_mib(self) -> int | None:
        """The largest of any repeat."""
        known = [r.gpu_memory_mib for r in self.measured_runs if r.gpu_memory_mib is not None]
        return max(known, default=None)

    @property
    def memory_is_stated(self) -> bool:
        """Its memory is what a log or a report says, the most that a framework allocated, and not
        what the devices had in use."""
        told = [run for run in self.measured_runs if run.gpu_memory_mib is not None]
        return any(run.imported or MEMORY_METRIC in run.metrics for run in told)

    @property
    def metrics(self) -> dict[str, float]:
        """Median over the successful repeats of every further figure of merit."""
        good = [run.metrics for run in self.runs if run.succeeded]
        names = sorted({name for metrics in good for name in metrics})
        return {name: median(m[name] for m in good if name in m) for name in names}

    @property
    def summed_up(self) -> bool:
        """The figure of a repeat is its log's own summary."""
        return any(run.statistic == SUMMARY for run in self.measured_runs)

    @property
    def simulated(self) -> bool:
        return any(run.simulated for run in self.runs)

    @property
    def imported(self) -> bool:
        return bool(self.runs) and all(run.imported for run in self.runs)


def machine_names(*cases: CaseResult) -> Mapping[str, str]:
    """By host that their figures come from one name of its machine, whatever else that is called
    among them: hosts are the same where these are."""
    return one_name_each(
        named
        for case in cases
        for run in case.measured_runs
        for named in zip_longest(run.hosts, run.boot_ids[: len(run.hosts)], fillvalue="")
    )
