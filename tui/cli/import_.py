"""``import``: make a campaign of a tree of existing logs, of figures, or of a bundle."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from profiles.counted import counted
from tui.cli.shared.campaign_remarks import say_log_doubts
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_share, open_workspace
from tui.cli.shared.output import say

if TYPE_CHECKING:
    from backends.campaign.folder.imported import Imported
    from backends.use_cases import Workspace


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--profile", metavar="P", help="how to read logs; of those alone")
    parser.add_argument(
        "source",
        metavar="SOURCE",
        type=Path,
        help="a tree of logs, a .toml or .csv of figures, or a bundle, a .tar.zst",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        required=True,
        help="directory to make for the campaign; campaigns ls lists what lies in --campaigns",
    )
    add_share(parser)


def run(arguments: argparse.Namespace) -> int:
    """Logs, a file of figures, or a bundle become a campaign that reports like any other."""
    workspace = open_workspace(arguments)
    made = workspace.import_campaign(
        arguments.source, arguments.profile, arguments.output, share=arguments.share
    )
    for warning in made.warnings:
        say(f"warning: {warning}")
    print(f"{made.path.absolute()}: {counted(made.runs, 'run')}, {_measured(workspace, made)}")
    return OK if made.measured else FAILED


def _measured(workspace: Workspace, made: Imported) -> str:
    """How many have a figure; where logs of a bundle do not give theirs, that is said first."""
    from backends.campaign.folder.whole_report import unfit_words  # noqa: PLC0415 (late)
    from backends.campaign.record.run_results import run_results  # noqa: PLC0415 (late)

    say_log_doubts(workspace, made.path)
    state = workspace.checked(made.path)
    if why := unfit_words(state):
        say(f"{made.path.name}: {why}")
    unfit = sum(run.succeeded and bool(run.log_differs) for run in run_results(state))
    if not unfit:
        return f"{made.measured} measured"
    return f"{made.measured - unfit} of {made.measured} measured figures are what their logs give"
