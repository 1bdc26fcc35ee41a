"""A history in words: tables, and what is said before and after them."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backends.results.attempts import latest_attempts
from backends.results.change_points import FEWEST_FOR_DAYS
from backends.results.comparison import Verdict
from backends.results.findings import Grade
from backends.results.history import Campaign, CaseHistory, History, LevelChange, Point, Why
from backends.results.layouts.cells import change_ends, count_cell, cv_cell
from backends.results.mixed_environments import no_verdict_words
from backends.results.numbers import NOTHING, fixed, percent, signed_percent
from backends.results.past_result import LOGS_CHANGED
from backends.results.ratios import FEWEST, RatioInterval
from backends.results.recipes import not_recorded, recipe_changes
from backends.results.render import Column, Table
from backends.results.short_flags import fell_by
from backends.results.side_by_side import called_each
from backends.results.sparkline import FAILED, MISSING, sparkline
from backends.results.summary import parameters_text
from backends.results.translations import EN
from backends.results.verdict_doubts import why_doubted
from profiles.counted import counted, first_of

if TYPE_CHECKING:
    from profiles.scalars import Scalar

    Shared = Mapping[str, tuple[tuple[str, Scalar], ...]]
    """By profile, the parameters that all of its cases have, where it has several."""

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
    campaigns = history.campaigns if len(history.campaigns) > 1 else ()
    called = _called(history)
    run_here = [both for both in zip(campaigns, called, strict=False) if not both[0].imported]
    before += not_recorded([name for own, name in run_here if own.recipe(frozenset()) is None])
    after = [
        f"{called[a.campaign]}: {a.profile} had no such parameter yet, so its "
        f"default is taken: {parameters_text(dict(a.parameters))}."
        for a in history.assumed
    ]
    decisive = [case for case in history.cases if case.decisive]
    plain = [case for case in decisive if not why_doubted(case.doubts)]
    doubtful = [case for case in decisive if why_doubted(case.doubts)]
    chance = [case for case in history.regressions if not case.decisive]
    failed = [case for case in history.cases if case.why is Why.FAILED]
    mixed = sum(case.is_mixed for case in history.cases)
    if mixed:
        after.append(no_verdict_words(mixed))
    if plain:
        after.append(f"Regression that stands among all cases: {_names(plain, history)}.")
    if doubtful:
        after.append(
            f"Slower among all cases, so that the exit code is 1, whatever it is from: "
            f"{_names(doubtful, history)}."
        )
    by_chance = f"may be chance among so many: {_names(chance, history)}." if chance else ""
    if not decisive and history.judged and mixed < len(history.cases):
        others = " of the others" * bool(mixed)
        slower = f": what is slower {by_chance}" if by_chance else "."
        after.append(f"No regression{others} stands among all cases{slower}")
    elif by_chance:
        after.append(f"What else is slower {by_chance}")
    if failed:
        after.append(f"Succeeded before, failed in the last campaign: {_names(failed, history)}.")
    return tuple(before), tuple(after)


def _cases_table(history: History) -> Table:
    """What all cases of a profile share is said once, above them."""
    shared = _shared(history)
    table = _every_column(history, shared)
    if len(history.cases) < 2:
        return table
    above = {"profile": {*shared} if len(shared) == 1 else None, "parameters": {""}}
    kept = [
        at
        for at, column in enumerate(table.columns)
        if above.get(column.heading) != {row[at] for row in table.rows}
    ]
    said = _shared_words(shared)
    return replace(
        table,
        columns=tuple(table.columns[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in table.rows),
        caption=f"{said[0].upper()}{said[1:]}. {table.caption}" if said else table.caption,
    )


def _shared(history: History) -> Shared:
    of_profile: dict[str, list[tuple[tuple[str, Scalar], ...]]] = {}
    for case in history.cases:
        of_profile.setdefault(case.profile, []).append(case.parameters)
    return {
        profile: tuple(one for one in first if others and all(one in other for other in others))
        for profile, (first, *others) in of_profile.items()
    }


def _shared_words(shared: Shared) -> str:
    """``all of torch-gpt: precision=bf16; all of …``; of one profile alone it has its name, too."""
    if len(shared) == 1:
        ((profile, values),) = shared.items()
        return ", ".join(filter(None, [f"all of {profile}", parameters_text(dict(values))]))
    told = {profile: parameters_text(dict(values)) for profile, values in shared.items()}
    return "; ".join(f"all of {profile}: {text}" for profile, text in told.items() if text)


def _own_text(case: CaseHistory, shared: Shared) -> str:
    of_all = shared[case.profile]
    return parameters_text(dict(one for one in case.parameters if one not in of_all))


def _every_column(history: History, shared: Shared) -> Table:
    """``shared``: parameters that no row has."""
    units = dict.fromkeys(case.unit for case in history.cases)
    of_all = f" in {next(iter(units))}" if len(units) == 1 else ""
    called = _called(history)
    counts = f"{history.threshold * 100:g}%"
    return Table(
        title="",
        columns=(
            Column("profile", "left"),
            Column("case", "left"),
            Column("parameters", "left", below=True),
            Column("history", "left", rank=1, whole=True, below=True),
            Column("campaigns", rank=5),
            Column("last"),
            Column("n", rank=3),
            Column("grade", rank=3),
            Column("change"),
            Column("95% of it", rank=2),
            Column("since", "left", rank=4, below=True),
            Column("verdict", "left", least=len("slower, in doubt:")),
        ),
        rows=tuple(
            _case_row(history, called, case, shared, "" if of_all else f" {case.unit}")
            for case in history.cases
        ),
        caption=f"Last: the median{of_all}; a change counts beyond {counts}.",
        notes=(_legend(history), *_grounds(history)),
    )


def _grounds(history: History) -> Iterator[str]:
    """What each verdict rests on, once of cases of which the same is said; the verdict itself
    stands for the most of several that have it, as the rows tell which these are."""
    alike: dict[str, list[CaseHistory]] = {}
    for case in history.cases:
        alike.setdefault(rests_on(case), []).append(case)
    name = _namer(history)
    for words, cases in alike.items():
        whose = f"on {', '.join(map(name, cases))}"
        told = {case.words for case in cases}
        others = [
            own
            for own in alike.values()
            if own is not cases and any(case.words in told for case in own)
        ]
        if len(cases) > 1 and len(told) == 1 and all(len(own) < len(cases) for own in others):
            whose = cases[0].words + ", unless another line has the case," * bool(others)
        yield f"The verdict {whose} rests on: {words}"


def _legend(history: History) -> str:
    """Of the marks that stand in the rows, and no others."""
    drawn = "".join(_line(history, case) for case in history.cases)
    cells = {_change_cell(case) for case in history.cases}
    said = [means for mark, means in DRAWN.items() if mark in drawn]
    change = ["change: the last that counts, by the levels' geometric means, with its 95%"]
    change += ["(…): the last, and none counts"] * any(cell[0] == "(" for cell in cells)
    change += ["none: none was found"] * ("none" in cells)
    change += ["not decided: the last is too unsure for one"] * ("not decided" in cells)
    change += ["trend: no single step"] * ("trend" in cells)
    change += ["–: too few figures to look for one"] * (NOTHING in cells)
    parts = [f"history: {', '.join(said)}"] * bool(said)
    return ". ".join([*parts, "; ".join(change), _grade_note(history)])


DRAWN = {
    "│": "│ a change of level, whether it counts or not",
    FAILED: f"{FAILED} all repeats failed",
    MISSING: f"{MISSING} no figure",
    "D": "D of grade D",
}
"""What may stand in a history."""


MOST_GRADES = 8
"""Campaigns of which each has its letter: more leave no room for the rest in 100 columns."""


def _grades(history: History, case: CaseHistory) -> str:
    """``BBD`` or ``B``, where they are all the same; of many campaigns ``B, worst D``."""
    graded = {p.campaign: p.case.grade for p in case.points if p.case.grade is not None}
    if not graded:
        return NOTHING
    worst, last = max(graded.values()), graded[max(graded)]
    if len({*graded.values()}) == 1:
        return last
    if len(history.campaigns) > MOST_GRADES:
        return last if worst == last else f"{last}, worst {worst}"
    tried = {point.campaign for point in case.points}
    without = (FAILED if at in tried else MISSING for at in range(len(history.campaigns)))
    return "".join(graded.get(at) or mark for at, mark in enumerate(without))


def _grade_note(history: History) -> str:
    if len(history.campaigns) > MOST_GRADES:
        return "grade: the last, and the worst of all campaigns where that is another"
    return "grade: of each campaign, in their order; one letter where all have the same"


def _case_row(
    history: History,
    called: Sequence[str],
    case: CaseHistory,
    shared: Shared,
    unit: str,
) -> tuple[str, ...]:
    last = case.measured[-1].case if case.measured else None
    change = case.last_change or next(reversed(case.changes), None)
    return (
        case.profile,
        case.case,
        _own_text(case, shared),
        _line(history, case),
        str(len(case.points)),
        f"{fixed(last.throughput)}{unit}" if last else NOTHING,
        count_cell(last) if last else NOTHING,
        _grades(history, case),
        _change_cell(case),
        _change_range(change.change.evidence.interval()) if change else NOTHING,
        called[case.points[change.point].campaign] if change else NOTHING,
        case.words,
    )


def _change_cell(case: CaseHistory) -> str:
    """The last that counts, or in brackets the last; ``none`` where all is the same; why there is
    none else stands in what the verdict rests on."""
    if (counts := case.last_change) is not None:
        return signed_percent(counts.change.evidence.ratio - 1)
    if case.changes:
        return f"({signed_percent(case.changes[-1].change.evidence.ratio - 1)})"
    if case.why is Why.TREND:
        return "trend"
    if case.why is not Why.LAST:
        return NOTHING
    return "none" if case.verdict is Verdict.SAME else "not decided"


def _line(history: History, case: CaseHistory) -> str:
    values: list[float | None] = [math.nan] * len(history.campaigns)
    for point in case.points:
        value = point.case.throughput
        values[point.campaign] = math.nan if value is None and point.case.succeeded else value
    changed = {case.points[change.point].campaign for change in case.changes}
    measured = {point.campaign for point in case.measured}
    alone = {point.campaign for point in case.measured if point.case.grade is Grade.D}
    doubted = alone if alone < measured else set()
    return sparkline(values, changed, least=history.threshold, doubted=doubted)


def _change_range(interval: RatioInterval) -> str:
    return " … ".join(change_ends(interval))


def rests_on(case: CaseHistory) -> str:
    """What its verdict rests on, in words, and what else may show in it."""
    said = [_ground(case)]
    for change in case.changes:
        if others := _others(case.points[change.point]):
            said.append(f"with {others}")
    if case.trend is not None and case.why is not Why.TREND:
        said.append(f"trend {signed_percent(case.trend.change)}")
    last = case.points[-1]
    if case.why is Why.LAST and (others := _others(last)):
        said.append(f"the last with {others}")
    told = case.why in (Why.LAST, Why.CHANGE) and not case.is_mixed
    if told and case.would_see and not last.hosts:
        few = len(case.measured) < FEW
        seen = "would stand out of its repeats" if few else "would be seen"
        drop = f"only a drop of {percent(case.would_see)} or more {seen} now"
        said.append(drop + _scatter(case))
    if len(case.measured) > 1:
        said.append(fell_by(*(point.case for point in case.measured[-2:])))
    return "; ".join(filter(None, said))


def _scatter(case: CaseHistory) -> str:
    """What decides which drop would be seen: how the geometric means of the level's campaigns
    before the last scatter, and the repeats of each; "": there is only one of them."""
    begins = case.changes[-1].point if case.changes else 0
    level = [point.case for point in case.points[begins:] if point.measured][:-1]
    means = [statistics.geometric_mean(one.throughputs) for one in level]
    repeats = [one.spread.cv for one in level if one.spread and one.spread.cv is not None]
    if len(means) < 2:
        return ""
    between = statistics.stdev(means) / statistics.fmean(means)
    within = f", their repeats by {percent(statistics.median(repeats))}" if repeats else ""
    return f" (means of campaigns before it scatter by {percent(between)}{within})"


def _others(point: Point) -> str:
    """Which was another than at the figure before: the table of campaigns has how they differ."""
    others = {
        "another environment": point.environment is not None,
        "other hosts": point.hosts,
        "other scripts or settings": point.unlike,
    }
    return ", ".join(other for other, differs in others.items() if differs)


def _ground(case: CaseHistory) -> str:
    match case.why:
        case Why.CHANGE:
            change = case.last_change or case.changes[-1]
            n = sum(point.measured for point in case.points[change.point :])
            ratio = signed_percent(change.change.evidence.ratio - 1)
            few = f", told by repeats alone: how campaigns scatter is known well from {FEW} on"
            few *= len(case.measured) < FEW
            return f"level {ratio}, for {counted(n, 'campaign')}{few}"
        case Why.TREND:
            change_by = case.trend.change if case.trend is not None else 0.0
            return f"trend {signed_percent(change_by)}, no single step"
        case Why.LAST:
            ratio = signed_percent(case.last.ratio - 1) if case.last is not None else NOTHING
            no = "no change found" if case.verdict is Verdict.SAME else "not decided"
            off = f"the mean of the last is {ratio} off its level"
            if case.verdict is not Verdict.SAME and case.last is not None:
                several = len(case.measured) > 2  # else it is what `compare` says
                how = ", as campaigns scatter" * several
                off = f"{off}, and may be {_change_range(case.last.interval())} (95%{how})"
            return "; ".join(filter(None, (no, off, case.needed)))
        case Why.FAILED:
            return "all repeats of its last campaign failed"
        case Why.ONE:
            return f"{len(case.measured)} campaign with a figure".replace("0 ", "no ")
        case Why.SCATTER:
            return _missing(case)


def _missing(case: CaseHistory) -> str:
    """Why nothing is known of its scatter, and what helps."""
    if case.is_mixed:
        return (
            "repeats of one campaign ran in several environments, and such a figure is in no "
            "level: give --hosts of one kind, all repeats in the same environment"
        )
    of_two = f"{FEWEST} repeats in both campaigns"
    return (
        "how campaigns scatter is not known: a verdict takes "
        f"{of_two if len(case.measured) == 2 else '2 repeats in one campaign'}, or "
        f"{FEWEST_FOR_DAYS} campaigns"
    )


def what_changed(
    history: History, name: Callable[[CaseHistory], str] | None = None
) -> list[tuple[str, ...]]:
    """Of each campaign what differs, in one of its cases, from the figure before, with the cases
    where it is not so in all; by their whole names, or as ``name`` says."""
    told: list[dict[str, list[str]]] = [{} for _ in history.campaigns]
    cases = Counter(point.campaign for case in history.cases for point in case.points)
    name = name or case_name
    for case in history.cases:
        for point in case.points:
            for other in _changed_beside(point):
                told[point.campaign].setdefault(other, []).append(name(case))
    return [
        tuple(
            f"{other} ({first_of(whose)})" if len(whose) < cases[place] else other
            for other, whose in changed.items()
        )
        for place, changed in enumerate(told)
    ]


def _called(history: History) -> list[str]:
    """Each campaign, as commands take it."""
    every = history.campaigns
    return called_each([one.name for one in every], [one.path for one in every])


def _campaigns_table(history: History) -> Table:
    every = history.campaigns
    return Table(
        title="Campaigns",
        columns=(
            Column("no."),
            Column("campaign", "left"),
            Column("began", "left", whole=True),
            Column("marks", "left"),
            Column("what else changed", "left", below=True),
        ),
        rows=tuple(
            (
                str(number),
                name,
                _day(campaign),
                ", ".join(_marks_of(campaign).values()),
                "; ".join(changed),
            )
            for number, (campaign, name, changed) in enumerate(
                zip(every, _called(history), what_changed(history, _namer(history)), strict=True),
                start=1,
            )
        ),
        notes=tuple(_marks_notes(history.campaigns)),
    )


def _marks_notes(campaigns: Iterable[Campaign]) -> Iterator[str]:
    """What the marks that stand there mean."""
    given = {mark for campaign in campaigns for mark in _marks_of(campaign)}
    if told := [f"{mark}: {means}" for mark, means in MARKS.items() if mark in given]:
        yield f"marks: {'; '.join(told)}"


MARKS = {
    "SIMULATED": "no hardware was measured",
    "imported": "read from logs or entered, and not run here",
    "unfinished": "not all of its runs have ended",
    "failed": "so many of its repeats did, after all attempts",
    "forced": "started in spite of what preflight stops",
    "left out": "it began without some of its hosts",
    LOGS_CHANGED: "a log was edited, cut or removed after it was measured",
}


def _marks_of(campaign: Campaign) -> dict[str, str]:
    """Each of :data:`MARKS` that applies, and how it is written."""
    failed = sum(run.state == "failed" for run in latest_attempts(campaign.runs))
    marks = {
        "SIMULATED": "SIMULATED" * campaign.simulated,
        "imported": "imported" * campaign.imported,
        "unfinished": "unfinished" * (not campaign.finished),
        "failed": f"{failed} failed" if failed else "",
        "forced": "forced" * any(run.forced for run in campaign.runs),
        "left out": "left out" * any(run.left_out for run in campaign.runs),
        LOGS_CHANGED: LOGS_CHANGED
        * any(run.log_differs or run.log_changed for run in campaign.runs),
    }
    return {mark: said for mark, said in marks.items() if said}


def _day(campaign: Campaign) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(campaign.began_at))


def _points_table(history: History, case: CaseHistory) -> Table:
    called = _called(history)
    changed = {change.point: change for change in case.changes}
    return Table(
        title=f"{case_name(case)}{' (SIMULATED)' if case.simulated else ''}",
        columns=(
            Column("no."),
            Column("campaign", "left"),
            Column(case.unit),
            Column("95% interval", rank=1, below=True),
            Column("n"),
            Column("CV", rank=2, below=True),
            Column("grade"),
            Column("change", rank=3, below=True),
            Column("what else changed", "left", below=True),
        ),
        rows=tuple(
            (
                str(point.campaign + 1),
                called[point.campaign],
                fixed(point.case.throughput),
                _interval(point),
                count_cell(point.case),
                cv_cell(point.case),
                point.case.grade or NOTHING,
                _changed(changed.get(at)),
                "; ".join(_changed_beside(point)),
            )
            for at, point in enumerate(case.points)
        ),
    )


def _changed_beside(point: Point) -> tuple[str, ...]:
    """What changed besides the figure since the one before it."""
    hosts = f"hosts: {point.hosts}" if point.hosts else ""
    return tuple(filter(None, (point.environment_changes, hosts, *recipe_changes(point.unlike))))


def _interval(point: Point) -> str:
    found = point.case.spread.interval if point.case.spread else None
    return f"{fixed(found.low)} … {fixed(found.high)}" if found else NOTHING


def _changed(change: LevelChange | None) -> str:
    if change is None:
        return ""
    evidence = change.change.evidence
    return f"{signed_percent(evidence.ratio - 1)} ({_change_range(evidence.interval())})"


def _names(cases: Iterable[CaseHistory], history: History) -> str:
    told, name = [], _namer(history)
    for case in cases:
        why = why_doubted(case.doubts)
        told.append(f"{name(case)} (in doubt: {why})" if why else name(case))
    return ", ".join(told)


def _namer(history: History) -> Callable[[CaseHistory], str]:
    """Of each case its name, by what the table has of it."""
    shared, profiles = _shared(history), {case.profile for case in history.cases}
    several = len(profiles) > 1 or len(history.cases) < 2

    def name(case: CaseHistory) -> str:
        profile = case.profile if several else ""
        return " ".join(filter(None, [profile, case.case, _own_text(case, shared)]))

    return name


def case_name(case: CaseHistory) -> str:
    return " ".join(filter(None, [case.profile, case.case, parameters_text(dict(case.parameters))]))
