"""A framed table with its filter line."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from profiles.counted import counted
from tui.key_bindings import bindings
from tui.messages import Said
from tui.text import both_ends, plain
from tui.theme import MUTED
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.shown_text import ShownText

BETWEEN = " · "
CORNERS = 4
"""Columns of a frame beside its title, with the blanks around that."""
LEAST_TITLE = 6
LEAST_NAME = 8


def set_frame(widget: Widget, title: Text | str, footer: Text | str = "") -> None:
    """ShownText in a widget's frame, taken literally; drawn again only when they differ."""
    above = title if isinstance(title, Text) else Text(plain(title))
    below = footer if isinstance(footer, Text) else Text(plain(footer))
    if getattr(widget, "_framed", None) != (above.markup, below.markup):
        widget._framed = (above.markup, below.markup)  # type: ignore[attr-defined]
        widget.border_title = above
        widget.border_subtitle = below if below.plain else None


OF_ALL = "of all: "
"""Before what a frame counts below, which is every row, while a filter hides some."""


class FilterLine(Input):
    """Where ``/`` is typed."""

    PANEL = "filter"
    BINDINGS = bindings("filter")

    def __init__(self) -> None:
        super().__init__(placeholder="words that a row must have", compact=True)
        self.cursor_blink = False

        self.can_focus = False  # but for who has pressed the key: the focus never falls here

    def on_blur(self) -> None:
        self.can_focus = False

    def action_keep(self) -> None:
        if isinstance(self.parent, TablePanel):
            self.parent.table.focus()
            self.display = False  # the title has the words: the line is there while it has the keys
            if not self.value:
                self.parent.clear_filter()
            if not self.parent.table.found:
                words = "no row has these words; Esc takes the filter away"
                self.post_message(Said(words, until_key=True))

    def action_clear(self) -> None:
        if isinstance(self.parent, TablePanel):
            self.parent.clear_filter()


class TablePanel(Vertical):
    """Frame, title, table, and what to do when the table is empty."""

    class Filtered(Message):
        """By other words than before."""

    def __init__(
        self, table: KeyedTable, title: str, *, id: str | None = None, bare: bool = False
    ) -> None:
        """``bare``: without a frame; its ``heading`` belongs into the one around it."""
        super().__init__(id=id, classes="panel -bare" if bare else "panel")
        self.table = table
        self.heading: Text | str = title
        # In the frame, without the filter; and what gives way of the title.
        self._said: tuple[Text | str, Text | str, str] = (title, "", "")
        set_frame(self, title)
        self._empty = ShownText(classes="empty")
        self._line = FilterLine()

    def compose(self) -> ComposeResult:
        yield self.table
        yield self._empty
        yield self._line

    def on_mount(self) -> None:
        self._line.display = False
        self._empty.display = False

    def retitle(self, title: Text | str, footer: Text | str = "", name: str = "") -> None:
        """ShownText in the frame: above and, at the right, below. Text is taken literally.
        ``name``: what of the title is shortened first, to LEAST_NAME columns."""
        self._said = title, footer, name
        new = title if isinstance(title, Text) else Text(plain(title))
        new = self._with_room(new, plain(name))
        if self.filter_text:
            new = self._with_filter(new)
            footer = Text.assemble((OF_ALL, MUTED), footer) if footer else footer
        self.heading = new
        if not self.has_class("-bare"):
            set_frame(self, new, footer)

    def _with_room(self, title: Text, name: str) -> Text:
        """The title with as much of ``name`` as its other words leave room for; half of the frame
        where they are cut in any case."""
        behind = len(BETWEEN) + self._filtered.cell_len if self.filter_text else 0
        over = title.cell_len + behind - (self.size.width - CORNERS)
        before, found, after = title.plain.partition(name) if name else ("", "", "")
        if not found or over <= 0 or not self.size.width:
            return title
        room = cell_len(name) - over
        if room < LEAST_NAME:
            room = self.size.width // 2
        short = both_ends(name, min(cell_len(name), room))
        return Text(f"{before}{short}{after}")

    @property
    def _filtered(self) -> Text:
        """By which words, and how many rows have them."""
        gone, of, replaced = self.table.unmatched, self.table.row_total, self.table.replaced_shown
        found = len(self.table.shown_keys) - gone
        also = f"{BETWEEN}{counted(replaced, 'earlier attempt')}" if replaced else ""
        also += f"{BETWEEN}1 no longer matches" * gone
        return Text(f"/{plain(self.filter_text)} · {found} of {of}{also}", MUTED)

    def _with_filter(self, title: Text) -> Text:
        """Where there is no room for both the title gives: that rows are hidden must be seen."""
        filtered = self._filtered
        left = max(0, self.size.width - CORNERS) - filtered.cell_len - len(BETWEEN)
        if self.size.width and left < title.cell_len:
            if left < LEAST_TITLE:
                return filtered
            title = title.copy()
            title.truncate(left, overflow="ellipsis")
        return title + Text(BETWEEN, MUTED) + filtered

    def say_when_empty(self, words: str) -> None:
        """What stands in the place of no rows; say what to do next."""
        empty = not self.table.found
        if empty:
            self._empty.show(Text("\n".join(map(plain, words.split("\n"))), MUTED))
        self._empty.display = empty
        appears = not self.table.display
        self.table.display = not empty or bool(self.filter_text)  # which has the keys
        if appears and self.table.display and self.screen.focused is None:
            self.table.focus()  # the screen looked for it while it was not there
        self.set_class(empty, "-empty")

    @property
    def filter_text(self) -> str:
        return self._line.value

    def start_filter(self) -> None:
        self._line.display = self._line.can_focus = True
        self._line.focus()

    def clear_filter(self) -> bool:
        """Take the filter away; whether there was one."""
        had = bool(self._line.value) or self._line.display
        self._line.value = ""
        self._line.display = False
        self.table.display = True
        self.table.focus()
        return had

    def unhide(self, key: str) -> None:
        """Take the filter away where it hides the row."""
        if key not in self.table.shown_keys:
            self.clear_filter()
            self.table.filter_rows("")  # at once

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        event.stop()
        self.table.filter_rows(event.value)
        self.retitle(*self._said)
        self.screen.refresh_bindings()  # Esc has something else to do
        self.post_message(self.Filtered())

    @on(KeyedTable.Moved)
    def _moved(self) -> None:
        if self.filter_text:  # a row that matches no more goes when the cursor does
            self.retitle(*self._said)
