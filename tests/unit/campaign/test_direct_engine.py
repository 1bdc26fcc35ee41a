"""The hosts of a campaign over SSH: what is lost, held, busy or settling is not given."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.engines import direct
from backends.engines.direct import DirectEngine
from backends.engines.engine import Journaled, Trouble, Waiting, WaitKind, Wanted
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.lease import Lease
from backends.transports.local import LocalTransport
from backends.transports.transport import Transport
from tests.support.waits import cannot_be_used

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Pool:
    def get(self, host: Host) -> Transport:
        return LocalTransport(host)


def snapshot(name: str, state: HostState = HostState.READY, reason: str = "") -> HostSnapshot:
    return HostSnapshot(name, name, state, reason=reason, slots=2)


def engine_of(*snapshots: HostSnapshot, clock: Clock | None = None, force: bool = False):
    known = [(Host(s.name, transport="local"), s) for s in snapshots]
    return DirectEngine(known, Pool(), monotonic=clock or Clock(), force=force, lease="alice")


async def test_a_host_that_failed_to_answer_is_not_used_until_it_is_seen_again() -> None:
    engine = engine_of(snapshot("a"))
    engine.trouble("a", Trouble.OUT_OF_REACH, "connection refused")
    found = engine.schedule([Wanted("r", 1, 1)], {})
    assert found.waiting == {"r": cannot_be_used("a", "connection refused")}
    engine.seen(snapshot("a"))
    assert engine.schedule([Wanted("r", 1, 1)], {}).starts == {"r": ("a",)}


async def test_trouble_in_the_moment_of_the_end_does_not_keep_the_engine_from_ending() -> None:
    engine = engine_of(snapshot("a"))

    async def journal(held: object) -> None:
        raise AssertionError(held)

    tending = asyncio.create_task(engine.tend(lambda: None, lambda name: None, journal))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    engine.trouble("a", Trouble.OUT_OF_REACH, "connection refused")
    tending.cancel()
    await asyncio.wait({tending}, timeout=2)
    assert tending.cancelled()


@pytest.mark.parametrize("first", ["ended", "starts"])
async def test_a_host_that_two_runs_have_after_a_restart_is_free_when_both_are_over(
    first: str,
) -> None:
    """One had just ended there when the console was killed, the other was about to start."""
    engine = engine_of(snapshot("a"), snapshot("b"))
    for run_id in sorted(("ended", "starts"), key=lambda name: name != first):
        await engine.adopt(Journaled(Wanted(run_id, 2, 1), ("a", "b"), {}, ""))
    for run_id in ("ended", "starts"):
        assert not engine.schedule([Wanted("r", 1, 1)], {}).starts
        engine.release(run_id, 0.0)
    assert engine.schedule([Wanted("r", 1, 1)], {}).starts == {"r": ("a",)}


async def test_a_host_held_by_others_is_waited_for() -> None:
    engine = engine_of(snapshot("a"))
    engine.trouble("a", Trouble.HELD, "bob, campaign x")
    assert engine.schedule([Wanted("r", 1, 1)], {}).waiting == {
        "r": cannot_be_used("a", "held by bob, campaign x")
    }
    engine.trouble("a", Trouble.HELD, "")
    assert engine.schedule([Wanted("r", 1, 1)], {}).starts == {"r": ("a",)}


async def test_who_holds_a_host_is_told_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another campaign's next run has it, then nobody."""
    held: list[Lease | None] = [Lease("bob, campaign x, run 2"), Lease("bob, campaign x, run 3")]

    async def lease(_remote: RemoteHost, _group: str) -> Lease | None:
        return held[0]

    monkeypatch.setattr(RemoteHost, "lease", lease)
    monkeypatch.setattr(direct, "LEASE_LOOK_EVERY_S", 0.01)
    engine = engine_of(snapshot("a"))
    engine.trouble("a", Trouble.HELD, "bob, campaign x, run 1")
    told: asyncio.Queue[None] = asyncio.Queue()

    async def journal(held: object) -> None:
        raise AssertionError(held)

    tending = asyncio.create_task(
        engine.tend(lambda: told.put_nowait(None), lambda name: None, journal)
    )
    for lease_now in (*held, None):
        held[0] = lease_now
        async with asyncio.timeout(10):
            await told.get()
        found = engine.schedule([Wanted("r", 1, 1)], {})
        if lease_now is None:
            assert found.starts == {"r": ("a",)}
        else:
            detail = f"held by {lease_now.explained}"
            assert found.waiting == {"r": cannot_be_used("a", detail)}
    tending.cancel()
    await asyncio.wait({tending}, timeout=2)


