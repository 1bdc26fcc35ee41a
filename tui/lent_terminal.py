"""The terminal, lent to another program while the console goes on working behind it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from textual.app import App, SuspendNotSupported
from textual.screen import Screen

from profiles.cleantext import clean_text
from tui.messages import Said
from tui.said_meanwhile import said_meanwhile
from tui.typed_ahead import typed_ahead

SSH_FAILED = 255
"""What ssh ends with where it could not log in, or lost the connection."""
LEADS_BACK = "DLPERF_TUI_LEADS_BACK"
"""In the environment of a console that was opened from another one."""
MOST_SAID = 600
"""Bytes."""
_STDOUT = 1
LFLAG = 3
"""Of what :func:`termios.tcgetattr` gives."""


async def lend_terminal(
    app: App[Any],
    command: Sequence[str],
    *,
    overhear: bool = True,
    leads_back: bool = False,
    says: str = "",
) -> tuple[int, str]:
    """Run a command in the console's place; its exit status, and what it last said on stderr,
    which the console covers when it is back. The event loop goes on, and nothing is drawn until it
    is the console's terminal again.

    ``overhear``: False leaves stderr the terminal, as a shell needs it that is to show its prompt.
    ``leads_back``: it is a console, whose end is said to lead back to this one, which alone says
    what that wrote on stderr. ``says``: a line above what the command writes, or until a console
    has something to show.

    Raises
    ------
    SuspendNotSupported: there is no terminal to lend. OSError: there is no such program.
    """
    with (
        app.batch_update(),
        app.suspend(),
        keys_unseen(sys.stdin.fileno()) if leads_back else contextlib.nullcontext(),
        said_meanwhile(says) if leads_back and says else contextlib.nullcontext(),
        _interrupts_are_theirs(),
        _Overheard(passed_on=not leads_back) as overheard,
    ):
        if says and not leads_back:
            os.write(_STDOUT, f"{says}\n".encode())
        stderr = overheard.stderr if overhear else None
        env = os.environ | {LEADS_BACK: "1"} if leads_back else None
        process = await asyncio.create_subprocess_exec(*command, stderr=stderr, env=env)
        status = await process.wait()
    app.refresh(layout=True)
    return status, overheard.last_lines()


async def lend_from(
    screen: Screen[Any],
    command: Sequence[str],
    *,
    overhear: bool = True,
    leads_back: bool = False,
    says: str = "",
) -> tuple[int, str] | None:
    """As :func:`lend_terminal`, on behalf of a screen, which is told why where it was not done:
    None."""
    try:
        with typed_ahead(screen).lent():
            return await lend_terminal(
                screen.app, command, overhear=overhear, leads_back=leads_back, says=says
            )
    except SuspendNotSupported:
        screen.post_message(Said(f"this terminal cannot be lent; type: {shlex.join(command)}"))
    except OSError as error:
        screen.post_message(Said(f"{shlex.join(command)}: {error.strerror}"))
    return None


class _Overheard:
    """A stderr that is kept and, where it is ``passed_on``, goes on to the terminal. Whoever holds
    it open for longer than the command, as ssh's shared connections do, is not waited for."""

    def __init__(self, *, passed_on: bool) -> None:
        self._passed_on = passed_on

    def __enter__(self) -> Self:
        self._from, self.stderr = os.pipe()
        os.set_blocking(self._from, False)
        self._said = bytearray()
        asyncio.get_running_loop().add_reader(self._from, self._take)
        return self

    def _take(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._from, 4096):
                if self._passed_on:
                    os.write(_STDOUT, data)
                self._said = (self._said + data)[-MOST_SAID:]

    def __exit__(self, *_: object) -> None:
        os.close(self.stderr)
        asyncio.get_running_loop().remove_reader(self._from)
        self._take()
        os.close(self._from)

    def last_lines(self) -> str:
        lines = self._said.decode("utf-8", "replace").splitlines()
        return " ".join(clean_text(line).strip() for line in lines if line.strip())


@contextmanager
def keys_unseen(terminal: int) -> Iterator[None]:
    """What is typed before another console has the terminal, a file descriptor, is not written over
    it, and ctrl+C does not break its beginning."""
    try:
        before = termios.tcgetattr(terminal)
    except termios.error:  # it is none
        yield
        return
    quiet = termios.tcgetattr(terminal)
    quiet[LFLAG] &= ~(termios.ECHO | termios.ISIG)
    termios.tcsetattr(terminal, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextmanager
def _interrupts_are_theirs() -> Iterator[None]:
    """Ctrl+C at a password prompt reaches us as well, and would end the console."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
