"""Two campaigns side by side: what became slower, what faster, and what cannot be said.

The rules and what they find were simulated: docs/statistics.md. In words: docs/reports.md.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from backends.hosts.machines import NOT_RECORDED, Machines, Recorded, nothing_shared
from backends.results.attempts import latest_attempts
from backends.results.case_result import CaseResult
from backends.results.compared_models import models_apart
from backends.results.gained_parameters import Assumed, Defaults, no_defaults, with_defaults
from backends.results.mixed_environments import counts_of, is_mixed
from backends.results.paired_cases import (
    Key,
    NoCommonCaseError,
    Parameters,
    but_for,
    check_across,
    key_of,
    no_common_case,
    pairs,
    run_keys,
)
from backends.results.ratios import (
    CONFIDENCE,
    FEWEST,
    Method,
    RatioInterval,
    Welch,
    ratio_interval,
    welch,
)
from backends.results.recipes import Recipe, Unlike, recipes_apart, recorded_alone
from backends.results.repeats_needed import repeats_needed
from backends.results.run_result import RunResult
from backends.results.side_by_side import called_each
from backends.results.summary import Group, parameters_text, summarise
from backends.results.verdict_doubts import (
    FASTER,
    SLOWER,
    Doubt,
    doubted_words,
    doubts_between,
    in_order,
    pairs_apart,
    why_doubted,
)
from profiles.errors import SelectionError

if TYPE_CHECKING:
    from profiles.scalars import Scalar

THRESHOLD = 0.02
"""Beyond it a difference is one, unless another is asked for."""
FAMILY_ALPHA = 0.05
"""How often a comparison without any true slow-down may exit with 1, however many cases it has."""
_ROUNDING = 1e-9


class Verdict(StrEnum):
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"
    INSUFFICIENT = "insufficient"
    DIFFERENT_MODEL = "different model"


_CHANGES = {Verdict.REGRESSION: SLOWER, Verdict.IMPROVEMENT: FASTER, Verdict.SAME: "same"}


def verdict_words(verdict: Verdict, doubts: Sequence[Doubt], *, brief: bool = False) -> str:
    """The verdict as it is shown: ``slower, in doubt: grade D`` is no regression yet, and on other
    hosts two things may have come to ``same``."""
    if verdict in (Verdict.SAME, Verdict.INCONCLUSIVE) and Doubt.MIXED in doubts:
        return "in doubt" if brief else f"in doubt: {why_doubted(doubts)}"
    if verdict not in _CHANGES or not doubts:
        return str(verdict)
    return doubted_words(_CHANGES[verdict], doubts, brief=brief)


class Ground(StrEnum):
    """What a verdict rests on."""

    BEYOND = "beyond"  # the interval excludes 1, the estimate is beyond the threshold
    WITHIN = "within"  # the whole interval is within the threshold
    NOISE = "noise"  # beyond the threshold, but the interval holds 1
    UNPROVEN = "unproven"  # within the threshold, but the interval reaches beyond it
    TOO_FEW = "too_few"  # repeats for any interval
    MIXED = "mixed"  # repeats of several environments on a side: no interval is of either
    OTHER_MODEL = "other_model"  # whatever the ratio, it is of no change
    NOT_IN_BASELINE = "not_in_baseline"
    NOT_IN_CANDIDATE = "not_in_candidate"
    BASELINE_FAILED = "baseline_failed"
    CANDIDATE_FAILED = "candidate_failed"
    CANDIDATE_UNFINISHED = "candidate_unfinished"  # none has succeeded, and some are to be run


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """One case in both campaigns; the side that does not have it is None.

    Parameters
    ----------
    ratio: candidate median / baseline median, with its ``interval``.
    evidence: the means compared on logarithms, which the verdict rests on.
    by_medians: what ``interval`` would say, where it is not the evidence's.
    repeats_needed: on either side, to decide what is inconclusive; None where more do not help.
    decisive: a regression that stands among all cases of the comparison: the exit code rests on it.
    parameters: the candidate's where it is there; of the baseline's, those that differ are in
        ``differs``, which is empty unless the comparison is across parameters.
    other_machines: none of one side was on the other; how far machines differ is in no interval.
    """

    profile: str
    case: str
    parameters: tuple[tuple[str, Scalar], ...]
    unit: str
    baseline: CaseResult | None
    candidate: CaseResult | None
    verdict: Verdict
    ground: Ground
    ratio: float | None = None
    interval: RatioInterval | None = None
    evidence: Welch | None = None
    by_medians: Verdict | None = None
    repeats_needed: int | None = None
    decisive: bool = False
    differs: tuple[tuple[str, Scalar | None], ...] = ()
    other_machines: bool = False

    @property
    def judged(self) -> bool:
        """Whether it is one of the tests that together decide the exit code."""
        return self.evidence is not None and self.verdict is not Verdict.DIFFERENT_MODEL

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Why a regression or an improvement may be none of what was changed; of what is neither
        whether that is for its environments."""
        if self.baseline is None or self.candidate is None:
            return ()
        if self.verdict not in _CHANGES:
            return (Doubt.MIXED,) if self.ground is Ground.MIXED else ()
        hosts = [Doubt.HOSTS] * self.other_machines
        return in_order((*hosts, *doubts_between(self.baseline, self.candidate)))

    @property
    def words(self) -> str:
        """The verdict as it is shown."""
        return verdict_words(self.verdict, self.doubts)

    @property
    def models(self) -> tuple[str, str] | None:
        """What the two models are called, where they are not one."""
        if self.baseline is None or self.candidate is None:
            return None
        return models_apart(self.baseline, self.candidate)

    @property
    def mixed(self) -> str:
        """``2 on H200, 4 on V100 against 3 on H200, 3 on V100``: the repeats of either side, where
        one of them ran in several environments; else empty."""
        if self.baseline is None or self.candidate is None:
            return ""
        sides = (self.baseline, self.candidate)
        mixed = any(map(is_mixed, sides)) and all(side.throughputs for side in sides)
        return " against ".join(counts_of(*sides)) if mixed else ""

    @property
    def environments(self) -> tuple[tuple[str, str], ...]:
        """(baseline's, candidate's) fingerprints that are known to differ."""
        if self.baseline is None or self.candidate is None:
            return ()
        return tuple(pairs_apart(self.baseline.fingerprints, self.candidate.fingerprints))

    @property
    def keys(self) -> tuple[Key | None, Key | None]:
        """Of the baseline's case and the candidate's."""
        ours, theirs = (
            None if side is None else key_of(side.profile, side.case, side.parameters)
            for side in (self.baseline, self.candidate)
        )
        return ours, theirs


