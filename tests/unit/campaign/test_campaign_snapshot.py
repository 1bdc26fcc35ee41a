"""What screens are shown of a campaign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.state import CampaignState, fold
from backends.campaign.record.status_view import CampaignSnapshot, RunView, take
from backends.engines.engine import Waiting, WaitKind
from tests.unit.campaign.strategies import RUN_IDS, planned
from tests.unit.campaign.test_campaign_state import assigned, readings, succeeded

A, B = "r-0001-a1", "r-0002-a1"


def shown(state: CampaignState, now: float, **more: object) -> CampaignSnapshot:
    values: dict[str, object] = {"expected_s": {}}
    return take(state, Path("/c"), now=now, **{**values, **more})  # type: ignore[arg-type]


def view(snapshot: CampaignSnapshot, run_id: str) -> RunView:
    return next(view for view in snapshot.runs if view.run_id == run_id)


def test_a_lost_connection_is_told_with_its_age() -> None:
    lost = ev.ContactChanged(t=100.0, run_id=A, host="node2", lost=True, reason="connection lost")
    state = fold([planned(A), assigned(A), ev.RunLaunched(t=2.0, run_id=A), lost])
    assert view(shown(state, 112.0), A).state_text == "node2: connection lost 12s ago, retrying"
    back = ev.ContactChanged(t=120.0, run_id=A, host="node2", lost=False)
    assert view(shown(fold([back], state), 121.0), A).state_text == "running"


def test_a_waiting_run_says_what_for() -> None:
    state = fold([planned(A)])
    assert view(shown(state, 0.0), A).state_text == "planned"
    why = Waiting(WaitKind.UNUSABLE, ("node3",), "held by bob")
    waiting = shown(state, 0.0, waiting={A: why})
    assert view(waiting, A).state_text == "waiting for node3: held by bob"
    queued = fold([ev.RunQueued(t=1.0, run_id=A, job_id="17")], state)
    assert view(shown(queued, 2.0), A).state_text == "queued"
    priority = {A: Waiting(WaitKind.QUEUED, detail="Priority")}
    assert view(shown(queued, 2.0, waiting=priority), A).state_text == "queued: Priority"


@given(st.floats(0, 2e9), st.floats(0, 1e6), st.floats(0, 2e9))
def test_a_retry_is_never_told_or_made_to_wait_longer_than_was_meant(
    planned_at: float, delay_s: float, now: float
) -> None:
    again = replace(planned(RUN_IDS[2], planned_at), not_before=planned_at + delay_s)
    run = fold([again]).runs[RUN_IDS[2]]
    assert 0.0 <= run.delay_s(now) <= delay_s + 1e-6
    if now >= planned_at:
        assert run.delay_s(now) == pytest.approx(max(0.0, planned_at + delay_s - now), abs=1e-6)
    assert fold([planned(A, planned_at)]).runs[A].delay_s(now) == 0.0


def test_the_estimate_is_the_profiles_until_the_campaign_has_its_own() -> None:
    state = fold([planned(A), planned(B), assigned(A)])
    assert shown(state, 5.0).eta_s is None
    assert shown(state, 5.0, expected_s={"p": 20.0}).eta_s == pytest.approx(16.0 + 20.0)
    state = fold([succeeded(A, t=31.0)], state)
    assert shown(state, 31.0, expected_s={"p": 20.0}).eta_s == pytest.approx(30.0)


def test_the_chart_shows_what_runs_else_what_ran_last() -> None:
    state = fold([planned(A), assigned(A), readings(A, 0, 4), planned(B)])
    [series] = shown(state, 20.0).series
    assert (series.run_id, series.warmup) == (A, 1)
    assert series.points[0] == (9.0, 100.0)
    state = fold([succeeded(A), assigned(B), readings(B, 0, 2)], state)
    assert [series.run_id for series in shown(state, 20.0).series] == [B]
    state = fold([succeeded(B)], state)
    assert [series.run_id for series in shown(state, 20.0).series] == [A]


def test_the_header_counts_repeats_and_not_attempts() -> None:
    first, second = RUN_IDS[1:]
    failed = ev.RunFailed(t=3.0, run_id=first, reason="x", retry="now")
    state = fold([planned(A), assigned(A), succeeded(A), planned(first), failed])
    assert shown(state, 3.0).summary == "2/2 runs · 1 failed"
    state = fold([planned(second)], state)
    assert shown(state, 3.0).summary == "1/2 runs · ETA 8s"
    assert view(shown(state, 3.0), second).label.endswith("#2 attempt 2")


def test_a_problem_that_no_journal_can_hold_is_shown_all_the_same() -> None:
    noted = shown(fold([planned(A)]), 3.0).with_note(3.0, "disk full")
    assert noted.notes == ((3.0, "stop", "disk full"),)
