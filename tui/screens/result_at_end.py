"""What a campaign measured, in a few lines for who has left the console."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from rich.cells import cell_len

from backends.campaign.record.run_results import run_results
from backends.campaign.record.status_view import CampaignSnapshot
from backends.results.case_result import CaseResult
from backends.results.layouts.cells import speedup_cell
from backends.results.numbers import readable
from backends.results.summary import Group, summarise
from profiles.counted import counted
from tui.screens.result_text import case_names, labels_of
from tui.text import BETWEEN, plain, told_apart

MOST = 4
"""Lines."""
COLUMNS = 80


def figures_so_far(shown: CampaignSnapshot) -> str:
    """How many cases have a figure, of a campaign that is not over."""
    cases = [case for group in groups_of(shown) for case in group.cases]
    if not (measured := sum(case.throughput is not None for case in cases)):
        return "No case has a figure yet."
    has = "has" if measured == 1 else "have"
    return f"{measured} of {counted(len(cases), 'case')} {has} a figure so far."


def groups_of(shown: CampaignSnapshot) -> tuple[Group, ...]:
    return summarise(run_results(shown.state))


def result_lines(groups: Sequence[Group]) -> list[str]:
    """``1n8g b128  2,942 images/s  speedup 7.64  grade B``: a line for each case, by the names and
    in the order of Results; of more than :data:`MOST` the first, those with a figure before the
    others, and how many more there are."""
    cases = [(group, case) for group in groups for case in group.cases]
    if all(case.throughput is None for _, case in cases):
        return ["No case has a figure."]
    shown = cases
    if len(cases) > MOST:
        shown = sorted(cases, key=lambda one: one[1].throughput is None)[: MOST - 1]
    decimals = _decimals([case for _, case in shown])
    figures = _aligned([_figures(group, case, decimals) for group, case in shown])
    named = case_names(groups, labels_of(groups))
    names = [named[case.as_case.key].plain for _, case in shown]
    short = told_apart(set(names), COLUMNS - cell_len(f"{BETWEEN}{figures[0]}"))
    width = max(map(cell_len, short.values()))
    lines = [
        f"{short[name]}{' ' * (width - cell_len(short[name]))}{BETWEEN}{told}".rstrip()
        for name, told in zip(names, figures, strict=True)
    ]
    others = len(cases) - len(shown)
    return [*lines, *[f"… and {counted(others, 'other case')}: its report has them"] * bool(others)]


def _decimals(cases: Sequence[CaseResult]) -> Mapping[str, int]:
    """By unit, those of its least throughput, at most two."""
    least: dict[str, float] = {}
    for case in cases:
        if case.throughput is not None:
            least[case.unit] = min(case.throughput, least.get(case.unit, inf))
    return {unit: min(2, len(readable(rate).partition(".")[2])) for unit, rate in least.items()}


def _figures(group: Group, case: CaseResult, decimals: Mapping[str, int]) -> tuple[str, str, str]:
    """All of a unit, and all speedups, with as many decimals; only what is below 1 has more."""
    if case.throughput is None:
        return "no figure", "", ""
    speedup = f"speedup {speedup_cell(case, group)}" if case.speedup is not None else ""
    if case.case == group.base:
        speedup = "base" * (len(group.cases) > 1 and group.scales)  # of the others
    rate = readable(case.throughput, decimals[case.unit])
    return f"{rate} {plain(case.unit)}", speedup, f"grade {case.grade}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """All equally wide; each part ends where the one above it does."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        BETWEEN.join(
            f"{' ' * (width - cell_len(part))}{part}"
            for part, width in zip(row, widths, strict=True)
            if width
        )
        for row in rows
    ]
