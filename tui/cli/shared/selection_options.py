"""What to run: the options of a selection, and --from."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from backends.campaign.folder.index import is_simulated
from backends.campaign.plan.campaign_request import Request, read_request
from backends.campaign.plan.selection import Selection
from backends.hosts.placement import Placement
from backends.results.auto_repeats import AutoRepeats, limited, parse_repeats
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
    group.add_argument(
        "-r",
        "--repeats",
        metavar="N|auto",
        help="repeats of every case; auto: until the 95%% interval is within P%% (1%%)",
    )
    group.add_argument(
        "--max-repeats", metavar="N", type=int, help="of a case, where --repeats is auto (50)"
    )
    group.add_argument(
        "--budget", metavar="TIME", help="of all GPUs together, such as 2h, where --repeats is auto"
    )
    group.add_argument(
        "--attempts", metavar="N", type=int, help="tries of a run that another try can help (2)"
    )
    group.add_argument(
        "--explain",
        action="store_true",
        help="and one profiled run per case, uncounted, that tells where its time goes",
    )
    group.add_argument(
        "--placement",
        choices=[str(placement) for placement in Placement],
        help="of a host's devices: the first ones, or the best linked, with CPUs and NICs to match",
    )
    group.add_argument(
        "--pack",
        action=argparse.BooleanOptionalAction,
        help="several runs on a host at once, each on devices of its own, and marked",
    )
    group.add_argument("--hosts", metavar="NODESET", help="such as node[1-4] or @v100")
    group.add_argument("--name", default="", help="the campaign's name, after the date")
    group.add_argument(
        "--from", dest="from_file", metavar="FILE", type=Path, help="a campaign.toml, to do again"
    )


def asked(arguments: argparse.Namespace) -> tuple[Selection, Request | None]:
    """The selection of the options, or of --from with the options on top.

    Raises
    ------
    SelectionError: an option or the file is wrong, or the file's hosts are those of a demo.
    """
    request = _read(arguments.from_file, arguments) if arguments.from_file else None
    base = request.selection if request else Selection(profiles=())
    repeats, auto = _repeats(arguments, base)
    selection = Selection(
        profiles=tuple(arguments.profile) or base.profiles,
        cases=tuple(tag for text in arguments.case for tag in text.split(",")) or base.cases,
        values={**base.values, **_values(arguments.set)},
        repeats=repeats,
        auto=auto,
        hosts=chosen_hosts(arguments) or base.hosts,
        picked=() if arguments.case or arguments.profile else base.picked,
        name=arguments.name or base.name,
        explain=arguments.explain or base.explain,
        placement=Placement(arguments.placement or base.placement),
        pack=base.pack if arguments.pack is None else arguments.pack,
        attempts=base.attempts if arguments.attempts is None else arguments.attempts,
    )
    return selection, request


def _read(path: Path, arguments: argparse.Namespace) -> Request:
    request = read_request(path)
    if is_simulated(path if path.is_dir() else path.parent) and not chosen_hosts(arguments):
        raise SelectionError(
            "this campaign was SIMULATED, and only a demo has its hosts",
            where=str(path),
            remedy="do it again in 'dlperf-tui demo', or give --hosts of your own",
        )
    return request


def _repeats(
    arguments: argparse.Namespace, base: Selection
) -> tuple[int | Mapping[str, int] | None, AutoRepeats | None]:
    """What was asked for, on top of a campaign file's."""
    number, rule = base.repeats, base.auto
    if arguments.repeats is not None:
        asked_for = parse_repeats(arguments.repeats)
        number, rule = (
            (None, asked_for) if isinstance(asked_for, AutoRepeats) else (asked_for, None)
        )
    if rule is not None:
        return None, limited(rule, arguments.max_repeats, arguments.budget)
    for option in ("max_repeats", "budget"):
        if getattr(arguments, option) is not None:
            raise SelectionError(
                "is a limit of repeats that go on until it is known",
                where=f"--{option.replace('_', '-')}",
                remedy="add --repeats auto",
            )
    return number, None


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
