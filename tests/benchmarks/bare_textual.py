"""What Textual itself takes for a key: an app of one table and one line, on the same terminal.

64 rows of eight columns, 16 cells of which change four times a second; the line below says which
row the cursor is on; ``?`` opens a dialog of text, ``1`` and ``2`` are pages. Nothing else is at
work: no hosts, no logs, no chart. It is the least that a console of Textual's own widgets takes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.screen import ModalScreen, Screen
from textual.widgets import DataTable, Static

ROWS, COLUMNS = 64, 8
CHANGED = 16
EVERY_S = 0.25
PAINTED = b"\x1b]9;painted\x07"
"""What a key asked for has been written before it."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "cursor": ("j", "j", "k", "k"),
    "page": ("1", "2"),
    "dialog": ("?", "escape"),
}


def all_painted(app: App[Any]) -> bool:
    """Nothing of the screen waits to be dealt with, laid out or painted."""
    screen = app.screen
    nodes = screen.walk_children(with_self=True)
    told = any(node.message_queue_size or node._next_callbacks for node in nodes)
    laid_out = not (screen._layout_required or screen._scroll_required)
    return laid_out and not (told or screen._repaint_required or screen._dirty_widgets)


async def until(condition: Callable[[], bool]) -> None:
    """Looked at every millisecond."""
    while not condition():
        await asyncio.sleep(0.001)


class Page(Screen[None]):
    BINDINGS: ClassVar = [("j", "down", "Down"), ("k", "up", "Up")]

    def compose(self) -> ComposeResult:
        yield DataTable(cursor_type="row")
        yield Static()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        self._columns = table.add_columns(*(f"column {n}" for n in range(COLUMNS)))
        self._rows = [table.add_row(*["0.0"] * COLUMNS) for _ in range(ROWS)]
        self._turn = count()
        self.set_interval(EVERY_S, self._change)

    def _change(self) -> None:
        for row in self._rows[:CHANGED]:
            figure = next(self._turn)
            column = self._columns[1 + figure % (COLUMNS - 1)]
            self.query_one(DataTable).update_cell(row, column, f"{figure:,}.0")

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        self.query_one(Static).update(f"row {event.cursor_row}")

    def action_down(self) -> None:
        self.query_one(DataTable).action_cursor_down()

    def action_up(self) -> None:
        self.query_one(DataTable).action_cursor_up()


class Dialog(ModalScreen[None]):
    BINDINGS: ClassVar = [("escape", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        yield Static("\n".join(f"key {n}: what it does" for n in range(30)))


class BareApp(App[None]):
    CSS = "DataTable { height: 1fr; } Dialog Static { width: 76; height: 32; border: round; }"
    MODES: ClassVar = {"1": Page, "2": Page}
    BINDINGS: ClassVar = [
        ("1", "switch_mode('1')", "One"),
        ("2", "switch_mode('2')", "Two"),
        ("?", "help", "Help"),
    ]

    def __init__(self, done: int) -> None:
        super().__init__()
        self._done = done
        self._told: set[asyncio.Task[None]] = set()

    async def on_mount(self) -> None:
        for page in ("2", "1"):
            await self.switch_mode(page)

    def action_help(self) -> None:
        self.push_screen(Dialog())

    async def on_event(self, event: events.Event) -> None:
        fresh = isinstance(event, events.Key) and not event.is_forwarded
        await super().on_event(event)
        if fresh or isinstance(event, events.Mount):
            self._told.add(asyncio.create_task(self._tell_terminal()))

    async def _tell_terminal(self) -> None:
        await until(lambda: not self.message_queue_size and all_painted(self))
        assert self._driver is not None
        self._driver.write(PAINTED.decode())
        os.write(self._done, b".")


if __name__ == "__main__":
    BareApp(int(sys.argv[1])).run()
