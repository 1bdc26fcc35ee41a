"""Repeats that are not run since their case does not fit into the memory there is."""

from __future__ import annotations

from collections.abc import Collection

from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState, RunRecord
from backends.results.run_result import NOT_RUN as NOT_RUN_FOR
from profiles.logs.failures import OUT_OF_GPU_MEMORY, without_host

ENOUGH = 2
"""Repeats that were out of memory, where none succeeded: one may have had a neighbour."""
NOT_RUN = (
    f"{NOT_RUN_FOR}{ENOUGH} repeats of its case were out of memory and none succeeded; "
    "retry runs it"
)


def repeats_in_vain(
    state: CampaignState, failed: RunRecord, under_way: Collection[str], now: float
) -> list[ev.RunFailed]:
    """The ends of the repeats that have not begun of the case of ``failed``, where the last
    attempts at others tell that it does not fit. Those that somebody paused stay, and so do those
    that are ``under_way``, as in the queue of a Slurm."""
    if not _out_of_memory(failed) or failed.profiled:
        return []
    repeats = [
        run
        for run in state.latest_attempts()
        if run.case.key == failed.case.key and not run.profiled
    ]
    if any(run.state is RunState.SUCCEEDED for run in repeats):
        return []
    if sum(map(_out_of_memory, repeats)) < ENOUGH:
        return []
    return [
        ev.RunFailed(t=now, run_id=run.run_id, reason=NOT_RUN, category=Cause.IN_VAIN)
        for run in repeats
        if run.state is RunState.PLANNED and not run.paused and run.run_id not in under_way
    ]


def _out_of_memory(run: RunRecord) -> bool:
    if run.state is not RunState.FAILED:
        return False
    return without_host(run.reason) == OUT_OF_GPU_MEMORY or run.category == Cause.OUT_OF_MEMORY
