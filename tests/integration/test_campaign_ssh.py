"""Campaigns over four real SSH servers: measured, killed, resumed, raced for, cut off."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from backends.campaign.record.journal import read_events
from backends.campaign.record.state import RunState, fold
from tests.support.campaigns import (
    Bench,
    finish,
    kill_hard,
    only_run,
    sha256,
    until_running,
)
from tests.support.sshd import SshHosts, free_port, renamed
from tests.support.unique import NUMBER
from tests.support.waiting import until, wait_until


@pytest.fixture
async def bench(tmp_path: Path, ssh_hosts: SshHosts) -> AsyncIterator[Bench]:
    ssh_hosts(4)
    found = Bench(tmp_path, ssh_hosts.hosts())
    yield found
    await found.close()


async def test_one_to_four_hosts_are_measured_and_the_logs_are_the_hosts_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []

    async def keep(_mirror: object, run: object, _kept: object) -> None:
        kept.append(str(run))

    monkeypatch.setattr("backends.campaign.run.cleanup.tidy_up", keep)
    controller = await bench.start("1n1g", "1n2g", "2n1g", "4n1g", profile="cpu-smoke", seconds=2)
    state = await finish(controller)
    assert {run.case.tag: run.reason for run in state.runs.values()} == dict.fromkeys(
        ("1n1g", "1n2g", "2n1g", "4n1g"), ""
    )
    work = {host.name: Path(host.work_dir) for host in bench.hosts}
    compared = 0
    for run in state.runs.values():
        assert run.throughput is not None
        assert run.throughput > 0
        for rank, name in enumerate(run.hosts):
            remote = work[name] / "runs" / f"{run.run_id}.{name}" / "output.log"
            local = run.log if rank == 0 else f"{run.log[:-4]}.{name}.log"
            assert sha256(controller.path / local) == sha256(remote)
            compared += 1
    assert compared == 1 + 1 + 2 + 4
    results = json.loads((controller.path / "results.json").read_text())
    assert [row["case"] for row in results["results"]] == ["1n1g", "1n2g", "2n1g", "4n1g"]
    assert results["results"][0]["speedup"] == 1


async def test_nothing_of_a_campaign_is_left_on_its_hosts(bench: Bench) -> None:
    state = await finish(await bench.start("1n1g", "2n1g", repeats=2, lines=5))
    assert bench.logs_are_exact(state, bench.campaign) == 2 * (1 + 2)
    bench.nothing_is_left()


async def test_disjoint_runs_go_side_by_side(bench: Bench) -> None:
    controller = await bench.start(repeats=4, lines=40)
    await until_running(controller, count=4)
    assert len({run.hosts for run in controller.state.runs.values()}) == 4
    await finish(controller)


def test_a_console_that_is_killed_in_the_middle_loses_and_doubles_nothing(bench: Bench) -> None:
    words = bench.steady_words("1n1g", "2n1g", lines=60)
    console = bench.spawn("run", *words, "--repeats", "2")
    wait_until(
        lambda: any(path.stat().st_size > 300 for path in bench.copies.iterdir()),
        what="a run in the middle",
    )
    kill_hard(console)
    for _ in range(2):
        console = bench.spawn("resume", bench.campaign.name)
        time.sleep(random.uniform(0.8, 1.6))
        if console.poll() is None:
            kill_hard(console)
    console = bench.spawn("resume", bench.campaign.name, "--json")
    out, err = console.communicate(timeout=90)
    assert console.returncode == 0, err
    document = json.loads(out)
    assert [run["state"] for run in document["runs"]] == ["succeeded"] * 4
    state = fold(read_events(bench.campaign / "events.jsonl"))
    assert len(state.runs) == 4
    assert all(run.reading_count == 60 for run in state.runs.values())
    assert bench.logs_are_exact(state, bench.campaign) == 2 * (1 + 2)
    assert len(list(bench.copies.iterdir())) == 6, "every run was started exactly once"
    bench.nothing_is_left()


async def test_an_unreachable_host_among_four_does_not_hold_up_the_others(bench: Bench) -> None:
    away = replace(bench.hosts[2], port=free_port(bench.hosts[2].address))
    bench.hosts = (*bench.hosts[:2], away, bench.hosts[3])
    controller = await bench.start("1n1g", "2n1g", repeats=2, lines=5)
    state = await finish(controller)
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert not any("node3" in run.hosts for run in state.runs.values())


async def test_a_host_that_goes_away_before_its_run_is_not_waited_for_by_others(
    bench: Bench, ssh_hosts: SshHosts
) -> None:
    workspace = bench.workspace()
    await workspace.cluster.probe()
    for served in ssh_hosts.served[:1]:
        served.stop()
    for transport in [workspace.cluster.pool.get(host) for host in bench.hosts[:1]]:
        await transport.close()
    controller = await bench.start(repeats=3, lines=5, workspace=workspace)
    state = await finish(controller)
    assert {run.state for run in state.latest_attempts()} == {RunState.SUCCEEDED}


async def test_a_rank_that_dies_ends_the_run_everywhere_within_five_seconds(bench: Bench) -> None:
    after = "os.environ['DLPERF_HOST']=='node3' and sys.exit(7);time.sleep(600)"
    controller = await bench.start("4n1g", lines=5, after=after)
    await until_running(controller, readings=1)
    await until(lambda: _ended(bench, "node3"))
    died = time.monotonic()
    run = only_run(await finish(controller))
    assert time.monotonic() - died < 5.0
    assert run.reason == "node3: exit status 7"
    assert run.failed_host == "node3"
    assert run.cleanup.verified
    bench.nothing_is_left()


def _ended(bench: Bench, name: str) -> bool:
    host = next(host for host in bench.hosts if host.name == name)
    return any(Path(host.work_dir).glob("runs/*/exit"))


async def test_two_consoles_that_race_for_the_same_hosts_both_get_their_turn(bench: Bench) -> None:
    one, two = await asyncio.gather(
        bench.start("2n1g", repeats=3, lines=8, hosts="node[1-2]"),
        bench.start("2n1g", repeats=3, lines=8, hosts="node[1-2]"),
    )
    states = await asyncio.gather(finish(one, 120), finish(two, 120))
    assert one.path != two.path
    spans = []
    for state, path in zip(states, (one.path, two.path), strict=True):
        assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
        assert bench.logs_are_exact(state, path, deferred=True) == 6
        assert len({run.log for run in state.runs.values()}) == 3
        assert all("steady_steady" not in run.log for run in state.runs.values()), "its own name"
        spans += [_span(bench, run.run_id) for run in state.runs.values()]
    spans.sort()
    assert all(before[1] <= after[0] for before, after in pairwise(spans)), "never side by side"
    bench.nothing_is_left()


def _span(bench: Bench, run_id: str) -> tuple[float, float]:
    """When a run printed its first and last byte, by its own copies."""
    stats = [path.stat() for path in bench.copies.glob(f"{run_id}.*")]
    last = max(stat.st_mtime for stat in stats)
    return last - 8 * 0.05, last


async def test_cancelling_over_ssh_leaves_nothing_on_any_host(bench: Bench) -> None:
    controller = await bench.start("4n1g", "1n1g", repeats=2, lines=1000)
    await until_running(controller)
    controller.cancel_all()
    state = await finish(controller)
    assert {run.state for run in state.runs.values()} == {RunState.CANCELLED}
    assert not any(run.cleanup.doubts for run in state.runs.values())
    bench.nothing_is_left()


async def test_a_restarted_sshd_costs_no_byte(bench: Bench, ssh_hosts: SshHosts) -> None:
    controller = await bench.start("2n1g", lines=80)
    await until_running(controller)
    for served in ssh_hosts.served[:2]:
        served.stop(sessions=True)
    await until(lambda: "retrying" in controller.snapshot().runs[0].state_text)
    for served in ssh_hosts.served[:2]:
        served.start()
    state = await finish(controller)
    assert only_run(state).reason == ""
    assert bench.logs_are_exact(state, controller.path) == 2


async def test_cancel_on_the_command_line_ends_a_detached_campaign(bench: Bench) -> None:
    controller = await bench.start("2n1g", lines=1000)
    await until_running(controller)
    await controller.detach()
    process = await asyncio.create_subprocess_exec(
        *bench.command("cancel", controller.path.name), stderr=asyncio.subprocess.PIPE
    )
    _, err = await process.communicate()
    assert process.returncode == 0, err
    state = fold(read_events(controller.path / "events.jsonl"))
    assert only_run(state).state is RunState.CANCELLED
    bench.nothing_is_left()


def test_sweep_finds_and_ends_what_a_lost_console_left(tmp_path: Path, bench: Bench) -> None:
    # Names of its own: other tests may run on hosts called node1 beside this one.
    names = [renamed(host, f"sweep{NUMBER}-{host.name}") for host in bench.hosts]
    (tmp_path / "named").mkdir()
    bench = Bench(tmp_path / "named", names)
    console = bench.spawn("run", *bench.steady_words("2n1g", lines=2000))
    wait_until(lambda: len(list(bench.copies.iterdir())) == 2)
    kill_hard(console)
    look = bench.spawn("sweep")
    out, err = look.communicate(timeout=60)
    assert look.returncode == 1, err
    assert out.count("still running, ") == 2
    assert "node1: run " in out
    assert "node2: run " in out
    end = bench.spawn("sweep", "--yes")
    out, err = end.communicate(timeout=60)
    assert end.returncode == 0, err
    bench.nothing_is_left()
    again = bench.spawn("sweep")
    out, _ = again.communicate(timeout=60)
    assert (again.returncode, out) == (0, "nothing of ours is left\n")


def test_a_signal_detaches_and_says_how_to_come_back(bench: Bench) -> None:
    console = bench.spawn("run", *bench.steady_words("1n1g", lines=100))
    wait_until(lambda: any(p.stat().st_size > 100 for p in bench.copies.iterdir()))
    console.terminate()
    _, err = console.communicate(timeout=30)
    assert console.returncode == 3
    assert f"dlperf-tui resume {bench.campaign.name}" in err
    console = bench.spawn("resume", bench.campaign.name)
    _, err = console.communicate(timeout=60)
    assert console.returncode == 0, err
    bench.nothing_is_left()


async def test_hosts_that_differ_are_noted_with_the_result(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprints = {"node1": "V100", "node2": "A100"}
    monkeypatch.setattr("backends.campaign_start.fingerprint_of", lambda s, _: fingerprints[s.name])
    run = only_run(await finish(await bench.start("2n1g", lines=5, hosts="node[1-2]")))
    assert run.fingerprint == "A100 + V100"
    assert run.warnings == ("the hosts of this run differ: node2: A100; node1: V100",)


@pytest.mark.parametrize(
    "sessions", [1, *(pytest.param(sessions, marks=pytest.mark.faults) for sessions in (2, 10))]
)
async def test_many_short_runs_end_whatever_a_server_allows(
    ssh_hosts: SshHosts, tmp_path: Path, sessions: int
) -> None:
    """Of each, a session lives on at the server until its telemetry notices that nobody reads."""
    (node,) = ssh_hosts(1, options=[f"MaxSessions {sessions}"])
    bench = Bench(tmp_path, [node.host])
    try:
        controller = await bench.start(repeats=14, lines=3, every=0)
        async with asyncio.timeout(120):
            state = await finish(controller)
        assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    finally:
        await bench.close()
