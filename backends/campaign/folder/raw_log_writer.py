"""A local raw log: the remote bytes, exactly, from the first one; its size is the resume offset."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from backends.campaign.folder.calls_in_turn import Strand
from backends.campaign.folder.kept_log import KeptLog
from backends.campaign.folder.regular_file import open_regular, set_aside
from backends.file_modes import make_directory
from backends.remote.wrapper_messages import LogDigest
from profiles.cleantext import clean_line

BLOCK = 1 << 18
"""At most so many bytes are written, and then read by a parser on the event loop, at once."""
BACKLOG = 8 << 20
COLLECT_S = 0.25
"""What comes within this time of a write is written, and parsed, together: else each log that grows
ten times a second changes threads as often."""
STUCK_S = 2.0
SETTLE_LIMIT_S = CLOSE_LIMIT_S = 2.0


def _nobody(_data: bytes) -> None:
    """Nobody reads what is written."""


class RawLog:
    """Appends to one file, in a thread, in the order of :meth:`append`.

    Nothing here blocks the event loop, however long the file system takes. A failed write keeps
    what fitted; :attr:`problem` then says why, and nothing is taken until :meth:`reopen`, so that
    no byte is ever left out.

    Parameters
    ----------
    path: the file. Whatever else lies there (a link, a directory) is set aside, never written to.
    executor: whose threads write; None: the event loop's own.
    collect_s: at least so long is from one write to the next, unless somebody waits for it.
    """

    def __init__(
        self, path: Path, executor: Executor | None = None, *, collect_s: float = COLLECT_S
    ) -> None:
        self.path = path
        self._collect_s = collect_s
        self.problem = ""
        self.size = 0
        self._strand = Strand(executor)
        self._fd: int | None = None
        self._held: KeptLog | None = None
        self._queue: deque[bytes] = deque()
        self._backlog = 0
        self._writing = False
        self._awaited = 0
        self._write_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._error: Exception | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._on_written: Callable[[bytes], None] = _nobody

    @property
    def offset(self) -> int:
        """Where to go on: what is in the file, and what is on its way there."""
        return self.size + self._backlog

    @property
    def crowded(self) -> bool:
        """Bytes come faster than they can be written: take no more before :meth:`drained`."""
        return self._backlog >= BACKLOG

    @property
    def held_up(self) -> bool:
        """The disk takes nothing at the moment: it is full, or does not answer."""
        return bool(self.problem) or self._strand.busy_s > STUCK_S

    async def open(
        self, on_written: Callable[[bytes], None] = _nobody, *, anew: bool = False
    ) -> str:
        """Open or create the file; :attr:`problem` says why it could not be.

        Parameters
        ----------
        on_written: called on the event loop with the bytes that are in the file, in order.
        anew: begin with an empty file.

        Returns the name under which what was there is kept; empty when it goes on.
        """
        self._on_written = on_written
        return await self._open(anew=anew)

    async def reopen(self) -> None:
        """Try again after a problem (the disk was full)."""
        await self._open(anew=False)

    async def restart(self) -> str:
        """Begin with an empty file: what is there is not what it should be.

        Returns the name under which that is kept, empty when there is nothing to keep.
        """
        self._forget()
        await self._idle.wait()
        await self._strand.call(self._close_file)
        return await self._open(anew=True)

    def append(self, data: bytes) -> None:
        """Write ``data`` soon. Nothing is taken after a problem.

        Raises what ``on_written`` raised earlier.
        """
        if self._error is not None:
            raise self._error
        if self.problem or self._fd is None:
            return
        self._queue.append(data)
        self._backlog += len(data)
        self._idle.clear()
        self._go_on()

    async def drained(self) -> None:
        """Until all bytes are in the file, or a problem came up; raises like :meth:`append`."""
        await self._all_written()
        if self._error is not None:
            raise self._error

    async def settle(self) -> None:
        """As :meth:`drained`, for as long as may be waited for a slow disk; raises nothing."""
        if not self.held_up:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_LIMIT_S):
                    await self._all_written()

    async def replay(self, take: Callable[[bytes], None]) -> LogDigest:
        """Hand over, in the thread, what the file holds already; returns its digest."""
        return await self._strand.call(lambda: self._replay(take))

    async def digest(self) -> LogDigest | None:
        """Of what lies at the path now, read anew and on disk for good.

        None: it is no regular file, or cannot be read or synced.
        """
        return await self._strand.call(lambda: _digest(self.path))

    async def hold(self) -> LogDigest | None:
        """As :meth:`digest`, and keep what it is the digest of at hand until :meth:`let_go`."""
        return await self._strand.call(self._hold)

    async def put_back(self) -> str | None:
        """See :meth:`KeptLog.put_back`."""
        held = self._held
        return None if held is None else await self._strand.call(held.put_back)

    async def let_go(self) -> None:
        await self._strand.call(self._let_go)

    async def last_lines(self, count: int = 5) -> tuple[str, ...]:
        """The end of the log, display-safe: what a person would look at first."""
        return await self._strand.call(lambda: self._last_lines(count))

    async def discard(self) -> None:
        """Remove the file, whose run never began, unless something else lies at its path now."""
        self._forget()
        await self._idle.wait()
        await self._strand.call(self._remove_file)

    async def close(self) -> None:
        """Write what is to be written, and close. Waits for a slow disk only so long; the file is
        closed in any case, once it answers. What was not written is fetched again another time."""
        self._closing = True
        try:
            await self.settle()
        finally:
            self._forget()
            closed = self._strand.call(self._close_file)
        await asyncio.wait({closed}, timeout=CLOSE_LIMIT_S)

    # On the event loop ---------------------------------------------------------------------------

    async def _open(self, *, anew: bool) -> str:
        self.size, self.problem, kept = await self._strand.call(lambda: self._open_file(anew))
        return kept

    async def _all_written(self) -> None:
        self._awaited += 1
        try:
            self._go_on()
            await self._idle.wait()
        finally:
            self._awaited -= 1

    def _go_on(self) -> None:
        """Write what waits: now if it is much, if somebody waits for it or if the last write was a
        while ago, else together with what comes until then."""
        if self._writing or not self._queue:
            return
        loop = asyncio.get_running_loop()
        at_once = self._awaited or self._backlog >= BLOCK
        if at_once or loop.time() >= self._write_at:
            self._flush()
        elif self._timer is None:
            self._timer = loop.call_at(self._write_at, self._flush)

    def _forget(self) -> None:
        """What waits is not written."""
        self._stop_timer()
        self._queue.clear()
        if not self._writing:
            self._backlog = 0
            self._idle.set()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _flush(self) -> None:
        self._stop_timer()
        self._write_at = asyncio.get_running_loop().time() + self._collect_s
        data = bytearray()
        while self._queue and len(data) < BLOCK:
            data += self._queue.popleft()
        self._writing = True
        chunk = bytes(data)
        self._strand.call(lambda: self._write(chunk)).add_done_callback(
            lambda done: self._written(chunk, *done.result())
        )

    def _written(self, chunk: bytes, written: int, problem: str) -> None:
        self._writing = False
        self.size += written
        self.problem = problem or self.problem
        if self.problem:
            self._queue.clear()
        self._backlog = sum(map(len, self._queue))
        try:
            if written:
                self._on_written(chunk[:written])
        except Exception as error:  # a mistake in a parser: it goes to who appends
            self._error = error
            self._queue.clear()
        if self._queue:
            self._go_on()
        else:
            self._backlog = 0
            self._idle.set()

    # In the thread -------------------------------------------------------------------------------

    def _open_file(self, anew: bool) -> tuple[int, str, str]:
        """Size, problem, and the name under which what was there is kept."""
        kept = ""
        try:
            if self._fd is None:
                make_directory(self.path.parent)
                self._fd = open_regular(self.path)
                if self._fd is not None and anew and os.fstat(self._fd).st_size:
                    self._close_file()
                if self._fd is None:
                    kept = set_aside(self.path)
                    self._fd = open_regular(self.path, os.O_EXCL)
            if self._fd is None:
                return 0, "somebody else makes files there", kept
            return os.fstat(self._fd).st_size, "", kept
        except OSError as error:
            return 0, error.strerror or str(error), kept

    def _close_file(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _remove_file(self) -> None:
        with contextlib.suppress(OSError):
            if self._fd is not None and os.path.samestat(os.fstat(self._fd), self.path.lstat()):
                self.path.unlink()

    def _write(self, data: bytes) -> tuple[int, str]:
        """How many bytes are in the file, and what stopped it."""
        written = 0
        try:
            while self._fd is not None and written < len(data):
                written += os.write(self._fd, data[written:] if written else data)
        except OSError as error:
            return written, error.strerror or str(error)
        return written, ""

    def _replay(self, take: Callable[[bytes], None]) -> LogDigest:
        digest = hashlib.sha256()
        left = self.size
        with contextlib.suppress(OSError), self.path.open("rb") as file:
            while left > 0 and (block := file.read(min(BLOCK, left))):
                if self._closing:  # nobody waits for it any more
                    break
                left -= len(block)
                digest.update(block)
                take(block)
        return LogDigest(self.size - left, digest.hexdigest())

    def _hold(self) -> LogDigest | None:
        self._let_go()
        self._held = KeptLog.of(self.path)
        return None if self._held is None else self._held.digest

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.close()

    def _last_lines(self, count: int) -> tuple[str, ...]:
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, self.size - 16384))
                lines = file.read().splitlines()
        except OSError:
            return ()
        return tuple(clean_line(line, cap=400) for line in lines if line.strip())[-count:]


def _digest(path: Path) -> LogDigest | None:
    held = KeptLog.of(path)
    if held is None:
        return None
    held.close()
    return held.digest
