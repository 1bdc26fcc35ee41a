"""report.md: what was measured, where, how, and how far to trust it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from backends.hangs.slow_rank_words import slow_rank_line
from backends.hangs.verdict_words import evidence_lines, verdict_line
from backends.inventory.nodesets import ranked_nodeset
from backends.results.case_result import CaseResult
from backends.results.environment_words import environment_section
from backends.results.escaping import md_block, md_code, md_link, md_text
from backends.results.findings import Concern, Grade
from backends.results.flag_lines import case_parts, flag_lines, reasons_elsewhere
from backends.results.gpu_time import gpu_time_used
from backends.results.grade_words import (
    grade_counts,
    half_text,
    lettered,
    named_lines,
    within,
    worst_case,
)
from backends.results.layouts.cells import count_cell, cv_cell
from backends.results.layouts.common import LayoutOptions, group_title, simulated
from backends.results.layouts.llm import llm_tables
from backends.results.layouts.speedup import speedup_tables
from backends.results.log_section import case_name, log_section
from backends.results.numbers import NOTHING, fixed
from backends.results.projection_words import projection_section
from backends.results.reference_comparison import held_figures
from backends.results.reference_words import held_line
from backends.results.render import Column, Table, markdown_rows, render_markdown
from backends.results.repeat_hosts import (
    repeat_hosts_heading,
    repeat_hosts_lines,
    repeat_hosts_text,
)
from backends.results.run_result import RunResult
from backends.results.scaling_loss import explain
from backends.results.scaling_loss_words import explained_lines, scaling_text
from backends.results.short_flags import short_of
from backends.results.side_by_side import begun_as
from backends.results.statistics import Spread
from backends.results.steady_words import steadiness_text, window_text
from backends.results.summary import Group
from backends.results.telemetry_table import telemetry_table
from backends.results.told_of import told_of
from backends.results.translations import Lang, Words, pick, words
from backends.results.words_apart import words_apart
from profiles.logs.failures import REMEDIES, without_host
from profiles.references.matching import Held

_ADDRESS = re.compile(r"https://[A-Za-z0-9./_-]+")


@dataclass(frozen=True, slots=True)
class ExecutedCommands:
    """The exact commands of one run of a case. ``lines``: (host, command), rank 0 first."""

    title: str
    lines: tuple[tuple[str, str], ...]
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class ReportContext:
    """What a report says beside its figures.

    Parameters
    ----------
    campaign: by its journal, for documents. called: by its directory, for readers; empty: as by
        its journal.
    environment: the content of environment.json.
    commands: of one run per case.
    version: of dlperf-tui.
    figures: (title, path relative to the report) of the SVG files beside it.
    notes: further sentences for the top of the report.
    tags, said: what people say of the campaign.
    precheck: of the hosts before it, as a section in markdown.
    scopes: by profile what a speed in a log is of: ``global``, ``per_device`` or ``per_node``.
    explains: the profiles that can tell where the time of a step goes.
    other_logs: by run id the further hosts whose raw logs lie beside rank 0's, and their files.
    lost_logs: those of rank 0 that are missing, which are named without a link.
    """

    campaign: str
    called: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)  # JSON
    commands: tuple[ExecutedCommands, ...] = ()
    version: str = ""
    figures: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    said: str = ""
    precheck: str = ""
    scopes: Mapping[str, str] = field(default_factory=dict)
    explains: frozenset[str] = frozenset()
    other_logs: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    lost_logs: frozenset[str] = frozenset()


def render_report(
    context: ReportContext,
    runs: Sequence[RunResult],
    groups: Sequence[Group],
    lang: Lang = "en",
) -> str:
    """The whole of report.md. ``groups`` are the summary of ``runs``."""
    w = words(lang)
    blocks = [f"# {md_text(context.called or context.campaign)}"]
    begun = begun_as(context.campaign, context.called)
    blocks += [w.begun_as.format(name=md_text(context.campaign))] * bool(begun)
    blocks += _said(context)
    blocks += _banners(context, runs, groups, lang, w)
    blocks += [f"## {w.results}", *_results(context, groups, lang, w)]
    blocks += projection_section(groups, lang)
    blocks += [f"## {w.flags_heading}", _flags(groups, lang, w)]
    blocks += _failed(groups, context.lost_logs, w)
    took_part = {host for run in runs for host in run.hosts}
    about = environment_section(context.environment, w, took_part, simulated=simulated(groups))
    blocks += [f"## {w.environment}", *about]
    blocks += [context.precheck] if context.precheck else []
    blocks += [f"## {w.what_was_run}", *_what_was_run(context, groups, lang, w)]
    blocks += [w.gpu_time.format(used=used)] if (used := gpu_time_used(runs, lang)) else []
    logs = log_section(groups, context.other_logs, context.lost_logs, w)
    blocks += [f"## {w.logs}", *logs] if logs else []
    if context.version:
        blocks.append(w.generated.format(version=md_text(context.version)))
    return "\n\n".join(filter(None, (block.rstrip("\n") for block in blocks))) + "\n"


def _said(context: ReportContext) -> list[str]:
    """Whatever people say of it, in their words; before what the program says of it."""
    said = [md_text(context.said)] if context.said else []
    return [*said, " ".join(map(md_code, context.tags))] if context.tags else said


def _banners(
    context: ReportContext,
    runs: Sequence[RunResult],
    groups: Sequence[Group],
    lang: Lang,
    w: Words,
) -> list[str]:
    banners = [f"> **{w.simulated}**"] if simulated(groups) else []
    banners += _failed_lines(groups, lang, w)
    banners += _grade_lines(groups, lang, w)
    banners += _slower_lines(groups, lang, w)
    if runs and all(run.imported for run in runs):
        banners.append(f"> {w.imported}")
    ended = {(run.profile, run.case_tag, run.run_id) for run in runs if run.ended}
    left = len(runs) - len(ended)
    if left and not all(run.imported for run in runs):
        banners.append(f"> {w.partial.format(left=left)}")
    if skipped := sum(len(case.skipped_runs) for group in groups for case in group.cases):
        banners.append(f"> {w.never_started.format(skipped=skipped)}")
    banners += _cancelled_lines(groups, lang, w)
    return banners + [md_text(note) for note in context.notes]


def _failed_lines(groups: Sequence[Group], lang: Lang, w: Words) -> list[str]:
    """Which cases have no figure, and so no grade."""
    return _cases_line(groups, lang, w.no_figure, lambda case: case.failed)


def _cancelled_lines(groups: Sequence[Group], lang: Lang, w: Words) -> list[str]:
    """How many runs were stopped while they ran, and of which cases."""
    every = [(case_parts(case, groups), case.lost_runs) for group in groups for case in group.cases]
    stopped = [
        name for name, lost in every for run in lost if run.state == "cancelled" and not run.skipped
    ]
    if not stopped:
        return []
    names = told_of(stopped, {name for name, _ in every}, lang)
    return [f"> {w.cancelled.format(cancelled=len(stopped), cases=md_text(names))}"]


def _slower_lines(groups: Sequence[Group], lang: Lang, w: Words) -> list[str]:
    """Which cases their further devices made slower, which costs no grade."""
    surely, in_doubt = Concern.NEGATIVE_SCALING, Concern.NEGATIVE_IN_DOUBT
    return [
        *_cases_line(groups, lang, w.slower, lambda case: surely in case.concerns),
        *_cases_line(groups, lang, w.slower_in_doubt, lambda case: in_doubt in case.concerns),
    ]


def _cases_line(
    groups: Sequence[Group], lang: Lang, words: str, is_so: Callable[[CaseResult], bool]
) -> list[str]:
    called = {case_parts(case, groups): case for group in groups for case in group.cases}
    if not (told := [name for name, case in called.items() if is_so(case)]):
        return []
    return [f"> **{words.format(cases=md_text(told_of(told, called.keys(), lang)))}**"]


def _grade_lines(groups: Sequence[Group], lang: Lang, w: Words) -> list[str]:
    """The worst grade of the campaign and why, for whoever reads no further."""
    worst = worst_case(groups)
    if worst is None:
        return []
    case, group = worst
    if case.grade is Grade.A:
        return [f"> **{w.grade_a}**"]
    graded = [one for own in groups for one in own.cases if one.grade is not None]
    alike = sum(one.grade is case.grade for one in graded)
    name = case_name(case, groups)
    said = w.worst_grade.format(grade=case.grade, counts=grade_counts(graded))
    whose = w.held_against[alike > 1].format(case=name, grade=case.grade, n=alike)
    if alike == len(graded):
        said = w.one_grade[min(alike, 3) - 1].format(grade=case.grade, n=alike)
        whose = w.reasons_of.format(case=name)
    told = named_lines(case, group, lang)
    costly = [lettered(found, line) for found, line in told if found.ceiling > Grade.A]
    lines = [f"**{said}** {whose}", "", *(f"- {md_text(line)}" for line in costly)]
    if alike > 1:
        below = w.held_against_others.format(grade=case.grade, heading=w.flags_heading)
        more = reasons_elsewhere(groups, lang)
        further = w.more_reasons.format(grade=case.grade, which=md_text(more)) if more else ""
        lines += ["", below + further]
    return ["\n".join(f"> {line}".rstrip() for line in lines)]


def _what_was_run(
    context: ReportContext, groups: Sequence[Group], lang: Lang, w: Words
) -> list[str]:
    lines = []
    for group in groups:
        rules: dict[tuple[str, str], dict[str, None]] = {}
        for case in group.cases:
            for run in case.measured_runs:
                if run.window or run.statistic:
                    rules.setdefault((run.window, run.statistic), {})[case.case] = None
        said = [
            _rule(*rule, ", ".join(cases) if len(rules) > 1 else "", w)
            for rule, cases in rules.items()
        ]
        scope = context.scopes.get(group.profile, "") if rules else ""
        if scope in w.scopes and all(statistic != "summary" for _, statistic in rules):
            said.append(w.scopes[scope])
        lines.append(f"- {md_text(group_title(group, groups))}. {' '.join(said)}".rstrip())
    blocks = ["\n".join(lines)] if lines else []
    for executed in (one for one in context.commands if one.lines):
        whose = md_text(_whose_commands(executed, groups, lang))
        heading = w.commands.format(case=md_text(executed.title)) + whose
        text = "\n".join(_command_lines(executed, lang))
        blocks.append(f"{heading}:\n\n{md_block(text, 'sh')}")
    return blocks


def _whose_commands(executed: ExecutedCommands, groups: Sequence[Group], lang: Lang) -> str:
    """Which repeat's, and where it ran, where others of its case ran elsewhere."""
    for runs in (case.runs for group in groups for case in group.cases):
        one = next((run for run in runs if run.run_id == executed.run_id), None)
        others = [run for run in runs if run is not one and run.hosts]
        if one is not None and any(run.hosts != one.hosts for run in others):
            hosts, there = ranked_nodeset(one.hosts), repeat_hosts_text(others)
            return pick(
                lang,
                f", of repeat {one.repeat} on {hosts} (other repeats: {there})",
                f"，取自 {hosts} 上的重复 {one.repeat}（其他重复：{there}）",
            )
    return ""


