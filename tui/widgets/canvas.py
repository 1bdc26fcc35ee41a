"""Characters in rows and columns between two axes: what a chart is set on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.theme import MUTED

AXIS_ROWS = 2
"""Those of the axis below and of its words."""
Ticks = Sequence[tuple[float, str]]
Place = tuple[int, int]
_Cell = tuple[str, str]
_EMPTY = (" ", "")


class Canvas:
    """An area of ``columns`` × ``rows`` characters, both counted from 0 at the lower left, with the
    value axis on its left and the other one below.

    Limits: values in the middle of the first and of the last column, or row. Ticks: (value, words);
    words that would touch others, or do not fit, are left out with their tick.
    """

    def __init__(
        self,
        width: int,
        height: int,
        x_limits: tuple[float, float],
        y_limits: tuple[float, float],
        x_ticks: Ticks,
        y_ticks: Ticks,
    ) -> None:
        self._left = 1 + max((len(words) for _, words in y_ticks), default=0)
        self.columns, self.rows = max(0, width - self._left), max(0, height - AXIS_ROWS)
        self._x_limits, self._y_limits = x_limits, y_limits
        self._cells: list[list[_Cell]] = [[_EMPTY] * width for _ in range(height)]
        self._draw_axes(x_ticks, y_ticks)

    def _draw_axes(self, x_ticks: Ticks, y_ticks: Ticks) -> None:
        for row in range(self.rows):
            self._write(self._left - 1, row + AXIS_ROWS, "│")
        for value, words in y_ticks:
            row = _place(value, self._y_limits, self.rows)
            self._write(0, row + AXIS_ROWS, f"{words:>{self._left - 1}}┤")
        axis = ["─"] * self.columns
        for value, words in x_ticks:
            column = _place(value, self._x_limits, self.columns)
            if self._write_below(self._left + column, words) and 0 <= column < self.columns:
                axis[column] = "┬"
        self._write(self._left - 1, 1, "└" + "".join(axis))

    def _write(self, x: int, y: int, words: str) -> None:
        """From the column ``x`` of the whole on; row 0 is the lowest."""
        if 0 <= y < len(self._cells):
            line = self._cells[y]
            for place, character in enumerate(words, x):
                if 0 <= place < len(line):
                    line[place] = character, MUTED

    def _write_below(self, x: int, words: str) -> bool:
        """Under the axis, in the middle of what is free around the column ``x``; whether it is."""
        line, size = self._cells[0] if self._cells else [], len(words)
        around = range(max(x - size + 1, 0), min(x + size, len(line) - 1))
        free = [place for place in around if line[place][0] == " "]
        first, last = (free[0], free[-1]) if free else (x - size + 1, x + size)
        start = (first + last - size + 1) // 2
        beside = line[max(start - 1, 0) : start + size + 1]
        fits = 0 <= start <= len(line) - size and all(cell[0] == " " for cell in beside)
        if fits:
            self._write(start, 0, words)
        return fits

    def place(self, x: float, y: float) -> Place:
        """The column and row of a point, which may lie outside."""
        return _place(x, self._x_limits, self.columns), _place(y, self._y_limits, self.rows)

    def put(self, places: Iterable[Place], mark: str, colour: str) -> None:
        """One character at each of the places that lie inside."""
        for column, row in places:
            if 0 <= column < self.columns and 0 <= row < self.rows:
                self._cells[row + AXIS_ROWS][column + self._left] = mark, colour

    def put_each(self, marks: Iterable[tuple[Place, str]], colour: str) -> None:
        for place, mark in marks:
            self.put((place,), mark, colour)

    def strips(self) -> list[Strip]:
        """From the top."""
        return [
            Strip(
                [
                    Segment("".join(mark for mark, _ in cells), Style.parse(colour))
                    for colour, cells in groupby(line, key=_colour)
                ]
            )
            for line in reversed(self._cells)
        ]


def _colour(cell: _Cell) -> str:
    return cell[1]


def _place(value: float, limits: tuple[float, float], places: int) -> int:
    """Rounded first, so that what is meant to lie in a middle does."""
    low, high = limits
    return math.floor(round(0.5 + (places - 1) * (value - low) / (high - low), 8))
