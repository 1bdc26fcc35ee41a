"""Two campaigns on disk as a comparison takes them, or the settings of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from backends.campaign.folder.parameter_defaults import defaults_of
from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.campaign.folder.recorded_recipe import recorded_recipe
from backends.hosts.host_facts import HostSnapshot
from backends.hosts.machines import Machines, Recorded, machines_of, nothing_shared
from backends.results.comparison import ComparedCase, Comparison, compare
from backends.results.paired_cases import (
    Parameters,
    check_across,
    run_keys,
    settings,
    varying,
)
from backends.results.recipes import Recipe
from backends.results.run_result import RunResult
from backends.results.side_by_side import names_apart
from profiles.errors import SelectionError
from profiles.format.catalog import Catalog


def compare_campaigns(
    baseline: Path,
    candidate: Path | None,
    read: Callable[[Path], tuple[RunResult, ...]],
    shown: Callable[[Path], Path],
    catalog: Callable[[], Catalog],
    threshold: float,
    across: Sequence[str],
) -> Comparison:
    """``shown``: where a campaign lies for who reads of it. ``candidate`` None: the first setting
    of ``across`` in the baseline against all others there. Blocking.

    Raises
    ------
    SelectionError: as :func:`compare` does; nothing varies in the only campaign. And as ``read``.
    """
    runs = read(baseline)
    defaults = defaults_of((baseline,) if candidate is None else (baseline, candidate), catalog)
    if candidate is not None:
        theirs = read(candidate)
        found = compare(runs, theirs, threshold, defaults, across)
        found = on_recorded(found, recorded_hosts(baseline, 0.0), recorded_hosts(candidate, 0.0))
        found = found.started_from(made_of(baseline, runs), made_of(candidate, theirs))
        paths = shown(baseline), shown(candidate)
        return replace(found, names=_names(paths, (runs, theirs)), paths=paths)
    where = str(shown(baseline))
    first, *others = settings_of(runs, across, where)
    rest = tuple(run for _, own in others for run in own)
    found = compare(first[1], rest, threshold, defaults, across)
    paths = shown(baseline), shown(baseline)
    apart = (first[0],), tuple(setting for setting, _ in others)
    recorded = recorded_hosts(baseline, 0.0)
    found = replace(on_recorded(found, recorded, recorded), settings=apart)
    return replace(found, names=_names(paths, (runs, runs)), paths=paths)


def on_recorded(
    found: Comparison, ours: Sequence[HostSnapshot], theirs: Sequence[HostSnapshot]
) -> Comparison:
    """The same, with the hosts of either side as its campaign recorded them: each by itself,
    together those of the cases that both have, which of all have several names, and whether a
    case's own were others."""
    sides = [
        (ours, [(case.baseline, case.candidate is not None) for case in found.cases]),
        (theirs, [(case.candidate, case.baseline is not None) for case in found.cases]),
    ]
    each: dict[tuple[str, str], Machines] = {}
    together = []
    for recorded, cases in sides:
        runs = [run for case, _ in cases if case for run in case.runs]
        each |= _each(recorded, runs)
        common = _hosts(run for case, both in cases if case and both for run in case.runs)
        own = machines_of(recorded, common)
        every = machines_of(recorded, _hosts(runs))
        together.append(replace(own, by_names=every.by_names) if own and every else own)
    found = found.on(*together)
    of_each = (replace(case, other_machines=_on_others(case, ours, theirs)) for case in found.cases)
    return replace(found, cases=tuple(of_each), hosts=each)


def _on_others(
    case: ComparedCase, ours: Sequence[HostSnapshot], theirs: Sequence[HostSnapshot]
) -> bool:
    if case.baseline is None or case.candidate is None:
        return False
    one = machines_of(ours, case.baseline.figure_hosts)
    other = machines_of(theirs, case.candidate.figure_hosts)
    return bool(one and other and nothing_shared(one, other))


def _names(
    paths: tuple[Path, Path], campaigns: tuple[Sequence[RunResult], Sequence[RunResult]]
) -> tuple[str, str]:
    each = dict(zip(paths, campaigns, strict=True))
    names = dict(zip(each, names_apart([*each], [*each.values()]), strict=True))
    return names[paths[0]], names[paths[1]]


def recorded_each(campaigns: Iterable[tuple[Path, Sequence[RunResult]]]) -> Recorded:
    """Every host that their runs were on, where its campaign recorded it. Blocking."""
    found: dict[tuple[str, str], Machines] = {}
    for path, runs in campaigns:
        found |= _each(recorded_hosts(path, 0.0), runs)
    return found


def _each(
    recorded: Sequence[HostSnapshot], runs: Iterable[RunResult]
) -> dict[tuple[str, str], Machines]:
    own = {(run.campaign, host) for run in runs for host in run.hosts}
    found = {(campaign, host): machines_of(recorded, {host}) for campaign, host in own}
    return {key: machine for key, machine in found.items() if machine is not None}


def made_of(campaign: Path, runs: Iterable[RunResult]) -> Recipe | None:
    """What its runs were started from, by what it froze. Blocking."""
    return recorded_recipe(campaign, _hosts(runs))


def _hosts(runs: Iterable[RunResult]) -> set[str]:
    return {host for run in runs for host in run.hosts}


def settings_of(
    runs: Sequence[RunResult], across: Sequence[str], where: str
) -> tuple[tuple[Parameters, tuple[RunResult, ...]], ...]:
    """Two at least, in the order in which they were first run.

    Raises
    ------
    SelectionError: there are not two; ``where``: of the campaign.
    """
    keys = run_keys(runs)
    check_across(across, keys)
    may = varying(keys)
    found = settings(runs, across)
    if not {*across} & {*may}:
        has = f"'--across {' '.join(may)}' compares what varies in it" if may else "name two"
        fixed = f"{' and '.join(across)} {'do' if across[1:] else 'does'} not vary in it"
        what = f"is one campaign, and {fixed if across else 'comparing takes two'}"
        raise SelectionError(what, where=where, remedy=has)
    return found
