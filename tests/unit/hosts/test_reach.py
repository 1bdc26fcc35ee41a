"""Whether hosts reach each other: connections really made, and what is said of failures."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from backends.hosts.preflight_finding import Level
from backends.hosts.reach import _connect, _Listener, reach, reach_findings
from backends.inventory.host_entry import Host
from backends.transports.transport import HostUnreachableError, Problem

NODES = [Host(name=f"node{number}", transport="local") for number in (1, 2, 3)]


def listener(name: str, port: int = 1, train_address: str = "", token: str = "t") -> _Listener:
    host = Host(name=name, address="10.0.0.1", train_address=train_address)
    return _Listener(host, train_address or host.address, port, token)


async def test_hosts_that_reach_each_other_get_one_ok(shell: Any) -> None:
    (finding,) = await reach(shell, NODES, token="nonce")
    assert finding.level is Level.OK
    assert finding.what == "node[1-3] reach each other over TCP"


async def test_a_host_without_python_cannot_listen_but_connects_with_bash(
    shell: Any, tmp_path: Path
) -> None:
    if not shutil.which("bash"):
        pytest.skip("no bash")
    for tool in ("sh", "bash", "timeout"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "/bin/false")

    def transport(host: Host) -> Any:
        return shell(host, {"PATH": str(tmp_path)} if host.name == "node1" else None)

    (finding,) = await reach(transport, NODES, token="nonce")
    assert (finding.host, finding.level) == ("node1", Level.WARN)
    assert finding.what.startswith("cannot check how the others reach it: ")
    assert "python3" in finding.what
    assert "install python3" in finding.remedy


async def test_an_unreachable_host_is_told_and_does_not_end_the_others(
    shell: Any, answering: Any
) -> None:
    error = HostUnreachableError("node2", Problem.LOST)

    class Lost(answering):  # type: ignore[misc]
        async def stream(self, command: str, on_stdout: Any) -> Any:
            raise error

    def transport(host: Host) -> Any:
        return Lost(host, error) if host.name == "node2" else shell(host)

    findings = await reach(transport, NODES, token="nonce")
    assert {finding.host for finding in findings} == {"node2"}
    assert all("connection lost" in finding.what for finding in findings)


@pytest.mark.parametrize("python", [True, False])
async def test_each_way_of_connecting_tells_failures_apart(
    shell: Any, tmp_path: Path, python: bool
) -> None:
    for tool in ("sh", "bash", "timeout"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "/bin/false")

    async def say(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"right\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(say, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    refusing = await asyncio.start_server(say, "127.0.0.1", 0)
    closed_port = refusing.sockets[0].getsockname()[1]
    refusing.close()
    await refusing.wait_closed()
    targets = [
        listener("good", port, "127.0.0.1", "right"),
        listener("wrong", port, "127.0.0.1", "another"),
        listener("closed", closed_port, "127.0.0.1"),
    ]
    environment = {} if python else {"PATH": str(tmp_path)}
    async with server:
        report = await _connect(shell(NODES[0], environment), targets)
    assert report == {
        "good": "ok",
        "wrong": "wrong machine",
        "closed": "refused" if python else "connection failed",
    }


async def test_the_program_runs_on_the_oldest_python_there_is(shell: Any, tmp_path: Path) -> None:
    oldest = os.environ.get("DLPERF_PYTHON36") or shutil.which("python3.6")
    if not oldest:
        pytest.skip("no Python 3.6")
    (tmp_path / "python3").symlink_to(oldest)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    (finding,) = await reach(lambda host: shell(host, path), NODES, token="nonce")
    assert finding.level is Level.OK


def test_a_blocked_port_is_a_stop_with_the_address_and_who_tried() -> None:
    everyone = {"node1": {"node1": "ok", "node2": "ok"}, "node2": {"node1": "timeout"}}
    findings = reach_findings([listener("node1"), listener("node2")], everyone, {})
    by_host = {finding.host: finding for finding in findings}
    assert by_host["node1"].level is Level.STOP
    assert by_host["node1"].what == "node2 cannot reach it at 10.0.0.1: connection timed out"
    assert "firewall" in by_host["node1"].remedy
    assert by_host["node2"].what == "it cannot reach itself at 10.0.0.1: no report"


@pytest.mark.parametrize(
    ("result", "train_address", "remedy"),
    [
        ("unresolved", "", "set train_address of n in the inventory, by default the address for"),
        ("unresolved", "ib-n", "set train_address of n in the inventory to an IP address"),
        ("wrong machine", "10.9.9.9", "to one that leads to it from every host"),
        ("refused", "127.0.0.1", "to one that leads to it from every host"),
    ],
)
def test_the_remedy_names_the_key_of_the_inventory(
    result: str, train_address: str, remedy: str
) -> None:
    target = listener("n", train_address=train_address)
    (finding,) = reach_findings([target], {"a": {"n": result}, "b": {"n": result}}, {})
    assert finding.what.startswith("a,b cannot reach it")
    assert remedy in finding.remedy
