"""What a flag is called where there is room for two words."""

from __future__ import annotations

from collections.abc import Iterable

from backends.results.case_result import CaseResult
from backends.results.findings import Concern, Grade, gravest_first

SHORT = {
    Concern.SIMULATED: "simulated",
    Concern.FORCED: "forced",
    Concern.FAILED_RUNS: "failed runs",
    Concern.FEW_REPEATS: "few repeats",
    Concern.WIDE_INTERVAL: "wide interval",
    Concern.WEAK_BASE: "weak base",
    Concern.UNKNOWN_ENVIRONMENT: "unknown environment",
    Concern.UNOBSERVED: "not watched",
    Concern.STEADINESS_UNKNOWN: "steadiness unknown",
    Concern.CV_AMBER: "CV above 2%",
    Concern.CV_RED: "CV above 5%",
    Concern.OUTLIERS: "outlier",
    Concern.FIRST_RUN_SLOW: "first run slow",
    Concern.DRIFT: "drift",
    Concern.DEPENDENT_REPEATS: "dependent repeats",
    Concern.UNSTEADY: "unsteady",
    Concern.PREFLIGHT: "preflight warned",
    Concern.THROTTLED: "throttled",
    Concern.POWER_CAPPED: "power cap",
    Concern.IDLE_GPUS: "GPUs idle",
    Concern.DISTURBED: "disturbed",
    Concern.PACKED: "packed",
    Concern.NEGATIVE_SCALING: "slower than fewer devices",
    Concern.SUPERLINEAR: "superlinear",
    Concern.NO_BASE: "no base",
    Concern.MIXED_ENVIRONMENT: "several environments",
    Concern.OTHER_ENVIRONMENT: "other environment",
    Concern.OTHER_RULE: "other rule than base",
    Concern.LOG_CHANGED: "log changed",
    Concern.CLOCK: "clock was set",
    Concern.FAR_ABOVE: "readings far above",
    Concern.SAME_LOG: "same log twice",
    Concern.OTHER_DIRECTORY: "several directories",
    Concern.WARNINGS: "warned in a run",
    Concern.RETRIED: "tried again",
}


def short_of(concern: Concern, case: CaseResult) -> str:
    """As :data:`SHORT`; what nobody started, or somebody cancelled, has not failed."""
    if concern is Concern.FAILED_RUNS and (lost := case.lost_runs):
        if all(run.never_begun for run in lost):
            return "repeats missing"
        if all(run.state == "cancelled" for run in lost):
            return "cancelled runs"
    return SHORT[concern]


def set_by(cases: Iterable[CaseResult], grade: Grade) -> list[str]:
    """What leaves cases of ``grade`` no better one, the gravest first, and nothing that would allow
    one; their base's grade only where nothing else does, for that is a case of its own."""
    of = [*cases]
    found = gravest_first(
        finding
        for case in of
        if case.grade is grade
        for finding in case.findings
        if finding.ceiling is grade
    )
    concerns = dict.fromkeys(finding.concern for finding in found)
    if len(concerns) > 1:
        concerns.pop(Concern.WEAK_BASE, None)
    return [_short_together(concern, of) for concern in concerns]


def _short_together(concern: Concern, cases: Iterable[CaseResult]) -> str:
    having = (case for case in cases if concern in case.concerns)
    words = dict.fromkeys(short_of(concern, case) for case in having)
    return next(iter(words)) if len(words) == 1 else SHORT[concern]


def fell_by(before: CaseResult | None, now: CaseResult | None) -> str:
    """``grade B → C: forced``; empty where it is no worse than before."""
    if before is None or now is None or before.grade is None or now.grade is None:
        return ""
    if now.grade <= before.grade:
        return ""
    return f"grade {before.grade} → {now.grade}: {', '.join(set_by([now], now.grade))}"
