"""What can be done to the runs of a campaign at a moment, by the names of the actions on Runs."""

from __future__ import annotations

from backends.campaign.record.state import RunState
from backends.campaign.record.status_view import CampaignSnapshot, RunView
from tui.text import count

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


def change_labels(viewed: CampaignSnapshot | None, run: RunView | None) -> dict[str, str]:
    """What p and P would do now, by their actions."""
    waiting = [one for one in viewed.runs if one.state.waits] if viewed is not None else []
    return {
        "pause": "Let it start" if run is not None and run.paused else "Pause",
        "pause_all": "Let all start" if all(one.paused for one in waiting) else "Pause all",
    }


def _is_last(viewed: CampaignSnapshot, run: RunView) -> bool:
    """No later attempt of it was made."""
    return any(one.run_id == run.run_id for one in viewed.state.latest_attempts())


def ending_words(at_work: int, waiting: int) -> str:
    """What ending all of them means."""
    asked = [f"end {count(at_work, 'run')} at work"] if at_work else []
    asked += [f"start none of the {waiting} to come"] if waiting else []
    return f"{' and '.join(asked).capitalize()}?"
