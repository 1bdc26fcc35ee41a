"""A campaign at work, followed to its end or left to itself."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from pathlib import Path

from backends import debug
from backends.campaign.controller import CampaignController
from backends.campaign.record.lock import CampaignLock
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, RunState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.use_cases import Workspace
from profiles.errors import DlperfError
from tui.attention import Rung
from tui.cli.shared.exit_codes import INTERRUPTED, code_of
from tui.cli.shared.output import print_json, say, say_folded
from tui.cli.shared.progress import show_progress
from tui.program_name import demo_of


async def see_through(
    workspace: Workspace,
    controller: CampaignController,
    arguments: argparse.Namespace,
    before: Collection[str] = (),
) -> int:
    """Follow to the end and print what came out, or detach on a signal. The exit code.
    ``before``: runs that had ended before this."""
    interrupted, lost = asyncio.Event(), asyncio.Event()

    def hang_up() -> None:
        lost.set()
        interrupted.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupted.set)
    loop.add_signal_handler(signal.SIGHUP, hang_up)
    try:
        finished = await first_of(
            controller.wait,
            interrupted.wait,
            show=lambda: _show(workspace, controller, before),
        )
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
    if not finished:
        if lost.is_set() and not workspace.cluster.simulated:
            await _leave_unseen(workspace, controller)
            return INTERRUPTED
        await controller.detach()
        name = shlex.quote(controller.path.name)
        if arguments.campaigns is not None:
            name = f"{name} --campaigns {shlex.quote(str(arguments.campaigns))}"
        for line in left_behind(controller.snapshot(), name):
            say(line)
        return INTERRUPTED
    return _conclude(controller.state, controller.path, as_json=arguments.json)


def ended_before(controller: CampaignController) -> list[str]:
    """Runs that had ended when somebody went on with it, with the attempts that were replaced."""
    return [run.run_id for run in controller.state.runs.values() if run.state.ended]


async def _show(
    workspace: Workspace, controller: CampaignController, before: Collection[str]
) -> None:
    """Progress, and the terminal's bell for what the inventory wants told, until cancelled."""
    notify = workspace.cluster.inventory.notify
    rung = None
    if notify is not None and sys.stderr.isatty():
        rung = Rung(notify.terminal, os.environ, workspace.clock())

    def look() -> CampaignSnapshot:
        if rung is not None:
            sys.stderr.write(rung.new(controller.path.name, controller.state.told))
            sys.stderr.flush()
        return controller.snapshot()

    await show_progress(look, workspace.cluster.prompter, before)


def left_behind(left: CampaignSnapshot, name: str) -> Iterator[str]:
    """What becomes of a campaign that nobody follows any more, and how to come back to it."""
    if left.finished:
        yield "interrupted; the campaign has ended"
    elif left.simulated:
        demo = demo_of(left.path)
        yield f"interrupted; the simulated hosts are gone. Go on with it in: {demo}"
    elif left.held:
        yield f"interrupted; what is left is paused. Start it with: dlperf-tui unpause {name}"
        yield f"and then: dlperf-tui resume {name}"
    elif not left.active:
        yield f"interrupted; no run is at work. Go on with: dlperf-tui resume {name}"
    else:
        yield f"interrupted; the runs go on. Come back with: dlperf-tui resume {name}"
        yield f"or have a keeper go on with all of it: dlperf-tui resume --detach {name}"


async def _leave_unseen(workspace: Workspace, controller: CampaignController) -> None:
    """The terminal is gone: nobody reads what would be said, and nobody could go on by hand."""
    from tui.keeping import common_options, leave_to_keeper  # noqa: PLC0415 (where it is needed)

    try:
        with CampaignLock(controller.path).handing_over():
            await controller.detach()
            await leave_to_keeper(controller.path, common_options(workspace))
    except DlperfError as error:
        debug.log().info("no keeper: %s", error)


async def _nothing() -> None: ...


async def first_of(
    work: Callable[[], Awaitable[None]],
    stop: Callable[[], Awaitable[object]],
    show: Callable[[], Awaitable[None]] = _nothing,
) -> bool:
    """Whether ``work`` ended before ``stop``; ``show`` runs beside it."""
    working = asyncio.ensure_future(work())
    stopping = asyncio.ensure_future(stop())
    showing = asyncio.ensure_future(show())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
            return True
        return False
    finally:
        for task in (stopping, showing):
            task.cancel()
        await asyncio.gather(stopping, showing, return_exceptions=True)
        if not working.done():
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working


def _conclude(state: CampaignState, path: Path, *, as_json: bool) -> int:
    from backends.campaign.folder.artifacts import precheck_document  # noqa: PLC0415
    from backends.campaign.folder.compare_campaigns import recorded_each  # noqa: PLC0415
    from backends.results.gpu_time import gpu_time_used  # noqa: PLC0415
    from backends.results.layouts.layout import footer  # noqa: PLC0415
    from backends.results.layouts.speedup import speedup_tables  # noqa: PLC0415 (when needed)
    from backends.results.results_json import document  # noqa: PLC0415
    from backends.results.summary import summarise  # noqa: PLC0415
    from tui.cli.shared.print_table import print_tables  # noqa: PLC0415
    from tui.cli.shared.say_findings import say_findings, say_missed  # noqa: PLC0415
    from tui.cli.shared.say_outages import say_outages  # noqa: PLC0415

    runs = run_results(state)
    groups = summarise(runs)
    failed = [run for run in state.latest_attempts() if run.state is RunState.FAILED]
    if as_json:
        precheck, notes = precheck_document(path), state.notes_of_results
        print_json(document(state.campaign, runs, groups, path, precheck, notes))
    else:
        below = footer(groups, machines=recorded_each([(path, runs)]))
        print_tables(speedup_tables(groups), ((), (below,)))
        print()
        say_findings(groups)
        say_outages(state)
        if state.auto is not None:
            say_missed(state.auto, groups)
    for line in failures(failed):
        (say if line.startswith(" ") else say_folded)(line)  # a log's own lines stay as they are
    used = gpu_time_used(runs)
    say(f"{f'{used} used; ' if used else ''}report and raw logs: {path}")
    return code_of(state)


def failures(failed: Iterable[RunRecord]) -> Iterator[str]:
    """Why they failed: once for all repeats of a case that failed alike, with the evidence of the
    first."""
    alike: dict[tuple[str, str, str], list[RunRecord]] = {}
    for run in failed:
        alike.setdefault((run.profile, run.case.label, run.reason), []).append(run)
    for (profile, label, reason), runs in alike.items():
        which = ", ".join(run.which for run in runs)
        became = "not begun" if runs[0].in_vain else "failed"
        yield f"{became}: {profile} {label} {which}: {reason}"
        yield from (f"    {line}" for line in runs[0].evidence)