def _command_lines(executed: ExecutedCommands, lang: Lang) -> Iterator[str]:
    """The host of each where there are several; of one that is nearly the first what differs."""
    (first, command), *others = executed.lines
    yield from [f"# {first}"] * bool(others)
    yield command
    for host, other in others:
        apart = words_apart(command, other)
        if apart is None:
            yield from (f"# {host}", other)
        else:
            but = pick(lang, f" with {apart}", f"，其中 {apart}") * bool(apart)
            yield f"# {host}: " + pick(lang, "as above", "同上") + but


def _model_flop(groups: Sequence[Group], lang: Lang) -> list[str]:
    """How much of their devices language models use, where their logs or profiles tell."""
    known = [group for group in groups if any("mfu" in case.metrics for case in group.cases)]
    tables = llm_tables(known, LayoutOptions(lang=lang))
    heading = pick(lang, "Model FLOP, memory and energy", "模型算力、显存与能耗")
    titles = [f"{heading}: {one.title}" if len(groups) > 1 else heading for one in tables]
    named = [replace(one, title=title) for one, title in zip(tables, titles, strict=True)]
    return [render_markdown(named)] if named else []


def _rule(window: str, statistic: str, cases: str, w: Words) -> str:
    """What counts of a log, and how; ``cases``: of which, where others have another rule."""
    said = w.summed_up if statistic == "summary" else w.window
    text = said.format(window=md_text(window or NOTHING), statistic=md_text(statistic or NOTHING))
    return w.of_cases.format(cases=md_text(cases), rule=text) if cases else text


