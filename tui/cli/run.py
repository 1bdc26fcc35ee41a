"""``run``: a selection from plan to report, without the console."""

from __future__ import annotations

import argparse
import asyncio

from backends.campaign.plan.selection import Plan
from backends.workspace import Workspace
from profiles.errors import SelectionError
from tui.cli.shared.follow import see_through
from tui.cli.shared.options import add_json, add_selection
from tui.cli.shared.output import say
from tui.cli.shared.planning import make_plan, say_summary


def add(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument(
        "--force", action="store_true", help="override what preflight stops; the report will say so"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Plan, preflight, start, follow to the end."""
    return asyncio.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    workspace, made = await make_plan(arguments)
    try:
        _say_refused(made)
        overridden = await _check(workspace, made, force=arguments.force)
        say_summary(made)
        controller = await workspace.start(made, force=arguments.force, overridden=overridden)
        say(f"campaign {controller.path}")
        return await see_through(workspace, controller, arguments)
    finally:
        await workspace.close()


def _say_refused(made: Plan) -> None:
    for planned in made.refused:
        say(f"left out: {planned.profile.name} {planned.case.tag}: {planned.infeasible}")


async def _check(workspace: Workspace, made: Plan, *, force: bool) -> tuple[str, ...]:
    """Say what preflight found; raise when it stops the campaign, unless that is overridden."""
    findings = await workspace.preflight(made)
    for finding in findings:
        if finding.level != "ok":
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            where = f"{finding.host}: " if finding.host else ""
            say(f"{finding.level}: {where}{finding.what}{remedy}")
    stops = [finding for finding in findings if finding.level == "stop"]
    if stops and not force:
        first = stops[0]
        raise SelectionError(
            f"preflight stops: {first.what}",
            where=first.host,
            remedy=first.remedy or "mend it, or override it with --force",
        )
    return tuple(f"{stop.host}: {stop.what}" for stop in stops)
