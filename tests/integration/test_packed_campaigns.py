"""Runs of one campaign that share a host: on this machine and over real SSH servers."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends.campaign.record.state import CampaignState, RunRecord, RunState
from backends.inventory.host_entry import Host
from profiles.errors import DlperfError
from tests.support.campaigns import Bench, finish, kill_hard, until_running
from tests.support.sshd import SshHosts
from tests.support.waiting import until, wait_until

SLOTS = 8


@pytest.fixture
async def bench(
    request: pytest.FixtureRequest, tmp_path: Path, local_host: Host
) -> AsyncIterator[Bench]:
    """One host of eight slots: this machine, or behind an sshd."""
    hosts: Sequence[Host] = (local_host,)
    if getattr(request, "param", "local") == "ssh":
        ssh_hosts: SshHosts = request.getfixturevalue("ssh_hosts")
        ssh_hosts(1)
        hosts = ssh_hosts.hosts()
    found = Bench(tmp_path, [replace(host, slots=SLOTS) for host in hosts])
    found.profile(timeout='"5m"', launch='environment = { PORT = "{master_port}" }')
    yield found
    await found.close()


HERE, SSH = (pytest.param(where, marks=pytest.mark.faults) for where in ("local", "ssh"))
"""SSH: behind an sshd as it is installed, where its limits, or a lost connection, could tell."""


def overlapping(runs: Sequence[RunRecord]) -> list[tuple[RunRecord, RunRecord]]:
    def apart(one: RunRecord, other: RunRecord) -> bool:
        assert one.ended_at
        assert other.ended_at
        return one.ended_at <= (other.launched_at or 0) or other.ended_at <= (one.launched_at or 0)

    return [pair for pair in itertools.combinations(runs, 2) if not apart(*pair)]


def taken(run: RunRecord) -> set[int]:
    [devices] = run.devices.values()
    return set(devices)


def executed_once(bench: Bench, state: CampaignState) -> None:
    for run in state.runs.values():
        [host] = run.hosts
        assert (bench.copies / f"{run.run_id}.{host}").read_bytes().count(b"start") == 1


def read_of(process: subprocess.CompletedProcess[str]) -> Any:  # JSON
    assert process.returncode == 0, process.stdout + process.stderr
    return json.loads(process.stdout)


def command(bench: Bench, *words: str) -> subprocess.CompletedProcess[str]:
    done = bench.spawn(*words)
    out, err = done.communicate(timeout=120)
    return subprocess.CompletedProcess(words, done.returncode, out, err)


@pytest.mark.parametrize("bench", [HERE, "ssh"], indirect=True)
async def test_eight_runs_are_on_a_host_at_once_and_all_are_followed(bench: Bench) -> None:
    controller = await bench.start("1n1g", repeats=SLOTS, lines=2000, pack=True)
    await until_running(controller, count=SLOTS)
    runs = [*controller.state.runs.values()]
    assert sorted(device for run in runs for device in taken(run)) == [*range(SLOTS)]
    assert len({run.port for run in runs} - {0}) == SLOTS
    controller.cancel_all()
    state = await finish(controller)
    assert {run.state for run in state.runs.values()} == {RunState.CANCELLED}
    assert not controller.unverified
    bench.nothing_is_left()


async def test_what_shared_a_host_is_marked_wherever_it_is_told(bench: Bench) -> None:
    words = ("run", *bench.steady_words("1n2g", "1n8g", lines=30), "-r", "3", "--pack", "--json")
    told = read_of(command(bench, *words))
    runs = {run["run_id"]: run for run in told["runs"]}
    assert {run["state"] for run in runs.values()} == {"succeeded"}
    narrow = [run for run in runs.values() if run["case"] == "1n2g"]
    for run in narrow:
        assert run["shared_with"]
        for other in run["shared_with"]:
            assert run["run_id"] in runs[other]["shared_with"]
            pairs = zip(run["devices"].values(), runs[other]["devices"].values(), strict=True)
            assert all(not set(own) & set(theirs) for own, theirs in pairs)
    assert not any(run["shared_with"] for run in runs.values() if run["case"] == "1n8g")
    flags = {case["case"]: case["flags"] for case in told["results"]}
    assert "packed" in flags["1n2g"]
    assert "packed" not in flags["1n8g"]
    [case] = [case for case in told["results"] if case["case"] == "1n2g"]
    assert case["grade"] != "A"
    assert any("3 of 3 repeats shared a host" in reason for reason in case["grade_reasons"])
    assert "3 of 3 repeats shared a host" in (bench.campaign / "report.md").read_text()
    again = read_of(command(bench, "plan", "--from", str(bench.campaign), "--json"))
    starts = [run["start_s"] for run in again["runs"] if "1n2g" in run["label"]]
    assert len(set(starts)) < len(starts), "it packs again"
    alone = command(bench, "plan", "--from", str(bench.campaign), "--no-pack", "--json")
    starts = [run["start_s"] for run in read_of(alone)["runs"]]
    assert len(set(starts)) == len(starts)


async def test_who_packs_comes_in_beside_its_own_and_nobody_else_does(bench: Bench) -> None:
    """Another campaign waits for the last of them, though it packs as well."""
    first = await bench.start("1n1g", repeats=3, lines=160, pack=True)
    await until_running(first, count=3)
    second = await bench.start("1n1g", repeats=2, lines=5, pack=True)

    def waits() -> bool:
        shown = second.snapshot().runs
        return all(run.state is RunState.PLANNED and "held by" in run.state_text for run in shown)

    await until(waits)
    one, other = await finish(first), await finish(second)
    states = [run.state for state in (one, other) for run in state.runs.values()]
    assert states == [RunState.SUCCEEDED] * 5
    last = max(run.ended_at or 0 for run in one.runs.values())
    assert all((run.launched_at or 0) >= last for run in other.runs.values())
    assert len(overlapping([*other.runs.values()])) == 1
    executed_once(bench, one)
    executed_once(bench, other)


@pytest.mark.parametrize(
    "bench", ["local", pytest.param("ssh", marks=pytest.mark.faults)], indirect=True
)
async def test_a_console_that_is_killed_leaves_them_to_the_next(bench: Bench) -> None:
    words = [*bench.steady_words("1n1g", "1n2g", lines=80, every=0.1), "-r", "3", "--pack"]
    console = bench.spawn("run", *words)
    view = bench.workspace()

    def at_work() -> int:
        try:
            return sum(run.state == "running" for run in view.state(bench.campaign).runs.values())
        except (ValueError, OSError, DlperfError):  # it is just being made
            return 0

    await asyncio.to_thread(wait_until, lambda: at_work() >= 4)
    kill_hard(console)
    controller = await bench.workspace().resume(bench.campaign)
    state = await finish(controller)
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert bench.logs_are_exact(state, bench.campaign) == 6
    executed_once(bench, state)
    pairs = overlapping([*state.runs.values()])
    assert len(pairs) >= 6
    for one, other in pairs:
        assert not taken(one) & taken(other)
    bench.nothing_is_left()


@pytest.mark.parametrize("bench", ["local", SSH], indirect=True)
async def test_one_is_cancelled_and_the_others_go_on(bench: Bench) -> None:
    controller = await bench.start("1n1g", repeats=4, lines=60, every=0.1, pack=True)
    await until_running(controller, count=4)
    _, chosen, *_ = controller.state.runs
    controller.cancel_run(chosen)
    await until(lambda: controller.state.runs[chosen].state is RunState.CANCELLED)
    others = [run for run in controller.state.runs.values() if run.run_id != chosen]
    assert {run.state for run in others} == {RunState.RUNNING}
    state = await finish(controller)
    assert sorted(run.state for run in state.runs.values()) == ["cancelled", *["succeeded"] * 3]
    assert bench.logs_are_exact(state, bench.campaign) == 3
    bench.nothing_is_left()


async def test_what_is_not_packed_has_the_host_alone(bench: Bench) -> None:
    """Cases of several hosts, of all devices of one, and every case of a plain campaign."""
    state = await finish(await bench.start("1n1g", "1n8g", repeats=2, lines=20, pack=True))
    runs = [*state.runs.values()]
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
    for one, other in overlapping(runs):
        assert (one.gpus_per_node, other.gpus_per_node) == (1, 1)
    plain = await finish(await bench.start("1n1g", repeats=3, lines=5))
    for one, other in overlapping([*plain.runs.values()]):
        assert taken(one) & taken(other), "one after the other on the first device"
