"""A campaign by its name in the campaigns directory, by its path, or by the id it began with."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from backends.campaign.folder.bundle import refuse_bundle
from backends.campaign.folder.unbegun import NothingStartedError, is_unbegun
from backends.campaign.record import journal
from profiles.errors import SelectionError
from profiles.nearest import nearest

_NAMED = 3
"""Campaigns that are named where another was asked for."""
_DATE = re.compile(r"^\d{4}-\d\d-\d\d-")


def find_campaign(campaigns: Path, name_or_path: str) -> Path:
    """Raises like :func:`campaign_directory`, and NothingStartedError."""
    path, begun = campaign_directory(campaigns, name_or_path)
    if not begun:
        raise NothingStartedError(path)
    return path


def campaign_directory(campaigns: Path, name_or_path: str) -> tuple[Path, bool]:
    """The same, also of a campaign that was ended before it began; and whether it did begin.

    Raises
    ------
    SelectionError: there is none. JournalError: a newer version wrote it.
    """
    for path in (campaigns / name_or_path, Path(name_or_path)):
        with contextlib.suppress(OSError):
            if is_unbegun(path, kept_here=path.parent == campaigns):
                return path, False
        if (path / journal.FILE_NAME).is_file():
            return path, True
    refuse_bundle(name_or_path)
    if len(same := _with_id(campaigns, name_or_path)) == 1:
        return same[0], True
    if same:
        raise SelectionError(
            f"{name_or_path!r} is the id of {len(same)} campaigns",
            where=str(campaigns),
            remedy=f"name a directory: {', '.join(path.name for path in same)}",
        )
    if Path(name_or_path).is_dir():
        journal.check_campaign(Path(name_or_path))
    if near := _neighbours(Path(name_or_path)):
        raise SelectionError(
            f"no campaign {name_or_path!r}", remedy=f"did you mean {' or '.join(near)}?"
        )
    names = _names(campaigns)
    raise SelectionError(
        f"no campaign {name_or_path!r}{_did_you_mean(name_or_path, names)}",
        where=str(campaigns),
        remedy=f"{_there(campaigns, names)}; a path works too",
    )


def _neighbours(path: Path) -> list[str]:
    """Campaigns of the directory that a path names, which begin as its name does or are near."""
    if not path.parent.name:
        return []
    names = [
        name for name in _names(path.parent) if (path.parent / name / journal.FILE_NAME).is_file()
    ]
    begun = sorted(name for name in names if name.startswith(path.name))
    near = nearest(path.name, names)
    return [str(path.parent / name) for name in (begun or ([near] if near else []))[:_NAMED]]


def _there(campaigns: Path, names: Sequence[str]) -> str:
    """The newest by name, and how to see all."""
    found = [name for name in names if (campaigns / name / journal.FILE_NAME).is_file()]
    if not found:
        return "none is there, --campaigns names another directory"
    newest = sorted(found, reverse=True)[:_NAMED]
    listed = f", 'dlperf-tui campaigns ls' lists all {len(found)}" if len(found) > _NAMED else ""
    return f"there {'are' if newest[1:] else 'is'} {', '.join(newest)}{listed}"


def _with_id(campaigns: Path, name: str) -> list[Path]:
    """The campaigns there that began under this name, which the console and reports go on saying;
    their directories may have been given others."""
    found = []
    for directory in sorted(_names(campaigns)):
        path = campaigns / directory
        with contextlib.suppress(OSError, journal.JournalError):
            begun = journal.beginning(path / journal.FILE_NAME)
            if begun is not None and begun.campaign == name:
                found.append(path)
    return found


def _did_you_mean(word: str, names: Sequence[str]) -> str:
    """By the whole name, by what is behind its date, by a word of it; the newest of those."""
    spelt: dict[str, str] = {}
    for name in sorted(names):
        spelt |= dict.fromkeys(_DATE.sub("", name).split("-"), name)
    for name in sorted(names):
        spelt[_DATE.sub("", name)] = name
    near = nearest(word, names) or nearest(word, spelt)
    return f", did you mean {spelt.get(near, near)!r}?" if near is not None else ""


def _names(campaigns: Path) -> list[str]:
    """For a suggestion: of their directories, nothing is read."""
    try:
        with os.scandir(campaigns) as entries:
            return [entry.name for entry in entries if entry.name[:1] != "." and entry.is_dir()]
    except OSError:
        return []
