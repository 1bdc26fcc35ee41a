"""A history in words: tables, and the JSON document."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any  # JSON

from backends.hosts.machines import Machines, machines_apart
from backends.results.attempts import latest_attempts
from backends.results.comparison import Verdict
from backends.results.history import Campaign, CaseHistory, History, LevelChange, Point, Why
from backends.results.layouts.cells import count_cell, cv_cell
from backends.results.numbers import NOTHING, fixed, percent, signed_percent
from backends.results.ratios import RatioInterval
from backends.results.render import Column, Table
from backends.results.sparkline import sparkline
from backends.results.statistics import low_high
from backends.results.summary import parameters_text
from backends.results.translations import EN
from profiles.counted import counted

FEW = 8
"""Campaigns below which it is said how little is known of their scatter: docs/statistics.md."""


def history_tables(history: History, *, wide: bool = False) -> list[Table]:
    """The cases, the campaigns, and with ``wide`` every figure of every case."""
    tables = [_cases_table(history), _campaigns_table(history)]
    if wide:
        tables += [_points_table(history, case) for case in history.cases]
    return tables


def history_words(history: History) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is said before the tables and after them."""
    before = [EN.simulated] if any(case.simulated for case in history.cases) else []
    after = [
        f"{history.campaigns[a.campaign].name}: {a.profile} had no such parameter yet, so its "
        f"default is taken: {parameters_text(dict(a.parameters))}."
        for a in history.assumed
    ]
    decisive = [case for case in history.cases if case.decisive]
    chance = [case for case in history.regressions if not case.decisive]
    failed = [case for case in history.cases if case.why is Why.FAILED]
    if decisive:
        after.append(f"Regression that stands among all cases: {_names(decisive)}.")
    elif history.judged:
        after.append("No regression stands among all cases.")
    if chance:
        after.append(f"May be chance among so many: {_names(chance)}.")
    if failed:
        after.append(f"Succeeded before, failed in the last campaign: {_names(failed)}.")
    few = min((len(case.measured) for case in history.cases if len(case.measured) > 1), default=FEW)
    if few < FEW:
        after.append(
            f"Of fewer than {FEW} campaigns it is hardly known how much they scatter from day to "
            "day: what is called a change rests on their repeats."
        )
    return tuple(before), tuple(after)


def _cases_table(history: History) -> Table:
    units = dict.fromkeys(case.unit for case in history.cases)
    of_all = f" in {next(iter(units))}" if len(units) == 1 else ""
    counts = f"{history.threshold * 100:g}%"
    return Table(
        title="",
        columns=(
            Column("profile", "left"),
            Column("case", "left"),
            Column("parameters", "left"),
            Column("history", "left", rank=2),
            Column("campaigns", rank=5),
            Column("last"),
            Column("n", rank=3),
            Column("grade", rank=3),
            Column("change", rank=1),
            Column("95% of it", rank=4),
            Column("since", "left", rank=3),
            Column("verdict", "left"),
            Column("rests on", "left"),
        ),
        rows=tuple(
            _case_row(history, case, "" if of_all else f" {case.unit}") for case in history.cases
        ),
        caption=f"Last: the median{of_all}; a change counts beyond {counts}.",
        notes=(
            "history: a bar of the blocks is a change of level, × a campaign in which all failed, "
            "· one without a figure; change: after over before, with the interval of the levels' "
            "means; none: none beyond the threshold was found, –: too few figures to look for one",
        ),
    )


def _case_row(history: History, case: CaseHistory, unit: str) -> tuple[str, ...]:
    last = case.measured[-1].case if case.measured else None
    change = case.last_change
    return (
        case.profile,
        case.case,
        parameters_text(dict(case.parameters)),
        _line(history, case),
        str(len(case.points)),
        f"{fixed(last.throughput)}{unit}" if last else NOTHING,
        count_cell(last) if last else NOTHING,
        (last.grade or NOTHING) if last else NOTHING,
        signed_percent(change.change.evidence.ratio - 1) if change else _no_change(case),
        _change_range(change.change.evidence.interval()) if change else NOTHING,
        history.campaigns[case.points[change.point].campaign].name if change else NOTHING,
        str(case.verdict),
        rests_on(case, history.campaigns),
    )


