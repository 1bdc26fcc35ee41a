"""What ``?`` says: the panel that has the focus, and every key that works there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text
from textual.screen import Screen

from profiles.durations import format_duration
from tui.key_bindings import PANELS, key_name
from tui.key_types import Key, Panel
from tui.refused_keys import around, idle, never
from tui.text import GRAVE, Hanging, clock_time, plain
from tui.theme import ACCENT, BAD, MUTED, WARN
from tui.widgets.keybar import panel_of

Parts = Sequence["Text | Hanging | Rows"]
BESIDE = 160
"""Columns of a terminal with room for two columns of help."""
ROUND = 24
"""Columns of that, at most, around what is said."""
MANY = 900
"""Characters of what is said of a panel: the keys come first."""
BETWEEN = 2
"""Columns between a name and the words behind it."""
DEEPER = 2
"""Columns by which a paragraph goes on further to the right."""
HEADING = re.compile(r"^.+:$", re.MULTILINE)
_RANK = {"table": 1, "scroll": 1, "app": 2, "replay": 2}


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


@runtime_checkable
class Asks(Protocol):
    """Has keys that its panel does not name: the answers to what it asks."""

    @property
    def answer_keys(self) -> Sequence[Key]: ...


def help_of(screen: Screen[Any]) -> Group | Beside:
    """What is in front, with the keys that it has at this moment."""
    answers = screen.answer_keys if isinstance(screen, Asks) else ()
    parts = _parts(focused_panels(screen), partial(_nowhere, screen), idle(screen), answers)
    return Beside(*parts) if wide_enough(screen) else _below(*parts)


def _nowhere(screen: Screen[Any], action: str) -> bool:
    return any(never(node, action) for node in around(screen))


def wide_enough(screen: Screen[Any]) -> bool:
    """For the keys of the panel beside all else."""
    return screen.app.size.width >= BESIDE


class Beside:
    """The keys of the panel that has the focus, and beside them what is said of it and the other
    keys; below one another once there is no more room for that."""

    def __init__(self, own: Parts, about: Parts, others: Parts) -> None:
        self._parts = own, about, others

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        own, about, others = self._parts
        if options.max_width < BESIDE - ROUND:
            yield _below(own, about, others)
            return
        table = Table.grid(padding=(0, 4, 0, 0), pad_edge=False, expand=True)
        table.add_column(ratio=1)
        table.add_column(ratio=1)
        table.add_row(Group(*own), Group(*about, *others))
        yield table


def help_text(
    panels: Sequence[str],
    never: Callable[[str], object] = lambda _: "",
    idle: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> Group:
    """The words about each panel and its keys in two columns: where the words are many, behind
    the keys of the first.

    ``never``: whether an action is one that this console does not do at all; then its key is left
    out. ``idle``: keys that do nothing now, by panel and action, and why, where that is known.
    """
    return _below(*_parts(panels, never, idle))


def _below(own: Parts, about: Parts, others: Parts) -> Group:
    if sum(len(str(part.text if isinstance(part, Hanging) else part)) for part in about) > MANY:
        return Group(*own, Text(), *about, *others)
    return Group(*about, *own, *([Text()] if others else []), *others)


def _parts(
    panels: Sequence[str],
    never: Callable[[str], object],
    idle: Mapping[tuple[str, str], str],
    answers: Sequence[Key] = (),
) -> tuple[Parts, Parts, Parts]:
    """The keys of the first panel, what is said of them all, and the other keys; the ``answers`` to
    what is asked stand before them."""
    found = [(name, PANELS[name]) for name in panels]
    titled = [("", "Answers", list(answers))]
    titled += [(name, one.own_title, list(one.own)) for name, one in found]
    titled += [
        (name, one.title, [key for key in one.keys if key not in one.own]) for name, one in found
    ]
    shown, taken = [], set[str]()
    for name, title, keys in titled:
        there = [key for key in keys if not never(key.action.partition("(")[0])]
        if _RANK.get(name, 0) < _RANK["app"]:  # which has those that a page has no use for now
            there = [left for key in there if (left := key.without(taken)) is not None]
        taken.update(one for key in there for one in key.keys.split(","))
        if there:
            shown.append((name, title, there))
    width = max((len(key_name(key)) for _, _, keys in shown for key in keys), default=0)
    above = sorted((one for _, one in found), key=lambda one: not one.own)
    told = ["\n".join([one.about, *_of_actions(one, never)]) for one in above if one.about]
    parts: list[list[Text | Hanging | Rows]] = []
    for number, (name, title, keys) in enumerate(shown):
        lines = [_key_line(key, width, idle.get((name, key.action))) for key in keys]
        heading = Text(f"{chr(10) * (number > 1)}{title}", f"bold {MUTED}")
        parts.append([heading, Rows(lines)])
    own = parts[0] if parts else []
    return own, [_about(words) for words in told], [one for part in parts[1:] for one in part]


def _of_actions(panel: Panel, never: Callable[[str], object]) -> list[str]:
    return [words for action, words in panel.about_actions if not never(action)]


def _about(words: str) -> Text | Hanging:
    """A paragraph; several of them each with its first line out, for it begins with its sign; a
    line that ends with a colon is a heading."""
    text = Text(f"{words}\n")
    text.highlight_regex(HEADING, f"bold {MUTED}")
    return Hanging(text, DEEPER) if "\n" in words else text


def _key_line(key: Key, width: int, idle: str | None) -> tuple[Text, Text]:
    """``idle``: why it does nothing now, "" where that is not known; None: it does."""
    name = f"  {key_name(key):<{width}}"
    if idle is None:
        return Text(name, ACCENT), Text(key.explained)
    why = f": {plain(idle)}" if idle else ""
    return Text(name, MUTED), Text(f"{key.explained} · not now{why}", MUTED)


class AllNotes(NamedTuple):
    """``notes``: of the campaign as a whole, the oldest first; None: no campaign is open.
    ``begun``: when it did. ``own``: what its operator noted. ``said``: by the console, the oldest
    first, and whether it tells of more than a key that did nothing."""

    notes: tuple[tuple[float | None, str, str], ...] | None
    begun: float | None
    own: str
    said: tuple[tuple[float, str, bool], ...]


def all_notes(
    notes: Sequence[tuple[float | None, str, str]] | None,
    begun: float | None,
    own: str,
    said: Sequence[tuple[float, str, bool]],
) -> Group:
    """:func:`notes_text` below what the operator noted on the campaign; and what the console
    ``said`` last and when, newest first, before the word that there are no notes."""
    parts: list[Text | Rows] = []
    heard: list[Text | Rows] = []
    if said:
        lines = [
            (Text(f"  {clock_time(at)}", MUTED), Text(words, "" if weighs else MUTED))
            for at, words, weighs in reversed(said)
        ]
        heard = [Text("said here, the last first, at your time", f"bold {MUTED}"), Rows(lines)]
    if heard and not notes and not own:
        parts += [*heard, Text()]
        heard = []
    if own:
        parts.append(Text.assemble(("your note  ", MUTED), f"{plain(own)}{chr(10) * bool(notes)}"))
    if notes is None:
        parts.append(Text("No campaign is open: there is none to have notes.", MUTED))
    elif notes or not own:
        parts.append(notes_text(notes, begun))
    if heard:
        parts += [Text(), *heard]
    return Group(*parts)


def notes_text(notes: Sequence[tuple[float | None, str, str]], begun: float | None) -> Text | Rows:
    """What the engine said of a campaign, newest first, with the time since its begin where that
    is known."""
    if not notes:
        words = (
            "No notes of the engine for this campaign as a whole. Why a run failed, and "
            "whether it was tried again, stands with that run, on Runs."
        )
        return Text(words, MUTED)
    lines = []
    for at, level, words in reversed(notes):
        since = f"+{format_duration(at - begun)}" if at is not None and begun is not None else ""
        style = BAD if level in GRAVE else WARN
        lines.append((Text(f"{since:>8}", MUTED), Text(f"{level:<5}", style), Text(plain(words))))
    return Rows(lines)


class Rows:
    """Rows of a name, or several, and words that go on below themselves where they have no room."""

    def __init__(self, rows: Sequence[tuple[Text, ...]]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names = zip(*(row[:-1] for row in self._rows), strict=True)
        widths = [max(name.cell_len for name in column) + BETWEEN for column in names]
        room = max(1, options.max_width - sum(widths))
        for row in self._rows:
            before = Text()
            for name, width in zip(row, widths, strict=False):
                before.append_text(name).append(" " * (width - name.cell_len))
            whole = row[-1].cell_len <= room and "\n" not in row[-1].plain
            lines = [row[-1]] if whole else row[-1].wrap(console, room)
            for number, line in enumerate(lines):
                yield Text.assemble(" " * sum(widths) if number else before, line, no_wrap=True)
