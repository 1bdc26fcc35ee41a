"""Who breaks a collective: a host, two that only fail together, and what that costs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from backends.precheck.bisection import Culprits, find_culprits


class Collective:
    """Fails for a group that holds a bad host, or all of a bad set."""

    def __init__(self, bad: Sequence[frozenset[str]], fewest: int = 2) -> None:
        self._bad = bad
        self._fewest = fewest
        self.groups = 0
        self.at_once: list[Sequence[tuple[str, ...]]] = []

    async def broken(self, groups: Sequence[tuple[str, ...]]) -> list[bool]:
        self.at_once.append(groups)
        self.groups += len(groups)
        return [
            len(group) >= self._fewest and any(bad <= set(group) for bad in self._bad)
            for group in groups
        ]


def search(hosts: Sequence[str], collective: Collective, most: int = 1000) -> Culprits:
    return asyncio.run(find_culprits(hosts, collective.broken, most_tries=most))


def names(count: int) -> list[str]:
    return [f"node{number}" for number in range(count)]


@given(st.integers(3, 64), st.data())
def test_one_bad_host_is_found_in_about_two_runs_a_halving(count: int, data: st.DataObject):
    bad = data.draw(st.sampled_from(names(count)))
    collective = Collective([frozenset({bad})])
    found = search(names(count), collective)
    assert (found.hosts, found.certain) == ((bad,), True)
    assert found.tries == collective.groups <= 2 * count.bit_length() + 5


@given(st.integers(3, 5), st.integers(10, 40), st.data())
def test_a_host_is_found_that_works_in_every_pair_and_breaks_what_several_do(
    fewest: int, count: int, data: st.DataObject
):
    bad = data.draw(st.sampled_from(names(count)))
    found = search(names(count), Collective([frozenset({bad})], fewest))
    assert (found.hosts, found.certain) == ((bad,), True)


@given(st.integers(4, 24), st.data())
def test_two_that_fail_only_together_are_found_together(count: int, data: st.DataObject):
    bad = data.draw(st.lists(st.sampled_from(names(count)), min_size=2, max_size=2, unique=True))
    found = search(names(count), Collective([frozenset(bad)]))
    assert set(found.hosts) == set(bad)


@given(st.integers(4, 24), st.data())
def test_of_several_bad_hosts_one_is_found(count: int, data: st.DataObject):
    most = max(2, count // 2 - 1)
    bad = data.draw(st.sets(st.sampled_from(names(count)), min_size=2, max_size=most))
    found = search(names(count), Collective([frozenset({host}) for host in bad]))
    assert set(found.hosts) & bad


@given(st.integers(3, 32), st.integers(0, 6), st.data())
def test_no_more_is_run_than_may_be_and_then_the_answer_is_not_certain(
    count: int, most: int, data: st.DataObject
):
    bad = data.draw(st.sampled_from(names(count)))
    collective = Collective([frozenset({bad})])
    found = search(names(count), collective, most)
    assert collective.groups <= most
    assert bad in found.hosts
    assert found.certain == (found.hosts == (bad,))


@given(st.integers(3, 24), st.data())
def test_groups_at_the_same_time_share_no_host_and_none_is_alone(count: int, data: st.DataObject):
    bad = data.draw(st.sampled_from(names(count)))
    collective = Collective([frozenset({bad})])
    search(names(count), collective)
    for groups in collective.at_once:
        busy = [host for group in groups for host in group]
        assert len(busy) == len(set(busy))
        assert all(len(group) >= 2 for group in groups)
