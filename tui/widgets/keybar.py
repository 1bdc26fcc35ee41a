"""The last line: the keys that matter now, at most five where the terminal is narrow, else as many
as fit."""

from __future__ import annotations

from itertools import accumulate

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.dom import DOMNode
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from tui.key_bindings import LAST, PANELS, Key, key_name

NARROW_KEYS = 5
WIDE = 100


def panel_of(node: DOMNode) -> str:
    """The panel whose keys ``node`` has; "" when it has none of its own."""
    return str(getattr(node, "PANEL", ""))


class KeyBar(Footer):
    """Footer with the ranked keys of the focused widget and everything around it."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def chosen(self) -> list[tuple[Key, str, bool]]:
        """(key, action, enabled), best first, as many as fit."""
        found: dict[str, tuple[Key, str, bool]] = {}
        for node, binding, enabled, _ in self.screen.active_bindings.values():
            for key in _keys(node):
                if key.action == binding.action and key.footer:
                    found.setdefault(binding.action, (key, binding.action, enabled))
        ranked = sorted(found.values(), key=lambda item: item[0].footer)
        width = self.app.size.width
        fixed = [item for item in ranked if item[0].footer >= (LAST if width < WIDE else LAST - 1)]
        others = [item for item in ranked if item not in fixed]
        if width < WIDE:
            return others[: NARROW_KEYS - len(fixed)] + fixed
        room = width - sum(_width(item[0]) for item in fixed)
        ends = accumulate(_width(item[0]) for item in others)
        return [item for item, end in zip(others, ends, strict=True) if end <= room] + fixed

    def compose(self) -> ComposeResult:
        if not self._bindings_ready:
            return
        for key, action, enabled in self.chosen():
            first = key.keys.split(",")[0]
            yield FooterKey(
                first, key_name(key), key.label, action, disabled=not enabled, tooltip=key.help
            ).data_bind(compact=Footer.compact)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.recompose)


def _width(key: Key) -> int:
    """Columns that it takes: a space before, between and behind."""
    return cell_len(key_name(key)) + cell_len(key.label) + 3


def _keys(node: DOMNode) -> tuple[Key, ...]:
    panel = PANELS.get(panel_of(node))
    return panel.keys if panel else ()
