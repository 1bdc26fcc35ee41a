"""``status``: how far campaigns have come."""

from __future__ import annotations

import argparse

from backends.campaign.record.run_results import run_results
from backends.campaign.record.snapshot import CampaignSnapshot
from backends.use_cases import Workspace
from tui.cli.shared.campaign_runs import listed, summary_document
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_json, open_workspace
from tui.cli.shared.output import print_json, say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """One campaign, or the list of all."""
    workspace = open_workspace(arguments)
    if arguments.campaign is None:
        return _status_of_all(workspace, as_json=arguments.json)
    path = workspace.find_campaign(arguments.campaign)
    snapshot = workspace.load(path)
    if arguments.json:
        from backends.results.results_json import document  # noqa: PLC0415
        from backends.results.summary import summarise  # noqa: PLC0415

        runs = run_results(snapshot.state)
        print_json(document(snapshot.name, runs, summarise(runs), path))
    else:
        _print_status(snapshot)
    for remark in workspace.remarks(path):
        if remark != snapshot.state.damage or arguments.json:
            say(f"note: {remark}")
    return FAILED if snapshot.failed else OK


def _print_status(snapshot: CampaignSnapshot) -> None:
    print(f"{snapshot.name}: {snapshot.summary}")
    if snapshot.state.damage:
        print(f"  {snapshot.state.damage}")
    for view in snapshot.runs:
        value = view.throughput if view.throughput is not None else view.throughput_now
        figure = f"{value:.2f} {view.unit}" if value is not None else "–"
        hosts = ",".join(view.hosts) or "–"
        line = f"  {view.profile} {view.label:<24} {view.state_text:<12} {figure:>20}  {hosts}"
        print(f"{line}  {view.reason}".rstrip())


def _status_of_all(workspace: Workspace, *, as_json: bool) -> int:
    campaigns = workspace.campaigns()
    if as_json:
        print_json([summary_document(campaign) for campaign in campaigns])
        return OK
    if not campaigns:
        say(f"no campaigns in {workspace.campaigns_dir}")
    for campaign in campaigns:
        print(listed(campaign))
    return OK
