"""The matrix itself: cases down, parameter combinations across, one mark per place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.key_bindings import bindings
from tui.matrix_marks import Cell
from tui.theme import CURSOR, RAISED
from tui.widgets.grid_text import TAG_WIDTH, Figures, GridText


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
        self._grid = GridText((), ())
        self._row = 0
        self._column = 0
        self._base: Style | None = None  # of what is painted now

    def show(
        self,
        name: str,
        labels: Sequence[str],
        cells: tuple[tuple[Cell, ...], ...],
        kinds: Sequence[str] = (),
        figures: Figures = (),
    ) -> None:
        """Show a profile's grid; the cursor of another one begins at its first mark.

        ``kinds``, ``figures``: see :class:`GridText`.
        """
        shown = GridText(tuple(labels), cells, tuple(kinds), figures, self.size.width)
        other = name != self._name
        if not other and shown == self._grid:
            return
        tag = self.row[0].case.tag if self.row else ""
        there = [row[0].case.tag for row in cells if row]
        if other:
            self._row, self._column = first_mark(cells)
            self.scroll_home(animate=False)
        elif tag in there:  # rows may have come above it
            self._row = there.index(tag)
        self._name = name
        self._row = min(self._row, max(0, len(cells) - 1))
        self._column = min(self._column, max(0, len(labels) - 1))
        self._draw(shown)
        if other:
            self._into_sight()

    def _draw(self, grid: GridText) -> None:
        self._grid = grid
        hidden = grid.left[grid.furthest] - TAG_WIDTH  # before the last ones, which have all room
        width = hidden + grid.room if hidden else grid.left[-1]
        self.virtual_size = Size(width, len(grid.cells) + grid.head)
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        self._draw(replace(self._grid, room=event.size.width))
        self._into_sight()

    def to_row(self, tag: str) -> None:
        """The cursor, in its column."""
        there = [row[0].case.tag for row in self.cells]
        if tag in there:
            self.action_move(0, there.index(tag) - self._row)

    def forget_cursor(self) -> None:
        """The grid is shown next as one never seen, with the cursor on its first mark."""
        self._name = ""

    @property
    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """Rows of columns, as they are shown."""
        return self._grid.cells

    @property
    def lines(self) -> int:
        """As many as it needs, with those of a bar to scroll with."""
        return self._grid.head + len(self.cells) + 1 + (self._grid.furthest > 0)

    @property
    def least_lines(self) -> int:
        """Fewer are of no use: three rows, their heading, and a bar to scroll with."""
        return min(self.lines, self._grid.head + 3 + (self._grid.furthest > 0))

    @property
    def current(self) -> Cell | None:
        """The cell under the cursor."""
        if self._row < len(self.cells) and self._column < len(self.cells[self._row]):
            return self.cells[self._row][self._column]
        return None

    @property
    def row(self) -> tuple[Cell, ...]:
        """The cells in the row of the cursor."""
        return self.cells[self._row] if self._row < len(self.cells) else ()

    @property
    def column(self) -> tuple[Cell, ...]:
        """The cells in its column."""
        return tuple(row[self._column] for row in self.cells if self._column < len(row))

    @property
    def markable(self) -> tuple[bool, bool, bool]:
        """Whether the cell under the cursor can be marked, any in its row, any in its column."""
        here = self.row[self._column : self._column + 1]
        return _can(here), _can(self.row), _can(self.column)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        cell, row, column = self.markable
        return {"mark": cell, "mark_row": row, "mark_column": column}.get(action, True)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base = self.rich_style  # looked up once, and not for each line
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        grid, columns = self._grid, self._columns
        line = y + round(self.scroll_y) - grid.head
        if y == 0 and grid.kinds:
            text = grid.kinds_line(columns)
        elif y < grid.head:
            text = grid.heading(columns, self._column)[y - bool(grid.kinds)]
        elif line < len(grid.cells):
            raised = CURSOR if self.has_focus else RAISED
            text = grid.line(line, columns, (self._row, self._column), raised)
        else:
            text = Text()
        strip = Strip(text.render(self.app.console), text.cell_len)
        base = self._base or self.rich_style
        return strip.crop_extend(0, self.size.width, base).apply_style(base)

    @property
    def _columns(self) -> range:
        """Those in sight."""
        grid = self._grid
        return grid.columns(min(grid.furthest, bisect_left(grid.left, self.scroll_x + TAG_WIDTH)))

    def _into_sight(self) -> None:
        """The cell of the cursor, and its whole column."""
        grid = self._grid
        above = grid.head if self._row else 0
        first = grid.first_for(self._column, self._columns.start) if grid.labels else 0
        region = Region(round(self.scroll_x), self._row + above, 1, 1)
        self.scroll_to_region(region, animate=False, force=True)
        self.scroll_to(x=grid.left[first] - TAG_WIDTH, animate=False, force=True)

    def action_move(self, x: int, y: int) -> None:
        self._row = min(max(0, self._row + y), max(0, len(self.cells) - 1))
        self._column = min(max(0, self._column + x), max(0, len(self._grid.labels) - 1))
        self._into_sight()
        self.refresh()
        self.post_message(self.Moved())

    def action_end(self, direction: int) -> None:
        self.action_move(0, direction * len(self.cells))

    def action_page(self, direction: int) -> None:
        self.action_move(0, direction * max(1, self.size.height - self._grid.head))

    def action_mark(self) -> None:
        if self.current is not None:
            self.post_message(self.Toggled((self.current,)))

    def action_mark_row(self) -> None:
        self.post_message(self.Toggled(self.row))

    def action_mark_column(self) -> None:
        self.post_message(self.Toggled(self.column))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; on the cell under the cursor it marks."""
        row = event.y + round(self.scroll_y) - self._grid.head
        columns, left = self._columns, self._grid.left
        x = event.x + left[columns.start] - TAG_WIDTH
        column = next((i for i in columns if left[i] <= x < left[i + 1]), None)
        if column is None or not 0 <= row < len(self.cells):
            return
        same = (row, column) == (self._row, self._column)
        self._row, self._column = row, column
        self.refresh()
        self.post_message(self.Moved())
        if same:
            self.action_mark()


def _can(cells: Sequence[Cell]) -> bool:
    return any(cell.state != "impossible" for cell in cells)


def first_mark(cells: tuple[tuple[Cell, ...], ...]) -> tuple[int, int]:
    """Row and column of the first marked cell; without one, the first place."""
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            if cell.state == "marked":
                return row, column
    return 0, 0
