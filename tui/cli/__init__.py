"""The command line: one file per command, named in :mod:`tui.cli.commands`."""

from tui.cli.program import main

__all__ = ["main"]
