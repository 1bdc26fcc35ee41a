"""A local raw log: the remote bytes, exactly, from the first one; its size is the resume offset."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from profiles.cleantext import clean_line

BLOCK = 1 << 20


class RawLog:
    """Appends to one file. A failed write keeps what fitted; :attr:`problem` then says why.

    After a problem nothing is taken until :meth:`reopen`, so that no byte is ever left out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self.size = 0
        self._fd: int | None = None
        self._digest = hashlib.sha256()
        self._digested = 0
        self._open()

    def _open(self) -> None:
        try:
            if self._fd is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                self._fd = os.open(self.path, flags, 0o644)
            self.size = os.fstat(self._fd).st_size
            self.problem = ""
        except OSError as error:
            self.problem = error.strerror or str(error)

    def write(self, data: bytes) -> bytes:
        """Append ``data``; returns the part that is in the file now."""
        if self.problem or self._fd is None:
            return b""
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            self.problem = error.strerror or str(error)
        if self._digested == self.size:
            self._digest.update(data[:written])
            self._digested += written
        self.size += written
        return data[:written]

    def reopen(self) -> None:
        """Try again after a problem (the disk was full)."""
        self._open()

    def restart(self) -> None:
        """Forget everything: the file does not hold what it should."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
        self.size = self._digested = 0
        self._digest = hashlib.sha256()

    def blocks(self) -> Iterator[bytes]:
        """What the file holds already, for replaying the parser on resume."""
        if self.size == 0:
            return
        with self.path.open("rb") as file:
            left = self.size
            while left > 0 and (block := file.read(min(BLOCK, left))):
                left -= len(block)
                if self._digested == self.size - left - len(block):
                    self._digest.update(block)
                    self._digested += len(block)
                yield block

    @property
    def sha256(self) -> str:
        """Of the whole file, without reading what went through here; empty when not known."""
        return self._digest.hexdigest() if self._digested == self.size else ""

    def sync(self) -> bool:
        """Whether all bytes are on disk for good. Blocking."""
        if self.problem or self._fd is None:
            return False
        try:
            os.fsync(self._fd)
        except OSError as error:
            self.problem = error.strerror or str(error)
            return False
        return True

    def last_lines(self, count: int = 5) -> tuple[str, ...]:
        """The end of the log, display-safe: what a person would look at first."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, self.size - 16384))
                lines = file.read().splitlines()
        except OSError:
            return ()
        return tuple(clean_line(line, cap=400) for line in lines if line.strip())[-count:]

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