@dataclass(frozen=True, slots=True)
class Comparison:
    """``environments``: (baseline's, candidate's) fingerprints of a common case that differ.
    ``assumed``: parameters that one side's profile did not have yet, 0 being the baseline.
    ``across``: parameters that may differ between the two cases of a pair.
    ``names``: of the two campaigns, ``paths``: where they lie, empty and None where nobody says;
    ``settings``: which runs of either side these are, where not all of it is compared.
    ``same_runs``: on both sides.
    ``machines``: of both sides, None where they are not recorded; ``hosts``: each by itself.
    ``unlike``: what the runs of common cases were not started alike from; ``recorded``: whether
    that is known of either side; ``recorded_alone``: variables of hosts that one side recorded,
    where the other recorded none.
    ``unfinished``: of either side, how many of how many runs have ended; None: all."""

    threshold: float
    cases: tuple[ComparedCase, ...]
    environments: tuple[tuple[str, str], ...] = ()
    assumed: tuple[Assumed, ...] = ()
    across: tuple[str, ...] = ()
    names: tuple[str, str] = ("", "")
    paths: tuple[Path | None, Path | None] = (None, None)
    settings: tuple[tuple[Parameters, ...], tuple[Parameters, ...]] = ((), ())
    same_runs: int = 0
    machines: tuple[Machines | None, Machines | None] = (None, None)
    hosts: Recorded = field(default_factory=lambda: NOT_RECORDED)
    unlike: tuple[Unlike, ...] = ()
    recorded: tuple[bool, bool] = (True, True)
    recorded_alone: tuple[Unlike, ...] = ()
    unfinished: tuple[tuple[int, int] | None, tuple[int, int] | None] = (None, None)

    @property
    def called(self) -> tuple[str, str]:
        """Both, and where not all is compared its settings."""
        told = ("; ".join(parameters_text(dict(one)) for one in own) for own in self.settings)
        names = called_each(self.names, self.paths)
        ours, theirs = (", ".join(filter(None, pair)) for pair in zip(names, told, strict=True))
        return ours, theirs

    def of(self, verdict: Verdict) -> tuple[ComparedCase, ...]:
        return tuple(case for case in self.cases if case.verdict is verdict)

    @property
    def regressions(self) -> tuple[ComparedCase, ...]:
        return self.of(Verdict.REGRESSION)

    @property
    def decisive(self) -> tuple[ComparedCase, ...]:
        return tuple(case for case in self.cases if case.decisive)

    def on(self, ours: Machines | None, theirs: Machines | None) -> Comparison:
        """The same, where it is known what either side was measured on."""
        figures = [one for case in self.cases for one in (case.baseline, case.candidate) if one]
        if figures and all(one.on_cpus for one in figures):
            ours, theirs = ours and ours.of_cpus(), theirs and theirs.of_cpus()
        others = ours is not None and theirs is not None and bool(nothing_shared(ours, theirs))
        cases = tuple(replace(case, other_machines=others) for case in self.cases)
        return replace(self, cases=cases, machines=(ours, theirs))

    def started_from(self, ours: Recipe | None, theirs: Recipe | None) -> Comparison:
        """The same, where it is known what either side's runs were made of."""
        both = {case.profile: None for case in self.cases if case.baseline and case.candidate}
        known = ours is not None, theirs is not None
        unlike, alone = recipes_apart(ours, theirs, both), recorded_alone(ours, theirs)
        return replace(self, unlike=unlike, recorded=known, recorded_alone=alone)

    @property
    def judged(self) -> int:
        """Cases with an interval: the family over which a chance regression is guarded against."""
        return sum(case.judged for case in self.cases)

    def fails(self, *, strict: bool = False) -> tuple[ComparedCase, ...]:
        """The cases that make the exit code 1: decisive regressions, and cases that succeeded in
        the baseline and only failed in the candidate; with ``strict`` also inconclusive ones."""
        return tuple(
            case
            for case in self.cases
            if case.decisive
            or case.ground is Ground.CANDIDATE_FAILED
            or (strict and case.verdict is Verdict.INCONCLUSIVE)
        )


