"""``profiles``: list them, show one, check a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from profiles.cleantext import clean_text
from profiles.counted import counted
from profiles.errors import ProfileError, SelectionError
from profiles.format.catalog import load_file
from profiles.format.profile import Profile
from profiles.format.slow_patterns import costly_patterns
from profiles.logs.examples import Flaw, example_flaws
from tui.cli.shared.exit_codes import OK, WRONG
from tui.cli.shared.options import add_json, open_workspace
from tui.cli.shared.output import print_json, say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "show", "check"), default="list")
    parser.add_argument("target", nargs="?", metavar="NAME|FILE")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """``profiles [list | show NAME | check FILE]``."""
    if arguments.action == "list":
        return _list(arguments)
    if arguments.json:
        raise SelectionError("is of the list", where="--json", remedy="leave it out")
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
    wrong = [found for found in flaws if found.flaw is not Flaw.MISSING]
    if wrong:
        more = f"; {len(wrong) - 1} more to mend after that" if wrong[1:] else ""
        raise ProfileError(
            _WRONG[wrong[0].flaw],
            where=f"{target}: {wrong[0].key}",
            remedy=f"mend the line or the pattern{more}",
        )
    print(f"{profile.name}: good; {_described(profile)}")
    if flaws:
        many = f"{len(flaws)} patterns have" if flaws[1:] else "1 pattern has"
        print(f"  {many} no example and could not be tried; a line of a real log is one:")
    for found in flaws:
        print(f"    {clean_text(found.key)}")
    for key, reason in costly_patterns(profile):
        print(f"  {clean_text(f'{key}: {reason}')}")
        print("    it runs on google-re2, many times slower")
    return OK


_WRONG = {
    Flaw.NOT_FOUND: "the pattern does not find this line",
    Flaw.NO_NUMBER: "the pattern reads no number from this line",
    Flaw.NO_STEP: "the pattern reads no step from this line, and its rule needs one",
    Flaw.NO_TIME: "what the pattern reads from this line is not in the format of its timestamp",
}


def _list(arguments: argparse.Namespace) -> int:
    catalog = open_workspace(arguments).catalog
    if arguments.json:
        print_json([_document(catalog.get(name)) for name in catalog.names])
    else:
        for name in catalog.names:
            print(f"{name:<34} {_described(catalog.get(name))}")
    for problem in catalog.problems:
        say(f"left out: {problem}")
    return WRONG if catalog.problems else OK


def _document(profile: Profile) -> dict[str, object]:
    return {
        "name": profile.name,
        "framework": profile.framework,
        "model": profile.model,
        "cases": list(profile.matrix.cases),
    }


def _described(profile: Profile) -> str:
    cases = counted(len(profile.matrix.cases), "case")
    return clean_text(f"{profile.framework} {profile.model}, {cases}")
