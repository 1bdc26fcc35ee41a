"""Runs that share hosts: never more than there are devices, and nobody loses by it."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from backends.engines.engine import Waiting, WaitKind, Wanted
from backends.engines.filling import Offer, Use
from backends.engines.hosts_schedule import ends_at, schedule_on, timeline
from profiles.format.host_capacity import HostCapacity
from tests.support.played_schedule import Played, play

DEVICES = 8


def hosts(count: int, devices: int = DEVICES) -> list[HostCapacity]:
    return [HostCapacity(f"node{n}", devices, None) for n in range(1, count + 1)]


def offers(count: int, *uses: Use) -> list[Offer]:
    """``uses``: of the first."""
    return [Offer(host, uses if not n else ()) for n, host in enumerate(hosts(count))]


def packed(run_id: str, gpus: int, seconds: float = 10.0, repeat: int = 1) -> Wanted:
    return Wanted(run_id, 1, gpus, repeat=repeat, expected_s=seconds, pack=True)


def wide(run_id: str, nodes: int, seconds: float = 10.0, repeat: int = 1) -> Wanted:
    return Wanted(run_id, nodes, DEVICES, repeat=repeat, expected_s=seconds)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[int, list[Wanted], dict[str, float]]:
    """Hosts, repeats of cases of which those of one host pack, and what each run takes."""
    count, repeats = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    settle_s = draw(st.sampled_from([0.0, 5.0]))
    case = st.tuples(st.integers(1, count), st.integers(1, DEVICES), st.integers(5, 60))
    cases = draw(st.lists(case, min_size=1, max_size=6))
    wanted = [
        Wanted(
            f"{number}#{repeat}",
            nodes,
            gpus,
            repeat=repeat,
            expected_s=float(seconds),
            settle_s=settle_s,
            pack=nodes == 1,
        )
        for repeat in range(1, repeats + 1)
        for number, (nodes, gpus, seconds) in enumerate(cases)
    ]
    late = draw(st.lists(st.floats(0.8, 1.2), min_size=len(wanted), max_size=len(wanted)))
    takes = {want.run_id: want.expected_s * by for want, by in zip(wanted, late, strict=True)}
    return count, wanted, takes


def taken(run: Played) -> int:
    return run.want.gpus_per_node if run.want.pack else DEVICES


def beside(run: Played, host: str, runs: list[Played]) -> list[Played]:
    """What is on the host when the run comes, settling included."""
    there = (one for one in runs if one is not run and host in one.hosts)
    return [one for one in there if one.start <= run.start < one.settled]


@given(matrices())
def test_no_host_has_more_than_its_devices_and_who_does_not_pack_is_alone(
    matrix: tuple[int, list[Wanted], dict[str, float]],
) -> None:
    count, wanted, takes = matrix
    runs = play(wanted, hosts(count), takes)
    assert sorted(one.want.run_id for one in runs) == sorted(want.run_id for want in wanted)
    for run in runs:
        assert len(set(run.hosts)) == run.want.nodes
        for host in run.hosts:
            others = beside(run, host, runs)
            assert taken(run) + sum(map(taken, others)) <= DEVICES


@given(matrices())
def test_nobody_shares_a_host_while_another_stays_idle(
    matrix: tuple[int, list[Wanted], dict[str, float]],
) -> None:
    count, wanted, takes = matrix
    runs = play([want for want in wanted if want.pack], hosts(count), takes)
    for run in runs:
        if beside(run, run.hosts[0], runs):
            there = (one for one in runs if one.start <= run.start < one.settled)
            assert len({name for one in there for name in one.hosts}) == count


@given(matrices())
def test_a_round_is_not_passed_by_the_round_after_the_next(
    matrix: tuple[int, list[Wanted], dict[str, float]],
) -> None:
    """On hosts that are all alike, where the first that waits holds all that there is room on: of
    runs that have their hosts alone, or on one host. Beside what it holds, rooms are filled."""
    count, wanted, takes = matrix
    alone = [replace(want, pack=False) for want in wanted]
    on_one = [want for want in wanted if want.pack]
    for some, number in ((alone, count), (on_one, 1)):
        runs = play(some, hosts(number), takes)
        for place, one in enumerate(runs):
            assert all(other.want.repeat <= one.want.repeat + 1 for other in runs[:place])


@given(matrices())
def test_the_timeline_is_what_comes_of_the_schedule(
    matrix: tuple[int, list[Wanted], dict[str, float]],
) -> None:
    count, wanted, _ = matrix
    runs = play(wanted, hosts(count), {want.run_id: want.expected_s for want in wanted})
    slots = timeline([Offer(host) for host in hosts(count)], wanted)
    assert {one.want.run_id: (one.hosts, one.start) for one in runs} == {
        run_id: (slot.hosts, slot.start) for run_id, slot in slots.items()
    }


@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 24))
def test_equal_runs_take_as_many_turns_as_fill_the_devices(
    gpus: int, count: int, runs: int
) -> None:
    wanted = [packed(str(number), gpus) for number in range(runs)]
    turns = math.ceil(runs / (count * (DEVICES // gpus)))
    assert ends_at(offers(count), wanted) == 10.0 * turns
    one_by_one = [Wanted(str(number), 1, gpus, expected_s=10.0) for number in range(runs)]
    assert ends_at(offers(count), one_by_one) == 10.0 * math.ceil(runs / count)


def test_eight_runs_go_on_a_host_of_eight_and_the_ninth_waits_for_it() -> None:
    found = schedule_on(offers(1), [packed(str(n), 1) for n in range(9)], 0.0)
    assert found.starts == {str(n): ("node1",) for n in range(8)}
    full = Use(50.0, devices=tuple(range(8)))
    found = schedule_on(offers(1, full), [packed("ninth", 1)], 0.0)
    assert found.waiting == {"ninth": Waiting(WaitKind.BUSY, ("node1",))}


def test_a_run_takes_the_host_with_the_fewest_devices_in_use() -> None:
    used = (Use(50.0, devices=(0,)), Use(50.0, devices=(3, 4)))
    found = schedule_on(offers(2, *used), [packed("a", 1), packed("b", 1), packed("c", 4)], 0.0)
    assert found.starts == {"c": ("node2",), "a": ("node1",), "b": ("node1",)}


def test_devices_that_rest_are_not_given_and_others_are() -> None:
    resting = Use(20.0, resting=True, devices=(0, 1, 2, 3, 4, 5))
    wanted = [packed("large", 4), packed("small", 2)]
    found = schedule_on(offers(1, resting), wanted, 5.0)
    assert (found.starts, found.next_at) == ({"small": ("node1",)}, 20.0)
    assert found.waiting == {"large": Waiting(WaitKind.BUSY, ("node1",))}
    assert schedule_on(offers(1, resting), wanted[:1], 5.0).waiting == {
        "large": Waiting(WaitKind.SETTLING, expected_at=20.0)
    }
    assert schedule_on(offers(1, resting), wanted, 20.0).starts.keys() == {"large", "small"}


def test_who_needs_a_whole_host_is_not_starved_by_small_ones() -> None:
    some = Use(100.0, devices=(0, 1))
    wanted = [wide("whole", 1, 60.0), packed("small", 1, 300.0)]
    found = schedule_on(offers(1, some), wanted, 0.0)
    assert not found.starts
    wanted = [wide("whole", 1, 60.0), packed("short", 1, 90.0)]
    assert schedule_on(offers(1, some), wanted, 0.0).starts == {"short": ("node1",)}


def test_a_host_whose_devices_are_not_known_is_shared_by_nobody() -> None:
    unknown = [Offer(HostCapacity("new", None, None))]
    found = schedule_on(unknown, [packed("a", 1), packed("b", 1)], 0.0)
    assert found.starts == {"a": ("new",)}
