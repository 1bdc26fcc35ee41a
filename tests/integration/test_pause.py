"""Paused runs are not started, whoever is at work, and whatever becomes of the console."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.campaign.record.journal import read_events
from backends.campaign.record.state import CampaignState, RunState, fold
from backends.inventory.host_entry import Host
from tests.integration.test_retry import call, complaint, state_of
from tests.support.campaigns import Bench, finish, kill_hard, until_running
from tests.support.waiting import until


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


async def test_a_paused_run_is_passed_over_and_what_runs_goes_on(bench: Bench) -> None:
    controller = await bench.start(lines=5, every=0.2, repeats=3)
    await until_running(controller)
    first, second, third = controller.state.runs
    assert controller.pause(second)
    assert not controller.pause(second), "it is paused already"
    assert not controller.pause(first), "it runs"
    await until(lambda: controller.state.runs[third].state.ended, what="the end of the third run")
    assert [run.state for run in controller.state.runs.values()] == [
        *(RunState.SUCCEEDED, RunState.PLANNED, RunState.SUCCEEDED),
    ]
    shown = controller.snapshot()
    assert (shown.paused, shown.held, shown.eta_s, controller.finished) == (1, True, None, False)
    assert "1 paused" in shown.summary
    assert controller.unpause(second)
    state = await finish(controller)
    assert state.finished
    assert state.runs[second].state is RunState.SUCCEEDED


async def test_pausing_from_the_command_line_survives_and_a_run_of_it_waits_and_says_so(
    bench: Bench,
) -> None:
    controller = await bench.start(lines=1000, every=0.01, repeats=3)
    await until_running(controller)
    name = bench.campaign.name
    await controller.detach()

    first, second, _third = controller.state.runs
    assert f"run {first} is running" in complaint(bench, "pause", name, "--run", first)
    assert "no run is paused" in complaint(bench, "unpause", name)
    out, err = call(bench, "pause", name, "--json")
    assert (len(json.loads(out)["paused"]), err) == (2, "")
    assert "is paused already" in complaint(bench, "pause", name, "--run", second)
    assert "no run is left to start" in complaint(bench, "pause", name)
    out, _err = call(bench, "status", name, "--json")
    waiting = json.loads(out)["runs"][1]
    assert waiting["state"] == "planned"
    assert waiting["paused"]["by"]
    assert "paused by" in call(bench, "status", name)[0]

    call(bench, "cancel", name, "--run", first)
    assert not state_of(bench).finished, "what is paused has not ended"
    process = bench.spawn("resume", name)
    assert process.stderr is not None
    said = ""
    while "all that is left is paused, 2 runs" not in said:
        said = process.stderr.readline()
        assert said, "it ended"
    kill_hard(process)
    assert [run.paused for run in state_of(bench).runs.values()] == [False, True, True]
    process = bench.spawn("resume", name, "--take-over")
    assert process.stderr is not None
    while "all that is left is paused" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert f"dlperf-tui unpause {name}" in err

    assert "1 run unpaused" in call(bench, "unpause", name, "--run", second)[1]
    call(bench, "cancel", name, "--run", state_of(bench).latest_attempts()[-1].run_id)
    call(bench, "resume", name, code=1)  # not all of its runs succeeded
    state: CampaignState = fold(read_events(bench.campaign / "events.jsonl"))
    assert state.finished
    _, then, last = state.runs.values()
    assert (then.state, last.state) == (RunState.SUCCEEDED, RunState.CANCELLED)
    bench.nothing_is_left()


async def test_a_pause_outlives_a_damaged_line_and_a_console_that_dies_the_next_moment(
    bench: Bench,
) -> None:
    controller = await bench.start(lines=1000, every=0.01, repeats=3)
    await until_running(controller)
    first, second, third = controller.state.runs
    journal = controller.path / "events.jsonl"
    assert controller.pause(third)
    await until(lambda: b"RunPaused" in journal.read_bytes(), within_s=1.0, what="it is on disk")
    await controller.detach()
    call(bench, "cancel", controller.path.name, "--run", first)
    call(bench, "pause", controller.path.name, "--run", second)

    lines = journal.read_bytes().split(b"\n")
    for run_id in (second.encode(), third.encode()):
        told = [n for n, line in enumerate(lines) if b"RunPaused" in line and run_id in line]
        lines[told[0]] = b"\0" * len(lines[told[0]])
    journal.write_bytes(b"\n".join(lines))
    assert [run.paused for run in state_of(bench).runs.values()] == [False, True, True]
    call(bench, "cancel", controller.path.name)
