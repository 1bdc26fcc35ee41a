"""``import``: make a campaign of a tree of existing logs."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from backends.campaign.folder.artifacts import rewrite_results
from backends.campaign.folder.imported import create_imported, imported_directory
from backends.results.entered_figures import import_figures
from backends.results.log_import import ImportedTree, copy_logs, import_tree
from profiles.errors import LogError, SelectionError
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
    output: Path = arguments.output
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise SelectionError("exists already", where=str(output), remedy="give another -o")
    share = arguments.share or open_workspace(arguments).cluster.inventory.share
    found: ImportedTree | None = None
    if arguments.profile is None:
        if arguments.tree.suffix.lower() not in (".toml", ".csv"):
            raise SelectionError(
                "reading logs takes a profile",
                where=str(arguments.tree),
                remedy="give it with --profile; a file of figures is a .toml or .csv",
            )
        runs = tuple(import_figures(arguments.tree))
    else:
        profile = open_workspace(arguments).catalog.get(arguments.profile)
        found = import_tree(profile, arguments.tree)
        for warning in found.warnings:
            say(f"warning: {warning}")
        runs = found.runs
    try:
        imported_directory(output, share)
        if found is not None:
            copy_logs(found, output)
    except OSError as error:
        raise LogError(
            f"cannot write the campaign: {error.strerror}",
            where=str(output),
            remedy="check permissions and free space",
        ) from error
    state = create_imported(output, runs, time.time())
    rewrite_results(state, output)
    measured = sum(run.throughput is not None for run in runs)
    print(f"{output}: {len(runs)} runs, {measured} measured")
    return OK if measured else FAILED
