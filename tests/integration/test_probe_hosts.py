"""Probing and preflight through the real transports: sshd on loopback, network namespaces."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

import pytest

from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.hosts_json import host_document
from backends.hosts.preflight import preflight
from backends.hosts.preflight_finding import Level
from backends.hosts.probe import probe, probe_all
from backends.hosts.reach import reach
from backends.inventory.host_entry import Host
from backends.transports.local import LocalTransport
from backends.transports.pool import TransportPool
from backends.transports.ssh_settings import SshSettings
from backends.transports.transport import Completed
from profiles.format.case import Case
from profiles.format.profile import Profile
from tests.support.sshd import SshHosts, free_port, make_key
from tests.support.unique import NUMBER

IMPATIENT = SshSettings(connect_timeout_s=1.0, login_timeout_s=3)


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The operator's own agent and keys stay out of this."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()


@dataclass
class Planned:
    profile: Profile
    case: Case
    settings: Mapping[str, str]
    repeats: int = 1


def two_nodes(command: str = "python3 train.py") -> Planned:
    profile = Profile.model_validate(
        {
            "name": "p",
            "framework": "F",
            "model": "M",
            "matrix": {"cases": ["2n1g"]},
            "launch": {"launcher": "per_node", "command": command},
            "measure": {"reading": r"(?P<value>\d+)"},
        }
    )
    return Planned(profile, Case("p", 2, 1, {}), {})


async def test_every_host_says_how_it_is_or_why_it_is_away(
    ssh_hosts: SshHosts, tmp_path: Path
) -> None:
    well, changed = ssh_hosts(2)
    changed.new_host_key()
    other_key = tmp_path / "not-authorised"
    make_key(other_key)
    nobody = tmp_path / "nobody"
    nobody.touch()
    with socket.socket() as silent:
        silent.bind(("127.0.0.9", 0))
        silent.listen(5)
        hosts = [
            well.host,
            replace(well.host, name="refused", port=free_port(well.address)),
            replace(well.host, name="silent", address="127.0.0.9", port=silent.getsockname()[1]),
            replace(well.host, name="unknown", known_hosts=str(nobody)),
            replace(changed.host, name="changed"),
            replace(well.host, name="keyless", identity=str(other_key)),
            replace(well.host, name="nameless", address="no-such-host.invalid"),
        ]
        pool = TransportPool(hosts, settings=IMPATIENT)
        found: dict[str, HostSnapshot] = {}
        async for snapshot in probe_all(pool, hosts):
            found[snapshot.name] = snapshot
        await pool.close()
    assert list(found)[-1] != well.host.name  # slow ones did not hold it up
    assert found[well.host.name].state in (HostState.READY, HostState.BUSY)
    assert found[well.host.name].facts is not None
    for name, reason in {
        "refused": "connection refused",
        "silent": "timed out",
        "unknown": "unknown host key",
        "changed": "host key has CHANGED",
        "keyless": "no key accepted",
        "nameless": "host name not found",
    }.items():
        assert found[name].state is HostState.UNREACHABLE
        assert reason in found[name].reason
        assert found[name].remedy
        assert host_document(found[name])["reason"] == found[name].reason


async def test_a_probe_over_ssh_and_a_local_one_say_the_same(ssh_hosts: SshHosts) -> None:
    served = ssh_hosts(1)[0]
    pool = TransportPool([served.host])
    over_ssh = (await probe(pool.get(served.host))).facts
    here = (await probe(LocalTransport(Host(name="here", transport="local")))).facts
    await pool.close()
    assert over_ssh is not None
    assert here is not None
    assert (over_ssh.boot_id, over_ssh.kernel, over_ssh.cpus) == (
        here.boot_id,
        here.kernel,
        here.cpus,
    )
    assert abs(over_ssh.clock_offset_s) < 0.5


async def test_preflight_over_ssh_finds_what_is_missing_on_each_host(ssh_hosts: SshHosts) -> None:
    hosts = [served.host for served in ssh_hosts(2)]
    pool = TransportPool(hosts)
    findings = await preflight(pool, hosts, [two_nodes("no-such-program train.py")])
    await pool.close()
    missing = [finding for finding in findings if "no-such-program" in finding.what]
    assert [(finding.host, finding.level) for finding in missing] == [
        (host.name, Level.STOP) for host in hosts
    ]
    together = {finding.what: finding.level for finding in findings if not finding.host}
    assert together["node[1-2] reach each other over TCP"] is Level.OK
    assert together["node[1-2] are the same machine"] is Level.WARN


# --- a firewall between two hosts ---------------------------------------------------------------


class NamespaceTransport(LocalTransport):
    """A host that is a network namespace of this machine."""

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        return await super().run(self._inside(command), stdin=stdin, timeout_s=timeout_s)

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        return await super().stream(self._inside(command), on_stdout, spare=spare)

    def _inside(self, command: str) -> str:
        return f"exec ip netns exec {self.host.name} sh -c {quote(command)}"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def namespaces() -> Iterator[list[Host]]:
    """Two namespaces, joined by a cable, as hosts 10.231.0.1 and 10.231.0.2."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("iptables"):
        pytest.skip("needs root, ip and iptables")
    names = [f"dlperf-{NUMBER}-{number}" for number in (1, 2)]
    try:
        for name in names:
            ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode()}")
    try:
        ip(
            "link",
            "add",
            "eth0",
            "netns",
            names[0],
            "type",
            "veth",
            "peer",
            "eth0",
            "netns",
            names[1],
        )
        for number, name in enumerate(names, 1):
            ip("-n", name, "addr", "add", f"10.231.0.{number}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield [
            Host(name=name, transport="local", address=f"10.231.0.{number}")
            for number, name in enumerate(names, 1)
        ]
    finally:
        for name in names:
            ip("netns", "del", name)


async def test_a_firewall_in_one_direction_is_found_with_who_and_where(
    namespaces: list[Host],
) -> None:
    first, second = namespaces
    findings = await reach(NamespaceTransport, namespaces, token="nonce")
    assert [finding.level for finding in findings] == [Level.OK]
    # replies to connections that the second host itself opens still come in
    rule = f"iptables -A INPUT -p tcp --syn -s {first.address} -j DROP"
    subprocess.run(["ip", "netns", "exec", second.name, *rule.split()], check=True)
    (finding,) = await reach(NamespaceTransport, namespaces, token="nonce")
    assert (finding.host, finding.level) == (second.name, Level.STOP)
    assert finding.what == f"{first.name} cannot reach it at 10.231.0.2: connection timed out"
    assert "firewall" in finding.remedy
