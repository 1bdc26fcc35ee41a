"""The runs of a campaign that the words of a command mean."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState
from backends.use_cases import Workspace
from profiles.case_tag import format_tag
from profiles.errors import SelectionError
from profiles.nearest import did_you_mean
from tui.cli.shared.options import add_campaign, add_json


def chosen_run(state: CampaignState, text: str, path: Path) -> RunRecord:
    """By its id, by its number, by as much of its beginning or its end as no other run has, or by
    its case, such as 1n1g, where that has one run. Of several attempts it is the latest.

    Raises
    ------
    SelectionError: it is none, or several.
    """
    if text in state.runs:
        return state.runs[text]
    ways: tuple[Callable[[str], bool], ...] = (
        lambda run_id: text.isdecimal() and _number(run_id).lstrip("0") == text.lstrip("0"),
        lambda run_id: run_id.startswith(text),
        lambda run_id: run_id.endswith(text),
        lambda run_id: text in _names(state.runs[run_id]),
    )
    found = next(filter(None, ([*filter(way, state.runs)] for way in ways)), []) if text else []
    latest = {_planned_as(run_id): run_id for run_id in found}  # attempts come in their order
    if len(latest) == 1:
        return state.runs[found[-1]]
    if found:
        numbered = ", by their ids: none has that number" if text.isdecimal() else ""
        raise SelectionError(
            f"{text!r} is {len(latest)} runs{numbered}",
            where=str(path),
            remedy=f"write more of it: {', '.join(found[:3])}{' …' * bool(found[3:])}",
        )
    raise SelectionError(
        f"no run {text!r} in this campaign{did_you_mean(text, state.runs)}",
        where=str(path),
        remedy="'dlperf-tui status CAMPAIGN' lists them",
    )


def _planned_as(run_id: str) -> str:
    """What the ids of all attempts at it begin with."""
    return run_id.rpartition("-a")[0] or run_id


def _number(run_id: str) -> str:
    return _planned_as(run_id).rpartition("-")[2]


def _names(run: RunRecord) -> tuple[str, str]:
    return format_tag(run.case.nodes, run.case.gpus_per_node), run.case.label


def add_campaign_and_runs(parser: argparse.ArgumentParser, only: str) -> None:
    """``only``: what is said of --run."""
    add_campaign(parser)
    parser.add_argument("--run", nargs="+", metavar="RUN_ID", help=only)
    parser.add_argument("--take-over", action="store_true", help="see resume")
    add_json(parser)


async def campaign_and_runs(
    workspace: Workspace, arguments: argparse.Namespace
) -> tuple[Path, list[str] | None]:
    """The runs' whole ids; None where none was named. Raises like :func:`chosen_run`."""
    path = workspace.find_campaign(arguments.campaign)
    state = await asyncio.to_thread(workspace.state, path)
    if arguments.run is None:
        return path, None
    return path, list({chosen_run(state, text, path).run_id: None for text in arguments.run})


def latest_run(state: CampaignState) -> RunRecord | None:
    """The one that is at work and began last, else the one that ended last; None: none has
    begun."""

    def order(run: RunRecord) -> tuple[bool, bool, float]:
        return run.state.active, run.state is RunState.RUNNING, run.started_at or 0.0

    return max((run for run in state.runs.values() if run.log), key=order, default=None)
