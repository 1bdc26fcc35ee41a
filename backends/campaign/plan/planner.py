"""Selection → plan: expand, check against the hosts, resolve settings. Pure; starts nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from backends.campaign.plan.plan import Plan, PlannedCase
from backends.campaign.plan.selection import Selection
from backends.hosts.host_facts import AWAY, HostSnapshot
from backends.inventory.host_entry import Host
from backends.results.auto_repeats import MOST_REPEATS
from profiles.case_tag import format_tag
from profiles.errors import SelectionError
from profiles.format.case import CLUSTER, Case, read_key
from profiles.format.case_matrix import can_vary, expand, infeasible
from profiles.format.catalog import Catalog
from profiles.format.host_capacity import HostCapacity
from profiles.format.profile import Profile
from profiles.format.site_settings import resolve_settings, split_overrides

MOST_RUNS = 100_000
"""Of one campaign; more would take longer to plan and to show than anybody means."""


def make_plan(
    selection: Selection,
    catalog: Catalog,
    hosts: Sequence[Host],
    snapshots: Sequence[HostSnapshot],
    clusters: Mapping[str, Collection[str]] | None = None,
) -> Plan:
    """The runs that the selection means on these hosts.

    ``snapshots`` are the hosts' latest probes; a host without one, or not probed yet, counts with
    its configured slots, or as unlimited where it has none. ``clusters``: a queue's several, each
    with the names of its hosts; every case is planned on each of them.

    Raises
    ------
    SelectionError, ProfileError: something in the selection does not exist, is missing, or comes to
        more than :data:`MOST_RUNS`.
    """
    if not selection.profiles:
        raise SelectionError(
            "no profile was chosen",
            remedy="name one with --profile; 'dlperf-tui profiles' lists them",
        )
    asked = selection.repeats
    for repeats in asked.values() if isinstance(asked, Mapping) else (asked,):
        if repeats is not None and not 1 <= repeats <= MOST_REPEATS:
            raise SelectionError(f"repeats must be 1 to {MOST_REPEATS}, not {repeats}")
    if selection.attempts < 1:
        raise SelectionError(f"attempts must be 1 or more, not {selection.attempts}")
    by_name = {snapshot.name: snapshot for snapshot in snapshots}
    capacities, away = _capacities(hosts, by_name)
    capacities = [_in_clusters(capacity, clusters or {}) for capacity in capacities]
    of_profile: list[PlannedCase] = []
    feasible: list[PlannedCase] = []
    refused: list[PlannedCase] = []
    runs = 0
    for name in dict.fromkeys(selection.profiles):
        own = _cases(selection, catalog, name)
        of_profile += own
        cases = _on_each(own, clusters or {})
        runs += sum(planned.repeats for planned in cases)
        if runs > MOST_RUNS:
            raise SelectionError(
                f"{runs:,} runs are more than one campaign takes ({MOST_RUNS:,})",
                remedy="give fewer cases, values or repeats",
            )
        for planned in cases:
            reason = infeasible(planned.profile, planned.case, _of(planned.case, capacities))
            if reason is None:
                feasible.append(planned)
            else:
                reason = f"{reason} ({away})" if away else reason
                refused.append(_refused(planned, reason))
    _check_picked(selection, of_profile)
    return Plan(selection, tuple(hosts), tuple(feasible), tuple(refused), tuple(capacities))


def _refused(planned: PlannedCase, reason: str) -> PlannedCase:
    return PlannedCase(planned.profile, planned.case, planned.repeats, planned.settings, reason)


def _cases(selection: Selection, catalog: Catalog, name: str) -> list[PlannedCase]:
    profile = catalog.get(name)
    parameters, given = split_overrides(profile, _for_profile(selection, catalog, name))
    settings = resolve_settings(profile, given)
    repeats = selection.first_repeats(profile)
    tags = selection.cases or None
    if selection.picked:
        read = {key: read_key(key) for key in selection.picked}
        wanted = {key for key, (of, _, _) in read.items() if of == profile.name}
        sizes = {read[key][1:] for key in wanted}
        tags = tuple(format_tag(*size) for size in sorted(sizes, key=_small_first)) or None
        cases: Sequence[Case] = expand(profile, tags, parameters, wanted)
    else:
        cases = expand(profile, tags, parameters)
    return [PlannedCase(profile, case, repeats, settings) for case in cases]


def _on_each(
    cases: Sequence[PlannedCase], clusters: Mapping[str, Collection[str]]
) -> Sequence[PlannedCase]:
    """Every case on every cluster; the same ones where there is but one."""
    if not clusters:
        return cases
    for profile in {planned.profile.name: planned.profile for planned in cases}.values():
        if _knows(profile, CLUSTER):
            raise SelectionError(
                f"profile {profile.name} has a parameter or setting of its own called {CLUSTER!r}",
                remedy="call that something else, or use a single cluster",
            )
    return [
        replace(
            planned,
            case=replace(planned.case, parameters={**planned.case.parameters, CLUSTER: name}),
        )
        for planned in cases
        for name in clusters
    ]


def _in_clusters(capacity: HostCapacity, clusters: Mapping[str, Collection[str]]) -> HostCapacity:
    names = frozenset(name for name, hosts in clusters.items() if capacity.name in hosts)
    return replace(capacity, clusters=names)


def _of(case: Case, capacities: Sequence[HostCapacity]) -> Sequence[HostCapacity]:
    """Those that the case may have."""
    if not case.cluster:
        return capacities
    return [capacity for capacity in capacities if case.cluster in capacity.clusters]


def _small_first(size: tuple[int, int]) -> tuple[int, int]:
    nodes, per_node = size
    return nodes * per_node, nodes


def _for_profile(selection: Selection, catalog: Catalog, name: str) -> dict[str, tuple[str, ...]]:
    """The values that this profile knows, when several profiles are chosen at once.

    ``PROFILE:NAME`` is of that profile alone, and wins. A name that no chosen profile knows stays,
    so that the error names it.
    """
    chosen = [catalog.get(other) for other in selection.profiles]
    own = catalog.get(name)
    shared: dict[str, tuple[str, ...]] = {}
    of_its_own: dict[str, tuple[str, ...]] = {}
    for key, value in selection.values.items():
        profile, _, setting = key.rpartition(":")
        if profile == own.name:
            of_its_own[setting] = value
        elif profile in {other.name for other in chosen}:
            continue
        elif _knows(own, key) or not any(_knows(other, key) for other in chosen):
            shared[key] = value
    return {**shared, **of_its_own}


def _knows(profile: Profile, name: str) -> bool:
    return can_vary(profile, name) or name in profile.settings


def _check_picked(selection: Selection, found: Sequence[PlannedCase]) -> None:
    missing = set(selection.picked) - {planned.case.key for planned in found}
    if missing:
        raise SelectionError(
            f"no such case: {sorted(missing)[0]}", remedy="choose it from the matrix again"
        )


def _capacities(
    hosts: Sequence[Host], snapshots: dict[str, HostSnapshot]
) -> tuple[list[HostCapacity], str]:
    """What the hosts can hold, and which cannot be reached ("node4: connection refused")."""
    capacities = []
    away = []
    for host in hosts:
        snapshot = snapshots.get(host.name)
        if snapshot is None:
            capacities.append(HostCapacity(host.name, host.slots, None))
        elif snapshot.state in AWAY:
            away.append(f"{host.name}: {snapshot.reason}")
        else:
            capacities.append(snapshot.capacity)
    return capacities, "; ".join(away[:3])
