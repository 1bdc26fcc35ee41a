"""``repeat``: more repeats of every case of a campaign."""

from __future__ import annotations

import argparse
import asyncio

from backends.keeper.request import MOST_REPEATS
from profiles.counted import counted
from profiles.errors import SelectionError
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import add_campaign, add_json, open_workspace
from tui.cli.shared.output import planned_by_others, say


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser)
    parser.add_argument("repeats", metavar="N", type=int, help="so many more of every case")
    parser.add_argument("--take-over", action="store_true", help="see resume")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """They are planned, by whoever is at work on the campaign; else 'resume' starts them."""
    return asyncio.run(_repeat(arguments))


async def _repeat(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.repeats <= MOST_REPEATS:
        raise SelectionError(
            f"{arguments.repeats} repeats cannot be added",
            where="N",
            remedy=f"a number from 1 to {MOST_REPEATS}",
        )
    workspace = open_workspace(arguments)
    path = workspace.find_campaign(arguments.campaign)
    planned = await workspace.changes.repeat(
        path, arguments.repeats, take_over=arguments.take_over, say=say
    )
    kept = await asyncio.to_thread(workspace.writer, path) is not None
    then = "they start when their turn comes" if kept else "'resume' starts them"
    say(f"{path.name}: {counted(len(planned), 'run')} more; {then}")
    return planned_by_others(path, planned, arguments) if arguments.json else OK
