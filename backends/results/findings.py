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
    """Why a figure deserves a second look. The values are the ``flags`` of results.json, less
    :data:`SHORTFALLS`."""

    SIMULATED = "simulated"
    FORCED = "forced"
    FAILED_RUNS = "failed_runs"
    FEW_REPEATS = "few_repeats"
    WIDE_INTERVAL = "wide_interval"
    CV_AMBER = "cv_amber"
    CV_RED = "cv_red"
    OUTLIERS = "outliers"
    FIRST_RUN_SLOW = "first_run_slow"
    DRIFT = "drift"
    DEPENDENT_REPEATS = "dependent_repeats"
    UNSTEADY = "unsteady"
    PREFLIGHT = "preflight"
    THROTTLED = "throttled"
    POWER_CAPPED = "power_capped"
    DISTURBED = "disturbed"
    PACKED = "packed"
    NEGATIVE_SCALING = "negative_scaling"
    SUPERLINEAR = "superlinear"
    NO_BASE = "no_base"
    WEAK_BASE = "weak_base"
    MIXED_ENVIRONMENT = "mixed_environment"
    OTHER_ENVIRONMENT = "other_environment"
    OTHER_RULE = "other_rule"
    UNKNOWN_ENVIRONMENT = "unknown_environment"
    UNOBSERVED = "unobserved"
    STEADINESS_UNKNOWN = "steadiness_unknown"
    LOG_CHANGED = "log_changed"
    CLOCK = "clock"
    FAR_ABOVE = "far_above"
    SAME_LOG = "same_log"
    OTHER_DIRECTORY = "other_directory"
    WARNINGS = "warnings"


SHORTFALLS = frozenset(
    {
        Concern.FEW_REPEATS,
        Concern.WIDE_INTERVAL,
        Concern.WEAK_BASE,
        Concern.UNKNOWN_ENVIRONMENT,
        Concern.UNOBSERVED,
        Concern.STEADINESS_UNKNOWN,
    }
)
"""What a figure lacks without anything odd about it: reasons of a grade, and no flags."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``ceiling``: the best grade that it allows; A for what is told without lowering anything."""

    concern: Concern
    ceiling: Grade


def grade_of(findings: Iterable[Finding]) -> Grade:
    """The worst of what they allow."""
    return max((finding.ceiling for finding in findings), default=Grade.A)