def _results(context: ReportContext, groups: Sequence[Group], lang: Lang, w: Words) -> list[str]:
    if not any(case.runs for group in groups for case in group.cases):
        return [w.no_results]
    blocks = [render_markdown(speedup_tables(groups, LayoutOptions(lang=lang)))]
    blocks += [f"![{md_text(title)}](./{path})" for title, path in context.figures]
    blocks += _model_flop(groups, lang)
    blocks.append(render_markdown([statistics_table(groups, lang)]))
    blocks += _repeat_hosts(groups, lang)
    blocks += _windows(groups, lang, w)
    stopped = [
        line
        for group in groups
        for case in group.cases
        if (line := _stopped(case, groups, lang, w))
    ]
    blocks += ["\n".join(stopped)] if stopped else []
    if (machines := telemetry_table(groups, lang)) is not None:
        blocks += [f"### {machines.title}", "\n".join(markdown_rows(machines))]
        blocks += ["\n".join(f"- {md_text(note)}" for note in machines.notes)]
    return [
        *blocks,
        *_slow_ranks(groups, w),
        *_held(groups, lang, w),
        *_explained(context, groups, lang, w),
    ]


def _repeat_hosts(groups: Sequence[Group], lang: Lang) -> list[str]:
    told = repeat_hosts_lines(groups, lang)
    lines = [f"- {md_text(whose)}: {md_text(what)}" for whose, what in told]
    return [f"### {repeat_hosts_heading(lang)}", "\n".join(lines)] if lines else []


