"""Looking at real processes, and ending those that a test started."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(") ")[2]
    except OSError:
        return False
    return fields.split()[0] not in ("Z", "X")


def all_gone(pids: Iterable[int]) -> bool:
    return not any(alive(pid) for pid in pids)


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """End one process that the test started, by its id."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def children(pid: int) -> list[int]:
    """The processes that ``pid`` has started itself and that still are."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
