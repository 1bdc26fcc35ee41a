"""Keys in the order in which they were typed, each to what is in front when its turn comes.

Textual sends a key to the widget that has the focus at once, and looks for what is bound to it when
it comes up from there: of two keys in one burst the second would act on the page behind the dialog
that the first one opens. Here a key waits until all that the one before it did is there, and drawn.

A key that was typed before a screen was drawn may write into it and leave it. It starts, ends,
marks and takes away nothing (:attr:`Sight.seen`), and says nothing to a question that nobody asked
for. Nor does one whose turn has not come for PATIENCE_S, as where a disk does not answer: it is
handed on to what is in front then, so that nobody is locked in. It is lost for what it was meant
for, and what was typed after it, before that was there, is no sentence without it: such a key may
leave a screen and no more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from math import inf
from time import monotonic
from typing import Any, Protocol, cast

from textual.app import App
from textual.events import Key, Paste
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

PATIENCE_S = 2.0


class TypedAhead:
    """What was typed and not handed on yet. ``hand_on``: is called when one may be,
    ``dealt_with`` when all is done that one asked for."""

    def __init__(
        self, app: App[Any], hand_on: Callable[[], object], dealt_with: Callable[[], object] = bool
    ) -> None:
        self._app = app
        self._hand_on = hand_on
        self._dealt_with = dealt_with
        self._waiting: deque[Key | Paste] = deque()
        self._held = 0
        self._kept = self._lent = False
        self.number = 0
        """Of the key that was handed on last."""
        self._alarm: Timer | None = None
        self._gave_up = False
        self._last = -inf
        self._meant_since = -inf
        self.typed_at: float | None = None
        """Of the key that is being dealt with, -inf where it waited too long; None: none is."""
        self._handed_on = -inf

    def add(self, event: Key | Paste) -> None:
        self._last = monotonic()
        self._waiting.append(event)

    def next(self) -> Key | Paste | None:
        """The next one, if what is in front can take it now."""
        if self._kept:
            return None
        if self._lent or not self._app.screen_stack:  # it is on its way out
            self._waiting.clear()
        while self._waiting:
            sight = sight_of(self._app.screen)
            ready = self.typed_at is None and not self._held and (sight is None or sight.drawn)
            waited = Message().time - self._waiting[0].time
            if not ready and waited < PATIENCE_S:
                self._look_again(PATIENCE_S - waited)
                return None
            event = self._waiting.popleft()
            if event.time < self._meant_since and not _leaves(event):
                continue
            if sight is None or sight.takes(event):
                late = not ready or (
                    self._gave_up and sight is not None and event.time < sight.since
                )
                self._gave_up = late
                self.typed_at = -inf if late else event.time
                self.number += 1
                self._handed_on = monotonic()
                return event
        return None

    def drop_unseen(self, sight: Sight) -> None:
        """The key that is being dealt with was not taken: what was typed in the same burst, before
        ``sight`` showed what is in front, was meant for what would have come after it; Esc leaves
        what is there all the same."""
        self._meant_since = min(sight.since, Message().time)  # inf: it does not show it yet

    def _look_again(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.stop()
        self._alarm = self._app.set_timer(seconds, self._hand_on)

    def follow(self, target: MessagePump) -> None:
        """A key was handed to ``target``: come back when it is dealt with, up to the application,
        and then whatever it had told the widgets in front."""
        self._pass(chain(_upwards(target), self._front()), self.number)

    def _front(self) -> Iterator[MessagePump]:
        yield from _upwards(self._app.focused or self._app.screen)

    def _pass(self, nodes: Iterator[MessagePump], number: int) -> None:
        """When each of the nodes has dealt with what lay before it, the turn is the next key's;
        one that did not wait for its turn has it already."""
        for node in nodes:
            if node.call_later(self._pass, nodes, number):
                return
        if number != self.number:
            return
        self.typed_at = None
        self._dealt_with()
        self.go_on()
        paint_soon(self._app.screen)

    @contextmanager
    def at_leisure(self) -> Iterator[None]:
        """As if nothing was being dealt with: what works once everything is drawn."""
        typed_at, self.typed_at = self.typed_at, None
        try:
            yield
        finally:
            self.typed_at = typed_at

    @property
    def dealing_s(self) -> float:
        """For how long a key has been dealt with that still is; inf: none is."""
        return inf if self.typed_at is None else monotonic() - self._handed_on

    @property
    def idle(self) -> bool:
        """All that was typed has been dealt with, and what is in front was drawn."""
        sight = sight_of(self._app.screen)
        shown = sight is None or sight.since < inf
        return shown and not self._waiting and self.typed_at is None and not self._held

    def over_for(self, seconds: float) -> bool:
        """Nobody has typed for so long, and nothing of it is left to be dealt with."""
        there = bool(self._app.screen_stack)  # it is not on its way out
        return there and self.idle and monotonic() - self._last >= seconds

    def go_on(self) -> None:
        if self._waiting:
            self._app.call_later(self._hand_on)

    @contextmanager
    def held(self) -> Iterator[None]:
        """No key goes anywhere meanwhile: what it is meant for is on its way."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self.go_on()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """No key goes anywhere, however long it waits: nothing that has keys was in front yet."""
        self._kept = True
        try:
            yield
        finally:
            self._kept = False
            self.go_on()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Another program has the terminal: what was typed ahead was for that, and is dropped."""
        self._lent = True
        try:
            yield
        finally:
            self._waiting.clear()
            self._lent = False


