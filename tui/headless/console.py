"""The console itself, or where there is no terminal the same engine without it."""

from __future__ import annotations

import argparse
import sys

from profiles.errors import DlperfError
from tui.headless.common import open_workspace


def open_console(arguments: argparse.Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise DlperfError(
            "the console needs a terminal",
            remedy="without one use 'dlperf-tui run --profile cpu-smoke', or see --help",
        )
    from tui.app import DlperfApp  # noqa: PLC0415 (Textual takes a quarter of a second)
    from tui.screens.questions import ConsolePrompter  # noqa: PLC0415

    prompter = ConsolePrompter()
    workspace = open_workspace(arguments, prompter=prompter)
    told = DlperfApp(workspace, readonly=arguments.readonly, prompter=prompter).run()
    if told:
        print(told)
    return 0
