"""Which runs get another attempt because somebody asks for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState
from profiles.errors import SelectionError


def runs_to_retry(state: CampaignState, run_ids: Collection[str] | None) -> tuple[str, ...]:
    """Those, each of which must have failed or been cancelled; None: all that failed.

    Raises
    ------
    SelectionError: one of them gets no other attempt, or there is none.
    """
    if state.imported:
        raise SelectionError(
            "an imported campaign runs nothing",
            where=state.called,
            remedy="'dlperf-tui run' starts one",
        )
    latest = {run.slot: run for run in state.latest_attempts()}
    if run_ids is None:
        failed = tuple(run.run_id for run in latest.values() if run.state is RunState.FAILED)
        if not failed:
            raise SelectionError(
                "no run has failed",
                where=state.called,
                remedy=_cancelled(latest.values()),
            )
        return failed
    for run_id in run_ids:
        run = state.run(run_id)
        _check(run, latest[run.slot], state.called)
    return tuple(run_ids)


def _cancelled(runs: Iterable[RunRecord]) -> str:
    """How those are tried again that nobody means who names none."""
    left = [run for run in runs if run.state is RunState.CANCELLED]
    if not left:
        return ""
    kinds = sorted({"skipped" if run.skipped else "cancelled" for run in left})
    return f"what was {' or '.join(kinds)} is named: --run {' '.join(run.run_id for run in left)}"


def _check(run: RunRecord, latest: RunRecord, campaign: str) -> None:
    if latest is not run:
        raise SelectionError(
            f"run {run.run_id} has been tried again",
            where=campaign,
            remedy=f"as {latest.run_id}, which {latest.state.said}",
        )
    if run.state not in (RunState.FAILED, RunState.CANCELLED):
        raise SelectionError(
            f"run {run.run_id} {run.state.said}",
            where=campaign,
            remedy="only a failed or cancelled run is tried again",
        )
