"""The terminal, lent to another program while the console goes on working behind it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from textual.app import App

SSH_FAILED = 255
"""What ssh ends with where it could not log in."""


async def lend_terminal(app: App[Any], command: Sequence[str]) -> int:
    """Run a command in the console's place; its exit status. The event loop goes on, and nothing
    is drawn until it is the console's terminal again.

    Raises
    ------
    SuspendNotSupported: there is no terminal to lend. OSError: there is no such program.
    """
    with app.batch_update(), app.suspend(), _interrupts_are_theirs():
        process = await asyncio.create_subprocess_exec(*command)
        status = await process.wait()
    app.refresh(layout=True)
    return status


@contextmanager
def _interrupts_are_theirs() -> Iterator[None]:
    """Ctrl+C at a password prompt reaches us as well, and would end the console."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
