"""The last line: the keys that matter now, as many as fit; two lines where the terminal is so high
that nobody misses one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
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

WIDE, HIGH = 100, 50
"""Columns and rows, from which on there are two lines."""


def panel_of(node: DOMNode) -> str:
    """The panel whose keys ``node`` has; "" when it has none of its own."""
    return str(getattr(node, "PANEL", ""))


def offered(screen: Screen[Any]) -> list[Key]:
    """The keys that do something now, of the widget with the focus and of everything around it;
    those that are for moving about are left out."""
    with typed_ahead(screen).at_leisure():
        bound = list(screen.active_bindings.values())
    written = isinstance(screen.focused, Input)
    found: dict[str, Key] = {}
    words: dict[DOMNode, tuple[Mapping[str, str], Collection[str]]] = {}
    for node, binding, _, _ in bound:
        key = _hinted(panel_of(node)).get(binding.action)
        if key is None or binding.action in found or (written and key.written):
            continue
        if node not in words:
            words[node] = _moment(node)
        shown = _as_now(key, *words[node])
        found[key.action] = shown.beside_text if written else shown
    return sorted(found.values(), key=lambda key: key.footer)


def as_now(node: DOMNode, key: Key) -> Key:
    """With the word for what the key would do at this moment, where ``node`` has one, and among the
    first where it is what the moment calls for."""
    return _as_now(key, *_moment(node))


def _moment(node: DOMNode) -> tuple[Mapping[str, str], Collection[str]]:
    """A node's words of now, and its actions that are urgent."""
    return getattr(node, "labels_now", {}), getattr(node, "urgent_now", ())


def _as_now(key: Key, labels: Mapping[str, str], urgent: Collection[str]) -> Key:
    if key.action in urgent:
        key = replace(key, footer=1)
    label = labels.get(key.action, "")
    return replace(key, label=label) if label else key


@cache
def _hinted(panel: str) -> Mapping[str, Key]:
    """Keys that are hinted at, by action."""
    keys = PANELS[panel].keys if panel in PANELS else ()
    return {key.action: key for key in reversed(keys) if key.footer}


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
    """Keys with line and column: in turn all that have room beside those before; what leads out
    stands at the end in any case.

    ``ranked``: the best first. ``width``: columns of each of the ``lines``.
    """
    fixed = [key for key in ranked if key.footer >= LAST - 1]
    kept = sum(map(_width, fixed))
    ends = [0] * lines
    found = []
    line = 0
    for key in ranked:
        wide = _width(key)
        if key.footer >= LAST - 1:
            continue
        if ends[line] + wide > width and line < lines - 1:
            line += 1
        if ends[line] + wide <= width - (kept if line == lines - 1 else 0):
            found.append((line, ends[line], key))
            ends[line] += wide
    if ends[line] + kept > width:
        line += 1
    for key in fixed:
        found.append((line, ends[line], key))
        ends[line] += _width(key)
    return found


def _width(key: Key) -> int:
    """Columns that it takes: a space before, between and behind."""
    return cell_len(key_name(key)) + cell_len(key.label) + 3
