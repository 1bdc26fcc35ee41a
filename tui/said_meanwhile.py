"""A line on a terminal while something is done that takes a second or more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_CUT, _WRAP, _ERASE_LINE = "\x1b[?7l", "\x1b[?7h", "\x1b[K"
"""A line that is too long is cut by the terminal, goes on in the next one; DEC's private modes."""


@contextmanager
def said_meanwhile(text: str) -> Iterator[None]:
    """A line on a terminal while something is done, of which nothing stays. On stdout, which is the
    terminal for who calls this: what a console hears of stderr, where it lends its terminal, is
    what went wrong."""
    print(f"{_ERASE_LINE}{_CUT}{text}{_WRAP}\r", end="", flush=True)
    try:
        yield
    finally:
        print(_ERASE_LINE, end="", flush=True)