def _windows(groups: Sequence[Group], lang: Lang, w: Words) -> list[str]:
    """How long each case's figures were taken for, and whether they were steady meanwhile."""
    lines = []
    for case in (case for group in groups for case in group.cases):
        window = window_text(case.measured_runs, lang)
        if window:
            steady = steadiness_text(case.measured_runs, lang)
            said = pick(lang, f"{window}; steady: {steady}", f"{window}；稳定：{steady}")
            lines.append(f"- {case_name(case, groups)}: {md_text(said)}")
    heading = pick(lang, "The window of a run", "单次运行的统计窗口")
    runs = (run for group in groups for case in group.cases for run in case.measured_runs)
    note = [w.window_note] if any(run.window_s is not None for run in runs) else []
    return [f"### {heading}", "\n".join(lines), *note] if lines else []


def _slow_ranks(groups: Sequence[Group], w: Words) -> list[str]:
    """Ranks that the others waited for, by run."""
    lines = [
        f"- {case_name(case, groups)} #{run.repeat}: "
        + md_text(slow_rank_line(slow, ranks=run.gpus, ended_at=run.ended_at))
        for group in groups
        for case in group.cases
        for run in case.runs
        for slow in run.slow_ranks or ()
    ]
    return [f"### {w.slow_ranks}", "\n".join(lines)] if lines else []


