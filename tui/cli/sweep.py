"""``sweep``: what runs of ours left on the hosts."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping

from backends.inventory.hosts import select
from backends.remote.client import RemoteHost
from backends.remote.messages import Leftover, RunPhase
from backends.transports.base import HostUnreachableError
from backends.workspace import Workspace
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_hosts, chosen_hosts, open_workspace
from tui.cli.shared.output import say


def add(parser: argparse.ArgumentParser) -> None:
    add_hosts(parser)
    parser.add_argument(
        "--running", action="store_true", help="also what a console may be measuring right now"
    )
    parser.add_argument("--yes", action="store_true", help="end leftovers without asking")


def run(arguments: argparse.Namespace) -> int:
    """List what runs of ours left on the hosts and, when told to, end it.

    A run that a console is measuring, and one that still runs for a campaign that is not kept
    here, is listed and let be; ``--running`` ends those too. Files of runs that have ended are
    leftovers as well; only processes make the exit code 1.
    """
    return asyncio.run(_sweep(arguments))


async def _sweep(arguments: argparse.Namespace) -> int:
    workspace = open_workspace(arguments)
    try:
        chosen = select(workspace.inventory, chosen_hosts(arguments) or None)
        found = await asyncio.gather(*(_look(workspace, host.name) for host in chosen))
        leftovers = [leftover for some in found for leftover in some]
        if not leftovers:
            print("nothing of ours is left")
            return OK
        claims = _claims(workspace)
        let_be = [] if arguments.running else [x for x in leftovers if _in_use(x, claims)]
        for leftover in leftovers:
            print(_describe(leftover, claims.get(leftover.run_id)))
        rest = [leftover for leftover in leftovers if leftover not in let_be]
        if let_be:
            say(f"{len(let_be)} still in use, let be; --running ends them too")
        if not rest:
            return OK
        running = any(leftover.processes for leftover in rest)
        if not (arguments.yes or _agreed(len(rest))):
            return FAILED if running else OK
        return await _end(workspace, rest)
    finally:
        await workspace.close()


def _claims(workspace: Workspace) -> dict[str, str]:
    """By run id: live, unfinished or finished, as the campaign that is kept here."""
    return {
        run_id: campaign.state
        for campaign in workspace.campaigns()
        for run_id in workspace.state(campaign.path).runs
    }


def _in_use(leftover: Leftover, claims: Mapping[str, str]) -> bool:
    claim = claims.get(leftover.run_id)
    return leftover.phase is RunPhase.RUNNING and claim in (None, "live")


async def _look(workspace: Workspace, name: str) -> tuple[Leftover, ...]:
    try:
        return await RemoteHost(workspace.pool.get(name)).sweep()
    except HostUnreachableError as error:
        say(f"cannot look: {error}")
        return ()


def _describe(leftover: Leftover, claim: str | None) -> str:
    title = f"{leftover.host}: run {leftover.run_id}"
    who = f", {leftover.who}" if leftover.who else ""
    if leftover.processes:
        many = "1 process" if leftover.processes == 1 else f"{leftover.processes} processes"
        if leftover.phase is not RunPhase.RUNNING:
            state = "orphaned"
        elif claim == "live":
            state = "still running, a console is measuring it"
        elif claim is None:
            state = "still running, for a campaign that is not kept here"
        else:
            state = "still running, no console follows it ('resume' would)"
        return f"{title}: {state}, {many}{who}"
    if leftover.phase is RunPhase.LOST:
        return f"{title}: files, its supervisor was killed{who}"
    return f"{title}: files of a run that has ended{who}"


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
