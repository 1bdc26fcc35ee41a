"""The matrix in words: the profile, the cell under the cursor, what the marks come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from backends.campaign.plan.plan import Plan
from backends.hosts.host_facts import HostSnapshot
from backends.hosts.placement import Placement
from backends.inventory.nodesets import fold_nodeset
from backends.results.auto_repeats import AutoRepeats, Quantity
from profiles.counted import counted
from profiles.durations import format_duration
from profiles.errors import DlperfError, SelectionError
from profiles.format.launch_section import LAUNCHERS
from profiles.format.rule_for_case import rule_for
from tui.matrix_marks import Cell, Marks, marked_cases
from tui.matrix_past import older_words, past_line, time_line
from tui.matrix_request import Able, Asked, lacking_settings
from tui.plan_words import (
    device_word,
    hosts_text,
    price_text,
    usable_text,
)
from tui.rule_words import measure_words
from tui.text import cell, join, plain
from tui.theme import BAD, GOOD, MUTED, TEXT, WARN
from tui.widgets.keyed_table import Row

if TYPE_CHECKING:
    from profiles.format.case import Case
    from profiles.format.presets import Preset
    from profiles.format.profile import Profile


MOST_REPEATS_NAMED = 4
"""Profiles whose repeats are said when they were changed."""
NOTHING_MARKED = "nothing is marked: space marks a case"
ON_HOSTS = {"directory", "file", "executable"}
"""Kinds of settings that are paths there."""


def cell_text(
    here: Cell | None,
    part: Marks,
    asked: Asked,
    others: Mapping[str, Iterable[Cell]],
    now: float,
    room: int,
    *,
    named: bool,
) -> Text:
    """The lines under the grid: the cell, or why it cannot be marked; what was measured of it; how
    long it takes, and ``others`` such as its row; what start lacks. As many for every cell, so that
    a cursor that moves lays out nothing anew. ``named``: with the other profiles that take part."""
    text = Text(end="")
    if here is not None:
        text.append_text(_case_text(here, part, asked, others, now, room))
    text.append("\n")
    if named and (also := _others(part, asked)):
        text.append(f"also marked: {also}\n", WARN)
    if asked.plan is not None and asked.plan.cases:
        text.append(f"{_whose(part, asked)}in all {price_text(asked.plan)}")
        if away := asked.not_counted(asked.plan):
            text.append(f"; {away}", WARN)
        text.append("\n")
        if waiting := asked.waiting:
            left = counted(waiting, "marked case")
            text.append(f"without {left}: {plain(asked.awaited)} has to answer first\n", WARN)
    if (problem := asked.problem) is not None:
        text.append(f"▲ {plain(problem.what)}", BAD)
        remedy = plain(problem.remedy)
        text.append(f"; {remedy}" if remedy else "", MUTED)
    elif asked.explain and asked.unexplained:
        text.append(f"▲ nothing is profiled: {unexplained_words(asked)}", WARN)
    elif lacking := lacking_settings(part):
        text.append(lacking_words(part.profile, lacking, room), WARN)
    elif part.settings:
        given = ", ".join(f"{k}={plain(v)}" for k, v in part.settings.items())
        text.append(f"settings: {given}", MUTED)
    text.rstrip()
    return text


def _whose(part: Marks, asked: Asked) -> str:
    """Of which profiles the plan is, where the one in front takes no part in it."""
    names = [plain(one.profile.name) for one in asked.taking_part]
    return "" if part.profile.name in names else f"{', '.join(names)}: "


def unexplained_words(asked: Asked) -> str:
    """Why ``e`` gives no profiled runs: whose profiles lack what it takes."""
    names = asked.unexplained
    do = "does" if len(names) == 1 else "do"
    return f"{plain(', '.join(names))} {do} not say how ([explain])"


def why_not(action: str, profile: Profile, here: Cell | None) -> str:
    """Why nothing comes of a key; ``here``: the cell under the cursor, which says what it lacks."""
    name = plain(profile.name)
    lacks = "" if here is None else f": {plain(here.reason)}"
    return {
        "start": NOTHING_MARKED,
        "dry_run": NOTHING_MARKED,
        "repeats": "each case runs once at least",
        "undo": f"nothing of {name} was changed",
        "scaling": f"{name} has no batch_size",
        "parameters": f"{name} has no parameters",
        "settings": f"{name} has no settings",
        "mark_all": f"no case can run here{lacks}",
        "mark_none": "no case of it is marked",
    }.get(action, "")


def lacking_words(profile: Profile, lacking: Sequence[str], room: int) -> str:
    """Which settings have to be given, what they are, and by which key."""
    names = plain(", ".join(lacking))
    kinds = {profile.settings[name].check for name in lacking}
    where = ", on every host" if kinds <= ON_HOSTS else ""
    it = "it" if len(lacking) == 1 else "them"
    words = (f"{plain(profile.name)} needs {names}{where}: s sets {it}", f"s sets {names}{where}")
    return next((line for line in words if cell_len(line) <= room), words[-1])


def _case_text(
    here: Cell,
    part: Marks,
    asked: Asked,
    others: Mapping[str, Iterable[Cell]],
    now: float,
    room: int,
) -> Text:
    """Three lines, of whatever case."""
    text = Text(end="")
    text.append(f"{here.case.label}", "bold")
    device = device_word([part.profile], asked.gpus)
    size = f"{counted(here.case.nodes, 'host')} × {counted(here.case.gpus_per_node, device)}"
    mark = "marked" if here.state == "marked" else "not marked"
    about = f"  {size}, {mark}"
    if here.strong:
        about += f"; strong scaling, {here.case.batch_size} per {device}"
    if cell_len(here.case.label + about) > room and not here.strong:
        about = f"  {mark}"
    past, reading = asked.past(part), not asked.past_reading.complete
    if not here.reason:
        same, label = past.of(here.case).same, text.plain
        for words in (about, f"  {mark}", " "):  # the grid has the mark, too
            room_left = room - cell_len(f"{label}{words}; ")
            if older := older_words(same, asked.target, now, room_left):
                about = f"{words}; {older}" if words.strip() else f"  {older}"
                break
        text.append(about, MUTED)
    text.append("\n").append_text(past_line(here.case, part, past, now, room, reading=reading))
    text.append("\n")
    if here.reason:
        text.append(plain(here.reason), WARN)
    elif here.awaits:
        text.append(f"waits for the answer of {plain(fold_nodeset(here.awaits))}", WARN)
    else:
        repeats = asked.repeats_of(part)
        text.append_text(time_line(here, past, repeats, list(others.items()), room, device))
    return text


def fill_words(
    cells: Sequence[Cell], found: Sequence[Cell], repeats: int, target: float | None
) -> str:
    """What filling the holes of a grid came to. ``target``: a relative half width, where repeats go
    on until it is known."""
    able = sum(cell.state != "impossible" for cell in cells)
    enough = f"a result of {counted(repeats, 'repeat')} or more"
    if target is not None:
        enough += f" within ±{target * 100:g}%"
    if not able:
        return "no hole to fill: none of these cases can run on these hosts"
    if not found:
        return f"no hole to fill: every case that can run here has {enough}"
    return f"{counted(len(found), 'hole')} marked; {able - len(found)} of {able} have {enough}"


def marked_words(part: Marks, asked: Asked) -> str:
    """ "24 cases marked", as many as the frame says, and how many of them are of ``part``."""
    own = len(marked_cases(asked.cells(part)))
    others = (marked_cases(asked.cells(p)) for p in asked.taking_part if p is not part)
    total = own + sum(map(len, others))
    words = f"{counted(total, 'case')} marked"
    if own < total:
        words += f", {own} of them of {plain(part.profile.name)}"
    if waiting := asked.waiting:
        words += f"; {waiting} more wait for {plain(asked.awaited)}"
    return words


def preset_words(part: Marks, preset: Preset, hosts: Sequence[HostSnapshot]) -> str:
    """ "12 cases × 7; 1n8g 2n8g cannot run here", as it would be with ``part``."""
    try:
        remarks = preset_remarks(part.with_preset(preset), preset, hosts)
    except SelectionError as error:  # said again by whoever wants it
        return error.what
    cases = f"{counted(len(preset.cases), 'case')} × {part.profile.matrix.repeats}"
    return "; ".join([cases, *remarks])


def preset_remarks(part: Marks, preset: Preset, hosts: Sequence[HostSnapshot]) -> list[str]:
    """What of the source ``part``, which has its marks, leaves out."""
    able = {c.case.key for row in part.cells(hosts) for c in row if c.state == "marked"}
    tags = dict.fromkeys(case.tag for case in preset.cases if case.key not in able)
    words = [f"{counted(preset.left, 'figure')} not by this profile"] if preset.left else []
    return [*words, f"{' '.join(tags)} cannot run here"] if tags else words


def _others(part: Marks, asked: Asked) -> str:
    """ "paddle-resnet50 (4 cases)": what takes part though it is not on this grid."""
    found = {
        one.profile.name: len(marked_cases(asked.cells(one)))
        for one in asked.taking_part
        if one.profile is not part.profile
    }
    return ", ".join(f"{plain(name)} ({counted(n, 'case')})" for name, n in found.items() if n)


def devices_words(*, pack: bool, linked: bool) -> str:
    """Behind what is planned: which devices of a host its runs get, where it is asked for."""
    return ", packed" * pack + ", best linked" * linked


def plan_footer(
    plan: Plan, states: Mapping[str, str], room: int, takes: str, *, wide: bool
) -> Text:
    """How many cases, repeats, runs, how long, on how many hosts: in one line of ``room`` columns.

    What has no room goes from the end; hosts that were chosen have their names. ``states``: of
    :func:`~tui.plan_words.host_states`. ``takes``: how long; empty where nobody knows.
    """
    asked = plan.selection
    linked = asked.placement is Placement.LINKED
    parts = [_runs_text(plan, wide=wide) + devices_words(pack=asked.pack, linked=linked)]
    if takes:
        parts.append(takes)
    parts.append(hosts_text(states))
    if (usable := usable_text(states)) and cell_len(" · ".join([*parts[:-1], usable])) <= room:
        parts[-1] = usable
    named = f"{parts[-1]}: {plain(asked.hosts or '')}"
    if asked.hosts and cell_len(" · ".join([*parts[:-1], named])) <= room:
        parts[-1] = named
    if cell_len(" · ".join([*parts, chosen := _chosen_text(plan)])) <= room and chosen:
        parts[0] += f" ({chosen})"
    while len(parts) > 1 and cell_len(" · ".join(parts)) > room:
        parts.pop()
    return join([(part, TEXT) for part in parts], " · ")


def _chosen_text(plan: Plan) -> str:
    """ "your choice; the profile's is 3": of the repeats, where a profile asks for others."""
    unlike = any(planned.repeats != planned.profile.matrix.repeats for planned in plan.cases)
    if plan.selection.auto is not None or not unlike:
        return ""
    own = sorted({planned.profile.matrix.repeats for planned in plan.cases})
    whose = "the profile's is" if len(own) == 1 else "the profiles' are"
    return f"your choice; {whose} {', '.join(map(str, own))}"


def repeats_words(of: Mapping[str, int]) -> str:
    """ "repeats of each case: cpu-smoke 2, oneflow-resnet50 4". ``of``: by profile."""
    if len(alike := {*of.values()}) == 1:
        return f"{counted(alike.pop(), 'repeat')} of each case of the {len(of)} marked profiles"
    said = [f"{plain(name)} {repeats}" for name, repeats in [*of.items()][:MOST_REPEATS_NAMED]]
    more = f" and {len(of) - len(said)} more" * (len(of) > len(said))
    return f"repeats of each case: {', '.join(said)}{more}"


def _runs_text(plan: Plan, *, wide: bool) -> str:
    repeats = {planned.repeats for planned in plan.cases}
    runs, cases = counted(plan.run_count, "run"), counted(len(plan.cases), "case")
    profiled = f" + {len(plan.profiled)} profiled" if plan.profiled else ""
    if (rule := plan.selection.auto) is not None:
        if wide:
            return f"{cases} {until_text(rule)}, {runs} first{profiled}"
        return f"{len(plan.cases) if profiled else cases} {until_text(rule)}{profiled}"
    if len(repeats) > 1:
        return f"{cases}, {runs}{profiled}"
    times = counted(repeats.pop(), "repeat") if wide else repeats.pop()
    if wide or not profiled:
        return f"{cases} × {times} = {runs}{profiled}"
    return f"{len(plan.cases)} × {times} = {runs}{profiled}"


def until_text(rule: AutoRepeats) -> str:
    """Until ±1% speedup in 2h: how narrow, of what, within how much GPU time."""
    of = "" if rule.quantity is Quantity.THROUGHPUT else f" {rule.quantity}"
    within = "" if rule.budget_gpu_s is None else f" in {format_duration(rule.budget_gpu_s)}"
    return f"until ±{rule.target * 100:g}%{of}{within}"


def profile_text(profile: Profile, case: Case | None = None) -> Text:
    """What a profile is, for the panel beside the grid; ``case``: under the cursor, whose measuring
    rule is told where that depends on the case."""
    text = Text(end="")
    text.append(f"{plain(profile.framework)} {plain(profile.model)}\n", "bold")
    text.append(f"{plain(profile.description)}\n\n")
    launch = profile.launch
    text.append("launcher ", MUTED).append(f"{launch.launcher}: {LAUNCHERS[launch.launcher]}\n")
    text.append("unit ", MUTED).append(f"{plain(profile.unit)}\n")
    text.append("measures ", MUTED).append(f"{plain(_measures(profile, case))}\n")
    if profile.source:
        text.append("source ", MUTED).append(plain(profile.source))
    return text


def _measures(profile: Profile, case: Case | None) -> str:
    """What the profile's rule does, or that of the case and that others have another."""
    if not profile.measure.variant:
        return measure_words(profile.measure.rules[-1][1])
    if case is None:
        return "by a rule that depends on the case"
    try:
        rule = rule_for(profile, case)
    except DlperfError:
        return "by a rule that depends on the case"
    return f"{measure_words(rule, window=True)}. That is of {case.tag}; other cases may differ"


def profile_row(name: str, asked: Asked) -> Row:
    """Of the list of profiles: its mark and its name."""
    part = asked.known(name)
    marked = part is not None and bool(part.wanted and marked_cases(asked.cells(part)))
    if marked:
        mark = cell("[x]", GOOD)
    elif part is not None and part.wanted:
        mark = cell("[·]", MUTED)
    else:
        mark = cell(_PROFILE_MARKS[asked.able_to_run(name)][0], MUTED)
    return Row(name, (join([mark, " ", (name, "bold" if marked else "")]),))


_PROFILE_MARKS = {
    Able.RUNS: ("[ ]", ""),
    Able.ASKING: ("[ ]", "[·] waits for hosts"),
    Able.SETTINGS: ("[s]", "[s] settings"),
    Able.NOT_HERE: (" · ", "· not here"),
}


def profile_legend(able: Iterable[Able], here: Able | None = None) -> list[str]:
    """What the marks of these say: that of the one under the cursor, and then those that pass."""
    there = set(able)
    ranked = sorted(_PROFILE_MARKS, key=lambda one: one is not here)
    return [words for one in ranked if (words := _PROFILE_MARKS[one][1]) and one in there]
