"""What there may be to distrust about a figure, and the grade that it leaves: the words of both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """A: nothing to distrust. B: good for a table. C: for orientation. D: a number, no more."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


class Concern(StrEnum):
    """Why a figure deserves a second look, the graver first: what it is, what its ratio is of, how
    it scatters, what its machines did, what is not known of it, and what is no doubt at all. The
    values are the ``flags`` of results.json."""

    SIMULATED = "simulated"
    CLOCK = "clock"
    SAME_LOG = "same_log"
    LOG_CHANGED = "log_changed"
    FAR_ABOVE = "far_above"
    IDLE_GPUS = "idle_gpus"
    FORCED = "forced"
    FAILED_RUNS = "failed_runs"
    MIXED_ENVIRONMENT = "mixed_environment"
    OTHER_ENVIRONMENT = "other_environment"
    OTHER_RULE = "other_rule"
    SHARED_UNLIKE = "shared_unlike"
    SUPERLINEAR = "superlinear"
    NO_BASE = "no_base"
    WEAK_BASE = "weak_base"
    WIDE_INTERVAL = "wide_interval"
    CV_RED = "cv_red"
    CV_AMBER = "cv_amber"
    UNSTEADY = "unsteady"
    DRIFT = "drift"
    DEPENDENT_REPEATS = "dependent_repeats"
    FIRST_RUN_SLOW = "first_run_slow"
    OUTLIERS = "outliers"
    SHARED_MACHINE = "shared_machine"
    DISTURBED = "disturbed"
    THROTTLED = "throttled"
    PACKED = "packed"
    PREFLIGHT = "preflight"
    OTHER_DIRECTORY = "other_directory"
    FEW_REPEATS = "few_repeats"
    UNOBSERVED = "unobserved"
    STEADINESS_UNKNOWN = "steadiness_unknown"
    UNKNOWN_ENVIRONMENT = "unknown_environment"
    WARNINGS = "warnings"
    NEGATIVE_SCALING = "negative_scaling"
    NEGATIVE_IN_DOUBT = "negative_in_doubt"
    OTHER_HOSTS = "other_hosts"
    POWER_CAPPED = "power_capped"
    RETRIED = "retried"


Rank = tuple[int, int]
"""The smallest is told first."""
_RANK_OF_GRADE = {grade: place for place, grade in enumerate(reversed(Grade))}
_RANK_OF_CONCERN = {concern: place for place, concern in enumerate(Concern)}
LEAST: Rank = (len(Grade), 0)
"""Of what is told after every finding."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``ceiling``: the best grade that it allows; A for what is told without lowering anything."""

    concern: Concern
    ceiling: Grade

    @property
    def rank(self) -> Rank:
        """What sets the grade is first, then what costs more; of what costs the same the graver."""
        return _RANK_OF_GRADE[self.ceiling], _RANK_OF_CONCERN[self.concern]


def gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The order in which they are told everywhere."""
    return tuple(sorted(findings, key=lambda finding: finding.rank))


def grade_of(findings: Iterable[Finding]) -> Grade:
    """The worst of what they allow."""
    return max((finding.ceiling for finding in findings), default=Grade.A)
