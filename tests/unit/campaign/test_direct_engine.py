"""Which run goes where: nobody starves, nobody is doubled, nobody waits for a dead host."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.engines.direct import DirectEngine
from backends.engines.engine import Journaled, Trouble, Waiting, WaitKind, Wanted
from backends.engines.first_fit_schedule import Offer, first_fit
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.host_entry import Host
from backends.transports.local import LocalTransport
from backends.transports.transport import Transport
from profiles.format.host_capacity import HostCapacity


def offer(
    name: str, slots: int = 2, gpus: int = 0, *, busy: bool = False, unusable: str = ""
) -> Offer:
    return Offer(HostCapacity(name, slots, gpus), busy=busy, unusable=unusable)


def hosts(count: int, slots: int = 2) -> list[Offer]:
    return [offer(f"node{n}", slots) for n in range(1, count + 1)]


def test_runs_on_disjoint_hosts_go_side_by_side() -> None:
    found = first_fit([Wanted("a", 1, 1), Wanted("b", 2, 1), Wanted("c", 1, 1)], hosts(3), 0.0)
    assert found.starts == {"a": ("node1",), "b": ("node2", "node3")}
    assert found.waiting == {"c": Waiting(WaitKind.BEHIND)}


def test_a_run_that_needs_many_hosts_is_not_starved_by_small_ones() -> None:
    offers = [offer("node1", busy=True), offer("node2"), offer("node3")]
    found = first_fit([Wanted("large", 2, 1), Wanted("small", 1, 1)], offers[:2], 0.0)
    assert not found.starts
    found = first_fit([Wanted("large", 2, 1), Wanted("small", 1, 1)], offers, 0.0)
    assert found.starts == {"large": ("node2", "node3")}


def test_hosts_that_nobody_ahead_can_use_are_filled_from_behind() -> None:
    offers = [offer("big", 8, busy=True), offer("little")]
    found = first_fit([Wanted("wide", 1, 8), Wanted("narrow", 1, 1)], offers, 0.0)
    assert found.starts == {"narrow": ("little",)}


def test_an_unreachable_host_holds_up_only_the_runs_that_need_it() -> None:
    offers = [*hosts(3), offer("node4", unusable="connection refused")]
    found = first_fit([Wanted("all", 4, 1), Wanted("one", 1, 1)], offers, 0.0)
    assert found.waiting == {"all": Waiting(WaitKind.UNUSABLE, ("node4",), "connection refused")}
    assert found.starts == {"one": ("node1",)}


def test_a_retry_goes_elsewhere_when_there_is_an_elsewhere() -> None:
    wanted = [Wanted("again", 1, 1, avoid=("node1",))]
    assert first_fit(wanted, hosts(2), 0.0).starts == {"again": ("node2",)}
    assert first_fit(wanted, hosts(1), 0.0).starts == {"again": ("node1",)}


def test_a_host_settles_before_its_next_run() -> None:
    offers = [Offer(HostCapacity("node1", 2, 0), free_from=20.0)]
    early = first_fit([Wanted("a", 1, 1)], offers, 5.0)
    assert not early.starts
    assert early.waiting == {"a": Waiting(WaitKind.SETTLING)}
    assert early.next_at == 20.0
    assert first_fit([Wanted("a", 1, 1)], offers, 20.0).starts == {"a": ("node1",)}


def test_a_later_retry_lets_others_go_first_and_says_when_to_look() -> None:
    found = first_fit([Wanted("later", 1, 1, not_before=60.0), Wanted("b", 1, 1)], hosts(1), 0.0)
    assert (found.starts, found.next_at) == ({"b": ("node1",)}, 60.0)


def test_gpu_only_runs_do_not_use_slots() -> None:
    offers = [offer("cpu", 64), offer("gpu", 64, gpus=8)]
    assert first_fit([Wanted("a", 1, 4, gpu_only=True)], offers, 0.0).starts == {"a": ("gpu",)}
    assert first_fit([Wanted("a", 1, 16)], offers, 0.0).starts == {"a": ("cpu",)}


def test_a_host_of_which_nothing_is_known_rules_nothing_out() -> None:
    unknown = [Offer(HostCapacity("new", None, None))]
    assert first_fit([Wanted("a", 1, 16, gpu_only=True)], unknown, 0.0).starts == {"a": ("new",)}


capacities_st = st.builds(
    HostCapacity,
    name=st.sampled_from([f"n{i}" for i in range(6)]),
    slots=st.none() | st.integers(0, 4),
    gpus=st.none() | st.integers(0, 4),
)
offers_st = st.lists(
    st.builds(
        Offer,
        capacity=capacities_st,
        busy=st.booleans(),
        free_from=st.sampled_from([0.0, 50.0]),
        unusable=st.sampled_from(["", "", "away"]),
    ),
    unique_by=lambda offer: offer.name,
)
wanted_st = st.lists(
    st.builds(
        Wanted,
        run_id=st.uuids().map(str),
        nodes=st.integers(1, 4),
        gpus_per_node=st.integers(1, 4),
        not_before=st.sampled_from([0.0, 50.0]),
        gpu_only=st.booleans(),
    )
)


@given(wanted_st, offers_st)
def test_no_host_is_given_twice_or_against_its_state(
    wanted: list[Wanted], offers: list[Offer]
) -> None:
    found = first_fit(wanted, offers, 10.0)
    given_out = [name for names in found.starts.values() for name in names]
    assert len(given_out) == len(set(given_out))
    by_name = {offer.name: offer for offer in offers}
    for want in wanted:
        for name in found.starts.get(want.run_id, ()):
            given_one = by_name[name]
            assert not given_one.busy
            assert not given_one.unusable
            assert given_one.free_from <= 10.0
            assert given_one.fits(want)
        assert len(found.starts.get(want.run_id, ())) in (0, want.nodes)
        settled = want.run_id in found.starts or want.run_id in found.waiting
        assert settled == (want.not_before <= 10.0)


@given(wanted_st, offers_st)
def test_every_run_that_fits_some_day_runs(wanted: list[Wanted], offers: list[Offer]) -> None:
    """Runs end, hosts are freed, and in as many rounds as there are runs all of them were on."""
    idle = [Offer(o.capacity, unusable=o.unusable) for o in offers]
    left = [w for w in wanted if w.not_before == 0.0]
    for _ in wanted:
        started = first_fit(left, idle, 100.0).starts
        left = [want for want in left if want.run_id not in started]
    for want in left:
        usable = [o for o in idle if not o.unusable]
        assert sum(o.fits(want) for o in usable) < want.nodes


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
    found = engine.schedule([Wanted("r", 1, 1)])
    assert found.waiting == {"r": Waiting(WaitKind.UNUSABLE, ("a",), "connection refused")}
    engine.seen(snapshot("a"))
    assert engine.schedule([Wanted("r", 1, 1)]).starts == {"r": ("a",)}


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
        assert not engine.schedule([Wanted("r", 1, 1)]).starts
        engine.release(run_id, 0.0)
    assert engine.schedule([Wanted("r", 1, 1)]).starts == {"r": ("a",)}


async def test_a_host_held_by_others_is_waited_for() -> None:
    engine = engine_of(snapshot("a"))
    engine.trouble("a", Trouble.HELD, "bob, campaign x")
    assert engine.schedule([Wanted("r", 1, 1)]).waiting == {
        "r": Waiting(WaitKind.UNUSABLE, ("a",), "held by bob, campaign x")
    }
    engine.trouble("a", Trouble.HELD, "")
    assert engine.schedule([Wanted("r", 1, 1)]).starts == {"r": ("a",)}


async def test_a_busy_host_is_used_only_by_force() -> None:
    busy = snapshot("a", HostState.BUSY, "bob uses GPU0")
    assert not engine_of(busy).schedule([Wanted("r", 1, 1)]).starts
    assert engine_of(busy, force=True).schedule([Wanted("r", 1, 1)]).starts


async def test_a_run_waits_in_vain_only_when_the_hosts_it_lacks_stay_away() -> None:
    clock = Clock()
    engine = engine_of(snapshot("a"), snapshot("b"), clock=clock)
    wanted = [Wanted("r", 2, 1, patience_s=900.0), Wanted("s", 1, 1, patience_s=900.0)]
    engine.trouble("b", Trouble.OUT_OF_REACH, "connection timed out")
    clock.now = 899.0
    assert engine.schedule(wanted).vain == {}
    clock.now = 901.0
    vain = engine.schedule(wanted).vain
    assert {run_id: waiting.detail for run_id, waiting in vain.items()} == {
        "r": "b: connection timed out"
    }
    engine.seen(snapshot("b"))
    assert engine.schedule(wanted).vain == {}


async def test_settling_is_counted_from_the_end_of_the_run() -> None:
    clock = Clock()
    engine = engine_of(snapshot("a"), clock=clock)
    engine.request(Wanted("r", 1, 1), ["a"])
    assert engine.schedule([Wanted("s", 1, 1)]).waiting["s"].kind is WaitKind.BUSY
    clock.now = 30.0
    engine.release("r", 20.0)
    engine.release("r", 99.0)  # twice is once
    assert engine.schedule([Wanted("s", 1, 1)]).next_at == 50.0


async def test_a_clock_that_is_set_holds_up_nobody() -> None:
    calendar, clock = Clock(), Clock()
    known = [(Host("a", transport="local"), snapshot("a"))]
    engine = DirectEngine(known, Pool(), clock=calendar, monotonic=clock)
    engine.request(Wanted("r", 1, 1), ["a"])
    engine.release("r", 20.0)
    calendar.now, clock.now = -3600.0, 19.0
    assert engine.schedule([Wanted("s", 1, 1)]).next_at == 20.0
    clock.now = 20.0
    assert engine.schedule([Wanted("s", 1, 1)]).starts == {"s": ("a",)}


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
