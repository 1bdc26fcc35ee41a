"""Consoles killed, ranks killed, children that hide, many hosts behind one jump host."""

from __future__ import annotations

import asyncio
import random
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from backends.campaign.record import events as ev
from backends.campaign.record.journal import read_events
from backends.campaign.record.state import RunState, fold
from backends.campaign.run import end_reason
from tests.integration.faults.conftest import Measured
from tests.support.campaigns import (
    Bench,
    finish,
    kill_hard,
    marked,
    only_run,
    until_running,
)
from tests.support.escapes import ESCAPES
from tests.support.processes import alive, kill
from tests.support.sshd import SshHosts
from tests.support.waiting import until, wait_until

pytestmark = pytest.mark.faults


def test_a_console_killed_twenty_times_loses_and_doubles_nothing(
    bench: Bench, measured: Measured
) -> None:
    words = bench.steady_words("1n1g", "2n1g", "4n1g", lines=150, every=0.1)
    console = bench.spawn("run", *words, "--repeats", "2")
    wait_until(lambda: bench.campaigns.is_dir() and list(bench.campaigns.glob("*/events.jsonl")))
    kills = 0
    chance = random.Random(4711)
    while kills < 20:
        time.sleep(chance.uniform(0.3, 2.5))
        if console.poll() is not None:
            break
        kill_hard(console)
        kills += 1
        console = bench.spawn("resume", bench.campaign.name)
    started = time.monotonic()
    _, err = console.communicate(timeout=180)
    assert console.returncode == 0, err
    assert kills == 20
    measured("console killed 20 times: the rest of the campaign took", time.monotonic() - started)
    state = fold(read_events(bench.campaign / "events.jsonl"))
    assert [run.state for run in state.runs.values()] == [RunState.SUCCEEDED] * 6
    assert all(run.reading_count == 150 for run in state.runs.values())
    assert bench.logs_are_exact(state, bench.campaign) == 2 * (1 + 2 + 4)
    assert len(list(bench.copies.iterdir())) == 14, "every run was started exactly once"
    bench.nothing_is_left()


async def test_a_journal_that_a_power_failure_cut_anywhere(bench: Bench) -> None:
    """The console is killed and the journal loses its end: what ran is adopted, not doubled."""
    controller = await bench.start("1n1g", "2n1g", lines=100)
    await until_running(controller, count=2, readings=3)
    await controller.detach()
    path = controller.path / "events.jsonl"
    data = path.read_bytes()
    first = data.index(b"\n", data.index(b'"RunLaunched"')) + 1
    for cut in sorted(random.Random(1).sample(range(first, len(data)), 4), reverse=True):
        path.write_bytes(data[:cut])
        again = await bench.workspace().resume(controller.path)
        await asyncio.sleep(0.2)
        await again.detach()
    state = await finish(await bench.workspace().resume(controller.path))
    assert {run.state for run in state.latest_attempts()} == {RunState.SUCCEEDED}
    assert len(state.runs) == 2
    assert bench.logs_are_exact(state, controller.path) == 3
    assert len(list(bench.copies.iterdir())) == 3
    bench.nothing_is_left()


async def test_a_rank_killed_by_the_kernel_is_named_and_measured_again(
    bench: Bench, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(end_reason._RETRY_DELAYS, "later", 1.0)
    controller = await bench.start("4n1g", lines=60)
    await until_running(controller, readings=3)
    run_id = next(iter(controller.state.runs))
    victim = next(pid for pid in _ranks(run_id, "node3"))
    kill(victim)
    died = time.monotonic()
    await until(lambda: controller.state.runs[run_id].state.ended)
    measured("rank killed -9: everything torn down after", time.monotonic() - died)
    assert time.monotonic() - died < 5.0
    failed = controller.state.runs[run_id]
    assert failed.reason == "node3: killed by signal 9 (SIGKILL)"
    assert failed.cleanup.verified
    state = await finish(controller)
    assert [run.state for run in state.runs.values()] == [RunState.FAILED, RunState.SUCCEEDED]
    bench.nothing_is_left()


def _ranks(run_id: str, host: str) -> list[int]:
    """The workload's own processes of a run on one host."""
    found = []
    for pid, run in marked().items():
        if run == run_id and f"DLPERF_HOST={host}".encode() in _environ(pid):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"steady.py" in command and b"sh\0" not in command[:12]:
                found.append(pid)
    return found


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


async def test_a_rank_that_hangs_is_diagnosed_and_ended(bench: Bench, measured: Measured) -> None:
    bench.profile(name="hanging", stall_timeout='"3s"')
    after = "time.sleep(600)"
    controller = await bench.start("2n1g", profile="hanging", lines=10, after=after)
    await until_running(controller, readings=10)
    hung = time.monotonic()
    run = only_run(await finish(controller))
    measured("hanging rank with stall_timeout 3 s: ended after", time.monotonic() - hung)
    assert re.fullmatch(r"stalled at step 9: no reading for \d+s", run.reason)
    assert run.cleanup.verified
    text = (controller.path / run.log).with_suffix(".diagnosis.txt").read_text()
    assert "== node1" in text
    assert "== node2" in text
    bench.nothing_is_left()


@pytest.mark.parametrize("how", ESCAPES)
async def test_children_that_hide_are_found_when_a_run_is_cancelled(
    bench: Bench, how: str, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    script = bench.profiles / "hide.sh"
    script.write_text(
        f"PIDS={pids}; export PIDS\n({ESCAPES[how]}) &\necho iter 1, samples/s: 1\nwait\n"
    )
    bench.profile(name="hiding", stage='["hide.sh"]', command='"sh hide.sh {copies}"')
    controller = await bench.start("1n1g", profile="hiding")
    await until(lambda: pids.exists() and pids.read_text().split())
    found = [int(pid) for pid in pids.read_text().split()]
    assert all(alive(pid) for pid in found)
    controller.cancel_all()
    run = only_run(await finish(controller))
    assert run.state is RunState.CANCELLED
    assert run.cleanup.verified
    assert not any(alive(pid) for pid in found)
    bench.nothing_is_left()


async def test_thirty_two_hosts_behind_one_jump_host_with_sshd_as_installed(
    tmp_path: Path, measured: Measured
) -> None:
    served = SshHosts(tmp_path / "hosts")
    try:
        served(33)
        gate, *rest = served.hosts()
        bench = Bench(tmp_path, [replace(host, jump=gate.name) for host in rest])
        bench.hosts = (*bench.hosts, gate)
        began = time.monotonic()
        controller = await bench.start("1n1g", repeats=32, lines=10, every=0.5, hosts="node[2-33]")
        measured("32 hosts behind one jump host: all probed after", time.monotonic() - began)
        state = await finish(controller, within_s=240)
        assert {run.reason for run in state.runs.values()} == {""}
        assert bench.logs_are_exact(state, controller.path) == 32
        assert not any(
            isinstance(event, ev.ContactChanged)
            for event in read_events(controller.path / "events.jsonl")
        )
        bench.nothing_is_left()
        await bench.close()
    finally:
        served.close()
