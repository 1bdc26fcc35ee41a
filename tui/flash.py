"""A line that is there for a moment: why a key does nothing, for as long as that is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App

from tui.messages import take_back
from tui.typed_ahead import TypedAhead

SHOWN_S = 3.0
LOOK_S = 0.2


class Flash:
    """``why``: of a key, why it does nothing now; empty where nothing can be said."""

    def __init__(self, app: App[Any], typed: TypedAhead, why: Callable[[str], str]) -> None:
        self._app = app
        self._typed = typed
        self._why = why
        self.words, self._pressed = "", ""  # that are there, if any
        self._number = 0  # of the key that it was said to

    def say(self, words: str, pressed: str = "") -> None:
        """Not twice. ``pressed``: for as long as it is why that key does nothing."""
        if not words:
            return
        self.words, self._pressed, self._number = words, pressed, self._typed.number
        if all(one.message != words for one in self._app._notifications):
            self._app.notify(words, timeout=SHOWN_S, markup=False)

    def look(self) -> None:
        """The next key takes it away, and so does what makes it untrue."""
        if not self.words or not self._app.screen_stack:
            return
        untrue = self._pressed and self._why(self._pressed) != self.words
        if untrue or self._typed.number != self._number:
            self.end()

    def end(self) -> None:
        if self.words:
            take_back(self._app._notifications, self.words)
            self.words = ""
            self._app._refresh_notifications()
