"""What ``?`` says: the panel that has the focus, and every key that works there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text
from textual.screen import Screen

from profiles.durations import format_duration
from tui.key_bindings import PANELS, key_name
from tui.text import GRAVE, plain
from tui.theme import ACCENT, BAD, MUTED, WARN
from tui.widgets.keybar import panel_of

_RANK = {"table": 1, "scroll": 1, "app": 2}


def focused_panels(screen: Screen[Any]) -> tuple[str, ...]:
    """Names of the panels around the focus, innermost first; moving about and the app last."""
    start = screen.focused or screen
    found: dict[str, None] = {}
    for node in start.ancestors_with_self:
        panel = panel_of(node)
        if panel in PANELS:
            found[panel] = None
        if node is screen and screen.is_modal:
            break  # nothing around it has the keys
    return tuple(
        sorted(found, key=lambda name: _RANK.get(name, 0))
    )  # moving about is known; it comes late


def help_text(panels: Sequence[str]) -> Text:
    """The words about each panel and its keys in two columns."""
    text = Text()
    told = [name for name in reversed(panels) if PANELS[name].about]
    for name in told[::-1]:
        text.append(f"{PANELS[name].about}\n\n")
    shown = [(name, [(key_name(k), k.help) for k in PANELS[name].keys]) for name in panels]
    width = max((len(keys) for _, lines in shown for keys, _ in lines), default=0)
    for name, lines in shown:
        text.append(f"{PANELS[name].title}\n", f"bold {MUTED}")
        for keys, words in lines:
            text.append(f"  {keys:<{width}}  ", ACCENT).append(f"{words}\n")
        text.append("\n")
    text.rstrip()
    return text


def notes_text(notes: Sequence[tuple[float, str, str]], begun: float | None) -> Text:
    """What the engine said of a campaign, newest first, with the time since its begin."""
    if not notes:
        return Text("Nothing: no note for this campaign.", MUTED)
    text = Text(end="")
    for at, level, words in reversed(notes):
        since = f"+{format_duration(at - begun)}" if begun is not None else ""
        text.append(f"{since:>8}  ", MUTED)
        text.append(f"{level:<5}  ", BAD if level in GRAVE else WARN)
        text.append(f"{plain(words)}\n")
    text.rstrip()
    return text
