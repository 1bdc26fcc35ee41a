"""What ``?`` says: every key that works where the focus is, and the words about that."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.screen import Screen

from profiles.durations import format_duration
from tui.happened import (
    ADDED,
    CAME,
    DIAGNOSED,
    ENDED,
    LET_GO,
    PAUSED,
    STARTED,
    UNPAUSED,
    WENT_ON,
)
from tui.key_bindings import PANELS, key_name
from tui.key_types import Key, Panel
from tui.refused_keys import around, idle, never
from tui.text import BY_THE_WAY, GRAVE, RUN_STATES, Hanging, clock_time, plain
from tui.theme import ACCENT, BAD, MUTED, WARN
from tui.widgets.keybar import panel_of
from tui.widgets.shown_text import heading_style

Parts = Sequence["Text | Hanging | Rows"]
BESIDE = 120
"""Columns of a terminal with room for two columns of help."""
ROUND = 24
"""Columns of that, at most, around what is said."""
WORDS = "Signs, columns and words"
"""The heading of what is said of the panels, behind their keys."""
BETWEEN = 2
"""Columns between a name and the words behind it."""
FIRST_WORDS = 3
"""Of a line by which it is found again, however it is wrapped."""
DEEPER = 2
"""Columns by which a paragraph goes on further to the right."""
HEADING = re.compile(r"^.+:$", re.MULTILINE)
TERM = re.compile(r"(?<=\n)[^:\n]+(?=: )")
NOT_NOW = "Not now"
_MOVES = "Cursor"
"""The heading of the keys that move it, after all that act."""
_RANK = {"table": 1, "scroll": 1, "app": 2, "replay": 2}


def help_lines(panels: Sequence[str]) -> list[tuple[str, str]]:
    """What is said of the panels, line by line, each with the first that has it; no heading."""
    found: dict[str, str] = {}
    for name in panels:
        for line in PANELS[name].about.splitlines() if name in PANELS else ():
            if line and not line.endswith(":"):
                found.setdefault(line, name)
    return [(name, line) for line, name in found.items()]


def said_of_panel(panel: Panel) -> list[str]:
    """Its keys and what is said of it, line by line."""
    return [*(key.explained for key in panel.keys), *panel.about.splitlines()]


def term_of(line: str) -> str:
    """What it explains; of a sentence its first words."""
    term, colon, _ = line.partition(": ")
    return term + colon.rstrip() if colon else " ".join(line.split()[:FIRST_WORDS])


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
    """For what is said beside the keys."""
    return screen.app.size.width >= BESIDE


class Beside:
    """The keys, and beside them what is said of the panels; below them once there is no more room
    for that."""

    def __init__(self, keys: Parts, about: Parts) -> None:
        self._parts = keys, about

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        keys, about = self._parts
        if options.max_width < BESIDE - ROUND or not about:
            yield _below(keys, about)
            return
        table = Table.grid(padding=(0, 4, 0, 0), pad_edge=False, expand=True)
        table.add_column(ratio=1)
        table.add_column(ratio=1)
        table.add_row(Group(*keys), Group(*about))
        yield table


def help_text(
    panels: Sequence[str],
    never: Callable[[str], object] = lambda _: "",
    idle: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> Group:
    """The keys of the panels in two columns, and below them the words about each.

    ``never``: whether an action is one that this console does not do at all; then its key is left
    out. ``idle``: keys that do nothing now, by panel and action, and why, where that is known.
    """
    return _below(*_parts(panels, never, idle))


def _below(keys: Parts, about: Parts) -> Group:
    return Group(*keys, *([Text()] if about else []), *about)


def _parts(
    panels: Sequence[str],
    never: Callable[[str], object],
    idle: Mapping[tuple[str, str], str],
    answers: Sequence[Key] = (),
) -> tuple[Parts, Parts]:
    """The keys, and what is said of the panels. The ``answers`` to what is asked come first; what
    only moves about comes after what acts, and keys that do nothing now last, by why. Those of a
    panel stand as the footer ranks them."""
    found = [(name, PANELS[name]) for name in panels]
    titled = [("", "Answers", list(answers))]
    titled += [(name, one.own_title, sorted(one.own, key=_rank)) for name, one in found]
    titled += [
        (name, one.title, [key for key in one.keys if key not in one.own]) for name, one in found
    ]
    shown: list[tuple[str, str, list[Key]]] = []
    moves: list[Key] = []
    later: dict[str, list[Key]] = {}
    taken = set[str]()
    for name, title, keys in titled:
        there = [key for key in keys if not never(key.action.partition("(")[0])]
        if _RANK.get(name, 0) < _RANK["app"]:  # which has those that a page has no use for now
            there = [left for key in there if (left := key.without(taken)) is not None]
            there.sort(key=_rank)
        taken.update(one for key in there for one in key.keys.split(","))
        for key in there:
            if (why := idle.get((name, key.action))) is not None:
                later.setdefault(f"{NOT_NOW}{': ' * bool(why)}{plain(why)}", []).append(key)
        able = [key for key in there if (name, key.action) not in idle]
        moves += [key for key in able if key.moves]
        shown.append((title, ACCENT, [key for key in able if not key.moves]))
    shown.append((_MOVES, ACCENT, moves))
    first_later = len(shown)
    shown += [(why, MUTED, keys) for why, keys in later.items()]
    width = max((len(key_name(key)) for _, _, keys in shown for key in keys), default=0)
    above = sorted((one for _, one in found), key=lambda one: not one.own)
    told = ["\n".join([one.about, *_of_actions(one, never)]) for one in above if one.about]
    parts: list[Text | Hanging | Rows] = []
    for number, (title, style, keys) in enumerate(shown):
        if keys:
            section = title if number < first_later else NOT_NOW * (number == first_later)
            parts += [Text()] * bool(parts and section)
            parts += [Text(title, _heading(section))]
            parts += [Rows([_key_line(key, width, style) for key in keys])]
    about = [Text(WORDS, _heading(WORDS)), *map(_about, told)] if told else []
    return parts, about


def _rank(key: Key) -> tuple[bool, int]:
    return not key.footer, key.footer


def _heading(section: str) -> Style:
    """``section``: as it is called that begins here; "": none does."""
    return Style.parse(f"bold {MUTED}") + heading_style(section)


def _of_actions(panel: Panel, never: Callable[[str], object]) -> list[str]:
    return [words for action, words in panel.about_actions if not never(action)]


def _about(words: str) -> Text | Hanging:
    """A paragraph; several of them each with its first line out, for it begins with its sign; a
    line that ends with a colon is a heading, and what stands before one is explained."""
    text = Text(f"{words}\n")
    text.highlight_regex(TERM, ACCENT)
    text.highlight_regex(HEADING, lambda words: _heading(words.removesuffix(":")))
    return Hanging(text, DEEPER) if "\n" in words else text


def _key_line(key: Key, width: int, style: str) -> tuple[Text, Text]:
    words = MUTED if style == MUTED else ""
    return Text(f"  {key_name(key):<{width}}", style), Text(key.explained, words)


class AllNotes(NamedTuple):
    """``notes``: of the campaign and what happened there, the oldest first; None: none is open.
    ``begun``: when it did. ``own``: what its operator noted. ``said``: by the console, the oldest
    first, and how grave it is; "": of a key that did nothing. ``simulated``: ``begun`` is by the
    clock of a demo, which runs ahead."""

    notes: tuple[tuple[float | None, str, str], ...] | None
    begun: float | None
    own: str
    said: tuple[tuple[float, str, str], ...]
    simulated: bool = False

    @property
    def title(self) -> str:
        """With what their times are since."""
        clock = " in simulated time" * self.simulated
        timed = bool(self.notes) and self.begun is not None
        return f"Notes · times since {clock_time(self.begun or 0.0)}{clock}" if timed else "Notes"


def all_notes(told: AllNotes) -> Group:
    """:func:`notes_text` below what the operator noted on the campaign; and what the console
    ``said`` last and when, newest first, before the word that there are no notes."""
    notes, begun, own, said, _ = told
    parts: list[Text | Rows | Group] = []
    heard: list[Text | Rows] = []
    if said:
        lines = [
            (Text(f"  {clock_time(at)}", MUTED), Text(words, _SAID[gravity]))
            for at, words, gravity in reversed(said)
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


def notes_text(notes: Sequence[tuple[float | None, str, str]], begun: float | None) -> Text | Group:
    """What the engine said of a campaign and what happened there: first what has no time, as it is
    so now; then the newest first, with the time since its begin where that is known."""
    if not notes:
        return Text("No notes of the engine for this campaign, and no run has started.", MUTED)
    now: list[tuple[Text, ...]] = []
    then: list[tuple[Text, ...]] = []
    for at, level, words in reversed(notes):
        since = f"+{format_duration(at - begun)}" if at is not None and begun is not None else ""
        style = _LEVELS.get(level, BAD if level in GRAVE else WARN)
        line = Text(f"{since:>8}", MUTED), Text(level, style), Text(plain(words))
        (now if at is None else then).append(line)
    told = (("so now", now), ("the campaign, the last first", then))
    return Group(
        *(
            part
            for title, rows in told
            if rows
            for part in (Text(title, f"bold {MUTED}"), Rows(rows))
        )
    )


_SAID = {"": MUTED, "information": "", "warning": WARN, "error": BAD}
_LEVELS = {
    BY_THE_WAY: MUTED,
    **dict.fromkeys((STARTED, DIAGNOSED, ADDED, WENT_ON, CAME, LET_GO, PAUSED, UNPAUSED), ACCENT),
    ENDED: f"bold {ACCENT}",
    **{str(state): style for state, (_, _, style) in RUN_STATES.items() if state.ended},
}


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
