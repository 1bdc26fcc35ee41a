"""``profiles``: list them, show one, check a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from profiles.errors import ProfileError
from profiles.format.catalog import load_file
from profiles.format.costly import costly_patterns
from profiles.format.profile import Profile
from profiles.logs.examples import Flaw, example_flaws
from tui.cli.shared.exit_codes import OK, WRONG
from tui.cli.shared.options import open_workspace
from tui.cli.shared.output import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "show", "check"), default="list")
    parser.add_argument("target", nargs="?", metavar="NAME|FILE")


def run(arguments: argparse.Namespace) -> int:
    """``profiles [list | show NAME | check FILE]``."""
    if arguments.action == "list":
        return _list(arguments)
    if arguments.target is None:
        raise ProfileError(
            f"'profiles {arguments.action}' needs a name or a file",
            remedy=f"such as 'dlperf-tui profiles {arguments.action} cpu-smoke'",
        )
    if arguments.action == "show":
        catalog = open_workspace(arguments).catalog
        print(catalog.source(arguments.target).text.decode(), end="")
        return OK
    target = str(arguments.target)
    is_file = "/" in target or target.endswith(".toml")
    profile = load_file(Path(target)) if is_file else open_workspace(arguments).catalog.get(target)
    flaws = list(example_flaws(profile))
    for found in flaws:
        if found.flaw is not Flaw.MISSING:
            raise ProfileError(
                f"the pattern {found.flaw}",
                where=f"{target}: {found.key}",
                remedy="mend the one or the other",
            )
    print(f"{profile.name}: good; {_described(profile)}")
    for found in flaws:
        print(f"  {found.key}: the pattern {found.flaw}; give a line of a real log")
    for key, reason in costly_patterns(profile):
        print(f"  {key}: {reason}; it runs on google-re2, many times slower")
    return OK


def _list(arguments: argparse.Namespace) -> int:
    catalog = open_workspace(arguments).catalog
    for name in catalog.names:
        print(f"{name:<34} {_described(catalog.get(name))}")
    for problem in catalog.problems:
        say(f"left out: {problem}")
    return WRONG if catalog.problems else OK


def _described(profile: Profile) -> str:
    return f"{profile.framework} {profile.model}, {len(profile.matrix.cases)} cases"
