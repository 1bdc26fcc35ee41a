"""Repeats of a case that does not fit into memory are not run one after another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.artifacts import report_context
from backends.campaign.plan.does_not_fit import ENOUGH, NOT_RUN, repeats_in_vain
from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.plan.runs_to_retry import runs_to_retry
from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.run_results import run_results
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState, fold
from backends.campaign.record.status_view import take
from backends.results.attempts import planned_again, tried_again
from backends.results.campaign_report import render_report
from backends.results.case_result import CaseResult
from backends.results.summary import Group, summarise
from backends.results.unsuccessful_words import unsuccessful_line
from profiles.errors import SelectionError
from profiles.logs.failures import OUT_OF_GPU_MEMORY
from tests.unit.campaign.test_further_repeats import planned, ran

REASONS = {
    "gpu": ev.RunFailed(t=9.0, run_id="", reason=OUT_OF_GPU_MEMORY, category=Cause.NAMED),
    "host": ev.RunFailed(t=9.0, run_id="", reason="node1: 2", category=Cause.OUT_OF_MEMORY),
    "other": ev.RunFailed(t=9.0, run_id="", reason="NCCL failed", category=Cause.NAMED),
}
OUT = ("gpu", "host")


def ids(repeats: int) -> list[str]:
    return [f"abcd-{number:04d}-a1" for number in range(1, repeats + 1)]


def campaign(ends: Sequence[str], repeats: int = 7) -> CampaignState:
    """Of two cases; those repeats of the first that ended did so like this."""
    events: list[ev.Event] = [planned("1n1g", number, number) for number in range(1, repeats + 1)]
    events += [planned("1n2g", 1, repeats + 1)]
    for run_id, end in zip(ids(repeats), ends, strict=False):
        events += ran(run_id, 1.0, 5.0)[: 2 if end == "good" else 1]
        if end != "good":
            events.append(_named(run_id, REASONS[end]))
    return fold(events)


def _named(run_id: str, end: ev.RunFailed) -> ev.RunFailed:
    return ev.RunFailed(t=end.t, run_id=run_id, reason=end.reason, category=end.category)


@given(st.lists(st.sampled_from(["gpu", "host", "other", "good"]), min_size=1, max_size=6))
def test_what_has_not_begun_is_not_run_once_two_were_out_of_memory_and_none_succeeded(
    ends: list[str],
) -> None:
    state = campaign(ends)
    found = repeats_in_vain(state, state.runs[ids(7)[len(ends) - 1]], (), 20.0)
    out = sum(end in OUT for end in ends)
    hopeless = ends[-1] in OUT and out >= ENOUGH and "good" not in ends
    assert [event.run_id for event in found] == (ids(7)[len(ends) :] if hopeless else [])
    assert all(event.reason == NOT_RUN for event in found)


def test_what_is_under_way_or_paused_is_left_alone() -> None:
    state = fold([ev.RunPaused(t=5.0, run_id=ids(7)[3])], campaign(["gpu", "gpu"]))
    found = repeats_in_vain(state, state.runs[ids(7)[1]], {ids(7)[2]}, 20.0)
    assert [event.run_id for event in found] == ids(7)[4:]


def test_the_results_say_why_there_are_no_further_repeats_and_retry_runs_them() -> None:
    state = campaign(["gpu", "gpu"])
    spared = repeats_in_vain(state, state.runs[ids(7)[1]], (), 20.0)
    state = fold([*spared, *ran("abcd-0008-a1", 1.0, 9.0)], state)
    results = [case for group in summarise(run_results(state)) for case in group.cases]
    assert {case.case: case.stopped for case in results} == {"1n1g": "failing", "1n2g": "asked"}
    assert set(runs_to_retry(state, None)) == set(ids(7))
    state = fold([next_attempt(state.runs[run_id], 30.0) for run_id in ids(7)], state)
    again = f"{ids(7)[0][:-1]}2"
    state = fold([ran(again, 40.0, None)[0], _named(again, REASONS["gpu"])], state)
    assert state.runs[again].state is RunState.FAILED
    assert not repeats_in_vain(state, state.runs[again], (), 50.0), "one alone tells nothing"


@given(st.integers(2, 6), st.integers(1, 4), st.booleans())
def test_what_was_not_begun_is_told_as_no_failure_and_no_attempt(
    begun: int, left: int, again: bool
) -> None:
    every = ids(begun + left)
    state = campaign(["gpu"] * begun, len(every))
    state = fold(repeats_in_vain(state, state.runs[every[begun - 1]], (), 20.0), state)
    state = fold([ev.RunCancelled(t=21.0, run_id=f"abcd-{len(every) + 1:04d}-a1")], state)
    case, group = _first(state)
    assert unsuccessful_line(case)[0] == (
        f"{begun} of {len(every)} repeats did not succeed, {left} {'was' if left == 1 else 'were'} "
        "never started; they count for nothing"
    )
    assert (
        f"{begun} failed · {left} not begun · 1 skipped" in take(state, Path("c"), now=40.0).summary
    )
    report = render_report(report_context(state, Path("c")), run_results(state), [group], "en")
    assert "failed, not run" not in report
    assert report.count("  - #") == len(every)
    if again:
        state = fold([next_attempt(state.runs[run_id], 30.0) for run_id in every], state)
        for one in every:
            state = fold(ran(f"{one[:-1]}2", 40.0, 50.0), state)
        case, group = _first(state)
        assert {run.repeat for run in case.retried_runs} == set(range(1, begun + 1))
        latest = state.latest_attempts()
        assert tried_again(state.runs.values(), latest) == begun
        assert planned_again(state.runs.values(), latest) == left
        assert {state.runs[f"{one[:-1]}2"].attempt_words for one in every} == {"attempt 2"}


def _first(state: CampaignState) -> tuple[CaseResult, Group]:
    [found] = [
        (case, group)
        for group in summarise(run_results(state))
        for case in group.cases
        if case.case == "1n1g"
    ]
    return found


def test_who_retries_where_none_has_failed_is_told_how_a_cancelled_run_is_named() -> None:
    cancelled = ids(7)[2]
    state = fold([ev.RunCancelled(t=9.0, run_id=cancelled)], campaign([]))
    with pytest.raises(SelectionError) as refused:
        runs_to_retry(state, None)
    assert refused.value.remedy.endswith(f"--run {cancelled}")
