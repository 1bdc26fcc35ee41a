"""What is typed on a terminal, byte by byte."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from textual import constants, events
from textual.message import Message

from tui.terminal import Terminal, Typed

DEADLINE_S = 10.0


class Typing:
    """A keyboard, and the keys that the console is told of."""

    def __init__(self) -> None:
        inside, self.keyboard = os.pipe()
        self.keys: list[str] = []
        self._terminal: Any = Terminal.__new__(Terminal)  # without an application
        self._terminal.fileno = inside
        self._terminal.exit_event = threading.Event()
        self._terminal._debug = False
        self._terminal.process_message = self._take
        self.thread = threading.Thread(target=self._terminal.run_input_thread, daemon=True)
        self.thread.start()

    def _take(self, message: Message) -> None:
        if isinstance(message, events.Key):
            self.keys.append(message.key)

    def type(self, data: bytes) -> None:
        os.write(self.keyboard, data)

    def await_keys(self, count: int) -> list[str]:
        end = time.monotonic() + DEADLINE_S
        while len(self.keys) < count and time.monotonic() < end:
            time.sleep(0.001)
        return self.keys

    def end(self) -> None:
        self._terminal.exit_event.set()
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive()


@contextmanager
def typing() -> Iterator[Typing]:
    keyboard = Typing()
    try:
        yield keyboard
    finally:
        keyboard.end()
        os.close(keyboard.keyboard)
        os.close(keyboard._terminal.fileno)


def test_an_esc_that_stands_alone_is_one_before_anything_else_is_typed() -> None:
    with typing() as keyboard:
        keyboard.type(b"\x1b")
        assert keyboard.await_keys(1) == ["escape"]


def test_it_is_looked_for_no_later_than_the_rest_of_a_longer_key_may_take() -> None:
    """Not ten times a second only: this many would take that many tenths."""
    count = 40
    with typing() as keyboard:
        began = time.monotonic()
        for number in range(count):
            keyboard.type(b"\x1b")
            keyboard.await_keys(number + 1)
        took = time.monotonic() - began
    assert keyboard.keys == ["escape"] * count
    assert took < count * 0.1 + DEADLINE_S / 10  # a busy machine has a second


def test_the_rest_of_a_longer_key_may_come_later(monkeypatch: Any) -> None:
    monkeypatch.setattr(constants, "ESCAPE_DELAY", DEADLINE_S)
    with typing() as keyboard:
        keyboard.type(b"j\x1b")
        keyboard.await_keys(1)
        keyboard.type(b"[")
        keyboard.type(b"A")
        assert keyboard.await_keys(2) == ["j", "up"]


KEYS = {b"j": "j", b"1": "1", b"f": "f", b"A": "A", b"\r": "enter", b"\x1b": "escape"}
KEYS |= {b"\x1b[A": "up", b"\t": "tab", b" ": "space", b"\x1bOP": "f1"}


@given(st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=12), st.booleans())
def test_keys_in_one_go_are_those_that_were_typed_one_by_one(
    typed: list[bytes], by_byte: bool
) -> None:
    """An Esc with another key behind it is no Alt, which nothing is bound to."""
    whole = b"".join(typed)
    parser = Typed(False)
    pieces = [chr(one) for one in whole] if by_byte else [whole.decode()]
    found = [message for piece in pieces for message in parser.feed(piece)]
    if parser._timeout_time is not None:
        parser._timeout_time = 0.0
        found += parser.tick()
    assert [one.key for one in found if isinstance(one, events.Key)] == [KEYS[one] for one in typed]


def test_an_esc_and_a_key_at_once_are_both_typed() -> None:
    with typing() as keyboard:
        keyboard.type(b"\x1b\r")
        assert keyboard.await_keys(2) == ["escape", "enter"]
        keyboard.type(b"\x1b1j\r")
        assert keyboard.await_keys(6)[2:] == ["escape", "1", "j", "enter"]


def test_bytes_that_are_no_text_end_nothing() -> None:
    with typing() as keyboard:
        keyboard.type(b"\xff\xfe\xc3")
        keyboard.type(b"\xb6j")
        assert keyboard.await_keys(4)[-1] == "j"
        assert "ö" in "".join(keyboard.keys) or "o_diaeresis" in str(keyboard.keys)


def test_a_terminal_that_is_gone_ends_the_thread() -> None:
    keyboard = Typing()
    os.close(keyboard.keyboard)
    keyboard.thread.join(DEADLINE_S)
    assert not keyboard.thread.is_alive()


@given(st.lists(st.sampled_from(["\n", "\r", "a", "1", "/"]), min_size=1, max_size=12))
def test_enter_is_enter_whether_the_terminal_was_raw_when_it_was_typed(typed: list[str]) -> None:
    """Else it comes as a newline: what is typed while the program loads."""
    names = {"\n": "enter", "\r": "enter", "/": "slash"}
    with typing() as keyboard:
        keyboard.type("".join(typed).encode())
        assert keyboard.await_keys(len(typed)) == [names.get(one, one) for one in typed]
