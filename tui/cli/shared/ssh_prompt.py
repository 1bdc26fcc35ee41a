"""What an SSH login asks of whoever sits at the terminal; questions never go to stdout."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from profiles.cleantext import clean_text


def terminal_prompter() -> TerminalPrompter | None:
    """Asks at the terminal; None where nobody sits at one."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        return TerminalPrompter(sys.stdin.fileno(), sys.stderr)
    return None


class TerminalPrompter:
    """A :class:`backends.transports.transport.Prompter` that asks one question at a time.

    It waits without blocking the event loop, and an interrupt ends the wait: no thread reads.

    Parameters
    ----------
    keyboard: the terminal's file descriptor. screen: where questions are written.
    """

    def __init__(self, keyboard: int, screen: TextIO) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self._turn = asyncio.Lock()
        self.before: Callable[[], object] = lambda: None
        self.after: Callable[[], object] = lambda: None

    async def secret(self, host: str, prompt: str) -> str | None:
        """What was typed, unseen; None on the end of input (ctrl+D)."""
        words = _line(prompt).removesuffix(":")
        return await self._ask(f"{_line(host)}: {words}: ", seen=False)

    async def trust_key(self, host: str, fingerprint: str, key_type: str) -> bool:
        """Whether the whole word "yes" was typed."""
        question = (
            f"{_line(host)} was never seen before. Its key: "
            f"{_line(key_type)} {_line(fingerprint)}\n"
            "Trust it from now on, and add it to known_hosts? Type yes, or no: "
        )
        return (await self._ask(question, seen=True) or "").strip().lower() == "yes"

    async def _ask(self, question: str, *, seen: bool) -> str | None:
        async with self._turn:
            if os.tcgetpgrp(self._keyboard) != os.getpgrp():
                return None  # in the background; touching the terminal would stop the process
            self.before()
            try:
                with _typed(self._keyboard, seen=seen):
                    self._screen.write(question)
                    self._screen.flush()
                    return await self._read()
            finally:
                self.after()

    async def _read(self) -> str | None:
        """One line, without its end."""
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        loop.add_reader(self._keyboard, came.set)
        try:
            await came.wait()
            data = os.read(self._keyboard, 4096)  # the terminal hands over whole lines
        finally:
            loop.remove_reader(self._keyboard)
        return data.decode("utf-8", "replace").rstrip("\r\n") if data else None


@contextmanager
def _typed(keyboard: int, *, seen: bool) -> Iterator[None]:
    """What was typed before the question is dropped; what is typed now shows or not."""
    before = termios.tcgetattr(keyboard)
    while_asking = termios.tcgetattr(keyboard)
    if not seen:
        while_asking[3] = while_asking[3] & ~termios.ECHO | termios.ECHONL
    termios.tcsetattr(keyboard, termios.TCSAFLUSH, while_asking)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _line(text: str) -> str:
    return " ".join(clean_text(text).split())
