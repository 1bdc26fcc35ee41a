"""Wires cut, packets dropped, connections reset, hosts rebooted: nothing lost, nothing doubled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from backends.campaign.controller import CampaignController
from backends.campaign.record.cleanup_doubts import Why
from backends.campaign.record.state import RunState
from tests.integration.faults.conftest import Measured
from tests.support.campaigns import Bench, finish, only_run, until_running
from tests.support.netns import NamespaceHosts
from tests.support.waiting import until

pytestmark = pytest.mark.faults

EVERY = 0.1


async def outage(
    bench: Bench,
    seconds: float,
    begin: Callable[[int], None],
    end: Callable[[int], None],
) -> tuple[float | None, float]:
    """A run on both hosts, one of which is away for a while in the middle.

    Returns the seconds until the operator was told (None: it was over before) and those from the
    end of the outage until the log moved again.
    """
    lines = int((seconds + 35) / EVERY)
    controller = await bench.start("2n1g", lines=lines, every=EVERY)
    await until_running(controller, readings=5)
    log = controller.path / only_run(controller.state).log
    begin(1)
    began = time.monotonic()
    told: float | None = None
    while time.monotonic() - began < seconds:
        if told is None and "retrying" in text_of(controller):
            told = time.monotonic() - began
        await asyncio.sleep(0.05)
    end(1)
    mended = time.monotonic()
    size = log.stat().st_size
    await until(lambda: log.stat().st_size > size, what="the log goes on")
    back = time.monotonic() - mended
    state = await finish(controller)
    run = only_run(state)
    assert run.reason == ""
    assert run.reading_count == lines
    assert bench.logs_are_exact(state, controller.path) == 2
    bench.nothing_is_left()
    return told, back


def text_of(controller: CampaignController) -> str:
    return controller.snapshot().runs[0].state_text


async def test_a_link_that_is_cut_for_6_seconds(
    wired: Bench, machines: NamespaceHosts, measured: Measured
) -> None:
    _, back = await outage(wired, 6.0, machines.cut, machines.mend)
    measured("link cut for 6 s: log goes on after", back)


async def test_a_link_that_is_cut_for_60_seconds(
    wired: Bench, machines: NamespaceHosts, measured: Measured
) -> None:
    wired.profile(lost_limit='"5m"', timeout='"10m"')
    told, back = await outage(wired, 60.0, machines.cut, machines.mend)
    assert told is not None
    assert told < 25
    measured("link cut for 60 s: operator told after", told)
    measured("link cut for 60 s: log goes on after", back)


async def test_packets_that_vanish(
    wired: Bench, machines: NamespaceHosts, measured: Measured
) -> None:
    wired.profile(lost_limit='"5m"', timeout='"10m"')
    told, back = await outage(wired, 30.0, machines.blackhole, machines.mend)
    assert told is not None
    measured("blackhole for 30 s: operator told after", told)
    measured("blackhole for 30 s: log goes on after", back)


async def test_connections_that_are_reset(
    wired: Bench, machines: NamespaceHosts, measured: Measured
) -> None:
    told, back = await outage(wired, 8.0, machines.reset, machines.mend)
    assert told is not None
    measured("RST for 8 s: operator told after", told)
    measured("RST for 8 s: log goes on after", back)


async def test_a_host_that_stays_away_fails_the_run_and_the_others_go_on(
    wired: Bench, machines: NamespaceHosts
) -> None:
    wired.profile(lost_limit='"10s"')
    controller = await wired.start("1n1g", repeats=2, lines=600)
    await until_running(controller, count=2)
    machines.cut(1)
    await until(
        lambda: any(run.state is RunState.FAILED for run in controller.state.runs.values()),
        within_s=90,
    )
    failed = next(r for r in controller.state.runs.values() if r.state is RunState.FAILED)
    assert failed.hosts == ("node1",)
    assert "node1: " in failed.reason
    assert "not back within 10s" in failed.reason
    assert [(d.host, d.why) for d in failed.cleanup.doubts] == [("node1", Why.AWAY)]
    other = next(r for r in controller.state.runs.values() if r.hosts == ("node2",))
    assert other.state in (RunState.RUNNING, RunState.SUCCEEDED)
    machines.mend(1)
    await until(
        lambda: any("cleaned up now" in text for _, _, text in controller.state.notes),
        within_s=90,
        what="the lost run is ended when its host is back",
    )
    controller.cancel_all()
    await finish(controller)
    wired.nothing_is_left()


async def test_a_reboot_is_named_and_the_run_is_done_again(
    wired: Bench, machines: NamespaceHosts, measured: Measured
) -> None:
    controller = await wired.start("2n1g", lines=150, every=EVERY)
    await until_running(controller, readings=5)
    machines.crash(2)
    crashed = time.monotonic()
    await until(lambda: "retrying" in text_of(controller))
    machines.boot(2)
    booted = time.monotonic()
    await until(lambda: next(iter(controller.state.runs.values())).state.ended)
    measured("reboot: named after the host is back in", time.monotonic() - booted)
    first = next(iter(controller.state.runs.values()))
    assert first.reason == "node2: the host rebooted"
    assert first.cleanup.verified
    state = await finish(controller, within_s=180)
    measured("reboot: measured again after", time.monotonic() - crashed)
    assert [run.state for run in state.runs.values()] == [RunState.FAILED, RunState.SUCCEEDED]
    assert len(state.latest_attempts()) == 1
    assert wired.logs_are_exact(state, controller.path) == 2
    wired.nothing_is_left()


async def test_a_changed_host_key_ends_the_run_there_and_says_so(
    wired: Bench, machines: NamespaceHosts
) -> None:
    controller = await wired.start("1n1g", repeats=2, lines=100)
    await until_running(controller, count=2)
    served = machines.served[0]
    served.stop(sessions=True)
    served.new_host_key()
    state = await finish(controller)
    by_host = {run.hosts[0]: run for run in state.runs.values() if run.attempt == 1}
    assert "host key has CHANGED" in by_host["node1"].reason
    assert by_host["node1"].cleanup.doubts
    assert by_host["node2"].state is RunState.SUCCEEDED
