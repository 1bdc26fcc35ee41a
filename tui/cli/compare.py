"""``compare``: what became slower between two campaigns."""

from __future__ import annotations

import argparse

from backends.results.compare import compare, comparison_document, comparison_table
from backends.results.render import render_markdown
from profiles.errors import SelectionError
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_json, open_workspace
from tui.cli.shared.output import print_json
from tui.cli.shared.results import runs_of


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("baseline", metavar="BASELINE")
    parser.add_argument("candidate", metavar="CANDIDATE")
    parser.add_argument("--threshold", metavar="PERCENT", default="2%")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when the candidate has a regression."""
    workspace = open_workspace(arguments)
    baseline, candidate = (
        runs_of(workspace, workspace.find_campaign(name))
        for name in (arguments.baseline, arguments.candidate)
    )
    result = compare(baseline, candidate, parse_threshold(arguments.threshold))
    if arguments.json:
        print_json(comparison_document(result))
    else:
        print(render_markdown([comparison_table(result)]), end="")
    return FAILED if result.regressions else OK


def parse_threshold(text: str) -> float:
    """``2%`` or ``2`` as 0.02.

    Raises
    ------
    SelectionError: it is no number.
    """
    try:
        return float(text.strip().removesuffix("%")) / 100
    except ValueError:
        raise SelectionError(
            f"{text!r} is no percentage", where="--threshold", remedy="such as 2%"
        ) from None
