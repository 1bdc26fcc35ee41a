"""A log on this disk, held while the one on its host is deleted.

Between the moment at which the two were the same and the one at which the host's is gone, somebody
may remove, replace or edit the file here. What is held then is the only copy: it is put back.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from backends.campaign.folder.regular_file import (
    open_regular,
    open_to_read,
    set_aside,
    sync_directory,
)
from backends.file_modes import make_directory
from backends.remote.wrapper_messages import LogDigest

BLOCK = 1 << 20
IN_MEMORY = 8 << 20
"""So large a log is held byte by byte, a larger one by an open descriptor: who edits that one in
place changes what is held, too."""


class EditedInPlaceError(Exception):
    """What was held is not what it was any more."""


@dataclass(frozen=True, slots=True)
class KeptLog:
    """The file as it was: its ``digest``, and its bytes, in memory or through ``fd``."""

    path: Path
    digest: LogDigest
    fd: int
    data: bytes | None

    @classmethod
    def of(cls, path: Path) -> KeptLog | None:
        """None: it is no regular file, or cannot be read or synced."""
        if (fd := open_to_read(path)) is None:
            return None
        try:
            data = b"".join(_blocks(fd)) if os.fstat(fd).st_size <= IN_MEMORY else None
            held = cls(path, _digest(_blocks(fd) if data is None else iter([data])), fd, data)
            os.fsync(fd)
            sync_directory(path.parent)
        except OSError:
            os.close(fd)
            return None
        return held

    def put_back(self) -> str | None:
        """See that the file is what it was. None: it is; else the name under which is kept what
        lay there instead, empty where nothing did.

        Raises
        ------
        EditedInPlaceError: of what was held in a file, too. OSError: it cannot be written now; it
        is still held.
        """
        if _digest_at(self.path) == self.digest:
            return None
        if self.data is None and _digest(_blocks(self.fd)) != self.digest:
            raise EditedInPlaceError
        make_directory(self.path.parent)
        draft = self.path.with_name(f".{self.path.name}.draft")
        draft.unlink(missing_ok=True)
        fd = open_regular(draft, os.O_EXCL)
        if fd is None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(draft))
        try:
            for block in _blocks(self.fd) if self.data is None else iter([self.data]):
                _write(fd, block)
            os.fsync(fd)
        finally:
            os.close(fd)
        kept = set_aside(self.path) if os.path.lexists(self.path) else ""
        draft.replace(self.path)
        sync_directory(self.path.parent)
        return kept

    def close(self) -> None:
        os.close(self.fd)


def _blocks(fd: int) -> Iterator[bytes]:
    position = 0
    while block := os.pread(fd, BLOCK, position):
        position += len(block)
        yield block


def _digest(blocks: Iterator[bytes]) -> LogDigest:
    size, digest = 0, hashlib.sha256()
    for block in blocks:
        size += len(block)
        digest.update(block)
    return LogDigest(size, digest.hexdigest())


def _digest_at(path: Path) -> LogDigest | None:
    if (fd := open_to_read(path)) is None:
        return None
    try:
        return _digest(_blocks(fd))
    finally:
        os.close(fd)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
