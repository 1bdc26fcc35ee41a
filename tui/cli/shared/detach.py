"""``--detach``: a campaign is left to a keeper, and the command returns."""

from __future__ import annotations

import argparse
from pathlib import Path

from backends.keeper.credentials import why_by_hand
from backends.keeper.process import Begun
from backends.use_cases import Workspace
from profiles.errors import SelectionError
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.output import print_campaign, say, say_folded
from tui.keeping import common_options, cron_line, leave_new_to_keeper, leave_to_keeper


def add_detach(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--detach",
        action="store_true",
        help="leave it to a keeper, a process that outlives the terminal, print the campaign's "
        "path and return",
    )


def refuse_logins_by_hand(workspace: Workspace, hosts: list[str]) -> None:
    """Raise SelectionError where somebody had to answer what a login asked."""
    if why := why_by_hand(workspace.cluster.let_in_by(), hosts):
        raise SelectionError(
            why,
            where="--detach",
            remedy="unlock the key in an ssh agent, or leave --detach out and use tmux",
        )


async def detach(
    workspace: Workspace,
    campaign: Path,
    arguments: argparse.Namespace,
    *,
    new: bool = False,
    take_over: bool = False,
    adopt: bool = False,
) -> int:
    """Start the keeper; the path of the campaign goes to stdout when it has begun. ``new``: of a
    campaign that was created for it."""
    options = common_options(workspace)
    if new:
        begun = await leave_new_to_keeper(workspace, campaign)
    else:
        more = ["--take-over"] * take_over + ["--adopt"] * adopt
        begun = await leave_to_keeper(campaign, options, more=more)
    _say_begun(campaign, begun, cron_line(campaign, options), as_json=arguments.json)
    return OK


def _say_begun(campaign: Path, begun: Begun, cron: str, *, as_json: bool) -> None:
    for note in begun.notes:
        say_folded(f"note: {note}")
    say(
        f"a keeper goes on with it (pid {begun.pid}). If it is killed, this line of a crontab does:"
    )
    say(cron)
    if as_json:
        print_campaign(campaign)
    else:
        print(campaign.absolute(), flush=True)
