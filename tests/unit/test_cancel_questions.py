"""What the dialogs say that cancelling means, for a run and for its job."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.campaign.record import events as ev
from backends.campaign.record.state import CampaignState, fold
from backends.campaign.record.status_view import take
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import HOSTS
from tui.screens.possible_changes import cancel_all_question, cancel_question

A, B = "r-0001-a1", "r-0002-a1"
QUEUED = ev.RunQueued(t=1.0, run_id=A)
HANDED_IN = ev.RunQueued(t=1.0, run_id=A, job_id="12")
GIVEN = ev.RunAssigned(
    t=2.0, run_id=A, hosts=HOSTS, commands=("a", "b"), port=1, log="logs/x.log", job_id="12"
)
WITHOUT_A_JOB = ev.RunAssigned(
    t=2.0, run_id=A, hosts=HOSTS, commands=("a", "b"), port=1, log="logs/x.log"
)
FOR_ALL = ev.AllocationAsked(t=0.5, nodes=4, gpus_per_node=1, limit_s=600.0)


def state(*events: ev.Event) -> CampaignState:
    return fold([planned(A), planned(B), *events])


def questions(*events: ev.Event) -> tuple[str, str]:
    snapshot = take(state(*events), Path("/c"), now=10.0)
    of_one, of_all = cancel_question(snapshot, snapshot.runs[0]), cancel_all_question(snapshot)
    return of_one.text.plain, of_all.text.plain


@pytest.mark.parametrize(
    ("events", "one", "everything"),
    [
        ([WITHOUT_A_JOB], "Its processes are ended on every host; its log stays.", ""),
        ([], "It is never started, unless t on it says so later.", ""),
        ([QUEUED], "Its job leaves the queue.", ""),
        ([HANDED_IN], "Its job 12 leaves the queue.", "Their jobs end or leave the queue."),
        (
            [HANDED_IN, GIVEN],
            "Its job 12 ends, and all that runs in it; its log stays.",
            "Their jobs end or leave the queue.",
        ),
        (
            [FOR_ALL, GIVEN],
            "The campaign's job goes on with the other runs.",
            "The campaign's job ends, and its nodes go back.",
        ),
    ],
)
def test_it_is_told_what_becomes_of_processes_and_jobs(
    events: list[ev.Event], one: str, everything: str
) -> None:
    of_one, of_all = questions(*events)
    assert of_one.endswith(f"? {one}")
    assert everything in of_all
    assert of_all.endswith(" What is measured already stays.")
    assert ("job" in of_all) == bool(everything)