def _leaves(event: Key | Paste) -> bool:
    return isinstance(event, Key) and event.key == "escape"


def _upwards(node: MessagePump) -> Iterator[MessagePump]:
    """The way that a key takes when nobody stops it."""
    here: MessagePump | None = node
    while here is not None:
        yield here
        here = here._parent


class Sight:
    """Whether a screen was ``drawn`` since it came to the front, and ``since`` when it shows what
    it does (as events have the time; inf: it does not yet).

    ``paint``: paints it now. ``uninvited``: it comes by itself, so that what was typed before was
    meant for something else.
    """

    def __init__(self, screen: Screen[Any], paint: Callable[[], None]) -> None:
        self._screen = screen
        self.paint = paint
        self._drawing = 0
        self._renewed_at = -inf
        self.uninvited = False
        self.drawn = False
        self.since = inf

    @property
    def seen(self) -> bool:
        """What is shown was shown when the key was typed that is being dealt with."""
        typed_at = typed_ahead(self._screen).typed_at
        return typed_at is None or typed_at >= self.since

    def takes(self, event: Key | Paste) -> bool:
        """Whether the key was meant for this screen."""
        return not self.uninvited or event.time >= self.since

    def renew(self) -> None:
        """It came to the front: keys wait until it was drawn."""
        self.drawn = False
        self._renewed_at = monotonic()
        self.changed()

    @property
    def awaited_s(self) -> float:
        """For how long it has been in front and not drawn; inf: it was drawn."""
        return inf if self.drawn else monotonic() - self._renewed_at

    def changed(self) -> None:
        """What a key would start or end is another than before: it has to be seen first."""
        self.since = inf
        self._drawing += 1
        # Twice: what fills the screen is called back after the first refresh, too.
        after = self._screen.call_after_refresh
        after(after, self._filled, self._drawing)

    def _filled(self, drawing: int) -> None:
        if drawing == self._drawing:
            _hear(self._screen)
            self._screen.call_later(self._drawn, drawing)

    def _drawn(self, drawing: int) -> None:
        if drawing == self._drawing:
            self.drawn = True
            self.paint()
            self.since = Message().time
            typed_ahead(self._screen).go_on()


class _Typing(Protocol):
    typed: TypedAhead


def paint_soon(screen: Screen[Any]) -> None:
    """What the screen has to paint, with what its widgets have just been given to show: Textual
    would paint it with the next tick of its clock."""
    if (sight := sight_of(screen)) is not None:
        _hear(screen)
        screen.call_later(sight.paint)


def _hear(screen: Screen[Any]) -> None:
    """Let the screen know what its widgets have to show; they would tell it when they are idle."""
    for widget in screen.walk_children(Widget):
        for one in (widget, *widget._get_virtual_dom()):
            one._check_refresh()


def typed_ahead(screen: Screen[Any]) -> TypedAhead:
    """The one of the screen's application."""
    return cast(_Typing, screen.app).typed


def sight_of(screen: Screen[Any]) -> Sight | None:
    """None: a screen of Textual's own, such as an application begins with."""
    found = getattr(screen, "sight", None)
    return found if isinstance(found, Sight) else None
