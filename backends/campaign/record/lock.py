"""One writer per campaign: a lock file that works on NFS and says who holds it.

The lock is created with ``link(2)``, which is atomic on NFS; its holder renews the heartbeat. A
lock whose process is gone from this machine is taken over at once; one of another machine whose
heartbeat is old only when the operator says so. A heartbeat of the future, by a clock that is ahead
or by ours that was set back, says nothing: whether another comes is watched (:meth:`silent`).
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import json
import os
import socket
import stat
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from backends.file_modes import make_file
from profiles.errors import DlperfError

FILE_NAME = "writer.lock"
HEARTBEAT_S = 5.0
STALE_AFTER_S = 30.0
HAND_OVER_S = 150.0
"""On another machine: a keeper has begun by then, or failed to."""
_MOST_BYTES = 4096
_MOST_TIME = 1 << 40
"""Seconds since the epoch, which any calendar can name."""
_OF_THE_FUTURE = ", its last sign is ahead of this machine's clock"


class Role(StrEnum):
    """What the writer is."""

    CONSOLE = "console"
    COMMAND = "command"  # dlperf-tui run, resume …
    KEEPER = "keeper"
    HANDOVER = "handover"  # it has let go, and a keeper is about to begin
    REPLAY = "replay"  # of what another wrote


@dataclass(frozen=True, slots=True)
class Holder:
    """Who writes a campaign. ``start_ticks``: field 22 of proc(5)'s stat, tells a reused pid.
    ``since``: seconds since the epoch by the clock of its machine, also where the campaign's own is
    that of simulated hosts; 0: an older version does not say."""

    user: str
    host: str
    pid: int
    start_ticks: int
    nonce: str
    role: str = Role.CONSOLE
    since: float = 0.0

    def __str__(self) -> str:
        whose = "the keeper of " if self.role == Role.KEEPER else ""
        return f"{whose}{self.user} on {self.host} (pid {self.pid})"


class CampaignLockedError(DlperfError):
    """Another console writes this campaign; ``stale``: it may be taken over after a question."""

    def __init__(self, directory: Path, holder: Holder | None, age_s: float, stale: bool) -> None:
        self.holder = holder
        self.stale = stale
        if stale:
            remedy = "if that console is gone, take it over with --take-over"
        elif holder is not None and holder.role == Role.KEEPER:
            remedy = (
                "it goes on with it: follow it with 'dlperf-tui status --watch', or in a console"
            )
        elif holder is not None and holder.role == Role.COMMAND:
            remedy = "follow it with 'dlperf-tui status --watch', or end that command"
        else:
            remedy = "follow it read-only with 'dlperf-tui status', or quit the other console"
        sign = f", last sign {age_s:.0f} s ago" if age_s > -STALE_AFTER_S else _OF_THE_FUTURE
        sign = "" if _simulated(directory) else sign
        super().__init__(
            f"{holder or 'another console'} writes the campaign{sign}",
            where=str(directory),
            remedy=remedy,
        )


def _simulated(directory: Path) -> bool:
    """Signs are given in simulated time, whose distance from any other clock says nothing."""
    from backends.campaign.record import journal  # noqa: PLC0415 (where one is refused)

    with contextlib.suppress(OSError, DlperfError):
        begun = journal.beginning(directory / journal.FILE_NAME)
        return begun is not None and begun.simulated
    return False


def _start_ticks(pid: int) -> int:
    """When the process was started, in clock ticks since boot; 0: there is none that could write
    any more. A zombie cannot: it only waits for its parent to ask how it ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    state, *fields = stat.rpartition(")")[2].split()
    return 0 if state in ("Z", "X", "x") else int(fields[18])


def _write(draft: Path, holder: Holder) -> None:
    make_file(draft)
    draft.write_text(json.dumps(asdict(holder)), encoding="utf-8")


