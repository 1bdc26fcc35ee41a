"""A stop that was overridden is told of the runs that it is about."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, apply
from backends.hosts.preflight_finding import Finding, Level, in_spite_of

HOSTS = ("node1", "node2", "node3")


@given(
    stops=st.lists(st.sampled_from(["", *HOSTS]), max_size=3),
    on=st.lists(st.sampled_from(HOSTS), min_size=1, unique=True),
    old=st.booleans(),
)
def test_a_run_is_forced_where_it_ran_on_a_host_whose_stop_was_overridden(
    stops: list[str], on: list[str], old: bool
) -> None:
    against = in_spite_of([Finding(host, Level.STOP, "is away") for host in stops], force=True)
    known = () if old else against.stop_bearings
    created = ev.CampaignCreated(
        t=0.0, campaign="c", forced=True, overridden=against.stops, forced_on=known
    )
    planned = ev.RunPlanned(
        t=1.0,
        run_id="a",
        profile="p",
        framework="F",
        model="M",
        unit="x/s",
        nodes=1,
        gpus_per_node=1,
        parameters={},
        repeat=1,
    )
    assigned = ev.RunAssigned(
        t=2.0, run_id="a", hosts=tuple(on), commands=("x",), port=1, log="a.log"
    )
    state = CampaignState()
    for event in (created, planned, assigned):
        state = apply(state, event)
    (run,) = run_results(state)
    everywhere = old or not stops or "" in stops
    assert run.forced == (everywhere or not {*stops}.isdisjoint(on))
    (other,) = run_results(replace(state, forced=False))
    assert not other.forced
