"""A grid of cases as lines: parameter combinations across, a mark and a past figure per place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from rich.text import Text

from tui.matrix_marks import Cell
from tui.matrix_past import FAILED
from tui.text import plain, shorten
from tui.theme import ACCENT, BAD, GOOD, MUTED, TEXT

TAG_WIDTH = 8
_NOWHERE = (-1, -1)
_MARKS = {"marked": "[x]", "free": "[ ]", "impossible": " · "}
_AWAITED = {"marked": "[·]", "free": " ? "}
_COLOURS = {"marked": GOOD, "free": TEXT, "impossible": MUTED}

Figures = tuple[tuple[str, ...], ...]
"""What each place measured before, or that it failed, row by row; empty where neither is known."""


@dataclass(frozen=True)
class GridText:
    """``kinds``: of columns that are to be told apart, in a line above their labels. ``figures``:
    none, or one for each cell. ``room``: columns that there are for it, beyond which it goes."""

    labels: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    kinds: tuple[str, ...] = ()
    figures: Figures = ()
    room: int = 0

    @property
    def head(self) -> int:
        """Lines above the cells."""
        return 2 if self.kinds else 1

    @cached_property
    def left(self) -> tuple[int, ...]:
        """Where each column begins, and where the last one ends."""
        edges = [TAG_WIDTH]
        for width in self._widths:
            edges.append(edges[-1] + width)
        return tuple(edges)

    @cached_property
    def _marks(self) -> tuple[int, ...]:
        """The widest mark of each column."""
        return tuple(
            max((len(mark(row[column])) for row in self.cells), default=0)
            for column in range(len(self.labels))
        )

    @cached_property
    def _told(self) -> tuple[int, ...]:
        """The widest figure of each column."""
        return tuple(
            max((len(row[column]) for row in self.figures), default=0)
            for column in range(len(self.labels))
        )

    @cached_property
    def _roomy(self) -> bool:
        return TAG_WIDTH + sum(self._widths_at(1, 3)) <= self.room

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        return self._widths_at(1, 3) if self._roomy else self._widths_at(0, 2)

    def _widths_at(self, gap: int, around: int) -> tuple[int, ...]:
        """Figures cost ``gap`` columns and ``around`` them; without any a column is as wide as it
        always was."""
        return tuple(
            max(7, len(label) + 3, marks + 3, (marks + gap + told + around) if told else 0)
            for label, marks, told in zip(self.labels, self._marks, self._told, strict=True)
        )

    def heading(self, here: int = -1) -> Text:
        text = Text(" " * TAG_WIDTH, end="")
        for index, label in enumerate(self.labels):
            style = f"bold {TEXT}" if index == here else MUTED
            text.append(plain(label).center(self._widths[index]), style)
        return text

    def kinds_line(self) -> Text:
        """Each kind once, over the first of its columns and as far as they reach."""
        text = Text(" " * TAG_WIDTH, end="")
        for kind, columns in groupby(range(len(self.kinds)), self.kinds.__getitem__):
            room = sum(self._widths[column] for column in columns)
            words = kind if len(kind) < room - 1 else kind.partition(" ")[0]
            text.append(f" {words}".ljust(room), ACCENT)
        return text

    def line(self, row: int, cursor: tuple[int, int] = _NOWHERE, raised: str = "") -> Text:
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
        for column, cell in enumerate(cells):
            behind = raised if (row, column) == cursor else ""
            gap = " " * (self._roomy and self._told[column] > 0)
            marked = f" {mark(cell).ljust(self._marks[column])}"
            figure = f"{gap}{told[column].rjust(self._told[column])} "
            width = self._widths[column]
            before = (width + 2 - len(marked) - len(figure)) // 2
            text.append(" " * (before - 1))
            text.append(marked, _style(_colour(cell), behind))
            text.append(figure, _style(BAD if told[column] == FAILED else MUTED, behind))
            text.append(" " * (width - (before - 1) - len(marked) - len(figure)))
        return text

    def lines(self, most: int) -> Sequence[Text]:
        """All of it, or the first lines and how many rows there are more."""
        head = [self.kinds_line(), self.heading()] if self.kinds else [self.heading()]
        rows = range(len(self.cells))
        if len(head) + len(rows) <= most:
            return [*head, *map(self.line, rows)]
        shown = max(0, most - len(head) - 1)
        more = Text(f" +{len(rows) - shown} more cases", MUTED, end="")
        return [*head, *map(self.line, rows[:shown]), more][:most]


def mark(cell: Cell) -> str:
    """Of strong scaling with the batch of each device, which differs from row to row."""
    drawn = (_AWAITED if cell.awaits else _MARKS)[cell.state]
    return f"{drawn} b{cell.case.batch_size}" if cell.strong and cell.case.batch_size else drawn


def _colour(cell: Cell) -> str:
    return MUTED if cell.awaits else _COLOURS[cell.state]


def _style(colour: str, behind: str) -> str:
    return f"bold {colour} on {behind}" if behind else colour
