"""Login nodes and the processes on them: killed at any step, suspended, and what their disk keeps.

A process that is killed takes no further step: none of its tasks goes on, no ``finally`` runs, and
what it did not fsync may be gone.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

CLOSE = os.close  # the real one, whatever is in its place later


class Killed(BaseException):
    """Leaves a system call of a process that is no more."""


class Files:
    """What the campaigns' file system has for good. ``room``: bytes that still fit; None: all."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.room: int | None = None
        self._synced: dict[int, int] = {}  # bytes by inode

    def sync(self, fd: int) -> None:
        info = os.fstat(fd)
        self._synced[info.st_ino] = info.st_size

    def lose_unsynced(self, chance: random.Random | None) -> int:
        """A power failure: of what was not synced, each file keeps some beginning; None: nothing.

        Returns how many bytes are lost.
        """
        lost = 0
        for path in sorted(self.root.rglob("*")):
            info = path.lstat()
            if not stat.S_ISREG(info.st_mode):
                continue
            synced = min(self._synced.get(info.st_ino, 0), info.st_size)
            keep = synced
            if chance is not None:
                keep = chance.choice((synced, chance.randint(synced, info.st_size), info.st_size))
            if keep < info.st_size:
                lost += info.st_size - keep
                os.truncate(path, keep)
                os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
        return lost

    def keep(self, path: Path) -> None:
        """What a file holds now is on disk for good."""
        info = path.stat()
        self._synced[info.st_ino] = info.st_size

    def keep_all(self) -> None:
        """Everything that is there now was there long ago."""
        for path in self.root.rglob("*"):
            if path.is_file():
                self.keep(path)


class Node:
    """A login node: a name, a clock, processes."""

    def __init__(self, name: str, files: Files, chance: random.Random) -> None:
        self.name = name
        self.files = files
        self.clock_offset_s = 0.0
        self.processes: dict[int, Process] = {}
        self._pids = itertools.count(chance.randrange(1000, 2000))
        self._ticks = itertools.count(5000, 17)

    def start(self, label: str) -> Process:
        process = Process(self, next(self._pids), next(self._ticks), label)
        self.processes[process.pid] = process
        return process

    def start_ticks(self, pid: int) -> int:
        """0: there is no such process."""
        process = self.processes.get(pid)
        return process.ticks if process is not None else 0


class Process:
    """A command of ours on a login node.

    ``kill_after``: it is killed before this step. ``suspended``: as on a laptop that is
    closed; what becomes due waits in ``backlog``.
    """

    def __init__(self, node: Node, pid: int, ticks: int, label: str) -> None:
        self.node = node
        self.pid = pid
        self.ticks = ticks
        self.label = label
        self.dead = False
        self.tasks: list[asyncio.Task[Any]] = []
        self.steps = 0
        self.kill_after: int | None = None
        self.on_killed: Callable[[Process], None] = lambda process: None
        self.fds: set[int] = set()
        self.out: list[str] = []
        self.status: int | None = None
        self.on_signal: Callable[[], None] | None = None
        self.on_hang_up: Callable[[], None] | None = None
        self.controller: Any = None
        self.suspended = False
        self.backlog: list[Any] = []

    def __str__(self) -> str:
        return f"{self.label}[{self.pid}]"

    def step(self) -> None:
        self.steps += 1
        if self.kill_after is not None and self.steps > self.kill_after:
            self.kill()

    def kill(self) -> None:
        if self.dead:
            return
        self._end()
        self.on_killed(self)

    def exited(self, status: int) -> None:
        self.status = status
        self._end()

    def _end(self) -> None:
        self.dead = True
        self.node.processes.pop(self.pid, None)
        for fd in self.fds:
            CLOSE(fd)
        self.fds.clear()

    @property
    def output(self) -> str:
        return "".join(self.out)
