"""Every command by its name. A new one is a line here and a file beside it.

The file, named as the command, has ``add(parser)``, which adds the command's own options, and
``run(arguments)``, which returns the exit code. It is imported only when its command is called,
so that none has to wait for what another needs.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import NamedTuple, Protocol, cast


class CommandFile(Protocol):
    """What the file of a command has."""

    @staticmethod
    def add(parser: argparse.ArgumentParser) -> None:
        """The command's own options, besides those that all take."""

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Do it; returns the exit code, raises :class:`profiles.errors.DlperfError`."""


class Command(NamedTuple):
    """A command as ``--help`` lists it.

    ``changes``: it starts, ends or writes something, so that ``--readonly`` refuses it.
    """

    summary: str
    changes: bool = False


CONSOLE = "console"
"""What runs where no command is named."""

COMMANDS = {
    "hosts": Command("probe and print hosts, GPUs, topology, who is busy"),
    "profiles": Command("list the profiles, show one, check a file"),
    "sweep": Command("find what runs of ours left on the hosts, and end it", changes=True),
    "plan": Command("every run, its hosts, its exact commands; starts nothing"),
    "run": Command("run a selection without the console", changes=True),
    "resume": Command("go on with a campaign", changes=True),
    "cancel": Command("end a campaign's runs on all hosts", changes=True),
    "status": Command("how far campaigns have come"),
    "campaigns": Command("list the campaigns with their sizes, or move one"),
    "parse": Command("throughput of existing logs"),
    "import": Command("make a campaign of a tree of existing logs", changes=True),
    "report": Command("tables of one or more campaigns"),
    "compare": Command("exit 1 when the candidate is slower"),
    "references": Command("published figures that results are held against"),
}


def command_file(name: str) -> CommandFile:
    """The file of a command, imported now. A name that Python reserves has a ``_`` behind it."""
    module = "import_" if name == "import" else name
    return cast(CommandFile, import_module(f"tui.cli.{module}"))
