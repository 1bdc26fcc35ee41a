"""Who may read what a campaign writes: the operator alone, or the operator's group as well.

The mode of the campaign's directory says it, whatever the umask: 0700, or 0750 for a group, which
then may read every file in it. Everything made in a directory follows that directory, so a campaign
that is resumed keeps to what it began with, and in one of any other mode new files are the
operator's alone.
"""

from __future__ import annotations

import os
import stat
from enum import StrEnum
from pathlib import Path


class Share(StrEnum):
    PRIVATE = "private"
    GROUP = "group"

    @property
    def directory_mode(self) -> int:
        return 0o750 if self is Share.GROUP else 0o700

    @property
    def file_mode(self) -> int:
        return 0o640 if self is Share.GROUP else 0o600


def share_of(directory: Path) -> Share:
    """For whom new files in ``directory`` are: for its group where that, and nobody else, may
    read it. Raises OSError."""
    others = stat.S_IMODE(directory.stat().st_mode) & 0o077
    return Share.GROUP if others == Share.GROUP.directory_mode & 0o077 else Share.PRIVATE


def make_directory(path: Path, share: Share | None = None, *, exist_ok: bool = True) -> None:
    """Make a directory and those above it that are missing; what is there keeps its mode.

    ``share``: None: as the directory above. Raises OSError; FileExistsError without ``exist_ok``.
    """
    if not path.parent.exists():
        make_directory(path.parent, share)
    if share is None:
        share = share_of(path.parent)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not exist_ok or not path.is_dir():
            raise
        return
    inherited = path.stat().st_mode & stat.S_ISGID  # the group of the directory above goes on
    path.chmod(share.directory_mode | inherited)


def narrow(directory: Path, share: Share) -> None:
    """Take from a directory what ``share`` does not give. Raises OSError."""
    mode = stat.S_IMODE(directory.stat().st_mode)
    directory.chmod(mode & (share.directory_mode | stat.S_ISGID | stat.S_ISVTX))


def open_file(path: Path, flags: int) -> int:
    """A descriptor of a file that is made where it is missing, to be read by whom its directory
    says. No symlink is followed. ``flags``: os.O_…, without O_CREAT. Raises OSError."""
    try:
        fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, Share.PRIVATE.file_mode)
    except FileExistsError:
        if flags & os.O_EXCL:
            raise
        return os.open(path, flags | os.O_NOFOLLOW)
    os.fchmod(fd, share_of(path.parent).file_mode)
    return fd


def make_file(path: Path) -> None:
    """Make sure that a file is there, as :func:`open_file` makes it. Raises OSError."""
    os.close(open_file(path, os.O_WRONLY | os.O_CLOEXEC))
