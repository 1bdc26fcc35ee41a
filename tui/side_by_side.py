"""Campaigns that are compared in the console: what was measured, and each against the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from backends.campaign.folder.compare_campaigns import made_of, on_recorded
from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.hosts.fingerprint import OR, joined
from backends.hosts.host_facts import HostSnapshot
from backends.hosts.machines import Machines, machines_of
from backends.results.comparison import ComparedCase, Comparison, compare
from backends.results.paired_cases import (
    Key,
    NoCommonCaseError,
    Parameters,
    run_keys,
    settings,
    varying,
)
from backends.results.recipes import Recipe
from backends.results.run_result import RunResult
from backends.results.summary import Group, parameters_text, summarise
from profiles.errors import DlperfError, SelectionError

if TYPE_CHECKING:
    from tui.backend_protocols import CampaignSummary, Workspace


@dataclass(frozen=True, slots=True)
class Side:
    """A campaign, or the runs of one that have ``setting``. ``environment``: of all its runs, as a
    fingerprint, ``A / B`` where no run had both; empty where none is known. ``remarks``: what a
    reader of its figures must know. ``recorded``: its hosts, ``recipe``: what its runs were started
    from; empty and None where that is not recorded."""

    about: CampaignSummary
    runs: tuple[RunResult, ...]
    groups: tuple[Group, ...]
    environment: str
    remarks: tuple[str, ...]
    setting: Parameters = ()
    recorded: tuple[HostSnapshot, ...] = ()
    recipe: Recipe | None = None

    @property
    def name(self) -> str:
        return ", ".join([self.about.called, *filter(None, [parameters_text(dict(self.setting))])])

    @property
    def called(self) -> str:
        """What tells it from the others in little room: of one of several settings, which it is."""
        return parameters_text(dict(self.setting)) or self.about.called

    def group_of(self, case: ComparedCase) -> Group | None:
        """The one that the case is of, whether it was measured here or not; else the one of that
        which it is held against."""
        for key in reversed(case.keys):
            found = (group for group in self.groups if key is not None and _holds(group, key))
            if (group := next(found, None)) is not None:
                return group
        return None


def _holds(group: Group, key: Key) -> bool:
    profile, _tag, parameters = key
    own = dict(parameters)
    shared = all(own.get(name) == value for name, value in group.parameters.items())
    return group.profile == profile and shared


@dataclass(frozen=True, slots=True)
class Against:
    """A campaign, by its place, beside the baseline; without a comparison the problem says why."""

    place: int
    comparison: Comparison | None
    problem: DlperfError | None = None


@dataclass(frozen=True, slots=True)
class SideBySide:
    """``baseline``: the place of the one that all others are held against. ``across``: parameters
    that may differ between the cases of a pair; ``by_itself``: not asked for, but what it takes to
    have a case in common."""

    sides: tuple[Side, ...]
    baseline: int
    threshold: float
    others: tuple[Against, ...]
    across: tuple[str, ...] = ()
    by_itself: bool = False

    def cases(self) -> tuple[tuple[int, ComparedCase], ...]:
        """Each with the place of its candidate; those of one case follow one another."""
        found: dict[object, list[tuple[int, ComparedCase]]] = {}
        for other in self.others:
            for case in other.comparison.cases if other.comparison else ():
                key = (case.profile, case.case, case.parameters, case.differs)
                found.setdefault(key, []).append((other.place, case))
        return tuple(pair for pairs in found.values() for pair in pairs)

    def across_with(self, place: int) -> tuple[str, ...]:
        """What may differ between the cases of a pair with the campaign there."""
        pairs = (other.comparison for other in self.others if other.place == place)
        return next((comparison.across for comparison in pairs if comparison is not None), ())

    def machines(self) -> tuple[Machines | None, ...]:
        """What each campaign was measured on, of the cases that are compared; of one that is not
        compared all that it has."""
        used: list[set[str]] = [set() for _ in self.sides]
        for place, case in self.cases():
            if case.baseline is not None and case.candidate is not None:
                used[self.baseline] |= {h for run in case.baseline.runs for h in run.hosts}
                used[place] |= {h for run in case.candidate.runs for h in run.hosts}
        return tuple(
            machines_of(side.recorded, own or {h for run in side.runs for h in run.hosts})
            for side, own in zip(self.sides, used, strict=True)
        )


def read_sides(
    workspace: Workspace,
    campaigns: Sequence[CampaignSummary],
    remarks: Mapping[str, tuple[str, ...]],
) -> tuple[Side, ...]:
    """Blocking. ``remarks`` by path. Counts of each are of the runs that are compared, however many
    have ended since ``campaigns`` were listed.

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
            about.counting(runs),
            runs,
            summarise(runs),
            joined(prints, OR)
            if (prints := {r.fingerprint for r in runs if r.fingerprint})
            else "",
            (*remarks.get(str(about.path), ()), *said.get(place, ())),
            recorded=recorded_hosts(about.path, 0.0),
            recipe=made_of(about.path, runs),
        )
        for place, (about, runs) in enumerate(zip(campaigns, together, strict=True))
    )


def varying_parameters(read: Sequence[Side]) -> tuple[str, ...]:
    """Those that differ between cases of one profile and size, in one of them or between two."""
    return varying(run_keys(run for side in read for run in side.runs))


def held_against(
    read: Sequence[Side], baseline: int, threshold: float, across: tuple[str, ...] | None = None
) -> SideBySide:
    """Every other campaign against the one at ``baseline``, as ``dlperf-tui compare`` does it; of
    one alone, each of its settings against another. ``across`` None: of one alone all that varies,
    of two that have no case in common the fewest parameters without which they do.

    Raises
    ------
    SelectionError: nothing varies in the only campaign.
    """
    sides = tuple(read)
    if len(sides) == 1:
        sides = _by_setting(sides[0], across or varying_parameters(sides))
    baseline %= len(sides)
    others = []
    used: dict[str, None] = {}
    for place, side in enumerate(sides):
        if place == baseline:
            continue
        try:
            found = _compare(sides[baseline].runs, side.runs, threshold, across)
            found = on_recorded(found, sides[baseline].recorded, side.recorded)
            found = found.started_from(sides[baseline].recipe, side.recipe)
        except SelectionError as error:
            others.append(Against(place, None, error))
        else:
            others.append(Against(place, found))
            used.update(dict.fromkeys(found.across))
    by_itself = across is None and len(read) > 1 and bool(used)
    return SideBySide(sides, baseline, threshold, tuple(others), tuple(used), by_itself)


def _compare(
    ours: Sequence[RunResult],
    theirs: Sequence[RunResult],
    threshold: float,
    across: tuple[str, ...] | None,
) -> Comparison:
    try:
        return compare(ours, theirs, threshold, across=across or ())
    except NoCommonCaseError as error:
        if across is not None or not error.across:
            raise
        return compare(ours, theirs, threshold, across=error.across)


def _by_setting(side: Side, across: tuple[str, ...]) -> tuple[Side, ...]:
    found = settings(side.runs, across)
    if len(found) < 2:
        raise SelectionError(
            "no parameter differs between its cases",
            where=side.about.called,
            remedy="mark another campaign too",
        )
    return tuple(
        replace(side, runs=runs, groups=summarise(runs), setting=setting) for setting, runs in found
    )
