"""Campaigns that are compared in the console: what was measured, and each against the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backends.hosts.fingerprint import joined
from backends.results.comparison import ComparedCase, Comparison, compare
from backends.results.run_result import RunResult
from backends.results.summary import Group, parameters_text, summarise
from profiles.errors import DlperfError, SelectionError

if TYPE_CHECKING:
    from tui.backend_protocols import CampaignSummary, Workspace

THRESHOLD = 0.02
"""As ``dlperf-tui compare`` has it."""


@dataclass(frozen=True, slots=True)
class Side:
    """A campaign. ``environment``: of all its runs, as a fingerprint; empty where none is known.
    ``remarks``: what a reader of its figures must know."""

    about: CampaignSummary
    runs: tuple[RunResult, ...]
    groups: tuple[Group, ...]
    environment: str
    remarks: tuple[str, ...]

    def group_of(self, case: ComparedCase) -> Group | None:
        """The one that the case is of, whether it was measured here or not."""
        return next((group for group in self.groups if _holds(group, case)), None)


def _holds(group: Group, case: ComparedCase) -> bool:
    own = dict(case.parameters)
    shared = all(own.get(name) == value for name, value in group.parameters.items())
    return group.profile == case.profile and shared


@dataclass(frozen=True, slots=True)
class Against:
    """A campaign, by its place, beside the baseline; without a comparison the problem says why."""

    place: int
    comparison: Comparison | None
    problem: DlperfError | None = None


@dataclass(frozen=True, slots=True)
class SideBySide:
    """``baseline``: the place of the one that all others are held against."""

    sides: tuple[Side, ...]
    baseline: int
    threshold: float
    others: tuple[Against, ...]

    def cases(self) -> tuple[tuple[int, ComparedCase], ...]:
        """Each with the place of its candidate; those of one case follow one another."""
        found: dict[object, list[tuple[int, ComparedCase]]] = {}
        for other in self.others:
            for case in other.comparison.cases if other.comparison else ():
                key = (case.profile, case.case, case.parameters)
                found.setdefault(key, []).append((other.place, case))
        return tuple(pair for pairs in found.values() for pair in pairs)


def read_sides(
    workspace: Workspace,
    campaigns: Sequence[CampaignSummary],
    remarks: Mapping[str, tuple[str, ...]],
) -> tuple[Side, ...]:
    """Blocking. ``remarks`` by path.

    Raises
    ------
    DlperfError: one of them cannot be read, or has no runs.
    """
    paths = [campaign.path for campaign in campaigns]
    together, assumed = workspace.runs_together(paths)
    said: dict[int, list[str]] = {}
    for one in assumed:
        values = parameters_text(dict(one.parameters))
        said.setdefault(one.campaign, []).append(
            f"{one.profile} had no such parameter yet, so its default is taken: {values}"
        )
    return tuple(
        Side(
            about,
            runs,
            summarise(runs),
            joined(prints) if (prints := {r.fingerprint for r in runs if r.fingerprint}) else "",
            (*remarks.get(str(about.path), ()), *said.get(place, ())),
        )
        for place, (about, runs) in enumerate(zip(campaigns, together, strict=True))
    )


def held_against(sides: Sequence[Side], baseline: int, threshold: float) -> SideBySide:
    """Every other campaign against the one at ``baseline``, as ``dlperf-tui compare`` does it."""
    others = []
    for place, side in enumerate(sides):
        if place == baseline:
            continue
        try:
            found = compare(sides[baseline].runs, side.runs, threshold)
        except SelectionError as error:
            others.append(Against(place, None, error))
        else:
            others.append(Against(place, found))
    return SideBySide(tuple(sides), baseline, threshold, tuple(others))
