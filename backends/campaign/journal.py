"""The campaign's truth on disk: ``events.jsonl``, append-only, one writer.

A kill at any byte leaves a readable journal: readers stop at a torn last line, and the writer cuts
it off before it appends. Plain appends and fsync work on NFS and Lustre, where SQLite's locks do
not.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from backends.campaign.events import Event, decode, encode
from profiles.errors import DlperfError

FILE_NAME = "events.jsonl"


class JournalError(DlperfError):
    """The journal cannot be read or written."""


def read_events(path: Path) -> Iterator[Event]:
    """Every whole event of a journal, in order; a torn last line and unknown kinds are skipped.

    Raises
    ------
    JournalError: the file is missing or unreadable.
    """
    try:
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n") and (event := decode(line)) is not None:
                    yield event
    except FileNotFoundError:
        raise JournalError(
            "this is not a campaign: it has no events.jsonl",
            where=str(path.parent),
            remedy="give a directory that 'dlperf-tui run' or 'import' made",
        ) from None
    except OSError as error:
        raise JournalError(f"cannot read the journal: {error.strerror}", where=str(path)) from error


class Journal:
    """The one writer. :meth:`append` queues; :meth:`commit` returns once all of it is on disk.

    Writing happens in one thread of its own, so that a slow file system never stops the loop. While
    the disk is full the queue is kept in memory and written when there is room again;
    :attr:`problem` says so in the meantime.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._pending: list[bytes] = []
        self._durable = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._writing = asyncio.Lock()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            self._fd = os.open(path, flags, 0o644)
            cut_torn_tail(path)
        except OSError as error:
            raise JournalError(
                f"cannot write the journal: {error.strerror}",
                where=str(path),
                remedy="check permissions and free space, or choose --campaigns DIR",
            ) from error

    @property
    def pending(self) -> int:
        """Events that are not on disk yet."""
        return len(self._pending)

    def append(self, event: Event) -> None:
        self._pending.append(encode(event))
        self._durable = self._durable or event.durable

    async def commit(self) -> bool:
        """Write what is queued; True when nothing is left to write. Never raises for a full disk."""
        async with self._writing:
            if not self._pending:
                return True
            batch, self._pending = self._pending, []
            durable, self._durable = self._durable, False
            loop = asyncio.get_running_loop()
            try:
                await loop.run_in_executor(self._thread, self._write, b"".join(batch), durable)
            except OSError as error:
                self._pending = batch + self._pending
                self._durable = True
                self.problem = f"cannot write {self.path}: {error.strerror}; runs go on detached"
                return False
            self.problem = ""
            return True

    def _write(self, data: bytes, durable: bool) -> None:
        size = os.fstat(self._fd).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
            if durable:
                os.fsync(self._fd)
        except OSError:
            os.ftruncate(self._fd, size)  # all of the batch or none of it
            raise

    def close(self) -> None:
        self._thread.shutdown(wait=True)
        os.close(self._fd)


def cut_torn_tail(path: Path) -> None:
    """Cut the bytes after the last newline: the line that a kill tore."""
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        position = end
        while position > 0:
            start = max(0, position - 65536)
            file.seek(start)
            newline = file.read(position - start).rfind(b"\n")
            if newline >= 0:
                position = start + newline + 1
                break
            position = start
        if position != end:
            file.truncate(position)
