"""A precheck as text for a dialog: what it will do, how far it is, who is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from backends.precheck.naming import RankedHost, Ranking, Verdict
from backends.precheck.words import (
    PROPOSED,
    UNJUDGED,
    conclusions,
    expected_text,
    figures_together,
    hosts_option,
    main_figures,
    named_text,
    own_reasons_text,
    plan_lines,
    shared_remarks,
    who_is_named,
)
from backends.prechecking import REPORT
from profiles.counted import counted
from profiles.durations import format_duration
from tui.text import ago, bar, plain, problem
from tui.theme import ACCENT, BAD, GOOD, MUTED, WARN

if TYPE_CHECKING:
    from backends.precheck.plan_precheck import PrecheckPlan
    from backends.precheck.record import Precheck
    from tui.precheck_at_work import PrecheckAtWork

UP_TO_YOU = (
    "What is slow or fails is measured once more, then named. Whether to use it is up to you."
)
_SHOWN_LINES = 12
_VERDICTS = {
    Verdict.BROKEN: ("✗", BAD),
    Verdict.FAULTY: ("✗", BAD),
    Verdict.SLOW: ("▼", WARN),
    Verdict.SUSPECT: ("?", WARN),
    Verdict.NOT_JUDGED: ("?", WARN),
    Verdict.WELL: ("●", GOOD),
    Verdict.NOT_MEASURED: ("○", MUTED),
}
_MOST_FIGURES = 8
"""Hosts, each with what was measured of it in a line of its own."""
_MOST_WELL = 40
"""Hosts that are well and stand in a line of their own; of more only how many there are."""


def precheck_plan_text(plan: PrecheckPlan) -> Text:
    """What runs, where, for how long; who is left out and why."""
    text = Text()
    for number, line in enumerate(plan_lines(plan)):
        style = WARN if line.startswith(("left out", UNJUDGED)) else ("bold" if not number else "")
        text.append(f"{plain(line)}\n", style)
    text.append(f"{UP_TO_YOU}\n", MUTED)
    return text


def at_work_text(work: PrecheckAtWork) -> Text:
    """How far it is."""
    text = Text()
    now = work.now
    if work.problem is not None:
        return problem(work.problem)
    if now is None:
        return Text("starting …", MUTED)
    for line in work.lines[-_SHOWN_LINES:]:
        text.append(f"{plain(line)}\n", MUTED)
    if work.stopped:
        text.append("stopping: what runs on the hosts is ended …", WARN)
    elif now.total:
        text.append_text(bar(now.done / now.total, 24))
        text.append(f" {now.stage} {now.done}/{now.total}")
    return text


def ended_words(work: PrecheckAtWork) -> str:
    """``ended, named: node3. p on Hosts has all of it``, or why it found nothing; "" where it was
    stopped, which is no news."""
    if work.problem is not None:
        return f"failed: {work.problem}"
    if work.stopped or work.found is None:
        return ""
    return f"ended, named: {who_is_named(work.found.ranking)}. p on Hosts has all of it"


def found_text(precheck: Precheck, now: float | None = None) -> Text:
    """What is proposed, the ranking with its reasons, the worst first, and what else follows from
    it. Remarks that several hosts have are told once."""
    text = Text()
    hosts = counted(len(precheck.measured.hosts), "host")
    when = f", {ago(now - precheck.started_at)}" if now is not None else ""
    took = format_duration(precheck.seconds)
    text.append(f"{plain(precheck.name)}: {hosts} in {took}{when}\n", "bold")
    if not precheck.finished:
        text.append("It was stopped before its end.\n", WARN)
    ranking = precheck.ranking
    follows = conclusions(ranking, precheck.measured)
    first = [line for line in follows if "--hosts" in line or line.startswith(PROPOSED)]
    for line in first:
        text.append(f"{plain(line)}\n", ACCENT)
    named = [ranked for ranked in ranking.hosts if ranked.reasons]
    few = len(ranking.hosts) <= _MOST_FIGURES
    for ranked in named:
        text.append_text(_host_line(ranked))
        text.append_text(_figures(precheck, ranked, few))
    for pair in ranking.pairs:
        text.append(f"▼ {pair.why}  ", WARN)
        text.append(f"{plain(named_text(pair))}\n")
    rest = [ranked for ranked in ranking.hosts if not ranked.reasons]
    if len(rest) > _MOST_WELL:
        told = [one for one in rest if one.verdict is Verdict.NOT_JUDGED]
        for ranked in told:
            text.append_text(_host_line(ranked))
        rest = [ranked for ranked in rest if ranked not in told]
        text.append(f"● {counted(len(rest), 'host')} besides\n", GOOD)
    else:
        for ranked in rest:
            text.append_text(_host_line(ranked))
            text.append_text(_figures(precheck, ranked, few))
    if together := figures_together(precheck.measured):
        text.append(f"together: {plain(together)}\n", MUTED)
    if expected := expected_text(precheck.measured):
        text.append(f"{expected}\n", MUTED)
    text.append("\n")
    for line in (*shared_remarks(ranking), *(one for one in follows if one not in first)):
        text.append(f"{plain(line)}\n")
    for line in precheck.left:
        text.append(f"not cleaned up: {plain(line)}; see dlperf-tui sweep\n", WARN)
    text.append(f"every figure: {plain(precheck.path / REPORT)}", MUTED)
    return text


def _host_line(ranked: RankedHost) -> Text:
    symbol, colour = _VERDICTS[ranked.verdict]
    line = Text(f"{symbol} {ranked.verdict}  ", colour)
    line.append(plain(ranked.host), "bold")
    if why := own_reasons_text(ranked):
        line.append(f"  {plain(why)}")
    line.append("\n")
    return line


def _figures(precheck: Precheck, ranked: RankedHost, few: bool) -> Text:
    figures = main_figures(precheck.measured, ranked.host) if few else ""
    return Text(f"    {plain(figures)}\n" if figures else "", MUTED)


def nothing_measured(ranking: Ranking) -> bool:
    return all(ranked.verdict is Verdict.NOT_MEASURED for ranked in ranking.hosts)


def why_no_proposal(ranking: Ranking) -> str:
    """Why there is nothing to copy; empty where there is."""
    if proposal(ranking):
        return ""
    if ranking.exclude:
        return "no host is left"
    return "nobody is to be left out" if ranking.keep else "no host was judged"


def proposal(ranking: Ranking) -> str:
    """To copy: ``--hosts 'node[1-2]'``; empty where nobody is to be left out."""
    hosts = ranking.proposed
    return hosts_option(hosts) if hosts else ""
