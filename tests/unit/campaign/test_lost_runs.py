"""Runs whose place a damaged journal has lost are found on their hosts, not started once more."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.cancelling import CancelOrder
from backends.campaign.folder.reader import read_campaign
from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.record import events as ev
from backends.campaign.record.codec import encode
from backends.campaign.record.journal import FILE_NAME
from backends.campaign.record.run_changes import planned_since, planning
from backends.campaign.record.state import CampaignState, RunState, fold
from backends.campaign.run.lost_runs import look_for_strays
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RunSpec
from backends.simulated.fake_run import FOREVER, Workload
from backends.simulated.simulated_cluster import SimulatedCluster
from backends.simulated.spec import HostSpec
from tests.unit.profiles.builders import profile

PROFILE = profile()
NAMES = ("node1", "node2", "node3")


def hosts() -> SimulatedCluster:
    return SimulatedCluster(
        {name: HostSpec() for name in NAMES}, lambda _: Workload(ends_after_s=FOREVER), speed=100.0
    )


def state(nodes: int = 1, *more: ev.Event, lost: int = 1) -> CampaignState:
    planned = ev.RunPlanned(
        t=0.0,
        run_id="abc-0001-a1",
        profile=PROFILE.name,
        framework="f",
        model="m",
        unit="u",
        nodes=nodes,
        gpus_per_node=1,
        parameters={},
        repeat=1,
    )
    created = ev.CampaignCreated(t=0.0, campaign="c")
    return fold([created, planned, ev.LinesLost(t=0.0, lines=lost), *more])


async def looked(
    cluster: SimulatedCluster,
    before: CampaignState,
    directory: Path = Path("/nonexistent"),
    order: CancelOrder | None = None,
) -> CampaignState:
    remotes = [RemoteHost(cluster.get(name)) for name in NAMES]
    profiles = {PROFILE.name: PROFILE}
    events = await look_for_strays(before, remotes, profiles, 1.0, directory, order)
    return fold(events, before)


async def start(cluster: SimulatedCluster, name: str, run_id: str) -> None:
    await RemoteHost(cluster.get(name)).start(RunSpec(run_id, "exec train\n", lease="me"))


async def test_a_run_is_where_it_is_found() -> None:
    cluster = hosts()
    await start(cluster, "node2", "abc-0001-a1")
    run = (await looked(cluster, state())).runs["abc-0001-a1"]
    assert (run.state, run.hosts) == (RunState.STARTING, ("node2",))
    assert run.log


async def test_a_profiled_run_that_is_found_has_a_log_of_its_own() -> None:
    cluster = hosts()
    await start(cluster, "node2", "abc-0001-a1")
    before = state()
    profiled = replace(before.runs["abc-0001-a1"], profiled=True)
    found = await looked(cluster, replace(before, runs={profiled.run_id: profiled}))
    assert found.runs["abc-0001-a1"].log.endswith("_profiled.log")


async def test_a_run_that_is_nowhere_stays_planned() -> None:
    cluster = hosts()
    await start(cluster, "node2", "other-0001-a1")
    before = state()
    assert await looked(cluster, before) == before


@pytest.mark.parametrize("names", [("node3",), ("node1", "node3")])
async def test_a_run_of_several_hosts_is_ended_and_tried_again(names: tuple[str, ...]) -> None:
    """Whether these are all of its hosts, and which of them comes first, is lost."""
    cluster = hosts()
    for name in names:
        await start(cluster, name, "abc-0001-a1")
    run = (await looked(cluster, state(nodes=2))).runs["abc-0001-a1"]
    assert (run.state, run.hosts, run.retry) == (RunState.FAILED, names, "now")
    assert all(run.cleanup.of(name) is not None for name in names)


async def test_a_host_that_could_not_be_asked_may_have_a_part_of_it() -> None:
    cluster = hosts()
    await start(cluster, "node3", "abc-0001-a1")
    cluster.links["node1"].refuse()
    run = (await looked(cluster, state(nodes=2))).runs["abc-0001-a1"]
    assert [doubt.host for doubt in run.cleanup.doubts] == ["node3", "node1"]


async def test_an_attempt_that_the_journal_does_not_know_is_known_by_its_id() -> None:
    cluster = hosts()
    await start(cluster, "node1", "abc-0001-a2")
    failed = ev.RunFailed(t=0.5, run_id="abc-0001-a1", reason="killed", retry="later")
    found = await looked(cluster, state(1, failed))
    assert found.runs["abc-0001-a2"].hosts == ("node1",)
    assert found.runs["abc-0001-a2"].retry_of == "abc-0001-a1"


@pytest.mark.parametrize("again", ["planned", "at work", "succeeded"])
async def test_an_attempt_that_was_tried_again_is_known_to_be_left_where_it_is(again: str) -> None:
    """The lines of its place and of its end are lost; the line of the next attempt says that it
    had one."""
    cluster = hosts()
    await start(cluster, "node1", "abc-0001-a1")
    retry = next_attempt(state().runs["abc-0001-a1"], 0.5)
    place = ev.RunAssigned(
        t=0.6, run_id=retry.run_id, hosts=("node3",), commands=("c",), port=0, log="a2.log"
    )
    end = ev.RunSucceeded(
        t=0.7,
        run_id=retry.run_id,
        throughput=1.0,
        readings=1,
        used=1,
        window="all readings",
        statistic="median",
    )
    since = {"planned": (), "at work": (place,), "succeeded": (place, end)}[again]
    before = state(1, retry, *since)
    found = await looked(cluster, before)
    left = found.runs["abc-0001-a1"]
    assert (left.state, left.hosts) == (RunState.FAILED, ("node1",))
    assert left.cleanup.of("node1"), "nobody has looked at it there yet"
    assert left.log != found.runs[retry.run_id].log
    assert found.latest_attempts() == before.latest_attempts(), "the next one counts"
    assert await looked(cluster, found) == found


async def test_a_host_that_cannot_be_asked_is_named() -> None:
    cluster = hosts()
    cluster.links["node2"].refuse()
    found = await looked(cluster, state())
    assert [text for _, _, text in found.notes] == [
        "node2 could not be asked for runs of which the journal has lost a line"
    ]


@pytest.mark.parametrize(
    ("chosen", "state_then"),
    [
        (None, RunState.CANCELLING),
        (frozenset({"abc-0001-a1"}), RunState.CANCELLING),
        (frozenset({"another"}), RunState.PLANNED),
    ],
)
async def test_a_run_is_not_called_cancelled_while_a_host_that_may_have_it_is_away(
    chosen: frozenset[str] | None, state_then: RunState
) -> None:
    cluster = hosts()
    cluster.links["node2"].refuse()
    run = (await looked(cluster, state(), order=CancelOrder(chosen, 1.0))).runs["abc-0001-a1"]
    assert run.state is state_then
    assert run.hosts == (("node2",) if state_then is RunState.CANCELLING else ())
    here = (await looked(hosts(), state(), order=CancelOrder(chosen, 1.0))).runs["abc-0001-a1"]
    assert here.state is RunState.PLANNED


async def test_whose_journal_is_whole_asks_nobody() -> None:
    cluster = hosts()
    await start(cluster, "node2", "abc-0001-a1")
    before = state(lost=0)
    assert await looked(cluster, before) == before


async def test_a_run_that_is_nowhere_but_has_a_log_is_not_executed_again_as_the_same_attempt(
    tmp_path: Path,
) -> None:
    cluster = hosts()
    await start(cluster, "node2", "abc-0001-a1")
    log = tmp_path / (await looked(cluster, state())).runs["abc-0001-a1"].log
    log.parent.mkdir(parents=True)
    log.write_text("iter 1")
    run = (await looked(hosts(), state(), tmp_path)).runs["abc-0001-a1"]
    assert (run.state, run.retry, run.cleanup.doubts) == (RunState.FAILED, "now", ())
    partly = hosts()
    partly.links["node3"].refuse()
    run = (await looked(partly, state(), tmp_path)).runs["abc-0001-a1"]
    assert (run.state, run.hosts) == (RunState.FAILED, ("node3",))
    assert [doubt.host for doubt in run.cleanup.doubts] == ["node3"]


@given(begun=st.floats(1.0, 1e6), later_s=st.floats(1.0, 1e6))
def test_a_planning_that_is_told_again_ends_what_it_tries_again_when_that_was_known_to_end(
    begun: float, later_s: float
) -> None:
    """Where the journal has lost both the end of an attempt and that another one was planned."""
    with tempfile.TemporaryDirectory() as directory:
        journal = Path(directory) / FILE_NAME
        created = ev.CampaignCreated(t=0.0, campaign="c")
        first = planning(state().runs["abc-0001-a1"], 0.0)
        place = {"hosts": ("node1",), "commands": ("x",), "port": 1, "log": "l"}
        told = [
            ev.RunAssigned(t=begun, run_id="abc-0001-a1", **place),
            ev.RunAssigned(t=begun + later_s, run_id="abc-0001-a2", **place),
        ]
        journal.write_bytes(b"".join(map(encode, (created, first, *told))))
        known = read_campaign(Path(directory))
        again = known.runs["abc-0001-a2"]
        now = begun + 2 * later_s
        planned = planning(again, planned_since(again, known.runs, now))
        with journal.open("ab") as file:
            file.write(encode(planned))
        assert read_campaign(Path(directory)).runs["abc-0001-a1"] == known.runs["abc-0001-a1"]
        assert known.runs["abc-0001-a1"].ended_at == begun
