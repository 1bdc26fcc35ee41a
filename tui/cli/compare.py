"""``compare``: what became slower between two campaigns."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from backends.results.comparison import Comparison
from backends.results.comparison_files import comparison_document, comparison_junit
from backends.results.comparison_report import (
    comparison_footer,
    comparison_markdown,
    comparison_table,
    comparison_words,
)
from backends.results.escaping import md_text
from tui.cli.shared.campaign_remarks import say_log_doubts, say_remarks
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_campaign, add_json, add_threshold, open_workspace
from tui.cli.shared.output import print_json, say
from tui.cli.shared.output_file import add_force, refuse_to_lose, write_output
from tui.cli.shared.print_table import print_tables
from tui.threshold import parse_threshold

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser, "baseline", metavar="BASELINE")
    parser.add_argument(
        "candidate", metavar="CANDIDATE", nargs="?", help="may be left out with --across"
    )
    parser.add_argument(
        "--across",
        metavar="PARAMETER",
        nargs="+",
        default=[],
        help="what may differ between the cases that are compared, such as graphs or precision; "
        "of one campaign its first value against the others",
    )
    add_threshold(parser)
    parser.add_argument("--strict", action="store_true", help="exit 1 on what is inconclusive too")
    parser.add_argument(
        "--junit", metavar="FILE", type=Path, help="the verdicts as JUnit XML, for CI servers"
    )
    add_force(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when the candidate has a regression that stands among all cases."""
    workspace = open_workspace(arguments)
    threshold = parse_threshold(arguments.threshold)
    if arguments.junit is not None:
        refuse_to_lose(arguments.junit, "--junit", force=arguments.force)
    baseline = workspace.find_to_read(arguments.baseline)
    candidate = None
    if arguments.candidate is not None:
        candidate = workspace.find_to_read(arguments.candidate)
    for path in filter(None, (baseline, candidate)):
        say_remarks(workspace, path)
        say_log_doubts(workspace, path)
    result = workspace.compare(baseline, candidate, threshold, tuple(arguments.across))
    if arguments.json:
        print_json(comparison_document(result))
    else:
        before, after = comparison_words(result)
        footer = comparison_footer(result)
        print_tables([comparison_table(result)], (before, (*after, *footer)))
    _tell_ci(result, comparison_markdown(result), arguments)
    return FAILED if result.fails(strict=arguments.strict) else OK


def _tell_ci(result: Comparison, text: str, arguments: argparse.Namespace) -> None:
    if summary := os.environ.get(STEP_SUMMARY):
        title = md_text(" → ".join(filter(None, [arguments.baseline, arguments.candidate])))
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(f"## {title}\n\n{text}\n")
        except OSError as error:  # the verdict is worth more than its copy
            say(f"warning: cannot write ${STEP_SUMMARY}: {error.strerror}")
    if arguments.junit is not None:
        junit = comparison_junit(result, strict=arguments.strict)
        write_output(arguments.junit, junit, "--junit")
