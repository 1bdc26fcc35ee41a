"""What can be done to the runs of a campaign at a moment, by the names of the actions on Runs."""

from __future__ import annotations

from backends.campaign.record.state import RunState
from backends.campaign.record.status_view import CampaignSnapshot, RunView

CHANGES = frozenset({"cancel_run", "cancel_all", "retry", "pause", "pause_all"})
RETRIABLE = (RunState.FAILED, RunState.CANCELLED)


def possible_changes(viewed: CampaignSnapshot | None, run: RunView | None) -> frozenset[str]:
    """``run``: the one under the cursor. Of a campaign that is only looked at: none."""
    if viewed is None or viewed.read_only:
        return frozenset()
    retriable = run is not None and run.state in RETRIABLE and _is_last(viewed, run)
    ending = run is None or run.state.ended or run.state is RunState.CANCELLING
    able = {
        "cancel_run": not ending,
        "cancel_all": viewed.done < viewed.total,
        "retry": retriable,
        "pause": run is not None and run.state.waits,
        "pause_all": any(one.state.waits for one in viewed.runs),
    }
    return frozenset(name for name, can in able.items() if can)


def _is_last(viewed: CampaignSnapshot, run: RunView) -> bool:
    """No later attempt of it was made."""
    return any(one.run_id == run.run_id for one in viewed.state.latest_attempts())
