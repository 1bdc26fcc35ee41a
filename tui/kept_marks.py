"""What was marked on Matrix when a console was left, for the next one on the same inventory.

A file of JSON: by the inventory's path, "" where there is none, what :func:`document` makes. The
newest are kept. What cannot be read, or is no more, is as if nobody had marked it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backends.campaign.folder.regular_file import open_to_read
from profiles.errors import DlperfError
from profiles.scalars import scalar_text
from tui.matrix_marks import Marks
from tui.matrix_request import parse_rule, rule_text

if TYPE_CHECKING:
    from tui.matrix_request import Asked

MOST_INVENTORIES = 50
MOST_BYTES = 1 << 20
_SWITCHES = ("auto", "explain", "pack", "linked")
_WRONG = (DlperfError, AttributeError, KeyError, TypeError, ValueError)
"""What a file that somebody else wrote can lead to."""


def document(asked: Asked) -> dict[str, Any]:
    """All that an operator asked for, as JSON has it."""
    told: dict[str, Any] = {name: getattr(asked, name) for name in _SWITCHES}
    told |= {"hosts": asked.hosts, "repeats": asked.repeats, "rule": rule_text(asked.rule)}
    return told | {"profiles": {part.profile.name: _of(part) for part in asked.touched}}


def _of(part: Marks) -> dict[str, Any]:
    return {
        "tags": list(part.tags),
        "shown": {name: [*map(scalar_text, values)] for name, values in part.shown.items()},
        "weak": part.weak,
        "totals": list(part.totals),
        "settings": dict(part.settings),
        "wanted": sorted(part.wanted),
    }


def keep(file: Path, inventory: str, asked: Mapping[str, Any]) -> bool:
    """Whether it could be written. Blocking."""
    kept = _read(file)
    kept.pop(inventory, None)
    kept[inventory] = dict(asked)
    newest = dict([*kept.items()][-MOST_INVENTORIES:])
    from backends.results.result_files import write_atomically  # noqa: PLC0415 (at the end)

    try:
        write_atomically(file, json.dumps(newest))
    except OSError:
        return False
    return True


def restore(file: Path, inventory: str, asked: Asked) -> bool:
    """Whether something is marked by that. Blocking, and short."""
    kept = _read(file).get(inventory)
    if not isinstance(kept, dict):
        return False
    for part in _parts(kept, asked):
        asked.put(part)
    asked.begun = bool(asked.taking_part)
    try:
        rule, repeats, hosts = parse_rule(kept["rule"]), kept["repeats"], str(kept["hosts"])
    except _WRONG:
        return asked.begun
    asked.rule = rule
    numbers = repeats.values() if isinstance(repeats, dict) else (repeats,)
    if repeats is None or all(type(number) is int and number > 0 for number in numbers):
        asked.repeats = repeats
    for name in _SWITCHES:
        setattr(asked, name, kept.get(name) is True)
    asked.hosts = ",".join(name for name in hosts.split(",") if name in asked.host_names)
    return asked.begun


def _parts(kept: Mapping[str, Any], asked: Asked) -> Iterator[Marks]:
    profiles = kept.get("profiles")
    for name, told in profiles.items() if isinstance(profiles, dict) else ():
        try:
            yield _restored(asked.marks(name), told)
        except _WRONG:  # there is none of that name, or it has other values now
            continue


def _restored(part: Marks, told: Mapping[str, Any]) -> Marks:
    """As far as the profile is as it was."""
    profile, part = part.profile, part.with_rows(told["tags"])
    for name, texts in told["shown"].items():
        if name in profile.parameters:
            part = part.with_values(name, texts)
    if told["totals"] or not told["weak"]:
        part = part.with_scaling(weak=bool(told["weak"]), totals=told["totals"])
    settings = {
        name: value
        for name, value in told["settings"].items()
        if name in profile.settings and isinstance(value, str)
    }
    return replace(part, settings=settings).with_wanted(told["wanted"])


def _read(file: Path) -> dict[str, Any]:
    """Of all inventories; empty where it cannot be read."""
    try:
        if (fd := open_to_read(file)) is None:
            return {}
        with os.fdopen(fd, encoding="utf-8") as opened:
            told = json.loads(opened.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
