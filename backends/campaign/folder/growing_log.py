"""A raw log read byte for byte while somebody else writes it."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from backends.campaign.folder.refuse_foreign_files import ForeignFileError
from backends.campaign.folder.regular_file import open_to_read

BLOCK = 1 << 18
_NONE = -1


class GrowingLog:
    """Each byte once, in order, over truncations, and over files that take the log's place.

    A file in its place that begins with what was read already is the log, and reading goes on; any
    other is a log begun anew, and read from its first byte (:attr:`begun_anew`).

    Parameters
    ----------
    campaign: the directory that the log must lie in. name: relative to it.
    """

    def __init__(self, campaign: Path, name: str) -> None:
        self.path = campaign / name
        self.begun_anew = 0  # how often
        self._campaign = campaign
        self._fd = _NONE
        self._from = 0  # where reading began
        self._offset = 0
        self._read = hashlib.sha256()  # of what was read since then

    def read(self) -> Iterator[bytes]:
        """What there is since the last call; nothing while there is no such file.

        Raises
        ------
        ForeignFileError: it lies outside of the campaign.
        """
        while True:
            if self._fd == _NONE and not self._open():
                return
            while data := self._block(self._offset):
                self._offset += len(data)
                self._read.update(data)
                yield data
            if not self._replaced():
                return

    def skip_to_last(self, lines: int) -> None:
        """Leave out all but so many lines of what there is now; before the first :meth:`read`."""
        if self._fd == _NONE and not self._open():
            return
        end = position = os.fstat(self._fd).st_size
        left = lines
        while position > 0:
            start = max(0, position - BLOCK)
            block = self._block(start, position - start)
            at = len(block) - (position == end and block.endswith(b"\n"))  # its end begins no line
            while (at := block.rfind(b"\n", 0, at)) >= 0:
                left -= 1
                if left <= 0:
                    self._from = self._offset = start + at + 1
                    return
            position = start

    def close(self) -> None:
        if self._fd != _NONE:
            os.close(self._fd)
            self._fd = _NONE

    def _open(self) -> bool:
        with contextlib.suppress(OSError, RuntimeError):  # it is away; a link leads to itself
            if not self.path.resolve().is_relative_to(self._campaign.resolve()):
                raise ForeignFileError(
                    "is a link out of the campaign",
                    where=str(self.path),
                    remedy="read what it leads to by itself",
                )
        fd = open_to_read(self.path)
        self._fd = _NONE if fd is None else fd
        return fd is not None

    def _block(self, position: int, size: int = BLOCK) -> bytes:
        try:
            return os.pread(self._fd, size, position)
        except OSError:  # the server has forgotten the file; another may be in its place
            return b""

    def _replaced(self) -> bool:
        """Whether there is more to read, for it is not what it was. A log that is away at the
        moment may come again."""
        try:
            now = self.path.lstat()
            before = os.fstat(self._fd)
        except OSError:
            return False
        same = (now.st_dev, now.st_ino) == (before.st_dev, before.st_ino)
        if same and now.st_size >= self._offset:
            return False
        self.close()
        if not self._open():
            return False
        if not self._goes_on():
            self.begun_anew += 1
            self._from = self._offset = 0
            self._read = hashlib.sha256()
        return True

    def _goes_on(self) -> bool:
        """Whether the file that is open now begins with what was read."""
        digest, position = hashlib.sha256(), self._from
        while position < self._offset:
            block = self._block(position, min(BLOCK, self._offset - position))
            if not block:
                return False
            digest.update(block)
            position += len(block)
        return digest.digest() == self._read.digest()
