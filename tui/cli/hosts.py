"""``hosts``: what the hosts are, and who is using them."""

from __future__ import annotations

import argparse
import asyncio

from backends.hosts.facts import HostSnapshot, HostState
from backends.hosts.hosts_json import host_document
from backends.hosts.topology import topology_block
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_hosts, add_json, chosen_hosts, open_workspace
from tui.cli.shared.output import print_json


def add(parser: argparse.ArgumentParser) -> None:
    add_hosts(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Probe and print. Exit code 1 when a host cannot be reached."""
    return asyncio.run(_hosts(arguments))


async def _hosts(arguments: argparse.Namespace) -> int:
    workspace = open_workspace(arguments)
    try:
        chosen = workspace.cluster.chosen(chosen_hosts(arguments))
        await workspace.cluster.probe([host.name for host in chosen])
        names = {host.name for host in chosen}
        snapshots = [s for s in workspace.cluster.probed if s.name in names]
    finally:
        await workspace.close()
    if arguments.json:
        print_json([host_document(snapshot) for snapshot in snapshots])
    else:
        for snapshot in snapshots:
            _print_host(snapshot)
    away = [s for s in snapshots if s.state is HostState.UNREACHABLE]
    return FAILED if away else OK


def _print_host(snapshot: HostSnapshot) -> None:
    reason = f"  {snapshot.reason}" if snapshot.reason else ""
    print(f"{snapshot.name}  {snapshot.address}  {snapshot.state}{reason}")
    if snapshot.remedy:
        print(f"  {snapshot.remedy}")
    facts = snapshot.facts
    if facts is None:
        return
    print(f"  {facts.cpus} CPUs {facts.cpu_model}, {facts.memory_mib / 1024:.0f} GiB, {facts.os}")
    if facts.lease is not None:
        print(f"  held by {facts.lease}; {facts.lease.remedy}")
    print(f"  load {facts.load1:.2f}, clock offset {facts.certain_clock_offset_s:+.2f} s")
    for gpu in facts.gpus:
        used = "–" if gpu.memory_used_mib is None else f"{gpu.memory_used_mib}"
        total = "–" if gpu.memory_total_mib is None else f"{gpu.memory_total_mib}"
        print(f"  GPU{gpu.index} {gpu.name}  {used}/{total} MiB  {gpu.utilization_pct or 0}%")
    if not facts.gpus:
        print(f"  no GPU; {snapshot.slots} slots")
    for process in facts.gpu_processes:
        print(f"  GPU{process.gpu_index} used by {process.user}: {process.command}")
    if facts.topology is not None:
        for line in topology_block(facts.topology).splitlines():
            print(f"  {line}")
    for warning in snapshot.warnings:
        print(f"  warning: {warning}")
