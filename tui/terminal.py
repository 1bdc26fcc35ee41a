"""The terminal itself."""

from __future__ import annotations

import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable
from select import select
from threading import Thread
from typing import Any

from textual import constants
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key
from textual.message import Message

ESCAPE_S = 0.025
"""So long after an Esc a terminal may take to send the rest of a longer key, which begins with one.
The environment's ESCDELAY (milliseconds) wins."""
LOOK_S = 0.1
"""Whether the console ends is looked for so often."""

if "ESCDELAY" not in os.environ:
    constants.ESCAPE_DELAY = ESCAPE_S  # type: ignore[misc]


def _drain(writer: WriterThread) -> None:
    """Whoever waits for room in its queue gets it."""
    while True:
        writer._queue.get()


ESC = "\x1b"
NEWLINE = "\n"
"""What Enter is where it was typed before the console had the terminal, which is not raw then."""
_WORD_BEFORE = f"{ESC}\x7f"  # alt+backspace
_ESCAPE = "ctrl+left_square_bracket"
"""The same key; Textual makes a "^" of an escape inside of what it cannot read."""


def _escape(message: Message) -> Message:
    is_one = isinstance(message, Key) and message.key == _ESCAPE
    return Key("escape", ESC) if is_one else message


class Typed(XTermParser):
    """Takes an Esc with another key right behind it for these two, one after the other: nothing
    here is bound to Alt, and what Esc was to leave would have the key behind it."""

    def feed(self, data: str) -> Iterable[Message]:
        return map(_escape, super().feed(data))

    def tick(self) -> Iterable[Message]:
        return map(_escape, super().tick())

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        known = sequence in ANSI_SEQUENCES_KEYS and len(sequence) == 2 and sequence != _WORD_BEFORE
        if sequence == NEWLINE:
            yield Key("enter", "\r")
        elif sequence == ESC:
            yield Key(_ESCAPE, ESC)
        elif alt or (known and sequence.startswith(ESC)):
            yield Key("escape", ESC)
            yield from super()._sequence_to_key_events(sequence[-1])
        else:
            yield from super()._sequence_to_key_events(sequence)


class Terminal(LinuxDriver):
    """Draws on standard output, which is known to be a terminal. Textual draws on standard error:
    where that goes to a file, nothing would be seen."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # Textual's own
        super().__init__(*arguments, **options)
        self._file = sys.__stdout__
        self._ours = [fd for fd in (0, 1, 2) if os.isatty(fd)]
        self._gone = False

    def write(self, data: str) -> None:
        if not self._gone:
            super().write(data)

    def stop_application_mode(self) -> None:
        """Nothing is left where the console was: of a window that has grown since, tmux would put
        the first rows of it above the shell's prompt."""
        self.write("\x1b[m\x1b[2J")
        super().stop_application_mode()

    def hang_up(self) -> None:
        """The terminal is gone. What is still said to it goes nowhere, for an error in the thread
        that writes would have everything else wait for it."""
        self._gone = True
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for fd in self._ours:
            os.dup2(null, fd)
        os.close(null)
        writer, self._writer_thread = self._writer_thread, None
        if writer is not None:
            Thread(target=_drain, args=(writer,), name="no terminal", daemon=True).start()

    def run_input_thread(self) -> None:
        """Textual's own sees ten times a second only that an Esc stands alone."""
        parser = Typed(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        going = True
        while going:
            going = not self.exit_event.is_set()  # else: what has come is not left to the shell
            begun = parser._timeout_time is not None
            if select([self.fileno], [], [], constants.ESCAPE_DELAY if begun else LOOK_S)[0]:
                typed = os.read(self.fileno, 4096)
                if not typed:  # nobody types any more
                    return
                if text := decode(typed):
                    for message in parser.feed(text):
                        self.process_message(message)
            for message in parser.tick():
                self.process_message(message)
