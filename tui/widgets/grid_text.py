"""A grid of cases as lines: parameter combinations across, a mark and a past figure per place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, zip_longest

from rich.text import Text

from tui.matrix_marks import Cell
from tui.matrix_past import FAILED
from tui.text import plain, shorten
from tui.theme import ACCENT, BAD, GOOD, MUTED, TEXT
from tui.widgets.cut_marks import CUT_LEFT, CUT_RIGHT

TAG_WIDTH = 8
MORE_WIDTH = 7
"""Columns that are kept for how many more there are to the right."""
_NOWHERE = (-1, -1)
_MARKS = {"marked": "[x]", "free": "[ ]", "impossible": " · "}
_AWAITED = {"marked": "[·]", "free": " ? "}
_COLOURS = {"marked": GOOD, "free": TEXT, "impossible": MUTED}

Figures = tuple[tuple[str, ...], ...]
"""What each place measured before with its grade, ``6872 B``, or that it failed, row by row; empty
where neither is known."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """``stacked``: headings are as many lines as words. ``gap``: columns before a figure,
    ``around``: those that it costs more."""

    stacked: bool
    graded: bool
    gap: int
    around: int

    def figure(self, told: str) -> str:
        return told if self.graded else told.partition(" ")[0]


_LAYOUTS = (
    _Layout(stacked=False, graded=True, gap=1, around=3),
    _Layout(stacked=False, graded=True, gap=1, around=2),
    _Layout(stacked=True, graded=True, gap=1, around=2),
    _Layout(stacked=True, graded=False, gap=1, around=2),
    _Layout(stacked=True, graded=False, gap=0, around=2),
)
"""The first ones look best."""


@dataclass(frozen=True)
class GridText:
    """``kinds``: of columns that are to be told apart, in a line above their labels. ``figures``:
    none, or one for each cell. ``room``: columns that there are for it, beyond which it goes."""

    labels: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    kinds: tuple[str, ...] = ()
    figures: Figures = ()
    room: int = 0

    @cached_property
    def _headings(self) -> tuple[tuple[str, ...], ...]:
        """Labels by line: one, or a line for each of their words."""
        if not self._layout.stacked:
            return (self.labels,)
        return tuple(zip_longest(*map(str.split, self.labels), fillvalue=""))

    @property
    def head(self) -> int:
        """Lines above the cells."""
        return bool(self.kinds) + len(self._headings)

    @cached_property
    def left(self) -> tuple[int, ...]:
        """Where each column begins, and where the last one ends."""
        return self._left(self._layout)

    def _left(self, layout: _Layout) -> tuple[int, ...]:
        return tuple(accumulate(self._widths_in(layout), initial=TAG_WIDTH))

    @cached_property
    def _marks(self) -> tuple[int, ...]:
        """The widest mark of each column."""
        return tuple(
            max((len(mark(row[column])) for row in self.cells), default=0)
            for column in range(len(self.labels))
        )

    @cached_property
    def _layout(self) -> _Layout:
        """The first in which all columns have room; the closest, where they have it in none."""
        fit = (layout for layout in _LAYOUTS if self._left(layout)[-1] <= self.room)
        return next(fit, _LAYOUTS[-1])

    def _told(self, column: int, layout: _Layout) -> int:
        """The widest figure of a column."""
        return max((len(layout.figure(row[column])) for row in self.figures), default=0)

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        return self._widths_in(self._layout)

    def _widths_in(self, layout: _Layout) -> tuple[int, ...]:
        """Without any figure a column is as wide as it always was."""
        widths = []
        for column, (label, marks) in enumerate(zip(self.labels, self._marks, strict=True)):
            words = label.split() if layout.stacked else [label]
            wide = max(map(len, words), default=0)
            told = self._told(column, layout)
            figures = marks + layout.gap + told + layout.around if told else 0
            widths.append(max(7, wide + 3, marks + 3, figures))
        return tuple(widths)

    def columns(self, first: int = 0) -> range:
        """Those in sight, all of them whole, where ``first`` is the first one."""
        end = self.left[first] + self.room - TAG_WIDTH
        if self.left[-1] <= end or not self.labels:
            return range(first, len(self.labels))
        last = bisect_right(self.left, end - MORE_WIDTH) - 1
        return range(first, max(first + 1, last))

    def first_for(self, column: int, first: int = 0) -> int:
        """The first one in sight, ``first`` where that may be, so that ``column`` is."""
        first = min(column, first)
        while column not in self.columns(first):
            first += 1
        return first

    @cached_property
    def furthest(self) -> int:
        """The first one in sight where the last one is."""
        return self.first_for(len(self.labels) - 1) if self.labels else 0

    def heading(self, columns: range, here: int = -1) -> list[Text]:
        """In the first line how many columns there are on either side."""
        lines = []
        before = f" {CUT_LEFT} +{columns.start}" if columns.start else ""
        for labels in self._headings:
            text = Text(before.ljust(TAG_WIDTH), ACCENT, end="")
            before = ""
            for index in columns:
                style = f"bold {TEXT}" if index == here else MUTED
                text.append(plain(labels[index]).center(self._widths[index]), style)
            lines.append(text)
        if more := len(self.labels) - columns.stop:
            lines[0].append(f"+{more} {CUT_RIGHT}".rjust(MORE_WIDTH - 1), ACCENT)
        return lines

    def kinds_line(self, columns: range) -> Text:
        """Each kind once, over the first of its columns and as far as they reach."""
        text = Text(" " * TAG_WIDTH, end="")
        for kind, over in groupby(columns, self.kinds.__getitem__):
            room = sum(self._widths[column] for column in over)
            words = kind if len(kind) < room - 1 else kind.partition(" ")[0]
            text.append(f" {words}".ljust(room), ACCENT)
        return text

    def line(
        self, row: int, columns: range, cursor: tuple[int, int] = _NOWHERE, raised: str = ""
    ) -> Text:
        """A row; ``cursor``: row and column, the cell of which has ``raised`` behind it."""
        cells = self.cells[row]
        here = row == cursor[0]
        text = Text(end="")
        tag = cells[0].case.tag if cells else ""
        text.append(f" {tag:<{TAG_WIDTH - 1}}", f"bold {TEXT}" if here else MUTED)
        reasons = {cell.reason for cell in cells}
        told = self.figures[row] if self.figures else ("",) * len(cells)
        if len(reasons) == 1 and cells and cells[0].reason and not any(told):
            words = shorten(f"·  {plain(cells[0].reason)}", max(12, self.room - TAG_WIDTH - 2))
            return text.append(f" {words} ", _style(MUTED, raised if here else ""))
        layout = self._layout
        for column in columns:
            cell, wide = cells[column], self._told(column, layout)
            behind = raised if (row, column) == cursor else ""
            gap = " " * (layout.gap if wide else 0)
            marked = f" {mark(cell).ljust(self._marks[column])}"
            figure = f"{gap}{layout.figure(told[column]).rjust(wide)} "
            width = self._widths[column]
            before = (width + 2 - len(marked) - len(figure)) // 2
            text.append(" " * (before - 1))
            text.append(marked, _style(_colour(cell), behind))
            text.append(figure, _style(BAD if told[column].startswith(FAILED) else MUTED, behind))
            text.append(" " * (width - (before - 1) - len(marked) - len(figure)))
        return text

    def lines(self, most: int) -> Sequence[Text]:
        """All that has room, or the first lines and how many rows there are more."""
        columns = self.columns()
        head = [self.kinds_line(columns)] if self.kinds else []
        head += self.heading(columns)
        rows = range(len(self.cells))
        shown = len(rows) if len(head) + len(rows) <= most else max(0, most - len(head) - 1)
        lines = [*head, *(self.line(row, columns) for row in rows[:shown])]
        if more := len(rows) - shown:
            lines.append(Text(f" +{more} more cases", MUTED, end=""))
        return lines[:most]


def mark(cell: Cell) -> str:
    """Of strong scaling with the batch of each device, which differs from row to row."""
    drawn = (_AWAITED if cell.awaits else _MARKS)[cell.state]
    return f"{drawn} b{cell.case.batch_size}" if cell.strong and cell.case.batch_size else drawn


def _colour(cell: Cell) -> str:
    return MUTED if cell.awaits else _COLOURS[cell.state]


def _style(colour: str, behind: str) -> str:
    return f"bold {colour} on {behind}" if behind else colour
