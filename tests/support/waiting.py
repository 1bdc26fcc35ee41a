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
        result = condition()
        if inspect.isawaitable(result):
            result = await result
        if result:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what or condition}")
        await asyncio.sleep(0.01)


def wait_until(condition: Callable[[], object], *, within_s: float = 60.0, what: str = "") -> None:
    """The same without an event loop."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what or condition}")
        time.sleep(0.01)
