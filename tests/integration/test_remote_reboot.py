"""Hosts with networks and processes of their own: cables pulled, hosts crashed and rebooted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import LeaseHeldError, RunPhase, RunSpec
from backends.transports.pool import TransportPool
from backends.transports.ssh_settings import SshSettings
from backends.transports.transport import HostUnreachableError, Problem
from tests.support.leases import lease_holder
from tests.support.netns import NamespaceHosts, why_not
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "possible")

QUICK = SshSettings(
    connect_timeout_s=2, login_timeout_s=5, keepalive_interval_s=0.5, keepalive_count=2
)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[NamespaceHosts]:
    hosts = NamespaceHosts(tmp_path / "hosts", 2)
    yield hosts
    hosts.close()


async def test_a_rebooted_host_says_so_and_is_free_again(machines: NamespaceHosts) -> None:
    pool = TransportPool(machines.hosts(), settings=QUICK)
    remote = RemoteHost(pool.get("node1"))
    started = await remote.start(RunSpec("r", "echo up; sleep 600", lease="me"))
    got = bytearray()
    following = asyncio.create_task(remote.follow("r", 0, got.extend))
    await until(lambda: got)
    machines.crash(1)
    with pytest.raises(HostUnreachableError):
        await following
    with pytest.raises(HostUnreachableError) as refused:
        await remote.status("r")
    assert refused.value.problem is Problem.REFUSED
    machines.boot(1)
    status = await remote.status("r")
    assert status.phase is RunPhase.LOST
    assert not status.same_boot
    assert status.boot_id == started.boot_id
    assert (await remote.follow("r", len(got), got.extend)).phase is RunPhase.LOST
    assert bytes(got) == b"up\n"
    assert await lease_holder(remote) == ""
    assert (await remote.cancel("r", grace_s=1)).left == 0
    await remote.start(RunSpec("again", "true", lease="me"))
    await pool.close()


async def test_a_run_goes_on_while_the_cable_is_out(machines: NamespaceHosts) -> None:
    pool = TransportPool(machines.hosts(), settings=QUICK)
    remote = RemoteHost(pool.get("node1"))
    script = "for i in $(seq 100); do echo $i; sleep 0.04; done"
    await remote.start(RunSpec("r", script, lease="me"))
    got = bytearray()
    following = asyncio.create_task(remote.follow("r", 0, got.extend))
    await until(lambda: got)
    machines.cut(1)
    with pytest.raises(HostUnreachableError) as lost:
        async with asyncio.timeout(10):
            await following
    assert lost.value.problem is Problem.LOST
    with pytest.raises(HostUnreachableError) as silent:
        await remote.status("r")
    assert silent.value.problem in (Problem.TIMEOUT, Problem.UNREACHABLE)
    machines.mend(1)
    async with asyncio.timeout(20):
        status = await remote.follow("r", len(got), got.extend)
    assert bytes(got) == b"".join(b"%d\n" % n for n in range(1, 101))
    assert status.exit_code == 0
    await pool.close()


async def test_machines_have_leases_of_their_own(machines: NamespaceHosts) -> None:
    pool = TransportPool(machines.hosts(), settings=QUICK)
    one, two = RemoteHost(pool.get("node1")), RemoteHost(pool.get("node2"))
    await one.start(RunSpec("a", "sleep 600", lease="me"))
    await two.start(RunSpec("b", "sleep 600", lease="me"))
    with pytest.raises(LeaseHeldError):
        await one.start(RunSpec("c", "true", lease="you"))
    await pool.close()
