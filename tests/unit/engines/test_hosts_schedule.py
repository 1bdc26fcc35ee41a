"""Which run goes where, and when: nobody starves, nobody is doubled, hosts are not left idle."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backends.campaign.record.waiting_words import waiting_text
from backends.engines.engine import Waiting, WaitKind, Wanted
from backends.engines.filling import Offer, Use
from backends.engines.hosts_schedule import MOST_PLAYED, ends_at, schedule_on, timeline
from backends.inventory.nodesets import fold_nodeset
from profiles.format.host_capacity import HostCapacity
from tests.support.played_schedule import Played, lower_bound_s, play
from tests.support.waits import cannot_be_used


def offer(
    name: str, slots: int = 2, gpus: int = 0, *, busy: bool = False, unusable: str = ""
) -> Offer:
    uses = (Use(),) if busy else ()
    return Offer(HostCapacity(name, slots, gpus), uses, unusable=unusable)


def hosts(count: int, slots: int = 2) -> list[Offer]:
    return [offer(f"node{n}", slots) for n in range(1, count + 1)]


def test_runs_on_disjoint_hosts_go_side_by_side() -> None:
    found = schedule_on(hosts(3), [Wanted("a", 1, 1), Wanted("b", 2, 1), Wanted("c", 1, 1)], 0.0)
    assert found.starts == {"a": ("node1",), "b": ("node2", "node3")}
    assert found.waiting == {"c": Waiting(WaitKind.BUSY, ("node1", "node2", "node3"), nodes=1)}


def test_a_run_that_needs_many_hosts_is_not_starved_by_small_ones() -> None:
    offers = [offer("node1", busy=True), offer("node2"), offer("node3")]
    found = schedule_on(offers[:2], [Wanted("large", 2, 1), Wanted("small", 1, 1)], 0.0)
    assert not found.starts
    found = schedule_on(offers, [Wanted("large", 2, 1), Wanted("small", 1, 1)], 0.0)
    assert found.starts == {"large": ("node2", "node3")}


def test_hosts_that_nobody_ahead_can_use_are_filled_from_behind() -> None:
    offers = [offer("big", 8, busy=True), offer("little")]
    found = schedule_on(offers, [Wanted("wide", 1, 8), Wanted("narrow", 1, 1)], 0.0)
    assert found.starts == {"narrow": ("little",)}


def test_an_unreachable_host_holds_up_only_the_runs_that_need_it() -> None:
    offers = [*hosts(3), offer("node4", unusable="connection refused")]
    found = schedule_on(offers, [Wanted("all", 4, 1), Wanted("one", 1, 1)], 0.0)
    why = replace(cannot_be_used("node4", "connection refused"), busy=("node1",))
    assert found.waiting == {"all": why}
    assert found.starts == {"one": ("node1",)}


@given(
    st.lists(st.sampled_from(["", "no answer", "held by bob"]), min_size=1, max_size=8),
    st.integers(1, 8),
)
def test_a_run_without_usable_hosts_names_all_that_would_do_and_why_none_does(
    whys: list[str], nodes: int
) -> None:
    offers = [offer(f"node{n}", unusable=why) for n, why in enumerate(whys)]
    blocked = {one.name: one.unusable for one in offers if one.unusable}
    found = schedule_on(offers, [Wanted("r", nodes, 1)], 0.0)
    lacks = nodes - (len(offers) - len(blocked))
    if lacks <= 0 or not blocked:
        return
    why = found.waiting["r"]
    assert why.kind is WaitKind.UNUSABLE
    assert set(why.hosts) == set(blocked)
    said = waiting_text(why, 0.0)
    some = f"{'one' if lacks == 1 else lacks} of " if lacks < len(blocked) else ""
    assert said.startswith(f"waiting for {some}{fold_nodeset(blocked)}: ")
    reasons = said.partition(": ")[2]
    if len(set(blocked.values())) == 1:
        assert reasons == next(iter(blocked.values()))
    else:
        for reason in set(blocked.values()):
            whose = fold_nodeset(name for name, one in blocked.items() if one == reason)
            assert f"{reason} ({whose})" in reasons


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (1, "waiting for one of hopper,sick (dgx1 out of reach)"),
        (2, "waiting for hopper,sick (dgx1 out of reach)"),
    ],
)
def test_a_run_that_can_go_on_any_of_several_hosts_says_so_and_names_none_that_is_away(
    nodes: int, said: str
) -> None:
    """A run that was on the one that is away has it still."""
    away = replace(offer("dgx1", busy=True, unusable="connection refused"), away_s=20.0)
    offers = [away, offer("hopper", busy=True), offer("sick", busy=True)]
    [why] = schedule_on(offers, [Wanted("r", nodes, 1)], 0.0).waiting.values()
    assert waiting_text(why, 0.0) == said
    assert waiting_text(why, 0.0, brief=True) == said.removesuffix(" (dgx1 out of reach)")


@given(
    busy=st.integers(1, 5), free=st.integers(0, 3), away=st.integers(0, 3), nodes=st.integers(1, 8)
)
def test_a_run_waits_for_as_many_hosts_as_it_lacks_of_those_that_can_be_used(
    busy: int, free: int, away: int, nodes: int
) -> None:
    offers = [offer(f"b{n}", busy=True) for n in range(busy)]
    offers += [offer(f"f{n}") for n in range(free)]
    gone = [offer(f"a{n}", busy=True, unusable="no answer") for n in range(away)]
    offers += [replace(one, away_s=1.0) for one in gone]
    found = schedule_on(offers, [Wanted("r", nodes, 1)], 0.0)
    if free < nodes <= busy + free:
        why = found.waiting["r"]
        assert why.kind is WaitKind.BUSY
        assert set(why.hosts) == {f"b{n}" for n in range(busy)}
        assert (why.nodes or len(why.hosts)) == nodes - free
        assert set(why.away) == {one.name for one in gone}
    else:
        assert ("r" in found.starts) == (nodes <= free)


@given(
    busy=st.integers(0, 3),
    free=st.integers(0, 2),
    held=st.lists(st.sampled_from(["bob, campaign x", "eve"]), min_size=1, max_size=3),
    away=st.integers(0, 2),
    nodes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
)
def test_a_run_that_waits_names_each_host_that_others_hold_and_who_does(
    busy: int, free: int, held: list[str], away: int, nodes: list[int]
) -> None:
    offers = [offer(f"b{n}", busy=True) for n in range(busy)]
    offers += [offer(f"h{n}", unusable=f"held by {who}") for n, who in enumerate(held)]
    offers += [offer(f"f{n}") for n in range(free)]
    offers += [replace(offer(f"a{n}", unusable="no answer"), away_s=1.0) for n in range(away)]
    wanted = [Wanted(str(number), count, 1) for number, count in enumerate(nodes)]
    found = schedule_on(offers, wanted, 0.0)
    at_work = {o.name for o in offers if o.busy}.union(*found.starts.values())
    for run_id, why in found.waiting.items():
        assert why.unusable == tuple((o.name, o.unusable) for o in offers if o.unusable)
        said, brief = (waiting_text(why, 0.0, brief=brief) for brief in (False, True))
        if why.kind is WaitKind.BUSY:
            assert set(why.hosts) == at_work | {o.name for o in offers if "held" in o.unusable}
        if why.kind in (WaitKind.BUSY, WaitKind.BEHIND):
            for who in set(held):
                whose = [f"h{n}" for n, one in enumerate(held) if one == who]
                is_held = "is" if len(whose) == 1 else "are"
                assert f"; {fold_nodeset(whose)} {is_held} held by {who}" in said
            assert "held" not in brief
            assert said.startswith(brief)
            assert nodes[int(run_id)] <= busy + free


@given(st.integers(1, 3), st.integers(0, 3))
def test_a_run_for_which_there_are_hosts_waits_for_no_busy_one_but_for_its_turn(
    free: int, more: int
) -> None:
    """What takes more host time goes first, and has those that are free kept for it."""
    offers = [offer("b0", busy=True), *(offer(f"f{n}") for n in range(free))]
    wanted = [Wanted("wide", free + 1, 1), *(Wanted(f"n{n}", 1, 1) for n in range(1 + more))]
    found = schedule_on(offers, wanted, 0.0)
    for name, why in found.waiting.items():
        assert why.kind is (WaitKind.BUSY if name == "wide" else WaitKind.BEHIND)
        assert why.hosts == ("b0",)
        assert why.behind == ("" if name == "wide" else "wide")


@given(free=st.integers(1, 3), resting=st.integers(0, 3), more=st.integers(0, 3))
def test_a_run_that_hosts_are_kept_from_is_behind_the_run_that_they_are_kept_for(
    free: int, resting: int, more: int
) -> None:
    """While they rest, too: it never names a host that it does not lack. Of a round beyond the
    next it is the order of rounds."""
    offers = [offer("b0", busy=True), *(offer(f"f{n}") for n in range(free))]
    offers += [replace(offer(f"r{n}"), uses=(Use(2.0, resting=True),)) for n in range(resting)]
    nodes = free + resting + 1
    rounds = [Wanted(f"n{n}", 1, 1, repeat=2 + n) for n in range(1 + more)]
    found = schedule_on(offers, [Wanted("wide", nodes, 1, repeat=2), *rounds], 0.0)
    assert found.waiting["wide"] == Waiting(WaitKind.BUSY, ("b0",))
    for number, want in enumerate(rounds):
        behind = Waiting(WaitKind.BEHIND, ("b0",), behind="wide")
        assert found.waiting[want.run_id] == (behind if number < 2 else Waiting(WaitKind.BEHIND))

    brief = waiting_text(found.waiting["n0"], 0.0, brief=True)
    assert brief == "behind wide"
    assert waiting_text(found.waiting["n0"], 0.0) == "behind wide, which waits for b0"


@given(nodes=st.integers(2, 6), beside=st.integers(0, 4), more=st.integers(1, 3))
def test_of_runs_that_go_one_at_a_time_the_first_alone_waits_for_hosts(
    nodes: int, beside: int, more: int
) -> None:
    offers = [offer(f"b{n}", busy=True) for n in range(nodes + min(beside, nodes - 1))]
    wanted = [Wanted(f"w{n}", nodes, 1, repeat=n) for n in range(1 + more)]
    found = schedule_on(offers, wanted, 0.0).waiting
    assert found.pop("w0").kind is WaitKind.BUSY
    assert {(why.kind, why.behind) for why in found.values()} == {(WaitKind.BEHIND, "w0")}


def test_a_retry_goes_elsewhere_when_there_is_an_elsewhere() -> None:
    wanted = [Wanted("again", 1, 1, avoid=("node1",))]
    assert schedule_on(hosts(2), wanted, 0.0).starts == {"again": ("node2",)}
    assert schedule_on(hosts(1), wanted, 0.0).starts == {"again": ("node1",)}


def test_a_host_settles_before_its_next_run() -> None:
    offers = [Offer(HostCapacity("node1", 2, 0), (Use(20.0, resting=True),))]
    early = schedule_on(offers, [Wanted("a", 1, 1)], 5.0)
    assert not early.starts
    assert early.waiting == {"a": Waiting(WaitKind.SETTLING, expected_at=20.0)}
    assert waiting_text(early.waiting["a"], 5.0) == "settling, 15s more"
    assert early.next_at == 20.0
    assert schedule_on(offers, [Wanted("a", 1, 1)], 20.0).starts == {"a": ("node1",)}


def test_a_later_retry_lets_others_go_first_and_says_when_to_look() -> None:
    wanted = [Wanted("later", 1, 1, not_before=60.0), Wanted("b", 1, 1)]
    found = schedule_on(hosts(1), wanted, 0.0)
    assert (found.starts, found.next_at) == ({"b": ("node1",)}, 60.0)


def test_gpu_only_runs_do_not_use_slots() -> None:
    offers = [offer("cpu", 64), offer("gpu", 64, gpus=8)]
    assert schedule_on(offers, [Wanted("a", 1, 4, gpu_only=True)], 0.0).starts == {"a": ("gpu",)}
    assert schedule_on(offers, [Wanted("a", 1, 16)], 0.0).starts == {"a": ("cpu",)}


def test_a_host_of_which_nothing_is_known_rules_nothing_out() -> None:
    unknown = [Offer(HostCapacity("new", None, None))]
    assert schedule_on(unknown, [Wanted("a", 1, 16, gpu_only=True)], 0.0).starts == {"a": ("new",)}


capacities_st = st.builds(
    HostCapacity,
    name=st.sampled_from([f"n{i}" for i in range(6)]),
    slots=st.none() | st.integers(0, 4),
    gpus=st.none() | st.integers(0, 4),
)
RESTS, RESTED = Use(50.0, resting=True), Use(0.0, resting=True)
offers_st = st.lists(
    st.builds(
        Offer,
        capacity=capacities_st,
        uses=st.lists(st.sampled_from([Use(), Use(5.0), Use(50.0), RESTS, RESTED]), max_size=2).map(
            tuple
        ),
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
        repeat=st.integers(1, 3),
        expected_s=st.sampled_from([1.0, 5.0, 30.0, 60.0, float("inf")]),
    )
)


@given(wanted_st, offers_st)
def test_no_host_is_given_twice_or_against_its_state(
    wanted: list[Wanted], offers: list[Offer]
) -> None:
    found = schedule_on(offers, wanted, 10.0)
    given_out = [name for names in found.starts.values() for name in names]
    assert len(given_out) == len(set(given_out))
    by_name = {offer.name: offer for offer in offers}
    for want in wanted:
        for name in found.starts.get(want.run_id, ()):
            given_one = by_name[name]
            assert not given_one.busy
            assert not given_one.unusable
            assert RESTS not in given_one.uses
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
        started = schedule_on(idle, left, 100.0).starts
        left = [want for want in left if want.run_id not in started]
    for want in left:
        usable = [o for o in idle if not o.unusable]
        assert sum(o.fits(want) for o in usable) < want.nodes


# Over time ---------------------------------------------------------------------------------------


def run(run_id: str, nodes: int, seconds: float, repeat: int = 1, settle_s: float = 0.0) -> Wanted:
    return Wanted(run_id, nodes, 1, repeat=repeat, expected_s=seconds, settle_s=settle_s)


def busy_until(at: float, idle: int) -> list[Offer]:
    """The first of some hosts has a run; the others are idle."""
    return [Offer(HostCapacity("node1", 2, 0), (Use(at),)), *hosts(1 + idle)[1:]]


def test_within_a_round_what_takes_the_most_host_time_goes_first() -> None:
    wanted = [run("short", 1, 10.0), run("long", 1, 30.0), run("wide", 2, 20.0)]
    assert list(schedule_on(hosts(4), wanted, 0.0).starts) == ["wide", "long", "short"]
    wanted = [run("again", 1, 90.0, repeat=2), *wanted[:2]]
    assert list(schedule_on(hosts(1), wanted, 0.0).starts) == ["long"]


def test_hosts_that_wait_for_a_wide_run_are_filled_with_what_ends_in_time() -> None:
    wanted = [run("wide", 2, 99.0), run("late", 1, 160.0), run("short", 1, 90.0, repeat=2)]
    assert schedule_on(busy_until(100.0, 1), wanted, 0.0).starts == {"short": ("node2",)}
    assert schedule_on(busy_until(math.inf, 1), wanted, 0.0).starts == {}


def test_a_wide_run_is_delayed_where_that_costs_less_than_it_fills() -> None:
    wide, offers = run("wide", 4, 60.0), busy_until(100.0, 3)
    fits, longer = run("fits", 2, 149.0, repeat=2), run("longer", 2, 151.0, repeat=2)
    assert schedule_on(offers, [wide, fits], 0.0).starts == {"fits": ("node2", "node3")}
    assert schedule_on(offers, [wide, longer], 0.0).starts == {}


def test_a_round_is_not_passed_by_the_round_after_the_next() -> None:
    for repeat, starts in ((2, {"small": ("node2",)}), (3, {})):
        wanted = [run("wide", 2, 60.0), run("small", 1, 9.0, repeat)]
        assert schedule_on(busy_until(100.0, 1), wanted, 0.0).starts == starts


def test_a_timeline_says_who_is_where_from_when_to_when() -> None:
    wanted = [run("a", 1, 30.0, settle_s=5.0), run("b", 2, 10.0), run("c", 1, 10.0)]
    slots = timeline(hosts(2), wanted)
    assert {run_id: (slot.hosts, slot.start, slot.end) for run_id, slot in slots.items()} == {
        "a": (("node1",), 0.0, 30.0),
        "c": (("node2",), 0.0, 10.0),
        "b": (("node1", "node2"), 35.0, 45.0),
    }


def test_what_waits_for_a_run_of_unknown_duration_has_no_time() -> None:
    slots = timeline(hosts(1), [Wanted("unknown", 1, 1), run("next", 1, 10.0, repeat=2)])
    assert list(slots) == ["unknown"]
    assert slots["unknown"].end == math.inf


@st.composite
def matrices(draw: st.DrawFn) -> tuple[int, list[Wanted]]:
    """A number of hosts, and some repeats of some cases that each fit there."""
    count, repeats = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    settle_s = draw(st.sampled_from([0.0, 5.0]))
    case = st.tuples(st.integers(1, count), st.integers(5, 100))
    cases = draw(st.lists(case, min_size=1, max_size=6))
    return count, [
        run(f"{number}#{repeat}", nodes, float(seconds), repeat, settle_s)
        for repeat in range(1, repeats + 1)
        for number, (nodes, seconds) in enumerate(cases)
    ]


def played(count: int, wanted: list[Wanted], seed: int | None) -> tuple[list[Played], float]:
    """With the lower bound; by a seed runs take up to a tenth more or less than is expected."""
    chance = random.Random(seed)
    some = 0.0 if seed is None else 0.1
    takes = {w.run_id: w.expected_s * chance.uniform(1 - some, 1 + some) for w in wanted}
    known = [HostCapacity(f"node{n}", 2, None) for n in range(count)]
    return play(wanted, known, takes), lower_bound_s(wanted, count, takes)


@given(matrices(), st.integers(0, 9))
def test_all_runs_run_once_and_never_two_on_a_host(
    matrix: tuple[int, list[Wanted]], seed: int
) -> None:
    count, wanted = matrix
    runs, _ = played(count, wanted, seed)
    assert sorted(one.want.run_id for one in runs) == sorted(want.run_id for want in wanted)
    for number, one in enumerate(runs):
        assert len(set(one.hosts)) == one.want.nodes
        for other in runs[number + 1 :]:
            apart = other.start >= one.settled or one.start >= other.settled
            assert apart or not set(one.hosts) & set(other.hosts)


@given(matrices(), st.integers(0, 9))
def test_the_schedule_follows_from_what_is_asked(
    matrix: tuple[int, list[Wanted]], seed: int
) -> None:
    count, wanted = matrix
    assert played(count, wanted, seed) == played(count, wanted, seed)


@given(matrices(), st.integers(0, 9))
def test_no_schedule_takes_three_times_as_long_as_it_must(
    matrix: tuple[int, list[Wanted]], seed: int
) -> None:
    """Twice the bound is what any list of runs comes to that leaves no host idle without need."""
    count, wanted = matrix
    runs, bound = played(count, wanted, seed)
    assert max(one.end for one in runs) <= 3 * bound + 5.0


@given(matrices(), st.integers(0, 9))
def test_nobody_is_passed_by_the_round_after_the_next(
    matrix: tuple[int, list[Wanted]], seed: int
) -> None:
    """On hosts that are all alike, so that each of them is one that who waits could have."""
    count, wanted = matrix
    runs, _ = played(count, wanted, seed)
    for number, one in enumerate(runs):
        assert all(other.want.repeat <= one.want.repeat + 1 for other in runs[:number])


@given(matrices())
def test_the_timeline_is_what_comes_of_the_schedule(matrix: tuple[int, list[Wanted]]) -> None:
    count, wanted = matrix
    runs, _ = played(count, wanted, None)
    slots = timeline([Offer(HostCapacity(f"node{n}", 2, None)) for n in range(count)], wanted)
    assert {one.want.run_id: (one.hosts, one.start) for one in runs} == {
        run_id: (slot.hosts, slot.start) for run_id, slot in slots.items()
    }


def test_when_very_many_runs_have_ended_is_told_by_the_first_of_them() -> None:
    wanted = [
        run(f"{case}#{repeat}", nodes, 30.0 + 10 * case, repeat, settle_s=5.0)
        for repeat in range(1, MOST_PLAYED)
        for case, nodes in enumerate((1, 2, 4))
    ]
    slots = timeline(hosts(4), wanted)
    assert ends_at(hosts(4), wanted[:99]) == max(
        slot.end for slot in timeline(hosts(4), wanted[:99]).values()
    )
    whole = max(slot.end for slot in slots.values())
    assert ends_at(hosts(4), wanted) == pytest.approx(whole, rel=0.02)
    assert ends_at(hosts(3), wanted) == math.inf


@given(offers_st, wanted_st)
def test_why_a_run_waits_is_the_same_as_something_starts_and_once_it_runs(
    offers: list[Offer], wanted: list[Wanted]
) -> None:
    """Nobody asks anew until something ends: what was said at the start is what is read."""
    found = schedule_on(offers, wanted, 10.0)
    taken = {name for names in found.starts.values() for name in names}
    running = [replace(o, uses=(*o.uses, Use())) if o.name in taken else o for o in offers]
    left = [want for want in wanted if want.run_id not in found.starts]
    assume(not (later := schedule_on(running, left, 10.0)).starts)
    for run_id, why in later.waiting.items():
        if not (why.behind or found.waiting[run_id].behind):  # that is by how long runs take
            assert found.waiting[run_id] == why


@given(offers_st, wanted_st)
def test_a_run_names_no_busy_host_while_there_are_enough_that_nothing_runs_on(
    offers: list[Offer], wanted: list[Wanted]
) -> None:
    found = schedule_on(offers, wanted, 10.0)
    at_work = {o.name for o in offers if o.busy}.union(*found.starts.values())
    for want in wanted:
        why = found.waiting.get(want.run_id)
        if why is None:
            continue
        idle = [o for o in offers if o.fits(want) and not (o.unusable or o.name in at_work)]
        if why.kind is WaitKind.BUSY:
            assert len(idle) < want.nodes
        if why.behind:
            ahead = next(one for one in wanted if one.run_id == why.behind)
            assert ahead is not want
            assert ahead.run_id in found.waiting, "it waits itself"
            one_at_a_time = ahead.needs == want.needs  # they take more than half of the hosts
            assert one_at_a_time or len(idle) >= want.nodes


@given(
    busy=st.integers(0, 3), free=st.integers(0, 2), held=st.integers(1, 3), more=st.integers(0, 2)
)
def test_a_run_that_lacks_hosts_which_others_hold_names_those_of_our_own_that_it_needs_too(
    busy: int, free: int, held: int, more: int
) -> None:
    ours = [f"b{n}" for n in range(busy)]
    offers = [offer(name, busy=True) for name in ours]
    offers += [offer(f"f{n}") for n in range(free)]
    offers += [offer(f"h{n}", unusable="held by bob") for n in range(held)]
    nodes = busy + free + min(held, 1 + more)
    why = schedule_on(offers, [Wanted("r", nodes, 1)], 0.0).waiting["r"]
    assert why.kind is WaitKind.UNUSABLE
    assert why.busy == tuple(ours)
    said, brief = (waiting_text(why, 0.0, brief=brief) for brief in (False, True))
    for text in (said, brief):
        assert fold_nodeset(why.hosts) in text
        assert (bool(ours) and fold_nodeset(ours) in text) is bool(ours)
    assert (" and " in brief) is bool(ours)
