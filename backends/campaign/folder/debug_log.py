"""A campaign's own log of what the engine did: ``debug.log``, bounded, for the operator alone.

A thread of its own writes it, from a queue that has an end: a disk that stalls or is full costs
lines of this log and nothing else.
"""

from __future__ import annotations

import logging
import os
import threading
from logging.handlers import QueueHandler, RotatingFileHandler
from pathlib import Path
from queue import Full, Queue

from backends.debug import without_secrets
from profiles.cleantext import clean_text

FILE_NAME = "debug.log"
MOST_BYTES = 2 << 20
KEPT = 3
"""Older files, as debug.log.1 …, each of up to :data:`MOST_BYTES`."""

_WAITING = 10_000
_CLOSE_S = 2.0
_LONGEST = 32_768  # of what is told at once

_Lines = Queue[logging.LogRecord | None]  # None: close the file


class DebugLog:
    """Writes between :meth:`open` and :meth:`close`; what is told before that waits.

    :attr:`logger` is in no hierarchy: it hands nothing on.
    """

    def __init__(self, directory: Path) -> None:
        self.logger = logging.Logger("dlperf.campaign", logging.DEBUG)
        self._path = directory / FILE_NAME
        self._lines: _Lines = Queue(_WAITING)
        self._thread: threading.Thread | None = None
        self.logger.addHandler(_Queueing(self._lines))

    def open(self) -> None:
        """Write from here on. Returns at once."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=_write, args=(self._lines, self._path), name="debug log", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Write what is left, unless the disk stalls. Blocking, for a moment."""
        thread, self._thread = self._thread, None
        if thread is not None:
            try:
                self._lines.put_nowait(None)
            except Full:
                return
            thread.join(_CLOSE_S)


def _write(lines: _Lines, path: Path) -> None:
    file = _File(path)
    while (line := lines.get()) is not None:
        file.handle(line)
    file.close()


class _Queueing(QueueHandler):
    """Never waits. What finds no room is counted, and that is said with the next line."""

    def __init__(self, lines: _Lines) -> None:
        super().__init__(lines)
        self.setFormatter(_Formatter("%(message)s"))
        self._lost = 0

    def enqueue(self, record: logging.LogRecord) -> None:
        if self._lost:
            record.msg = f"({self._lost} lines are missing here) {record.msg}"
        try:
            self.queue.put_nowait(record)
        except Full:
            self._lost += 1
        else:
            self._lost = 0


class _Formatter(logging.Formatter):
    """Display-safe and without secrets, whatever a host said; a traceback keeps its lines,
    indented."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        beyond = f" … +{len(text) - _LONGEST} characters" if len(text) > _LONGEST else ""
        first, *rest = (without_secrets(text[:_LONGEST]) + beyond).split("\n")
        return "\n".join([clean_text(first), *(f"    {clean_text(line)}" for line in rest)])


class _File(RotatingFileHandler):
    """Opened with its first line."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
        self.setFormatter(
            logging.Formatter("%(asctime)s.%(msecs)03d %(levelname)-7s %(message)s", "%F %T")
        )

    def _open(self):  # type: ignore[no-untyped-def]  # the type of the class above
        return open(self.baseFilename, "a", encoding="utf-8", opener=_private)

    def handleError(self, record: logging.LogRecord) -> None:
        """The disk is full, or away; others tell the operator."""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