def compare(
    baseline: Iterable[RunResult],
    candidate: Iterable[RunResult],
    threshold: float = THRESHOLD,
    defaults: Defaults = no_defaults,
    across: Sequence[str] = (),
) -> Comparison:
    """Case by case, over the successful repeats; a parameter that only one side's profile has
    counts on the other as its default. ``across``: parameters that may differ: a case that only
    one side has is held against those that differ in nothing else.

    A regression (an improvement): Welch's 95% interval of the ratio excludes 1, and the best
    estimate is beyond ``threshold`` (0.02: 2%). The same: the whole interval is within it. All else
    is inconclusive, also what has fewer than three repeats; insufficient: one side has none. Of two
    models there is a ratio and no verdict.

    Raises
    ------
    SelectionError: a threshold out of 0 … 1, units that differ, an ``across`` that is no parameter.
    NoCommonCaseError: not one common case, or no results on a side.
    """
    check_threshold(threshold)
    sides, assumed = with_defaults((tuple(baseline), tuple(candidate)), defaults)
    ours, theirs = (_by_key(summarise(side)) for side in sides)
    check_across(across, [*ours, *theirs])
    found = pairs([*ours], [*theirs], across)
    due = {key for run in sides[1] if _is_due(run) for key in run_keys([run])}
    if all(None in pair for pair in found):
        profiles = [{run.profile for run in side} for side in sides]
        if all(profiles) and profiles[0].isdisjoint(profiles[1]):
            raise no_common_case(*map(run_keys, sides))
        for name, side in zip(("baseline", "candidate"), sides, strict=True):
            if all(_is_due(run) or run.state == "cancelled" for run in side):
                raise _without_results(name, side)
        if not due.isdisjoint(ours):
            raise NoCommonCaseError(
                "the candidate is unfinished, and has measured no case of the baseline yet",
                "compare when it has",
            )
        raise no_common_case([*ours], [*theirs])
    cases = [
        _compared(ours[one] if one else None, theirs[other] if other else None, threshold)
        for one, other in found
    ]
    cases = [_not_yet(case, due, across) for case in cases]
    cases.sort(key=lambda case: case.baseline is None or case.candidate is None)
    return Comparison(
        threshold,
        tuple(_with_decisive(cases)),
        tuple(dict.fromkeys(pair for case in cases for pair in case.environments)),
        assumed,
        tuple(across),
        same_runs=_same_runs(*sides),
        unfinished=(_unfinished(sides[0]), _unfinished(sides[1])),
    )


