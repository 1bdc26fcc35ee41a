"""What a shell calls this program, for commands that it proposes."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

NAME = "dlperf-tui"
_PATHS = frozenset({"--inventory", "--campaigns", "--profile-dir"})
_SPEED = re.compile(r" --speed[= ]\S+")
COMMAND = "  "
"""Before one that stands in a line of its own."""


def called_as() -> str:
    """By its name where the shell finds it, else as it was called."""
    called = sys.argv[0]
    return shlex.quote(called) if Path(called).name == NAME and not shutil.which(NAME) else NAME


def _from_anywhere(words: Sequence[str]) -> list[str]:
    """The files and directories among them are found from another directory, too."""
    found = []
    for before, word in zip(("", *words), words, strict=False):
        option, equals, value = word.partition("=")
        path = value if equals and option in _PATHS else word if before in _PATHS else ""
        there = bool(path) and Path(path).exists()
        found.append(word.removesuffix(path) + str(Path(path).absolute()) if there else word)
    return found


def for_shell(path: Path) -> str:
    """The word that names it in any directory, from ``~`` on where it lies at home: what is shorter
    is broken at fewer ends of a line."""
    whole = path.absolute()
    home = Path.home()
    if home == Path(home.anchor) or not whole.is_relative_to(home):
        return shlex.quote(str(whole))
    below = str(whole.relative_to(home))
    return "~" if whole == home else f"~/{shlex.quote(below)}"


def named(campaign: Path) -> str:
    """What a command finds it by, for a shell: its name where campaigns lie unless a directory is
    given, else its path, as where its name would be taken for an option."""
    usual = _is_usual(campaign.parent) and not campaign.name.startswith("-")
    return shlex.quote(campaign.name) if usual else for_shell(campaign)


def resume_of(campaign: Path, *, simulated: bool, copy: bool = False) -> str:
    """The command that goes on with it; "" where there is none. ``copy``: it goes on in another
    directory, or may."""
    if simulated:
        return "" if copy else demo_of(campaign)
    return f"{called_as()} resume{' --adopt' * copy} {named(campaign)}"


def demo_of(campaign: Path) -> str:
    """The demo that has it among its campaigns, as fast as this one."""
    speed = _SPEED.search(shlex.join(sys.argv[1:]))
    return f"{called_as()} demo{option_of(campaign.parent)}{speed.group() if speed else ''}"


def option_of(campaigns: Path) -> str:
    """What a command needs that looks through the campaigns of this directory, if anything."""
    return f" --campaigns {for_shell(campaigns)}" * (not _is_usual(campaigns))


def _is_usual(campaigns: Path) -> bool:
    from backends.use_cases import default_campaigns_dir  # noqa: PLC0415 (at the end)

    return campaigns == default_campaigns_dir()


def called_again() -> str:
    """With the options that it was called with, which say where its hosts and campaigns are."""
    words = _from_anywhere(sys.argv[1:]) if Path(sys.argv[0]).name == NAME else []
    return shlex.join([NAME, *words]).replace(NAME, called_as(), 1)
