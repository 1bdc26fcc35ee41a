"""Campaigns that came from somebody else: what in them is not what it seems."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from backends.campaign.folder.paths import REQUESTS, TAKEN
from profiles.errors import DlperfError


class ForeignFileError(DlperfError):
    """A campaign holds something that no campaign of ours ever does."""


_READ = ("", "frozen", "frozen/profiles", "frozen/stage")


def refuse_strange(directory: Path) -> None:
    """Raise ForeignFileError where a campaign holds a pipe or a device among what is read as a
    whole: reading that has no end. Blocking."""
    for folder in _READ:
        with contextlib.suppress(OSError), os.scandir(directory / folder) as entries:
            for entry in entries:
                if _kind(entry) not in (stat.S_IFREG, stat.S_IFDIR, None):
                    raise ForeignFileError(
                        f"{Path(folder, entry.name)} is neither a file nor a directory",
                        where=str(directory),
                        remedy="remove it, if you know what it is",
                    )


def _kind(entry: os.DirEntry[str]) -> int | None:
    """None where it leads nowhere."""
    try:
        return stat.S_IFMT(entry.stat().st_mode)
    except OSError:
        return None


def refuse_ways_out(directory: Path) -> None:
    """Raise ForeignFileError where a symlink in a campaign leads out of it: what is written there
    would land elsewhere. Blocking."""
    root = directory.resolve()
    for link in _links(directory, (directory / REQUESTS, directory / TAKEN)):
        target = link.resolve()
        if not target.is_relative_to(root):
            raise ForeignFileError(
                f"{link.relative_to(directory)} is a link out of the campaign, to {target}",
                where=str(directory),
                remedy="put what it stands for in its place; nothing was written",
            )


def _links(directory: Path, but: Collection[Path]) -> Iterator[Path]:
    """All of them but what is in directories of what others may put there: none of that is
    followed."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield Path(entry.path)
            elif entry.is_dir() and Path(entry.path) not in but:
                yield from _links(Path(entry.path), but)
