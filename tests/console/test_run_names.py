"""What runs and cases are called in sentences and titles: no two of a campaign alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.run_results import run_results
from backends.campaign.record.run_view import RunView
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.engines.engine import Waiting, WaitKind
from backends.keeper.request import Verb
from backends.results.summary import summarise
from profiles.format.case_labels import case_labels
from tests.console.test_run_text import PROFILES
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned
from tui.run_names import full_names, run_names
from tui.screens.possible_changes import cancel_question, change, kept_words, past_asking
from tui.screens.repeats import Repeats
from tui.screens.result_text import case_label
from tui.screens.schedule_text import Schedule

NOW = 50.0


class Standing:
    """A campaign that stays as it is, whatever is asked of it."""

    def __init__(self, viewed: CampaignSnapshot) -> None:
        self._viewed = viewed

    def snapshot(self) -> CampaignSnapshot:
        return self._viewed

    def cancel_run(self, run_id: str) -> None: ...

    def retry(self, run_id: str) -> None: ...

    def pause(self, run_id: str) -> bool:
        return True

    def unpause(self, run_id: str) -> bool:
        return True


campaigns = st.tuples(
    st.lists(st.sampled_from(PROFILES), min_size=1, unique=True),
    st.lists(st.sampled_from((1, 2, 4)), min_size=1, max_size=3, unique=True),
    st.integers(1, 2),
)
"""Profiles, sizes and repeats: each profile has all of the same cases."""
Shape = tuple[list[str], list[int], int]
ENDINGS: Sequence[Callable[[str], list[ev.Event]]] = (
    lambda run_id: [],
    lambda run_id: [assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)],
    lambda run_id: [assigned(run_id), ev.RunFailed(t=3.0, run_id=run_id, reason="x")],
)


def campaign(shape: Shape, kind: int) -> CampaignSnapshot:
    profiles, sizes, repeats = shape
    told: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", hosts=4)]
    every = enumerate(product(range(1, repeats + 1), profiles, sizes), 1)
    for number, (repeat, profile, nodes) in every:
        run_id = f"r-{number:03}{repeat}-a1"
        told.append(replace(planned(run_id, expected_s=60.0), profile=profile, nodes=nodes))
        told += ENDINGS[kind](run_id)
    return take(fold(told), Path("c"), now=NOW)


def sentences(viewed: CampaignSnapshot) -> dict[str, Callable[[RunView], str]]:
    """By what they are: what is said of each run in words."""
    names = run_names(viewed.runs)
    controller = Standing(viewed)

    def schedule(run: RunView) -> str:
        return Schedule().lines(viewed, run, 120, NOW, ("h1", "h2", "h3", "h4"), called=names).plain

    def told(verb: Verb) -> Callable[[RunView], str]:
        return lambda run: change(controller, verb, [run.run_id])  # type: ignore[arg-type]

    def behind(run: RunView) -> str:
        other = next(one for one in (*viewed.runs, run) if one.run_id != run.run_id)
        waits = {other.run_id: Waiting(WaitKind.BEHIND, behind=run.run_id)}
        now = take(viewed.state, Path("c"), now=NOW, waiting=waits)
        return next(one.behind for one in now.runs if one.run_id == other.run_id)

    waiting = {"behind": behind} if all(run.state.waits for run in viewed.runs) else {}
    ended = {"past": lambda run: past_asking(run, viewed)}
    return {
        "list": lambda run: names[run.run_id],
        "full": lambda run: full_names(viewed.runs)[run.run_id],
        "asked": lambda run: cancel_question(viewed, run).text.plain,
        "kept": lambda run: kept_words(run, viewed),
        "schedule": schedule,
        **{verb: told(verb) for verb in (Verb.CANCEL, Verb.RETRY, Verb.PAUSE, Verb.UNPAUSE)},
        **(waiting if len(viewed.runs) > 1 else {}),
        **(ended if all(run.state.ended for run in viewed.runs) else {}),
    }


@given(campaigns, st.sampled_from(range(len(ENDINGS))))
def test_no_two_runs_of_a_campaign_are_told_in_the_same_words(shape: Shape, kind: int) -> None:
    viewed = campaign(shape, kind)
    for what, said in sentences(viewed).items():
        words = [said(run) for run in viewed.runs]
        assert all(words), what
        assert len(set(words)) == len(words), what


@given(campaigns, st.data())
def test_what_waits_for_a_silent_run_is_told_of_it_by_the_name_that_it_has_in_the_list(
    shape: Shape, data: st.DataObject
) -> None:
    viewed = campaign(shape, 0)
    run, silent = (data.draw(st.sampled_from(viewed.runs)) for _ in range(2))
    runs = [
        replace(one, silent_s=9.0, given_up_in_s=30.0) if one.run_id == silent.run_id else one
        for one in viewed.runs
    ]
    text = Schedule({}).lines(
        replace(viewed, runs=tuple(runs)), run, 120, NOW, called=run_names(viewed.runs)
    )
    assert f"{run_names(viewed.runs)[silent.run_id]} is ended as stalled in 30s" in text.plain


@given(campaigns)
def test_no_two_cases_of_a_campaign_have_the_same_title(shape: Shape) -> None:
    viewed = campaign(shape, 2)
    groups = summarise(run_results(viewed.state))
    cases = [case for group in groups for case in group.cases]
    labels = case_labels(case.as_case for case in cases)
    several = len(shape[0]) > 1
    for titles in (
        [case_label(case, groups, labels) for case in cases],
        [Repeats(case, several=several)._title for case in cases],
    ):
        assert len({str(title) for title in titles}) == len(cases) > 0
