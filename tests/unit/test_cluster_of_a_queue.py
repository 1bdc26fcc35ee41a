"""What is known of a queue's hosts while it is asked, and when it does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from backends.cluster import Cluster
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.host_entry import Host, Inventory
from profiles.errors import DlperfError


class FakeQueue:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer = asyncio.Event()
        self.answer.set()
        self.down = False

    async def ask(self) -> Sequence[tuple[Host, HostSnapshot]]:
        self.asked += 1
        await self.answer.wait()
        if self.down:
            raise DlperfError("the controller does not answer")
        return [(Host("node1", labels=("gpu",)), HostSnapshot("node1", "", HostState.READY))]


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> FakeQueue:
    found = FakeQueue()
    monkeypatch.setattr("backends.engines.queue_hosts.queue_hosts", lambda *_: found)
    return found


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def cluster(clock: Clock) -> Cluster:
    login = Host("login01", transport="local")
    return Cluster(Inventory((), engine="slurm", login=login), clock=clock)


def states(found: Cluster) -> list[HostState]:
    return [snapshot.state for snapshot in found.snapshots()]


async def test_its_hosts_can_be_selected_once_they_are_known(queue: FakeQueue) -> None:
    found = cluster(Clock())
    assert found.chosen("") == ()
    await found.learn_hosts()
    assert [host.name for host in found.chosen("@gpu")] == ["node1"]
    await found.probe_unknown(found.chosen(""))
    assert queue.asked == 1


async def test_while_it_is_asked_they_are_shown_as_probed_and_afterwards_as_they_were(
    queue: FakeQueue,
) -> None:
    found = cluster(Clock())
    await found.probe()
    queue.answer.clear()
    queue.down = True
    asking = asyncio.create_task(found.probe())
    await asyncio.sleep(0)
    assert states(found) == [HostState.PROBING]
    queue.answer.set()
    with pytest.raises(DlperfError):
        await asking
    assert states(found) == [HostState.READY]
    assert found.problem == "the controller does not answer"


async def test_it_is_asked_again_only_after_a_while_also_when_it_is_down(queue: FakeQueue) -> None:
    clock = Clock()
    found = cluster(clock)
    await found.probe()
    await found.refresh(60.0)
    assert queue.asked == 1
    clock.now += 61
    queue.down = True
    await found.refresh(60.0)
    await found.refresh(60.0)
    assert (queue.asked, found.problem != "") == (2, True)
    clock.now += 61
    queue.down = False
    await found.refresh(60.0)
    assert (queue.asked, found.problem) == (3, "")
