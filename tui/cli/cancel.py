"""``cancel``: end a campaign's runs on all hosts."""

from __future__ import annotations

import argparse
import asyncio

from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import open_workspace
from tui.cli.shared.output import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("campaign", metavar="CAMPAIGN")
    parser.add_argument("--take-over", action="store_true", help="see resume")


def run(arguments: argparse.Namespace) -> int:
    """End every run of the campaign on all of its hosts, and verify it."""
    return asyncio.run(_cancel(arguments))


async def _cancel(arguments: argparse.Namespace) -> int:
    workspace = open_workspace(arguments)
    try:
        path = workspace.find_campaign(arguments.campaign)
        if workspace.state(path).finished:
            say(f"{path.name} has finished; nothing to cancel")
            return OK
        controller = await workspace.resume(path, take_over=arguments.take_over, only_to_end=True)
        controller.cancel_all()
        await controller.wait()
        unclear = [r for r in controller.snapshot().runs if r.clean.startswith("unverified")]
        for view in unclear:
            say(f"{view.label}: {view.clean}")
        say(f"{path.name}: cancelled")
        return FAILED if unclear else OK
    finally:
        await workspace.close()
