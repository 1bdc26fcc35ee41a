"""The runs of a campaign that the words of a command mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState
from profiles.case_tag import format_tag
from profiles.errors import SelectionError
from profiles.nearest import did_you_mean


def chosen_run(state: CampaignState, text: str, path: Path) -> RunRecord:
    """By its id, by as much of its beginning or its end as no other run has, or by its case, such
    as 1n1g, where that has one run.

    Raises
    ------
    SelectionError: it is none, or several.
    """
    if text in state.runs:
        return state.runs[text]
    found = [run_id for run_id in state.runs if run_id.startswith(text)]
    found = found or [run_id for run_id in state.runs if run_id.endswith(text)]
    found = found or [i for i, run in state.runs.items() if text in _names(run)]
    if len(found) == 1 and text:
        return state.runs[found[0]]
    if found and text:
        raise SelectionError(
            f"{text!r} is {len(found)} runs",
            where=str(path),
            remedy=f"write more of it: {', '.join(found[:3])}{' …' * bool(found[3:])}",
        )
    raise SelectionError(
        f"no run {text!r} in this campaign{did_you_mean(text, state.runs)}",
        where=str(path),
        remedy="'dlperf-tui status CAMPAIGN' lists them",
    )


def _names(run: RunRecord) -> tuple[str, str]:
    return format_tag(run.case.nodes, run.case.gpus_per_node), run.case.label


def chosen_run_ids(
    state: CampaignState, texts: Sequence[str] | None, path: Path
) -> list[str] | None:
    """Their whole ids; None where none was named. Raises like :func:`chosen_run`."""
    if texts is None:
        return None
    return list(dict.fromkeys(chosen_run(state, text, path).run_id for text in texts))


def latest_run(state: CampaignState) -> RunRecord | None:
    """The one that is at work and began last, else the one that ended last; None: none has
    begun."""

    def order(run: RunRecord) -> tuple[bool, bool, float]:
        return run.state.active, run.state is RunState.RUNNING, run.started_at or 0.0

    return max((run for run in state.runs.values() if run.log), key=order, default=None)
