"""``precheck``: measure the cluster itself, and name who is slow or broken."""

from __future__ import annotations

import argparse
import asyncio

from backends.precheck.plan_precheck import PYTHON, STAGES, PrecheckPlan, Wishes
from backends.precheck.record import Precheck, document
from backends.precheck.tournament import MOST_ROUNDS
from backends.precheck.words import (
    conclusions,
    figure_tables,
    plan_lines,
    ranking_table,
    step_text,
    who_is_named,
)
from backends.results.render import Column
from profiles.errors import SelectionError
from tui.cli.shared.engine_option import add_engine
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_hosts, add_json, add_share, chosen_hosts, open_workspace
from tui.cli.shared.output import print_json, say
from tui.cli.shared.precheck_first import Shown, say_left
from tui.cli.shared.print_table import Rows, print_rows, print_tables
from tui.cli.shared.readonly_option import refuse_change

_LISTED = 50


def add(parser: argparse.ArgumentParser) -> None:
    add_hosts(parser)
    add_engine(parser, again=True)
    add_how(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would run, where and for how long"
    )
    parser.add_argument("--list", action="store_true", help="those that were kept, newest first")
    add_share(parser)
    add_json(parser)


def add_how(parser: argparse.ArgumentParser) -> None:
    """How it is measured."""
    parser.add_argument(
        "--python",
        default=PYTHON,
        metavar="PYTHON",
        help="on the hosts; with PyTorch in it GPUs and collectives are measured (python3)",
    )
    parser.add_argument(
        "--nccl-tests",
        default="",
        metavar="DIR",
        help="where all_reduce_perf is on the hosts; it is looked for on their PATH",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=MOST_ROUNDS,
        metavar="N",
        help=f"of pairs, at most ({MOST_ROUNDS}); every pair has its turn in one less than hosts",
    )
    parser.add_argument(
        "--at-once",
        type=int,
        default=0,
        metavar="N",
        help="measure so many hosts by themselves at the same time (all); virtual machines that"
        " share one machine had better take turns",
    )
    parser.add_argument(
        "--stages",
        default="",
        metavar="NAMES",
        help=f"only these: {','.join(STAGES)}",
    )


def wishes_of(arguments: argparse.Namespace) -> Wishes:
    """As asked.

    Raises
    ------
    SelectionError: a number or a stage is none.
    """
    if arguments.rounds < 1:
        raise SelectionError(
            f"{arguments.rounds} rounds measure no pair",
            where="--rounds",
            remedy="give 1 or more, or leave pairs out with --stages",
        )
    if arguments.at_once < 0:
        raise SelectionError("below 0", where="--at-once", remedy="give a number of hosts")
    if not arguments.python.strip():
        raise SelectionError("no program is named", where="--python", remedy="such as python3")
    names = [name for name in arguments.stages.split(",") if name]
    known = {str(stage): stage for stage in STAGES}
    if unknown := [name for name in names if name not in known]:
        raise SelectionError(
            f"no stage is called {unknown[0]!r}",
            where="--stages",
            remedy=f"there are {', '.join(known)}",
        )
    return Wishes(
        python=arguments.python,
        nccl_tests=arguments.nccl_tests.rstrip("/"),
        rounds=arguments.rounds,
        at_once=arguments.at_once,
        stages=tuple(known[name] for name in names) or STAGES,
    )


def run(arguments: argparse.Namespace) -> int:
    """Plan, measure, rank. Exit code 1 when somebody is named."""
    wishes = wishes_of(arguments)
    if arguments.readonly and not (arguments.list or arguments.dry_run):
        refuse_change()
    return asyncio.run(_precheck(arguments, wishes))


async def _precheck(arguments: argparse.Namespace, wishes: Wishes) -> int:
    async with open_workspace(arguments) as workspace:
        asking = workspace.prechecks
        if arguments.list:
            _list(await asyncio.to_thread(asking.latest, _LISTED), json=arguments.json)
            return OK
        plan = await asking.plan(chosen_hosts(arguments), wishes)
        if arguments.dry_run:
            _print_plan(plan, json=arguments.json)
            return OK
        for line in plan_lines(plan):
            say(line)
        precheck = await asking.measure(plan, Shown(), arguments.share)
        say_left(precheck)
        if arguments.json:
            print_json(document(precheck))
        else:
            print_precheck(precheck)
        return FAILED if precheck.ranking.named else OK


def print_precheck(precheck: Precheck) -> None:
    """On stdout: the ranking first."""
    tables = (ranking_table(precheck.ranking), *figure_tables(precheck))
    print_tables(tables, ((), conclusions(precheck.ranking, precheck.measured)))


def _print_plan(plan: PrecheckPlan, *, json: bool) -> None:
    if not json:
        for line in plan_lines(plan):
            print(line)
        return
    print_json(
        {
            "hosts": list(plan.hosts),
            "left_out": dict(plan.left_out),
            "busy": plan.busy,
            "expected_s": round(plan.expected_s, 1),
            "steps": [
                {
                    "stage": str(step.stage),
                    "hosts": list(step.hosts),
                    "runs": step.runs,
                    "way": step.way,
                    "expected_s": round(step.expected_s, 1),
                    "text": step_text(step),
                }
                for step in plan.steps
            ],
            "rounds": [[list(pair) for pair in pairs] for pairs in plan.rounds],
            "notes": list(plan.notes),
        }
    )


def _list(found: tuple[Precheck, ...], *, json: bool) -> None:
    if json:
        print_json([document(precheck) for precheck in found])
        return
    columns = (
        Column("precheck", "left"),
        Column("hosts"),
        Column("named", "left"),
        Column("path", "left"),
    )
    rows = [
        (
            precheck.name if precheck.finished else f"{precheck.name} (stopped)",
            str(len(precheck.measured.hosts)),
            who_is_named(precheck.ranking),
            str(precheck.path),
        )
        for precheck in found
    ]
    if rows:
        print_rows(Rows(columns, rows))
    else:
        say("none kept yet")
