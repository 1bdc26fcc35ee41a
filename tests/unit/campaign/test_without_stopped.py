"""What is planned without the hosts that preflight stops: none of them, and nothing lost unsaid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.plan.plan import Plan
from backends.campaign.plan.planner import make_plan
from backends.campaign.plan.selection import Selection
from backends.campaign.plan.without_stopped import stopped_last, without_stopped
from backends.campaign.record.state import hosts_of
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.preflight_finding import Bearing, Finding, Level
from backends.inventory.host_entry import Host
from profiles.format.catalog import Catalog
from tests.console.fakes import facts, known_host

NAMES = [f"node{i}" for i in range(1, 5)]
KINDS = st.lists(st.sampled_from(["well", "warned", "stopped", "away"]), min_size=4, max_size=4)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load([], None)


def snapshots(kinds: list[str]) -> list[HostSnapshot]:
    hosts = [known_host(name, "10.11.0.2", facts()) for name in NAMES]
    gone = {"state": HostState.UNREACHABLE, "facts": None, "reason": "connection refused"}
    return [
        replace(host, **gone) if kind == "away" else host  # type: ignore[arg-type]
        for host, kind in zip(hosts, kinds, strict=True)
    ]


@given(kinds=KINDS, of_all=st.booleans(), nodes=st.integers(1, 3))
def test_it_has_the_hosts_that_nothing_stops_and_says_why_it_has_not_the_others(
    catalog: Catalog, kinds: list[str], of_all: bool, nodes: int
) -> None:
    known = snapshots(kinds)
    all_hosts = [Host(name) for name in NAMES]

    def plan_on(selection: Selection) -> Plan:
        names = selection.hosts.split(",") if selection.hosts else NAMES
        hosts = [host for host in all_hosts if host.name in names]
        return make_plan(selection, catalog, hosts, [one for one in known if one.name in names])

    plan = plan_on(Selection(("cpu-smoke",), (f"{nodes}n1g", "1n1g"), {}, 2))
    levels = {"warned": Level.WARN, "stopped": Level.STOP}
    findings = [
        Finding(name, levels[kind], f"{kind} {name}")
        for name, kind in zip(NAMES, kinds, strict=True)
        if kind in levels
    ]
    findings += [Finding("", Level.STOP if of_all else Level.WARN, "of all")]
    left = [name for name, kind in zip(NAMES, kinds, strict=True) if kind in ("well", "warned")]
    without = without_stopped(plan, findings, known, plan_on)
    if of_all or not left:
        assert without is None
        return
    assert without is not None
    assert [host.name for host in without.hosts] == left
    assert {planned.case.nodes for planned in without.cases} == {
        planned.case.nodes for planned in plan.cases if planned.case.nodes <= len(left)
    }
    why = {"stopped": "stopped {0}", "away": "did not answer"}
    told = [
        f"{name}: {why[kind].format(name)}"
        for name, kind in zip(NAMES, kinds, strict=True)
        if kind in why
    ]
    assert list(without.left_out[: len(told)]) == told
    kept = {planned.case.label for planned in without.cases}
    lost = [planned.case.label for planned in plan.cases if planned.case.label not in kept]
    for label, line in zip(lost, without.left_out[len(told) :], strict=True):
        assert line.startswith(f"cpu-smoke {label}: needs {nodes} hosts")
    assert without_stopped(without, findings, known, plan_on) in (without, None)
    others = [name for name in NAMES if name not in left]
    assert (without is plan) == (not others)


PROFILES = ("cpu-smoke", "torch-resnet50")


@given(
    stops=st.sets(st.tuples(st.sampled_from(["", *NAMES]), st.sampled_from(PROFILES))),
    away=st.sets(st.sampled_from(NAMES)),
    picked=st.booleans(),
)
def test_a_profile_that_is_stopped_wherever_another_is_not_is_left_out(
    catalog: Catalog, stops: set[tuple[str, str]], away: set[str], *, picked: bool
) -> None:
    known = snapshots(["away" if name in away else "well" for name in NAMES])

    def plan_on(selection: Selection) -> Plan:
        names = selection.hosts.split(",") if selection.hosts else NAMES
        hosts = [Host(name) for name in names]
        return make_plan(selection, catalog, hosts, [one for one in known if one.name in names])

    asked = Selection(PROFILES, ("1n1g",), {"torch-resnet50:batch_size": ("32",)}, 1)
    plan = plan_on(asked)
    if picked:
        plan = plan_on(replace(asked, cases=(), picked=tuple(one.case.key for one in plan.cases)))
    findings = [
        Finding(host, Level.STOP, f"{host} has no {name}", bearing=Bearing((name,)))
        for host, name in sorted(stops)
    ]
    free = {
        name: [host for host in NAMES if host not in away and (host, name) not in stops]
        for name in PROFILES
    }
    kept = [name for name in PROFILES if free[name] and ("", name) not in stops]
    left = [host for host in NAMES if all(host in free[name] for name in kept)]
    without = without_stopped(plan, findings, known, plan_on)
    assert (without is None) == (not (plan.cases and kept and left))
    if without is None:
        return
    assert [host.name for host in without.hosts] == left
    assert {planned.profile.name for planned in without.cases} == set(kept)
    assert hosts_of(without.left_out) == tuple(host for host in NAMES if host not in left)
    told = [line for line in without.left_out if line.startswith("every case of ")]
    assert len(told) == len(PROFILES) - len(kept)
    assert all(f"{name}: " in line for line in told for name in PROFILES if name not in kept)
    bear = [one for one in findings if one.host in left or not one.host]
    assert not any(one.of_any(kept) for one in bear)


@given(stops=st.lists(st.sampled_from([*NAMES, ""]), unique=True))
def test_a_forced_plan_takes_the_hosts_that_nothing_stops_first(
    catalog: Catalog, stops: list[str]
) -> None:
    hosts = [Host(name) for name in NAMES]
    plan = make_plan(
        Selection(("cpu-smoke",), ("1n1g",), {}, 2), catalog, hosts, snapshots(["well"] * 4)
    )
    warned = Finding("node1", Level.WARN, "load")
    made = stopped_last(plan, [warned, *(Finding(name, Level.STOP, "worn") for name in stops)])
    well = [name for name in NAMES if name not in stops]
    assert [host.name for host in made.hosts] == [*well, *(n for n in NAMES if n in stops)]


def test_what_was_left_out_before_stays_said(catalog: Catalog, tmp_path: Path) -> None:
    known = snapshots(["well"] * 4)

    def plan_on(selection: Selection) -> Plan:
        names = selection.hosts.split(",") if selection.hosts else NAMES
        return make_plan(selection, catalog, [Host(name) for name in names], known)

    plan = plan_on(Selection(("cpu-smoke",), ("1n1g",), {}, 2))
    for name in ("node2", "node4"):
        stop = Finding(name, Level.STOP, "broken")
        made = without_stopped(plan, [stop], known, plan_on)
        assert made is not None
        plan = made
    assert plan.left_out == ("node2: broken", "node4: broken")
    assert [host.name for host in plan.hosts] == ["node1", "node3"]
