"""``plan``: what a selection would run; starts nothing."""

from __future__ import annotations

import argparse
import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backends.campaign.plan.cost_estimate import plan_price
from backends.campaign.plan.plan import DryRun, Plan
from backends.campaign.plan.remarks import plan_remarks
from backends.hosts.preflight_finding import Finding, stopping
from backends.use_cases import Workspace
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import add_jobs, add_json, add_pull
from tui.cli.shared.output import print_json, say_folded
from tui.cli.shared.plan_from_options import (
    add_leave_out,
    leave_out,
    make_plan,
    refuse_if_none_can_run,
    say_left_out,
    say_summary,
    ways_on,
)
from tui.cli.shared.selection_options import add_selection
from tui.job_text import asked_for
from tui.plan_words import (
    MAY_CHANGE,
    host_lines,
    stand_in_lines,
    stand_ins,
    usable_now,
)
from tui.timeline_text import timeline_lines

AS_FAR = "as far as hosts told: run looks for programs and data there, too"


def add(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_jobs(parser)
    add_pull(parser)
    add_leave_out(parser)
    parser.add_argument(
        "--export",
        metavar="DIR",
        type=Path,
        help="write the runs there as batch scripts that need nothing of this program",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Every run, its hosts, its exact commands.

    A case that these hosts cannot run is shown as it would be on hosts that can.
    """
    return asyncio.run(_plan(arguments))


async def _plan(arguments: argparse.Namespace) -> int:
    workspace, made = await make_plan(arguments, must_run=arguments.export is not None)
    async with workspace:
        if arguments.leave_out:
            made = leave_out(workspace, made, workspace.foreseen(made))
        if arguments.export is not None:
            return _export(workspace, made, arguments)
        found = workspace.foreseen(made)
        now, narrowed = usable_now(made, workspace.cluster.snapshots(), found)
        runs = workspace.dry_run(now)
        elsewhere = workspace.dry_run_elsewhere(made)
        foreseen = _foreseen_lines(workspace, made, found, narrowed, workspace.foreseen(now))
        if arguments.json:
            print_json(
                {
                    "runs": [
                        {
                            "label": r.label,
                            "hosts": r.hosts,
                            "commands": r.commands,
                            "job": r.job or None,
                            "start_s": r.start_s,
                            "end_s": r.end_s,
                        }
                        for r in runs
                    ],
                    "refused": [
                        {
                            "profile": planned.profile.name,
                            "case": planned.case.tag,
                            "reason": planned.infeasible,
                            "commands": r.commands,
                        }
                        for planned, r in zip(made.refused, elsewhere, strict=True)
                    ],
                    "expected_s": now.expected_s,
                    "totals": _totals(now),
                    "stand_ins": stand_ins((*runs, *elsewhere)),
                    "remarks": (*plan_remarks(made), *foreseen),
                }
            )
            refuse_if_none_can_run(made)
            return OK
        for run in runs:
            _print_dry_run(run, f"{run.number}/{len(runs)}  ")
        _print_job(runs)
        for planned, run in zip(made.refused, elsewhere, strict=True):
            print(f"cannot run here: {planned.infeasible}; where it can, it is")
            _print_dry_run(run)
        for line in timeline_lines(runs, shutil.get_terminal_size().columns):
            print(line)
        for line in stand_in_lines((*runs, *elsewhere)):
            print(line)
        if len(runs) > 1:
            print(MAY_CHANGE)
        if made.cases or not made.refused:
            say_summary(now)
        for line in foreseen:
            say_folded(f"note: {line}")
        refuse_if_none_can_run(made)
        return OK


def _foreseen_lines(
    workspace: Workspace,
    made: Plan,
    found: Sequence[Finding],
    narrowed: str,
    of_used: Sequence[Finding],
) -> list[str]:
    """What ``run`` will say of the hosts, and what can be done where it stops at that. ``found``:
    of preflight. ``narrowed``, ``of_used``: as in :func:`tui.plan_words.host_lines`."""
    lines = host_lines(made, workspace.cluster.snapshots(), found, narrowed, of_used)
    if (stop := stopping(found, force=False)) is not None:
        ways = ways_on(workspace, made, found)
        lines.append(f"run stops at {stop.host or 'that'}; {ways}, {AS_FAR}")
    elif made.left_out:
        lines.append(f"run goes on with the others {AS_FAR}")
    return [*lines, *(f"left out: {line}" for line in made.left_out)]


def _totals(made: Plan) -> dict[str, Any]:  # JSON
    price = plan_price(made)
    return {
        "runs": made.run_count + len(made.profiled),
        "profiled": len(made.profiled),
        "expected_s": made.expected_s,
        "device_hours": None if price is None else price.device_hours,
        "cost": None if price is None or price.cost is None else list(price.cost),
        "at_least": made.selection.auto is not None,
        "measured": sum(planned.measured_s is not None for planned in made.cases),
    }


def _export(workspace: Workspace, made: Plan, arguments: argparse.Namespace) -> int:
    *scripts, submission = workspace.export(made, arguments.export)
    if arguments.json:
        print_json({"scripts": [str(path) for path in scripts], "submit": str(submission)})
        return OK
    print(f"{submission}")
    say_left_out(made)
    say_summary(made)
    return OK


def _print_job(runs: Sequence[DryRun]) -> None:
    if not runs or not runs[0].job:
        return
    first = "the first is handed in as follows; others differ in their #SBATCH lines"
    print("all are steps of one job, which is handed in as follows" if runs[0].of_all else first)
    print(runs[0].job)


def _print_dry_run(run: DryRun, number: str = "") -> None:
    """``number``: by which the lines of who is where and when name it."""
    print(f"{number}{run.label}")
    asked = asked_for(run)
    if asked and not run.of_all:
        print(f"  {asked}")
    for host, command in zip(run.hosts, run.commands, strict=False):
        print(f"  {host}: {command or '(ranks are started from the first host)'}")
