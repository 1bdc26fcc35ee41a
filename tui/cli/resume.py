"""``resume``: go on with a campaign."""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from backends.use_cases import Workspace
from tui.cli.shared.detach import add_detach, detach
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.follow import ended_before, see_through
from tui.cli.shared.options import add_campaign, add_json, open_workspace
from tui.cli.shared.output import print_campaign, say
from tui.kept_words import kept_words


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser)
    parser.add_argument(
        "--take-over", action="store_true", help="end the claim of a console that gives no sign"
    )
    parser.add_argument(
        "--adopt",
        action="store_true",
        help="this copy of the campaign goes on, the original does not",
    )
    add_detach(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Re-attach to what lives, collect what ended, do the rest."""
    return asyncio.run(_resume(arguments))


async def _resume(arguments: argparse.Namespace) -> int:
    async with open_workspace(arguments) as workspace:
        path = workspace.find_campaign(arguments.campaign)
        if arguments.detach:
            return await _leave(workspace, path, arguments)
        controller = await workspace.resume(
            path, take_over=arguments.take_over, adopt=arguments.adopt
        )
        return await see_through(workspace, controller, arguments, ended_before(controller))


async def _leave(workspace: Workspace, path: Path, arguments: argparse.Namespace) -> int:
    """Called by cron again and again: where there is nothing to do, that is no error."""
    state = await asyncio.to_thread(workspace.state, path)
    writer = await asyncio.to_thread(workspace.writer, path)
    if state.finished or writer is not None:
        kept = "nothing is left to do" if writer is None else kept_words(writer, time.time())
        say(f"{path.name}: {kept}")
        if arguments.json:
            print_campaign(path)
        return OK
    return await detach(
        workspace, path, arguments, take_over=arguments.take_over, adopt=arguments.adopt
    )
