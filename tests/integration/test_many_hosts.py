"""Many hosts at once: what an sshd drops is tried again, and who is dead holds up nobody."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w

from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.probe import probe_all
from backends.inventory.host_entry import Host
from backends.inventory.host_to_toml import host_table
from backends.transports.pool import TransportPool
from backends.transports.ssh_settings import SshSettings
from tests.support.sshd import ServedHost, SshHosts, renamed, sshd_program
from tests.support.waiting import until

real_sshd = pytest.mark.skipif(sshd_program() is None, reason="needs sshd's MaxStartups")


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The operator's own agent and keys stay out of this."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()


def many(served: Sequence[ServedHost], count: int) -> list[Host]:
    """As many names for a few machines, in turns."""
    return [renamed(served[number % len(served)].host, f"n{number:03}") for number in range(count)]


async def probed(hosts: Sequence[Host], settings: SshSettings | None = None) -> list[HostSnapshot]:
    """All of them, in the order of their answers."""
    pool = TransportPool(hosts, settings=settings)
    try:
        return [snapshot async for snapshot in probe_all(pool, hosts)]
    finally:
        await pool.close()


def reasons_away(found: Sequence[HostSnapshot]) -> list[str]:
    return [host.reason for host in found if host.state is HostState.UNREACHABLE]


@real_sshd
async def test_a_few_sshd_as_installed_drop_none_of_many(ssh_hosts: SshHosts) -> None:
    served = ssh_hosts(2)
    assert reasons_away(await probed(many(served, 40))) == []
    assert not any("MaxStartups" in host.log() for host in served)


@real_sshd
async def test_a_gateway_of_a_proxy_command_is_not_stormed(ssh_hosts: SshHosts) -> None:
    gateway = ssh_hosts.add(name="gateway", options=["MaxStartups 10:30:60"])
    served = ssh_hosts(4)
    ssh_hosts.ssh_config.write_text(
        f"Host 127.0.0.*\n  ProxyCommand ssh -F none -i {gateway.host.identity} "
        f"-o UserKnownHostsFile={gateway.host.known_hosts} -p {gateway.port} "
        f"-W %h:%p {gateway.host.user}@{gateway.address}\n"
    )
    assert reasons_away(await probed(many(served, 24))) == []
    assert gateway.log().count("Accepted publickey") == 24
    assert "MaxStartups" not in gateway.log()


@real_sshd
async def test_a_jump_host_is_logged_in_to_while_others_storm_it(ssh_hosts: SshHosts) -> None:
    jump = ssh_hosts.add(name="gateway", options=["MaxStartups 4:100:60"])
    hosts = [replace(host, jump="gateway") for host in many(ssh_hosts(2), 30)]
    with strangers(jump.host, 4):
        asked = asyncio.create_task(probed([*hosts, jump.host]))
        await until(lambda: "drop connection" in jump.log())
    assert reasons_away(await asked) == []
    assert jump.log().count("Accepted publickey") == 1


@real_sshd
async def test_who_is_dropped_logs_in_a_little_later(ssh_hosts: SshHosts) -> None:
    narrow = ssh_hosts.add(options=["MaxStartups 5:100:5"])
    with strangers(narrow.host, 5):
        asked = asyncio.create_task(probed(many([narrow], 12)))
        await until(lambda: "drop connection" in narrow.log())
    assert reasons_away(await asked) == []


async def test_dead_and_silent_hosts_hold_up_nobody(ssh_hosts: SshHosts) -> None:
    alive = many(ssh_hosts(3), 24)
    settings = SshSettings(connect_timeout_s=6.0, login_timeout_s=6.0, handshakes=8)
    with blackhole() as dead, listening(100) as silent:
        away = [
            replace(alive[0], name=f"away{number:02}", address=to[0], port=to[1])
            for number, to in enumerate([dead] * 6 + [silent] * 6)
        ]
        found = await probed([*away, *alive], settings)
    first = found[: len(alive)]
    assert reasons_away(first) == []
    assert len(reasons_away(found)) == len(away)


@pytest.mark.parametrize(("hard", "enough"), [(4096, True), (100, False)])
def test_a_limit_of_open_files_is_raised_or_told(
    ssh_hosts: SshHosts, tmp_path: Path, hard: int, enough: bool
) -> None:
    hosts = many(ssh_hosts(2), 60)
    inventory = tmp_path / "hosts.toml"
    inventory.write_text(tomli_w.dumps({"hosts": [host_table(host) for host in hosts]}))
    limited = f'ulimit -Sn 100 && ulimit -Hn {hard} && exec "$@"'
    command = [sys.executable, "-m", "tui.cli", "hosts", "--inventory", str(inventory)]
    done = subprocess.run(
        ["sh", "-c", limited, "sh", *command], capture_output=True, text=True, check=False
    )
    told = [line for line in done.stderr.splitlines() if "ulimit -n 4096" in line]
    assert len(told) == (0 if enough else 1), "one line for all hosts"
    assert "configuration" not in done.stdout
    assert "host key" not in done.stdout
    assert done.returncode == (0 if enough else 1)
    assert ("lets a program open 100 files" in done.stdout) is not enough


@contextlib.contextmanager
def strangers(host: Host, count: int) -> Iterator[None]:
    """Others who have connected and not logged in yet."""
    with contextlib.ExitStack() as open_ones:
        for _ in range(count):
            place = (host.address, host.port or 22)
            open_ones.enter_context(socket.create_connection(place, 10))
        yield


@contextlib.contextmanager
def listening(backlog: int) -> Iterator[tuple[str, int]]:
    """Where nobody says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.9", 0))
        server.listen(backlog)
        yield server.getsockname()


@contextlib.contextmanager
def blackhole() -> Iterator[tuple[str, int]]:
    """Where not even a connection is answered: those that fit have been made."""
    with listening(0) as place, contextlib.ExitStack() as waiting:
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(place)
        yield place
