"""What several commands need: the workspace, the selection, printing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from backends.campaign.plan.request import Request, read_request
from backends.campaign.plan.selection import Selection
from backends.transports.base import Prompter
from backends.workspace import Workspace
from profiles.errors import SelectionError
from tui.headless.asking import terminal_prompter


def open_workspace(
    arguments: argparse.Namespace,
    extra_profile_dirs: Sequence[str] = (),
    *,
    prompter: Prompter | None = None,
) -> Workspace:
    """``prompter``: who is asked during logins; None: whoever sits at the terminal, if anybody."""
    return Workspace.open(
        inventory=arguments.inventory,
        campaigns=arguments.campaigns,
        profile_dirs=[*arguments.profile_dir, *(Path(d) for d in extra_profile_dirs)],
        prompter=prompter or terminal_prompter(),
    )


def chosen_hosts(arguments: argparse.Namespace) -> str:
    """--hosts as given, empty where it was not.

    Raises
    ------
    SelectionError: it was given as nothing, as an unset variable of a shell does.
    """
    if arguments.hosts is not None and not arguments.hosts.strip():
        raise SelectionError(
            "no host is named", where="--hosts", remedy="name some, or leave it out for all"
        )
    return arguments.hosts or ""


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


def print_json(document: object) -> None:
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def say(text: str) -> None:
    """A line for the person at the terminal; never on stdout, which may be a document."""
    print(text, file=sys.stderr, flush=True)
