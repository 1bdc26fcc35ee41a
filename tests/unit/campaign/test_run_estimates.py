"""What runs of a case are expected to take where cases of the same parameters were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.run_estimates import MARGIN, STEPS
from backends.campaign.record.state import CampaignState, fold
from backends.campaign.record.status_view import Kept
from profiles.durations import format_duration
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_snapshot import A, shown, view
from tests.unit.campaign.test_campaign_state import assigned, succeeded

BEGAN = 500.0
WAITS = "r-0002-a1"


def campaign(
    expected_s: float, alike: Sequence[float], others: Sequence[float] = (), *, waits: bool = False
) -> CampaignState:
    """A first run of a case, at work since ``BEGAN``, of which so many seconds were expected;
    before it runs of ``alike``, on one host fewer, and of another precision took so many."""
    first = planned(A, expected_s=expected_s)
    other_precision = {**first.parameters, "precision": "fp32"}
    journal: list[ev.Event] = [first]
    for number, took in enumerate((*alike, *others), 10):
        run_id = f"r-{number:04}-a1"
        own = first.parameters if number < 10 + len(alike) else other_precision
        other = replace(first, run_id=run_id, repeat=number, nodes=1, parameters=own)
        begun = [replace(assigned(run_id), t=1.0), ev.RunLaunched(t=1.0, run_id=run_id)]
        journal += [other, *begun, replace(succeeded(run_id), t=1.0 + took)]
    journal += [planned(WAITS, expected_s=expected_s)] if waits else []
    begun = [replace(assigned(A), t=BEGAN), ev.RunLaunched(t=BEGAN, run_id=A)]
    return fold([*journal, *begun])


def test_a_first_run_is_expected_to_take_what_its_parameters_took_on_other_sizes() -> None:
    state = campaign(300.0, [95.0, 100.0, 105.0])
    seen = view(shown(state, BEGAN + 65.0), A)
    assert (seen.progress, seen.eta_s) == (pytest.approx(0.65), pytest.approx(35.0))
    assert shown(state, BEGAN + 65.0).eta_s == pytest.approx(35.0)


times = st.lists(st.floats(0.5, 400.0), min_size=1, max_size=5)


@given(
    alike=times,
    others=times | st.just([]),
    expected_s=st.sampled_from([60.0, 240.0]),
    looks=st.lists(st.floats(0.0, 500.0), min_size=2, max_size=12),
    reads=st.booleans(),
    waits=st.booleans(),
)
def test_the_end_of_a_first_run_moves_away_steadily_until_it_is_due_by_its_profile(
    *,
    alike: list[float],
    others: list[float],
    expected_s: float,
    looks: list[float],
    reads: bool,
    waits: bool,
) -> None:
    """However fast those of its parameters were: they are on other sizes. ``reads``: a reading
    comes whenever it is looked at; ``waits``: another run of its case is to come."""
    usual = median(alike)
    due = max(usual, expected_s)
    overdue = due * (1 + MARGIN)
    state, kept = campaign(expected_s, alike, others, waits=waits), Kept()
    share, end, came = 0.0, 0.0, 0
    for passed in sorted(looks):
        if passed in (pytest.approx(due), pytest.approx(overdue)):
            continue  # which of both it is then is nobody's business
        now = BEGAN + passed
        if reads:
            told = ((float(came), 100.0, now),)
            state = fold([ev.ReadingsArrived(t=now, run_id=A, first=came, readings=told)], state)
            came += 1
        whole = shown(state, now, kept=kept)
        run = view(whole, A)
        assert run.outlived == (run.silent_s is None and passed >= overdue)
        if run.silent_s is None:
            grown = run.progress if run.progress is not None else 1.0
            assert share - 1e-9 <= grown <= 1.0
            share = grown
        if passed >= overdue or run.silent_s is not None:
            assert (run.eta_s, whole.eta_s) == (None, None)
            continue
        if passed > due:
            assert (run.progress, run.eta_s) == (1.0, 0.0)
            for told_now in (whole, shown(state, now)):
                assert told_now.eta_s == pytest.approx(usual * waits, abs=1e-6), "of the others"
            continue
        assert run.eta_s is not None
        assert whole.eta_s is not None
        assert run.eta_s >= 0.0
        assert max(usual, end) - 1e-6 <= passed + run.eta_s <= due + 1e-6
        end = passed + run.eta_s
        if passed < 0.9 * usual:
            assert end == pytest.approx(usual)
        assert run.progress == pytest.approx(passed / end)
        anew = shown(state, now).eta_s
        assert anew is not None
        assert abs(whole.eta_s - anew) <= (due - usual) / STEPS + 1e-6
        assert whole.eta_s >= run.eta_s - 1e-6
        if not waits:
            assert whole.eta_s == pytest.approx(run.eta_s, abs=1e-6)


@given(
    due=st.floats(5.0, 5000.0),
    late=st.lists(st.floats(0.001, MARGIN - 0.001), min_size=2, max_size=9),
    waits=st.booleans(),
)
def test_the_eta_stands_still_while_a_run_is_late_and_is_given_up_when_it_is_overdue(
    *, due: float, late: list[float], waits: bool
) -> None:
    state, kept = campaign(due, [], waits=waits), Kept()
    for share in sorted(late):
        now = shown(state, BEGAN + due * (1 + share), kept=kept)
        assert now.eta_s == pytest.approx(due * waits), "what the others take"
        assert (now.no_eta, view(now, A).outlived) == ("", False)
    over = shown(state, BEGAN + due * (1 + MARGIN) + 0.01, kept=kept)
    assert (over.no_eta, over.eta_s) == ("a run is overdue", None)
    assert view(over, A).outlived


@given(due=st.floats(5.0, 5000.0), late=st.floats(0.0, MARGIN))
def test_a_late_run_tells_how_long_all_of_it_was_expected_to_take(due: float, late: float) -> None:
    came = ev.ReadingsArrived(t=BEGAN, run_id=A, first=0, readings=((1, 5.0, BEGAN),))
    now = shown(fold([came], campaign(due, [])), BEGAN + due * (1 + late) + 0.01)
    assert view(now, A).brief == f"expected ≈{format_duration(due)}"


@given(alike=times | st.just([]), others=times)
def test_what_waits_is_expected_to_take_what_its_parameters_did_else_what_any_did(
    alike: list[float], others: list[float]
) -> None:
    state = campaign(60.0, alike, others)
    waiting = fold([ev.RunCancelled(t=BEGAN, run_id=A), planned(WAITS, expected_s=60.0)], state)
    assert shown(waiting, BEGAN).eta_s == pytest.approx(median(alike or others))
