"""``import``: make a campaign of a tree of existing logs."""

from __future__ import annotations

import argparse
from pathlib import Path

from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_share, open_workspace
from tui.cli.shared.output import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--profile", metavar="P", help="how to read the logs")
    parser.add_argument("tree", metavar="LOGTREE", type=Path)
    parser.add_argument("-o", "--output", metavar="CAMPAIGN", type=Path, required=True)
    add_share(parser)


def run(arguments: argparse.Namespace) -> int:
    """Logs, or a file of figures, become a campaign that reports like any other."""
    workspace = open_workspace(arguments)
    made = workspace.import_campaign(
        arguments.tree, arguments.profile, arguments.output, share=arguments.share
    )
    for warning in made.warnings:
        say(f"warning: {warning}")
    print(f"{made.path}: {made.runs} runs, {made.measured} measured")
    return OK if made.measured else FAILED
