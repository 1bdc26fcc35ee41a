"""Runs that are left out until somebody says otherwise: which can be, and what is written then."""

from __future__ import annotations

import getpass
from collections.abc import Collection

from backends.campaign.record import events as ev
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import CampaignState
from profiles.errors import SelectionError


def operator() -> str:
    """Who sits here."""
    return getpass.getuser()


def paused(t: float, run_id: str, by: str = "") -> list[ev.Event]:
    """Said twice, so that no damaged line has the run started all the same."""
    return [ev.RunPaused(t=t, run_id=run_id, by=by or operator())] * 2


def pause_events(
    state: CampaignState, run_ids: Collection[str] | None, now: float, *, pause: bool
) -> tuple[tuple[str, ...], list[ev.Event]]:
    """The runs (None: all that have not started) that are paused, or may start again, and what is
    to be written for that. Raises like :func:`runs_to_pause`."""
    chosen = runs_to_pause(state, run_ids, pause=pause)
    events: list[ev.Event] = []
    for run_id in chosen:
        events += paused(now, run_id) if pause else [ev.RunUnpaused(t=now, run_id=run_id)]
    return chosen, events


def runs_to_pause(
    state: CampaignState, run_ids: Collection[str] | None, *, pause: bool
) -> tuple[str, ...]:
    """Those, each of which can be paused (or unpaused); None: all that can.

    Raises
    ------
    SelectionError: one of them cannot be, or there is none.
    """
    if run_ids is None:
        every = state.runs.values()
        found = tuple(run.run_id for run in every if (run.pausable if pause else run.paused))
        if not found:
            what = "no run is left to start" if pause else "no run is paused"
            raise SelectionError(what, where=state.called, remedy=LISTED)
        return found
    for run_id in run_ids:
        _check(state.run(run_id), state.called, pause=pause)
    return tuple(run_ids)


LISTED = "'dlperf-tui status CAMPAIGN' lists them"


def _check(run: RunRecord, campaign: str, *, pause: bool) -> None:
    if pause and run.paused:
        raise SelectionError(
            f"run {run.run_id} is paused already", where=campaign, remedy="'unpause' lets it start"
        )
    if pause and not run.pausable:
        raise SelectionError(
            f"run {run.run_id} {run.state.said}",
            where=campaign,
            remedy="only a run that has not started can be paused; 'cancel' ends one",
        )
    if not pause and not run.paused:
        raise SelectionError(f"run {run.run_id} is not paused", where=campaign, remedy=LISTED)
