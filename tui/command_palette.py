"""Ctrl+p: every action that works now, by name: here first, then on the page's other panels, then
on the other pages. A search lists those that do not work, too, and why."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from rich.cells import cell_len
from rich.text import Text
from textual import on, work
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode
from textual.widget import Widget
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerError

from tui.key_bindings import PAGES, PANELS, key_name
from tui.key_types import Key
from tui.refused_keys import around, enabled, never, why_idle
from tui.text import SMALL_WORDS
from tui.theme import ACCENT, MUTED
from tui.typed_ahead import typed_ahead
from tui.widgets.keybar import as_now, panel_of

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen

    from tui.session import Session


Act = Callable[[], Awaitable[Any]]
Action = tuple[Key, str, Act, str, str]
"""Its name, what does it, why it is not done now ("" where it is), and what it would be done to
where that has a name."""

NOTHING_FOUND = (
    "Nothing has these words: no action, run, case, host or help. dlperf-tui --help lists commands."
)
NOTHING_IN_A_DIALOG = (
    "Nothing has these words here: in a dialog only its own actions are found. Leave it, with Esc, "
    "for all others."
)
NOTHING_AFTER_S = 0.1
"""Without a find, until that is said; what is found later takes its place."""
CHANGES_PLAN = "changes the plan: "
"""What an action of Matrix says elsewhere, but those that leave it as it is."""
LEAVE_PLAN = ("start", "dry_run", "about", "filter")
NOT_NOW, NO_CAMPAIGN = "not now: ", "not now: no campaign is open"
AGAIN = "; again: "
"""In what a key does, before what it does the next time."""
LATER = 3e3
"""What a rank is divided by of what changes a plan that is not in front."""
WIDEST, MOST, AROUND, KEY = 160, 96, 8, 8
"""Columns of the palette; percent of the terminal's, at most; of what is around a line in it; and
those at a line's end where only its key stands."""
LAST = 1e8
"""What a rank is divided by of what is to come after all that can be done."""


class Application(Protocol):
    """The application, as far as the palette has to know it."""

    session: Session

    @property
    def current_mode(self) -> str: ...
    def action_page(self, name: str) -> None: ...
    def new_page(self, name: str) -> Screen[Any]: ...
    def opened_page(self, name: str) -> Screen[Any] | None: ...
    async def act_on(self, name: str, key: Key) -> None: ...
    def flash(self, words: str) -> None: ...


class Palette(CommandPalette):
    """Textual's; its list is not moved in before it was laid out, and it is left once, also by two
    keys at a time: either ends the program there. Enter chooses of what was found for all that is
    written, and waits until that has been looked for: there it runs what was found for less."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._looking: Worker[Any] | None = None

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _chosen_before(self, event: Input.Submitted | OptionList.OptionSelected) -> None:
        if not self.is_current:
            event.prevent_default()
        elif isinstance(event, Input.Submitted) and not self._found:
            event.prevent_default()
            event.stop()
            self._choose_when_found()

    def _start_no_matches_countdown(self, search_value: str) -> None:
        """Textual's, but for what it says."""
        self._stop_no_matches_countdown()

        def say() -> None:
            self._list_visible = bool(search_value)
            if search_value:
                below = self.app.screen_stack[-2]
                words = NOTHING_IN_A_DIALOG if below.is_modal else NOTHING_FOUND
                option = Option(words, disabled=True, id=self._NO_MATCHES)
                self.query_one(CommandList).add_option(option)

        self._no_matches_timer = self.set_timer(NOTHING_AFTER_S, say)

    def _gather_commands(self, search_value: str) -> Worker[Any]:
        self._looking = super()._gather_commands(search_value)
        return self._looking

    @property
    def _found(self) -> bool:
        """What is listed is what there is for all that is written: Enter comes after the change
        before it, and that begins to look."""
        return self._looking is not None and self._looking.is_finished

    @work(group="choose", exclusive=True)
    async def _choose_when_found(self) -> None:
        with typed_ahead(self).held():
            while self._looking is not None and not self._looking.is_finished:
                with suppress(WorkerError):  # the next search has taken its place
                    await self._looking.wait()
        if self.is_current:
            self._select_or_command()

    def _action_escape(self) -> None:
        if self.is_current:
            super()._action_escape()

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).size:
            super()._action_command_list(action)


