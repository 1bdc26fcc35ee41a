"""The same program in a process of its own: the keeper that a campaign is left to by the console
and the commands, and a replay of it."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.record.lock import CampaignLock
from backends.keeper.process import Begun, KeeperError, last_words, start_keeper

if TYPE_CHECKING:
    from tui.backend_protocols import Workspace

CRON_EVERY_MINUTES = 10


def common_options(workspace: Workspace) -> list[str]:
    """What a keeper or a replay has to be told to see the same hosts, campaigns and profiles. Of
    simulated hosts there is no inventory: what stands for its path is what they are called."""
    words = ["--campaigns", str(workspace.campaigns_dir.absolute())]
    inventory = workspace.cluster.inventory.path
    if inventory is not None and not workspace.cluster.simulated:
        words += ["--inventory", str(inventory.absolute())]
    for directory in workspace.profile_dirs:
        words += ["--profile-dir", str(directory.absolute())]
    return words


async def leave_to_keeper(
    campaign: Path, options: Sequence[str], *, more: Sequence[str] = ()
) -> Begun:
    """Start a keeper for a campaign that nobody is at work on, and wait until it has begun.

    ``options``: see :func:`common_options`. ``more``: of ``keep``, such as ``--take-over``.

    Raises
    ------
    KeeperError: why it did not begin.
    """
    command = [*_module(options), "keep", *_named(campaign), *more]
    with CampaignLock(campaign).handing_over():
        return await start_keeper(command, campaign, os.environ)


async def leave_new_to_keeper(workspace: Workspace, campaign: Path) -> Begun:
    """As :func:`leave_to_keeper`, of a campaign that was created just now: where nothing was
    started, it is removed again with its log, of which the error has the last line."""
    try:
        return await leave_to_keeper(campaign, common_options(workspace))
    except KeeperError as error:
        if not error.nothing_started:
            raise
        words = await asyncio.to_thread(last_words, campaign)
        await asyncio.to_thread(workspace.remove_campaign, campaign, force=True)
        if not error.where:  # it said itself why
            raise
        what = ": ".join(filter(None, (error.what, words)))
        raise KeeperError(what, remedy="nothing was started") from None


def _module(options: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "tui.cli", *options]


def _program(options: Sequence[str]) -> list[str]:
    """As the operator called it."""
    called = Path(sys.argv[0]).absolute()
    if called.name == "dlperf-tui" and os.access(called, os.X_OK):
        return [str(called), *options]
    return _module(options)


def _named(campaign: Path) -> list[str]:
    return [str(campaign.absolute())]


def replay_command(campaign: Path, options: Sequence[str]) -> list[str]:
    """The words that replay it, for a terminal."""
    return [*_program(options), "replay", *_named(campaign)]


def cron_line(campaign: Path, options: Sequence[str]) -> str:
    """A line of a crontab(5) that goes on with a campaign that nobody goes on with."""
    words = [*_program(options), "resume", "--detach", *_named(campaign)]
    command = shlex.join(words).replace("%", r"\%")
    return f"*/{CRON_EVERY_MINUTES} * * * * {command} >/dev/null 2>&1"
