"""The last line: the keys that matter now, at most five where the terminal is narrow, else as many
as fit; two lines where it is so high that nobody misses one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.dom import DOMNode
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from tui.key_bindings import PANELS, key_name
from tui.key_types import LAST, Key
from tui.theme import ACCENT, TEXT
from tui.typed_ahead import typed_ahead

NARROW_KEYS = 5
WIDE = 100
HIGH = 50
"""Rows, from which on there are two lines."""


def panel_of(node: DOMNode) -> str:
    """The panel whose keys ``node`` has; "" when it has none of its own."""
    return str(getattr(node, "PANEL", ""))


def offered(screen: Screen[Any]) -> list[Key]:
    """The keys that do something now, of the widget with the focus and of everything around it;
    those that are for moving about are left out."""
    with typed_ahead(screen).at_leisure():
        bound = list(screen.active_bindings.values())
    found: dict[str, Key] = {}
    for node, binding, _, _ in bound:
        for key in _keys(node):
            if key.action != binding.action or not key.footer:
                continue
            if not (key.written and isinstance(screen.focused, Input)):
                found.setdefault(key.action, as_now(node, key))
    return sorted(found.values(), key=lambda key: key.footer)


def as_now(node: DOMNode, key: Key) -> Key:
    """With the word for what the key would do at this moment, where ``node`` has one, and among the
    first where it is what the moment calls for."""
    label: str = getattr(node, "labels_now", {}).get(key.action, "")
    if key.action in getattr(node, "urgent_now", ()):
        key = replace(key, footer=1)
    return replace(key, label=label) if label else key


class KeyBar(Widget):
    """The ranked keys of the focused widget and everything around it; a click is the key. None
    where something lies over the page, for that has the keys.

    No widget per key: these changed with every move of the focus, and cost more than all else that
    a key did.
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: list[tuple[int, int, Key]] = []  # line and column where each begins

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self.app.screen_change_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[Any]) -> None:
        self.refresh()

    def renew(self) -> None:
        """Show what works now: also what came by itself changes that, and tells nobody."""
        if self.screen.is_active and self._placed() != self._places:
            self.screen.refresh_bindings()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 2 if viewport.height >= HIGH and viewport.width >= WIDE else 1

    def chosen(self) -> list[Key]:
        """What works here and now, best first, as much as fits."""
        return [key for _, _, key in self._placed()]

    def _placed(self) -> list[tuple[int, int, Key]]:
        viewport = self.app.size
        lines = self.get_content_height(viewport, viewport, viewport.width)
        return placed(offered(self.screen), viewport.width, lines)

    def render(self) -> Text:
        text = Text(no_wrap=True, end="")
        self._places = self._placed() if self.screen.is_active else []
        for line, column, key in self._places:
            text.append("\n" if line and not column else "")
            text.append(f" {key_name(key)} ", f"bold {ACCENT}").append(f"{key.label} ", TEXT)
        return text

    def key_at(self, x: int, y: int) -> Key | None:
        """The key that is shown there."""
        for line, start, key in self._places:
            if line == y and start <= x < start + _width(key):
                return key
        return None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        key = self.key_at(event.x, event.y)
        self.tooltip = Text(key.help) if key is not None else None

    def on_click(self, event: events.Click) -> None:
        key = self.key_at(event.x, event.y)
        if key is not None:
            self.app.simulate_key(key.keys.split(",")[0])


def placed(ranked: Sequence[Key], width: int, lines: int) -> list[tuple[int, int, Key]]:
    """Every key that has room with its line and column; what leads out is there in any case.

    ``ranked``: the best first. ``width``: columns of each of the ``lines``.
    """
    fixed = [key for key in ranked if key.footer >= (LAST if width < WIDE else LAST - 1)]
    others = [key for key in ranked if key not in fixed]
    if width < WIDE:
        others = others[: NARROW_KEYS - len(fixed)]
    kept = sum(map(_width, fixed))
    found = []
    line = column = 0
    for key in others:
        if column + _width(key) > width - (kept if line == lines - 1 else 0):
            if line == lines - 1:
                break
            line, column = line + 1, 0
        found.append((line, column, key))
        column += _width(key)
    if column + kept > width and line < lines - 1:
        line, column = line + 1, 0
    for key in fixed:
        found.append((line, column, key))
        column += _width(key)
    return found


def _width(key: Key) -> int:
    """Columns that it takes: a space before, between and behind."""
    return cell_len(key_name(key)) + cell_len(key.label) + 3


def _keys(node: DOMNode) -> tuple[Key, ...]:
    panel = PANELS.get(panel_of(node))
    return panel.keys if panel else ()
