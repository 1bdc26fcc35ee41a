"""Reads a growing log file: its last part first, then what is added."""

from __future__ import annotations

from pathlib import Path

from tui.widgets.log_lines import LineReader, LogLine

TAIL_BYTES = 128 * 1024
CHUNK_BYTES = 256 * 1024
"""At most this much is read at a time, so that a refresh never takes long."""


class LogTail:
    """``read`` returns display-safe lines; nothing is held but an unfinished line.

    ``looked``: whether there is such a file is known; ``there``: it is. ``at_end``: all of it was
    read then.
    """

    def __init__(self, path: Path, *, tail_bytes: int = TAIL_BYTES) -> None:
        self.path = path
        self.skipped_bytes = 0
        self.looked = self.there = self.at_end = False
        self._tail_bytes = tail_bytes
        self._offset = 0
        self._reader = LineReader()
        self._begun = False
        self._drop_first = False

    def read(self) -> list[LogLine]:
        """Lines that were completed since the last call; none while there is no such file."""
        lines = self._read()
        self.looked = True
        return lines

    def _read(self) -> list[LogLine]:
        self.there = False
        try:
            if not self.path.is_file():  # a pipe would be waited for
                return []
            with self.path.open("rb") as file:
                size = file.seek(0, 2)
                if not self._begun or size < self._offset:
                    self._begin(size)
                file.seek(self._offset)
                data = file.read(CHUNK_BYTES)
        except OSError:
            return []
        self.there = True
        self._offset += len(data)
        self.at_end = self._offset == size
        lines = self._reader.feed(data)
        if self._drop_first and lines:
            self._drop_first = False
            del lines[0]
        return lines

    def finish(self) -> list[LogLine]:
        """The last line without a line end, once nothing more will be written."""
        return self._reader.finish()

    def _begin(self, size: int) -> None:
        self._begun = True
        self._offset = self.skipped_bytes = max(0, size - self._tail_bytes)
        self._reader = LineReader(self._offset)
        self._drop_first = self.skipped_bytes > 0