def _without_results(name: str, runs: Iterable[RunResult]) -> NoCommonCaseError:
    if any(map(_is_due, runs)):
        return NoCommonCaseError(f"the {name} has no results yet", "compare when it has")
    return NoCommonCaseError(f"the {name} has no results", "choose another campaign")


def _is_due(run: RunResult) -> bool:
    """It has not ended; a figure that was entered without a value never will."""
    return not (run.ended or run.imported or run.profiled)


def _unfinished(runs: Sequence[RunResult]) -> tuple[int, int] | None:
    latest = latest_attempts(runs)
    due = sum(map(_is_due, latest))
    return (len(latest) - due - sum(run.skipped for run in latest), len(latest)) if due else None


def _not_yet(case: ComparedCase, due: Collection[Key], across: Collection[str]) -> ComparedCase:
    """What has not succeeded has not failed yet where runs of it are ``due``."""
    ours, theirs = case.keys
    lacks = case.ground is Ground.CANDIDATE_FAILED and theirs in due
    if case.ground is Ground.NOT_IN_CANDIDATE and ours is not None:
        lacks = but_for(ours, across) in {but_for(key, across) for key in due}
    return replace(case, ground=Ground.CANDIDATE_UNFINISHED) if lacks else case


def check_threshold(threshold: float) -> None:
    """Raise SelectionError where it is out of 0 … 1."""
    if not 0 <= threshold < 1:
        raise SelectionError(
            f"threshold {threshold:g} is out of range", remedy="give a percentage such as 2%"
        )


def _by_key(groups: Sequence[Group]) -> dict[Key, CaseResult]:
    return {
        key_of(case.profile, case.case, case.parameters): case
        for group in groups
        for case in group.cases
        if case.runs
    }


def _same_runs(ours: Iterable[RunResult], theirs: Iterable[RunResult]) -> int:
    there = set(map(_identity, theirs))
    return len({run.slot for run in ours if run.campaign and _identity(run) in there})


def _identity(run: RunResult) -> tuple[object, ...]:
    """What two attempts do not share."""
    return run.campaign, run.run_id, run.started_at


def _compared(ours: CaseResult | None, theirs: CaseResult | None, threshold: float) -> ComparedCase:
    known = theirs or ours
    if known is None:
        raise ValueError("a case is on one side at least")
    if ours is not None and theirs is not None and ours.unit != theirs.unit:
        raise SelectionError(
            f"baseline is in {ours.unit}, candidate in {theirs.unit}",
            where=f"{known.profile} {known.case}",
            remedy="measure both with the same profile",
        )
    _profile, _tag, parameters = key_of(known.profile, known.case, known.parameters)
    other = known.parameters if ours is None else ours.parameters
    names = sorted({*known.parameters, *other})
    case = ComparedCase(
        known.profile,
        known.case,
        parameters,
        known.unit,
        ours,
        theirs,
        Verdict.INSUFFICIENT,
        _lacking(ours, theirs),
        differs=tuple((n, other.get(n)) for n in names if other.get(n) != known.parameters.get(n)),
    )
    if ours is None or theirs is None or not ours.throughputs or not theirs.throughputs:
        return case
    return _judged(case, ours.throughputs, theirs.throughputs, threshold)


