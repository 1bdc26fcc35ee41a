"""The run's state machine and the fold of a journal, for any order of any events."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record import run_record
from backends.campaign.record.codec import decode, encode, merged
from backends.campaign.record.run_record import SERIES_POINTS, Series
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, RunState, apply, fold
from backends.hosts.preflight_finding import Bearing
from tests.unit.campaign.strategies import HOSTS, RUN_IDS, journals, planned, sampled

LEGAL = {
    RunState.PLANNED: {
        RunState.QUEUED,
        RunState.STARTING,
        RunState.RUNNING,  # and to its success: the line of its assignment is lost
        RunState.SUCCEEDED,
        RunState.FAILED,
        RunState.CANCELLED,
    },
    RunState.QUEUED: {
        RunState.PLANNED,
        RunState.STARTING,
        RunState.RUNNING,
        RunState.SUCCEEDED,
        RunState.FAILED,
        RunState.CANCELLED,
    },
    RunState.STARTING: {
        RunState.PLANNED,
        RunState.RUNNING,
        RunState.CANCELLING,
        RunState.SUCCEEDED,
        RunState.FAILED,
        RunState.CANCELLED,
    },
    RunState.RUNNING: {
        RunState.CANCELLING,
        RunState.SUCCEEDED,
        RunState.FAILED,
        RunState.CANCELLED,
    },
    RunState.CANCELLING: {RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED},
    RunState.SUCCEEDED: set(),
    RunState.FAILED: set(),
    RunState.CANCELLED: set(),
}


def assigned(run_id: str) -> ev.RunAssigned:
    return ev.RunAssigned(
        t=1.0, run_id=run_id, hosts=HOSTS, commands=("a", "b"), port=1, log="logs/x.log"
    )


def succeeded(run_id: str, **more: object) -> ev.RunSucceeded:
    values: dict[str, object] = {
        "t": 9.0,
        "run_id": run_id,
        "throughput": 7.0,
        "readings": 3,
        "used": 2,
        "window": "all readings",
        "statistic": "mean",
    }
    return ev.RunSucceeded(**{**values, **more})  # type: ignore[arg-type]


def readings(run_id: str, first: int, count: int) -> ev.ReadingsArrived:
    rows = tuple((float(i), 100.0 + i, 10.0 + i) for i in range(first, first + count))
    return ev.ReadingsArrived(t=1.0, run_id=run_id, first=first, readings=rows, warmup=1)


@given(journals)
def test_any_journal_gives_a_legal_life_of_every_run(journal: list[ev.Event]) -> None:
    states = [CampaignState()]
    for event in journal:
        states.append(apply(states[-1], event))
    for before, after in pairwise(states):
        assert set(before.runs) <= set(after.runs)
        for run_id, run in before.runs.items():
            now = after.runs[run_id].state
            assert now is run.state or now in LEGAL[run.state]
    for run in states[-1].runs.values():
        waits = run.state in (RunState.PLANNED, RunState.QUEUED)
        assert run.state.active + run.state.ended + waits == 1
        assert bool(run.hosts) or not run.state.active
        assert (run.throughput is not None) == (run.state is RunState.SUCCEEDED)
        assert not run.lost_hosts or run.state.active
        assert (run.ended_at is not None) == run.state.ended


@given(journals, st.integers(0, 40))
def test_a_journal_may_be_folded_in_two_parts(journal: list[ev.Event], cut: int) -> None:
    assert fold(journal[cut:], fold(journal[:cut])) == fold(journal)


@given(journals)
def test_folding_at_once_is_applying_one_by_one(journal: list[ev.Event]) -> None:
    assert fold(journal) == reduce(apply, journal, CampaignState())


@pytest.mark.parametrize("known", range(5))
def test_a_run_that_was_tried_again_has_ended_whatever_else_of_it_is_lost(known: int) -> None:
    """Else it would be executed once more, as the same."""
    first, again = RUN_IDS[1], RUN_IDS[2]
    readings_came = readings(first, 0, 3)
    told = [planned(first), assigned(first), ev.RunLaunched(t=2.0, run_id=first), readings_came]
    state = fold([*told[:1], *told[1:][:known], planned(again, 5.0)])
    assert state.runs[first].state is RunState.FAILED
    assert [run.run_id for run in state.latest_attempts()] == [again]


def _means(event: ev.Event, before: list[ev.Event]) -> bool:
    follows = isinstance(event, ev.HostVerified | ev.RunRequeued)
    return not follows or fold([event], fold(before)).runs != fold(before).runs


@given(journals)
def test_a_journal_that_is_replayed_twice_changes_no_run(journal: list[ev.Event]) -> None:
    """A copy of a journal at its own end (a careless merge) starts nothing and doubles nothing.

    Of what was looked for after an end only what followed an end, of what was queued again only
    what was there: their writer writes nothing else.
    """
    journal = [event for number, event in enumerate(journal) if _means(event, journal[:number])]
    once = fold(journal)
    ended = {run_id: run for run_id, run in once.runs.items() if run.state.ended}
    twice = fold(journal, once)
    assert {run_id: twice.runs[run_id] for run_id in ended} == ended
    assert set(twice.runs) == set(once.runs)


@given(journals)
def test_a_finished_campaign_has_no_open_run(journal: list[ev.Event]) -> None:
    state = fold(journal)
    assert not state.finished or all(run.state.ended for run in state.runs.values())


@given(st.permutations(list(range(6))), st.integers(0, 5))
def test_readings_count_once_however_often_they_arrive(order: list[int], doubled: int) -> None:
    run_id = RUN_IDS[0]
    batches = [readings(run_id, first, 4) for first in range(0, 20, 4)]
    state = fold([planned(run_id), assigned(run_id)])
    for index in [*order, *range(5), doubled, *range(5)]:
        if index < 5:
            state = apply(state, batches[index])
    run = state.runs[run_id]
    assert run.reading_count == 20
    assert list(run.series.values) == [100.0 + i for i in range(20)]
    assert run.last_throughput == 119.0


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 30)), max_size=12), st.booleans())
def test_thinned_readings_give_the_state_that_all_of_them_give(
    batches: list[tuple[int, int]], one_by_one: bool
) -> None:
    """However they are batched, and sent again from somewhere before."""
    run_id = RUN_IDS[0]
    begun = fold([planned(run_id), assigned(run_id)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_record, "SERIES_POINTS", 4)
        count = 0
        journal: list[ev.Event] = []
        for more, again in batches:
            first = max(0, count - again)
            count += more
            stride = run_record.stride_of(count)
            journal.append(sampled(run_id, first, count - first, stride))
        found = reduce(apply, journal, begun) if one_by_one else fold(journal, begun)
        merged_at_once = fold(merged(journal), begun)
        full = sampled(run_id, 0, count) if count else None
        expected = fold([] if full is None else [full], begun)
    assert found.runs[run_id] == merged_at_once.runs[run_id] == expected.runs[run_id]
    series = found.runs[run_id].series
    assert len(series) < 8
    assert list(series.values) == [100.0 + n for n in range(0, count, series.stride)]


def test_a_journal_of_every_reading_gives_the_same_state_as_one_of_thinned_ones() -> None:
    run_id = RUN_IDS[0]
    begun = fold([planned(run_id), assigned(run_id)])
    rows = tuple((float(n), 100.0 + n, float(n)) for n in range(5000))
    old = [
        ev.ReadingsArrived(t=1.0, run_id=run_id, first=n, readings=rows[n : n + 7], warmup=1)
        for n in range(0, 5000, 7)
    ]
    new = [sampled(run_id, n, 100, run_record.stride_of(n + 100)) for n in range(0, 5000, 100)]
    assert fold(old, begun) == fold(new, begun) == fold([*old[:100], *new], begun)
    assert sum(len(event.points) for event in new) < 3000


def test_a_gap_in_the_readings_is_not_papered_over() -> None:
    run_id = RUN_IDS[0]
    state = fold([planned(run_id), assigned(run_id), readings(run_id, 5, 3)])
    assert state.runs[run_id].reading_count == 0


def test_a_deferred_run_is_planned_again_and_keeps_nothing_of_its_hosts() -> None:
    run_id = RUN_IDS[0]
    state = fold([planned(run_id), assigned(run_id), ev.RunDeferred(t=2.0, run_id=run_id)])
    run = state.runs[run_id]
    assert (run.state, run.hosts, run.started_at) == (RunState.PLANNED, (), None)


@pytest.mark.parametrize("log", ["", "logs/there.log"])
def test_success_without_a_start_counts_only_in_an_imported_campaign(log: str) -> None:
    run_id = RUN_IDS[0]
    journal = [planned(run_id), succeeded(run_id, log=log)]
    assert fold(journal).runs[run_id].state is RunState.PLANNED
    begun = ev.CampaignCreated(t=0.0, campaign="c", imported=True)
    imported = fold([begun, *journal]).runs[run_id]
    assert (imported.state, imported.log) == (RunState.SUCCEEDED, log)


def test_the_latest_attempt_stands_for_a_repeat() -> None:
    first, second = RUN_IDS[1:]
    state = fold([planned(first), ev.RunFailed(t=1.0, run_id=first, reason="x"), planned(second)])
    assert [run.run_id for run in state.latest_attempts()] == [second]


@given(st.lists(st.integers(1, 400), max_size=12))
def test_a_series_is_thinned_the_same_in_any_batching(sizes: list[int]) -> None:
    total = sum(sizes)
    rows = [(None, float(i), float(i)) for i in range(total)]
    batched, start = Series(), 0
    for size in sizes:
        batched = batched.extended(start, size, 1, rows[start : start + size])
        start += size
    assert batched == Series().extended(0, total, 1, rows)
    assert len(batched) < 2 * SERIES_POINTS
    assert list(batched.values) == [float(i) for i in range(0, total, batched.stride)]


def test_what_journal_files_of_other_versions_say_more_is_skipped() -> None:
    assert apply(CampaignState(), ev.Event(t=1.0)) == CampaignState()


def test_what_preflight_warned_of_stands_beside_the_runs_that_it_is_about() -> None:
    """Of a journal that does not say which they are, beside all."""
    on_node2 = Bearing(hosts=(("node2",),))
    between = Bearing(hosts=(("node1",), ("node2",)), profiles=("p",))
    of_its_size, of_another = Bearing(tags=("2n1g",)), Bearing(tags=("9n9g",))
    begun = ev.CampaignCreated(
        t=0.0,
        campaign="c",
        warned=("load", "speed", "its size", "another", "old"),
        bearings=(on_node2, between, of_its_size, of_another),
    )
    assert decode(encode(begun)) == begun
    first = replace(assigned(RUN_IDS[0]), hosts=("node1",))
    second = replace(assigned(RUN_IDS[1]), hosts=("node1", "node2"))
    known = fold([begun, planned(RUN_IDS[0]), planned(RUN_IDS[1]), first, second])
    warned = {run.run_id: run.warned for run in run_results(known)}
    assert warned == {
        RUN_IDS[0]: ("its size", "old"),
        RUN_IDS[1]: ("load", "speed", "its size", "old"),
    }
