"""What ``pause`` and ``unpause`` have in common."""

from __future__ import annotations

import argparse
import asyncio

from profiles.counted import counted
from tui.cli.shared.chosen_runs import chosen_run_ids
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import add_json, open_workspace
from tui.cli.shared.output import print_json, say


def add_options(parser: argparse.ArgumentParser, without: str) -> None:
    parser.add_argument("campaign", metavar="CAMPAIGN")
    parser.add_argument(
        "--run", nargs="+", metavar="RUN_ID", help=f"only these; without it {without}"
    )
    parser.add_argument("--take-over", action="store_true", help="see resume")
    add_json(parser)


def pause_runs(arguments: argparse.Namespace, *, pause: bool) -> int:
    return asyncio.run(_pause(arguments, pause=pause))


async def _pause(arguments: argparse.Namespace, *, pause: bool) -> int:
    workspace = open_workspace(arguments)
    path = workspace.find_campaign(arguments.campaign)
    state = await asyncio.to_thread(workspace.state, path)
    chosen = chosen_run_ids(state, arguments.run, path)
    changed = await workspace.changes.pause(
        path, chosen, pause=pause, take_over=arguments.take_over, say=say
    )
    kept = await asyncio.to_thread(workspace.writer, path) is not None
    done = "paused" if pause else "unpaused"
    if arguments.json:
        print_json({"campaign": path.name, "path": str(path.absolute()), done: list(changed)})
    else:
        starts = "they start when their turn comes" if kept else "'resume' starts them"
        then = "'unpause' lets them start" if pause else starts
        say(f"{path.name}: {counted(len(changed), 'run')} {done}; {then}")
    return OK
