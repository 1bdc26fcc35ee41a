"""The program: words in, one line or one document and an exit code out. Imports nothing heavy."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from profiles.cleantext import clean_text
from profiles.errors import DlperfError
from tui.cli.arguments import build_parser
from tui.cli.commands import COMMANDS, command_file
from tui.cli.shared.exit_codes import INTERRUPTED, OK, WRONG
from tui.cli.shared.readonly_option import refuse_change


def main(argv: Sequence[str] | None = None) -> int:
    """The console script. Returns the exit code; :class:`DlperfError` becomes its one line."""
    try:
        arguments = build_parser().parse_args(sys.argv[1:] if argv is None else argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else WRONG
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal in ASCII shows ? for a dash
            stream.reconfigure(errors="replace")
    try:
        if arguments.readonly:
            _refuse_change(arguments.command)
        return command_file(arguments.command).run(arguments)
    except DlperfError as error:
        if arguments.debug:
            raise
        print(f"dlperf-tui: {clean_text(str(error))}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):  # each a command that may have been meant
            print(f"  {clean_text(note)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _refuse_change(name: str) -> None:
    command = COMMANDS.get(name)  # the console shows its own way that it only looks
    if command is not None and command.changes:
        refuse_change()
