"""More repeats of what a campaign measures, because somebody asks for them."""

from __future__ import annotations

from collections import defaultdict

from backends.campaign.plan.further_runs import number_of, plan_again
from backends.campaign.record import events as ev
from backends.campaign.record.state import CampaignState, RunRecord
from profiles.errors import SelectionError


def first_of_more(state: CampaignState) -> int:
    """The number that the first of more runs has in its id.

    Raises
    ------
    SelectionError: the campaign runs nothing.
    """
    if state.imported or not state.runs:
        raise SelectionError(
            "an imported campaign runs nothing",
            where=state.called,
            remedy="'dlperf-tui run' starts one",
        )
    return 1 + max(number_of(run_id) for run_id in (*state.runs, *state.strays))


def more_repeats(state: CampaignState, repeats: int, first: int, now: float) -> list[ev.RunPlanned]:
    """So many more of each case, round-robin over the cases, those that are planned already left
    out: asked for twice with the same ``first``, which :func:`first_of_more` has said, they are
    planned once."""
    cases: dict[str, list[RunRecord]] = defaultdict(list)
    for run in state.runs.values():
        if not run.profiled and number_of(run.run_id) < first:
            cases[run.case.key].append(run)
    events = plan_again(cases, dict.fromkeys(cases, repeats), first, now)
    return [event for event in events if event.run_id not in state.runs]


def number_of_more(state: CampaignState, repeats: int, first: int) -> int:
    """How many runs that are."""
    cases = {
        run.case.key
        for run in state.runs.values()
        if not run.profiled and number_of(run.run_id) < first
    }
    return repeats * len(cases)


def new_runs(state: CampaignState, repeats: int, first: int) -> tuple[str, ...]:
    """The first attempts that :func:`more_repeats` has planned."""
    numbers = range(first, first + number_of_more(state, repeats, first))
    return tuple(
        run.run_id
        for run in state.runs.values()
        if run.attempt == 1 and number_of(run.run_id) in numbers
    )
