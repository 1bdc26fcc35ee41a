"""A precheck as the first stage of a campaign."""

from __future__ import annotations

import argparse
import sys

from backends.campaign.plan.plan import Plan
from backends.precheck.measure import Progress
from backends.precheck.plan_precheck import Wishes
from backends.precheck.record import Precheck
from backends.precheck.words import plan_lines
from backends.use_cases import Workspace
from tui.cli.shared.output import say


async def precheck_first(
    workspace: Workspace, made: Plan, arguments: argparse.Namespace
) -> Precheck:
    """Measure the hosts of a plan, which have just been looked at.

    Raises
    ------
    SelectionError: a queue gives them, or none can be measured now.
    """
    asking = workspace.prechecks
    plan = await asking.plan_for(made.hosts, Wishes(), probe=False)
    for line in plan_lines(plan):
        say(line)
    precheck = await asking.measure(plan, Shown(), arguments.share)
    say_left(precheck)
    return precheck


class Shown:
    """Progress for whoever sits at a terminal, a line for every stage in a pipe."""

    def __init__(self) -> None:
        self._stage = ""

    def __call__(self, progress: Progress) -> None:
        fresh = progress.stage != self._stage
        self._stage = progress.stage
        if progress.total == 0 or fresh or sys.stderr.isatty():
            count = f" {progress.done}/{progress.total}" if progress.total else ""
            say(f"{progress.stage}{count}: {progress.text}".rstrip(": "))


def say_left(precheck: Precheck) -> None:
    """What could not be removed, and where all of it is."""
    for left in precheck.left:
        say(f"not cleaned up: {left}; see 'dlperf-tui sweep'")
    say(f"precheck {precheck.path}")
