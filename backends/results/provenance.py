"""Where the figures of a table come from, in one line: for whoever meets the table elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime

from backends.hosts.fingerprint import models_and_drivers
from backends.hosts.machines import NOT_RECORDED, Machines, Recorded, told_apart
from backends.hosts.same_machine import joined_sets
from backends.inventory.nodesets import fold_nodeset
from backends.results.case_result import CaseResult
from backends.results.findings import Grade
from backends.results.grade_words import grade_counts
from backends.results.numbers import scatter
from backends.results.run_result import RunResult
from backends.results.short_flags import set_by
from backends.results.statistics import CV_LIMITS
from backends.results.translations import Lang, pick
from profiles.counted import counted, first_of

MOST = 60
"""Characters of the names of hosts: of more their number is told."""


def provenance(
    cases: Collection[CaseResult],
    version: str,
    lang: Lang = "en",
    *,
    name: str = "",
    machines: Recorded = NOT_RECORDED,
) -> str:
    """``dlperf-tui 1.2 · 2026-11-21-resnet50 · 2026-11-21 · node[1-4], NVIDIA H200, driver 580.1 ·
    n 6 to 8, CV up to 0.41% · grades 3 × A, 1 × C (forced) · forced past node2: in use: alice ·
    without node5``: the program that wrote it, campaign, days (UTC), hosts, successful repeats and
    how far those of a case scatter, grades, and what a C or a D is for; how many logs do not give
    their figures; how many runs have not ended yet; what of preflight was overridden, whatever else
    sets the grades, and which hosts were left out.

    Of what is not known nothing is said. ``version``: of this program, empty where it stands
    elsewhere. ``name``: the campaign's
    where it is shown, instead of that in its journal. ``machines``: tell apart those that have one
    name in several campaigns.
    """
    measured = [run for case in cases for run in case.measured_runs]
    runs = measured or [run for case in cases for run in case.runs]
    parts = [
        "SIMULATED" * any(run.simulated for run in runs),
        f"dlperf-tui {version}" * bool(version),
        name or ", ".join(dict.fromkeys(run.campaign for run in runs)),
        _days(runs),
        pick(lang, "imported", "导入数据") * any(run.imported for run in runs),
        ", ".join(_machines(runs, machines, lang)),
        *how_sure(cases, lang),
        false_logs(cases, lang),
        not_ended(cases, lang),
        _forced([run for case in cases for run in case.runs], lang),
        _left_out(runs, lang),
    ]
    if failed := sum(case.failed for case in cases):
        cases_failed = f"{failed} case{'s' * (failed > 1)} failed"
        parts.append(pick(lang, cases_failed, f"{failed} 个用例失败"))
    return " · ".join(filter(None, parts))


def false_logs(cases: Iterable[CaseResult], lang: Lang = "en") -> str:
    """``2 logs do not give their figures``, whatever sets the grade."""
    n = sum(bool(run.log_differs) for case in cases for run in case.runs)
    do = "log does not give its figure" if n == 1 else "logs do not give their figures"
    return pick(lang, f"{n} {do}", f"{n} 个日志不再给出其数值") * (n > 0)


def not_ended(cases: Iterable[CaseResult], lang: Lang = "en") -> str:
    """``5 runs not ended yet``: these are no final figures."""
    left = sum(len(case.unended_runs) for case in cases)
    words = f"{counted(left, 'run')} not ended yet", f"尚有 {left} 次运行未结束"
    return pick(lang, *words) * (left > 0)


def _forced(runs: Iterable[RunResult], lang: Lang) -> str:
    """``forced past node2: in use: alice, +1``; an older journal does not name what."""
    forced = [run for run in runs if run.forced]
    if not forced:
        return ""
    first, *more = dict.fromkeys(stop for run in forced for stop in run.stops) or ["preflight"]
    what = first + f", +{len(more)}" * bool(more)
    return pick(lang, f"forced past {what}", f"强制启动，忽略预检：{what}")


def _left_out(runs: Iterable[RunResult], lang: Lang) -> str:
    """``without node[3-4]``"""
    hosts = {host for run in runs for host in run.left_out}
    if not hosts:
        return ""
    names = fold_nodeset(sorted(hosts))
    if len(names) > MOST:
        names = pick(lang, f"{len(hosts)} hosts", f"{len(hosts)} 台主机")
    return pick(lang, f"without {names}", f"未使用 {names}")


def how_sure(cases: Collection[CaseResult], lang: Lang = "en") -> list[str]:
    """``n 6 to 8, CV up to 0.41%`` and ``grades 3 × A, 1 × C (forced)``, as far as there
    are any."""
    counts = ", ".join(
        grade_counts(own) + _reasons(own, grade, lang)
        for grade in Grade
        if (own := [case for case in cases if case.grade is grade])
    )
    graded = pick(lang, f"grades {counts}", f"评级 {counts}") if counts else ""
    return [*filter(None, [", ".join(_repeats(cases, lang)), graded])]


def _reasons(cases: Iterable[CaseResult], grade: Grade, lang: Lang) -> str:
    """`` (forced, superlinear in 1)``: what leaves no better grade, what does so for most cases
    first; nothing of what is good for a table."""
    reasons = set_by(cases, grade, lang)
    return f" ({first_of(reasons)})" if reasons and grade > Grade.B else ""


def _repeats(cases: Iterable[CaseResult], lang: Lang) -> Iterator[str]:
    """``n 6 to 8``, ``CV up to 0.41%``: of the cases with a figure."""
    spreads = [case.spread for case in cases if case.spread is not None]
    if numbers := [spread.n for spread in spreads]:
        fewest, most = min(numbers), max(numbers)
        more = pick(lang, f" to {most}", f" 至 {most}") * (fewest < most)
        yield f"n {fewest}{more}"
    if cvs := [spread.cv for spread in spreads if spread.cv is not None]:
        up_to = pick(lang, "CV up to", "CV 最大") if len(cvs) > 1 else "CV"
        yield f"{up_to} {scatter(max(cvs), beyond=CV_LIMITS)}"


def _days(runs: Iterable[RunResult]) -> str:
    """``2026-11-21``, ``2026-11-21 … 2026-11-23``"""
    began = [run.started_at for run in runs if run.started_at is not None]
    ends = (
        [f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at in (min(began), max(began))]
        if began
        else []
    )
    return " … ".join(dict.fromkeys(ends))


def _machines(runs: Collection[RunResult], recorded: Recorded, lang: Lang) -> Iterator[str]:
    if hosts := {host for run in runs for host in run.hosts}:
        names, n = fold_nodeset(sorted(hosts)), _different(runs, recorded)
        if len(names) > MOST:
            yield pick(lang, f"{n} hosts", f"{n} 台主机")
        elif n < len(hosts):
            yield names + pick(lang, f" ({counted(n, 'machine')})", f"（{n} 台机器）")
        else:
            said = f" (at least {n} different machines)", f"（至少 {n} 台不同的机器）"
            yield names + pick(lang, *said) * (n > len(hosts))
    found = {
        pair for run in runs if run.fingerprint for pair in models_and_drivers(run.fingerprint)
    }
    models, drivers = ({pair[n] for pair in found} - {""} for n in (0, 1))
    if len(models) > 1 and len(drivers) > 1:  # each with its own
        yield " + ".join(", ".join(filter(None, pair)) for pair in sorted(found))
    else:
        yield from (" + ".join(sorted(values)) for values in (models, drivers) if values)


def _different(runs: Iterable[RunResult], recorded: Recorded) -> int:
    """Machines that the runs were on: a host may have the name of another campaign's, and one
    machine several names."""
    known: dict[str, list[Machines]] = {}
    for campaign, host in {(run.campaign, host) for run in runs for host in run.hosts}:
        one = recorded.get((campaign, host))
        known.setdefault(host, []).extend([] if one is None else [one])
    names = [
        frozenset({_OF_NAME + host, *(boot for m in own for boot in m.boots)})
        for host, own in known.items()
    ]
    return sum(
        max(1, told_apart(m for host, own in known.items() if _OF_NAME + host in one for m in own))
        for one in joined_sets(names)
    )


_OF_NAME = "host "  # what is no boot id
