"""``campaigns``: the campaigns on disk, with their sizes, and moving one."""

from __future__ import annotations

import argparse

from backends.campaign.folder.adopt import size_of
from backends.use_cases import Workspace
from profiles.errors import SelectionError
from tui.cli.shared.campaign_runs import listed, summary_document
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import add_json, open_workspace
from tui.cli.shared.output import print_json, say
from tui.cli.shared.readonly import refuse_change


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("ls", "mv"))
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="mv: the campaign, and its new name or path"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """``campaigns ls`` or ``campaigns mv OLD NEW``."""
    workspace = open_workspace(arguments)
    if arguments.action == "mv":
        return _move(workspace, arguments)
    if arguments.names:
        raise SelectionError("'campaigns ls' takes no name", remedy="'dlperf-tui status' does")
    return _list(workspace, as_json=arguments.json)


def _move(workspace: Workspace, arguments: argparse.Namespace) -> int:
    if arguments.readonly:
        refuse_change()
    if len(arguments.names) != 2:
        raise SelectionError(
            "'campaigns mv' takes a campaign and its new name or path",
            remedy="such as 'dlperf-tui campaigns mv 2026-11-21-resnet50 baseline'",
        )
    old, new = arguments.names
    path = workspace.move_campaign(workspace.find_campaign(old), new)
    say(f"moved: {path}")
    return OK


def _list(workspace: Workspace, *, as_json: bool) -> int:
    sizes = [(campaign, size_of(campaign.path)) for campaign in workspace.campaigns()]
    if as_json:
        print_json([{**summary_document(c), "size_bytes": size} for c, size in sizes])
        return OK
    if not sizes:
        say(f"no campaigns in {workspace.campaigns_dir}")
    for campaign, size in sizes:
        print(f"{size / (1 << 20):9.1f} MiB  {listed(campaign)}")
    if sizes:
        print(f"{sum(size for _, size in sizes) / (1 << 20):9.1f} MiB  in {len(sizes)} campaigns")
    return OK
