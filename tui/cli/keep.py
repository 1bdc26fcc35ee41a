"""``keep``: go on with a campaign while nobody looks. ``--detach`` starts it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path

from backends.campaign.controller import CampaignController
from backends.campaign.record import events as ev
from backends.campaign.record.lock import HEARTBEAT_S, Role
from backends.keeper.credentials import what_may_expire
from backends.keeper.process import Teller, limit_log
from backends.use_cases import Workspace
from profiles.errors import DlperfError
from tui.cli.shared.exit_codes import INTERRUPTED, code_of
from tui.cli.shared.follow import first_of
from tui.cli.shared.options import add_campaign, open_workspace
from tui.cli.shared.output import say

BEGUN_AFTER_S = 0.3
"""Hosts that have not answered by then are told of later, in the campaign."""


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser)
    parser.add_argument("--take-over", action="store_true", help="see resume")
    parser.add_argument("--adopt", action="store_true", help="see resume")
    parser.add_argument("--tell", metavar="FD", type=int, help="say there that it has begun")


def run(arguments: argparse.Namespace) -> int:
    """To the campaign's end; nothing is asked of anybody. SIGTERM: let go of it."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return asyncio.run(_keep(arguments))


async def _keep(arguments: argparse.Namespace) -> int:
    teller = Teller(arguments.tell)
    try:
        workspace = open_workspace(arguments, role=Role.KEEPER)
        path = workspace.find_campaign(arguments.campaign)
    except DlperfError as error:
        teller.tell({"error": str(error), "code": error.exit_code})
        raise
    async with workspace:
        try:
            controller = await _begin(workspace, path, arguments, teller)
        except DlperfError as error:
            teller.tell({"error": str(error), "code": error.exit_code})
            raise
        _log(workspace, f"goes on with {path}")
        limiting = asyncio.create_task(_limit(path))
        try:
            return await _to_its_end(workspace, controller)
        finally:
            limiting.cancel()


async def _begin(
    workspace: Workspace, path: Path, arguments: argparse.Namespace, teller: Teller
) -> CampaignController:
    """Tells that it has begun when it holds the campaign and has its hosts' answers, or most."""
    resuming = asyncio.create_task(
        workspace.resume(path, take_over=arguments.take_over, adopt=arguments.adopt)
    )
    try:
        await asyncio.wait({resuming}, timeout=BEGUN_AFTER_S)
        while not resuming.done():
            writer = await asyncio.to_thread(workspace.writer, path)
            if writer is not None and writer.pid == os.getpid() and writer.role == Role.KEEPER:
                teller.tell({"pid": os.getpid(), "notes": []})
                break
            await asyncio.wait({resuming}, timeout=0.1)
        controller = await resuming
    finally:
        resuming.cancel()
    notes = _notes(workspace, controller)
    known = {text for _, _, text in controller.state.notes}
    for text in notes:
        if text not in known:
            controller.note(ev.Noted(t=workspace.clock(), text=text))
    teller.tell({"pid": os.getpid(), "notes": notes})
    return controller


def _notes(workspace: Workspace, controller: CampaignController) -> list[str]:
    hosts = [snapshot.name for snapshot in workspace.cluster.probed]
    return what_may_expire(workspace.cluster.let_in_by(), hosts, os.environ)


async def _to_its_end(workspace: Workspace, controller: CampaignController) -> int:
    let_go = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, let_go.set)
    try:
        finished = await first_of(controller.wait, let_go.wait)
    except DlperfError as error:
        _log(workspace, str(error))
        raise
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    if not finished:
        await controller.detach()
        _log(workspace, "was told to end; the runs go on, and nobody starts the others")
        return INTERRUPTED
    snapshot = controller.snapshot()
    _log(workspace, snapshot.summary)
    return code_of(snapshot.state)


async def _limit(path: Path) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_S)
        with contextlib.suppress(OSError, DlperfError):
            limit_log(path)


def _log(workspace: Workspace, text: str) -> None:
    at = time.strftime("%F %T", time.localtime(workspace.clock()))
    say(f"{at} keeper {os.getpid()}: {text}")
