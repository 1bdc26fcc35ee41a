"""Slow ranks are named, all of them and no other, from the times that ranks take of their own."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from profiles.throughput.slow_ranks import WARM_UP, WINDOW, RankPaces, Slow

NOISE = 0.01
"""Of a single time, at most, up and down: whatever it is within that, the verdict is the same."""


def noise(most: float = NOISE) -> st.SearchStrategy[float]:
    return st.floats(-most, most)


def played(
    factors: Sequence[float], noises: Sequence[Sequence[float]], *, warm_up: Sequence[float] = ()
) -> tuple[RankPaces, tuple[Slow, ...]]:
    """Each rank tells its own times in turn; ``warm_up``: before them, of every rank its own."""
    paces = RankPaces(len(factors))
    now = 0.0
    for number in range(WARM_UP):
        for rank, factor in enumerate(factors):
            first = warm_up[rank] if warm_up else factor
            paces.take(rank, first * (number + 1), now)
    for step in range(len(noises[0])):
        now = float(step + 1)
        for rank, factor in enumerate(factors):
            paces.take(rank, 0.1 * factor * (1 + noises[rank][step]), now)
    return paces, paces.slow(now)


@st.composite
def runs(draw: st.DrawFn, most: float = NOISE) -> tuple[list[list[float]], int, list[float]]:
    """Noises of each rank and step, the world, and what each rank takes before it is warm."""
    world = draw(st.integers(2, 12))
    steps = draw(st.integers(WINDOW, WINDOW + 4))
    noises = [[draw(noise(most)) for _ in range(steps)] for _ in range(world)]
    return noises, world, [draw(st.floats(0.01, 100)) for _ in range(world)]


@given(runs(), st.data())
def test_ranks_that_are_slow_are_named_all_of_them_and_no_other(
    run: tuple[list[list[float]], int, list[float]], data: st.DataObject
) -> None:
    noises, world, cold = run
    slow = data.draw(st.sets(st.integers(0, world - 1), min_size=1, max_size=world // 2))
    by = {rank: data.draw(st.floats(0.10, 2.0)) for rank in slow}
    factors = [1 + by.get(rank, 0.0) for rank in range(world)]
    paces, named = played(factors, noises, warm_up=cold)
    assert paces.judged
    assert {one.rank for one in named} == slow
    for one in named:
        assert abs((1 + one.excess) / (1 + by[one.rank]) - 1) <= 2.1 * NOISE
        assert one.since <= len(noises[0])
    assert [one.excess for one in named] == sorted((o.excess for o in named), reverse=True)


@given(runs(most=0.02))
def test_noise_alone_names_nobody_and_the_warm_up_does_not_count(
    run: tuple[list[list[float]], int, list[float]],
) -> None:
    noises, world, cold = run
    paces, named = played([1.0] * world, noises, warm_up=cold)
    assert paces.judged
    assert named == ()


def test_nothing_is_said_before_enough_is_known() -> None:
    paces = RankPaces(4)
    for step in range(WARM_UP + WINDOW):
        assert not paces.judged
        assert paces.slow(0.0) == ()
        for rank in range(2):
            paces.take(rank, 1.0 + rank, float(step))
    assert paces.judged  # half of the ranks have told
    assert [slow.rank for slow in paces.slow(0.0)] == [1]
    alone = RankPaces(1)
    for step in range(20):
        alone.take(0, 1.0, float(step))
    assert not alone.judged


def test_since_when_and_until_when_a_rank_is_slow() -> None:
    paces = RankPaces(3)
    for step in range(60):
        for rank in range(3):
            slow = rank == 2 and 20 <= step < 40
            paces.take(rank, 1.3 if slow else 1.0, float(step))
        named = paces.slow(float(step))
        assert bool(named) == (20 + WINDOW // 2 <= step < 40 + WINDOW // 2)
        assert all((one.rank, one.since) == (2, 20.0) for one in named if step < 40)


def test_a_rank_is_slow_since_the_first_of_the_times_that_tell_it() -> None:
    """One that is usual between them, or only the last that is slow, makes that no shorter."""
    for usual_at in range(WINDOW):
        paces = RankPaces(3)
        for step in range(20):
            for rank in range(3):
                slow = rank == 2 and step >= 10 and step != 14 + usual_at
                paces.take(rank, 1.3 if slow else 1.0, float(step))
            for one in paces.slow(float(step)):
                assert one.since <= step - WINDOW // 2


TIMES = st.sampled_from([1.0, 1.0, 1.04, 1.3, 2.0, 7.0, -1.0, float("nan")])


@given(st.lists(st.tuples(st.integers(0, 4), TIMES), min_size=20, max_size=90))
def test_every_verdict_is_of_the_medians_of_what_each_rank_told_last(
    told: list[tuple[int, float]],
) -> None:
    """However they come: one rank often, another never."""
    paces = RankPaces(4)
    times: dict[int, list[float]] = {rank: [] for rank in range(4)}
    for rank, value in told:
        paces.take(rank, value, 0.0)
        if rank in times and value > 0:
            times[rank].append(value)
        last = {rank: all_[WARM_UP:][-WINDOW:] for rank, all_ in times.items()}
        medians = {r: statistics.median(some) for r, some in last.items() if len(some) == WINDOW}
        assert paces.judged is (len(medians) >= 2)
        for slow in paces.slow(0.0):
            assert slow.own_s == medians[slow.rank]
            assert slow.usual_s == statistics.median_low(medians.values())
            assert slow.excess == slow.own_s / slow.usual_s - 1


@given(st.lists(st.tuples(st.integers(-5, 9), st.floats(allow_nan=True)), max_size=80))
def test_no_times_of_any_quality_break_it(told: list[tuple[int, float]]) -> None:
    paces = RankPaces(4)
    for rank, value in told:
        paces.take(rank, value, 0.0)
    assert all(0 <= slow.rank < 4 for slow in paces.slow(0.0))
