"""``demo``: the console, or a whole campaign without it, on simulated hosts."""

from __future__ import annotations

import argparse
import asyncio
import time

from backends.use_cases import Workspace, default_campaigns_dir
from profiles.errors import SelectionError
from tui.cli.shared.exit_codes import FAILED, INTERRUPTED, OK
from tui.cli.shared.follow import see_through
from tui.cli.shared.options import add_json
from tui.cli.shared.output import say, say_folded
from tui.cli.shared.readonly_option import refuse_change

SLOWEST, FASTEST = 1.0, 60.0
CONSOLE_SPEED = 10.0


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--headless",
        action="store_true",
        help="run a whole campaign without the console, print its table, exit with 0 when it went "
        "as scripted",
    )
    parser.add_argument(
        "--speed",
        metavar="X",
        type=float,
        help="how fast time passes for the simulated hosts, 1 to 60; by default 10, or 60 with "
        "--headless",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """The console; or a campaign, whose exit code tells whether all went as scripted."""
    default = FASTEST if arguments.headless else CONSOLE_SPEED
    speed = default if arguments.speed is None else arguments.speed
    if not SLOWEST <= speed <= FASTEST:
        raise SelectionError(
            f"{speed:g} is no speed from {SLOWEST:g} to {FASTEST:g}",
            where="--speed",
            remedy="give one such as 10",
        )
    for option, given in (
        ("--inventory", arguments.inventory),
        ("--profile-dir", arguments.profile_dir),
        ("--engine", arguments.engine),
    ):
        if given:
            raise SelectionError(
                "the demo has hosts and profiles of its own", where=option, remedy="leave it out"
            )
    if arguments.headless:
        if arguments.readonly:
            refuse_change()
        return asyncio.run(_headless(arguments, speed))
    if arguments.json:
        raise SelectionError(
            "the console prints no document", where="--json", remedy="add --headless"
        )
    from tui.cli.console import open_console  # noqa: PLC0415 (Textual is large)

    return open_console(arguments, lambda _: _workspace(arguments, speed), "demo --headless")


def _workspace(arguments: argparse.Namespace, speed: float) -> Workspace:
    """On the running event loop."""
    from backends.demo import open_demo  # noqa: PLC0415 (loads the engine)

    return open_demo(arguments.campaigns or default_campaigns_dir(), speed, time.time())


async def _headless(arguments: argparse.Namespace, speed: float) -> int:
    from backends.demo import SELECTION, not_as_scripted  # noqa: PLC0415 (as above)

    async with _workspace(arguments, speed) as workspace:
        say("SIMULATED: four hosts that are not there, and nothing is measured")
        await workspace.cluster.probe()
        made = workspace.plan(SELECTION)
        findings = await workspace.preflight(made, say_folded)
        controller = await workspace.start(made, findings)
        say(f"campaign {controller.path}")
        ended = await see_through(workspace, controller, arguments)
        if ended == INTERRUPTED:
            return ended
        await workspace.cluster.probe()
        problems = not_as_scripted(controller.state, workspace.cluster.snapshots())
        for problem in problems:
            say_folded(f"not as scripted: {problem}")
        return FAILED if problems else OK
