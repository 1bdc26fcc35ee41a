"""The matrix in words: the profile, the cell under the cursor, what the marks come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from backends.campaign.plan.selection import Plan
from profiles.durations import format_duration
from profiles.errors import DlperfError
from tui.marks import Cell, Marks
from tui.text import count, join, plain
from tui.theme import BAD, MUTED, TEXT, WARN

if TYPE_CHECKING:
    from profiles.format.profile import Profile


def cell_text(here: Cell | None, part: Marks, problem: DlperfError | None) -> Text:
    """The line under the grid: the cell, or why it cannot be marked, or what start lacks."""
    text = Text(end="")
    if here is not None:
        text.append(f"{here.case.label}", "bold")
        if here.reason:
            text.append(f"\n{plain(here.reason)}", WARN)
        else:
            size = f"{count(here.case.nodes, 'host')} × {count(here.case.gpus_per_node, 'device')}"
            mark = "marked" if here.state == "marked" else "not marked"
            text.append(f"  {size}, {mark}", MUTED)
    text.append("\n")
    if problem is not None:
        text.append(f"▲ {plain(problem.what)}", BAD)
        remedy = plain(problem.remedy)
        text.append(f"; {remedy}" if remedy else "", MUTED)
    elif part.settings:
        given = ", ".join(f"{k}={plain(v)}" for k, v in part.settings.items())
        text.append(f"settings: {given}", MUTED)
    return text


def plan_footer(plan: Plan, *, wide: bool) -> Text:
    """How many cases, repeats, runs, how long, on how many hosts: in one line."""
    repeats = {planned.repeats for planned in plan.cases}
    parts: list[Text | str | tuple[str, str]] = []
    runs = count(plan.run_count, "run")
    cases = count(len(plan.cases), "case")
    if (rule := plan.selection.auto) is not None:
        until = f"until ±{rule.target * 100:g}%"
        parts.append((f"{cases} {until}" + (f", {runs} first" if wide else ""), TEXT))
    elif len(repeats) == 1:
        times = count(repeats.pop(), "repeat") if wide else repeats.pop()
        parts.append((f"{cases} × {times} = {runs}", TEXT))
    else:
        parts.append((f"{cases}, {runs}", TEXT))
    if plan.expected_s is not None:
        parts.append((f"≈{format_duration(plan.expected_s)}", TEXT))
    parts.append((count(len(plan.hosts), "host"), TEXT))
    return join(parts, " · ")


def profile_text(profile: Profile) -> Text:
    """What a profile is, for the panel beside the grid."""
    text = Text(end="")
    text.append(f"{plain(profile.framework)} {plain(profile.model)}\n", "bold")
    text.append(f"{plain(profile.description)}\n\n")
    launch = profile.launch
    text.append("launcher ", MUTED).append(f"{launch.launcher}\n")
    text.append("unit ", MUTED).append(f"{plain(profile.unit)}\n")
    text.append("measures ", MUTED).append(f"{profile.measure.statistic}\n")
    if profile.source:
        text.append("source ", MUTED).append(plain(profile.source))
    return text
