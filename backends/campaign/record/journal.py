"""The campaign's truth on disk: ``events.jsonl``, append-only, one writer.

A kill at any byte leaves a readable journal: readers stop at a torn last line, and the writer cuts
it off before it appends. Plain appends and fsync work on NFS and Lustre, where SQLite's locks do
not.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from backends.campaign.record.codec import decode, encode, is_readings, merged, schema_of
from backends.campaign.record.events import SCHEMA, CampaignCreated, Event, LinesLost, RunPlanned
from backends.campaign.record.state import CampaignState, fold
from backends.file_modes import open_file
from profiles.cleantext import clean_text
from profiles.errors import DlperfError

FILE_NAME = "events.jsonl"
BLOCK = 1 << 18


class JournalError(DlperfError):
    """The journal cannot be read or written."""


class NewerJournalError(JournalError):
    """The journal has a schema that this version does not know: it is neither read nor written."""

    def __init__(self, path: Path, schema: int, by: str) -> None:
        super().__init__(
            f"written by a newer dlperf-tui {by}".rstrip()
            + f" (its journal has schema {schema}, this one knows {SCHEMA})",
            where=str(path.parent),
            remedy="open it with that version",
        )


class LostJournalError(JournalError):
    """The journal belongs to another writer now; nothing was written."""

    exit_code = 3


def read_events(path: Path, *, readings: bool = True) -> Iterator[Event]:
    """Every whole event of a journal, in order; a torn last line and unknown kinds are skipped.

    ``readings``: False leaves the readings out, which are most of a journal.

    Raises
    ------
    JournalError: the file is missing or unreadable.
    """
    for lines in _blocks(path, 0):
        wanted = lines if readings else [line for line in lines if not is_readings(line)]
        yield from _decoded(wanted)


def _decoded(lines: Sequence[bytes]) -> Iterator[Event]:
    """The events of whole lines, then how many lines gave none."""
    lost = 0
    for line in lines:
        if (event := decode(line)) is not None:
            yield event
        else:
            lost += 1
    if lost:
        yield LinesLost(t=0.0, lines=lost)


def check_campaign(directory: Path) -> None:
    """Raise JournalError when the directory holds no campaign, or one of a newer version."""
    for _lines in _blocks(directory / FILE_NAME, 0):
        return


def _blocks(path: Path, offset: int) -> Iterator[list[bytes]]:
    """Whole lines from ``offset`` on, some hundred at a time. Raises JournalError."""
    try:
        with path.open("rb") as file:
            if offset == 0:
                _check_schema(path, file.readline())
            file.seek(offset)
            while lines := file.readlines(BLOCK):
                if not lines[-1].endswith(b"\n"):
                    del lines[-1]
                yield lines
    except FileNotFoundError:
        raise JournalError(
            "this is not a campaign: it has no events.jsonl",
            where=str(path.parent),
            remedy="give a directory that 'dlperf-tui run' or 'import' made",
        ) from None
    except OSError as error:
        raise JournalError(f"cannot read the journal: {error.strerror}", where=str(path)) from error


def beginning(path: Path) -> CampaignCreated | None:
    """A journal's first event; None where that cannot be read. Raises like :func:`read_events`."""
    first = next(read_events(path, readings=False), None)
    return first if isinstance(first, CampaignCreated) else None


def last_time(path: Path) -> float | None:
    """When the last of what is written happened, seconds since the epoch; None where nobody can
    tell."""
    return next((event.t for event in last_events(path)), None)


