"""Requests to whoever is at work on a campaign, as files: no port, and it works on NFS.

``spool/requests`` takes them, written under another name and renamed; ``spool/taken`` has the one
that is being done; ``spool/answers`` has one answer to each. Taking one is a rename, and so is
taking it back: of the two exactly one happens. Whoever asks is the owner of the file, whatever is
in it. A group that may read the campaign may put files into ``requests``; only the campaign's owner
can put one into the other two, so that nobody can forge an answer.

All here is blocking. Whatever lies in ``requests`` may have been put there to do harm.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from backends.campaign.folder.paths import REQUESTS, SPOOL, TAKEN
from backends.campaign.folder.regular_file import open_to_read
from backends.file_modes import Share, share_of
from backends.keeper.request import (
    MOST_BYTES,
    Answer,
    Request,
    answer_from_json,
    answer_to_json,
    is_id,
    new_id,
    request_from_json,
    request_to_json,
)
from profiles.errors import DlperfError

ANSWERS = f"{SPOOL}/answers"
DRAFT_S = 600.0
"""A draft that is older, and whatever else is no request, was left behind."""
GOOD_FOR_S = 3600.0
"""Who asks waits for minutes; what lay there for longer, nobody wants any more. So with answers."""
SWEEP_EVERY_S = 60.0
_SUFFIX = ".json"
_GROUP_MAY_PUT = stat.S_ISGID | stat.S_ISVTX | 0o770


@dataclass(frozen=True, slots=True)
class Taken:
    """A request that was taken. ``uid``: who asks. ``problem``: why it is none; then there is no
    ``request``."""

    id: str
    uid: int
    request: Request | None
    problem: str = ""


class Spool:
    """One campaign's. ``clock``: seconds since the epoch.

    Of threads that take or reply at once, as where a task was cancelled while its own did, one does
    at a time.
    """

    def __init__(self, campaign: Path, clock: Callable[[], float] = time.time) -> None:
        self._campaign = campaign
        self._clock = clock
        self._requests = campaign / REQUESTS
        self._taken = campaign / TAKEN
        self._answers = campaign / ANSWERS
        self._turn = threading.Lock()
        self._swept_at = -math.inf

    def make(self) -> None:
        """As the campaign's owner, what is missing of it; the campaign's mode says who may ask.

        Raises OSError; FileExistsError where something else is in its place.
        """
        shared = share_of(self._campaign) is Share.GROUP
        mode = Share.GROUP.directory_mode if shared else Share.PRIVATE.directory_mode
        for path in (self._requests.parent, self._requests, self._taken, self._answers):
            info = _made(path)
            wanted = mode | info.st_mode & stat.S_ISGID
            if shared and path == self._requests:
                wanted = _GROUP_MAY_PUT
            if stat.S_IMODE(info.st_mode) != wanted:
                if shared and info.st_gid != (gid := self._campaign.stat().st_gid):
                    os.chown(path, -1, gid, follow_symlinks=False)
                path.chmod(wanted)

    def is_there(self) -> bool:
        """Whether anything was ever asked of anybody."""
        return self._answers.is_dir()

    # Who asks ------------------------------------------------------------------------------------

    def put(self, request: Request) -> None:
        """Ask. Raises DlperfError where it cannot be written."""
        draft = self._requests / f".{new_id()}.draft"  # which does not tell what it will be named
        try:
            if self._campaign.stat().st_uid == os.getuid():
                self.make()
            _write(draft, request_to_json(request), share_of(self._campaign).file_mode)
            os.utime(draft, (self._clock(), self._clock()))
            draft.rename(self._requests / f"{request.id}{_SUFFIX}")
        except OSError as error:
            raise DlperfError(
                f"cannot ask for anything: {error.strerror}",
                where=str(self._requests),
                remedy='only its owner may, and with share = "group" the group; or the disk is '
                "full",
            ) from error

    def take_back(self, request_id: str) -> bool:
        """Whether it was not taken yet, and now never will be."""
        try:
            (self._requests / f"{request_id}{_SUFFIX}").unlink()
        except OSError:
            return False
        return True

    def answer(self, request_id: str) -> Answer | None:
        """The answer, once there is one; what is no answer of the campaign's owner is none."""
        data, info = _read(self._answers / f"{request_id}{_SUFFIX}")
        if info is None or info.st_uid != self._campaign.stat().st_uid:
            return None
        try:
            answer = answer_from_json(data)
        except ValueError:
            return None
        return answer if answer.id == request_id else None

    # Who answers ---------------------------------------------------------------------------------

    def take(self) -> Taken | None:
        """The next request, or one that was taken by somebody who was killed; None: there is none.

        It stays taken until it is answered.
        """
        with self._turn:
            if left := _ids(self._taken):
                return self._look(left[0])
            self._sweep()
            for request_id in _ids(self._requests):
                name = f"{request_id}{_SUFFIX}"
                with contextlib.suppress(OSError):  # it was taken back, or is no file of any use
                    (self._requests / name).rename(self._taken / name)
                    return self._look(request_id)
            return None

    def reply(self, answer: Answer) -> None:
        """Answer what was taken. A second answer to the same request changes nothing.

        Raises OSError.
        """
        final = self._answers / f"{answer.id}{_SUFFIX}"
        draft = self._answers / f".{answer.id}.draft"
        with self._turn:
            if not os.path.lexists(final):
                draft.unlink(missing_ok=True)  # of who was killed while writing it
                _write(draft, answer_to_json(answer), share_of(self._answers).file_mode)
                os.utime(draft, (self._clock(), self._clock()))
                draft.rename(final)
            done = self._taken / f"{answer.id}{_SUFFIX}"
            _remove(done)
            if os.path.lexists(done):  # a directory with something in it; perhaps not the first
                done.rename(self._taken / f".{new_id()}.kept")

    def _look(self, request_id: str) -> Taken:
        path = self._taken / f"{request_id}{_SUFFIX}"
        info = path.lstat()
        try:
            request = request_from_json(self._content(path, info))
        except ValueError as error:
            return Taken(request_id, info.st_uid, None, str(error))
        if request.id != request_id:
            return Taken(request_id, info.st_uid, None, "it is the copy of another one")
        return Taken(request_id, info.st_uid, request)

    def _content(self, path: Path, info: os.stat_result) -> bytes:
        """Raises ValueError where it is no file that somebody put there as a request."""
        if not stat.S_ISREG(info.st_mode):
            raise ValueError("it is no file")
        if info.st_nlink != 1:  # a link to what somebody else wrote
            raise ValueError("it has another name elsewhere")
        if info.st_size > MOST_BYTES:
            raise ValueError("it is too long")
        data, opened = _read(path)
        if opened is None or (opened.st_ino, opened.st_nlink) != (info.st_ino, 1):
            raise ValueError("it cannot be read")
        if self._clock() - opened.st_mtime > GOOD_FOR_S:
            raise ValueError("nobody was there for too long; ask again")
        return data

    def _sweep(self) -> None:
        """What is in ``requests`` and is no request: drafts of who was killed, and rubbish; and
        answers that nobody waits for any more."""
        now = self._clock()
        if abs(now - self._swept_at) < SWEEP_EVERY_S:
            return
        self._swept_at = now
        for path, age in _ages(self._requests, now):
            if abs(age) > DRAFT_S and not _id_of(path.name):
                _remove(path)
        for path, age in _ages(self._answers, now):
            if age > GOOD_FOR_S:
                _remove(path)


