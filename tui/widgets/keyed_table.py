"""A table whose rows have keys: a refresh leaves the cursor on its row and the scroll in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.coordinate import Coordinate
from textual.dom import DOMNode
from textual.message import Message
from textual.strip import Strip
from textual.widgets import DataTable
from textual.widgets._data_table import RowRenderables
from textual.widgets.data_table import CellKey, RowKey

from tui.key_bindings import bindings
from tui.text import (
    first_part,
    gravest_parts,
    shorten,
    whole_parts,
    whole_words,
    without_last_middles,
    without_middle,
    without_middles,
)
from tui.theme import MUTED

_Place = tuple[int, int, bool, bool]
_PaintedCell = tuple[Text, object, list[list[Segment]]]

CELLS_KEPT = 4096
NOTHING = ("", "–")
"""What a cell holds of which there is nothing to tell."""


@dataclass(frozen=True, slots=True)
class Column:
    """``width``: columns of text; None: what the others leave (one such column, ``least`` of them
    or more).

    ``from_width``: the column is left out while the table is narrower than that, and where names
    that would be cut are whole without it. ``most``: it may
    grow to so many for what its cells hold, where the other column leaves that empty; of the other
    one: what it is to have, whatever its cells hold, before others grow. A column that needs less
    than its ``width`` gives the rest where the other one is too narrow; one in which there has been
    nothing at all gives all of it, the last one first; but none that is ``still``: what it holds
    changes by the minute. ``ends``: of names, whose ends both stay where one is too long;
    ``apart``: and no two of them look alike; ``last``: their last word is cut before any other.
    ``parts``: the first of them, whole, and how many more there are, ``gravest``: the first count
    alone, where there is no room: what gives way first is left out before. ``words``: of
    sentences, which end behind a word. ``if_any``:
    left out until there is something in it. ``gives_way``: left out, 1 before 2, what has held
    nothing before all, where names or the least of the other column would be cut beside it;
    ``enough``: of names, columns beyond which they are cut rather.
    ``first``: what must be whole: it grows while the other column has more than the least; to
    ``must`` also where the other is left with ``least``, whatever that shows of its cells.

    What a column needs is the most that it has held at this width, in the rows that the filter
    leaves: columns stand still while their cells come and go.
    """

    key: str
    label: str
    width: int | None
    from_width: int = 0
    right: bool = False
    most: int = 0
    ends: bool = False
    apart: bool = False
    last: bool = False
    parts: bool = False
    gravest: bool = False
    words: bool = False
    first: bool = False
    must: int = 0
    if_any: bool = False
    still: bool = False
    least: int = 8
    gives_way: int = 0
    enough: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """``cells`` in the order of the columns. ``find``: what ``/`` searches besides the cells.
    ``spread``: the number of a cell that may go on over the cells behind it in which there is
    nothing; no column is as wide as that one would be. ``insists``: over others too, as far as it
    has no room without them. ``replaced``: another row counts in its place."""

    key: str
    cells: tuple[Text, ...]
    find: str = ""
    spread: int | None = None
    insists: bool = False
    replaced: bool = False
    widths: tuple[int, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        widths = (0 if n == self.spread else cell.cell_len for n, cell in enumerate(self.cells))
        object.__setattr__(self, "widths", tuple(widths))

    def matches(self, words: Sequence[str]) -> bool:
        text = " ".join([self.find, *(c.plain for c in self.cells)]).casefold()
        return all(word in text for word in words)


class KeyedTable(DataTable[Text], inherit_bindings=False):
    """Rows are given whole by :meth:`refill`; only what differs is drawn again."""

    PANEL = "table"
    BINDINGS = bindings("table")

    class Moved(Message):
        """The cursor is on another row (``key`` None: the table is empty)."""

        def __init__(self, table: KeyedTable, key: str | None) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> KeyedTable:
            return self.table

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(
            id=id,
            cursor_type="row",
            cell_padding=1,
            show_row_labels=False,
            cursor_foreground_priority="renderable",
        )
        self._all_columns = tuple(columns)
        self._shown: tuple[tuple[Column, int], ...] = ()
        self._numbers: tuple[int, ...] = ()  # of the shown among all, as they were drawn
        self._rows: tuple[Row, ...] = ()
        self._keys: list[str] = []
        self._drawn: dict[str, tuple[Row, tuple[Text, ...]]] = {}
        self._words: tuple[str, ...] = ()
        self._told_apart: tuple[list[Text], int, Mapping[str, Text]] | None = None
        self._apart_of: tuple[Row, ...] = ()
        self._needed: dict[str, int] = {}
        self._bearable: dict[str, int] = {}  # where only the gravest of what they hold is left
        self._filled: set[str] = set()  # columns that have had something in them at this width
        self._width = 0  # that it was laid out for
        self._last_key: str | None = None
        self._other = False  # no row of before is among them
        self._lost: str | None = None  # where the cursor was when the last row went
        self._read: str | None = None  # under the cursor: it stays, though it matches no more
        self._rebuilding = False
        self._painted: dict[_Place, _PaintedCell] = {}

    @property
    def current_key(self) -> str | None:
        """The key of the row under the cursor; None when the table is empty."""
        if 0 <= self.cursor_row < len(self._keys):
            return self._keys[self.cursor_row]
        return None

    @property
    def found(self) -> bool:
        """Whether there is a row to show, though it may not have been drawn yet."""
        return any(map(self._is_shown, self._rows))

    def _is_shown(self, row: Row) -> bool:
        return not self._words or row.key == self._read or row.matches(self._words)

    @property
    def unmatched(self) -> bool:
        """The row under the cursor matches the filter no more, and goes when the cursor does."""
        return any(row.key == self._read and not row.matches(self._words) for row in self._rows)

    @property
    def row_total(self) -> int:
        """Of all rows, those too that the filter leaves out."""
        return len(self._rows)

    @property
    def replaced_shown(self) -> int:
        """How many of the rows that match another one counts in the place of."""
        shown = (self._drawn[key][0] for key in self._keys)
        return sum(row.replaced and row.matches(self._words) for row in shown)

    @property
    def shown_keys(self) -> tuple[str, ...]:
        return tuple(self._keys)

    @property
    def matching_keys(self) -> tuple[str, ...]:
        """Without the row that stays, though it matches the filter no more, while it is read."""
        return tuple(key for key in self._keys if self._drawn[key][0].matches(self._words))

    @property
    def shown_columns(self) -> frozenset[str]:
        """By their keys."""
        return frozenset(column.key for column, _ in self._shown)

    def select(self, key: str) -> None:
        """Put the cursor on a row, if it is shown."""
        if key in self._keys:
            self.move_cursor(row=self._keys.index(key), animate=False)

    def show_cursor_row(self) -> None:
        """Scroll to it, where it is out of sight since the rows are in another order."""
        self._scroll_cursor_into_view(animate=False)

    def filter_rows(self, text: str) -> None:
        """Show only rows that contain every word of ``text``, whatever the case."""
        kept = self.current_key or self._lost
        words = tuple(text.casefold().split())
        if words != self._words:
            self._words = words
            self.forget()
        self._read = None
        self._draw()
        if self._keys and self.current_key != kept:
            self.move_cursor(row=0, animate=False)

    def refill(self, rows: Sequence[Row], columns: Sequence[Column] | None = None) -> None:
        """Make ``rows`` the content. The cursor stays on its key, also where that matches the
        filter no more; what is gone gives way. Where none of the old ones is there it begins.

        ``columns``: as many as there are, where other words are wanted; drawn anew if they
        differ.
        """
        if not {row.key for row in rows} & {row.key for row in self._rows}:
            self.forget()
            self._other = True
        self._rows, self._read = tuple(rows), self.current_key
        self._all_columns = tuple(columns or self._all_columns)
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        if self.size.width != self._width:  # else it is longer, or has a scrollbar
            self._width = self.size.width
            self.forget()
        self._draw()

    def forget(self) -> None:
        """What columns have held: they stand still while content, width and filter are the same."""
        self._needed.clear()
        self._bearable.clear()
        self._filled.clear()

    def _layout(self) -> tuple[tuple[Column, int], ...]:
        """Visible columns and their widths for the present width."""
        needed = self._note_needed()
        total = self.scrollable_content_region.width or self.size.width or 80
        chosen = self._chosen(total, needed)
        fixed = sum(c.width for c in chosen if c.width is not None)
        rest = total - fixed - 2 * self.cell_padding * len(chosen)
        widths = {c.key: c.width or 0 for c in chosen}
        other = next((c for c in chosen if c.width is None), None)
        least = self._least(other) if other else 0
        wanted = max(other.most or needed[other.key], least) if other else 0
        missing = {
            c.key: max(0, min(needed[c.key], c.most) - widths[c.key]) for c in chosen if c.first
        }
        musts = {c.key: c.must for c in chosen}
        spare = rest - wanted - sum(missing.values())
        gives = [c for c in chosen if c.width is not None and not c.still]
        cut = sum(max(0, min(needed[c.key], c.most) - widths[c.key]) for c in gives if not c.first)
        for column in gives:
            if spare < cut:
                enough = max(needed[column.key], cell_len(column.label))
                given = max(0, min(widths[column.key] - enough, cut - spare))
                widths[column.key] -= given
                spare, rest = spare + given, rest + given
        for column in reversed(gives):
            if spare < 0 and column.key not in self._filled:
                chosen.remove(column)
                given = widths[column.key] + 2 * self.cell_padding
                spare, rest = spare + given, rest + given
        names = {c.key for c in chosen if c.ends}  # which can be told without their middle
        for key, more in sorted(missing.items(), key=lambda one: one[0] in names):
            most = rest - least
            if other and (must := musts[key] - widths[key]) > most:
                most = min(must, rest - other.least)
                least = min(least, max(rest - most, other.least))
            given = max(0, min(more, most))
            widths[key] += given
            spare, rest = spare + more - given, rest - given
            for name in chosen if key not in names else ():  # these are cut rather
                if name.ends and given < more:
                    taken = max(0, min(more - given, widths[name.key] - name.least))
                    widths[key], widths[name.key] = widths[key] + taken, widths[name.key] - taken
                    given += taken
        for column in chosen:
            if spare > 0 and column is not other and column.most > widths[column.key]:
                more = min(needed[column.key], column.most) - widths[column.key]
                more = max(0, min(more, spare))
                widths[column.key] += more
                spare, rest = spare - more, rest - more
        for column in gives:
            if other and column in chosen and rest < needed[other.key]:
                enough = max(self._bearable[column.key], cell_len(column.label))
                given = max(0, min(widths[column.key] - enough, needed[other.key] - rest))
                widths[column.key], rest = widths[column.key] - given, rest + given
        return tuple((c, max(least, rest) if c is other else widths[c.key]) for c in chosen)

    def _chosen(self, total: int, needed: Mapping[str, int]) -> list[Column]:
        """Without those that only a wide table has or that give way, where names are whole then."""
        chosen = [
            c
            for c in self._all_columns
            if total >= c.from_width and not (c.if_any and c.key not in self._filled)
        ]
        late = [c for c in chosen if c.from_width or c.gives_way]
        late.sort(key=lambda c: (c.key not in self._filled, -c.gives_way))
        firm = [c for c in chosen if not c.gives_way]
        names = next((c for c in chosen if c.ends), None)
        if names is None or (names.width is not None and firm == chosen):
            return chosen

        def room(column: Column) -> int:
            if column is names:
                most = column.enough or column.most or needed[column.key]
                width = max(column.width or 0, min(needed[column.key], most))
            elif column.still or column.width is None:
                width = self._least(column) if column.width is None else column.width
            elif column.key not in self._filled:
                return 0
            else:
                width = min(column.width, max(self._bearable[column.key], cell_len(column.label)))
                width = max(width, min(needed[column.key], column.most) if column.first else 0)
            return width + 2 * self.cell_padding

        spare = total - sum(map(room, chosen))
        for kept in range(len(late), -1, -1):
            gone = late[kept:]
            if spare + sum(map(room, gone)) >= 0:
                left = [c for c in chosen if c not in gone]
                rest = total - sum(map(room, left))
                lacks = sum(min(needed[c.key], c.most) + 2 - room(c) for c in left if c.gravest)
                return [c for c in left if c.gives_way != 1 or lacks <= rest]
        return firm

    def _least(self, column: Column) -> int:
        """Of the other column: where it is of parts, what shows the first of every row."""
        return max(column.least, self._bearable[column.key] if column.parts else 0)

    def _note_needed(self) -> dict[str, int]:
        """By column, the longest that it has held; and in which there has been anything."""
        rows = [row for row in self._rows if self._is_shown(row)]
        for number, column in enumerate(self._all_columns):
            longest = max((row.widths[number] for row in rows), default=0)
            self._needed[column.key] = max(self._needed.get(column.key, 0), longest)
            if column.gravest or column.parts:
                alone = first_part if column.parts else partial(gravest_parts, width=0)
                cells = (row.cells[number] for row in rows)
                longest = max((alone(text).cell_len for text in cells), default=0)
            self._bearable[column.key] = max(self._bearable.get(column.key, 0), longest)
            if column.key not in self._filled and any(
                row.cells[number].plain not in NOTHING for row in rows
            ):
                self._filled.add(column.key)
        return self._needed

    def _draw(self) -> None:
        if not self.is_mounted or not self._laid_out():
            return
        rows = [row for row in self._rows if self._is_shown(row)]
        layout = self._layout()
        self._numbers = tuple(self._all_columns.index(column) for column, _ in layout)
        keys = [row.key for row in rows]
        again = self._lost is not None
        if again or layout != self._shown or keys[: len(self._keys)] != self._keys:
            self._rebuild(rows, layout)
        else:
            self._update(rows)
        self._other = False
        self._announce()

    def _laid_out(self) -> bool:
        """Whether drawing makes sense: a hidden table has no size, but its rows count."""
        return bool(self.size.width) or not self.display

    def _visible(self, row: Row) -> tuple[Text, ...]:
        widths = {column.key: width for column, width in self._shown}

        def fitted(text: Text, column: Column) -> Text:
            if column.apart:
                return self._apart(column, widths[column.key])[text.plain]
            if column.words:
                return whole_words(text, widths[column.key])
            if column.parts:
                return whole_parts(text, widths[column.key])
            if column.gravest:
                return gravest_parts(text, widths[column.key])
            return without_middle(text, widths[column.key]) if column.ends else text

        return tuple(
            fitted(text, column)
            for column, text in zip(self._all_columns, row.cells, strict=True)
            if column.key in widths
        )

    def _apart(self, column: Column, width: int) -> Mapping[str, Text]:
        """Of all rows, so that none reads otherwise because of a filter."""
        known = self._told_apart
        if known is not None and self._apart_of is self._rows and known[1] == width:
            return known[2]
        number = self._all_columns.index(column)
        cells = [row.cells[number] for row in self._rows]
        if known is None or (known[0], known[1]) != (cells, width):  # most are the same objects
            told = (without_last_middles if column.last else without_middles)(cells, width)
            known = (cells, width, told)
        self._told_apart, self._apart_of = known, self._rows
        return known[2]

    def _rebuild(self, rows: Sequence[Row], layout: tuple[tuple[Column, int], ...]) -> None:
        kept, index, scroll = self.current_key or self._lost, self.cursor_row, self.scroll_y
        self._rebuilding = True
        self.clear(columns=layout != self._shown)
        if layout != self._shown:
            self._shown = layout
            for column, width in layout:
                label = Text(column.label, style=MUTED, justify="right" if column.right else "left")
                self.add_column(label, width=width, key=column.key)
        self._keys, self._drawn = [], {}
        self._append(rows)
        self._lost = None if self._keys else kept
        if self._other:
            index, scroll = 0, 0.0
        if self._keys:
            row = self._keys.index(kept) if kept in self._keys else min(index, len(rows) - 1)
            self.move_cursor(row=max(0, row), animate=False, scroll=False)
            self.scroll_to(y=scroll, animate=False)
        self._rebuilding = False

    def _update_column_widths(self, updated_cells: set[CellKey]) -> None:
        """Nothing: every column has its width, and measuring a thousand rows takes a while."""

    def _update_dimensions(self, new_rows: Iterable[RowKey]) -> None:
        super()._update_dimensions(())  # as above

    def _append(self, rows: Sequence[Row]) -> None:
        for row in rows:
            cells = self._visible(row)
            self.add_row(*cells, key=row.key)
            self._keys.append(row.key)
            self._drawn[row.key] = row, cells
        if rows:  # at once, or what lies below is drawn beside a table of one row, and then again
            self._update_dimensions(())

    def _update(self, rows: Sequence[Row]) -> None:
        for index, row in enumerate(rows[: len(self._keys)]):
            before, drawn = self._drawn[row.key]
            if row is before:
                continue
            cells = self._visible(row)
            for place, (new, old) in enumerate(zip(cells, drawn, strict=True)):
                if new is not old and not _same(new, old):
                    self.update_cell_at(Coordinate(index, place), new)
                    if row.spread is not None or before.spread is not None:
                        self.refresh_row(index)
            self._drawn[row.key] = row, cells
        self._append(rows[len(self._keys) :])

    def _render_cell(
        self,
        row_index: int,
        column_index: int,
        base_style: Style,
        width: int,
        cursor: bool = False,
        hover: bool = False,
    ) -> list[list[Segment]]:
        """Textual's own paints every cell anew when any of them has changed, or the focus has."""
        header = row_index < 0
        text = (
            self.ordered_columns[column_index].label
            if header
            else self.get_cell_at(Coordinate(row_index, column_index))
        )
        styles = self._get_styles_to_render_cell(
            header, False, False, hover, cursor, self.show_cursor, self._show_hover_cursor,
            self.cursor_foreground_priority == "css", self.cursor_background_priority == "css",
        )  # fmt: skip
        over = range(0) if header else self._spread_of(row_index)
        if column_index in over:
            text = self.get_cell_at(Coordinate(row_index, over[0]))
        widths = [self.ordered_columns[n].get_render_width(self) for n in over]
        looks = (base_style, width, styles, over, widths)
        place = (row_index, column_index, cursor, hover)
        known = self._painted.get(place)
        if known is None or known[0] is not text or known[1] != looks:
            if column_index in over:
                whole = super()._render_cell(
                    row_index, over[0], base_style, sum(widths), cursor, hover
                )
                begin = sum(widths[: column_index - over[0]])
                lines = [list(Strip(line).crop(begin, begin + width)) for line in whole]
            else:
                lines = super()._render_cell(
                    row_index, column_index, base_style, width, cursor, hover
                )
            if len(self._painted) >= CELLS_KEPT:
                self._painted.clear()
            self._painted[place] = known = (text, looks, lines)
        return known[2]

    def _compute_row_renderables(self, row_index: int) -> RowRenderables:
        """A cell that goes on over others ends as a sentence does that is cut."""
        found = super()._compute_row_renderables(row_index)
        over = self._spread_of(row_index) if row_index >= 0 else range(0)
        text = found.cells[over[0]] if over else None
        if isinstance(text, Text) and text.cell_len > (room := self._room_of(over)):
            found.cells[over[0]] = text[: len(shorten(text.plain, room)) - 1].append("…")
        return found

    def _spread_of(self, row_index: int) -> range:
        """The shown columns over which one cell of the row goes on; empty where none does."""
        row = self._drawn[self._keys[row_index]][0] if row_index < len(self._keys) else None
        if row is None or row.spread is None:
            return range(0)
        numbers = self._numbers
        if row.spread not in numbers:
            return range(0)
        first = end = numbers.index(row.spread)
        room = self._shown[first][1]
        while end + 1 < len(numbers):
            short = row.insists and room < row.cells[row.spread].cell_len
            if not short and row.cells[numbers[end + 1]].plain not in NOTHING:
                break
            end += 1
            room += self._shown[end][1] + 2 * self.cell_padding
        return range(first, end + 1)

    def _room_of(self, over: range) -> int:
        return sum(self._shown[n][1] for n in over) + 2 * self.cell_padding * (len(over) - 1)

    @property
    def current_cut(self) -> bool:
        """The cell of the row under the cursor that goes on over others has no room for its end."""
        if (key := self.current_key) is None:
            return False
        row, over = self._drawn[key][0], self._spread_of(self.cursor_row)
        room = self._room_of(over)
        return bool(over) and row.spread is not None and row.cells[row.spread].cell_len > room

    @property
    def current_unseen(self) -> list[tuple[str, str]]:
        """What the row under the cursor holds and its columns cut, or are left out with: its column
        and all of it."""
        if (key := self.current_key) is None:
            return []
        row, widths = self._drawn[key][0], {column.key: width for column, width in self._shown}
        return [
            (column.label, text.plain)
            for column, text in zip(self._all_columns, row.cells, strict=True)
            if text.plain not in NOTHING and text.cell_len > widths.get(column.key, 0)
        ]

    def never(self, action: str) -> str:
        """For help, and whoever presses its key."""
        aside = action in ("scroll_left", "scroll_right") and not self.max_scroll_x
        return "every column is in sight" if aside else ""

    def not_now(self, action: str) -> str:
        return self.never(action)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not self.never(action) and super().check_action(action, parameters)

    def _announce(self) -> None:
        key = self.current_key
        if key != self._last_key:
            self._last_key = key
            # Not whoever filters: Textual ends the way of a message at its sender.
            self.post_message(self.Moved(self, key).set_sender(self))

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        if not self._rebuilding:
            if self.unmatched and self.current_key != self._read:
                self._read = None
                self._draw()
                self.show_cursor_row()
            self._announce()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()


def _same(one: Text, other: Text) -> bool:
    return one.plain == other.plain and one.spans == other.spans and one.style == other.style


def current_key(node: DOMNode) -> str | None:
    """Of the first table in ``node``; None before it is composed, and when it has gone."""
    tables = node.query(KeyedTable)
    return tables.first().current_key if tables else None
