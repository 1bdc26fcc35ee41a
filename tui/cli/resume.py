"""``resume``: go on with a campaign."""

from __future__ import annotations

import argparse
import asyncio

from tui.cli.shared.follow import see_through
from tui.cli.shared.options import add_json, open_workspace


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("campaign", metavar="CAMPAIGN")
    parser.add_argument(
        "--take-over", action="store_true", help="end the claim of a console that gives no sign"
    )
    parser.add_argument(
        "--adopt",
        action="store_true",
        help="this copy of the campaign goes on, the original does not",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Re-attach to what lives, collect what ended, do the rest."""
    return asyncio.run(_resume(arguments))


async def _resume(arguments: argparse.Namespace) -> int:
    workspace = open_workspace(arguments)
    try:
        path = workspace.find_campaign(arguments.campaign)
        controller = await workspace.resume(
            path, take_over=arguments.take_over, adopt=arguments.adopt
        )
        return await see_through(workspace, controller, arguments)
    finally:
        await workspace.close()
