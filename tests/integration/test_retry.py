"""``dlperf-tui retry`` and ``cancel --run``: single runs, by as much of an id as is needed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.campaign.record.journal import read_events
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import CampaignState, RunState, fold
from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench, finish, until_running
from tests.support.waiting import until

FAILS_ONCE = "sys.exit(os.environ['DLPERF_RUN_ID'].endswith('-0002-a1'))"


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


def call(bench: Bench, *words: str, code: int = 0) -> tuple[str, str]:
    process = bench.spawn(*words)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, f"{process.returncode}: {out}\n{err}"
    return out, err


def complaint(bench: Bench, *words: str) -> str:
    out, err = call(bench, *words, code=2)
    assert out == ""
    [line] = err.splitlines()
    return line


def state_of(bench: Bench) -> CampaignState:
    return fold(read_events(bench.campaign / "events.jsonl"))


def _runs(bench: Bench) -> list[RunRecord]:
    """Of the only campaign; none where it has not begun."""
    begun = [*bench.campaigns.glob("*/events.jsonl")] if bench.campaigns.exists() else []
    return [run for path in begun for run in fold(read_events(path)).runs.values()]


async def test_what_failed_is_tried_again_to_its_end(bench: Bench) -> None:
    state = await finish(await bench.start(lines=3, every=0, repeats=2, after=FAILS_ONCE))
    name = bench.campaign.name
    good, bad = state.runs
    assert [run.state for run in state.runs.values()] == [RunState.SUCCEEDED, RunState.FAILED]
    before = (bench.campaign / "events.jsonl").read_bytes()
    assert f"run {good} has succeeded" in complaint(bench, "retry", name, "--run", good)
    assert "did you mean" in complaint(bench, "retry", name, "--run", f"{bad[:-1]}9")
    assert "is 2 runs" in complaint(bench, "retry", name, "--run", bad[:8])
    assert (bench.campaign / "events.jsonl").read_bytes() == before, "nothing was begun"

    out, err = call(bench, "retry", name, "--json")
    assert f"{name}: 1 run again" in err
    document = json.loads(out)
    assert [(run["run_id"], run["state"]) for run in document["runs"]][-1] == (
        bad.replace("-a1", "-a2"),
        "succeeded",
    )
    assert len(state_of(bench).runs) == 3
    assert complaint(bench, "retry", name).endswith("no run has failed"), "nor was any cancelled"
    line = complaint(bench, "retry", name, "--run", bad)
    assert f"has been tried again; as {bad.replace('-a1', '-a2')}, which has succeeded" in line
    bench.nothing_is_left()


async def test_what_is_tried_again_can_be_left_to_a_keeper(bench: Bench) -> None:
    await finish(await bench.start(lines=3, every=0, repeats=2, after=FAILS_ONCE))
    out, err = call(bench, "retry", bench.campaign.name, "--detach")
    assert out == f"{bench.campaign.absolute()}\n"
    assert f"{bench.campaign.name}: 1 run again" in err
    assert "a keeper goes on with it" in err
    await until(lambda: state_of(bench).finished)
    assert [run.state for run in state_of(bench).latest_attempts()] == [RunState.SUCCEEDED] * 2
    bench.nothing_is_left()


@pytest.mark.faults
async def test_a_cancelled_run_is_tried_again_when_it_is_named(bench: Bench) -> None:
    controller = await bench.start(lines=1000, every=0.01, repeats=2)
    await until_running(controller)
    await controller.detach()
    name = bench.campaign.name
    _out, err = call(bench, "cancel", name, "--run", "0002-a1")
    assert err == f"{name}: 1 run skipped: never started\n"
    assert "1 run cancelled" in call(bench, "cancel", name, "--run", "0001-a1")[1]
    assert {run.state for run in state_of(bench).runs.values()} == {RunState.CANCELLED}
    all_of_them = " ".join(run.run_id for run in state_of(bench).runs.values())
    line = complaint(bench, "retry", name)
    assert line.endswith(f"; what was cancelled or skipped is named: --run {all_of_them}")
    # The first is cancelled still.
    _out, err = call(bench, "retry", name, "--run", "0002-a1", code=1)
    assert "1 of 2 had ended before" in err.splitlines()
    told = [line for line in err.splitlines() if line.startswith(("[", "steady "))]
    assert all(" #2 attempt 2 " in line for line in told), "nothing that had ended before"
    assert [line.split()[0] for line in told if line.startswith("[")] == ["[2/2]"]
    states = [run.state for run in state_of(bench).runs.values()]
    assert states == [RunState.CANCELLED, RunState.CANCELLED, RunState.SUCCEEDED]
    bench.nothing_is_left()


async def test_a_run_that_somebody_else_cancels_does_not_end_all_good(bench: Bench) -> None:
    process = bench.spawn("run", *bench.steady_words("1n1g", lines=1000), "--repeats", "2")
    await until(lambda: any(run.state is RunState.RUNNING for run in _runs(bench)))
    await asyncio.to_thread(call, bench, "cancel", bench.campaign.name)
    await asyncio.to_thread(process.communicate, timeout=120)
    assert process.returncode == 1
    call(bench, "status", bench.campaign.name, code=1)
    bench.nothing_is_left()


async def test_a_console_that_is_at_work_is_asked_and_answers(bench: Bench) -> None:
    controller = await bench.start(lines=1000, repeats=2)
    await until_running(controller)
    [running, waiting] = controller.state.runs
    name = bench.campaign.name
    _out, err = await asyncio.to_thread(call, bench, "cancel", name, "--run", waiting)
    assert err == f"{name}: 1 run skipped: never started\n"
    _out, err = await asyncio.to_thread(call, bench, "retry", name, "--run", waiting)
    assert err == f"{name}: 1 run again\n"
    assert [run_id for run_id in controller.state.runs if run_id not in (running, waiting)]
    line = await asyncio.to_thread(complaint, bench, "retry", name, "--run", waiting)
    assert "has been tried again" in line
    assert controller.state.runs[running].state is RunState.RUNNING
    await asyncio.to_thread(call, bench, "cancel", name)
    state = await finish(controller)
    assert {run.state for run in state.runs.values()} == {RunState.CANCELLED}
    bench.nothing_is_left()


async def test_an_imported_campaign_runs_nothing(bench: Bench, tmp_path: Path) -> None:
    figures = tmp_path / "figures.toml"
    figures.write_text(
        'framework = "F"\nmodel = "M"\nfigures = [{ case = "1n1g", throughput = [1.0] }]\n'
    )
    target = tmp_path / "imported"
    process = bench.spawn("import", str(figures), "-o", str(target))
    process.communicate(timeout=60)
    assert "an imported campaign runs nothing" in complaint(bench, "retry", str(target))