def _no_change(case: CaseHistory) -> str:
    """``none`` where it was looked for; why it was not stands in what the verdict rests on."""
    return "none" if case.why in (Why.LAST, Why.TREND, Why.CHANGE) else NOTHING


def _line(history: History, case: CaseHistory) -> str:
    values: list[float | None] = [math.nan] * len(history.campaigns)
    for point in case.points:
        value = point.case.throughput
        values[point.campaign] = math.nan if value is None and point.case.succeeded else value
    changed = {case.points[change.point].campaign for change in case.changes}
    return sparkline(values, changed, least=history.threshold)


def _change_range(interval: RatioInterval) -> str:
    return f"{signed_percent(interval.low - 1)} … {signed_percent(interval.high - 1)}"


def rests_on(case: CaseHistory, campaigns: Sequence[Campaign]) -> str:
    """What its verdict rests on, in words; ``campaigns``: those of the history, for their hosts."""
    said = [_ground(case)]
    moved = _hosts_of_case(case, campaigns)
    for change in case.changes:
        if (differs := case.points[change.point].environment) is not None:
            said.append(f"with another environment: {differs[0]} → {differs[1]}")
        if moved[change.point]:
            said.append(f"with other hosts: {moved[change.point]}")
    if case.trend is not None and case.why is not Why.TREND:
        said.append(f"trend {signed_percent(case.trend.change)}")
    if moved[-1] and case.why is Why.LAST:
        said.append(f"the last on other hosts: {moved[-1]}")
    elif case.why in (Why.LAST, Why.CHANGE) and case.would_see and not moved[-1]:
        few = len(case.measured) < FEW
        seen = "would stand out of its repeats" if few else "would be seen"
        said.append(f"a drop of {percent(case.would_see)} {seen}")
    return "; ".join(said)


def _hosts_of_case(case: CaseHistory, campaigns: Sequence[Campaign]) -> list[str]:
    """Of each of its figures, how the hosts changed since the one before."""
    return hosts_changed(campaigns[point.campaign] for point in case.points)


def _ground(case: CaseHistory) -> str:
    match case.why:
        case Why.CHANGE:
            change = case.last_change or case.changes[-1]
            n = sum(point.measured for point in case.points[change.point :])
            ratio = signed_percent(change.change.evidence.ratio - 1)
            return f"level {ratio}, for {counted(n, 'campaign')}"
        case Why.TREND:
            change_by = case.trend.change if case.trend is not None else 0.0
            return f"trend {signed_percent(change_by)}, no single step"
        case Why.LAST:
            ratio = signed_percent(case.last.ratio - 1) if case.last is not None else NOTHING
            no = "no change found" if case.verdict is Verdict.SAME else "not decided"
            return f"{no}; the last is {ratio} off its level"
        case Why.FAILED:
            return "all repeats of its last campaign failed"
        case Why.ONE:
            return f"{len(case.measured)} campaign with a figure".replace("0 ", "no ")
        case Why.SCATTER:
            return "how campaigns scatter is not known: repeat more, or go on to five campaigns"


def _campaigns_table(history: History) -> Table:
    environments: list[dict[str, None]] = [{} for _ in history.campaigns]
    for case in history.cases:
        for point in case.points:
            if point.environment is not None:
                environments[point.campaign][" → ".join(point.environment)] = None
    for changed, other in zip(environments, hosts_changed(history.campaigns), strict=True):
        changed.update({f"hosts: {other}": None} if other else {})
    return Table(
        title="Campaigns",
        columns=(
            Column("no."),
            Column("campaign", "left"),
            Column("began", "left"),
            Column("marks", "left"),
            Column("environment that changed", "left"),
        ),
        rows=tuple(
            (str(number), campaign.name, _day(campaign), _marks(campaign), "; ".join(changed))
            for number, (campaign, changed) in enumerate(
                zip(history.campaigns, environments, strict=True), start=1
            )
        ),
    )


