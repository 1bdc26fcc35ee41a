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
    ``example``: a call of it, as its own ``--help`` shows one.
    """

    summary: str
    changes: bool = False
    example: str = ""


CONSOLE = "console"
"""What runs where no command is named."""

COMMANDS = {
    "init": Command(
        "an inventory from the ssh config, its hosts probed, written after a look",
        changes=True,
        example="dlperf-tui init --hosts 'node*'",
    ),
    "hosts": Command(
        "probe and print hosts: state, GPUs in use, load, who is busy; --wide: GPUs, topology",
        example="dlperf-tui hosts --hosts 'node[1-4]' --wide",
    ),
    "profiles": Command(
        "list the profiles, show one, check a file",
        example="dlperf-tui profiles show torch-resnet50\n  dlperf-tui profiles check mine.toml",
    ),
    "demo": Command(
        "the console on four simulated hosts with eight V100 each; nothing is measured",
        example="dlperf-tui demo --speed 20",
    ),
    "sweep": Command(
        "find what runs of ours left on the hosts, and end it",
        changes=True,
        example="dlperf-tui sweep --hosts 'node[1-4]' --yes",
    ),
    "precheck": Command(
        "measure the cluster itself: hosts, GPUs, pairs, all; name who is slow or broken",
        example="dlperf-tui precheck --hosts 'node[1-4]'",
    ),
    "plan": Command(
        "every run, its hosts, its exact commands; starts nothing",
        example="dlperf-tui plan -p torch-resnet50 --case 1n1g 1n2g --set precision=amp --pack",
    ),
    "run": Command(
        "run a selection without the console",
        changes=True,
        example="dlperf-tui run -p torch-resnet50 --case 1n1g 1n8g --repeats auto:1%",
    ),
    "resume": Command(
        "go on with a campaign", changes=True, example="dlperf-tui resume 2026-11-21-resnet50"
    ),
    "keep": Command(
        "what --detach starts: go on with a campaign while nobody looks",
        changes=True,
        example="dlperf-tui keep 2026-11-21-resnet50",
    ),
    "cancel": Command(
        "end a campaign's runs on all hosts",
        changes=True,
        example="dlperf-tui cancel 2026-11-21-resnet50 --run 0003",
    ),
    "retry": Command(
        "another attempt of runs that failed or were cancelled",
        changes=True,
        example="dlperf-tui retry 2026-11-21-resnet50 --run 0003",
    ),
    "pause": Command(
        "hold back runs that have not started, until unpause",
        changes=True,
        example="dlperf-tui pause 2026-11-21-resnet50 --run 0003",
    ),
    "unpause": Command(
        "let paused runs start again",
        changes=True,
        example="dlperf-tui unpause 2026-11-21-resnet50",
    ),
    "repeat": Command(
        "more repeats of every case of a campaign",
        changes=True,
        example="dlperf-tui repeat 2026-11-21-resnet50 2",
    ),
    "status": Command(
        "how far campaigns have come", example="dlperf-tui status 2026-11-21-resnet50 --watch"
    ),
    "replay": Command(
        "the console over a recorded campaign, as it was, 1 to 100 times as fast",
        example="dlperf-tui replay 2026-11-21-resnet50 --speed 20",
    ),
    "logs": Command(
        "the raw log of a run; -f follows it",
        example="dlperf-tui logs 2026-11-21-resnet50 -f -n 20",
    ),
    "campaigns": Command(
        "list campaigns, move, remove, tag them",
        example="dlperf-tui campaigns mv 2026-11-21-resnet50 baseline",
    ),
    "parse": Command(
        "throughput of existing logs",
        example="dlperf-tui parse -p oneflow-resnet50 --gpus 8 rank0.log",
    ),
    "import": Command(
        "make a campaign of logs, figures or a bundle",
        changes=True,
        example="dlperf-tui import -p paddle-resnet50 logs -o baseline",
    ),
    "report": Command(
        "tables of one or more campaigns",
        example="dlperf-tui report 2026-11-21-resnet50 --layout pivot -o table.md",
    ),
    "compare": Command(
        "exit 1 when the candidate is slower",
        example="dlperf-tui compare baseline 2026-11-21-resnet50 --threshold 3%",
    ),
    "history": Command(
        "trend and change points per case over many campaigns; exit 1 on a regression",
        example="dlperf-tui history --tag nightly --threshold 3%",
    ),
    "completion": Command(
        "a script that completes commands, options and names in bash, zsh or fish",
        example="dlperf-tui completion bash",
    ),
    "references": Command(
        "published figures that results are held against",
        example="dlperf-tui references resnet50 h100",
    ),
}


def command_file(name: str) -> CommandFile:
    """The file of a command, imported now. A name that Python reserves has a ``_`` behind it."""
    module = "import_" if name == "import" else name
    return cast(CommandFile, import_module(f"tui.cli.{module}"))
