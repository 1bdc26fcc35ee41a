"""``sweep``: what runs of ours left on the hosts."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from backends.campaign.cleanup_words import command_text, reason_text
from backends.campaign.record.cleanup_doubts import Why
from backends.campaign.record.lock import Role
from backends.campaign.run.end_and_fetch import pids_text
from backends.leftovers import Claim, Sweep
from backends.remote.wrapper_messages import Leftover, RunPhase
from backends.use_cases import Workspace
from profiles.counted import counted
from tui.cli.shared.engine_option import add_engine
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_hosts, chosen_hosts, open_workspace
from tui.cli.shared.output import say
from tui.cli.shared.sweep_jobs import sweep_jobs


def add(parser: argparse.ArgumentParser) -> None:
    add_hosts(parser)
    add_engine(parser, again=True)
    parser.add_argument(
        "--running", action="store_true", help="also what a console may be measuring right now"
    )
    parser.add_argument("--yes", action="store_true", help="end leftovers without asking")
    parser.add_argument(
        "--verified",
        nargs="+",
        default=(),
        metavar="RUN_ID",
        help="you have looked: no process of these runs is left",
    )


def run(arguments: argparse.Namespace) -> int:
    """List what runs of ours left on the hosts and, when told to, end it.

    A run that a console is measuring, and one that still runs for a campaign that is not kept
    here, is listed and let be; ``--running`` ends those too. Files of runs that have ended are
    leftovers as well: their log is fetched first where the campaign is kept here, and lost where it
    is not. What is let be because it is in use leaves the exit code 0; anything else that stays,
    and a host that cannot be looked at, make it 1.

    Where a queue gives the hosts it lists its jobs, and ends those whose campaign is gone or over.
    """
    return asyncio.run(_sweep(arguments))


async def _sweep(arguments: argparse.Namespace) -> int:
    async with open_workspace(arguments) as workspace:
        if (queue := workspace.cluster.queue_hosts) is not None:
            return await sweep_jobs(workspace, queue, yes=arguments.yes, agreed=_agreed)
        chosen = workspace.cluster.chosen(chosen_hosts(arguments))
        sweep = Sweep(workspace, arguments.verified)
        leftovers, away = await sweep.look([host.name for host in chosen])
        for doubt in away:
            say(f"cannot look: {doubt.host}: {reason_text(doubt)}")
        if not leftovers:
            print("nothing of ours is left" + (", as far as can be told" if away else ""))
            return FAILED if away else OK
        let_be = [] if arguments.running else [one for one in leftovers if sweep.in_use(one)]
        for leftover in leftovers:
            print(_describe(leftover, sweep.claims.get(leftover.run_id)))
        rest = [leftover for leftover in leftovers if leftover not in let_be]
        if let_be:
            say(f"{len(let_be)} still in use, let be; --running ends them too")
        if not rest:
            return FAILED if away else OK
        if not (arguments.yes or _agreed(len(rest))):
            return FAILED
        return await _end(workspace, sweep, rest) or (FAILED if away else OK)


def _describe(leftover: Leftover, claim: Claim | None) -> str:
    title = f"{leftover.host}: run {leftover.run_id}"
    who = f", {leftover.who}" if leftover.who else ""
    if leftover.size and claim is None:
        who = f", {leftover.size:,} bytes of log that no campaign here has{who}"
    if claim is not None and claim.state == "copy":
        who = f", for a campaign of which only a copy is here{who}"
    if leftover.processes:
        many = counted(leftover.processes, "process")
        if leftover.phase is not RunPhase.RUNNING:
            state = "orphaned"
        elif claim is None:
            state = "still running, for a campaign that is not kept here"
        elif claim.state == "live":
            kept = claim.by is not None and claim.by.role == Role.KEEPER
            state = f"still running, {claim.by if kept else 'a console'} is measuring it"
        elif claim.state == "copy":
            state = "still running"
        else:
            state = "still running, no console follows it ('resume' would)"
        return f"{title}: {state}, {many}{who}"
    hidden = pids_text(leftover.orphans)
    if hidden:
        who = f"; unverified: {hidden} may be its processes{who}"
    if leftover.phase is RunPhase.LOST:
        return f"{title}: files, its supervisor was killed{who}"
    return f"{title}: files of a run that has ended{who}"


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        say("end them with: dlperf-tui sweep --yes")
        return False
    answer = input(f"End these {count}, and what is left of them? [y/N] ")
    return answer.strip().lower() in ("y", "yes")


async def _end(workspace: Workspace, sweep: Sweep, leftovers: Sequence[Leftover]) -> int:
    unclear = 0
    for leftover, doubt in await sweep.end(leftovers):
        if doubt is None:
            continue
        unclear += 1
        host = workspace.cluster.inventory.get(doubt.host)
        say(f"unverified: {doubt.host}: run {leftover.run_id}: {reason_text(doubt)}")
        say(f"    look with: {command_text(doubt, leftover.run_id, host)}")
        if doubt.why in (Why.KILLED, Why.ORPHANS):
            say(
                f"    if nothing of it is left: dlperf-tui sweep --yes --verified {leftover.run_id}"
            )
    print(f"{len(leftovers) - unclear} of {len(leftovers)} ended and removed")
    return FAILED if unclear else OK