def hosts_changed(campaigns: Iterable[Campaign]) -> list[str]:
    """Of each campaign how its hosts differ from those of the last one before it whose hosts are
    known; empty where they do not, or nobody knows."""
    told: list[str] = []
    before: Machines | None = None
    for campaign in campaigns:
        now = campaign.machines
        told.append(machines_apart(before, now) if before and now else "")
        before = now or before
    return told


def _marks(campaign: Campaign) -> str:
    failed = sum(run.state == "failed" for run in latest_attempts(campaign.runs))
    marks = {
        "SIMULATED": campaign.simulated,
        "imported": campaign.imported,
        "unfinished": not campaign.finished,
        f"{failed} failed": failed > 0,
    }
    return ", ".join(mark for mark, applies in marks.items() if applies)


def _day(campaign: Campaign) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(campaign.began_at))


def _points_table(history: History, case: CaseHistory) -> Table:
    changed = {change.point: change for change in case.changes}
    moved = _hosts_of_case(case, history.campaigns)
    name = " ".join(filter(None, [case.profile, case.case, parameters_text(dict(case.parameters))]))
    figures = (case.unit, "95% interval", "n", "CV", "grade", "change")
    return Table(
        title=f"{name}{' (SIMULATED)' if case.simulated else ''}",
        columns=(
            Column("no."),
            Column("campaign", "left"),
            *(Column(heading) for heading in figures),
            Column("environment that changed", "left"),
        ),
        rows=tuple(
            (
                str(point.campaign + 1),
                history.campaigns[point.campaign].name,
                fixed(point.case.throughput),
                _interval(point),
                count_cell(point.case),
                cv_cell(point.case),
                point.case.grade or NOTHING,
                _changed(changed.get(at)),
                _environment(point, moved[at]),
            )
            for at, point in enumerate(case.points)
        ),
    )


def _environment(point: Point, moved: str) -> str:
    """What changed of it, and of its hosts, since the figure of the case before."""
    changed = " → ".join(point.environment or ())
    return "; ".join(filter(None, (changed, f"hosts: {moved}" if moved else "")))


def _interval(point: Point) -> str:
    found = point.case.spread.interval if point.case.spread else None
    return f"{fixed(found.low)} … {fixed(found.high)}" if found else NOTHING


def _changed(change: LevelChange | None) -> str:
    if change is None:
        return ""
    evidence = change.change.evidence
    return f"{signed_percent(evidence.ratio - 1)} ({_change_range(evidence.interval())})"


def _names(cases: list[CaseHistory]) -> str:
    return ", ".join(
        " ".join(filter(None, [case.profile, case.case, parameters_text(dict(case.parameters))]))
        for case in cases
    )


def history_document(history: History) -> dict[str, Any]:  # JSON
    """The keys are a contract with other programs: docs/reports.md lists them."""
    return {
        "threshold": history.threshold,
        "regressions": len(history.regressions),
        "decisive": [_names([case]) for case in history.cases if case.decisive],
        "campaigns": [
            {
                "campaign": campaign.name,
                "path": str(campaign.path.absolute()),
                "began_at": campaign.began_at,
                "finished": campaign.finished,
                "simulated": campaign.simulated,
                "imported": campaign.imported,
            }
            for campaign in history.campaigns
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
                "environment": _differs(case.points[change.point]),
            }
            for change in case.changes
        ],
        "trend": None
        if case.trend is None
        else {"change": case.trend.change, "tau": case.trend.tau, "p": case.trend.p},
        "verdict": str(case.verdict),
        "rests_on": str(case.why),
        "reason": rests_on(case, history.campaigns),
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
        "imported": case.imported,
        "environment": _differs(point),
    }


def _differs(point: Point) -> dict[str, str] | None:
    if point.environment is None:
        return None
    return {"before": point.environment[0], "after": point.environment[1]}
