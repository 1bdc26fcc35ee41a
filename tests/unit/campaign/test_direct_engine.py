"""Which run goes where: nobody starves, nobody is doubled, nobody waits for a dead host."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backends.engines.direct import DirectEngine, Offer, Wanted, schedule
from backends.hosts.facts import HostSnapshot, HostState


def hosts(count: int, slots: int = 2) -> list[Offer]:
    return [Offer(f"node{n}", slots) for n in range(1, count + 1)]


def test_runs_on_disjoint_hosts_go_side_by_side() -> None:
    found = schedule([Wanted("a", 1, 1), Wanted("b", 2, 1), Wanted("c", 1, 1)], hosts(3), 0.0)
    assert found.starts == {"a": ("node1",), "b": ("node2", "node3")}
    assert found.waiting == {"c": "waiting for runs ahead"}


def test_a_run_that_needs_many_hosts_is_not_starved_by_small_ones() -> None:
    offers = [Offer("node1", 2, busy=True), Offer("node2", 2), Offer("node3", 2)]
    found = schedule([Wanted("large", 2, 1), Wanted("small", 1, 1)], offers[:2], 0.0)
    assert not found.starts
    found = schedule([Wanted("large", 2, 1), Wanted("small", 1, 1)], offers, 0.0)
    assert found.starts == {"large": ("node2", "node3")}


def test_hosts_that_nobody_ahead_can_use_are_filled_from_behind() -> None:
    offers = [Offer("big", 8, busy=True), Offer("little", 2)]
    found = schedule([Wanted("wide", 1, 8), Wanted("narrow", 1, 1)], offers, 0.0)
    assert found.starts == {"narrow": ("little",)}


def test_an_unreachable_host_holds_up_only_the_runs_that_need_it() -> None:
    offers = [*hosts(3), Offer("node4", 2, unusable="connection refused")]
    found = schedule([Wanted("all", 4, 1), Wanted("one", 1, 1)], offers, 0.0)
    assert found.waiting == {"all": "waiting for node4: connection refused"}
    assert found.starts == {"one": ("node1",)}


def test_a_retry_goes_elsewhere_when_there_is_an_elsewhere() -> None:
    wanted = [Wanted("again", 1, 1, avoid=("node1",))]
    assert schedule(wanted, hosts(2), 0.0).starts == {"again": ("node2",)}
    assert schedule(wanted, hosts(1), 0.0).starts == {"again": ("node1",)}


def test_a_host_settles_before_its_next_run() -> None:
    offers = [Offer("node1", 2, free_from=20.0)]
    early = schedule([Wanted("a", 1, 1)], offers, 5.0)
    assert (early.starts, early.waiting, early.next_at) == ({}, {"a": "settling"}, 20.0)
    assert schedule([Wanted("a", 1, 1)], offers, 20.0).starts == {"a": ("node1",)}


def test_a_later_retry_lets_others_go_first_and_says_when_to_look() -> None:
    found = schedule([Wanted("later", 1, 1, not_before=60.0), Wanted("b", 1, 1)], hosts(1), 0.0)
    assert (found.starts, found.next_at) == ({"b": ("node1",)}, 60.0)


def test_gpu_only_runs_do_not_use_slots() -> None:
    offers = [Offer("cpu", 64), Offer("gpu", 64, gpus=8)]
    assert schedule([Wanted("a", 1, 4, gpu_only=True)], offers, 0.0).starts == {"a": ("gpu",)}
    assert schedule([Wanted("a", 1, 16)], offers, 0.0).starts == {"a": ("cpu",)}


offers_st = st.lists(
    st.builds(
        Offer,
        name=st.sampled_from([f"n{i}" for i in range(6)]),
        slots=st.integers(0, 4),
        gpus=st.integers(0, 4),
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
    found = schedule(wanted, offers, 10.0)
    given_out = [name for names in found.starts.values() for name in names]
    assert len(given_out) == len(set(given_out))
    by_name = {offer.name: offer for offer in offers}
    for want in wanted:
        for name in found.starts.get(want.run_id, ()):
            offer = by_name[name]
            assert not offer.busy
            assert not offer.unusable
            assert offer.free_from <= 10.0
            assert offer.devices(want.gpu_only) >= want.gpus_per_node
        assert len(found.starts.get(want.run_id, ())) in (0, want.nodes)
        settled = want.run_id in found.starts or want.run_id in found.waiting
        assert settled == (want.not_before <= 10.0)


@given(wanted_st, offers_st)
def test_every_run_that_fits_some_day_runs(wanted: list[Wanted], offers: list[Offer]) -> None:
    """Runs end, hosts are freed, and in as many rounds as there are runs all of them were on."""
    idle = [Offer(o.name, o.slots, o.gpus, unusable=o.unusable) for o in offers]
    left = [w for w in wanted if w.not_before == 0.0]
    for _ in wanted:
        started = schedule(left, idle, 100.0).starts
        left = [want for want in left if want.run_id not in started]
    for want in left:
        usable = [o for o in idle if not o.unusable]
        assert sum(o.devices(want.gpu_only) >= want.gpus_per_node for o in usable) < want.nodes


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def snapshot(name: str, state: HostState = HostState.READY, reason: str = "") -> HostSnapshot:
    return HostSnapshot(name, name, state, reason=reason, slots=2)


def test_a_host_that_failed_to_answer_is_not_used_until_it_is_seen_again() -> None:
    engine = DirectEngine([snapshot("a")], Clock())
    engine.out_of_reach("a", "connection refused")
    found = engine.schedule([Wanted("r", 1, 1)])
    assert found.waiting == {"r": "waiting for a: connection refused"}
    assert engine.doubtful_hosts == ("a",)
    engine.seen(snapshot("a"))
    assert engine.schedule([Wanted("r", 1, 1)]).starts == {"r": ("a",)}


def test_a_host_held_by_others_is_waited_for() -> None:
    engine = DirectEngine([snapshot("a")], Clock())
    engine.held("a", "bob, campaign x")
    assert engine.schedule([Wanted("r", 1, 1)]).waiting == {
        "r": "waiting for a: held by bob, campaign x"
    }
    assert engine.held_hosts == ("a",)
    engine.held("a", "")
    assert engine.schedule([Wanted("r", 1, 1)]).starts == {"r": ("a",)}


def test_a_busy_host_is_used_only_by_force() -> None:
    busy = [snapshot("a", HostState.BUSY, "bob uses GPU0")]
    assert not DirectEngine(busy, Clock()).schedule([Wanted("r", 1, 1)]).starts
    assert DirectEngine(busy, Clock(), force=True).schedule([Wanted("r", 1, 1)]).starts


def test_a_run_is_hopeless_only_when_the_hosts_it_lacks_stay_away() -> None:
    clock = Clock()
    engine = DirectEngine([snapshot("a"), snapshot("b")], clock)
    two, one = Wanted("r", 2, 1), Wanted("s", 1, 1)
    engine.out_of_reach("b", "connection timed out")
    clock.now = 899.0
    assert engine.hopeless(two, 900.0) == ""
    clock.now = 901.0
    assert engine.hopeless(two, 900.0) == "b: connection timed out"
    assert engine.hopeless(one, 900.0) == ""
    engine.seen(snapshot("b"))
    assert engine.hopeless(two, 900.0) == ""


def test_settling_is_counted_from_the_end_of_the_run() -> None:
    clock = Clock()
    engine = DirectEngine([snapshot("a")], clock)
    engine.occupy("r", ["a"])
    assert engine.under_way == {"r"}
    clock.now = 30.0
    engine.release("r", 20.0)
    assert engine.schedule([Wanted("s", 1, 1)]).next_at == 50.0
