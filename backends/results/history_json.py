"""A history as JSON."""

from __future__ import annotations

from typing import Any  # JSON

from backends.results.history import CaseHistory, History, Point
from backends.results.history_report import case_name, history_words, rests_on, what_changed
from backends.results.recipes import Unlike
from backends.results.statistics import low_high


def history_document(history: History) -> dict[str, Any]:  # JSON
    """The keys are a contract with other programs: docs/reports.md lists them."""
    return {
        "threshold": history.threshold,
        "regressions": len(history.regressions),
        "decisive": [case_name(case) for case in history.cases if case.decisive],
        "notes": list(history_words(history)[0]),
        "campaigns": [
            {
                "campaign": campaign.name,
                "path": str(campaign.path.absolute()),
                "began_at": campaign.began_at,
                "finished": campaign.finished,
                "simulated": campaign.simulated,
                "imported": campaign.imported,
                "changed": list(changed),
            }
            for campaign, changed in zip(history.campaigns, what_changed(history), strict=True)
        ],
        "assumed": [
            {
                "campaign": history.campaigns[assumed.campaign].name,
                "path": str(history.campaigns[assumed.campaign].path.absolute()),
                "profile": assumed.profile,
                "parameters": dict(assumed.parameters),
            }
            for assumed in history.assumed
        ],
        "cases": [_case_document(history, case) for case in history.cases],
    }


def _case_document(history: History, case: CaseHistory) -> dict[str, Any]:
    def place(point: Point) -> dict[str, str]:
        campaign = history.campaigns[point.campaign]
        return {"campaign": campaign.name, "path": str(campaign.path.absolute())}

    return {
        "profile": case.profile,
        "case": case.case,
        "parameters": dict(case.parameters),
        "unit": case.unit,
        "simulated": case.simulated,
        "points": [place(point) | _point_document(point) for point in case.points],
        "changes": [
            place(case.points[change.point])
            | {
                "ratio": change.change.evidence.ratio,
                "ratio_interval": low_high(change.change.evidence.interval()),
                "p": change.change.p,
                "verdict": str(change.verdict),
                "doubts": [str(doubt) for doubt in change.doubts],
            }
            | _beside(case.points[change.point])
            for change in case.changes
        ],
        "trend": None
        if case.trend is None
        else {"change": case.trend.change, "tau": case.trend.tau, "p": case.trend.p},
        "verdict": str(case.verdict),
        "doubts": [str(doubt) for doubt in case.doubts],
        "rests_on": str(case.why),
        "reason": rests_on(case),
        "would_see": case.would_see,
    }


def _point_document(point: Point) -> dict[str, Any]:
    case = point.case
    return {
        "throughput": case.throughput,
        "interval": low_high(case.spread.interval if case.spread else None),
        "cv": case.spread.cv if case.spread else None,
        "repeats": case.repeats,
        "succeeded": case.succeeded,
        "grade": case.grade,
        "flags": [str(concern) for concern in case.concerns],
        "imported": case.imported,
    } | _beside(point)


def _beside(point: Point) -> dict[str, Any]:
    """What else changed since the figure before."""
    environment = None
    if point.environment is not None:
        environment = {"before": point.environment[0], "after": point.environment[1]}
    return {
        "environment": environment,
        "hosts": point.hosts or None,
        "unlike": [_unlike(one) for one in point.unlike],
    }


def _unlike(one: Unlike) -> dict[str, str | None]:
    return {
        "profile": one.profile,
        "kind": one.kind,
        "name": one.name,
        "before": one.baseline,
        "after": one.candidate,
    }
