"""plan, run, resume, cancel, status: campaigns without the console."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shlex
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from backends.campaign.controller import CampaignController
from backends.campaign.plan.remarks import repeats_remarks
from backends.campaign.plan.selection import DryRun, Plan
from backends.campaign.record.run_results import run_results
from backends.campaign.record.snapshot import CampaignSnapshot, format_duration
from backends.campaign.record.state import CampaignState, RunState
from backends.inventory.hosts import select
from backends.workspace import Workspace
from profiles.errors import SelectionError
from tui.headless.common import asked, open_workspace, print_json, say
from tui.headless.progress import show_progress

OK, FAILED, INTERRUPTED = 0, 1, 3


async def plan(arguments: argparse.Namespace) -> int:
    """``plan``: every run, its hosts, its exact commands.

    A case that these hosts cannot run is shown as it would be on hosts that can.
    """
    workspace, made = await _planned(arguments, must_run=False)
    try:
        runs = workspace.dry_run(made)
        elsewhere = workspace.dry_run_elsewhere(made)
        if arguments.json:
            print_json(
                {
                    "runs": [
                        {"label": r.label, "hosts": r.hosts, "commands": r.commands} for r in runs
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
                    "expected_s": made.expected_s,
                    "remarks": repeats_remarks(made),
                }
            )
            return OK
        for run in runs:
            _print_dry_run(run)
        for planned, run in zip(made.refused, elsewhere, strict=True):
            print(f"cannot run here: {planned.infeasible}; where it can, it is")
            _print_dry_run(run)
        _say_summary(made)
        return OK
    finally:
        await workspace.close()


def _print_dry_run(run: DryRun) -> None:
    print(run.label)
    for host, command in zip(run.hosts, run.commands, strict=False):
        print(f"  {host}: {command or '(ranks are started from the first host)'}")


async def _planned(
    arguments: argparse.Namespace, *, must_run: bool = True
) -> tuple[Workspace, Plan]:
    """``must_run``: a case that was named and cannot run is an error."""
    selection, request = asked(arguments)
    workspace = open_workspace(arguments, request.profile_dirs if request else ())
    try:
        if request is not None:
            selection = workspace.adopt_hosts(request, selection)
        hosts = select(workspace.inventory, selection.hosts or None)
        workspace.plan(selection)  # what is wrong whatever the hosts are is said at once
        await workspace.probe([host.name for host in hosts])
        made = workspace.plan(selection)
        if selection.cases and must_run:
            _refuse_named(made)
    except BaseException:
        await workspace.close()
        raise
    return workspace, made


def _refuse_named(made: Plan) -> None:
    """A case that was asked for by name and cannot run is an error, not a remark."""
    for planned in made.refused:
        raise SelectionError(
            f"case {planned.case.tag} of {planned.profile.name} cannot run: {planned.infeasible}",
            remedy="leave it out, or give more hosts",
        )


def _say_refused(made: Plan) -> None:
    for planned in made.refused:
        say(f"left out: {planned.profile.name} {planned.case.tag}: {planned.infeasible}")


def _say_summary(made: Plan) -> None:
    say(_summary(made))
    for remark in repeats_remarks(made):
        say(f"note: {remark}")


def _summary(made: Plan) -> str:
    expected = f", ≈ {format_duration(made.expected_s)}" if made.expected_s else ""
    cases, runs, hosts = (
        _count(number, noun)
        for number, noun in (
            (len(made.cases), "case"),
            (made.run_count, "run"),
            (len(made.hosts), "host"),
        )
    )
    return f"{cases}, {runs} on {hosts}{expected}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


async def run(arguments: argparse.Namespace) -> int:
    """``run``: plan, preflight, start, follow to the end."""
    workspace, made = await _planned(arguments)
    try:
        _say_refused(made)
        overridden = await _check(workspace, made, force=arguments.force)
        _say_summary(made)
        controller = await workspace.start(made, force=arguments.force, overridden=overridden)
        say(f"campaign {controller.path}")
        return await _see_through(workspace, controller, arguments)
    finally:
        await workspace.close()


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


async def resume(arguments: argparse.Namespace) -> int:
    """``resume``: re-attach to what lives, collect what ended, do the rest."""
    workspace = open_workspace(arguments)
    try:
        path = workspace.find_campaign(arguments.campaign)
        controller = await workspace.resume(path, take_over=arguments.take_over)
        return await _see_through(workspace, controller, arguments)
    finally:
        await workspace.close()


async def cancel(arguments: argparse.Namespace) -> int:
    """``cancel``: end every run of the campaign on all of its hosts, and verify it."""
    workspace = open_workspace(arguments)
    try:
        path = workspace.find_campaign(arguments.campaign)
        if workspace.state(path).finished:
            say(f"{path.name} has finished; nothing to cancel")
            return OK
        controller = await workspace.resume(path, take_over=arguments.take_over)
        controller.cancel_all()
        await controller.wait()
        unclear = [r for r in controller.snapshot().runs if r.clean.startswith("unverified")]
        for view in unclear:
            say(f"{view.label}: {view.clean}")
        say(f"{path.name}: cancelled")
        return FAILED if unclear else OK
    finally:
        await workspace.close()


async def _see_through(
    workspace: Workspace, controller: CampaignController, arguments: argparse.Namespace
) -> int:
    """Follow to the end, or detach on a signal."""
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, interrupted.set)
    try:
        finished = await _first_of(
            controller.wait,
            interrupted.wait,
            show=lambda: show_progress(controller.snapshot, workspace.prompter),
        )
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
    if not finished:
        await controller.detach()
        name = shlex.quote(controller.path.name)
        if arguments.campaigns is not None:
            name = f"{name} --campaigns {shlex.quote(str(arguments.campaigns))}"
        say(f"interrupted; the runs go on. Come back with: dlperf-tui resume {name}")
        return INTERRUPTED
    return _conclude(controller.state, controller.path, as_json=arguments.json)


async def _first_of(
    work: Callable[[], Awaitable[None]],
    stop: Callable[[], Awaitable[object]],
    show: Callable[[], Awaitable[None]],
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
    from backends.results.concerns import concern_lines  # noqa: PLC0415 (loads when needed)
    from backends.results.document import document  # noqa: PLC0415
    from backends.results.layouts.speedup import speedup_tables  # noqa: PLC0415
    from backends.results.render import render_markdown  # noqa: PLC0415
    from backends.results.summary import summarise  # noqa: PLC0415

    runs = run_results(state)
    groups = summarise(runs)
    failed = [run for run in state.latest_attempts() if run.state is RunState.FAILED]
    if as_json:
        print_json(document(state.campaign, runs, groups))
    else:
        print(render_markdown(speedup_tables(groups)))
        for group in groups:
            for case in group.cases:
                for line in concern_lines(case, group):
                    say(f"note: {case.case}: {line}")
    for run in failed:
        say(f"failed: {run.case.label} #{run.repeat}: {run.reason}")
        for line in run.evidence:
            say(f"    {line}")
    say(f"report and raw logs: {path}")
    return FAILED if failed else OK


def status(arguments: argparse.Namespace) -> int:
    """``status``: one campaign, or the list of all."""
    workspace = open_workspace(arguments)
    if arguments.campaign is None:
        return _status_of_all(workspace, as_json=arguments.json)
    path = workspace.find_campaign(arguments.campaign)
    snapshot = workspace.load(path)
    if arguments.json:
        from backends.results.document import document  # noqa: PLC0415
        from backends.results.summary import summarise  # noqa: PLC0415

        runs = run_results(snapshot.state)
        print_json(document(snapshot.name, runs, summarise(runs)))
    else:
        _print_status(snapshot)
    return FAILED if snapshot.failed else OK


def _print_status(snapshot: CampaignSnapshot) -> None:
    print(f"{snapshot.name}: {snapshot.summary}")
    if snapshot.state.damage:
        print(f"  {snapshot.state.damage}")
    for view in snapshot.runs:
        value = view.throughput if view.throughput is not None else view.throughput_now
        figure = f"{value:.2f} {view.unit}" if value is not None else "–"
        hosts = ",".join(view.hosts) or "–"
        line = f"  {view.profile} {view.label:<24} {view.state_text:<12} {figure:>20}  {hosts}"
        print(f"{line}  {view.reason}".rstrip())


def _status_of_all(workspace: Workspace, *, as_json: bool) -> int:
    campaigns = workspace.campaigns()
    if as_json:
        print_json(
            [
                {
                    "campaign": c.name,
                    "path": str(c.path),
                    "state": c.state,
                    "done": c.done,
                    "failed": c.failed,
                    "total": c.total,
                }
                for c in campaigns
            ]
        )
        return OK
    if not campaigns:
        say(f"no campaigns in {workspace.campaigns_dir}")
    for campaign in campaigns:
        failed = f", {campaign.failed} failed" if campaign.failed else ""
        print(f"{campaign.path.name}  {campaign.state}  {campaign.done}/{campaign.total}{failed}")
    return OK
