"""What the dialogs say that cancelling means, for a run and for its job."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.run_view import RunView
from backends.campaign.record.state import CampaignState, RunState, fold
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.keeper.request import Verb
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import HOSTS, assigned, succeeded
from tui.screens.dialogs import Choice
from tui.screens.end_question import EndQuestion
from tui.screens.marked_runs import marked_question, past_marked
from tui.screens.possible_changes import cancel_all_question, cancel_question, past_asking

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


STEPS = {
    "begins": assigned,
    "ends well": succeeded,
    "fails": lambda r: ev.RunFailed(t=3.0, run_id=r, reason="NCCL error"),
    "is ended": lambda r: ev.RunCancelling(t=3.0, run_id=r),
    "is skipped": lambda r: ev.RunCancelled(t=3.0, run_id=r),
}
LIVES: dict[str, list[list[str]]] = {
    "": [[], ["begins"], ["is skipped"], ["begins", "ends well"], ["begins", "fails"]],
    "begins": [[], ["ends well"], ["fails"], ["is ended"]],
    "ends well": [[]],
    "fails": [[]],
}
"""What a run may do between the drawing of a question and its answer, by what it did last."""


def asked_of(whom: str, drawn: CampaignSnapshot) -> tuple[list[RunView], Any, Any]:
    """The runs, the question of them, and why it is none."""
    one, marked = drawn.runs[0], list(drawn.runs)
    if whom == "one":
        return [one], partial(cancel_question, run=one), partial(past_asking, one)
    if whom == "all":
        return marked, cancel_all_question, partial(past_asking, None)
    names = {run.run_id: run.label for run in marked}

    def words(now: CampaignSnapshot) -> Choice:
        return marked_question(Verb.CANCEL, now, marked, names)

    return marked, words, lambda now: past_marked(Verb.CANCEL, now, marked)


@given(data=st.data(), whom=st.sampled_from(["one", "all", "marked"]))
def test_a_yes_ends_and_leaves_out_what_its_question_was_of_when_it_was_drawn_or_nothing(
    data: st.DataObject, whom: str
) -> None:
    before, after = [], []
    for number in range(data.draw(st.integers(1, 6))):
        run_id = f"r-{number:04d}-a1"
        first = data.draw(st.sampled_from(["", "begins", "ends well", "fails"]))
        lived = ["begins"] * (first in ("ends well", "fails")) + [first] * bool(first)
        before += [
            replace(planned(run_id), repeat=number + 1),
            *(STEPS[step](run_id) for step in lived),
        ]
        after += [STEPS[step](run_id) for step in data.draw(st.sampled_from(LIVES[first]))]
    more = [
        replace(planned(f"r-9{n:03d}-a1"), repeat=10) for n in range(data.draw(st.integers(0, 1)))
    ]
    drawn = take(fold(before), Path("/c"), now=5.0)
    session = SimpleNamespace(viewed=drawn)
    said: list[str] = []
    done: list[CampaignSnapshot] = []
    answers: list[Any] = []
    app = SimpleNamespace(
        push_screen=lambda question, answered: answers.append(answered),
        post_message=lambda message: said.append(message.text),
    )
    runs, words, past = asked_of(whom, drawn)
    EndQuestion(cast(Any, session)).ask(
        cast(Any, app),
        words,
        drawn,
        lambda: done.append(session.viewed),
        past=past,
        kept=lambda now: "",
    )
    session.viewed = take(fold([*before, *after, *more]), Path("/c"), now=6.0)

    def fates(of: CampaignSnapshot) -> dict[str, bool]:
        """By the id of a run that a yes is for: whether it is at work."""
        whole = whom == "all"
        asked = {run.run_id for run in (of.runs if whole else runs)}
        left = [run for run in of.runs if run.run_id in asked and not run.state.ended]
        if whole and left:  # all are meant, whichever those are by then
            return {"all": any(run.state.active for run in left), "it": len(left) == 1}
        return {
            run.run_id: run.state.active
            for run in left
            if whom != "marked" or run.state is not RunState.CANCELLING
        }

    answers[0]("yes")
    same = fates(drawn) == fates(session.viewed) != {}
    assert bool(done) == same
    assert bool(said) != same
    assert all("nothing was changed" in one and "\n" not in one for one in said)