class ActionsProvider(Provider):
    """Every action, or why it is not done. On another page it is done there, once that is in
    front."""

    def _actions(self) -> Iterator[Action]:
        there = list(around(self.screen))
        seen: set[str] = set()
        for node in there:
            for key in _keys(node):
                if key.action not in seen:
                    seen.add(key.action)
                    label = key.named or as_now(node, key).label
                    yield from self._told(
                        node, key, label, partial(self.app.run_action, key.action, node)
                    )
        if not self.screen.is_modal:
            yield from self._beside(there)
            yield from self._elsewhere()

    def _beside(self, there: Sequence[DOMNode]) -> Iterator[Action]:
        """On the page's other panels, of each kind the first."""
        told = {panel_of(node) for node in there}
        for widget in self.screen.query("*"):
            name = panel_of(widget)
            if name not in told and widget.focusable:
                told.add(name)
                for key in _keys(widget):
                    label = f"{PANELS[name].title}: {key.named or key.label}"
                    yield from self._told(widget, key, label, partial(self._on_panel, widget, key))

    async def _on_panel(self, widget: Widget, key: Key) -> None:
        widget.focus()
        await self.app.run_action(key.action, widget)

    def _elsewhere(self) -> Iterator[Action]:
        app = cast(Application, self.app)
        for name, page in PAGES.items():
            if name == app.current_mode or not self.app.check_action("page", (name,)):
                continue
            opened = app.opened_page(name)
            whose = opened if opened is not None else app.new_page(name)
            empty = NO_CAMPAIGN * (page.of_campaign and not app.session.views)
            for key in (one for one in PANELS[name].keys if one.palette):
                label = f"{page.label}: {key.named or key.label}"
                changes = name == "matrix" and key.action not in LEAVE_PLAN
                told = replace(key, help=CHANGES_PLAN * changes + key.help)
                act = partial(app.act_on, name, key)
                if why := never(whose, key.action.partition("(")[0]) or empty:
                    yield self._refused(key, label, why)
                elif opened is not None:
                    yield from self._told(opened, told, label, act)
                else:
                    yield told, label, act, "", ""

    def _told(self, node: DOMNode, key: Key, label: str, act: Act) -> Iterator[Action]:
        """It, where it is done now or somebody says why not."""
        if enabled(node, key):
            yield key, label, act, "", getattr(node, "concerns_now", {}).get(key.action, "")
        elif why := why_idle(node, key):
            at_all = never(node, key.action.partition("(")[0])
            yield self._refused(key, label, at_all or f"{NOT_NOW}{why}")

    def _refused(self, key: Key, label: str, why: str) -> Action:
        words = f"{key_name(key)} {label}: {why.removeprefix(NOT_NOW)}"
        return key, label, partial(self._say, words), why, ""

    async def discover(self) -> Hits:
        for key, label, act, why, whose in self._actions():
            if not why:
                line = self._line(key, label, _about(key, whose))
                yield DiscoveryHit(line, act, text=_named(key, label))

    async def search(self, query: str) -> Hits:
        """What is not done now comes last, and says why; not for the name of its page alone, nor
        for that of what an action would be done to."""
        for key, label, act, why, whose in self._actions():
            place, _, own = label.rpartition(": ")
            text = _named(key, own if why and rank(query, place, "") else label)
            called = any(rank(word, text, "") for word in query.split())
            if (score := rank(query, text, _about(key, whose if called else ""))) > 0:
                shown = self._line(key, label, why or _about(key, whose), MUTED if why else "")
                later = LATER if key.help.startswith(CHANGES_PLAN) else 1
                yield Hit(score / (LAST if why else later), shown, act, text=text)

    async def _say(self, words: str) -> None:
        cast(Application, self.app).flash(words)

    def _line(self, key: Key, label: str, about: str, style: str = "") -> Text:
        return palette_line(self.app, label, beyond(key, label, about), key_name(key), style)


def _about(key: Key, whose: str) -> str:
    return f"{whose}: {key.help}" if whose else key.help


def palette_line(app: App[Any], label: str, words: str, key: str, style: str = "") -> Text:
    """An action and what it does, with its key at the right."""
    room = min(WIDEST, app.size.width * MOST // 100) - AROUND
    words = brief(words, room - KEY - cell_len(f"{label}  "))
    line = Text.assemble((label, style), (f"  {words}".rstrip(), MUTED))
    line.align("left", room - cell_len(key))
    return line.append(key, style or ACCENT)


def brief(words: str, room: int) -> str:
    """All of it, or as many of its clauses as have room, or its first words, with "…" behind."""
    if cell_len(words) <= room:
        return words
    ends = [found.start() for found in re.finditer(r"[;.] ", words)]
    clauses = (f"{words[:end]} …" for end in reversed(ends))
    first = textwrap.shorten(words, max(room, 1), placeholder=" …")
    return next((one for one in clauses if cell_len(one) <= room), first)


def beyond(key: Key, label: str, about: str) -> str:
    """Of ``about`` what ``label`` does not say; of a key that now takes back what it did, that."""
    name = label.rpartition(": ")[2]
    if name not in (key.named, key.label) and (back := about.partition(AGAIN)[2]):
        return "" if back in name.casefold() else back
    same = about.removeprefix(CHANGES_PLAN).casefold() == name.casefold()
    return about[: -len(name)].rstrip(": ") if same else about


def _named(key: Key, label: str) -> str:
    """By which it is looked for."""
    return f"{label}  ({key_name(key)})"


def rank(query: str, name: str, about: str) -> float:
    """0 for none. An action of which words are called so comes before one in the name of which
    ``query`` stands, or of which it is the initials, and that before one of which only words are: a
    word that nearly all have finds none. Of those that are called so the first are that begin so.
    """
    if _begins_words(query, name):
        own = name.rpartition(": ")[2].lower()
        return 2000 + own.startswith(query.strip().lower())
    if _stands_in(query, name):
        return 1000
    says = query.strip().lower() not in SMALL_WORDS and _begins_words(query, about)
    return float(says)


def _stands_in(query: str, name: str) -> bool:
    """In one piece, or as the initials of words that follow each other."""
    wanted = " ".join(query.lower().split())
    initials = "".join(word[0] for word in re.findall(r"\w+", name.lower().partition("  (")[0]))
    return len(wanted) > 1 and (wanted in name.lower() or wanted in initials)


def _begins_words(query: str, text: str) -> bool:
    """Each word of ``query`` is what ``text`` goes on with at a word of it, spaces or not."""
    words = re.findall(r"\w+", text.lower())
    ahead = ["".join(words[at:]) for at in range(len(words))]
    wanted = query.lower().split()
    return bool(wanted) and all(any(a.startswith(one) for a in ahead) for one in wanted)


def _keys(node: DOMNode) -> Iterator[Key]:
    panel = PANELS.get(panel_of(node))
    yield from (key for key in (panel.keys if panel else ()) if key.palette)
