"""What time it is, and how waiting for hosts passes.

The calendar may be set while a campaign runs, so nothing waits by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """The time of simulated hosts. ``now``: in seconds; ``speed``: how many of them pass in one of
    ours, at most."""

    now: Callable[[], float]
    speed: float


PACE: ContextVar[Pace | None] = ContextVar("pace", default=None)
"""None: hosts have the same time as we. What waits for hosts goes by :func:`loop_time` and
:func:`sleep`; what spares this machine (journal, screen) does not."""


def loop_time() -> float:
    """Seconds on the running event loop's clock, which nobody sets and which never jumps."""
    return loop_clock()()


def loop_clock() -> Callable[[], float]:
    """The clock of :func:`loop_time`, which a thread can ask that has no event loop."""
    pace = PACE.get()
    return asyncio.get_running_loop().time if pace is None else pace.now


async def sleep(seconds: float) -> None:
    """Until so much time has passed on the hosts; on simulated ones it may be less."""
    await asyncio.sleep(ours(seconds))


def timeout(seconds: float | None) -> asyncio.Timeout:
    """:func:`asyncio.timeout` by the time of the hosts; None: never."""
    return asyncio.timeout(None if seconds is None else ours(seconds))


def ours(seconds: float) -> float:
    """How long so much time of the hosts takes here."""
    pace = PACE.get()
    return seconds if pace is None else seconds / pace.speed
