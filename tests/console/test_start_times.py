"""How long a start takes, on the hosts that are named with the time, and on those of each key."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import TextArea

from backends.campaign.plan.plan import Plan
from backends.campaign.plan.selection import Selection
from backends.hosts.foreseen import facts_for, foreseen
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.preflight_finding import Finding, Level
from backends.inventory.nodesets import fold_nodeset
from backends.remote.lease import Lease
from backends.results.auto_repeats import AutoRepeats
from profiles.durations import format_duration
from profiles.format.catalog import Catalog
from profiles.format.host_capacity import HostCapacity
from tests.console.conftest import LARGE, console, until
from tests.console.fakes import FakeWorkspace, facts, known_host, v100_hosts
from tests.console.test_matrix import open_matrix
from tui.plan_words import (
    able_alone,
    host_states,
    keys_line,
    plan_totals,
    time_text,
    usable_now,
)
from tui.screens.dry_run import DryRunView
from tui.screens.start_text import checklist_text, stopped_text, totals_text

ENTER = (
    "# Enter asks first: x goes on with node[1,3-4] alone (5 of 6 runs), F with all, as here; "
    "preflight may find more"
)
NAMES = ("node1", "node2", "node3", "node4")


def plan_on(names: tuple[str, ...], tags: tuple[str, ...] = ("1n1g",)) -> Plan:
    plan = FakeWorkspace(Path("/nowhere")).plan(Selection(("cpu-smoke",), tags, {}, repeats=5))
    cases = tuple(replace(planned, measured_s=60.0) for planned in plan.cases)
    hosts = tuple(host for host in plan.hosts if host.name in names)
    return replace(
        plan, hosts=hosts, cases=cases, capacities=tuple(HostCapacity(n, 8, 8) for n in names)
    )


def held(name: str, by_others: bool) -> HostSnapshot:
    found = known_host(name, "10.11.0.2", replace(facts(), disk_free_mib=10**6))
    lease = Lease("bob, campaign x") if by_others else None
    assert found.facts is not None
    return replace(found, facts=replace(found.facts, lease=lease))


@pytest.mark.parametrize("target", [0.01, None])
def test_a_time_whose_repeats_are_open_ended_is_one_at_least_wherever_it_is_said(
    target: float | None,
) -> None:
    rule = None if target is None else AutoRepeats(target)
    plan, without = plan_on(NAMES), plan_on(NAMES[2:])
    plan, without = (
        replace(one, selection=replace(one.selection, auto=rule)) for one in (plan, without)
    )
    states = dict.fromkeys(NAMES, "")
    own, fewer = (format_duration(one.expected_s or 0.0) for one in (plan, without))
    keys = stopped_text(plan, without, states).plain
    said = "about" if rule is None else "at least"
    assert f" · {said} {own} · {said} " in totals_text(plan, states).plain
    assert f", {said} {fewer}\n" in keys
    assert f"F starts anyway, {said} {own} with node[1-2] too;" in keys
    assert (f", at least ≈ {own}" in plan_totals(plan)) == (rule is not None)


@given(st.sets(st.sampled_from(NAMES), max_size=3))
def test_a_time_is_that_of_the_hosts_that_are_named_with_it(stopped: set[str]) -> None:
    plan, left = plan_on(NAMES), tuple(name for name in NAMES if name not in stopped)
    plan_states = host_states(plan, [held(name, name in stopped) for name in NAMES])
    assert plan_states == {name: "held" * (name in stopped) for name in NAMES}
    states = {name: "stopped by preflight" * (name in stopped) for name in NAMES}
    assert time_text(plan, states) == time_text(plan, plan_states)
    without = plan_on(left)
    own, every = (format_duration(one.expected_s or 0.0) for one in (without, plan))
    assert totals_text(plan, states).plain.splitlines()[0].split(" · ")[1] == f"about {own}"
    keys = stopped_text(plan, without).plain
    assert re.findall(r", about ([^;\n]+)", keys) == (
        [] if own == every else [own, f"{every} with {fold_nodeset(sorted(stopped))} too"]
    )


@given(st.sets(st.sampled_from(NAMES), min_size=1, max_size=3), st.sets(st.sampled_from(NAMES[1:])))
def test_no_key_takes_a_host_as_free_that_somebody_else_holds(
    stopped: set[str], taken: set[str]
) -> None:
    """What stops a host can be forced; a lease is waited for: where one key has to, both times
    count it and say so, and are of the same hosts but for those that are stopped."""
    plan, left = plan_on(NAMES), tuple(name for name in NAMES if name not in stopped)
    states = host_states(plan, [held(name, name in taken) for name in NAMES], ())
    without = plan_on(left)
    waited = taken if not set(left) - taken else set()
    counted = [name for name in NAMES if name not in taken or name in waited]
    own, every = (
        format_duration(plan_on(tuple(n for n in counted if n in names)).expected_s or 0.0)
        for names in (left, NAMES)
    )
    keys = stopped_text(plan, without, states).plain
    if own == every:
        assert "about" not in keys
        return
    also = [
        [name for name in counted if name in waited and name in left],
        [name for name in counted if name in waited or name in stopped],
    ]
    free = [name for name in left if name not in taken]
    where = " with {} too" if free else " on {}"
    said = [where.format(fold_nodeset(names)) * bool(names) for names in also]
    assert f", about {own}{said[0]}\n" in keys
    forced = next(line for line in keys.splitlines() if line.startswith("F "))
    assert f"starts anyway, about {every}{said[1]};" in forced


def test_times_of_a_case_that_waits_for_who_is_held_are_all_of_named_hosts() -> None:
    """As a user had it: one host held, one stopped, one free."""
    names = NAMES[:3]
    plan = plan_on(names, ("1n1g", "2n1g"))
    without = plan_on((names[0], names[2]), ("1n1g", "2n1g"))
    states = {"node1": "held", "node2": "", "node3": ""}
    all_three, two = (format_duration(one.expected_s or 0.0) for one in (plan, without))
    stopped = states | {"node2": "stopped by preflight"}
    assert time_text(plan, stopped) == f"{two} with node1 too"
    keys = stopped_text(plan, without, states).plain
    assert f"on node[1,3], about {two} with node1 too\n" in keys
    assert f"F starts anyway, about {all_three} with node[1-2] too;" in keys


@given(st.sets(st.sampled_from(NAMES), min_size=1, max_size=2), st.sets(st.sampled_from(NAMES[1:])))
def test_the_time_above_is_that_without_the_stopped_hosts_as_their_key_has_it(
    stopped: set[str], taken: set[str]
) -> None:
    """Of a plan of two hosts for each run, which waits where fewer are free."""
    plan, left = (
        plan_on(names, ("2n4g",)) for names in (NAMES, tuple(n for n in NAMES if n not in stopped))
    )
    states = host_states(plan, [held(name, name in taken) for name in NAMES], ())
    keys = stopped_text(plan, left, states).plain.splitlines()[0]
    for word in ("busy", "broken", "stopped by preflight", "to be stopped by preflight"):
        above = time_text(plan, {n: word if n in stopped else states[n] for n in NAMES})
        free = [name for name in NAMES if name not in stopped | taken]
        used = free if len(free) > 1 else [name for name in NAMES if name not in stopped]
        too = [name for name in used if name in taken] if used != free else []
        own = format_duration(plan_on(tuple(used), ("2n4g",)).expected_s or 0.0)
        assert above == own + f" with {fold_nodeset(too)} too" * bool(too and free)
        if len(free) < 2 and ", about " in keys:
            where = "" if free else f" on {fold_nodeset(too)}"
            assert keys.endswith(f", about {above}{where}")


@given(st.sets(st.sampled_from(NAMES), max_size=len(NAMES) - 1))
def test_where_preflight_stops_every_host_the_time_is_that_of_the_page_below(
    worn: set[str],
) -> None:
    plan = plan_on(NAMES)
    foreseen = {name: "to be stopped by preflight" * (name in worn) for name in NAMES}
    stopped = dict.fromkeys(NAMES, "stopped by preflight")
    above, below = totals_text(plan, stopped, foreseen).plain.splitlines()
    assert above.split(" · ")[1] == f"about {time_text(plan, foreseen)}"
    assert below == "on no host for now; node[1-4] stopped by preflight"


@given(st.lists(st.sampled_from(["held", "busy", "away", "stopped by preflight"]), min_size=4))
def test_where_no_host_can_be_used_none_is_named_with_the_time(states: list[str]) -> None:
    above = totals_text(plan_on(NAMES), dict(zip(NAMES, states, strict=False))).plain.splitlines()[
        0
    ]
    assert not any(name in above for name in ("node", " on ", " with "))


TAKEN_BY = {
    "well": {"cpu-smoke", "megatron-lm"},
    "without GPUs": {"cpu-smoke"},
    "busy": {"cpu-smoke"},
    "held": set(),
    "away": set(),
}


def host_that_is(name: str, kind: str) -> HostSnapshot:
    found = held(name, kind == "held")
    assert found.facts is not None
    if kind == "without GPUs":
        return replace(found, facts=found.facts.without_gpus())
    if kind == "busy":
        return replace(found, facts=replace(facts(busy=(0,)), disk_free_mib=10**6))
    return replace(found, state=HostState.UNREACHABLE) if kind == "away" else found


@given(st.lists(st.sampled_from([*TAKEN_BY]), min_size=4, max_size=4), st.booleans())
def test_that_no_host_takes_a_run_is_said_where_it_is_so_of_each_profile(
    kinds: list[str], looked: bool
) -> None:
    """Before preflight and after it."""
    plan = plan_on(NAMES)
    catalog = Catalog.load()
    both = ("cpu-smoke", "megatron-lm")
    profiles = map(catalog.get, both)
    cases = tuple(
        replace(plan.cases[0], profile=profile, settings=dict.fromkeys(profile.settings, "x"))
        for profile in profiles
    )
    plan = replace(plan, cases=cases)
    hosts = [host_that_is(name, kind) for name, kind in zip(NAMES, kinds, strict=True)]
    found = foreseen(facts_for(plan.cases, hosts), plan.cases) if looked else None
    alone = able_alone(plan, hosts, found)
    taken = {
        name: [host.name for host, kind in zip(hosts, kinds, strict=True) if name in TAKEN_BY[kind]]
        for name in both
    }
    assert alone == {name: there for name, there in taken.items() if there}
    text = totals_text(plan, host_states(plan, hosts, found), alone=alone).plain
    assert ("on no host for now" in text) == (not alone)
    nowhere = bool(alone) and "well" not in kinds
    there = fold_nodeset(taken["cpu-smoke"])
    could = f"no host takes all of it for now, cpu-smoke alone could start on {there}: "
    assert (f"{could}unmark megatron-lm" in text) == nowhere


def test_a_time_that_takes_more_hosts_than_can_be_used_says_so() -> None:
    plan = plan_on(NAMES, ("1n1g", "4n1g"))
    states = {name: "busy" * (name == "node3") for name in NAMES}
    assert time_text(plan, states) == f"{format_duration(plan.expected_s or 0.0)} with node3 too"


@given(st.sets(st.sampled_from(NAMES[1:])), st.sets(st.sampled_from(NAMES[1:]), min_size=1))
def test_a_time_is_said_to_be_with_those_hosts_alone_that_it_was_planned_with(
    away: set[str], busy: set[str]
) -> None:
    """A host that was out of reach when the plan was made has no part in it."""
    away -= busy
    there = tuple(name for name in NAMES if name not in away)
    plan = replace(
        plan_on(NAMES, ("1n1g", f"{len(there)}n1g")), capacities=plan_on(there).capacities
    )
    hosts = [held(name, name in busy) for name in NAMES]
    hosts = [
        replace(one, state=HostState.UNREACHABLE, facts=None) if one.name in away else one
        for one in hosts
    ]
    with_ = fold_nodeset(sorted(busy))
    states = host_states(plan, hosts)
    assert time_text(plan, states) == f"{format_duration(plan.expected_s or 0.0)} with {with_} too"
    usable, said = usable_now(plan, hosts)
    assert usable is plan
    without = f", and leave out {fold_nodeset(sorted(away))}" * bool(away)
    assert said.endswith(f"are as if {with_} could be used{without}")
    rows = {name for slot in usable.timeline if slot is not None for name in slot.hosts}
    assert not rows & away


@given(st.sets(st.sampled_from(NAMES), max_size=3))
def test_a_dry_run_on_stopped_hosts_says_which_key_starts_it_without_them(
    stopped: set[str],
) -> None:
    plan, left = plan_on(NAMES), tuple(name for name in NAMES if name not in stopped)
    x, asks = f"x goes on with {fold_nodeset(left)} alone", "Enter asks first"
    without = plan_on(left)
    more = "; preflight may find more"
    assert keys_line(plan, without, plan) == f"{asks}: {x}, F with all, as here{more}"
    assert keys_line(plan, None, plan) == f"{asks}; F starts with all hosts, as here{more}"
    if stopped:
        assert keys_line(plan, without, without) == f"{asks}: {x}, as here, F with all{more}"
        assert keys_line(plan, None, without) == f"{asks}; F starts with all hosts{more}"


def test_a_start_by_force_counts_no_host_that_does_not_answer() -> None:
    plan = replace(plan_on(NAMES), capacities=plan_on(("node1", "node3")).capacities)
    assert "F starts with node[1,3], as here;" in keys_line(plan, None, plan)
    assert "F with node[1,3], as here;" in keys_line(plan, plan_on(("node1",)), plan)


def test_advice_that_is_the_same_for_several_findings_is_given_once_behind_them() -> None:
    advice = "make them alike, or leave hosts out"
    found = [
        Finding("", Level.WARN, f"{what} differs", remedy)
        for what, remedy in (("driver", advice), ("model", advice), ("kernel", "other"))
    ]
    lines = [line.strip() for line in checklist_text(plan_on(NAMES), found).plain.splitlines()]
    at = lines.index("warn driver differs")
    assert lines[at : at + 5] == [
        "warn driver differs",
        "warn model differs",
        f"→ {advice}",
        "warn kernel differs",
        "→ other",
    ]


@given(st.permutations([("", False), ("node1", False), ("node2", False), ("node3", True)]))
def test_what_is_found_of_all_hosts_stands_before_what_is_of_one_and_the_harmless_last(
    found: list[tuple[str, bool]],
) -> None:
    of_one = [
        Finding(host, Level.WARN, f"{host or 'model'} differs", harmless=harmless)
        for host, harmless in found
    ]
    load = Finding("node1", Level.WARN, "load is 4", harmless=True)
    stop = Finding("node2", Level.STOP, "no disk")
    words = checklist_text(plan_on(NAMES), [load, *of_one, stop]).plain
    places = [words.index(what) for what in ("no disk", "model differs", "node1 differs", "load")]
    assert places == sorted(places)


@pytest.mark.parametrize("worn", [False, True])
async def test_the_dry_run_of_the_matrix_says_so_too(tmp_path: Path, *, worn: bool) -> None:
    well = v100_hosts()[0]
    assert well.facts is not None
    gpu, *gpus = well.facts.gpus
    bad = replace(well.facts, gpus=(replace(gpu, ecc_uncorrected=2), *gpus))
    hosts = [known_host(name, "10.11.0.2", well.facts) for name in NAMES]
    hosts[1] = known_host("node2", "10.11.0.2", bad) if worn else hosts[1]
    async with console(FakeWorkspace(tmp_path, hosts=hosts), LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DryRunView))
        text = app.screen.query_one(TextArea).text
        assert ("node2 cannot be used now" in text) == worn
        said = [line for line in text.splitlines() if "Enter asks first" in line]
        assert said == [ENTER] * worn
