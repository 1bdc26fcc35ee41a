"""What to run: the options of a selection, and --from."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from backends.campaign.plan.request import Request, read_request
from backends.campaign.plan.selection import Selection
from profiles.errors import SelectionError
from tui.cli.shared.options import chosen_hosts


def add_selection(parser: argparse.ArgumentParser) -> None:
    """What to run; :func:`asked` reads it."""
    group = parser.add_argument_group("selection")
    group.add_argument(
        "-p",
        "--profile",
        metavar="P",
        action="append",
        default=[],
        help="a profile's name or .toml file; may be given several times",
    )
    group.add_argument(
        "-c", "--case", metavar="TAG", nargs="+", action="extend", default=[], help="such as 2n8g"
    )
    group.add_argument(
        "--set",
        metavar="NAME=V[,V]",
        nargs="+",
        action="extend",
        default=[],
        help="choices of a parameter, or a setting's value",
    )
    group.add_argument("-r", "--repeats", metavar="N", type=int, help="repeats of every case")
    group.add_argument(
        "--attempts", metavar="N", type=int, help="tries of a run that another try can help (2)"
    )
    group.add_argument("--hosts", metavar="NODESET", help="such as node[1-4] or @v100")
    group.add_argument("--name", default="", help="the campaign's name, after the date")
    group.add_argument(
        "--from", dest="from_file", metavar="FILE", type=Path, help="a campaign.toml, to do again"
    )


def asked(arguments: argparse.Namespace) -> tuple[Selection, Request | None]:
    """The selection of the options, or of --from with the options on top."""
    request = read_request(arguments.from_file) if arguments.from_file else None
    base = request.selection if request else Selection(profiles=())
    selection = Selection(
        profiles=tuple(arguments.profile) or base.profiles,
        cases=tuple(tag for text in arguments.case for tag in text.split(",")) or base.cases,
        values={**base.values, **_values(arguments.set)},
        repeats=base.repeats if arguments.repeats is None else arguments.repeats,
        hosts=chosen_hosts(arguments) or base.hosts,
        picked=() if arguments.case or arguments.profile else base.picked,
        name=arguments.name or base.name,
        attempts=base.attempts if arguments.attempts is None else arguments.attempts,
    )
    return selection, request


def _values(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    values: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise SelectionError(
                f"{word!r} is not NAME=VALUE", where="--set", remedy="such as --set batch_size=128"
            )
        values[name.strip()] = tuple(text.split(","))
    return values
