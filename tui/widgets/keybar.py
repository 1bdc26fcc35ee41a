"""The last line: the keys that matter now, at most five where the terminal is narrow, else as many
as fit."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Footer, Input
from textual.widgets._footer import FooterKey

from tui.key_bindings import PANELS, key_name
from tui.key_types import LAST, Key
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
                found.setdefault(key.action, key)
    return sorted(found.values(), key=lambda key: key.footer)


class KeyBar(Footer):
    """Footer with the ranked keys of the focused widget and everything around it."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

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

    def compose(self) -> ComposeResult:
        if not self._bindings_ready:
            return
        for key in self.chosen():
            first = key.keys.split(",")[0]
            yield FooterKey(
                first, key_name(key), key.label, key.action, tooltip=key.help
            ).data_bind(compact=Footer.compact)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.recompose)


def _width(key: Key) -> int:
    """Columns that it takes: a space before, between and behind."""
    return cell_len(key_name(key)) + cell_len(key.label) + 3


def _keys(node: DOMNode) -> tuple[Key, ...]:
    panel = PANELS.get(panel_of(node))
    return panel.keys if panel else ()
