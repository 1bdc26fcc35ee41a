"""What a raw log was when its run was measured: seen at a glance where it is that still."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from backends.campaign.folder.regular_file import open_to_read
from backends.campaign.record.run_record import LogStamp

Glance = tuple[int, float]
"""Bytes, and when it was written in seconds since the epoch."""


def stamps_of(logs: Iterable[Path]) -> tuple[LogStamp, ...]:
    """Of each, in their order; none at all where one of them cannot be read. Blocking: all are."""
    found = tuple(_stamp(log) for log in logs)
    known = tuple(stamp for stamp in found if stamp is not None)
    return known if len(known) == len(found) else ()


def glance_at(log: Path) -> Glance | None:
    """None: no regular file that can be opened lies there."""
    if (fd := open_to_read(log)) is None:
        return None
    try:
        return _glance(fd)
    finally:
        os.close(fd)


def is_as_stamped(log: Path, stamp: LogStamp) -> bool:
    """Whether it is byte for byte what it was: read only where it was written since, as copies are,
    and has the same size. Blocking."""
    size, written, digest = stamp
    match glance_at(log):
        case None:
            return False
        case found if found == (size, written):
            return True
        case (found_size, _):
            return found_size == size and (now := _stamp(log)) is not None and now[2] == digest


def _stamp(log: Path) -> LogStamp | None:
    if (fd := open_to_read(log)) is None:
        return None
    try:
        digest = hashlib.sha256()
        for block in _blocks(fd):
            digest.update(block)
        return (*_glance(fd), digest.hexdigest())
    except OSError:
        return None
    finally:
        os.close(fd)


def _glance(fd: int) -> Glance:
    found = os.fstat(fd)
    return found.st_size, found.st_mtime


def _blocks(fd: int) -> Iterator[bytes]:
    position = 0
    while block := os.pread(fd, 1 << 20, position):
        position += len(block)
        yield block
