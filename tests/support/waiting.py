"""Waiting for conditions with a deadline, in place of sleeping."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable


async def until(
    condition: Callable[[], object | Awaitable[object]], *, within_s: float = 60.0, what: str = ""
) -> None:
    """Return as soon as ``condition`` holds; AssertionError after ``within_s`` seconds."""
    deadline = time.monotonic() + within_s
    while True:
        asked = time.monotonic()
        result = condition()
        if inspect.isawaitable(result):
            result = await result
        if result:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what or condition}")
        await asyncio.sleep(_pause_s(asked))


def wait_until(condition: Callable[[], object], *, within_s: float = 60.0, what: str = "") -> None:
    """The same without an event loop."""
    deadline = time.monotonic() + within_s
    while True:
        asked = time.monotonic()
        if condition():
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what or condition}")
        time.sleep(_pause_s(asked))


def _pause_s(asked: float) -> float:
    """Asking takes a quarter of the time at most: some conditions are a squeue, or a journal."""
    return min(max(0.01, 3 * (time.monotonic() - asked)), 0.3)
