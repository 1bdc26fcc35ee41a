from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from backends.campaign.record import events as ev
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import Place, fold
from backends.campaign.record.status_view import take
from backends.hangs.diagnosis import Diagnosis
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned, succeeded
from tui.kept_words import lies_elsewhere
from tui.screens.possible_changes import (
    CHANGES,
    cancel_question,
    change_labels,
    possible_changes,
    repeat_question,
    retry_question,
    way_on,
    why_not,
)
from tui.screens.run_text import summary
from tui.widgets.told import EDGE

RUN = "r-0001-a1"
FAILED = ev.RunFailed(t=3.0, run_id=RUN, reason="NCCL error")
CANCELLED = ev.RunCancelled(t=3.0, run_id=RUN)
OVER = ev.CampaignFinished(t=4.0)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([assigned(RUN)], "O, then r goes on with it"),
        ([assigned(RUN), FAILED], "O, then r goes on with it"),
    ],
    ids=["at work", "failed"],
)
def test_what_a_campaign_refuses_that_nobody_is_at_work_on_comes_with_the_way_on(
    told: Sequence[ev.Event], expected: str
) -> None:
    viewed = take(fold([planned(RUN), *told]), Path("c"), now=9.0, read_only=True)
    viewed = replace(viewed, name="c")
    (run,) = viewed.runs
    assert not possible_changes(viewed, run, viewed.runs)
    assert expected in why_not("retry", viewed, run)
    for action in CHANGES:
        assert expected in why_not(action, viewed, run), action


def test_further_repeats_are_said_to_start_in_their_turn_and_how_long_they_take() -> None:
    """20 s of work on 2 hosts, of which there are two."""
    begun = ev.CampaignCreated(t=0.0, campaign="c", hosts=2)
    state = fold([begun, replace(planned(RUN), expected_s=20.0)])
    asked = repeat_question(take(state, Path("c"), now=9.0))
    assert "1 run, ≈ 20s, about 40 device-seconds" in asked.text
    told = repeat_question(take(state, Path("c"), now=9.0), lambda profile: profile == "p")
    assert "about 40 GPU-seconds" in told.text, "before a run has ended"
    packed = repeat_question(take(replace(state, pack=True), Path("c"), now=9.0))
    assert "1 run, about 40 device-seconds" in packed.text


@pytest.mark.parametrize("told", [True, False])
def test_the_key_to_the_details_is_named_where_they_are_not_in_sight(told: bool) -> None:
    found = ev.RunDiagnosed(t=3.0, run_id=RUN, diagnosis=Diagnosis())
    viewed = take(fold([planned(RUN), assigned(RUN), found, FAILED]), Path("c"), now=9.0)
    words = why_not("diagnose", viewed, viewed.runs[0], told=told)
    assert words.endswith("its details have what its hosts said")
    assert ("v: " in words) is not told


@pytest.mark.parametrize("filtered", [False, True])
def test_where_nothing_waits_a_key_that_pauses_lets_nothing_start(filtered: bool) -> None:
    viewed = take(fold([planned(RUN)]), Path("c"), now=9.0)
    (run,) = viewed.runs
    of = "shown" if filtered else "all"
    for waiting, said in (
        ([], f"Pause {of}"),
        ([run], f"Pause {of}"),
        ([replace(run, paused=True), run], f"Pause {of}"),
        ([replace(run, paused=True)], f"Let {of} start"),
    ):
        assert change_labels(run, waiting, filtered=filtered)["pause_all"] == said


ELSEWHERE = [
    ev.CampaignCreated(t=0.0, campaign="c", simulated=True),
    ev.CampaignCreated(t=0.0, campaign="c", imported=True),
    ev.CampaignCreated(t=0.0, campaign="c"),
]


@pytest.mark.parametrize("created", ELSEWHERE, ids=["simulated", "imported", "measured"])
@pytest.mark.parametrize(
    "ended", [FAILED, CANCELLED, succeeded(RUN)], ids=lambda e: type(e).__name__
)
def test_a_campaign_that_is_over_is_gone_on_with_where_it_was_run_on_real_hosts(
    created: ev.CampaignCreated, ended: ev.Event
) -> None:
    told = [created, planned(RUN), assigned(RUN), ended, OVER]
    viewed = take(fold(told), Path("c"), now=9.0, read_only=True)
    (run,) = viewed.runs
    can = possible_changes(viewed, run, viewed.runs)
    real = not (created.simulated or created.imported)
    well = run.state is RunState.SUCCEEDED
    again = [] if well else ["retry", "retry_all"][: 1 + (run.state is RunState.FAILED)]
    assert can == (frozenset({"repeat", *again}) if real else frozenset())
    for action in CHANGES - can:
        assert "over" in why_not(action, viewed, run) or created.imported or well, action
    assert ("t, or" in way_on(viewed, run)) is (real and not well)
    assert "t, or" not in way_on(viewed, run, readonly=True)


