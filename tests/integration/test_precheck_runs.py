"""What a precheck runs on a host: followed, ended in time, its log here, nothing left there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from backends.launchers.launcher import HostCommand
from backends.precheck import group_run
from backends.precheck.group_run import GroupRun, How, Part, run_group
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RunSpec
from backends.transports.local import LocalTransport
from backends.transports.transport import Transport
from tests.support.waiting import until


@pytest.fixture
def transports(tmp_path: Path) -> Mapping[str, Transport]:
    """Two hosts of this machine."""
    made = {}
    for name in ("node1", "node2"):
        work, leases = (str(tmp_path / name / what) for what in ("work", "leases"))
        Path(leases).mkdir(parents=True)
        made[name] = LocalTransport(Host(name, "local", work_dir=work, lease_dir=leases))
    return made


def run_of(limit_s: float = 20.0, **scripts: str) -> GroupRun:
    commands = tuple(HostCommand(host, ("sh", "-c", text)) for host, text in scripts.items())
    return GroupRun("precheck-test-0001", commands, (), limit_s)


async def left_on(transports: Mapping[str, Transport]) -> list[str]:
    swept = [await RemoteHost(transport).sweep() for transport in transports.values()]
    return [leftover.run_id for some in swept for leftover in some]


async def ends(
    transports: Mapping[str, Transport], logs: Path, run: GroupRun
) -> tuple[dict[str, Part], list[str]]:
    parts = await run_group(run, transports, "alice@login, precheck", logs)
    return parts, await left_on(transports)


async def test_what_goes_well_leaves_its_log_here_and_nothing_there(
    transports: Mapping[str, Transport], tmp_path: Path
) -> None:
    run = run_of(node1="echo one; echo two", node2="printf no-newline")
    parts, left = await ends(transports, tmp_path / "logs", run)
    assert {name: part.how for name, part in parts.items()} == dict.fromkeys(parts, How.WELL)
    assert (tmp_path / "logs" / "node1.log").read_bytes() == b"one\ntwo\n"
    assert (tmp_path / "logs" / "node2.log").read_bytes() == b"no-newline"
    assert left == []


async def test_a_failure_has_its_last_line_and_ends_the_others(
    transports: Mapping[str, Transport], tmp_path: Path
) -> None:
    run = run_of(node1="echo it is broken >&2; exit 3", node2="echo waiting; exec sleep 300")
    parts, left = await ends(transports, tmp_path, run)
    assert (parts["node1"].how, parts["node1"].reason) == (
        How.FAILED,
        "it is broken (status 3)",
    )
    assert parts["node2"].how is How.STOPPED
    assert (tmp_path / "node2.log").read_bytes() == b"waiting\n"
    assert left == []


async def test_what_hangs_is_ended_by_its_own_host_in_time(
    transports: Mapping[str, Transport], tmp_path: Path
) -> None:
    parts, left = await ends(transports, tmp_path, run_of(1.0, node1="trap '' TERM; sleep 300"))
    assert (parts["node1"].how, parts["node1"].reason) == (How.TIMED_OUT, "took longer than 1s")
    assert left == []


async def test_a_log_without_an_end_is_cut(
    transports: Mapping[str, Transport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_run, "LONGEST_LOG", 100_000)
    parts, left = await ends(transports, tmp_path, run_of(node1="yes flood"))
    assert (parts["node1"].how, parts["node1"].reason) == (How.FAILED, "its log does not end")
    assert left == []


async def test_of_a_log_that_grows_while_its_run_is_ended_no_more_is_fetched_than_is_kept(
    transports: Mapping[str, Transport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_run, "LONGEST_LOG", 100_000)
    flood = "trap 'yes flood | head -c 5000000; exit' TERM; echo begun; while :; do sleep 0.1; done"
    task = asyncio.create_task(run_group(run_of(node1=flood), transports, "alice", tmp_path))
    await until(lambda: "begun" in _logs(transports), what="it runs")
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    kept = (tmp_path / "node1.log").read_bytes()
    assert kept.startswith(b"begun\n")
    assert b"\nflood\n" in kept  # behind what the shell may say of a sleep that was ended
    assert len(kept) == 100_001
    assert await left_on(transports) == []


def _logs(transports: Mapping[str, Transport]) -> str:
    """Of all runs that are on the hosts."""
    places = [Path(transport.host.work_dir) for transport in transports.values()]
    return "".join(log.read_text() for place in places for log in place.glob("runs/*/output.log"))


async def test_a_host_that_somebody_has_is_left_to_them(
    transports: Mapping[str, Transport], tmp_path: Path
) -> None:
    theirs = RemoteHost(transports["node1"])
    await theirs.start(RunSpec("theirs-1", "exec sleep 300\n", lease="bob@login"))
    try:
        run = run_of(node1="echo no", node2="exec sleep 300")
        parts = await run_group(run, transports, "alice@login, precheck", tmp_path)
        assert parts["node1"].how is How.HELD
        assert "bob@login" in parts["node1"].reason
        assert await left_on(transports) == ["theirs-1"]
    finally:
        await theirs.cancel("theirs-1", grace_s=0.1)
        await theirs.discard("theirs-1")


async def test_who_is_cancelled_leaves_nothing(
    transports: Mapping[str, Transport], tmp_path: Path
) -> None:
    run = run_of(node1="echo begun; exec sleep 300")
    task = asyncio.create_task(run_group(run, transports, "alice", tmp_path))
    await until(lambda: left_on(transports), what="it runs")
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert await left_on(transports) == []


async def test_a_host_that_cannot_be_reached_is_away(
    transports: Mapping[str, Transport], tmp_path: Path
) -> None:
    class Away(LocalTransport):
        async def run(self, *_words: object, **_named: object) -> object:  # type: ignore[override]
            from backends.transports.transport import (  # noqa: PLC0415
                HostUnreachableError,
                Problem,
            )

            raise HostUnreachableError("node1", Problem.REFUSED)

    away = Away(replace(transports["node1"].host))
    parts = await run_group(run_of(node1="true"), {"node1": away}, "alice", tmp_path)
    assert (parts["node1"].how, parts["node1"].reason) == (How.AWAY, "connection refused")
