"""``replay``: the console over a recorded campaign."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
from pathlib import Path

from profiles.cleantext import clean_text
from profiles.errors import SelectionError
from tui.cli.console import check_terminal
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import add_campaign, open_workspace
from tui.garbage import imports_left_out
from tui.kept_theme import default_file
from tui.program_name import COMMAND, called_as, named
from tui.said_meanwhile import said_meanwhile

SLOWEST, FASTEST = 1.0, 100.0


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser)
    parser.add_argument(
        "--speed",
        metavar="X",
        type=float,
        help="how fast time passes, 1 to 100; by default 10, less for a short campaign",
    )


def run(arguments: argparse.Namespace) -> int:
    """Nothing of the campaign is changed, and no host is asked."""
    if arguments.speed is not None and not SLOWEST <= arguments.speed <= FASTEST:
        raise SelectionError(
            f"{arguments.speed:g} is no speed from {SLOWEST:g} to {FASTEST:g}",
            where="--speed",
            remedy="give one such as 10",
        )
    workspace = open_workspace(arguments)  # holds what a bundle is unpacked into
    path = workspace.find_to_read(arguments.campaign)
    check_terminal(f"report {shlex.quote(arguments.campaign)}")
    with said_meanwhile(f"reading {clean_text(path.name)} …"):  # which takes a second or more
        with imports_left_out():
            # As the app: Textual takes a quarter of a second.
            from backends.replay.replay_workspace import ReplayWorkspace  # noqa: PLC0415
            from tui.console_fault import run_to_end  # noqa: PLC0415
            from tui.lent_terminal import LEADS_BACK  # noqa: PLC0415
            from tui.replaying import ReplayApp  # noqa: PLC0415

        replayed = ReplayWorkspace(path, arguments.speed, profile_dirs=arguments.profile_dir)
        app = ReplayApp(replayed, default_file())
    asyncio.run(run_to_end(app))
    if LEADS_BACK not in os.environ:
        bundle = Path(arguments.campaign).is_file()  # what it was unpacked into is gone
        again = shlex.quote(arguments.campaign) if bundle else named(path)
        report = f"{called_as()} report {again}"
        print(f"The figures of {clean_text(path.name)}:\n{COMMAND}{clean_text(report)}")
    return OK
