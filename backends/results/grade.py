"""What there is to distrust about a case, and the grade that it leaves: A to D.

Every finding allows one grade at most, and the worst of them is the case's. All thresholds stand
here; docs/reports.md, "Grades", has the same table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

from backends.hosts.fingerprint import several, tells_devices_alone
from backends.results.case_result import CaseResult, machine_names
from backends.results.findings import Concern, Finding, Grade
from backends.results.mixed_environments import mixed_models
from backends.results.ratios import ratio_interval
from backends.results.run_result import BANDWIDTH, RunResult
from backends.results.statistics import CV_AMBER, CV_RED, MATERIAL, Spread
from backends.results.telemetry_figures import (
    POWER_CAPPED,
    THROTTLED,
    disturbed,
    idle_gpus,
    neighbours,
    throttled,
    unwatched,
)
from backends.results.verdict_doubts import Doubt, by_other_rules, environment_doubt
from profiles.throughput.steady import lost_to_stalls

FEWEST_REPEATS: Mapping[Grade, int] = {Grade.A: 6, Grade.B: 3, Grade.C: 2}
"""Six have an interval of the median, three an interval at all, two a spread."""
WIDEST_INTERVAL: Mapping[Grade, float] = {Grade.A: 0.01, Grade.B: 0.025, Grade.C: 0.05}
"""Half of the 95% interval over the median, or over the mean, that it is of."""
MOST_FAILED: Mapping[Grade, float] = {Grade.A: 0.0, Grade.B: 0.25, Grade.C: 0.5}
"""Share of the repeats that were started and did not succeed."""
MOST_DISTURBED: Mapping[Grade, float] = {Grade.B: 0.02, Grade.C: math.inf}
"""By how much what was not steady in a run moves its figure; the worst of the repeats."""
MOST_THROTTLED: Mapping[Grade, float] = {Grade.A: THROTTLED, Grade.B: 0.1, Grade.C: math.inf}
"""Share of the time for which any GPU was throttled by what is no limit that was set."""
CEILINGS: Mapping[Concern, Grade] = {
    Concern.SIMULATED: Grade.D,
    Concern.FORCED: Grade.C,
    Concern.CV_AMBER: Grade.B,
    Concern.CV_RED: Grade.C,
    Concern.OUTLIERS: Grade.B,
    Concern.FIRST_RUN_SLOW: Grade.B,
    Concern.DRIFT: Grade.C,
    Concern.DEPENDENT_REPEATS: Grade.C,
    Concern.PREFLIGHT: Grade.B,
    Concern.POWER_CAPPED: Grade.A,
    Concern.IDLE_GPUS: Grade.C,
    Concern.SHARED_MACHINE: Grade.C,
    Concern.DISTURBED: Grade.C,
    Concern.PACKED: Grade.B,
    Concern.NEGATIVE_SCALING: Grade.A,
    Concern.NEGATIVE_IN_DOUBT: Grade.A,
    Concern.SUPERLINEAR: Grade.C,
    Concern.NO_BASE: Grade.B,
    Concern.MIXED_ENVIRONMENT: Grade.C,
    Concern.OTHER_ENVIRONMENT: Grade.C,
    Concern.OTHER_HOSTS: Grade.A,
    Concern.OTHER_RULE: Grade.B,
    Concern.SHARED_UNLIKE: Grade.B,
    Concern.UNKNOWN_ENVIRONMENT: Grade.B,
    Concern.UNOBSERVED: Grade.B,
    Concern.STEADINESS_UNKNOWN: Grade.B,
    Concern.LOG_CHANGED: Grade.C,
    Concern.CLOCK: Grade.D,
    Concern.FAR_ABOVE: Grade.C,
    Concern.SAME_LOG: Grade.C,
    Concern.OTHER_DIRECTORY: Grade.B,
    Concern.WARNINGS: Grade.B,
    Concern.RETRIED: Grade.A,
}
"""The best grade beside a finding. That more GPUs are slower is a result, and what leaves it in
doubt has a grade of its own; that the power limit sets the pace is how these GPUs are; an attempt
that failed has no figure."""
SHARED_APART = Fraction(1, 2)
"""The difference between the shares of the repeats of case and base that ran beside others from
which on their speedup shows that, too: then it may be what one of the medians rests on."""
OF_THE_LOGS = (Concern.CLOCK, Concern.FAR_ABOVE, Concern.SAME_LOG, Concern.OTHER_DIRECTORY)
"""The doubts that a run brings, under their names."""
SUPERLINEAR = 1.05
"""Efficiency above which the base is more likely wrong than the scaling that good."""


def findings(
    case: CaseResult, base: CaseResult, cases: Sequence[CaseResult]
) -> tuple[Finding, ...]:
    """Everything about a case with runs that ended but how good its base is."""
    return tuple(_findings(case, base, cases))


def base_finding(case: CaseResult, base: CaseResult) -> Finding | None:
    """That a speedup is no better than its base; both have their other findings."""
    if case.speedup is None or base.grade is None or case is base:
        return None
    if case.grade is not None and base.grade > case.grade:
        return Finding(Concern.WEAK_BASE, base.grade)
    return None


def _findings(case: CaseResult, base: CaseResult, cases: Sequence[CaseResult]) -> Iterator[Finding]:
    if case.simulated:
        yield _usual(Concern.SIMULATED)
    if any(run.forced for run in case.runs):
        yield _usual(Concern.FORCED)
    yield from _of_the_attempts(case)
    if case.spread is not None:
        yield from _of_the_spread(case.spread, case.measured_runs[0])
    if unsteady := [found.cost for run in case.measured_runs for found in run.steady or ()]:
        yield unsteady_by(max(unsteady))
    if any(map(not_looked_at, case.measured_runs)):
        yield _usual(Concern.STEADINESS_UNKNOWN)
    yield from _of_the_machines(case)
    if case.throughput is not None:
        yield from _of_the_scaling(case, base, cases)
        yield from _of_the_environment(case, base)
    if any(map(unwatched, case.measured_runs)):
        yield _usual(Concern.UNOBSERVED)
    if any(run.log_changed or run.log_differs for run in case.runs):
        yield _usual(Concern.LOG_CHANGED)
    for concern in OF_THE_LOGS:
        if doubted := [run for run in case.measured_runs if concern in run.doubts]:
            alone = concern is Concern.SAME_LOG and len(doubted) + 1 >= len(case.measured_runs)
            yield Finding(concern, Grade.D) if alone else _usual(concern)
    if any(map(other_warnings, case.runs)):
        yield _usual(Concern.WARNINGS)


def _of_the_attempts(case: CaseResult) -> Iterator[Finding]:
    if lost := case.lost_runs:
        never = sum(run.never_begun for run in lost)  # which tells nothing of those that were
        share = (len(lost) - never) / max(1, len(lost) + case.succeeded - never)
        yield Finding(Concern.FAILED_RUNS, _at_most(share, MOST_FAILED))
    if case.retried_runs:
        yield _usual(Concern.RETRIED)


def _usual(concern: Concern) -> Finding:
    return Finding(concern, CEILINGS[concern])


def _at_most(value: float, limits: Mapping[Grade, float]) -> Grade:
    return next((grade for grade, limit in limits.items() if value <= limit), Grade.D)


def _of_the_spread(spread: Spread, first: RunResult) -> Iterator[Finding]:
    by_repeats = next((g for g, fewest in FEWEST_REPEATS.items() if spread.n >= fewest), Grade.D)
    if by_repeats is not Grade.A:
        yield Finding(Concern.FEW_REPEATS, by_repeats)
    if (width := known_within(spread)) is not None:
        by_width = _at_most(width, WIDEST_INTERVAL)
        if by_width is not Grade.A:
            yield Finding(Concern.WIDE_INTERVAL, by_width)
    if spread.cv is not None and spread.cv > CV_AMBER:
        yield _usual(Concern.CV_RED if spread.cv > CV_RED else Concern.CV_AMBER)
    if spread.outliers:
        yield outlier_by(spread.largest_outlier)
    if spread.first_run_slow and not stood_still(first, spread):
        yield _usual(Concern.FIRST_RUN_SLOW)
    if spread.drift is not None:
        yield _usual(Concern.DRIFT)
    elif spread.dependence is not None:
        yield _usual(Concern.DEPENDENT_REPEATS)


def stood_still(first: RunResult, spread: Spread) -> bool:
    """Whether stalls in the first repeat are half of what its figure lacks or more: then that is
    why it is slow, and not that it came first."""
    return lost_to_stalls(first.steady) >= (1 - (first.measured or 0.0) / spread.median) / 2


def unsteady_by(cost: float) -> Finding:
    """What moves the figure of a run by so much."""
    return Finding(Concern.UNSTEADY, _at_most(cost, MOST_DISTURBED))


def outlier_by(off: float) -> Finding:
    """What is off the median by so much, relative to it.

    The rule is keen: of seven steady repeats one in six cases has an "outlier" of 0.5%.
    """
    return Finding(Concern.OUTLIERS, CEILINGS[Concern.OUTLIERS] if abs(off) > MATERIAL else Grade.A)


def known_within(spread: Spread) -> float | None:
    """Half of the narrower 95% interval, of the median or of the mean, relative to it.

    By the median's alone eight repeats would have a worse grade than five that scatter as much.
    """
    widths = (spread.half_width, spread.student)
    return min((width for width in widths if width is not None), default=None)


def _of_the_machines(case: CaseResult) -> Iterator[Finding]:
    if any(run.warned for run in case.runs):
        yield _usual(Concern.PREFLIGHT)
    slowed = throttled(case.measured_runs, at_its_limit=False)
    if slowed is not None and slowed.share > THROTTLED:
        yield Finding(Concern.THROTTLED, _at_most(slowed.share, MOST_THROTTLED))
    capped = throttled(case.measured_runs, at_its_limit=True)
    if capped is not None and capped.share > POWER_CAPPED:
        yield _usual(Concern.POWER_CAPPED)
    if any(map(idle_gpus, case.measured_runs)):
        yield _usual(Concern.IDLE_GPUS)
    if disturbed(case.measured_runs):
        yield _usual(Concern.DISTURBED)
    if any(run.beside or run.one_machine for run in case.measured_runs):
        yield _usual(Concern.SHARED_MACHINE)
    if any(run.shared_with for run in case.measured_runs):
        yield _usual(Concern.PACKED)


def _of_the_scaling(
    case: CaseResult, base: CaseResult, cases: Sequence[CaseResult]
) -> Iterator[Finding]:
    if not case.scales:
        return
    if (slower := slower_than(case, cases)) is not None:
        yield _usual(Concern.NEGATIVE_SCALING if slower.surely else Concern.NEGATIVE_IN_DOUBT)
    if case.efficiency is not None and case.efficiency > SUPERLINEAR:
        yield _usual(Concern.SUPERLINEAR)
    if base.throughput is None:
        yield _usual(Concern.NO_BASE)
    elif by_other_rules(base, case):
        yield _usual(Concern.OTHER_RULE)
    if base.throughput is not None and _shared_unlike(case, base):
        yield _usual(Concern.SHARED_UNLIKE)
    machine = machine_names(case, base)
    ours, theirs = ({machine[host] for host in one.measured_hosts} for one in (case, base))
    if case.speedup is not None and ours and theirs and ours.isdisjoint(theirs):
        yield _usual(Concern.OTHER_HOSTS)


def _shared_unlike(case: CaseResult, base: CaseResult) -> bool:
    ours, theirs = (
        Fraction(sum(bool(neighbours(run)) for run in one.measured_runs), len(one.measured_runs))
        for one in (case, base)
    )
    return abs(ours - theirs) >= SHARED_APART


def _of_the_environment(case: CaseResult, base: CaseResult) -> Iterator[Finding]:
    if any(map(unrecorded, case.measured_runs)):
        yield _usual(Concern.UNKNOWN_ENVIRONMENT)
    if several(case.fingerprints):
        yield _usual(Concern.MIXED_ENVIRONMENT)
    doubt = environment_doubt(case.fingerprints, base.fingerprints)
    mixed = case is not base and any(map(mixed_models, (case, base)))
    if (doubt is Doubt.DEVICES or mixed) and case.speedup is not None:
        yield Finding(Concern.OTHER_ENVIRONMENT, Grade.D)
    elif doubt and not several(case.fingerprints):
        yield _usual(Concern.OTHER_ENVIRONMENT)


def over_other_devices(case: CaseResult) -> bool:
    """Its speedup is a ratio of machines: it or its base ran on GPUs, or CPUs, that the other did
    not run on alike."""
    return Finding(Concern.OTHER_ENVIRONMENT, Grade.D) in case.findings


def unrecorded(run: RunResult) -> bool:
    """Nothing is known of its environment but, maybe, which GPU it was."""
    return not run.fingerprint or tells_devices_alone(run.fingerprint)


def other_warnings(run: RunResult) -> set[str]:
    """Those that no other finding tells."""
    return {*run.warnings} - {*run.log_changed, *chain.from_iterable(run.doubts.values())}


def not_looked_at(run: RunResult) -> bool:
    """It has readings over time, and they were too few to say whether it was steady."""
    return bool(run.readings) and run.steady is None and run.unit != BANDWIDTH


class Slower(NamedTuple):
    """Than another case. ``surely``: the repeats tell it from noise, as all of the 95% interval of
    their ratio is below 1."""

    than: CaseResult
    surely: bool


def slower_than(case: CaseResult, cases: Sequence[CaseResult]) -> Slower | None:
    """Than the fastest case with fewer GPUs that beats this one, of those that surely do where any
    does; None where scaling is not negative."""
    if case.throughput is None:
        return None
    beating = [
        Slower(other, _surely_slower(case, other))
        for other in cases
        if other.gpus < case.gpus
        and other.throughput is not None
        and other.throughput > case.throughput
    ]
    return max(beating, key=lambda one: (one.surely, one.than.throughput or 0.0), default=None)


def _surely_slower(case: CaseResult, than: CaseResult) -> bool:
    found = ratio_interval(than.throughputs, case.throughputs)
    return found is not None and found.high < 1
