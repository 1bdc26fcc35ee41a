"""``retry``: another attempt of runs that failed or were cancelled."""

from __future__ import annotations

import argparse
import asyncio

from profiles.counted import counted
from tui.cli.shared.chosen_runs import add_campaign_and_runs, campaign_and_runs
from tui.cli.shared.detach import add_detach, detach
from tui.cli.shared.follow import ended_before, see_through
from tui.cli.shared.options import open_workspace
from tui.cli.shared.output import planned_by_others, say


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign_and_runs(parser, "only these, also cancelled ones; without it all that failed")
    add_detach(parser)


def run(arguments: argparse.Namespace) -> int:
    """Plan the attempts; where nobody is at work on the campaign, go on with it, to its end or an
    interrupt, or leave it to a keeper."""
    return asyncio.run(_retry(arguments))


async def _retry(arguments: argparse.Namespace) -> int:
    async with open_workspace(arguments) as workspace:
        path, chosen = await campaign_and_runs(workspace, arguments)
        controller, again = await workspace.changes.retry(
            path, chosen, take_over=arguments.take_over, say=say
        )
        say(f"{path.name}: {counted(len(again), 'run')} again")
        if controller is None:  # somebody else goes on with it
            return planned_by_others(path, again, arguments)
        if arguments.detach:
            await controller.detach()
            return await detach(workspace, path, arguments)
        return await see_through(workspace, controller, arguments, ended_before(controller))
