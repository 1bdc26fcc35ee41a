"""hosts and sweep: what the hosts are, and what runs of ours left on them."""

from __future__ import annotations

import argparse
import asyncio
import sys

from backends.hosts.document import host_document
from backends.hosts.model import HostSnapshot, HostState
from backends.hosts.topology import topology_block
from backends.inventory import select
from backends.remote.client import RemoteHost
from backends.remote.model import Leftover, RunPhase
from backends.transports.base import HostUnreachableError
from backends.workspace import Workspace
from tui.headless.common import open_workspace, print_json, say

OK, FAILED = 0, 1


async def hosts(arguments: argparse.Namespace) -> int:
    """``hosts``: probe and print. Exit code 1 when a host cannot be reached."""
    workspace = open_workspace(arguments)
    try:
        chosen = select(workspace.inventory, arguments.hosts or None)
        await workspace.probe([host.name for host in chosen])
        names = {host.name for host in chosen}
        snapshots = [s for s in workspace.known_snapshots() if s.name in names]
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


async def sweep(arguments: argparse.Namespace) -> int:
    """``sweep``: list leftovers of ours on the hosts and, when told to, end them.

    Files of runs that have ended are leftovers too; only processes make the exit code 1.
    """
    workspace = open_workspace(arguments)
    try:
        chosen = select(workspace.inventory, arguments.hosts or None)
        found = await asyncio.gather(*(_look(workspace, host.name) for host in chosen))
        leftovers = [leftover for some in found for leftover in some]
        for leftover in leftovers:
            print(_describe(leftover))
        if not leftovers:
            print("nothing of ours is left")
            return OK
        running = any(leftover.processes for leftover in leftovers)
        if not (arguments.yes or _agreed(len(leftovers))):
            return FAILED if running else OK
        return await _end(workspace, leftovers)
    finally:
        await workspace.close()


async def _look(workspace: Workspace, name: str) -> tuple[Leftover, ...]:
    try:
        return await RemoteHost(workspace.pool.get(name)).sweep()
    except HostUnreachableError as error:
        say(f"cannot look: {error}")
        return ()


def _describe(leftover: Leftover) -> str:
    who = f", {leftover.who}" if leftover.who else ""
    if leftover.processes:
        state = "still running" if leftover.phase is RunPhase.RUNNING else "orphaned"
        many = f"{leftover.processes} processes"
        return f"{leftover.host}: run {leftover.run_id}: {state}, {many}{who}"
    if leftover.phase is RunPhase.LOST:
        return f"{leftover.host}: run {leftover.run_id}: files, its supervisor was killed{who}"
    return f"{leftover.host}: run {leftover.run_id}: files of a run that has ended{who}"


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        say("end them with: dlperf-tui sweep --yes")
        return False
    answer = input(f"End these {count} and remove their files? [y/N] ")
    return answer.strip().lower() in ("y", "yes")


async def _end(workspace: Workspace, leftovers: list[Leftover]) -> int:
    unclear = 0
    for leftover in leftovers:
        report = await RemoteHost(workspace.pool.get(leftover.host)).end_leftover(leftover)
        if report.left is None or report.left > 0:
            unclear += 1
            say(f"{leftover.host}: run {leftover.run_id}: {report.detail}")
    print(f"{len(leftovers) - unclear} of {len(leftovers)} ended and removed")
    return FAILED if unclear else OK
