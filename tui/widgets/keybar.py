"""The last line: the keys that matter now, at most five where the terminal is narrow, else as many
as fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from tui.key_bindings import PANELS, key_name
from tui.key_types import LAST, Key
from tui.theme import ACCENT, TEXT
from tui.typed_ahead import typed_ahead

NARROW_KEYS = 5
WIDE = 100


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

    One line and no widget per key: these changed with every move of the focus, and cost more than
    all else that a key did.
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: list[tuple[int, Key]] = []  # by the column where each begins
        self._shown: list[Key] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self.app.screen_change_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[Any]) -> None:
        self.refresh()

    def renew(self) -> None:
        """Show what works now: also what came by itself changes that, and tells nobody."""
        if self.screen.is_active and self.chosen() != self._shown:
            self.screen.refresh_bindings()

    def chosen(self) -> list[Key]:
        """What works here and now, best first, as much as fits."""
        ranked = offered(self.screen)
        width = self.app.size.width
        fixed = [key for key in ranked if key.footer >= (LAST if width < WIDE else LAST - 1)]
        others = [key for key in ranked if key not in fixed]
        if width < WIDE:
            return others[: NARROW_KEYS - len(fixed)] + fixed
        room = width - sum(map(_width, fixed))
        ends = accumulate(map(_width, others))
        return [key for key, end in zip(others, ends, strict=True) if end <= room] + fixed

    def render(self) -> Text:
        text = Text(no_wrap=True, end="")
        self._places = []
        self._shown = self.chosen() if self.screen.is_active else []
        for key in self._shown:
            self._places.append((text.cell_len, key))
            text.append(f" {key_name(key)} ", f"bold {ACCENT}").append(f"{key.label} ", TEXT)
        return text

    def _at(self, x: int) -> Key | None:
        """The key that is shown in this column."""
        found = None
        for start, key in self._places:
            if start <= x < start + _width(key):
                found = key
        return found

    def on_mouse_move(self, event: events.MouseMove) -> None:
        key = self._at(event.x)
        self.tooltip = Text(key.help) if key is not None else None

    def on_click(self, event: events.Click) -> None:
        key = self._at(event.x)
        if key is not None:
            self.app.simulate_key(key.keys.split(",")[0])


def _width(key: Key) -> int:
    """Columns that it takes: a space before, between and behind."""
    return cell_len(key_name(key)) + cell_len(key.label) + 3


def _keys(node: DOMNode) -> tuple[Key, ...]:
    panel = PANELS.get(panel_of(node))
    return panel.keys if panel else ()
