"""A local raw log: the remote bytes, exactly, from the first one; its size is the resume offset."""

from __future__ import annotations

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
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.size = os.fstat(self._fd).st_size

    def write(self, data: bytes) -> bytes:
        """Append ``data``; returns the part that is in the file now."""
        if self.problem:
            return b""
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            self.problem = error.strerror or str(error)
        self.size += written
        return data[:written]

    def reopen(self) -> None:
        """Try again after a problem (the disk was full)."""
        self.problem = ""
        self.size = os.fstat(self._fd).st_size

    def blocks(self) -> Iterator[bytes]:
        """What the file holds already, for replaying the parser on resume."""
        with self.path.open("rb") as file:
            left = self.size
            while left > 0 and (block := file.read(min(BLOCK, left))):
                left -= len(block)
                yield block

    def last_lines(self, count: int = 5) -> tuple[str, ...]:
        """The end of the log, display-safe: what a person would look at first."""
        with self.path.open("rb") as file:
            file.seek(max(0, self.size - 16384))
            lines = file.read().splitlines()
        return tuple(clean_line(line, cap=400) for line in lines if line.strip())[-count:]

    def close(self) -> None:
        os.close(self._fd)
