"""The panels beside the rows of a comparison: one case of it, and the campaigns with their
environments and hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from backends.hosts.fingerprint import Part, has_gpus, of_packages, side_by_side
from backends.hosts.machines import (
    Machines,
    machines_apart,
    machines_text,
    nothing_shared,
    same_machines,
)
from backends.inventory.nodesets import fold_nodeset
from backends.results.case_result import CaseResult
from backends.results.compared_environments import Apart, environments_apart
from backends.results.compared_labels import whole_label
from backends.results.comparison import ComparedCase, Verdict
from backends.results.comparison_report import (
    cautions,
    command_words,
    interval_cell,
    ratio_cell,
    words_in_console,
)
from backends.results.findings import Rank
from backends.results.grade_words import half_text, named_lines
from backends.results.layouts.cells import count_cell
from backends.results.numbers import scatter
from backends.results.provenance import false_logs, how_sure
from backends.results.statistics import CV_LIMITS, Spread
from backends.results.summary import Group, common_base
from backends.results.telemetry_words import WATCHED, usual_lines, watched_words
from backends.results.workload_figures import OTHER_READINGS, measurements, other_readings
from profiles.counted import counted
from tui.screens.campaign_text import summary_words, tag_words
from tui.screens.compare_text import held_by_number, row_reason, verdict_text
from tui.side_by_side import Side, SideBySide
from tui.text import number, plain, problem
from tui.theme import ACCENT, BAD, GOOD, MUTED, WARN
from tui.widgets.chart import series_colour
from tui.widgets.distribution import distribution_line, legend, limits


def verdict_panel(case: ComparedCase, place: int, found: SideBySide, width: int) -> Text:
    """A case: the verdict and what it rests on, then its repeats in every campaign."""
    text = Text(end="")
    text.append(plain(whole_label(case)), "bold").append(f"  {plain(case.profile)}\n", MUTED)
    text.append(f"{place + 1} against {found.baseline + 1}: ", MUTED).append(ratio_cell(case))
    text.append(f" ({interval_cell(case)})  ").append_text(verdict_text(case, place, found))
    text.append("\n")
    if said := row_reason(case, found):
        text.append(f"{said}\n")
    across = found.across_with(place)
    if case.differs:
        text.append(f"not the same case on both sides: {', '.join(across)}\n", WARN)
    if case.verdict is Verdict.REGRESSION:
        text.append(f"{_weight(case, across, found.threshold)}\n", BAD if case.decisive else WARN)
    text.append("\n").append_text(_repeats(case, found, width))
    return text


def _weight(case: ComparedCase, across: Sequence[str], threshold: float) -> str:
    if case.decisive:
        command = command_words(across, threshold)
        return f"it stands among all cases (Holm): {command} would exit with 1"
    return "among so many cases one may look so by chance (Holm)"


def _repeats(case: ComparedCase, found: SideBySide, width: int) -> Text:
    """The distribution over the repeats in every campaign, on one scale, and what is odd there."""
    own = [(place, pair) for place, side in enumerate(found.sides) if (pair := in_side(side, case))]
    across = limits(case_there for _, (case_there, _) in own)
    text = Text(end="")
    if across is None:
        return text.append("no repeat has succeeded on any side", MUTED)
    text.append(f"{plain(case.unit)}, each repeat\n", MUTED)
    room = max(8, width - 16)
    for place, (there, _) in own:
        text.append(f"{place + 1} ", series_colour(place))
        text.append_text(distribution_line(there, across, room))
        text.append(f" {count_cell(there):>5} {there.grade or '–'}\n", MUTED)
    low, high = number(across[0]), number(across[1])
    text.append(f"  {low}{high:>{max(1, room - len(low))}}     n grade\n", MUTED)
    text.append(f"{legend(there for _, (there, _) in own)}\n", MUTED)
    own_bases = {group.base for _, (_, group) in own if group.scales}
    if own_bases - {common_base([group for _, (_, group) in own])}:
        bases = " and ".join(sorted(own_bases))
        text.append(f"graded as in Results, where the base is {bases}\n", MUTED)
    said: dict[tuple[Rank, str], list[int]] = {}
    for place, (there, group) in own:
        for finding, line in named_lines(there, group):
            said.setdefault((finding.rank, line), []).append(place)
    for (_, line), places in sorted(said.items(), key=lambda one: one[0][0]):
        text.append("▲ ", WARN).append_text(_numbers(places)).append(f"· {plain(line)}\n")
    text.append("\n").append_text(_figures([(place, there) for place, (there, _) in own], width))
    text.rstrip()
    return text


def _numbers(places: Sequence[int]) -> Text:
    return Text.assemble(*((f"{place + 1} ", series_colour(place)) for place in places))


def _figures(own: Sequence[tuple[int, CaseResult]], width: int) -> Text:
    """What else is known of the case, a line each with the values of all campaigns; a line for
    each of them where ``width`` has no room for all side by side."""
    told: dict[str, dict[int, str]] = {}
    for place, case in own:
        for name, value in _known(case):
            told.setdefault(name, {})[place] = plain(value)
    if WATCHED in told:  # of all its repeats no side says it by itself
        told[WATCHED] = {place: watched_words(case.measured_runs) for place, case in own}
    names = max([12, *map(len, told)])
    room = (width - names - 1) // max(1, len(own)) - 5
    widths = {
        place: max(
            (len(v[place]) for v in told.values() if place in v and _fit(v, room)), default=0
        )
        for place, _ in own
    }
    text = Text(end="")
    for name, values in told.items():
        text.append(f"{plain(name):<{names}} ", MUTED)
        for nth, (place, _) in enumerate(own):
            if nth and not _fit(values, room):
                text.append("\n" + " " * (names + 1))
            text.append(f"{place + 1}: ", series_colour(place))
            value = values.get(place, "–")
            text.append(f"{value:<{widths[place]}}  " if _fit(values, room) else value)
        text.rstrip()
        text.append("\n")
    if any(other_readings(case.metrics, summed_up=case.summed_up) for _, case in own):
        text.append(f"{OTHER_READINGS}\n", MUTED)
    return text


def _fit(values: Mapping[int, str], room: int) -> bool:
    return all(len(value) <= room for value in values.values())


def _known(case: CaseResult) -> list[tuple[str, str]]:
    spread = case.spread
    rows = []
    if spread is not None:
        rows = [
            ("median", number(spread.median)),
            ("mean", number(spread.mean)),
            ("CV", scatter(spread.cv, beyond=CV_LIMITS)),
            (f"95% of {'median' if spread.interval else 'mean'}", _half(spread)),
        ]
    hosts = sorted({host for run in case.measured_runs for host in run.hosts})
    rows += [("hosts", fold_nodeset(hosts))] if hosts else []
    rows += usual_lines(case.measured_runs)
    return rows + measurements(case.metrics, summed_up=case.summed_up)


def _half(spread: Spread) -> str:
    """Of its interval over the repeats, whatever they scatter within."""
    half = spread.half_width if spread.interval else spread.student
    return "–" if half is None else f"±{half_text(half)}"


def in_side(side: Side, case: ComparedCase) -> tuple[CaseResult, Group] | None:
    """The case as it was measured there."""
    if (group := side.group_of(case)) is None:
        return None
    there = (one for one in group.cases if one.case == case.case and one.runs)
    return next(((one, group) for one in there), None)


def campaigns_panel(found: SideBySide, now: float) -> Text:
    """Each with what people say of it, then what differs between their environments, then what a
    pipeline would be told. ``now``: seconds since the epoch."""
    text = Text(end="")
    for place, side in enumerate(found.sides):
        about = side.about
        text.append(f"{place + 1} ", series_colour(place)).append(plain(side.name), "bold")
        text.append("  baseline\n" if place == found.baseline else "\n", ACCENT)
        false = false_logs(case for group in side.groups for case in group.cases)
        unlike = Text.assemble(("  ▲ ", WARN), f"{false}\n") if false else Text()
        if place and side.setting:  # the same campaign
            text.append_text(unlike)
            continue
        words = summary_words(about, now, profiled=_profiled(side, found))
        text.append("  ").append_text(words).append("\n")
        if tags := tag_words(about):
            text.append(f"  {tags}\n", ACCENT)
        for remark in side.remarks:
            text.append("  ▲ ", WARN).append(f"{plain(remark)}\n")
        text.append_text(unlike)
    for other in found.others:
        if other.problem is not None and found.cases():
            text.append(f"{other.place + 1} ", series_colour(other.place))
            text.append_text(problem(other.problem)).append("\n")
    cases = [
        (found.baseline, other.place, apart)
        for other in found.others
        if other.comparison is not None
        for apart in environments_apart(other.comparison)
    ]
    every = [side.environment for side in found.sides]
    text.append("\n").append_text(environments_text(every, cases))
    text.append_text(machines_shown(found.machines()))
    for other in found.others:
        if other.comparison is not None:
            lines = [(line, WARN) for line in cautions(other.comparison)]
            lines += [(line, "") for line in words_in_console(other.comparison)]
            for line, colour in lines:
                text.append("\n")
                if held_by_number(found):
                    held = f"{other.place + 1} against {found.baseline + 1}: "
                    text.append(held, series_colour(other.place))
                text.append(f"{plain(line)}", colour)
    return text


def _profiled(side: Side, found: SideBySide) -> int:
    """How many runs of its campaign, of which other sides may have other settings."""
    groups = (
        group for one in found.sides if one.about.path == side.about.path for group in one.groups
    )
    return sum(len(case.profiled_runs) for group in groups for case in group.cases)


def figures_text(found: SideBySide) -> Text:
    """How sure the figures of each campaign are, and what its grades are for."""
    text = Text("\n\nFigures", "bold", end="")
    for place, side in enumerate(found.sides):
        sure = how_sure([case for group in side.groups for case in group.cases])
        text.append(f"\n  {place + 1} ", series_colour(place))
        text.append("\n    ".join(map(plain, sure)) or "none yet", "not bold")
    return text


def environments_text(
    environments: Sequence[str], cases: Sequence[tuple[int, int, Apart]] = ()
) -> Text:
    """What differs between them, with the value of each, and of ``cases``, by the places of
    baseline and candidate, what the whole does not tell; the rest in a line or two."""
    text = Text(end="")
    parts = side_by_side(environments) if any(environments) else ()
    differing = [part for part in parts if part.differs]
    alike = [part for part in parts if len(set(part.values)) == 1]
    partly = [part for part in parts if part not in differing and part not in alike]
    text.append("Environments  ", "bold")
    if not parts:
        return text.append("not recorded\n", WARN)
    told = [counted(len(differing), "difference")] if differing else []
    told += [f"{len(partly)} not known of all"] if partly else []
    if cases and not differing:
        told.insert(0, "differ by case")
    elif not differing:
        gpus = any(has_gpus(text) for text in environments if text)
        alike_all = f"software{' and GPU settings' * gpus} alike"
        told.insert(0, "none known to differ" if partly else alike_all)
    text.append(f"{' · '.join(told)}\n", WARN if differing or partly or cases else GOOD)
    for part in differing:
        text.append(f"  {_called(part)}\n", MUTED)
        for place, value in enumerate(part.values):
            text.append(f"    {place + 1}: ", series_colour(place))
            text.append(f"{plain(value)}\n")
    for baseline, candidate, apart in cases:
        if differing and not apart.which:
            continue
        text.append(f"  in {plain(apart.which or 'all cases')}\n", MUTED)
        for place, value in ((baseline, apart.baseline), (candidate, apart.candidate)):
            text.append(f"    {place + 1}: ", series_colour(place)).append(f"{plain(value)}\n")
    if alike:
        said = "; ".join(f"{_called(part)} {plain(part.values[0])}" for part in alike)
        text.append(f"  alike: {said}\n", MUTED)
    if partly:
        said = ", ".join(map(_called, partly))
        text.append(f"  not known of all: {said}\n", MUTED)
    return text


def machines_shown(machines: Sequence[Machines | None]) -> Text:
    """Which hosts these were: in a line where they are alike and as many, else of each what it had,
    and whether it is known to be another than the first."""
    text = Text("Hosts  ", "bold", end="")
    known = [one for one in machines if one is not None]
    if not known:
        return text.append("not recorded\n", WARN)
    first = known[0]
    differ = any(machines_apart(first, one) for one in known)
    if differ or len(known) < len(machines):
        text.append("differ\n" if differ else "not known of all\n", WARN)
    elif len({(one.hosts, one.by_names) for one in known}) == 1:
        text.append("alike", GOOD)
        return text.append(f"  {machines_text(first)}\n", MUTED)
    else:
        same = all(same_machines(first, one) for one in known)
        other = "the same, by other names" if same else "alike, but not the same ones"
        text.append(f"{other}\n", GOOD)
    for place, one in enumerate(machines):
        text.append(f"    {place + 1}: ", series_colour(place))
        text.append(machines_text(one) if one else "not recorded")
        if one and (said := nothing_shared(first, one)):
            text.append(f", {said} with ").append_text(_numbers([machines.index(first)]))
        text.append("\n")
    return text


def _called(part: Part) -> str:
    return plain(part.key or "platform") + " packages" * of_packages(part)
