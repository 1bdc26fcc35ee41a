"""``hosts``: what the hosts are, and who is using them."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.hosts_json import host_document
from backends.inventory.nodesets import fold_nodeset
from tui.cli.shared.engine_option import add_engine
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.host_rows import print_hosts
from tui.cli.shared.options import add_hosts, add_json, chosen_hosts, open_workspace
from tui.cli.shared.output import print_json, say_folded


def add(parser: argparse.ArgumentParser) -> None:
    add_hosts(parser)
    add_engine(parser, again=True)
    parser.add_argument(
        "--wide", action="store_true", help="more columns, and each host's GPUs and topology"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Probe and print, one line per host. Exit code 1 when a host cannot be reached."""
    return asyncio.run(_hosts(arguments))


async def _hosts(arguments: argparse.Namespace) -> int:
    async with open_workspace(arguments) as workspace:
        await workspace.cluster.learn_hosts()
        chosen = workspace.cluster.chosen(chosen_hosts(arguments))
        await workspace.cluster.probe_unknown(chosen)
        known = {snapshot.name: snapshot for snapshot in workspace.cluster.probed}
        snapshots = [known[host.name] for host in chosen if host.name in known]
    if arguments.json:
        print_json([host_document(snapshot) for snapshot in snapshots])
    else:
        print_hosts(snapshots, wide=arguments.wide)
        _say_remedies(snapshots)
    away = [s for s in snapshots if s.state is HostState.UNREACHABLE]
    return FAILED if away else OK


def _say_remedies(snapshots: Sequence[HostSnapshot]) -> None:
    """One line for all hosts that need the same."""
    names: dict[str, list[str]] = {}
    for snapshot in snapshots:
        if snapshot.remedy:
            names.setdefault(snapshot.remedy, []).append(snapshot.name)
    for remedy, those in names.items():
        say_folded(f"{fold_nodeset(those)}: {remedy}")
