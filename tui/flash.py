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
        self._screen: object = None  # in front then

    def say(self, words: str, pressed: str = "") -> None:
        """Not twice. ``pressed``: for as long as it is why that key does nothing."""
        if not words:
            return
        self.words, self._pressed, self._number = words, pressed, self._typed.number
        self._screen = self._app.screen
        if all(one.message != words for one in self._app._notifications):
            self._app.notify(words, timeout=SHOWN_S, markup=False)

    def look(self) -> None:
        """The next key takes it away. What makes it untrue leaves what is so now in its place, as
        that the key could be taken since then."""
        if not self.words or not self._app.screen_stack:
            return
        if self._typed.number != self._number:
            self.end()
        elif self._pressed and (now := self._why(self._pressed)) != self.words:
            self.end()
            if self._app.screen is self._screen:
                self.say(now)

    def end(self) -> None:
        if self.words:
            take_back(self._app._notifications, self.words)
            self.words = ""
            self._app._refresh_notifications()
