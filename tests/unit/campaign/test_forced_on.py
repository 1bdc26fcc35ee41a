"""A stop that was overridden is told of the runs that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.artifacts import report_context
from backends.campaign.record import events as ev
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, apply
from backends.hosts.preflight_finding import Bearing, Finding, Level, in_spite_of
from tests.unit.campaign.test_campaign_state import succeeded

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
    assert not other.stops
    about = [stop for stop in stops if old or stop in ("", *on)]
    assert run.stops == tuple(f"{host}: is away" if host else "is away" for host in about)


@pytest.mark.parametrize(
    ("devices", "concerned"),
    [
        ({"1n1g": (0,), "1n2g": (0, 1)}, "no case (only runs on GPU2 of node1)"),
        ({"1n1g": (0,), "1n2g": (1, 2)}, "1n2g (only runs on GPU2 of node1)"),
        ({"1n1g": (2,), "1n2g": (1, 2)}, "all cases"),
        (
            {"1n1g": (0,), "1n2g": (0, 1), "1n4g": (0, 1, 2, 3), "1n3g": (2, 3, 4)},
            "1n3g, 1n4g (only runs on GPU2 of node1)",
        ),
    ],
)
def test_the_report_names_the_cases_that_a_forced_stop_of_a_gpu_concerns(
    tmp_path: Path, devices: Mapping[str, Sequence[int]], concerned: str
) -> None:
    state = apply(
        CampaignState(),
        ev.CampaignCreated(
            t=0.0,
            campaign="c",
            forced=True,
            overridden=("node1: GPU2 has 3 uncorrected memory errors",),
            forced_on=(Bearing(hosts=(("node1",),), gpus=(2,)),),
        ),
    )
    for tag, own in devices.items():
        planned = ev.RunPlanned(
            t=1.0,
            run_id=tag,
            profile="p",
            framework="F",
            model="M",
            unit="x/s",
            nodes=1,
            gpus_per_node=len(own),
            parameters={},
            repeat=1,
        )
        assigned = ev.RunAssigned(
            t=2.0,
            run_id=tag,
            hosts=("node1",),
            devices={"node1": tuple(own)},
            commands=("x",),
            port=1,
            log="a.log",
        )
        ended = replace(succeeded(tag), t=3.0)
        for event in (planned, assigned, ended):
            state = apply(state, event)
    first, *rest = report_context(state, tmp_path).notes
    assert first.endswith(f"started in spite of what preflight stops, which concerns {concerned}.")
    assert rest == ["node1: GPU2 has 3 uncorrected memory errors"]
