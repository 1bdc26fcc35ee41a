"""However often its runs were tried, a campaign has one number of runs wherever it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.bundle import Bundle
from backends.campaign.folder.whole_report import cite_of
from backends.campaign.record import events as ev
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, fold
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.results.attempts import latest_attempts, tried_again
from tests.unit.campaign.strategies import planned
from tui.cli.shared.campaign_rows import most_telling
from tui.kept_words import titled
from tui.screens.run_text import RunRows, summary

attempts = st.lists(st.integers(1, 4), min_size=1, max_size=9)


def retried(attempts: list[int]) -> Iterator[ev.Event]:
    """Runs with so many attempts, of which the last is still to come."""
    yield ev.CampaignCreated(t=0.0, campaign="c", version="1")
    for repeat, many in enumerate(attempts, 1):
        for attempt in range(1, many + 1):
            yield planned(f"r-000{repeat}-a{attempt}")


def state_of(attempts: list[int]) -> CampaignState:
    return fold(list(retried(attempts)))


def shown_of(attempts: list[int]) -> CampaignSnapshot:
    return take(state_of(attempts), Path("c"), now=9.0)


@given(attempts)
def test_a_run_is_counted_once_and_that_it_was_tried_again_is_told_apart(
    attempts: list[int],
) -> None:
    state, shown = state_of(attempts), shown_of(attempts)
    runs, again = len(attempts), sum(many > 1 for many in attempts)
    assert len(state.runs) == sum(attempts)
    assert (shown.total, shown.tried_again) == (runs, again)
    results = run_results(state)
    latest = latest_attempts(results)
    assert (len(latest), tried_again(results, latest)) == (runs, again)
    assert f"of {runs} run" in state.unfinished
    assert f"({runs} run" in cite_of(state, Bundle(Path("c.tar"), "0"))
    said = f"{again} tried again"
    assert (said in titled(shown)) is (said in summary(shown).plain) is (again > 0)
    assert sum(not row.replaced for row in RunRows()(shown)) == runs


@given(attempts, st.integers(1, 12))
def test_what_has_no_room_is_counted_in_runs(attempts: list[int], room: int) -> None:
    told, more = most_telling(shown_of(attempts), room)
    last = {run.run_id for run in shown_of(attempts).state.latest_attempts()}
    assert len([run for run in told if run.run_id in last]) + more == len(attempts)
