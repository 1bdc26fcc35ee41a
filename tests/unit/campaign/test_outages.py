"""An outage of a host is told of its campaign, with what became of the runs there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.artifacts import report_context, rewrite_results
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.record.codec import encode
from backends.campaign.record.outages import MOST_KEPT, outage_text
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState, fold
from backends.campaign.record.status_view import take
from tests.unit.campaign.strategies import HOSTS, journals, planned
from tests.unit.campaign.test_campaign_state import assigned, succeeded
from tui.cli import main

A, B = "r-0001-a1", "r-0002-a1"
NODE = HOSTS[0]
T0 = 1795845600.0  # 2026-11-28 06:00:00 UTC


def contact(run_id: str, t: float, *, lost: bool, host: str = NODE) -> ev.ContactChanged:
    return ev.ContactChanged(t=T0 + t, run_id=run_id, host=host, lost=lost, reason="refused" * lost)


def begun(*runs: str) -> list[ev.Event]:
    events: list[ev.Event] = [ev.CampaignCreated(t=T0, campaign="c")]
    for run_id in runs:
        events += [
            replace(planned(run_id), t=T0),
            replace(assigned(run_id), t=T0),
            ev.RunLaunched(t=T0, run_id=run_id),
        ]
    return events


def failed(run_id: str, t: float) -> ev.RunFailed:
    return ev.RunFailed(t=T0 + t, run_id=run_id, reason=f"{NODE} is out of reach")


def told(state: CampaignState) -> list[str]:
    return [text for _, _, text in state.notes_of_outages]


def test_it_says_which_host_from_when_to_when_and_what_became_of_its_runs():
    events = [
        *begun(A, B),
        contact(A, 10, lost=True),
        contact(B, 12, lost=True),
        contact(A, 100, lost=False),
        contact(B, 101, lost=False),
        replace(succeeded(A), t=T0 + 200),
        failed(B, 210),
    ]
    assert told(fold(events)) == [
        f"{NODE} was out of reach for 1m31s (refused): p 2n1g b32 amp xla=true #1 went on, and "
        f"succeeded; p 2n1g b32 amp xla=true #2 failed: {NODE} is out of reach; "
        "2026-11-28 06:00:10 to 06:01:41 UTC"
    ]
    (open_one,) = told(fold(events[:-4]))
    assert open_one.startswith(f"{NODE} is out of reach (refused): p 2n1g")
    assert open_one.endswith("; since 2026-11-28 06:00:10 UTC")


def test_whether_it_came_back_is_not_claimed_of_a_host_whose_runs_had_ended():
    events = [*begun(A), contact(A, 10, lost=True), failed(A, 70)]
    (said,) = told(fold(events))
    assert said.endswith("; 2026-11-28 06:00:10 until its runs had ended, 06:01:10 UTC")
    assert " for " not in said
    assert "went on" not in said


def starting(run_id: str) -> list[ev.Event]:
    """Assigned, not launched; then it lost the host and found it again."""
    return [
        ev.CampaignCreated(t=T0, campaign="c"),
        replace(planned(run_id), t=T0),
        replace(assigned(run_id), t=T0 + 1),
        contact(run_id, 10, lost=True),
        contact(run_id, 40, lost=False),
    ]


def test_a_run_that_was_put_back_did_not_go_on():
    said = f"{NODE} was out of reach for 30s (refused): p 2n1g b32 amp xla=true #1 "
    events = [*starting(A), ev.RunDeferred(t=T0 + 50, run_id=A)]
    assert told(fold(events[:-2]))[0].startswith(
        f"{NODE} is out of reach (refused): p 2n1g b32 amp xla=true #1 is being started there; "
    )
    assert told(fold(events[:-1]))[0].startswith(f"{said}was being started; ")
    assert told(fold(events))[0].startswith(f"{said}had not started and was put back; ")
    events += [replace(assigned(A), t=T0 + 60), ev.RunLaunched(t=T0 + 61, run_id=A)]
    assert told(fold(events))[0].startswith(
        f"{said}had not started, was put back, and was started later; "
    )
    events += [replace(succeeded(A), t=T0 + 90)]
    assert told(fold(events))[0].startswith(
        f"{said}had not started, was put back, and succeeded later; "
    )


def test_a_run_that_was_launched_after_an_outage_had_not_started():
    events = [*starting(A), ev.RunLaunched(t=T0 + 50, run_id=A)]
    assert " was being started, and started later; " in told(fold(events))[0]
    events += [replace(succeeded(A), t=T0 + 90)]
    assert " had not started, and succeeded later; " in told(fold(events))[0]


STEPS = st.sampled_from(["lost", "found", "assigned", "launched", "deferred", "ended", "cancelled"])


@given(st.lists(STEPS, max_size=14), st.booleans())
def test_went_on_is_said_of_runs_alone_that_had_started_and_were_not_put_back(
    steps: list[str], begins: bool
):
    """Against what the journal itself says between the first loss and the end of each outage."""
    steps = ["assigned", "lost", *steps] if begins else steps
    state = fold([ev.CampaignCreated(t=T0, campaign="c"), replace(planned(A), t=T0)])
    launched_at: float | None = None
    deferred_at: float | None = None
    for n, step in enumerate(steps, 1):
        event = {
            "lost": contact(A, n, lost=True),
            "found": contact(A, n, lost=False),
            "assigned": replace(assigned(A), t=T0 + n),
            "launched": ev.RunLaunched(t=T0 + n, run_id=A),
            "deferred": ev.RunDeferred(t=T0 + n, run_id=A),
            "ended": replace(succeeded(A), t=T0 + n),
            "cancelled": ev.RunCancelled(t=T0 + n, run_id=A),
        }[step]
        before, state = state.runs[A], fold([event], state)
        if step == "launched" and before.state is RunState.STARTING:
            launched_at = T0 + n
        elif step == "deferred" and before.state is RunState.STARTING:
            deferred_at, launched_at = T0 + n, None
        for outage in state.outages.kept:
            said = outage_text(outage, state.runs)
            if "went on" in said or "goes on" in said:
                assert launched_at is not None
                assert outage.until is not None
                assert launched_at <= outage.until
                assert deferred_at is None or deferred_at < outage.since
            if deferred_at is not None and outage.since <= deferred_at:
                assert "was put back" in said
            if state.runs[A].state is RunState.STARTING:
                assert "at work" not in said


@pytest.mark.parametrize(
    ("end", "heard"),
    [
        (succeeded(A), True),
        (succeeded(A, cleanup=Cleanup(True)), True),
        (succeeded(A, cleanup=Cleanup(True, (Doubt(NODE, Why.AWAY),))), False),
        (failed(A, 0), False),
        (replace(failed(A, 0), cleanup=Cleanup(True)), True),
        (replace(failed(A, 0), cleanup=Cleanup(True, (Doubt(NODE, Why.AWAY),))), False),
        (replace(failed(A, 0), cleanup=Cleanup(True, (Doubt(NODE, Why.DEAF),))), True),
        (ev.RunCancelled(t=0, run_id=A, cleanup=Cleanup(True)), True),
        (ev.RunCancelled(t=0, run_id=A), False),
    ],
)
def test_a_host_that_told_of_the_end_of_its_run_was_heard_from_by_then(
    end: ev.RunSucceeded | ev.RunFailed | ev.RunCancelled, heard: bool
):
    events = [*begun(A), contact(A, 10, lost=True), replace(end, t=T0 + 153)]
    (said,) = told(fold(events))
    assert said.endswith(
        "; from 2026-11-28 06:00:10, heard from again by 06:02:33 UTC at the latest, its run "
        "having ended by then"
        if heard
        else "; 2026-11-28 06:00:10 until its runs had ended, 06:02:33 UTC"
    )


@pytest.mark.parametrize(("ran_s", "over"), [(64.0, True), (170.0, False)])
def test_when_a_host_came_back_is_not_claimed_where_nobody_had_asked_it(ran_s: float, over: bool):
    """Whoever was at work was killed; whoever goes on hears from the host at once."""
    back = replace(contact(A, 93, lost=False), reason=ev.NOT_ASKED_SINCE)
    events = [*begun(A), contact(A, 10, lost=True), back]
    state = fold(events)
    named = f"{NODE} was out of reach (refused): p 2n1g b32 amp xla=true #1"
    since = "from 2026-11-28 06:00:10, heard from again by 06:01:33 UTC at the latest"
    assert not state.runs[A].lost_hosts
    assert told(state) == [f"{named} goes on; {since}"]
    state = fold([*events, replace(succeeded(A, ran_s=ran_s), t=T0 + 180)])
    ended = ", its run having ended by then" * over
    assert state.notes_of_outages == [
        (T0 + 93, "info", f"{named} went on, and succeeded; {since}{ended}")
    ]


@given(st.integers(0, 70), st.sampled_from([1, 2]))
def test_each_has_one_note_and_of_hundreds_the_latest_are_told(times: int, hosts: int):
    events = begun(A)
    for n in range(times):
        for host in HOSTS[:hosts]:
            events += [contact(A, 10 * n, lost=True, host=host)]
            events += [contact(A, 10 * n + 5, lost=False, host=host)]
    state = fold(events)
    n = times * hosts
    notes = state.notes_of_outages
    assert len(notes) == (n if n <= MOST_KEPT else MOST_KEPT + 1)
    assert [t for t, _, _ in notes] == sorted(t for t, _, _ in notes)
    if n > MOST_KEPT:
        assert notes[0][2].startswith(f"{n - MOST_KEPT} outage")


@given(journals)
def test_no_journal_breaks_them_and_open_ones_are_those_of_its_runs(events):
    state = fold(events)
    lost = {(run.run_id, host) for run in state.runs.values() for host in run.lost_hosts}
    there = {
        (run, outage.host)
        for outage in state.outages.kept
        if outage.until is None
        for run in outage.lost
    }
    assert there == lost
    assert len(told(state)) >= len(state.outages.kept)


@pytest.mark.parametrize("how", ["report", "notes", "json", "results"])
def test_it_is_in_report_on_n_and_in_json(
    tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
):
    events = [*begun(A), contact(A, 10, lost=True), contact(A, 100, lost=False)]
    events += [replace(succeeded(A), t=T0 + 200), ev.CampaignFinished(t=T0 + 201)]
    campaign = tmp_path / "c"
    campaign.mkdir()
    (campaign / journal.FILE_NAME).write_bytes(b"".join(map(encode, events)))
    (said,) = told(state := fold(events))
    if how == "report":
        assert f"{said}." in report_context(state, campaign).notes
    elif how == "notes":
        snapshot = take(state, campaign, now=T0 + 300)
        assert said in [text for _, _, text in snapshot.notes]
    elif how == "results":
        rewrite_results(state, campaign)
        notes = json.loads((campaign / "results.json").read_text())["notes"]
        assert notes == [{"t": T0 + 100, "level": "info", "text": said}]
    else:
        assert main(["status", str(campaign), "--json"]) == 0
        notes = json.loads(capsys.readouterr().out)["notes"]
        assert {"t": T0 + 100, "level": "info", "text": said} in notes