def _lacking(ours: CaseResult | None, theirs: CaseResult | None) -> Ground:
    if ours is None:
        return Ground.NOT_IN_BASELINE
    if theirs is None:
        return Ground.NOT_IN_CANDIDATE
    return Ground.CANDIDATE_FAILED if ours.throughputs else Ground.BASELINE_FAILED


def _judged(
    case: ComparedCase, ours: Sequence[float], theirs: Sequence[float], threshold: float
) -> ComparedCase:
    ratio = statistics.median(theirs) / statistics.median(ours)
    interval = ratio_interval(ours, theirs)
    by_medians = None
    if interval is not None and interval.method is Method.BOOTSTRAP:
        by_medians, _ground = judge_ratio(ratio, interval, threshold)
    case = replace(case, ratio=ratio, interval=interval)
    if min(len(ours), len(theirs)) < FEWEST:
        verdict, ground, evidence = Verdict.INCONCLUSIVE, Ground.TOO_FEW, None
    else:
        evidence = welch(ours, theirs)
        verdict, ground = judge(evidence, threshold)
    if case.models is not None:
        verdict, ground, by_medians = Verdict.DIFFERENT_MODEL, Ground.OTHER_MODEL, None
    elif case.mixed:
        verdict = verdict if verdict in _CHANGES else Verdict.INCONCLUSIVE
        ground, by_medians = Ground.MIXED, None
    needed = None
    if ground is not Ground.MIXED and verdict is Verdict.INCONCLUSIVE:
        needed = repeats_needed(ours, theirs, threshold)
    return replace(
        case,
        verdict=verdict,
        ground=ground,
        evidence=evidence,
        by_medians=by_medians,
        repeats_needed=needed,
    )


def judge(evidence: Welch, threshold: float) -> tuple[Verdict, Ground]:
    """The verdict on one case and what it rests on.

    The estimate is the ratio of the geometric means and not that of the medians, which scatters a
    fifth more: of true slow-downs it would find fewer.
    """
    return judge_ratio(evidence.ratio, evidence.interval(CONFIDENCE), threshold)


def judge_ratio(ratio: float, interval: RatioInterval, threshold: float) -> tuple[Verdict, Ground]:
    """The same of any estimate of candidate over baseline, and its interval."""
    # Exactly the threshold is still within it, whatever the last bit says.
    lowest, highest = 1 - threshold - _ROUNDING, 1 + threshold + _ROUNDING
    if lowest <= interval.low and interval.high <= highest:
        return Verdict.SAME, Ground.WITHIN
    if lowest <= ratio <= highest:
        return Verdict.INCONCLUSIVE, Ground.UNPROVEN
    if interval.low <= 1 <= interval.high:
        return Verdict.INCONCLUSIVE, Ground.NOISE
    slower = ratio < 1
    return Verdict.REGRESSION if slower else Verdict.IMPROVEMENT, Ground.BEYOND


def _with_decisive(cases: Sequence[ComparedCase]) -> list[ComparedCase]:
    """Over the one-sided tests for a slow-down: however many unchanged cases are compared, hardly
    ever one of them makes the comparison fail."""
    tests = [(p_slower(c.evidence), i) for i, c in enumerate(cases) if c.evidence and c.judged]
    stands = standing(tests)
    return [
        replace(case, decisive=case.verdict is Verdict.REGRESSION and i in stands)
        for i, case in enumerate(cases)
    ]


def standing(tests: Sequence[tuple[float, int]]) -> set[int]:
    """Holm's step-down: of (p, number) the numbers of those that stand among all of them.

    Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    stands: set[int] = set()
    for rank, (p, number) in enumerate(sorted(tests)):
        if p > FAMILY_ALPHA / (len(tests) - rank):
            break
        stands.add(number)
    return stands


def p_slower(evidence: Welch) -> float:
    """One-sided: how often equal populations make the candidate look slower by as much."""
    return evidence.p / 2 if evidence.log_ratio < 0 else 1 - evidence.p / 2
