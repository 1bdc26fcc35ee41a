"""The console itself, or where there is no terminal the same engine without it."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from backends.campaign.record.lock import Role
from profiles.errors import DlperfError
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import open_workspace
from tui.cli.shared.output import folded
from tui.garbage import imports_left_out
from tui.kept_theme import default_file, state_dir
from tui.program_name import COMMAND

if TYPE_CHECKING:
    from backends.use_cases import Workspace
    from tui.screens.login_questions import ConsolePrompter


def check_terminal(instead: str) -> None:
    """Raise DlperfError where the console cannot be shown; ``instead``: the command to use then."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise DlperfError(
            "the console needs a terminal",
            remedy=f"without one use 'dlperf-tui {instead}', or see --help",
        )
    if os.environ.get("TERM") == "dumb":
        raise DlperfError(
            "the console needs a terminal whose cursor can be moved, and TERM says dumb",
            remedy="set TERM to what this terminal is, such as xterm-256color, or see --help for "
            "the commands that need none",
        )


def run(arguments: argparse.Namespace) -> int:
    """On the operator's hosts."""

    def workspace(prompter: ConsolePrompter) -> Workspace:
        return open_workspace(arguments, prompter=prompter, role=Role.CONSOLE)

    return open_console(arguments, workspace)


def open_console(
    arguments: argparse.Namespace,
    workspace: Callable[[ConsolePrompter], Workspace],
    instead: str = "run --profile cpu-smoke",
) -> int:
    """Opens it on a workspace that is made on its event loop; what it leaves to say is printed when
    it has closed. ``instead``: as of :func:`check_terminal`."""
    check_terminal(instead)
    with imports_left_out():
        from tui.app import DlperfApp  # noqa: PLC0415 (Textual takes a quarter of a second)
        from tui.console_fault import run_to_end  # noqa: PLC0415
        from tui.screens.login_questions import ConsolePrompter  # noqa: PLC0415

    async def sit() -> str | None:
        prompter = ConsolePrompter()
        app = DlperfApp(
            workspace(prompter),
            readonly=arguments.readonly,
            prompter=prompter,
            theme_file=default_file(),
            marks_file=state_dir() / "marks.json",
            frame_first=True,
        )
        return await run_to_end(app)

    if told := asyncio.run(sit()):
        print(parting_words(told, shutil.get_terminal_size().columns))
    return OK


def parting_words(told: str, width: int) -> str:
    """In lines that end between words; a command stands alone and whole, to be copied."""
    lines = told.splitlines()
    return "\n".join(line if line.startswith(COMMAND) else folded(line, width) for line in lines)
