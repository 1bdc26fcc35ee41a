"""``status``: how far campaigns have come."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from backends.campaign.folder.index import latest_written
from backends.campaign.record.run_results import run_results
from backends.campaign.record.status_view import CampaignSnapshot
from backends.results.gpu_time import gpu_time_used
from backends.use_cases import Workspace
from profiles.cleantext import clean_text
from profiles.counted import first_of
from profiles.errors import SelectionError
from tui.cli.shared.campaign_remarks import say_log_doubts, summary_document
from tui.cli.shared.campaign_rows import campaign_rows, run_rows
from tui.cli.shared.exit_codes import OK, code_of
from tui.cli.shared.options import add_campaign, add_json, open_workspace
from tui.cli.shared.output import print_json, say, say_folded
from tui.cli.shared.print_table import print_rows
from tui.cli.shared.say_outages import say_outages
from tui.kept_words import DESERTED, kept_words, lies_elsewhere, titled
from tui.program_name import named, resume_of


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser, nargs="?", help="one alone: its name, its path, or the id it began with")
    parser.add_argument(
        "--watch", action="store_true", help="until it has finished, or for good; ctrl+C ends it"
    )
    parser.add_argument(
        "--line",
        action="store_true",
        help="one line for a status bar: of the campaign, or of the one whose runs did "
        "something last, wherever it was moved, a simulated one only where none was measured; exit "
        "code 0 whatever became of its runs",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """One campaign, or the list of all."""
    workspace = open_workspace(arguments)
    if arguments.watch:
        return _watch(workspace, arguments)
    if arguments.line:
        return _status_line(workspace, arguments)
    if arguments.campaign is None:
        return _status_of_all(workspace, as_json=arguments.json)
    path = workspace.find_to_read(arguments.campaign)
    snapshot = workspace.load(path)
    if arguments.json:
        from backends.campaign.folder.artifacts import precheck_document  # noqa: PLC0415
        from backends.results.results_json import document, notes_document  # noqa: PLC0415
        from backends.results.summary import summarise  # noqa: PLC0415

        runs = run_results(snapshot.state)
        shown = workspace.shown(path)
        told = document(snapshot.name, runs, summarise(runs), shown, precheck_document(path))
        notes = notes_document(snapshot.notes)
        print_json(told | _left(snapshot) | ({"notes": notes} if notes else {}))
    else:
        _print_status(snapshot)
        say_outages(snapshot.state)
        if snapshot.deserted and workspace.shown(path) == path:  # a bundle does not go on
            _say_how_to_go_on(workspace, path, snapshot)
    for remark in workspace.remarks(path):
        if remark != snapshot.state.damage or arguments.json:
            say_folded(f"note: {remark}")
    if snapshot.finished:
        say_log_doubts(workspace, path)
    return code_of(snapshot.state)


def _status_line(workspace: Workspace, arguments: argparse.Namespace) -> int:
    """Nothing where there is no campaign, so that a status bar stays empty."""
    if arguments.json:
        raise SelectionError(
            "a line is no document", where="--line, --json", remedy="give one of them"
        )
    if arguments.campaign is None:
        path = latest_written(workspace.campaigns_dir)
        if path is None:
            return OK
    else:
        path = workspace.find_to_read(arguments.campaign)
    snapshot = workspace.load(path)
    parts = [snapshot.called, "SIMULATED" if snapshot.simulated else "", snapshot.summary]
    if snapshot.deserted:
        parts.append(DESERTED)
    if lost := {host for run in snapshot.state.runs.values() for host in run.lost_hosts}:
        parts.append(f"{len(lost)} out of reach")
    # Where tmux shows it, a # begins a style.
    print(clean_text(" · ".join(filter(None, parts))).replace("#", ""))
    return OK


def _left(snapshot: CampaignSnapshot) -> dict[str, object]:
    """Nothing of a campaign that has finished: its document is the one that ``run`` printed."""
    if snapshot.finished:
        return {}
    by = snapshot.kept_by
    kept = None
    if by is not None:
        told = {"user": by.user, "host": by.host, "pid": by.pid, "since": by.since or None}
        kept = {"role": by.role, **told}
    return {
        "eta_s": snapshot.eta_s,
        "after_that_s": snapshot.after_that_s,
        "blocked_by": list(snapshot.blocked_by),
        "eta_text": snapshot.eta_text or None,
        "kept_by": kept,
    }


def _watch(workspace: Workspace, arguments: argparse.Namespace) -> int:
    from tui.cli.shared.watching import watch_all, watch_one  # noqa: PLC0415 (where it is asked)

    if arguments.json:
        raise SelectionError(
            "one document cannot be watched", where="--watch, --json", remedy="give one of them"
        )
    if arguments.campaign is None:
        return watch_all(workspace)
    return watch_one(workspace, workspace.find_to_read(arguments.campaign))


def _print_status(snapshot: CampaignSnapshot) -> None:
    print(titled(snapshot))
    if snapshot.state.damage:
        print(f"  {snapshot.state.damage}")
    if snapshot.kept_by is not None:
        print(f"  {clean_text(kept_words(snapshot.kept_by, time.time()))}")
    elif snapshot.deserted:
        print(f"  {DESERTED}")
    elif snapshot.finished and (used := gpu_time_used(run_results(snapshot.state))):
        print(f"  {used} used")
    print()
    print_rows(run_rows(snapshot.runs))


def _say_how_to_go_on(workspace: Workspace, path: Path, snapshot: CampaignSnapshot) -> None:
    from tui.keeping import common_options, cron_line  # noqa: PLC0415 (where it is needed)

    elsewhere = bool(lies_elsewhere(snapshot))
    command = resume_of(path, simulated=snapshot.simulated, copy=elsewhere)
    if snapshot.simulated or elsewhere:
        if command:
            say(f"go on with it{' in' * snapshot.simulated}: {command}")
        return
    say(f"go on with it: {command}, or resume --detach {named(path)}")
    say(f"or by cron: {cron_line(path, common_options(workspace))}")


def _status_of_all(workspace: Workspace, *, as_json: bool) -> int:
    campaigns = workspace.campaigns()
    if as_json:
        print_json([summary_document(campaign) for campaign in campaigns])
    elif campaigns:
        print_rows(campaign_rows(campaigns))
        if left := [one for one in campaigns if one.state == "unfinished" and not one.simulated]:
            say(f"nobody goes on with {first_of([clean_text(one.called) for one in left])}")
            say(f"go on with it: {resume_of(left[0].path, simulated=False)}")
    else:
        say(f"no campaigns in {workspace.campaigns_dir}")
    return OK
