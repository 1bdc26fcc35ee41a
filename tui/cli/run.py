"""``run``: a selection from plan to report, without the console."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from backends.campaign.plan.plan import Plan
from backends.hosts.preflight_finding import Finding, StoppedError, stopping
from backends.prechecking import carry, findings_of
from backends.use_cases import Workspace
from tui.cli.shared.detach import add_detach, detach, refuse_logins_by_hand
from tui.cli.shared.follow import see_through
from tui.cli.shared.options import add_jobs, add_json, add_pull, add_share
from tui.cli.shared.output import say, say_folded
from tui.cli.shared.plan_from_options import (
    add_leave_out,
    add_yes,
    leave_out,
    make_plan,
    refuse_unmeant,
    say_left_out,
    say_summary,
    ways_on,
)
from tui.cli.shared.precheck_first import precheck_first
from tui.cli.shared.selection_options import add_selection


def add(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    in_spite = parser.add_mutually_exclusive_group()
    in_spite.add_argument(
        "--force", action="store_true", help="override what preflight stops; the report will say so"
    )
    add_leave_out(in_spite)
    parser.add_argument(
        "--precheck",
        action="store_true",
        help="measure the hosts first; what is broken stops it, what is slow is said",
    )
    add_jobs(parser)
    add_pull(parser)
    add_share(parser)
    add_yes(parser)
    add_detach(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Plan, preflight, start, follow to the end."""
    return asyncio.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    workspace, made = await make_plan(arguments)
    async with workspace:
        say_left_out(made)
        refuse_unmeant(made, arguments)
        found = partial(_found, workspace, measured_next=arguments.precheck)
        findings = await found(made)
        if arguments.leave_out:
            made, findings = await _without_stopped(workspace, made, findings, found)
        ways = partial(ways_on, workspace, made, findings)
        _say_findings(findings, ways, force=arguments.force)
        if arguments.detach:
            refuse_logins_by_hand(workspace, [host.name for host in made.hosts])
        precheck = await precheck_first(workspace, made, arguments) if arguments.precheck else None
        if precheck is not None:
            measured = findings_of(precheck, made.profiles)
            if arguments.leave_out:
                made, _ = await _without_stopped(workspace, made, measured, found)
                there = {host.name for host in made.hosts} | {""}
                measured = tuple(found for found in measured if found.host in there)
                findings = tuple(found for found in findings if found.host in there)
            _say_findings(
                measured, partial(ways_on, workspace, made, measured), force=arguments.force
            )
            findings = (*findings, *measured)
        say_summary(made)
        if arguments.detach:
            path = await workspace.create(
                made, findings, force=arguments.force, share=arguments.share
            )
            if precheck is not None:
                await asyncio.to_thread(carry, precheck, path)
            return await detach(workspace, path, arguments, new=True)
        controller = await workspace.start(
            made, findings, force=arguments.force, share=arguments.share
        )
        if precheck is not None:
            await asyncio.to_thread(carry, precheck, controller.path)
        say(f"campaign {controller.path}")
        return await see_through(workspace, controller, arguments)


async def _without_stopped(
    workspace: Workspace,
    made: Plan,
    findings: tuple[Finding, ...],
    found: Callable[[Plan], Awaitable[tuple[Finding, ...]]],
) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan on the hosts that nothing stops, and what preflight says of those."""
    without = leave_out(workspace, made, findings)
    if without is made:
        return made, findings
    for line in without.left_out[len(made.left_out) :]:
        say_folded(f"left out: {line}")
    return without, await found(without)


async def _found(workspace: Workspace, made: Plan, *, measured_next: bool) -> tuple[Finding, ...]:
    """What preflight finds, and first which hosts it could not ask."""
    findings = await workspace.preflight(made, say, measured_next=measured_next)
    return (*workspace.unreachable(made), *findings)


def _say_findings(findings: Sequence[Finding], ways: Callable[[], str], *, force: bool) -> None:
    """What is doubtful, each once; ``ways``: to start in spite of what stops it.

    Raises
    ------
    StoppedError: one of them stops it: the error says which.
    """
    stop = stopping(findings, force=force)
    for finding in findings:
        if finding.level != "ok" and finding is not stop:
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            where = f"{finding.host}: " if finding.host else ""
            say_folded(f"{finding.level}: {where}{finding.what}{remedy}")
    if stop is not None:
        remedy = f"{stop.remedy}; or {ways()}".removeprefix("; or ")
        raise StoppedError(replace(stop, remedy=remedy))
