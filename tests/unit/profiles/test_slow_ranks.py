"""Slow ranks are named, all of them and no other, from the times that ranks take of their own."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.throughput.slow_ranks import KEPT, WARM_UP, WINDOW, RankPaces, Slow

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
            paces.take(rank, number + 1, first * (number + 1), now)
    for step in range(len(noises[0])):
        now = float(step + 1)
        for rank, factor in enumerate(factors):
            own_s = 0.1 * factor * (1 + noises[rank][step])
            paces.take(rank, WARM_UP + step + 1, own_s, now)
    return paces, paces.slow()


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
    assert {one.rank for one in named if one.until is None} == slow == {one.rank for one in named}
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


def test_nothing_is_said_before_all_ranks_have_told_of_enough_steps() -> None:
    paces = RankPaces(4)
    for step in range(1, WARM_UP + WINDOW + 1):
        for rank in (0, 1, 3):
            paces.take(rank, step, 1.0 + rank, float(step))
    assert (paces.judged, paces.slow()) == (False, ())
    for step in range(1, WARM_UP + WINDOW + 1):
        assert (paces.judged, paces.slow()) == (False, ())
        paces.take(2, step, 9.0, float(step))
    assert paces.judged
    assert [slow.rank for slow in paces.slow()] == [2, 3]
    alone = RankPaces(1)
    for step in range(1, 20):
        alone.take(0, step, 1.0, float(step))
    assert alone.slow() == ()


def test_since_when_and_until_when_a_rank_is_slow() -> None:
    paces = RankPaces(3)
    for step in range(60):
        for rank in range(3):
            slow = rank == 2 and 20 <= step < 40
            paces.take(rank, step + 1, 1.3 if slow else 1.0, float(step))
        named = paces.slow()
        now = [one for one in named if one.until is None]
        assert bool(now) == (20 + WINDOW // 2 <= step < 40 + WINDOW // 2)
        assert all((one.rank, one.since) == (2, 20.0) for one in named)
    [over] = paces.slow(ended=True)
    assert (over.since, over.until, over.steps) == (20.0, 39.0, (21, 40))


def test_a_rank_is_slow_since_the_first_of_the_times_that_tell_it() -> None:
    """One that is usual between them, or only the last that is slow, makes that no shorter."""
    for usual_at in range(WINDOW):
        paces = RankPaces(3)
        for step in range(20):
            for rank in range(3):
                slow = rank == 2 and step >= 10 and step != 14 + usual_at
                paces.take(rank, step + 1, 1.3 if slow else 1.0, float(step))
            for one in paces.slow():
                assert one.since <= step - WINDOW // 2


@given(st.lists(st.integers(8, 9) | st.integers(0, 6), min_size=20, max_size=80), st.data())
def test_of_steps_of_which_each_rank_told_otherwise_grouped_the_verdict_is_the_same(
    slow_by: list[int], data: st.DataObject
) -> None:
    """Ranks that print by their own clocks tell of a step in lines that end at different steps."""
    factors = [1.0, 1.1 + slow_by[0] / 10, 1.02]
    paces = RankPaces(3)
    for rank, factor in enumerate(factors):
        step = 0
        for _ in slow_by:
            step += data.draw(st.integers(5, 7))
            paces.take(rank, step, factor, 1.0)
    [slow] = paces.slow(ended=True)
    assert slow.rank == 1
    assert slow.excess == pytest.approx(factors[1] / 1.01 - 1)


TIMES = st.sampled_from([1.0, 1.0, 1.04, 1.3, 2.0, 7.0])


@given(st.lists(st.tuples(TIMES, TIMES, TIMES, TIMES), min_size=8, max_size=40))
def test_every_verdict_is_of_the_medians_of_the_last_times_of_all(
    told: list[tuple[float, ...]],
) -> None:
    paces = RankPaces(4)
    for step, times in enumerate(told, 1):
        for rank, own_s in enumerate(times):
            paces.take(rank, step, own_s, 0.0)
        last = told[WARM_UP:step][-WINDOW:]
        assert paces.judged is (len(last) == WINDOW)
        medians = [statistics.median(own) for own in zip(*last, strict=True)] if last else []
        for slow in paces.slow():
            if slow.until is None:
                assert slow.steps == (step - WINDOW + 1, step)
                assert slow.own_s == medians[slow.rank]
                others = medians[: slow.rank] + medians[slow.rank + 1 :]
                assert slow.usual_s == statistics.median(others)
                assert slow.excess == slow.own_s / slow.usual_s - 1
        assert sum(slow.until is None for slow in paces.slow()) <= 2


@given(
    st.lists(
        st.tuples(st.integers(-5, 9), st.integers(-3, 40), st.floats(allow_nan=True)), max_size=80
    )
)
def test_no_times_of_any_quality_break_it(told: list[tuple[int, int, float]]) -> None:
    paces = RankPaces(4)
    for rank, step, value in told:
        paces.take(rank, step, value, 0.0)
    assert all(0 <= slow.rank < 4 for slow in paces.slow(ended=True))


def test_of_a_rank_that_never_tells_little_is_kept_and_what_is_over_is_not_forgotten() -> None:
    paces = RankPaces(3)
    for step in range(1, 3 * KEPT):
        for rank in range(3):
            paces.take(rank, step, 1.3 if rank == 1 and 100 < step <= 200 else 1.0, float(step))
    [over] = paces.slow(ended=True)
    assert (over.rank, over.steps) == (1, (101, 200))
    silent = RankPaces(2)
    for step in range(1, 2 * KEPT):
        silent.take(0, step, 1.0, 0.0)
    assert len(silent._told[0]) == KEPT
    for step in range(1, 2 * KEPT):
        silent.take(1, step, 2.0, 0.0)
    [slow] = silent.slow()
    assert (slow.rank, slow.excess) == (1, 1.0)
