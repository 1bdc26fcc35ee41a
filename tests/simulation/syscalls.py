"""What the program asks of its system, as long as a simulation runs: each call is a step at which
its process may be killed, and answers what the simulated login node would."""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import io
import os
import random
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from backends.campaign.record import lock
from tests.simulation.login import CLOSE, Files, Killed, Process
from tests.simulation.loop import OWNER, VirtualLoop

_REAL = {
    name: getattr(os, name)
    for name in (
        *("open", "write", "fsync", "fdatasync", "ftruncate", "truncate", "link", "rename"),
        *("replace", "unlink", "mkdir", "rmdir", "getpid", "urandom"),
    )
}
_IO_OPEN = io.open


def _process() -> Process | None:
    owner = OWNER.get()
    return owner if isinstance(owner, Process) else None


def _step() -> Process | None:
    """One step of the calling process, which may be its last."""
    process = _process()
    if process is not None:
        if not process.dead:
            process.step()
        if process.dead:
            raise Killed
    return process


def _stepping(name: str) -> Callable[..., Any]:
    real = _REAL[name]

    def call(*args: Any, **more: Any) -> Any:
        _step()
        return real(*args, **more)

    return call


def _open(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
    process = _step()
    fd: int = _REAL["open"](path, flags, mode, **more)
    if process is not None:
        process.fds.add(fd)
    return fd


def _close(fd: int) -> None:
    process = _process()
    if process is None:
        CLOSE(fd)
    elif not process.dead:  # else its descriptors were closed with it
        process.fds.discard(fd)
        CLOSE(fd)


class _Calls:
    """Calls that depend on the state of the world."""

    def __init__(self, files: Files, chance: random.Random) -> None:
        self._files = files
        self._chance = chance

    def write(self, fd: int, data: Any) -> int:
        process = _process()
        if process is None or fd not in process.fds:
            return int(_REAL["write"](fd, data))
        if process.dead:
            raise Killed
        if process.kill_after is not None and process.steps >= process.kill_after:
            _REAL["write"](fd, bytes(data)[: self._chance.randint(0, len(data))])  # a torn write
        process.step()
        if process.dead:
            raise Killed
        room = self._files.room
        if room is None:
            return int(_REAL["write"](fd, data))
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written: int = _REAL["write"](fd, bytes(data)[:room])
        self._files.room = room - written
        return written

    def fsync(self, fd: int) -> None:
        _step()
        self._files.sync(fd)

    def io_open(self, file: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        owner = _process()
        if isinstance(file, int) and owner is not None and more.get("closefd", True):
            owner.fds.discard(file)  # the file object closes it
        if any(letter in mode for letter in "wax+"):
            process = _step()
            full = self._files.room is not None and self._files.room <= 0
            if process is not None and full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return _IO_OPEN(file, mode, *args, **more)

    def urandom(self, size: int) -> bytes:
        return self._chance.randbytes(size)


class _Output(io.TextIOBase):
    """stdout or stderr of whichever process writes."""

    encoding = "utf-8"

    def __init__(self, real: Any) -> None:
        self._real = real

    def write(self, text: str) -> int:
        process = _process()
        if process is None:
            self._real.write(text)
        elif not process.dead:
            process.out.append(text)
        return len(text)

    def flush(self) -> None:
        if _process() is None:
            self._real.flush()

    def isatty(self) -> bool:
        return False


class _Input(io.StringIO):
    def isatty(self) -> bool:
        return False


def _getpid() -> int:
    process = _process()
    return process.pid if process is not None else int(_REAL["getpid"]())


def _hostname() -> str:
    process = _process()
    return process.node.name if process is not None else "outside"


def _start_ticks(pid: int) -> int:
    process = _process()
    return process.node.start_ticks(pid) if process is not None else 0


@contextlib.contextmanager
def simulated(loop: VirtualLoop, files: Files, chance: random.Random) -> Iterator[None]:
    """As long as this lasts, the program lives in the simulation."""
    calls = _Calls(files, chance)

    def submit(self: Any, work: Callable[..., Any], /, *args: Any, **more: Any) -> Any:
        return loop.submit(self, lambda: work(*args, **more))

    def shutdown(self: Any, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if wait:
            loop.finish(self)

    executor = concurrent.futures.ThreadPoolExecutor
    with contextlib.ExitStack() as stack:

        def put(target: Any, name: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(target, name, value))

        for name in ("ftruncate", "truncate", "link", "rename", "replace", "unlink"):
            put(os, name, _stepping(name))
        for name in ("mkdir", "rmdir"):
            put(os, name, _stepping(name))
        put(os, "open", _open)
        put(os, "close", _close)
        put(os, "write", calls.write)
        put(os, "fsync", calls.fsync)
        put(os, "fdatasync", calls.fsync)
        put(os, "getpid", _getpid)
        put(os, "urandom", calls.urandom)
        put(random, "_urandom", calls.urandom)
        put(io, "open", calls.io_open)
        put(socket, "gethostname", _hostname)
        put(lock, "_start_ticks", _start_ticks)
        put(executor, "submit", submit)
        put(executor, "shutdown", shutdown)
        put(sys, "stdout", _Output(sys.stdout))
        put(sys, "stderr", _Output(sys.stderr))
        put(sys, "stdin", _Input())
        put(signal, "signal", lambda *_: None)
        loop.use()
        try:
            yield
        finally:
            loop.leave()
