"""From the options to a plan on hosts that were looked at."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from backends.campaign.measured_before import PastBeside
from backends.campaign.plan.plan import Plan
from backends.campaign.plan.remarks import plan_remarks
from backends.campaign.plan.selection import MANY_RUNS
from backends.hosts.preflight_finding import Finding, stopping
from backends.hosts.software import sought_for
from backends.inventory.nodesets import fold_nodeset
from backends.use_cases import Workspace
from profiles.errors import SelectionError
from tui.cli.shared.options import open_workspace
from tui.cli.shared.output import say, say_folded
from tui.cli.shared.selection_options import asked
from tui.plan_words import (
    forced_hosts,
    left_words,
    plan_totals,
    unjudged_gpus,
    why_not_without,
)


async def make_plan(
    arguments: argparse.Namespace, *, must_run: bool = True
) -> tuple[Workspace, Plan]:
    """The workspace, for the caller to close, and the plan, by what was measured before as far as
    that is read in time.

    ``must_run``: a case that was named and cannot run is an error.
    """
    selection, request = asked(arguments)
    workspace = open_workspace(arguments, request.profile_dirs if request else ())
    past = PastBeside(lambda: workspace.past)  # while hosts are asked
    try:
        if request is not None and request.queue is not None:
            workspace.cluster.use_queue(request.queue)
        elif request is not None:
            selection, other = workspace.adopt_hosts(request, selection)
            if other:
                names = fold_nodeset(other)
                say_folded(f"note: {names}: as the inventory says, not as the campaign file does")
        if arguments.pull is not None:
            workspace.cluster.use_pull(arguments.pull)
        await workspace.cluster.learn_hosts()
        draft = workspace.plan(selection)  # what is wrong whatever the hosts are is said at once
        sought = sought_for((*draft.cases, *draft.refused))
        await workspace.cluster.probe([host.name for host in draft.hosts], sought=sought)
        made = workspace.plan(selection)
        if selection.cases and must_run:
            _refuse_named(made)
        made = workspace.as_measured(made, await asyncio.to_thread(past.found))
    except BaseException:
        past.stop()
        await workspace.close()
        raise
    return workspace, made


def _refuse_named(made: Plan) -> None:
    """A case that was asked for by name and cannot run is an error, not a remark; unless it can on
    another cluster."""
    elsewhere = {(p.profile.name, p.case.tag) for p in made.cases if p.case.cluster}
    for planned in made.refused:
        if planned.case.cluster and (planned.profile.name, planned.case.tag) in elsewhere:
            continue
        raise SelectionError(
            f"case {planned.case.tag} of {planned.profile.name} cannot run: {planned.infeasible}",
            remedy="leave it out, or give hosts that can run it",
        )


def refuse_if_none_can_run(made: Plan) -> None:
    """Whatever of it was shown as it would be elsewhere.

    Raises
    ------
    SelectionError: these hosts can run no case of those that were asked for.
    """
    if made.cases or not made.refused:
        return
    first = made.refused[0]
    more = f" (and {more} more)" if (more := len(made.refused) - 1) else ""
    raise SelectionError(
        f"nothing of this can run here: {first.case.tag} of {first.profile.name} "
        f"{first.infeasible}{more}",
        remedy="give hosts that can run it",
    )


def add_yes(parser: argparse.ArgumentParser) -> None:
    """For what :func:`refuse_unmeant` asks."""
    parser.add_argument(
        "--yes", action="store_true", help=f"start more than {MANY_RUNS:,} runs without asking"
    )


def refuse_unmeant(made: Plan, arguments: argparse.Namespace) -> None:
    """Ask whoever sits at the terminal whether so many runs are meant.

    Raises
    ------
    SelectionError: they are not, or nobody is there to ask.
    """
    if made.run_count <= MANY_RUNS or arguments.yes:
        return
    if not arguments.json and sys.stdin.isatty() and sys.stderr.isatty():
        print(f"{plan_totals(made)}. Start them? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise SelectionError(
        f"{made.run_count:,} runs are started only when they are meant",
        remedy="add --yes, or give fewer cases, values or repeats",
    )


def add_leave_out(parser: argparse._ActionsContainer) -> None:
    """For :func:`leave_out`."""
    parser.add_argument(
        "--leave-out",
        action="store_true",
        help="go on without the hosts and profiles that preflight stops; the report says so",
    )


def leave_out(workspace: Workspace, made: Plan, findings: Sequence[Finding]) -> Plan:
    """The plan on the hosts that nothing stops, without profiles that are stopped on all of them; a
    case that takes more hosts is left out, too.

    Raises
    ------
    SelectionError: nothing is left to run.
    """
    without = workspace.without_stopped(made, findings)
    if without is None:
        stop = stopping(findings, force=False)
        raise SelectionError(
            f"--leave-out leaves nothing to run: {'' if stop is None else stop.what}".rstrip(": "),
            where="" if stop is None else stop.host,
            remedy="give other hosts, or mend these",
        )
    return made if without is made else workspace.as_measured(without, workspace.past.found)


def ways_on(workspace: Workspace, made: Plan, findings: Sequence[Finding]) -> str:
    """Which options start in spite of what stops it: "--leave-out goes on with node[1-3], --force
    with all"; why the first cannot, where that is so."""
    without = workspace.without_stopped(made, findings)
    if without is None:
        return f"--force starts all the same (no --leave-out: {why_not_without(findings)})"
    fewer = without.run_count < made.run_count
    of = f", {without.run_count} of {made.run_count} runs" if fewer else ""
    there = left_words(made, without)
    return f"--leave-out goes on with {there}{of}, --force with {forced_hosts(made)}"


def say_left_out(made: Plan) -> None:
    for planned in made.refused:
        say(f"left out: {planned.profile.name} {planned.case.tag}: {planned.infeasible}")


def say_summary(made: Plan) -> None:
    say_folded(plan_totals(made))
    for remark in filter(None, (*plan_remarks(made), unjudged_gpus(made))):
        say_folded(f"note: {remark}")
