"""``cancel``: end a campaign's runs on all hosts."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence

from backends.campaign.cleanup_words import command_text, reason_text
from backends.campaign.record.state import CampaignState
from backends.results.run_result import SKIPPED
from profiles.counted import counted
from tui.cli.shared.chosen_runs import add_campaign_and_runs, campaign_and_runs
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import open_workspace
from tui.cli.shared.output import print_campaign, say


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign_and_runs(parser, "only these; 'status CAMPAIGN' lists them")


def run(arguments: argparse.Namespace) -> int:
    """End the runs on all of their hosts, fetch their logs, and verify it.

    A host that is away is tried for about half a minute; the exit code is 1 when anything is
    unverified.
    """
    return asyncio.run(_cancel(arguments))


async def _cancel(arguments: argparse.Namespace) -> int:
    async with open_workspace(arguments) as workspace:
        path, chosen = await campaign_and_runs(workspace, arguments)
        outcome = await workspace.changes.cancel(
            path, chosen, take_over=arguments.take_over, say=say
        )
        after = await asyncio.to_thread(workspace.state, path)
    unverified = [
        {
            "host": doubt.host,
            "reason": f"run {run_id}: {reason_text(doubt)}",
            "command": command_text(doubt, run_id, workspace.cluster.inventory.get(doubt.host)),
        }
        for run_id, doubts in outcome.unverified.items()
        for doubt in doubts
    ]
    if arguments.json:
        print_campaign(path, cancelled=outcome.cancelled, unverified=unverified)
    else:
        _say(path.name, _words(after, outcome.cancelled), unverified, finished=after.finished)
    if after.held is not None and after.finished:  # what is held for all runs did not go back
        say(after.notes[-1][2] if after.notes else "the job of all runs may still hold nodes")
        return FAILED
    return FAILED if unverified else OK


def _words(after: CampaignState, run_ids: Sequence[str]) -> str:
    """``2 runs cancelled, 1 skipped: never started``; empty where there are none."""
    skipped = sum(after.runs[run_id].skipped for run_id in run_ids)
    told = []
    if cancelled := len(run_ids) - skipped:
        told.append(f"{counted(cancelled, 'run')} cancelled")
    if skipped:
        told.append(f"{counted(skipped, 'run') if not told else skipped} {SKIPPED}")
    return ", ".join(told)


def _say(
    name: str,
    cancelled: str,
    unverified: Sequence[Mapping[str, str]],
    *,
    finished: bool,
) -> None:
    for one in unverified:
        say(f"unverified: {one['host']}: {one['reason']}")
        say(f"    look with: {one['command']}")
    if cancelled:
        say(f"{name}: {cancelled}")
    elif not unverified:
        say(f"{name}: nothing to cancel")
    if unverified and not finished:
        say(f"{name} has not finished; try again with 'cancel', 'resume' or 'sweep'")
