"""``history``: how the same cases went over many campaigns."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from backends.results.history_json import history_document
from backends.results.history_report import MARKS, history_tables, history_words
from backends.results.past_result import PastResult
from backends.use_cases import Workspace
from profiles.errors import SelectionError
from tui.cli.shared.campaign_remarks import say_log_doubts, say_remarks
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_campaign, add_json, add_threshold, open_workspace
from tui.cli.shared.output import print_json, say_folded
from tui.cli.shared.print_table import print_tables
from tui.program_name import option_of
from tui.threshold import parse_threshold


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser, "campaigns_named", nargs="*")
    parser.add_argument("--tag", metavar="TAG", help="all campaigns that have it")
    marks = "\n".join(f"  {mark:<14}{means}" for mark, means in MARKS.items())
    parser.description = f"{parser.description}\n\nmarks of campaigns:\n{marks}"
    add_threshold(parser)
    parser.add_argument(
        "--wide", action="store_true", help="also every figure of every case, with its interval"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where a case is at a regression that stands among all cases."""
    threshold = parse_threshold(arguments.threshold)
    workspace = open_workspace(arguments)
    if bool(arguments.campaigns_named) == bool(arguments.tag):
        both = "campaigns and a tag are named, and it is of either"
        kept = option_of(workspace.campaigns_dir)
        ways = [f"dlperf-tui history {way}{kept}" for way in _could_be(workspace)]
        told = ", as" if ways else "; no two that have finished have figures of the same case"
        error = SelectionError(
            both if arguments.tag else "no campaign is named, and no tag",
            where="history",
            remedy=f"name those that 'dlperf-tui campaigns' lists, or a tag{told}",
        )
        for way in ways:
            error.add_note(way)
        raise error
    if arguments.tag:
        paths = _tagged(workspace, arguments.tag)
    else:
        paths = tuple(_named(workspace, name) for name in arguments.campaigns_named)
    for path in paths:
        say_remarks(workspace, path)
        say_log_doubts(workspace, path)
    found = workspace.history(paths, threshold)
    if arguments.json:
        print_json(history_document(found))
    else:
        print_tables(history_tables(found, wide=arguments.wide), history_words(found))
    return FAILED if found.fails else OK


FEW = 5
"""Tags, and campaigns, that are named where none was."""


def _could_be(workspace: Workspace) -> list[str]:
    """Words for what it could be of: a tag, or finished campaigns with figures of the same cases,
    the newest first."""
    workspace.past.read()
    measured = {
        one: {
            (past.profile, past.tag, frozenset(past.parameters.items()), past.simulated)
            for past in workspace.past.by_campaign.get(one.path, ())
            if isinstance(past, PastResult)
        }
        for one in workspace.campaigns()
        if one.state == "finished"
    }
    usable = [one for one, cases in measured.items() if cases]
    tags = dict.fromkeys(tag for one in usable for tag in one.about.tags)
    ways = [f"--tag {shlex.quote(tag)}" for tag in [*tags][:FEW]]
    named: set[Path] = set()
    for newest in usable:
        alike = [one for one in usable if not measured[newest].isdisjoint(measured[one])]
        if len(alike) > 1 and newest.path not in named:
            named.update(one.path for one in alike)
            ways.append(shlex.join(one.path.name for one in alike[:FEW]))
    return ways[: 2 * FEW]


def _named(workspace: Workspace, name: str) -> Path:
    try:
        return workspace.find_to_read(name)
    except SelectionError as error:
        if not any(name in campaign.about.tags for campaign in workspace.campaigns()):
            raise
        remedy = f"say --tag {shlex.quote(name)}"
        raise SelectionError("is a tag, no campaign", where=name, remedy=remedy) from error


def _tagged(workspace: Workspace, tag: str) -> tuple[Path, ...]:
    """Those that have figures, each once: not as copies of another of them."""
    found: dict[tuple[str, float | None], Path] = {}
    for campaign in sorted(workspace.campaigns(), key=lambda one: one.elsewhere):
        if tag not in campaign.about.tags:
            continue
        of = (campaign.name, campaign.created_at)
        why = f"it is a copy of {found[of].name}" if of in found else "it has no runs"
        if of in found or not campaign.total:
            say_folded(f"note: {campaign.called} is left out: {campaign.problem or why}")
        else:
            found[of] = campaign.path
    if not found:
        raise SelectionError(
            f"no campaign with the tag {tag!r}",
            where=str(workspace.campaigns_dir),
            remedy="'dlperf-tui campaigns tag CAMPAIGN TAG' gives one",
        )
    return tuple(found.values())
