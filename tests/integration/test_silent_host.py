"""One host logs everybody in and answers no command: nobody else waits for it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from backends.campaign.plan.selection import Selection
from backends.campaign.record.state import RunState
from backends.hosts.host_facts import HostState
from backends.hosts.probe import probe_all
from backends.transports.pool import TransportPool
from tests.support.campaigns import Bench, finish, only_run
from tests.support.sshd import SshHosts

LONGEST_S = 10.0
"""What a silent host may cost everybody else."""


@pytest.fixture
async def bench(tmp_path: Path, ssh_hosts: SshHosts) -> AsyncIterator[Bench]:
    """The first host is silent, and can be made to speak."""
    ssh_hosts.add(real=False).silent.touch()
    ssh_hosts(2)
    found = Bench(tmp_path, ssh_hosts.hosts())
    yield found
    await found.close()


async def test_the_other_hosts_are_there_at_once_and_the_silent_one_says_why(
    bench: Bench,
) -> None:
    pool = TransportPool()
    began = time.monotonic()
    seen = {}
    async for snapshot in probe_all(pool, bench.hosts):
        seen[snapshot.name] = (snapshot, time.monotonic() - began)
    await pool.close()
    assert list(seen)[-1] == "node1"
    silent, took_s = seen["node1"]
    assert silent.state is HostState.UNREACHABLE
    assert silent.reason == "no command is answered: logged in, but nothing came within 8 s"
    assert silent.remedy.endswith("ssh node1 true")
    assert took_s < 3 * LONGEST_S  # it is what commands cost beside that is told below
    assert seen["node3"][0].state is not HostState.UNREACHABLE


@pytest.mark.faults
def test_hosts_plan_and_run_go_on_with_the_others(bench: Bench) -> None:
    def call(*words: str, code: int = 0) -> tuple[Any, float]:
        began = time.monotonic()
        process = bench.spawn(*words)
        out, err = process.communicate(timeout=90)
        assert process.returncode == code, err
        return json.loads(out), time.monotonic() - began

    quiet_s = _without_the_silent_one(bench)
    hosts, took_s = call("hosts", "--json", code=1)
    assert {host["name"]: host["state"] for host in hosts}["node1"] == "unreachable"
    assert took_s < 3 * quiet_s + LONGEST_S
    plan, took_s = call("plan", *bench.steady_words("1n1g", lines=3), "--json")
    assert {run["hosts"][0] for run in plan["runs"]} <= {"node2", "node3"}
    assert took_s < 3 * quiet_s + LONGEST_S
    done, _ = call("run", *bench.steady_words("1n1g", lines=3), "--json")
    assert [run["state"] for run in done["runs"]] == ["succeeded"]
    assert done["runs"][0]["hosts"] == ["node2"]
    bench.nothing_is_left()


def _without_the_silent_one(bench: Bench) -> float:
    """How long a command takes on this machine now when nobody is silent."""
    began = time.monotonic()
    process = bench.spawn("hosts", "--hosts", "node[2-3]", "--json")
    process.communicate(timeout=90)
    return time.monotonic() - began


async def test_a_run_goes_elsewhere_when_its_host_falls_silent_before_it_starts(
    bench: Bench, ssh_hosts: SshHosts
) -> None:
    silent = ssh_hosts.served[0].silent
    silent.unlink()
    bench.profile(
        name="port",
        command=f"'{sys.executable} steady.py {{lines}} {{every}} {{copies}} {{after}} "
        "port={master_port}'",
    )
    workspace = bench.workspace()
    await workspace.cluster.probe()
    values = {"copies": (str(bench.copies),), "lines": ("3",), "after": ("pass;",)}
    plan = workspace.plan(Selection(profiles=("port",), values=values))
    silent.touch()
    controller = await workspace.start(plan)
    state = await finish(controller)
    run = only_run(state)
    assert (run.state, run.hosts, run.attempt) == (RunState.SUCCEEDED, ("node2",), 1)