@pytest.mark.parametrize(
    ("run_id", "waits"), [("other-0001-a1", True), ("mine-0007-a1", False), ("", True)]
)
async def test_a_host_that_was_seen_to_be_held_is_waited_for_from_the_beginning(
    run_id: str, waits: bool
) -> None:
    """By all runs alike: none of them waits for another one's turn."""
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    lease = Lease("bob, campaign x", run_id=run_id)
    held = replace(vm, state=HostState.READY, facts=replace(vm.facts, lease=lease), slots=2)
    known = [(Host(vm.name, transport="local"), held)]
    engine = DirectEngine(known, Pool(), monotonic=Clock(), lease="alice", group="mine")
    found = engine.schedule([Wanted(name, 1, 1) for name in "abc"], {})
    why = cannot_be_used(vm.name, f"held by {lease.explained}")
    assert found.waiting == dict.fromkeys("abc", why) if waits else found.starts


async def test_a_busy_host_is_used_only_by_force() -> None:
    busy = snapshot("a", HostState.BUSY, "bob uses GPU0")
    assert not engine_of(busy).schedule([Wanted("r", 1, 1)], {}).starts
    assert engine_of(busy, force=True).schedule([Wanted("r", 1, 1)], {}).starts


async def test_a_run_waits_in_vain_only_when_the_hosts_it_lacks_stay_away() -> None:
    clock = Clock()
    engine = engine_of(snapshot("a"), snapshot("b"), clock=clock)
    wanted = [Wanted("r", 2, 1, patience_s=900.0), Wanted("s", 1, 1, patience_s=900.0)]
    engine.trouble("b", Trouble.OUT_OF_REACH, "connection timed out")
    clock.now = 899.0
    assert engine.schedule(wanted, {}).vain == {}
    clock.now = 901.0
    vain = engine.schedule(wanted, {}).vain
    assert {run_id: waiting.detail for run_id, waiting in vain.items()} == {
        "r": "b: connection timed out"
    }
    engine.seen(snapshot("b"))
    assert engine.schedule(wanted, {}).vain == {}


async def test_settling_is_counted_from_the_end_of_the_run() -> None:
    clock = Clock()
    engine = engine_of(snapshot("a"), clock=clock)
    engine.request(Wanted("r", 1, 1), ["a"])
    assert engine.schedule([Wanted("s", 1, 1)], {}).waiting["s"].kind is WaitKind.BUSY
    clock.now = 30.0
    engine.release("r", 20.0)
    engine.release("r", 99.0)  # twice is once
    assert engine.schedule([Wanted("s", 1, 1)], {}).next_at == 50.0


async def test_until_when_hosts_settle_is_told_in_seconds_since_the_epoch() -> None:
    calendar, clock = Clock(), Clock()
    calendar.now = 1_000_000.0
    known = [(Host("a", transport="local"), snapshot("a"))]
    engine = DirectEngine(known, Pool(), clock=calendar, monotonic=clock)
    engine.request(Wanted("r", 1, 1), ["a"])
    engine.release("r", 20.0)
    why = engine.schedule([Wanted("s", 1, 1)], {}).waiting["s"]
    assert why == Waiting(WaitKind.SETTLING, expected_at=1_000_020.0)


async def test_a_clock_that_is_set_holds_up_nobody() -> None:
    calendar, clock = Clock(), Clock()
    known = [(Host("a", transport="local"), snapshot("a"))]
    engine = DirectEngine(known, Pool(), clock=calendar, monotonic=clock)
    engine.request(Wanted("r", 1, 1), ["a"])
    engine.release("r", 20.0)
    calendar.now, clock.now = -3600.0, 19.0
    assert engine.schedule([Wanted("s", 1, 1)], {}).next_at == 20.0
    clock.now = 20.0
    assert engine.schedule([Wanted("s", 1, 1)], {}).starts == {"s": ("a",)}


