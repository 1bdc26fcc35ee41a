"""What ``pause`` and ``unpause`` have in common."""

from __future__ import annotations

import argparse
import asyncio

from profiles.counted import counted
from tui.cli.shared.chosen_runs import campaign_and_runs
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import open_workspace
from tui.cli.shared.output import print_campaign, say


def pause_runs(arguments: argparse.Namespace, *, pause: bool) -> int:
    return asyncio.run(_pause(arguments, pause=pause))


async def _pause(arguments: argparse.Namespace, *, pause: bool) -> int:
    workspace = open_workspace(arguments)
    path, chosen = await campaign_and_runs(workspace, arguments)
    changed = await workspace.changes.pause(
        path, chosen, pause=pause, take_over=arguments.take_over, say=say
    )
    kept = await asyncio.to_thread(workspace.writer, path) is not None
    done = "paused" if pause else "unpaused"
    if arguments.json:
        print_campaign(path, **{done: list(changed)})
    else:
        starts = "they start when their turn comes" if kept else "'resume' starts them"
        then = "'unpause' lets them start" if pause else starts
        say(f"{path.name}: {counted(len(changed), 'run')} {done}; {then}")
    return OK
