"""Many hosts behind one gateway, some of them without a network: all others are found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from backends.hosts.host_facts import HostState
from backends.hosts.probe import probe_all
from backends.transports.pool import TransportPool
from tests.support.netns import NamespaceHosts, why_not
from tests.support.sshd import renamed

pytestmark = pytest.mark.faults

ALIVE, DEAD = 48, 12


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[NamespaceHosts]:
    """A gateway, three hosts behind it, and one that gets lost."""
    if reason := why_not():
        pytest.skip(reason)
    hosts = NamespaceHosts(tmp_path / "hosts", 5, options=["MaxStartups 10:30:60"])
    yield hosts
    hosts.close()


@pytest.mark.parametrize("jump", ["node1", ""])
async def test_hosts_that_drop_every_packet_hold_up_nobody(
    machines: NamespaceHosts, jump: str
) -> None:
    gateway, *near, lost = machines.hosts()
    machines.blackhole(5)
    alive = [renamed(near[number % len(near)], f"alive{number:02}") for number in range(ALIVE)]
    # Each at an address of its own, where nothing answers either.
    network = lost.address.rsplit(".", 1)[0]
    dead = [
        replace(
            lost,
            name=f"dead{number:02}",
            address=f"{network}.{100 + number}" if number else lost.address,
        )
        for number in range(DEAD)
    ]
    hosts = [replace(host, jump=jump or None) for host in (*dead, *alive)]
    pool = TransportPool([gateway, *hosts])
    found = [snapshot async for snapshot in probe_all(pool, hosts)]
    await pool.close()
    states = [(snapshot.name[:4], snapshot.state is HostState.UNREACHABLE) for snapshot in found]
    assert [away for name, away in states if name == "aliv"] == [False] * ALIVE
    assert [away for name, away in states if name == "dead"] == [True] * DEAD
    assert states[:ALIVE] == [("aliv", False)] * ALIVE, "the dead come last"
