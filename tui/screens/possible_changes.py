"""What can be done to the runs of a campaign at a moment, by the names of the actions on Runs."""

from __future__ import annotations

from backends.campaign.record.state import RunState
from backends.campaign.record.status_view import CampaignSnapshot, RunView
from backends.inventory.nodesets import fold_nodeset
from tui.text import count

CHANGES = frozenset({"cancel_run", "cancel_all", "retry", "pause", "pause_all", "diagnose"})
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
        "diagnose": run is not None and run.state is RunState.RUNNING,
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


def cancel_question(viewed: CampaignSnapshot, run: RunView) -> str:
    """What ending a run means, for it and for its job, if it is in one."""
    where = f" on {fold_nodeset(run.hosts)}" if run.hosts else ""
    what = "Its processes are ended on every host; its log stays."
    job = viewed.state.run(run.run_id).job_id
    if viewed.state.held is not None:
        what = "The campaign's job goes on with the other runs."
    elif run.state is RunState.QUEUED:
        what = f"Its job {job}".rstrip() + " leaves the queue."
    elif job:
        what = f"Its job {job} ends, and all that runs in it; its log stays."
    return f"End {run.label}{where}? {what}"


def cancel_all_question(viewed: CampaignSnapshot) -> str:
    """What ending all of them means."""
    at_work, waiting = viewed.active, viewed.total - viewed.done - viewed.active
    asked = [f"end {count(at_work, 'run')} at work"] if at_work else []
    asked += [f"start none of the {waiting} to come"] if waiting else []
    jobs = ""
    if viewed.state.held is not None:
        jobs = " The campaign's job ends, and its nodes go back."
    elif any(viewed.state.run(run.run_id).job_id for run in viewed.runs if not run.state.ended):
        jobs = " Their jobs end or leave the queue."
    return f"{' and '.join(asked).capitalize()}?{jobs} What is measured already stays."