def _made(directory: Path) -> os.stat_result:
    """Of a directory, which is made where there is none. It is looked at twice a second: no more
    than that where it is there. Raises OSError."""
    try:
        info = directory.lstat()
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            directory.mkdir(0o700)
        info = directory.lstat()
    if not stat.S_ISDIR(info.st_mode):
        raise FileExistsError(17, "no directory", str(directory))
    return info


def _ids(directory: Path) -> list[str]:
    """Of the requests in it, the oldest first; of a directory that is away: none."""
    found = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if request_id := _id_of(entry.name):
                with contextlib.suppress(OSError):
                    asked_at = entry.stat(follow_symlinks=False).st_mtime
                    found.append((asked_at, request_id))
    return [request_id for _, request_id in sorted(found)]


def _ages(directory: Path, now: float) -> list[tuple[Path, float]]:
    """Of all that is in it, in seconds; of a directory that is away: none."""
    found = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                age = now - entry.stat(follow_symlinks=False).st_mtime
                found.append((Path(entry.path), age))
    return found


def _id_of(name: str) -> str:
    stem = name.removesuffix(_SUFFIX)
    return stem if name.endswith(_SUFFIX) and is_id(stem) else ""


def _write(path: Path, data: bytes, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(fd, mode)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def _read(path: Path) -> tuple[bytes, os.stat_result | None]:
    """At most :data:`MOST_BYTES` of a regular file, and what was opened; None: nothing was."""
    fd = open_to_read(path)
    if fd is None:
        return b"", None
    try:
        info = os.fstat(fd)
        if info.st_size > MOST_BYTES:
            return b"", None
        return os.read(fd, MOST_BYTES), info
    except OSError:
        return b"", None
    finally:
        os.close(fd)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            path.rmdir()
        else:
            path.unlink()