@pytest.mark.parametrize("ended", [FAILED, CANCELLED, succeeded(RUN)])
@pytest.mark.parametrize("over", [True, False])
@pytest.mark.parametrize("lies", ["a copy", "handed on"])
def test_a_copy_refuses_what_goes_on_with_it_before_it_asks(
    ended: ev.Event, over: bool, lies: str
) -> None:
    state = fold([planned(RUN), assigned(RUN), ended, *[OVER] * over])
    place = Place("1-2", "vm", "/tmp/c")
    where = {"copy_of": place} if lies == "a copy" else {"handed_to": place}
    viewed = take(replace(state, **where), Path("c"), now=9.0, read_only=True)
    (run,) = viewed.runs
    assert not possible_changes(viewed, run, viewed.runs)
    assert lies_elsewhere(viewed) in summary(viewed).plain.split(" · ")
    for action in CHANGES:
        said = why_not(action, viewed, run)
        assert "copy" in said
        assert "'resume CAMPAIGN --adopt'" in said
        assert len(f"+ Repeat: {said}") <= 80 - EDGE


AGAIN = "r-0001-a2"


@pytest.mark.parametrize("ended", [FAILED, CANCELLED], ids=["failed", "cancelled"])
@pytest.mark.parametrize(
    ("later", "said", "retriable"),
    [
        ((), "is planned", False),
        ((ev.RunCancelled(t=9.0, run_id=AGAIN),), "was skipped", True),
        ((assigned(AGAIN), replace(FAILED, t=9.0, run_id=AGAIN)), "has failed", True),
        ((assigned(AGAIN), succeeded(AGAIN)), "has succeeded", False),
    ],
    ids=["planned", "skipped", "failed", "succeeded"],
)
@pytest.mark.parametrize("over", [True, False])
def test_a_retry_of_what_was_tried_again_says_which_attempt_it_is_for(
    ended: ev.Event, later: Sequence[ev.Event], said: str, retriable: bool, over: bool
) -> None:
    again = replace(planned(AGAIN), retry_of=RUN, attempt=2, t=5.0)
    over = over and bool(later)
    told = [planned(RUN), assigned(RUN), ended, again, *later, *[replace(OVER, t=9.5)] * over]
    viewed = take(fold(told), Path("c"), now=9.9, read_only=over)
    first, second = viewed.runs
    why = why_not("retry", viewed, first)
    assert why.startswith(f"attempt 2 took its place and {said}")
    assert ("t is for that one" in why) is retriable
    assert ("retry" in possible_changes(viewed, second, viewed.runs)) is retriable
    assert len(f"t Retry: {why}") <= 80 - EDGE


@pytest.mark.parametrize("ended", [FAILED, CANCELLED], ids=["failed", "cancelled"])
def test_what_is_said_of_a_simulated_campaign_is_true_on_real_hosts_too(ended: ev.Event) -> None:
    told = [ELSEWHERE[0], planned(RUN), assigned(RUN), ended, OVER]
    viewed = take(fold(told), Path("c"), now=9.0, read_only=True)
    (run,) = viewed.runs
    for said in (why_not("retry", viewed, run), way_on(viewed, run)):
        assert said.endswith("a demo's Matrix begins another")


@pytest.mark.parametrize("ended", [FAILED, CANCELLED], ids=["failed", "cancelled"])
@pytest.mark.parametrize("name", ["c", "2026-11-28-fake-resnet50-with-a-name-of-its-own"])
def test_a_key_that_names_a_command_is_not_cut_on_80_columns_and_details_have_all_of_it(
    ended: ev.Event, name: str
) -> None:
    viewed = take(fold([planned(RUN), assigned(RUN), ended, OVER]), Path(name), now=9.0)
    viewed = replace(viewed, name="another", read_only=True)  # which it had
    (run,) = viewed.runs
    for action in CHANGES:
        assert len(f"+ Repeat: {why_not(action, viewed, run)}") <= 80 - EDGE
    chosen = f" --run {RUN}" if ended is CANCELLED else ""
    assert f"'dlperf-tui retry {name}{chosen}' does it again" in way_on(viewed, run, readonly=True)


@pytest.mark.parametrize("several", [True, False])
def test_a_question_about_a_run_has_its_profile_where_there_are_several(several: bool) -> None:
    names = ("resnet50", "bert" if several else "resnet50")
    plans = [replace(planned(f"r-000{n}-a1"), profile=name) for n, name in enumerate(names, 1)]
    viewed = take(fold([*plans, assigned(RUN), FAILED]), Path("c"), now=9.0)
    for run in viewed.runs:
        asked = (cancel_question(viewed, run), retry_question(viewed, run))
        for question in asked:
            assert (f"{run.profile} {run.label}" in str(question.text)) is several
            assert run.label in str(question.text)