def last_events(path: Path) -> Iterator[Event]:
    """The last first, as far as the end of the file has them; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            at = max(0, file.seek(0, os.SEEK_END) - BLOCK)
            file.seek(at)
            lines = file.readlines()
    except OSError:
        return
    yield from filter(None, map(decode, reversed(lines)))


def _check_schema(path: Path, first_line: bytes) -> int:
    schema, by = schema_of(first_line)
    if schema > SCHEMA:
        raise NewerJournalError(path, schema, clean_text(by))
    return schema


def _raise_schema(path: Path, schema: int) -> None:
    """Make the first line say today's schema, so that a version that knows only the older one
    refuses the journal instead of taking what is appended for damage. One byte, in place: nobody
    ever sees half of it, and who reads the journal stays where they are."""
    key = b'"schema":'
    fd = open_file(path, os.O_RDWR | os.O_CLOEXEC)
    with os.fdopen(fd, "rb+", buffering=0) as file:
        at = file.readline().find(b"%s%d," % (key, schema))
        if at >= 0 and schema < SCHEMA < 10:
            os.pwrite(fd, b"%d" % SCHEMA, at + len(key))


class JournalReader:
    """Follows a journal that somebody else writes: each :meth:`state` reads only what is new.

    ``known``: with runs that are known without it. ``planned``: ids of those that it plans itself.
    """

    def __init__(self, path: Path, known: CampaignState | None = None) -> None:
        self.path = path
        self.planned: set[str] = set()
        self._known = known or CampaignState()
        self._state = self._known
        self._offset = 0

    def state(self) -> CampaignState:
        """The state now. Raises JournalError where there is no journal, or it is unreadable."""
        try:
            if self.path.stat().st_size < self._offset:  # its last bytes were torn, and cut off
                self._state, self._offset = self._known, 0
                self.planned.clear()
        except OSError:
            pass  # told below
        for lines in _blocks(self.path, self._offset):
            self._offset += sum(map(len, lines))
            self._state = fold(self._noted(_decoded(lines)), self._state)
        return self._state

    def _noted(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if type(event) is RunPlanned:
                self.planned.add(event.run_id)
            yield event


async def _to_its_end(writing: asyncio.Future[None]) -> None:
    """Wait for a write even when this is cancelled meanwhile: its outcome must be known."""
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait({writing})
        raise


class Journal:
    """The one writer. :meth:`append` queues; :meth:`commit` returns once all of it is on disk.

    Writing happens in one thread of its own, so that a slow file system never stops the loop. While
    the disk is full the queue is kept in memory and written when there is room again;
    :attr:`problem` says so in the meantime.

    Parameters
    ----------
    owned: asked before each write; False: the journal is another writer's now, and nothing is
        written any more (LostJournalError). A console that was suspended learns it in this way.
    """

    def __init__(self, path: Path, *, owned: Callable[[], bool] = lambda: True) -> None:
        self.path = path
        self.problem = ""
        self._owned = owned
        self._pending: list[Event] = []
        self._durable = False
        self._schema = SCHEMA
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._writing = asyncio.Lock()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        try:
            if path.exists():
                with path.open("rb") as file:
                    self._schema = _check_schema(path, file.readline())
            self._fd = open_file(path, flags)
            cut_torn_tail(path)
        except OSError as error:
            raise JournalError(
                f"cannot write the journal: {error.strerror}",
                where=str(path),
                remedy="check permissions and free space, or choose --campaigns DIR",
            ) from error

    def append(self, event: Event) -> None:
        self._pending.append(event)
        self._durable = self._durable or event.durable

    async def commit(self) -> bool:
        """Write what is queued; True when nothing is left to write. A full disk gives False.

        Raises
        ------
        LostJournalError: somebody else has taken the campaign over.
        """
        async with self._writing:
            if not self._pending:
                return True
            batch, self._pending = self._pending, []
            durable, self._durable = self._durable, False
            writing = self._thread.submit(self._write, batch, durable)
            try:
                await _to_its_end(asyncio.wrap_future(writing))
            except asyncio.CancelledError:
                if writing.exception() is not None:
                    self._pending = batch + self._pending
                    self._durable = True
                raise
            except OSError as error:
                self._pending = batch + self._pending
                self._durable = True
                self.problem = f"cannot write {self.path}: {error.strerror}; runs go on detached"
                return False
            self.problem = ""
            return True

    def _write(self, batch: Sequence[Event], durable: bool) -> None:
        data = b"".join(map(encode, merged(batch)))
        if not self._owned():
            raise LostJournalError("another console writes this journal now", where=str(self.path))
        size = os.fstat(self._fd).st_size
        try:
            if self._schema < SCHEMA:
                _raise_schema(self.path, self._schema)
                self._schema = SCHEMA
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
            if durable:
                os.fsync(self._fd)
        except OSError:
            os.ftruncate(self._fd, size)  # all of the batch or none of it
            raise

    def close(self) -> None:
        """Wait for what is being written, then close. What is only queued is given up."""
        self._thread.shutdown(wait=True)
        os.close(self._fd)


def write_now(
    path: Path, events: Sequence[Event], *, owned: Callable[[], bool] = lambda: True
) -> None:
    """Append to a journal that is at rest, and sync it. Blocking. Raises JournalError."""
    journal = Journal(path, owned=owned)
    try:
        journal._write(events, durable=True)
    except OSError as error:
        raise JournalError(
            f"cannot write the journal: {error.strerror}",
            where=str(path),
            remedy="check permissions and free space",
        ) from error
    finally:
        journal.close()


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
