"""Who is slow: those that were slowed, and no other, at the noise that the tolerance allows."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.precheck.slower import (
    differ,
    slow_ends,
    slower_than_before,
    slower_than_others,
)

TOLERANCE = 0.05
E = TOLERANCE / 2
"""The noise at which nobody is to be named: each value within ±e of the same."""
FOUND = 1 - (1 - E) * (1 - max(TOLERANCE, 10.4 * E / (1 - E))) + 2 * E
"""The loss that is found at that noise, as slower.py says."""


def noise(count: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(-E, E), min_size=count, max_size=count)


@st.composite
def slowed(draw: st.DrawFn) -> tuple[dict[str, float], set[str]]:
    """n values of which fewer than half lost so much that it has to be found."""
    count = draw(st.integers(3, 40))
    values = [1000 * (1 + e) for e in draw(noise(count))]
    some = draw(st.sets(st.integers(0, count - 1), max_size=(count - 1) // 2))
    for place in some:
        values[place] *= 1 - draw(st.floats(min(FOUND, 0.6), 1.0))
    names = {f"node{place}": value for place, value in enumerate(values)}
    return names, {f"node{place}" for place in some}


@given(slowed())
def test_all_that_were_slowed_are_named_and_no_other(case: tuple[dict[str, float], set[str]]):
    values, slow = case
    assert set(slower_than_others(values, TOLERANCE)) == slow


@given(st.integers(1, 40).flatmap(noise))
def test_at_the_stated_noise_nobody_is_named(noises: list[float]):
    values = {place: 1000 * (1 + e) for place, e in enumerate(noises)}
    assert slower_than_others(values, TOLERANCE) == {}


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=20), st.floats(0.01, 0.9))
def test_who_is_named_lies_below_the_median_by_more_than_the_tolerance(
    values: list[float], tolerance: float
):
    for place, than in slower_than_others(dict(enumerate(values)), tolerance).items():
        assert than.value == values[place] < (1 - tolerance) * than.usual
        assert than.loss > tolerance - 1e-9


def test_of_two_nobody_is_named_but_that_they_differ_is_said():
    values = {"node1": 100.0, "node2": 50.0}
    assert slower_than_others(values, 0.05) == {}
    assert slower_than_others({"node1": 100.0, "node2": 1.0}, 0.05) == {}
    found = differ(values, 0.05)
    assert found is not None
    assert (found[0], found[1].loss) == ("node2", 0.5)
    assert differ({"node1": 100.0, "node2": 97.0}, 0.05) is None
    assert differ({"node1": 100.0}, 0.05) is None


def test_of_three_one_is_named_though_three_values_scatter():
    assert set(slower_than_others({"a": 1.0, "b": 0.8, "c": 0.1}, 0.05)) == {"c"}
    assert slower_than_others({"a": 1.0, "b": 0.8, "c": 0.7}, 0.05) == {}


@given(st.lists(st.floats(-E, E), min_size=3, max_size=20), st.floats(min(FOUND, 0.6), 0.99))
def test_a_host_is_held_against_its_own_past(noises: list[float], loss: float):
    before = [1000 * (1 + e) for e in noises]
    assert slower_than_before(1000 * (1 - E), before, TOLERANCE) is None
    than = slower_than_before(1000 * (1 - loss), before, TOLERANCE)
    assert than is not None
    assert than.of == len(before)


def test_two_earlier_values_are_no_past():
    assert slower_than_before(1.0, [1000.0, 1000.0], TOLERANCE) is None


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[tuple[str, str], float], set[str], set[tuple[str, str]]]:
    """All pairs of hosts, of which fewer than half are slow with whomever; and some bad links of
    the others, fewer than half of those, that leave each of them a good one."""
    count = draw(st.integers(4, 9))
    hosts = [f"node{number}" for number in range(count)]
    slow = set(draw(st.lists(st.sampled_from(hosts), max_size=(count - 1) // 2, unique=True)))
    good = [host for host in hosts if host not in slow]
    links = list(combinations(good, 2))
    bad: set[tuple[str, str]] = set()
    for link in draw(st.lists(st.sampled_from(links), max_size=(len(links) - 1) // 2, unique=True)):
        ends = [sum(host in other for other in bad) for host in link]
        if max(ends) + 1 < len(good) - 1:
            bad.add(link)
    values = {}
    noises = iter(draw(noise(count * count)))
    for pair in combinations(hosts, 2):
        factor = 0.3 if set(pair) & slow or pair in bad else 1.0
        values[pair] = 1000 * factor * (1 + next(noises))
    return values, slow, bad


@given(pairs())
def test_slow_hosts_and_bad_links_are_told_apart(
    case: tuple[dict[tuple[str, str], float], set[str], set[tuple[str, str]]],
):
    values, slow, bad = case
    ends = slow_ends(values, TOLERANCE)
    assert (set(ends.hosts), set(ends.pairs)) == (slow, bad)


def test_three_hosts_tell_a_slow_host_from_a_bad_link():
    slow_c = slow_ends({("a", "b"): 10.0, ("a", "c"): 3.0, ("b", "c"): 3.0}, 0.15)
    assert (set(slow_c.hosts), set(slow_c.pairs)) == ({"c"}, set())
    bad_link = slow_ends({("a", "b"): 10.0, ("a", "c"): 10.0, ("b", "c"): 3.0}, 0.15)
    assert (set(bad_link.hosts), set(bad_link.pairs)) == (set(), {("b", "c")})


@pytest.mark.parametrize("value", [0.0, 3.0, 10.0])
def test_one_pair_alone_has_nothing_to_be_compared_with(value: float):
    ends = slow_ends({("a", "b"): value}, 0.15)
    assert (dict(ends.hosts), dict(ends.pairs)) == ({}, {})