def _held(groups: Sequence[Group], lang: Lang, w: Words) -> list[str]:
    """Every case beside the published figures that it can be held against; of those that
    have none together what comes nearest to any of them, and why it cannot be compared."""
    lines: list[str] = []
    without: list[tuple[str, Sequence[Held]]] = []
    for case in (case for group in groups for case in group.cases):
        name, held = case_name(case, groups), held_figures(case)
        if any(one.comparable for one in held):
            lines += [f"- {name}", *(f"  - {_held_line(one, lang, w)}" for one in held)]
        elif held:
            without.append((name, held))
    if without:
        name, nearest = min(without, key=lambda one: len(one[1][0].differs))
        which = f"{name}: " * (len(without) > 1)
        lines.append(f"- {', '.join(name for name, _ in without)}")
        lines += [f"  - {which}{_held_line(one, lang, w)}" for one in nearest]
    return [f"### {w.held}", "\n".join(lines)] if lines else []


def _held_line(held: Held, lang: Lang, w: Words) -> str:
    line, source = md_text(held_line(held, lang)), held.reference.source
    if _ADDRESS.fullmatch(source):
        return f"{line} [{w.held_source}]({source})"
    return f"{line}; {w.held_source}: {md_text(source)}"


def _explained(context: ReportContext, groups: Sequence[Group], lang: Lang, w: Words) -> list[str]:
    """What every device does at each scale, and where the rest of the ideal goes."""
    blocks = []
    for group in groups:
        if lines := explained_lines(group, lang):
            heading = [group_title(group, groups)] if len(groups) > 1 else []
            heading += [text] if (text := scaling_text(group, lang)) else []
            listed = "\n".join(f"- {md_text(line)}" for line in lines)
            blocks.append(
                "\n\n".join([*([md_text("; ".join(heading))] if heading else []), listed])
            )
    if not blocks:
        return []
    told = any(case.profiled_runs for group in groups for case in group.cases)
    can = any(
        explain(case, group.base_case) is not None
        for group in groups
        if group.profile in context.explains
        for case in group.measured_cases
    )
    return [f"### {w.explained}", *blocks, *([w.explain_how] if can and not told else [])]


def _stopped(case: CaseResult, groups: Sequence[Group], lang: Lang, w: Words) -> str:
    """Why there were no further repeats, where it was not a number that was asked for."""
    if case.stopped not in w.stopped:
        return ""
    line = w.stopped_line.format(
        case=case_name(case, groups),
        n=count_cell(case),
        width=w.stopped_width.format(width=width) if (width := within(case.spread, lang)) else "",
        why=w.stopped[case.stopped],
    )
    return f"- {line}"


def statistics_table(groups: Sequence[Group], lang: Lang = "en") -> Table:
    """Every case of every group with what the repeats scatter by."""
    w = words(lang)
    several = len(groups) > 1
    columns = [Column(w.case, "left")]
    if several:
        columns.append(Column(w.parameters, "left"))
    spreads = [case.spread for group in groups for case in group.cases if case.spread]
    students = any(spread.interval is None and spread.student is not None for spread in spreads)
    medians = any(spread.interval is not None for spread in spreads)
    interval = w.interval if not students else w.either_interval if medians else w.students_interval
    names = (w.count, w.median, interval, w.mean, w.minimum, w.maximum, w.cv)
    columns += [*(Column(name) for name in names), Column(w.grade, "center")]
    columns.append(Column(w.flags, "left"))
    rows = []
    for group in groups:
        which = [group_title(group, groups)] if several else []
        rows += [(case.case, *which, *_spread_cells(case, w, lang)) for case in group.cases]
    notes = (w.mark_student,) * students
    return Table(title=w.statistics, columns=tuple(columns), rows=tuple(rows), notes=notes)


