"""The console itself, or where there is no terminal the same engine without it."""

from __future__ import annotations

import argparse
import os
import sys

from profiles.errors import DlperfError
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import open_workspace
from tui.garbage import imports_left_out


def run(arguments: argparse.Namespace) -> int:
    """Opens it; what it leaves to say is printed when it has closed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise DlperfError(
            "the console needs a terminal",
            remedy="without one use 'dlperf-tui run --profile cpu-smoke', or see --help",
        )
    if os.environ.get("TERM") == "dumb":
        raise DlperfError(
            "the console needs a terminal whose cursor can be moved, and TERM says dumb",
            remedy="set TERM to what this terminal is, such as xterm-256color, or see --help for "
            "the commands that need none",
        )
    with imports_left_out():
        from tui.app import DlperfApp  # noqa: PLC0415 (Textual takes a quarter of a second)
        from tui.screens.login_questions import ConsolePrompter  # noqa: PLC0415

    prompter = ConsolePrompter()
    workspace = open_workspace(arguments, prompter=prompter)
    told = DlperfApp(workspace, readonly=arguments.readonly, prompter=prompter).run()
    if told:
        print(told)
    return OK
