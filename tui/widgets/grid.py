"""The matrix itself: cases down, parameter combinations across, one mark per place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.key_bindings import bindings
from tui.matrix_marks import Cell
from tui.text import plain, shorten
from tui.theme import ACCENT, CURSOR, GOOD, MUTED, RAISED, TEXT

TAG_WIDTH = 8


class MatrixGrid(ScrollView, can_focus=True, inherit_bindings=False):
    """Draws cells and moves the cursor; what a mark means is the page's business."""

    PANEL = "grid"
    BINDINGS = bindings("grid")

    class Moved(Message):
        """The cursor is on another cell."""

    class Toggled(Message):
        """These cells are to be marked, or unmarked when all of them are."""

        def __init__(self, cells: tuple[Cell, ...]) -> None:
            super().__init__()
            self.cells = cells

    def __init__(self) -> None:
        super().__init__(id="grid")
        self._name = ""
        self._cells: tuple[tuple[Cell, ...], ...] = ()
        self._labels: tuple[str, ...] = ()
        self._kinds: tuple[str, ...] = ()
        self._marks: tuple[int, ...] = ()  # the widest of each column
        self._row = 0
        self._column = 0

    def show(
        self,
        name: str,
        labels: Sequence[str],
        cells: tuple[tuple[Cell, ...], ...],
        kinds: Sequence[str] = (),
    ) -> None:
        """Show a profile's grid; the cursor of another one begins at its first mark.

        ``kinds``: of columns that are to be told apart, in a line above their labels.
        """
        shown = (self._name, self._labels, self._cells, self._kinds)
        if (name, tuple(labels), cells, tuple(kinds)) == shown:
            return
        if name != self._name:
            self._row, self._column = first_mark(cells)
            self.scroll_home(animate=False)
        self._name, self._labels, self._cells, self._kinds = (
            name,
            tuple(labels),
            cells,
            tuple(kinds),
        )
        self._row = min(self._row, max(0, len(cells) - 1))
        self._column = min(self._column, max(0, len(self._labels) - 1))
        self._marks = tuple(
            max((len(_mark(row[column])) for row in cells), default=0)
            for column in range(len(labels))
        )
        self.virtual_size = Size(self._left(len(self._labels)), len(cells) + self._head)
        self.refresh()

    def forget_cursor(self) -> None:
        """The grid is shown next as one never seen, with the cursor on its first mark."""
        self._name = ""

    @property
    def current(self) -> Cell | None:
        """The cell under the cursor."""
        if self._row < len(self._cells) and self._column < len(self._cells[self._row]):
            return self._cells[self._row][self._column]
        return None

    @property
    def markable(self) -> tuple[bool, bool]:
        """Whether the cell under the cursor can be marked, and whether any in its row can."""
        row = self._cells[self._row] if self._row < len(self._cells) else ()
        possible = [cell.state != "impossible" for cell in row]
        return any(possible[self._column : self._column + 1]), any(possible)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        cell, row = self.markable
        return {"mark": cell, "mark_row": row}.get(action, True)

    @property
    def _head(self) -> int:
        """Lines above the cells, which stay where they are."""
        return 2 if self._kinds else 1

    def _width(self, column: int) -> int:
        return max(7, len(self._labels[column]) + 3, self._marks[column] + 3)

    def _left(self, column: int) -> int:
        return TAG_WIDTH + sum(self._width(i) for i in range(column))

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        line = y + scroll_y - self._head
        if y == 0 and self._kinds:
            text = self._kinds_line()
        elif y < self._head:
            text = self._heading()
        elif line < len(self._cells):
            text = self._line(line)
        else:
            text = Text()
        strip = Strip(text.render(self.app.console), text.cell_len)
        base = self.rich_style
        # The rows keep their names in sight.
        name = strip.crop_extend(0, TAG_WIDTH, base)
        left = TAG_WIDTH + scroll_x
        cells = strip.crop_extend(left, left + max(0, self.size.width - TAG_WIDTH), base)
        return Strip.join([name, cells]).apply_style(base)

    def _heading(self) -> Text:
        text = Text(" " * TAG_WIDTH, end="")
        for index, label in enumerate(self._labels):
            style = f"bold {TEXT}" if index == self._column else MUTED
            text.append(plain(label).center(self._width(index)), style)
        return text

    def _kinds_line(self) -> Text:
        """Each kind once, over the first of its columns and as far as they reach."""
        text = Text(" " * TAG_WIDTH, end="")
        for kind, columns in groupby(range(len(self._kinds)), self._kinds.__getitem__):
            room = sum(map(self._width, columns))
            words = kind if len(kind) < room - 1 else kind.partition(" ")[0]
            text.append(f" {words}".ljust(room), ACCENT)
        return text

    def _line(self, row: int) -> Text:
        cells = self._cells[row]
        here = row == self._row
        text = Text(end="")
        tag = cells[0].case.tag if cells else ""
        text.append(f" {tag:<{TAG_WIDTH - 1}}", f"bold {TEXT}" if here else MUTED)
        reasons = {cell.reason for cell in cells}
        if len(reasons) == 1 and cells and cells[0].reason:
            room = max(12, self.size.width - TAG_WIDTH - 2)
            words = shorten(f"·  {plain(cells[0].reason)}", room)
            return text.append(f" {words} ", self._style(MUTED, here))
        for column, cell in enumerate(cells):
            cursor = here and column == self._column
            mark, colour = _mark(cell).ljust(self._marks[column]), _colour(cell)
            width = self._width(column)
            before = (width - len(mark)) // 2
            text.append(" " * (before - 1))
            text.append(f" {mark} ", self._style(colour, cursor))
            text.append(" " * (width - before - len(mark) - 1))
        return text

    def _style(self, colour: str, cursor: bool) -> str:
        if not cursor:
            return colour
        return f"bold {colour} on {CURSOR if self.has_focus else RAISED}"

    def action_move(self, x: int, y: int) -> None:
        self._row = min(max(0, self._row + y), max(0, len(self._cells) - 1))
        self._column = min(max(0, self._column + x), max(0, len(self._labels) - 1))
        # As wide as the row's name, too, which covers what is scrolled beneath it.
        left = self._left(self._column) - TAG_WIDTH
        right = self._left(min(self._column + 1, len(self._labels)))
        region = Region(left, self._row + (self._head if self._row else 0), right - left, 1)
        self.scroll_to_region(region, animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved())

    def action_mark(self) -> None:
        if self.current is not None:
            self.post_message(self.Toggled((self.current,)))

    def action_mark_row(self) -> None:
        if self._row < len(self._cells):
            self.post_message(self.Toggled(self._cells[self._row]))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; on the cell under the cursor it marks."""
        row = event.y + round(self.scroll_y) - self._head
        x = event.x + (round(self.scroll_x) if event.x >= TAG_WIDTH else 0)
        column = next(
            (i for i in range(len(self._labels)) if self._left(i) <= x < self._left(i + 1)), None
        )
        if column is None or not 0 <= row < len(self._cells):
            return
        same = (row, column) == (self._row, self._column)
        self._row, self._column = row, column
        self.refresh()
        self.post_message(self.Moved())
        if same:
            self.action_mark()


_MARKS = {"marked": "[x]", "free": "[ ]", "impossible": " · "}
_AWAITED = {"marked": "[·]", "free": " ? "}
_COLOURS = {"marked": GOOD, "free": TEXT, "impossible": MUTED}


def _colour(cell: Cell) -> str:
    return MUTED if cell.awaits else _COLOURS[cell.state]


def _mark(cell: Cell) -> str:
    """Of strong scaling with the batch of each device, which differs from row to row."""
    mark = (_AWAITED if cell.awaits else _MARKS)[cell.state]
    return f"{mark} b{cell.case.batch_size}" if cell.strong and cell.case.batch_size else mark


def first_mark(cells: tuple[tuple[Cell, ...], ...]) -> tuple[int, int]:
    """Row and column of the first marked cell; without one, the first place."""
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            if cell.state == "marked":
                return row, column
    return 0, 0