def _spread_cells(case: CaseResult, w: Words, lang: Lang) -> tuple[str, ...]:
    spread = case.spread
    grade = w.failed if case.failed else str(case.grade or NOTHING)
    flags = [short_of(concern, case, lang) for concern in case.concerns]
    judged = (grade, ", ".join(flags) or NOTHING)
    if spread is None:
        return (count_cell(case), *([NOTHING] * 6), *judged)
    return (
        count_cell(case),
        fixed(spread.median),
        _interval_cell(spread),
        fixed(spread.mean),
        *([fixed(spread.minimum), fixed(spread.maximum)] if spread.n > 1 else [NOTHING] * 2),
        cv_cell(case),
        *judged,
    )


def _interval_cell(spread: Spread) -> str:
    """``100.20 … 101.70`` of the median; of fewer than six repeats ``±0.42% t``, Student's of the
    mean."""
    if spread.interval is not None:
        return f"{fixed(spread.interval.low)} … {fixed(spread.interval.high)}"
    return NOTHING if spread.student is None else f"±{half_text(spread.student)} t"


def _flags(groups: Sequence[Group], lang: Lang, w: Words) -> str:
    lines = [f"- {md_text(whose)}: {md_text(line)}" for whose, line in flag_lines(groups, lang)]
    graded = any(case.grade for group in groups for case in group.cases)
    return "\n".join(lines) or (w.no_flags if graded else w.nothing_graded)


def _failed(groups: Sequence[Group], lost: frozenset[str], w: Words) -> list[str]:
    """By its heading: whether all that failed was tried again and replaced."""
    lines: list[str] = []
    given_up = False
    for group in groups:
        for case in group.cases:
            name = case_name(case, groups)
            untold = [
                run
                for run in case.profiled_runs
                if run.ended and not run.skipped and run is not case.profiled
            ]
            lines += [f"- {name}, {w.profiled}: {_failed_run(run, lost)}" for run in untold]
            failed = [run for run in case.failed_runs if not run.skipped]
            given_up = given_up or bool(untold or failed)
            replaced = [run for run in case.superseded if not run.never_begun]
            if not failed and not replaced:
                continue
            lines.append(
                "- "
                + w.failed_line.format(case=name, succeeded=case.succeeded, repeats=case.wanted)
            )
            if never := len(case.never_begun_runs):
                lines[-1] += w.of_which_never.format(never=never)
            for run in failed:
                lines += [f"  - {_failed_run(run, lost)}", *_diagnosed(run, w)]
            for run in replaced:
                reason = md_text(run.reason or run.state)
                text = f"#{run.repeat}: {w.retried.format(reason=reason)}"
                lines.append(f"  - {_with_hosts_and_log(text, run, lost)}")
                lines += _diagnosed(run, w)
            reasons = dict.fromkeys(without_host(run.reason) for run in failed)
            lines += [f"  - → {md_text(REMEDIES[one])}" for one in reasons if one in REMEDIES]
    heading = w.tried_again if lines and not given_up else w.failed_runs
    return [f"## {heading}", "\n".join(lines) or w.no_failed_runs]


def _failed_run(run: RunResult, lost: frozenset[str]) -> str:
    told = (run.reason,) if run.never_begun else (run.state, run.reason)
    text = f"#{run.repeat}: {', '.join(md_text(one) for one in told if one)}"
    return _with_hosts_and_log(text, run, lost)


def _with_hosts_and_log(text: str, run: RunResult, lost: frozenset[str]) -> str:
    if run.hosts:
        text += f" ({', '.join(md_code(host) for host in run.hosts)})"
    linked = run.log and run.log not in lost
    return f"{text}: {md_link('log', run.log or '')}" if linked else text


def _diagnosed(run: RunResult, w: Words) -> list[str]:
    """Why it did not move, what shows it, and where the raw evidence lies."""
    found = run.diagnosis
    if found is None:
        return []
    told = [verdict_line(found, past=True), *evidence_lines(found)]
    links = ", ".join(md_link(path.rpartition("/")[2], path) for path in found.files)
    return [
        *(f"    - {md_text(line)}" for line in told),
        *([f"    - {w.evidence}: {links}"] if links else []),
    ]
