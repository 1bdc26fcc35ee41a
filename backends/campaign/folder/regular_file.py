"""Files at paths where somebody else may put anything: opened, set aside, kept for good."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from backends.file_modes import open_file

SAFE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # no link is followed, no pipe waited for
_STRANGE = (errno.ELOOP, errno.EISDIR, errno.ENXIO)


def open_regular(path: Path, more: int = 0) -> int | None:
    """A descriptor to append with; None where something that is no regular file lies."""
    try:
        fd = open_file(path, os.O_WRONLY | os.O_APPEND | SAFE | more)
    except OSError as error:
        if error.errno in _STRANGE:
            return None
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def open_to_read(path: Path) -> int | None:
    """A descriptor; None where no regular file lies, or one that cannot be opened."""
    try:
        fd = os.open(path, os.O_RDONLY | SAFE)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def lies_within(directory: Path, path: Path) -> bool:
    """Whether it leads to something in there, whatever links are on the way; False where it cannot
    be said."""
    try:
        return path.resolve().is_relative_to(directory.resolve())
    except (OSError, RuntimeError, ValueError):  # a link that leads to itself; no name of a file
        return False


def set_aside(path: Path) -> str:
    """Rename whatever lies at ``path``; nothing that is there is ever lost."""
    for number in range(1, 10_000):
        kept = path.with_name(f"{path.name}.kept-{number}")
        if not os.path.lexists(kept):
            path.rename(kept)
            return kept.name
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def sync_directory(path: Path) -> None:
    """A new file's name is as lasting as its bytes. Not every file system can do this."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)
