"""Directories of campaigns that were ended before their journal began: nothing was started."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path

from backends.campaign.folder.frozen import FOLDER
from backends.campaign.plan.selection import REQUEST_NAME
from backends.campaign.record.journal import FILE_NAME, JournalError
from backends.campaign.record.lock import FILE_NAME as LOCK_NAME

_BLOCK = 1 << 16  # bytes: who knows how long a line from elsewhere is

NOTHING_STARTED = "nothing was started: it was ended before its journal began"


class NothingStartedError(JournalError):
    """There is nothing to go on with, and nothing on any host."""

    def __init__(self, directory: Path) -> None:
        asked = directory / REQUEST_NAME
        again = f"start it with 'dlperf-tui run --from {shlex.quote(str(asked))}', or remove it"
        super().__init__(
            NOTHING_STARTED,
            where=str(directory),
            remedy=again if asked.exists() else "remove the directory",
        )


def is_unbegun(directory: Path, *, kept_here: bool = False) -> bool:
    """Whether the directory is a campaign's, and its journal has no whole line.

    ``kept_here``: it lies among campaigns, so that an empty one is a campaign's, too.

    Raises
    ------
    OSError: it cannot be looked at.
    """
    journal = directory / FILE_NAME
    if journal.exists():
        if not journal.is_file():  # a pipe, whose opening would have no end
            return False
        with journal.open("rb") as file:
            return not any(b"\n" in block for block in iter(partial(file.read, _BLOCK), b""))
    if any((directory / name).exists() for name in (REQUEST_NAME, FOLDER, LOCK_NAME)):
        return True
    return kept_here and directory.is_dir() and not any(directory.iterdir())
