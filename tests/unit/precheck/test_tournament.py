"""Pairs: every one once, all hosts of a round at the same time, and a bounded number of rounds."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from backends.precheck.tournament import disjoint, tournament

COUNTS = st.integers(0, 40)


def hosts(count: int) -> list[str]:
    return [f"node{number}" for number in range(1, count + 1)]


@given(COUNTS)
def test_every_pair_meets_once_in_as_few_rounds_as_can_be(count: int):
    rounds = tournament(hosts(count), most=100)
    met = [pair for pairs in rounds for pair in pairs]
    assert sorted(met) == sorted(combinations(hosts(count), 2))
    assert len(rounds) == (0 if count < 2 else count - 1 + count % 2)


@given(COUNTS, st.integers(0, 12))
def test_no_host_is_twice_in_a_round_and_there_are_no_more_rounds_than_may_be(
    count: int, most: int
):
    rounds = tournament(hosts(count), most)
    assert len(rounds) <= most
    for pairs in rounds:
        busy = [host for pair in pairs for host in pair]
        assert len(busy) == len(set(busy))
        assert len(pairs) == count // 2


@given(st.integers(8, 40), st.integers(4, 7))
def test_with_fewer_rounds_every_host_still_has_several_partners(count: int, most: int):
    met = [pair for pairs in tournament(hosts(count), most) for pair in pairs]
    assert len(met) == len(set(met))
    for host in hosts(count):
        assert sum(host in pair for pair in met) >= most - 1  # one rest, where they are odd


@given(st.integers(2, 9).flatmap(lambda n: st.lists(st.sampled_from([*combinations(hosts(n), 2)]))))
def test_any_pairs_are_put_into_rounds_without_a_host_twice(pairs: list[tuple[str, str]]):
    rounds = disjoint(pairs)
    assert sorted(pair for some in rounds for pair in some) == sorted(pairs)
    for some in rounds:
        busy = [host for pair in some for host in pair]
        assert len(busy) == len(set(busy))
