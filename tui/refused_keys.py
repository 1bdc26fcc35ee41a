"""Why a key that is written in the help does nothing now, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from textual.actions import parse
from textual.dom import DOMNode
from textual.screen import Screen

from tui.key_bindings import OF_REPLAYS, PAGES, PANELS, key_name, sign_of
from tui.key_types import Key
from tui.typed_ahead import typed_ahead
from tui.widgets.keybar import as_now, panel_of

ARROWS = frozenset({"up", "down", "left", "right"})
UNSEEN = "not taken: the screen had only just changed; press it again"
NOT_HERE = {
    "ctrl+z": "ctrl+z: a console that stands still follows no run; q leaves it",
    **{key.keys: f"{key_name(key)}: not here; it is {key.label} in a replay" for key in OF_REPLAYS},
}
"""Keys that other programs have, and those of a replay."""


@runtime_checkable
class Explains(Protocol):
    """Has keys, and words for why one of them does nothing."""

    def never(self, action: str) -> str:
        """Why this console does not do it at all; empty: it may."""
        ...

    def not_now(self, action: str) -> str:
        """Why it cannot be done at this moment, where nothing else forbids it."""
        ...


@runtime_checkable
class Titled(Protocol):
    """Lies over a page, in a frame that names it."""

    @property
    def called(self) -> str: ...


def never(node: DOMNode, action: str) -> str:
    """Why this console does not do it at all, and its help has no such key."""
    return node.never(action) if isinstance(node, Explains) else ""


def enabled(node: DOMNode, key: Key) -> bool:
    """Whether ``node`` would do it now."""
    _, name, parameters = parse(key.action)
    return bool(node.check_action(name, parameters))


def came_too_soon(screen: Screen[Any], pressed: str) -> bool:
    """Whether a key for which nothing was done would do something, were what it is for seen."""
    with typed_ahead(screen).at_leisure():
        return any(enabled(node, key) for node, key in _named(around(screen), pressed))


def why_refused(screen: Screen[Any], pressed: str) -> str:
    """Of a key that nothing did anything for; empty where it is not one of the page's."""
    for node, key in _named(around(screen), pressed):
        said = f"{key_name(key)} {as_now(node, key).label}"
        with typed_ahead(screen).at_leisure():
            if enabled(node, key):
                return f"{said}: {UNSEEN}"
        why = _why(node, key) or "not possible here now" * key.palette
        return f"{said}: {why}" if why else ""
    under = screen.app.screen_stack[-2::-1] if screen.is_modal else ()
    for below in under:
        for _, key in _named((*around(below), *[screen.app] * (not below.is_modal)), pressed):
            return f"{key_name(key)} {key.label}: {without_it(screen)}"
    return ""


def idle(screen: Screen[Any]) -> Mapping[tuple[str, str], str]:
    """Keys that do nothing at this moment, by panel and action, and why; "" where nobody says."""
    with typed_ahead(screen).at_leisure():
        return {
            (panel_of(node), key.action): _why(node, key)
            for node in around(screen)
            for key in _explained(node)
            if (key.palette or key.action != "open") and not enabled(node, key)
        }


def why_idle(node: DOMNode, key: Key) -> str:
    """Why it does nothing now; "" where nobody says, or where it only has to be seen first."""
    with typed_ahead(node.screen).at_leisure():
        return "" if enabled(node, key) else _why(node, key)


def _why(node: DOMNode, key: Key) -> str:
    name = key.action.partition("(")[0]
    words = never(node, name)
    return words or (node.not_now(name) if isinstance(node, Explains) else "")


def without_it(screen: Screen[Any]) -> str:
    """Of a key that only what is below has."""
    called = screen.called if isinstance(screen, Titled) else "what is in front"
    return f"{called} has no such key; Esc closes it"


def where_else(pressed: str, here: str = "", panels: Iterable[str] = ()) -> str:
    """Which pages have a key that this one, ``here``, has not: ``z: not here; it is Zoom on Hosts,
    Runs``; empty where none has. Where what is at hand names it, as what ``v`` leads to next,
    without a name: ``v: not here; it is a key of Runs, Results``. ``panels``: of this page, which
    come first: ``r: not here; it is Rank in Log; Re-probe on Hosts``."""
    found: dict[str, list[str]] = {}
    name, own = "", []
    if here in PAGES and any(pressed in key.keys.split(",") for key in PANELS[here].keys):
        return ""  # which has nothing to do where the focus is
    for panel in (PANELS[one] for one in panels if one in PANELS and one not in PAGES):
        for key in panel.keys:
            if key.palette and _is_of(pressed, key):
                own.append(f"{key.label} in {panel.title}")
                name = key_name(key)
    for page, entry in PAGES.items():
        for key in PANELS[page].keys:
            if key.action not in ("leave", "back") and _is_of(pressed, key):
                found.setdefault(_label(key), []).append(entry.label)
                name = key_name(key)
    elsewhere = (
        f"{label} on {', '.join(pages)}" if label else f"a key of {', '.join(pages)}"
        for label, pages in found.items()
    )
    there = "; ".join([*own, *elsewhere])
    return f"{name}: not here; it is {there}" if there else NOT_HERE.get(pressed, "")


def _is_of(pressed: str, key: Key) -> bool:
    """It may be another name of it, as "=" is of "+", but no arrow that is a way, too."""
    return pressed in key.keys.split(",") and (
        pressed not in ARROWS or sign_of(pressed) in key.said
    )


def _label(key: Key) -> str:
    """That it has wherever it is; empty where it changes with what it leads to next."""
    return "" if key.action in ("view", "quantity") else key.label


def around(screen: Screen[Any]) -> Iterator[DOMNode]:
    """Whatever has the keys: the widget with the focus, and all around it."""
    for node in (screen.focused or screen).ancestors_with_self:
        yield node
        if node is screen and screen.is_modal:
            return


def _named(nodes: Iterable[DOMNode], pressed: str) -> Iterator[tuple[DOMNode, Key]]:
    for node in nodes:
        for key in _explained(node):
            if pressed in key.keys.split(","):
                yield node, key


def _explained(node: DOMNode) -> Iterator[Key]:
    """Those that are for moving about, or for leaving, need no words; but what opens a thing may
    say why there is none."""
    panel = PANELS.get(panel_of(node))
    for key in panel.keys if panel else ():
        if (key.palette or key.action in ("command_palette", "open")) and key.action != "leave":
            yield key