async def test_an_allocation_holds_the_first_devices_and_is_found_again_as_it_was() -> None:
    engine = engine_of(snapshot("a"), snapshot("b"))
    allocation = await engine.given(engine.request(Wanted("r", 2, 2), ["b", "a"]))
    assert allocation.names == ("b", "a")
    assert allocation.devices == {"b": (0, 1), "a": (0, 1)}
    assert allocation.lease == "alice"
    before = Journaled(Wanted("r", 2, 2), ("b", "a"), {"b": (4, 5), "a": (6, 7)})
    again = await engine_of(snapshot("a"), snapshot("b")).adopt(before)
    assert again.devices == {"b": (4, 5), "a": (6, 7)}
    older = Journaled(Wanted("r", 1, 2), ("a",))
    assert (await engine_of(snapshot("a")).adopt(older)).devices == {"a": (0, 1)}


async def given(engine: DirectEngine, *wanted: Wanted) -> dict[str, tuple[int, ...]]:
    """The devices of those that start now."""
    starts = engine.schedule(wanted, {}).starts
    tickets = [engine.request(w, starts[w.run_id]) for w in wanted if w.run_id in starts]
    allocations = [await engine.given(ticket) for ticket in tickets]
    return {one.run_id: devices for one in allocations for devices in one.devices.values()}


def packed(run_id: str, gpus: int = 1) -> Wanted:
    return Wanted(run_id, 1, gpus, pack=True, expected_s=10.0)


def engine_that_packs(clock: Clock | None = None) -> DirectEngine:
    known = [(Host("a", transport="local"), replace(snapshot("a"), slots=4))]
    return DirectEngine(known, Pool(), monotonic=clock or Clock(), lease="alice", group="g1")


async def test_runs_that_pack_get_devices_that_no_other_has() -> None:
    engine = engine_that_packs()
    assert await given(engine, packed("r", 2), packed("s"), packed("t"), packed("u")) == {
        "r": (0, 1),
        "s": (2,),
        "t": (3,),
    }
    engine.release("s", 0.0)
    assert await given(engine, packed("u")) == {"u": (2,)}


async def test_devices_rest_for_their_own_run_alone() -> None:
    clock = Clock()
    engine = engine_that_packs(clock)
    await given(engine, packed("r", 2), packed("s"))
    engine.release("r", 30.0)
    assert await given(engine, packed("t"), packed("u")) == {"t": (3,)}
    clock.now = 30.0
    assert await given(engine, packed("u")) == {"u": (0,)}


async def test_what_packed_before_a_restart_has_its_devices_again() -> None:
    engine = engine_that_packs()
    found = await engine.adopt(Journaled(packed("r", 2), ("a",), {"a": (1, 2)}))
    assert (found.devices, found.group) == ({"a": (1, 2)}, "g1")
    assert await given(engine, packed("s", 2)) == {"s": (0, 3)}


async def test_who_does_not_pack_shares_with_nobody() -> None:
    engine = engine_that_packs()
    [ticket] = [engine.request(Wanted("r", 1, 1), ("a",))]
    assert (await engine.given(ticket)).group == ""
    assert not engine.schedule([packed("s")], {}).starts


@hypothesis.given(st.integers(2, 5), st.floats(1.0, 500.0), st.floats(1.0, 900.0), st.booleans())
def test_beside_a_run_that_hangs_goes_what_ends_before_it_is_given_up(
    hosts: int, short_s: float, left_s: float, silent: bool
) -> None:
    """Of a run that is late and silent it is known until when it stays at most; one that is late
    and speaks may end any moment, and a run on all hosts is next."""
    clock = Clock()
    engine = engine_of(*(snapshot(f"n{number}") for number in range(hosts)), clock=clock)
    engine.request(Wanted("hangs", 1, 1, expected_s=100.0), ("n0",))
    clock.now = 101.0
    large = Wanted("large", hosts, 1, expected_s=1000.0)
    short = Wanted("short", 1, 1, expected_s=short_s)
    said = engine.schedule([large, short], {"hangs": left_s} if silent else {})
    fits = silent and short_s <= left_s * (1 + 1 / hosts)
    assert set(said.starts) == ({"short"} if fits else set())
