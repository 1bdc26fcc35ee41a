"""Ctrl+p: every action that works here and now, by name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode

from tui.key_bindings import PANELS, key_name
from tui.key_types import Key
from tui.widgets.keybar import panel_of


class ActionsProvider(Provider):
    """Actions of the focused widget and of everything around it that are enabled."""

    def _actions(self) -> Iterator[tuple[Key, DOMNode, str]]:
        start = self.focused or self.screen
        seen: set[str] = set()
        for node in start.ancestors_with_self:
            panel = PANELS.get(panel_of(node))
            for key in panel.keys if panel else ():
                if not key.palette or key.action in seen:
                    continue
                seen.add(key.action)
                if self._enabled(node, key):
                    yield key, node, f"{key.label}  ({key_name(key)})"

    def _enabled(self, node: DOMNode, key: Key) -> bool:
        name, _, rest = key.action.partition("(")
        parameters: tuple[object, ...] = (rest.rstrip(")"),) if rest else ()
        return bool(node.check_action(name, parameters))

    async def discover(self) -> Hits:
        for key, node, label in self._actions():
            yield DiscoveryHit(
                Content(label),
                partial(self.app.run_action, key.action, node),
                text=label,
                help=key.help,
            )

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for key, node, label in self._actions():
            score = matcher.match(f"{label} {key.help}")
            if score > 0:
                yield Hit(
                    score,
                    Content(label),
                    partial(self.app.run_action, key.action, node),
                    text=label,
                    help=key.help,
                )
