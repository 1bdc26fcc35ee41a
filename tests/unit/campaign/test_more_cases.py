"""Cases that are added to a campaign that has begun."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.create import planned_runs
from backends.campaign.more_cases import BegunWith, more_cases, new_cases, others, why_not_added
from backends.campaign.plan.plan import Plan
from backends.campaign.plan.profile_in_campaign import ProfileSetup
from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.campaign.record.state import CampaignState, fold
from backends.hosts.placement import Placement
from backends.hosts.preflight_finding import Bearing, Finding, Level
from backends.results.auto_repeats import AutoRepeats
from tests.console.fakes import FakeWorkspace, frozen_catalog

CATALOG = frozen_catalog()
TAGS = ("1n1g", "1n2g", "2n1g", "2n2g", "4n1g")


def plan_of(tags: tuple[str, ...], repeats: int, sizes: tuple[str, ...] = ("32",)) -> Plan:
    workspace = FakeWorkspace(Path("/nowhere"), catalog=CATALOG)
    return workspace.plan(Selection(("cpu-smoke",), tags, {"batch_size": sizes}, repeats))


def begun(plan: Plan, **created: Any) -> tuple[CampaignState, BegunWith]:
    first = ev.CampaignCreated(t=0.0, campaign="c", hosts=len(plan.hosts), **created)
    setups = {
        planned.profile.name: ProfileSetup(CATALOG.source(planned.profile.name), planned.settings)
        for planned in plan.cases
    }
    hosts = [host.name for host in plan.hosts]
    return fold([first, *planned_runs(plan, 0.0)]), BegunWith(setups, hosts)


SOME = st.lists(st.sampled_from(TAGS), min_size=1, max_size=3, unique=True).map(tuple)
SIZES = st.lists(st.sampled_from(["16", "32", "64"]), min_size=1, max_size=2, unique=True).map(
    tuple
)


@given(
    SOME, SIZES, st.integers(1, 3), st.lists(st.tuples(SOME, SIZES, st.integers(1, 3)), max_size=3)
)
def test_what_is_added_is_run_beside_what_there_was_each_repeat_once(
    tags: tuple[str, ...],
    sizes: tuple[str, ...],
    repeats: int,
    later: list[tuple[tuple[str, ...], tuple[str, ...], int]],
) -> None:
    """Cases that the campaign has already stay as they were asked for."""
    plan = plan_of(tags, repeats, sizes)
    state, begun_with = begun(plan)
    wanted = {planned.case.key: planned.repeats for planned in plan.cases}
    for tags_of, sizes_of, many in later:
        some = plan_of(tags_of, many, sizes_of)
        new = {one.case.key: one.repeats for one in some.cases if one.case.key not in wanted}
        assert bool(why_not_added(begun_with, state, some, ())) != bool(new)
        added = new_cases(begun_with, state, some)
        assert {one.case.key for one in added.cases} == new.keys()
        before = dict(state.runs)
        more = more_cases(state, added, 1.0)
        assert len(more) == sum(new.values())
        state = fold(more, state)
        assert {run_id: state.runs[run_id] for run_id in before} == before
        assert len(state.runs) == len(before) + len(more)
        wanted |= new
    told: dict[str, list[int]] = {}
    for run in state.runs.values():
        told.setdefault(run.case.key, []).append(run.repeat)
    assert {key: sorted(numbers) for key, numbers in told.items()} == {
        key: list(range(1, number + 1)) for key, number in wanted.items()
    }
    assert len({run_id.partition("-")[0] for run_id in state.runs}) == 1


CROWDED = Finding("node1", Level.WARN, "8 processes on 4 CPUs", bearing=Bearing(tags=("1n2g",)))


@pytest.mark.parametrize(
    ("why", "asked", "created"),
    [
        ("until it is known", {"auto": AutoRepeats()}, {}),
        ("profiled", {"explain": True}, {}),
        ("share hosts", {"pack": True}, {}),
        ("share hosts", {}, {"pack": True, "devices": 4}),
        ("another rule", {"placement": Placement.LINKED}, {}),
        ("another rule", {}, {"placement": str(Placement.LINKED)}),
    ],
)
def test_what_a_campaign_says_of_all_its_runs_is_not_changed_by_some(
    why: str, asked: dict[str, Any], created: dict[str, Any]
) -> None:
    plan = plan_of(("1n1g",), 1)
    state, begun_with = begun(plan, **created)
    more = plan_of(("1n2g",), 1)
    more = replace(more, selection=replace(more.selection, **asked))
    assert why in why_not_added(begun_with, state, more, ())


def test_only_runs_of_the_same_profiles_settings_and_hosts_are_added() -> None:
    plan = plan_of(("1n1g",), 1)
    state, begun_with = begun(plan)
    more = plan_of(("1n2g",), 1)
    (planned,) = more.cases

    def why(**changed: Any) -> str:
        cases = (replace(planned, **changed),)
        return why_not_added(begun_with, state, replace(more, cases=cases), ())

    assert why() == ""
    assert (
        why(settings={**planned.settings, "seconds": "9"}) == "it has cpu-smoke with other settings"
    )
    other = planned.profile.model_copy(update={"model": "another"})
    assert why(profile=other) == "cpu-smoke was changed since it began"
    unknown = CATALOG.get("oneflow-resnet50")
    assert why(profile=unknown) == "it has no oneflow-resnet50"
    both = replace(more, cases=(*more.cases, replace(planned, profile=unknown)))
    assert why_not_added(begun_with, state, both, ()) == ""
    assert new_cases(begun_with, state, both).cases == more.cases
    assert others(begun_with, both) == ["it has no oneflow-resnet50"]
    fewer = replace(more, hosts=more.hosts[1:])
    assert why_not_added(begun_with, state, fewer, ()) == "it has other hosts"
    job = replace(begun_with, one_job=True)
    assert why_not_added(job, state, more, ()) == "its runs have one job"
    ending = fold([ev.CancelAsked(t=1.0)], state)
    assert why_not_added(begun_with, ending, more, ()) == "its end was asked for"


def test_what_preflight_says_of_a_case_is_recorded_at_the_beginning_or_the_case_is_not_added() -> (
    None
):
    """Of a host it was so of the campaign's own runs; a load may be that of these."""
    plan, more = plan_of(("1n1g",), 1), plan_of(("1n2g",), 1)
    loaded = Finding("node1", Level.WARN, "load 2.0 on 2 CPUs")
    state, begun_with = begun(plan)
    assert why_not_added(begun_with, state, more, [loaded]) == ""
    assert why_not_added(begun_with, state, more, [loaded, CROWDED]) == f"node1: {CROWDED.what}"
    known, _ = begun(plan, warned=(f"node1: {CROWDED.what}",), bearings=(Bearing(),))
    assert why_not_added(begun_with, known, more, [CROWDED]) == ""
    harmless = replace(CROWDED, harmless=True)
    assert why_not_added(begun_with, state, more, [harmless]) == ""