def _read_holder(path: Path) -> Holder | None:
    """Whoever wrote it: no link is followed, no pipe waited for, nothing long read. None: it names
    nobody. Raises OSError."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return None
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        told = json.loads(os.read(fd, _MOST_BYTES)) if stat.S_ISREG(os.fstat(fd).st_mode) else {}
        holder = Holder(**told)
        # Words raise TypeError where one is no text, and ValueError where it cannot be shown.
        "".join((holder.user, holder.host, holder.nonce, holder.role)).encode()
    except (ValueError, TypeError, RecursionError):
        return None
    finally:
        os.close(fd)
    if type(holder.pid) is not int or type(holder.start_ticks) is not int:
        return None
    known = type(holder.since) in (int, float) and 0 <= holder.since < _MOST_TIME
    return holder if known else None


class CampaignLock:
    """Held from :meth:`acquire` to :meth:`release`; :meth:`renew` every :data:`HEARTBEAT_S`."""

    def __init__(
        self,
        directory: Path,
        clock: Callable[[], float] = time.time,
        role: Role = Role.CONSOLE,
    ) -> None:
        self.directory = directory
        self.path = directory / FILE_NAME
        self._handover = directory / f".{FILE_NAME}.handover"
        self._clock = clock
        self._me = Holder(
            user=getpass.getuser(),
            host=socket.gethostname(),
            pid=os.getpid(),
            start_ticks=_start_ticks(os.getpid()),
            nonce=uuid.uuid4().hex,
            role=role,
            since=float(int(time.time())),  # nobody reads more, and the file is always as long
        )

    @property
    def me(self) -> Holder:
        """What it says of us while we hold it."""
        return self._me

    def holder(self) -> tuple[Holder | None, float] | None:
        """The present holder and the age of its last sign in seconds; None when it is free."""
        try:
            age = self._clock() - self.path.lstat().st_mtime
        except FileNotFoundError:
            return None
        try:
            return _read_holder(self.path), age
        except FileNotFoundError:
            return None
        except PermissionError:  # of a campaign that was readable for all: new files are not
            return None, age

    async def silent(self) -> float | None:
        """The last sign of a holder, where that is of the future and no other comes while one
        should; None where its age tells, or where it gave another."""
        before = self._last_sign()
        if before is None or self._clock() - before > -STALE_AFTER_S:
            return None
        await asyncio.sleep(STALE_AFTER_S)
        return before if self._last_sign() == before else None

    def _last_sign(self) -> float | None:
        try:
            return self.path.stat().st_mtime
        except OSError:
            return None

    def acquire(self, *, take_over: bool = False, silent: float | None = None) -> None:
        """Become the writer.

        ``take_over``: the operator has agreed to end the claim of a console that gives no sign.
        ``silent``: what :meth:`silent` has seen.

        Raises
        ------
        CampaignLockedError: somebody else is the writer.
        """
        draft = self.directory / f".{FILE_NAME}.{self._me.nonce}"
        try:
            _write(draft, self._me)
        except OSError as error:
            raise DlperfError(
                f"cannot write: {error.strerror}",
                where=str(self.directory),
                remedy="check permissions and free space, or open it read-only",
            ) from error
        try:
            for _ in range(10):
                os.utime(draft, (self._clock(), self._clock()))
                with contextlib.suppress(FileExistsError):
                    os.link(draft, self.path)
                    self._remove_abandoned(draft)
                    return
                found = self.holder()
                if found is None:
                    continue  # released in between
                holder, age = found
                gone = holder is not None and self._gone(holder)
                stale = (
                    gone
                    or age > STALE_AFTER_S
                    or (silent is not None and self._last_sign() == silent)
                )
                if not (gone or (stale and take_over)):
                    may_be = age < -STALE_AFTER_S and not take_over  # then it would be watched
                    raise CampaignLockedError(self.directory, holder, age, stale or may_be)
                self._evict(holder)
            raise CampaignLockedError(self.directory, None, 0.0, stale=False)
        finally:
            draft.unlink(missing_ok=True)

    def _remove_abandoned(self, mine: Path) -> None:
        """Drafts whose process was killed while it wanted to become the writer."""
        for draft in self.directory.glob(f".{FILE_NAME}.*"):
            with contextlib.suppress(OSError):
                if draft != mine and self._clock() - draft.stat().st_mtime > STALE_AFTER_S:
                    draft.unlink()

    def living(self) -> Holder | None:
        """Who is at work on it and gives signs of it, or is about to hand it over to a keeper;
        None: nobody does. A holder that cannot be read is one without a name."""
        found = self.holder()
        if found is None or found[1] > STALE_AFTER_S:
            return self._handed_over_by()
        holder = found[0]
        if holder is None:
            return Holder("somebody", "another machine", 0, 0, "")
        return self._handed_over_by() if self._gone(holder) else holder

    def _handed_over_by(self) -> Holder | None:
        try:
            old = time.time() - self._handover.lstat().st_mtime > HAND_OVER_S
            holder = None if old else _read_holder(self._handover)
        except OSError:
            return None
        return None if holder is None or self._gone(holder) else holder

    @contextlib.contextmanager
    def handing_over(self) -> Iterator[None]:
        """Meanwhile :meth:`living` tells whoever looks that a keeper is about to begin."""
        draft = self.directory / f".{FILE_NAME}.{self._me.nonce}"
        with contextlib.suppress(OSError):  # nobody is told, and it is handed over all the same
            _write(draft, replace(self._me, role=Role.HANDOVER))
            draft.rename(self._handover)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                self._handover.unlink(missing_ok=True)

    def _gone(self, holder: Holder) -> bool:
        return holder.host == self._me.host and _start_ticks(holder.pid) != holder.start_ticks

    def _evict(self, seen: Holder | None) -> None:
        """Remove the lock that was seen, and no newer one: rename is atomic, look, put back."""
        aside = self.directory / f".{FILE_NAME}.stale-{self._me.nonce}"
        try:
            self.path.rename(aside)
        except FileNotFoundError:
            return
        try:
            moved = _read_holder(aside)
        except PermissionError:  # as holder() has it
            moved = None
        if moved != seen:
            with contextlib.suppress(FileExistsError):
                os.link(aside, self.path)
        with contextlib.suppress(IsADirectoryError, PermissionError):  # it may stay: it is no lock
            aside.unlink(missing_ok=True)

    def owned(self) -> bool:
        """Whether the lock is ours. A file system that cannot be read now says nothing: True."""
        try:
            found = self.holder()
        except OSError:
            return True
        return found is not None and found[0] == self._me

    def renew(self) -> bool:
        """Give a sign of life; False when the lock is no longer ours and writing must stop."""
        if not self.owned():
            return False
        now = self._clock()
        with contextlib.suppress(OSError):
            os.utime(self.path, (now, now))
        return True

    def release(self) -> None:
        with contextlib.suppress(OSError):
            found = self.holder()
            if found is not None and found[0] == self._me:
                self.path.unlink(missing_ok=True)
