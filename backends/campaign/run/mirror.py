"""One host's log of one run, brought here byte for byte, and verified where it lies."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any  # tasks of several kinds

from backends.campaign.folder.kept_log import EditedInPlaceError
from backends.campaign.folder.raw_log_writer import RawLog
from backends.campaign.run.reconnect import Contact
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import (
    LogDigest,
    LogNotKeptError,
    LogShorterError,
    RemoteError,
    RunPhase,
    RunStatus,
)
from profiles.errors import DlperfError

DISK_RETRY_S = 5.0
PUT_BACK_TRIES = 60  # the disk may be full for a while
SLOW_BYTES_PER_S = 10e6
"""A log that is read and compared moves nothing meanwhile; so it may take so long."""
MENDS = 3
"""How often a log that differs is fetched again before we say that somebody keeps changing it."""


class UnsafeLogError(DlperfError):
    """The log of a run is not whole on this disk, so it may not be deleted on its host."""

    exit_code = 1


class LogMirror:
    """Follows a run's log on one host into a local file.

    Parameters
    ----------
    log: the local file; opened and closed by :meth:`open` and :meth:`close`.
    boot_id: of the boot that the run was started in; empty: not known.
    take: gets the bytes that are in the local file, in order.
    restarted: told why when the log is fetched anew, so that it is read from its first byte again.
    note: tells the operator.
    clock: seconds since the epoch.
    """

    def __init__(
        self,
        run_id: str,
        remote: RemoteHost,
        log: RawLog,
        contact: Contact,
        *,
        boot_id: str = "",
        take: Callable[[bytes], None] = lambda data: None,
        restarted: Callable[[str], None] = lambda why: None,
        note: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.remote = remote
        self.log = log
        self.contact = contact
        self.boot_id = boot_id
        self._run_id = run_id
        self._take = take
        self._restarted = restarted
        self._note = note
        self._clock = clock
        self._arrivals: deque[tuple[int, float]] = deque()  # where they end, and when they came
        self.came_at: float | None = None
        """When the newest of the bytes that were handed over came; None: before this console."""
        self.ended: RunStatus | None = None
        """What the host said of the run's end."""
        self.heard = False
        """The host has told something of the run."""
        self._unproven: LogDigest | None = None  # what an earlier console wrote
        self._told = False

    @property
    def name(self) -> str:
        return self.contact.host

    async def open(self, *, fresh: bool = False) -> None:
        """Open the file and hand over what is in it. ``fresh``: the run begins; so does its log."""
        kept = await self.log.open(self._hand_over, anew=fresh)
        if kept:
            self._note(f"something else lay at {self.log.path.name}; it is kept as {kept}")
        if self.log.size:
            self._unproven = await self.log.replay(self._take)

    @property
    def unread_since(self) -> float | None:
        """When the first of the bytes came that were not handed over yet; None: all were."""
        return self._arrivals[0][1] if self._arrivals else None

    def _hand_over(self, data: bytes) -> None:
        while self._arrivals and self._arrivals[0][0] <= self.log.size:
            _, self.came_at = self._arrivals.popleft()
        self._take(data)

    async def close(self) -> None:
        await self.log.close()

    async def follow(self, limit_s: float) -> RunStatus:
        """The run's status on the host once it has ended there and its whole log is here.

        ``limit_s``: for so long the host may be away.

        Raises
        ------
        HostUnreachableError: it was away for too long. RemoteError: it does not know the run.
        """
        while True:
            if not self.log.problem:
                status = await self.contact.persist(self._once, limit_s)
                await self._room()
                if status is not None and not self.log.problem:
                    self.ended = status
                    return status
            if self.log.problem:
                self._tell(self.log.problem)
                await asyncio.sleep(DISK_RETRY_S)
                await self._reopen()

    async def _reopen(self) -> None:
        taken = self.log.size
        await self.log.reopen()
        if not self.log.problem and self.log.size != taken:  # what was read is not what is there
            await self._anew("changed while nothing could be written")

    async def verify(self, limit_s: float) -> LogDigest | None:
        """The digest that log and local file share; None: the host has no log of this run.

        What lies on this disk is read back. Where it is not the log of the host it is kept under
        another name, and the whole log is fetched again. Only for a run that has ended.

        Raises
        ------
        UnsafeLogError: it differs however often it is fetched. Else like :meth:`follow`.
        """
        for mends in range(MENDS + 1):
            await self.log.drained()
            there = await self.contact.persist(self._digest_there, limit_s)
            here = await self.log.digest()
            if there is None or here == there:
                return here if there is not None else None
            if mends < MENDS:
                if not await self._has_grown(here, there, limit_s):
                    await self._anew("differed")
                await self.follow(limit_s)
        raise UnsafeLogError(
            "somebody keeps changing this log, or its disk loses what is written",
            where=str(self.log.path),
        )

    async def collect(self, limit_s: float) -> LogDigest | None:
        """Fetch the rest of an ended run's log and :meth:`verify` it.

        Raises TimeoutError when nothing has moved for ``limit_s``, else like :meth:`verify`.
        """
        work = asyncio.create_task(self._collect(limit_s))
        try:
            while not work.done():
                before = self.log.offset
                await asyncio.wait({work}, timeout=limit_s + self.log.size / SLOW_BYTES_PER_S)
                if not work.done() and self.log.offset == before:
                    raise TimeoutError
            return work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _collect(self, limit_s: float) -> LogDigest | None:
        if self.ended is None:
            status = await self.contact.persist(lambda: self.remote.status(self._run_id), limit_s)
            if status.phase is not RunPhase.ABSENT:
                await self.follow(limit_s)
        return await self.verify(limit_s)

    async def remove(self, kept: LogDigest | None, *, verified: bool = False) -> None:
        """Delete the run on its host, as long as the file here is the log there.

        Parameters
        ----------
        kept: what :meth:`verify` said. verified: see :meth:`RemoteHost.remove`.

        Raises
        ------
        LogNotKeptError: the file here has changed since, and nothing was removed. UnsafeLogError:
        it changed while the host removed its own, and cannot be put back. Else as
        :meth:`RemoteHost.remove` does.
        """
        if kept is None:
            await self.remote.remove(self._run_id, verified=verified)
            return
        try:
            if await self.log.hold() != kept:
                raise LogNotKeptError(f"{self.log.path.name} has changed", where=self.name)
            try:
                await self.remote.remove(self._run_id, kept, verified=verified)
            finally:  # whatever came of it: it may be removed though we were not told
                await self._put_back()
        finally:
            await self.log.let_go()

    async def _put_back(self) -> None:
        """What somebody did to the file while the host removed its own."""
        for tries in range(PUT_BACK_TRIES):
            try:
                aside = await self.log.put_back()
            except EditedInPlaceError:
                what = f"was edited while {self.name} removed its own, and is too large for a copy"
                raise UnsafeLogError(what, where=str(self.log.path)) from None
            except OSError as error:
                problem = error.strerror or str(error)
                if tries == 0:
                    self._note(f"cannot put back {self.log.path.name}: {problem}")
            else:
                if aside is not None:
                    rest = f"; what lay here is kept as {aside}" if aside else ""
                    what = f"{self.log.path.name} changed while {self.name} removed its own"
                    self._note(f"{what}: it is put back{rest}")
                return
            await asyncio.sleep(DISK_RETRY_S)
        raise UnsafeLogError(f"cannot be put back: {problem}", where=str(self.log.path))

    async def _has_grown(self, here: LogDigest | None, there: LogDigest, limit_s: float) -> bool:
        """Whether all that is here is how the log there begins: what the run left behind writes."""
        if here is None or here.size != self.log.size or here.size >= there.size:
            return False
        begins = await self.contact.persist(
            lambda: self.remote.digest(self._run_id, here.size), limit_s
        )
        return begins == here

    async def _digest_there(self) -> LogDigest | None:
        return await self.remote.digest(self._run_id, about=self.log.size)

    async def _once(self) -> RunStatus | None:
        """One connection's worth; None when it has to be followed once more."""
        if self.contact.lost:
            await self.remote.status(self._run_id)  # a silent log would not tell that it is back
            self.contact.is_back()
        if self._unproven is not None:
            await self._prove(self._unproven)
            self._unproven, self.heard = None, True
        stopped = asyncio.Event()
        self._arrivals.clear()

        def take(data: bytes) -> None:
            self.heard = True
            self.log.append(data)
            self._arrivals.append((self.log.offset, self._clock()))
            if self.log.problem or self.log.crowded:
                stopped.set()

        following = asyncio.create_task(self.remote.follow(self._run_id, self.log.offset, take))
        full = asyncio.create_task(stopped.wait())
        try:
            await self._first_of({following, full})
            return None if full.done() else await self._end_of(following)
        finally:
            for task in (following, full):
                task.cancel()
            await asyncio.gather(following, full, return_exceptions=True)
            await self.log.settle()  # whatever ended it: what came is read before that is told

    async def _first_of(self, tasks: set[asyncio.Task[Any]]) -> None:
        """Until one of them is done; says so when the disk does not answer meanwhile."""
        done: set[asyncio.Task[Any]] = set()
        while not done:
            done, _ = await asyncio.wait(
                tasks, timeout=DISK_RETRY_S, return_when=asyncio.FIRST_COMPLETED
            )
            if not done and self.log.held_up:
                self._tell("the disk does not answer")

    async def _end_of(self, following: asyncio.Task[RunStatus]) -> RunStatus | None:
        try:
            return following.result()
        except LogShorterError:
            await self._anew("is longer than the log there")
            return None
        except RemoteError:
            # A reboot that also emptied the work directory looks like a run that never was.
            status = await self.remote.status(self._run_id)
            if status.phase is not RunPhase.ABSENT:
                raise
            if self.boot_id not in ("", status.boot_id):
                return replace(status, phase=RunPhase.LOST, same_boot=False)
            return status

    async def _room(self) -> None:
        """Until the local disk has taken what came; says so when that takes long."""
        while not self.log.problem:
            try:
                async with asyncio.timeout(DISK_RETRY_S):
                    await self.log.drained()
            except TimeoutError:
                self._tell("the disk does not answer")
            else:
                self._told = False
                return

    async def _prove(self, held: LogDigest) -> None:
        """See that what an earlier console left here is how the host's log begins."""
        try:
            there = await self.remote.digest(self._run_id, held.size)
        except LogShorterError:
            await self._anew("is longer than the log there")
            return
        if there is not None and there.sha256 not in ("", held.sha256):
            await self._anew("is not how the log there begins")

    async def _anew(self, why: str) -> None:
        kept = await self.log.restart()
        rest = f"; what lay here is kept as {kept}" if kept else ""
        what = f"{self.log.path.name} {why}: the log on {self.name} is fetched again{rest}"
        self._note(what)
        self._restarted(what)

    def _tell(self, problem: str) -> None:
        if not self._told:
            self._told = True
            self._note(
                f"cannot write {self.log.path.name}: {problem};"
                " the run goes on, its log is fetched when there is room"
            )
