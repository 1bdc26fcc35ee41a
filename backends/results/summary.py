"""Runs into cases, cases into groups: medians, speedups, and what to distrust about them.

A group is one profile with one set of parameters in one campaign; its cases differ by GPUs only,
so that a speedup within it means something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from backends.results.auto_repeats import Stop
from backends.results.case_result import CaseResult
from backends.results.findings import gravest_first
from backends.results.grade import base_finding, findings
from backends.results.ratios import ratio_interval
from backends.results.run_result import (
    RunResult,
    batch_size,
    kept_parameters,
    precision,
    ran_on_cpus,
)
from backends.results.statistics import describe, efficiency, speedup
from profiles.format.case import in_order
from profiles.scalars import scalar_text

if TYPE_CHECKING:
    from profiles.scalars import Scalar

Center = Literal["median", "mean"]


@dataclass(frozen=True, slots=True)
class Group:
    """One profile with one set of parameters: its cases by number of GPUs, and their base.

    ``parameters`` are those that all cases share: under strong scaling each case has a batch size
    per device of its own.

    ``base`` is the tag that speedups refer to: 1n1g where it is among the cases, else the smallest;
    whether it was measured is a different question (without, there are no speedups).
    """

    campaign: str
    profile: str
    framework: str
    model: str
    parameters: Mapping[str, Scalar]
    unit: str
    center: Center
    base: str
    cases: tuple[CaseResult, ...]

    @property
    def scales(self) -> bool:
        """Whether twice the devices should give twice the figure."""
        return self.base_case.scales

    @property
    def alone(self) -> bool:
        """It has one case, of several devices: a base of nothing, and no share of what one does."""
        return len(self.cases) == 1 and self.base_case.gpus > 1

    @property
    def on_cpus(self) -> bool:
        """Its devices are known to be CPU slots: no host that it ran on had a GPU."""
        return ran_on_cpus(run for case in self.cases for run in case.runs)

    @property
    def memory_is_stated(self) -> bool:
        return any(case.memory_is_stated for case in self.cases)

    @property
    def measured_cases(self) -> tuple[CaseResult, ...]:
        return tuple(case for case in self.cases if case.throughput is not None)

    @property
    def base_case(self) -> CaseResult:
        return next(case for case in self.cases if case.case == self.base)

    @property
    def batch_size(self) -> int | None:
        return batch_size(self.parameters)

    @property
    def precision(self) -> str | None:
        return precision(self.parameters)


def summarise(runs: Iterable[RunResult], center: Center = "median") -> tuple[Group, ...]:
    """Groups in the order in which their profiles first appear, then by their parameters.

    ``center`` is the statistic over the repeats that speedups divide: DLPerf's principle is the
    median. Runs that have not ended make their case known but count for nothing.
    """
    grouped: dict[tuple[object, ...], list[RunResult]] = {}
    profiles: dict[tuple[str, str], int] = {}
    for run in runs:
        order = profiles.setdefault((run.campaign, run.profile), len(profiles))
        key = _parameter_key(kept_parameters(run.parameters))
        grouped.setdefault((order, key), []).append(run)
    return tuple(_group(grouped[key], center) for key in sorted(grouped))


def on_cpus(groups: Iterable[Group]) -> bool:
    """Whether any of them is known to have computed on CPUs: then not all devices are GPUs."""
    return any(group.on_cpus for group in groups)


def parameters_text(parameters: Mapping[str, Scalar]) -> str:
    """``batch_size=128, precision=fp32``: in the order of :func:`profiles.format.case.in_order`."""
    return ", ".join(f"{name}={scalar_text(parameters[name])}" for name in in_order(parameters))


def _parameter_key(parameters: Mapping[str, Scalar]) -> tuple[tuple[str, int, float, str], ...]:
    """Equal for equal parameters in any order; numbers sort as numbers, before texts."""
    key: list[tuple[str, int, float, str]] = []
    for name, value in sorted(parameters.items()):
        if isinstance(value, str):
            key.append((name, 1, 0.0, value))
        else:
            key.append((name, 0, float(value), scalar_text(value)))
    return tuple(key)


def held_to(group: Group, base: str) -> Group:
    """The same with another of its cases as the base of speedups, efficiencies and findings.

    Raises
    ------
    StopIteration: it has no such case.
    """
    held = next(case for case in group.cases if case.case == base)
    cases = [_scaled(case, held, group.center) for case in group.cases]
    return replace(group, base=base, cases=_graded(cases, base))


def common_base(groups: Iterable[Group]) -> str | None:
    """The smallest case with a result in each group that has one at all; None: there is none."""
    measured = [group.measured_cases for group in groups if group.measured_cases]
    if not measured:
        return None
    everywhere = set.intersection(*({case.case for case in cases} for cases in measured))
    return next((case.case for case in measured[0] if case.case in everywhere), None)


def _group(runs: Sequence[RunResult], center: Center) -> Group:
    by_case: dict[tuple[int, int, int], list[RunResult]] = {}
    for run in runs:
        by_case.setdefault((run.gpus, run.nodes, run.gpus_per_node), []).append(run)
    cases = [_case(by_case[size], center) for size in sorted(by_case)]
    base = next((case for case in cases if case.gpus == 1), cases[0])
    graded = _graded([_scaled(case, base, center) for case in cases], base.case)
    first = runs[0]
    return Group(
        campaign=first.campaign,
        profile=first.profile,
        framework=first.framework,
        model=first.model,
        parameters=kept_parameters(first.parameters),
        unit=first.unit,
        center=center,
        base=base.case,
        cases=graded,
    )


def _case(runs: Sequence[RunResult], center: Center) -> CaseResult:
    repeats = [run for run in runs if not run.profiled]
    last, superseded = _last_attempts(repeats)
    first = runs[0]
    values = [value for run in last if (value := run.measured) is not None]
    spread = describe(values) if values else None
    throughput = None
    if spread is not None:
        throughput = spread.mean if center == "mean" else spread.median
    return CaseResult(
        profile=first.profile,
        framework=first.framework,
        model=first.model,
        case=first.case_tag,
        nodes=first.nodes,
        gpus_per_node=first.gpus_per_node,
        parameters=first.parameters,
        unit=first.unit,
        runs=last,
        superseded=superseded,
        spread=spread,
        throughput=throughput,
        profiled_runs=tuple(run for run in runs if run.profiled),
        stopped=_stopped(repeats) if repeats else None,
        unended_runs=tuple(run for run in repeats if not run.ended),
        planned=len({run.repeat for run in repeats if not run.imported}),
    )


def _stopped(runs: Sequence[RunResult]) -> str | None:
    """None for what others measured too: nobody knows why they stopped."""
    why = runs[-1].stopped
    if why is not None:
        return why or None
    over = all(run.ended for run in runs) and not runs[-1].imported
    return str(Stop.ASKED) if over else None


def _last_attempts(
    runs: Sequence[RunResult],
) -> tuple[tuple[RunResult, ...], tuple[RunResult, ...]]:
    """The last attempt of each repeat that ended, in running order; and what they replaced."""
    last: dict[int, RunResult] = {}
    superseded: list[RunResult] = []
    for run in sorted(runs, key=lambda run: run.attempt):
        if not run.ended:
            continue
        if run.repeat in last:
            superseded.append(last[run.repeat])
        last[run.repeat] = run
    ended = sorted(last.values(), key=lambda run: run.repeat)
    if all(run.started_at is not None for run in ended):
        ended.sort(key=lambda run: run.started_at or 0.0)
    return tuple(ended), tuple(superseded)


def _graded(cases: Sequence[CaseResult], base_tag: str) -> tuple[CaseResult, ...]:
    """With what there is to distrust; what depends on the base's own grade is asked last."""
    base = next(case for case in cases if case.case == base_tag)
    judged = [replace(case, findings=findings(case, base, cases)) for case in cases]
    base = next(case for case in judged if case.case == base_tag)
    weak = [(case, base_finding(case, base)) for case in judged]
    return tuple(
        replace(case, findings=gravest_first([*case.findings, *filter(None, [finding])]))
        for case, finding in weak
    )


def _scaled(case: CaseResult, base: CaseResult, center: Center) -> CaseResult:
    if not case.scales:
        return case
    ratio = speedup(case.throughput, base.throughput)
    interval = None
    if case is not base:
        interval = ratio_interval(base.throughputs, case.throughputs, center)
    return replace(
        case,
        speedup=ratio,
        efficiency=efficiency(ratio, case.gpus, base.gpus),
        speedup_interval=interval,
        efficiency_interval=interval.times(base.gpus, case.gpus) if interval else None,
    )
