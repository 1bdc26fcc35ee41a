"""Metrics of the same window as the throughput: which values stand in it, as lines come.

A mean or a median over what a log prints at each reading is of the readings that count. A value
belongs to the reading on its line; else to the reading before it, or, where the log's first one
stands before any reading, to the one that follows.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Literal

from profiles.exact_sums import median
from profiles.format.measure_section import Window
from profiles.logs.readings import Columns


class Edge:
    """Where in the log the window begins and ends, told by the readings as their lines come.

    ``near``: this may change with the next reading, so lines have to come one by one.
    """

    def __init__(self, window: Window, columns: Columns) -> None:
        self._window = window
        self._columns = columns
        self._low = -float("inf") if window.from_step is None else window.from_step
        self._high = float("inf") if window.to_step is None else window.to_step
        self._lines_before = 0  # readings before the line that is looked at
        self.lines = 0
        self._last_inside = not (window.by_step or window.skip)
        self._begun = self._over = False  # of a window by step
        self.near = not self._last_inside

    def line(self) -> None:
        """A line comes that may be a reading's, or lines that are none."""
        self._lines_before = self._columns.count
        self.lines += 1

    def end_of_line(self) -> None:
        """The readings of the line are known."""
        if self._columns.count == self._lines_before:
            return
        self._last_inside = self._inside(self._columns.count - 1)
        if not self._window.by_step:
            self.near = not self._last_inside
        elif self._last_inside:
            self.near = self._window.to_step is not None
            self._begun = True
        elif self._over:
            self.near = False

    @property
    def on_reading(self) -> bool:
        """Whether the line that is looked at is a reading's."""
        return self.near and self._columns.count > self._lines_before

    @property
    def before_any(self) -> bool:
        return not self._columns.count

    def inside(self, number: int, *, leading: bool) -> bool:
        """Whether a value counts, the line's ``number``-th: lines get glued together.

        ``leading``: it stands before its reading.
        """
        if not self.near:
            return self._last_inside
        if self.on_reading:
            return self._inside(min(self._lines_before + number, self._columns.count - 1))
        if leading and not self._window.by_step:
            return self._inside(self._columns.count)
        return self._last_inside

    @property
    def reached(self) -> bool:
        """Whether any reading counts; else nothing was measured that a metric could contradict."""
        return self._last_inside or self._begun

    def _inside(self, number: int) -> bool:
        if not self._window.by_step:
            return number >= self._window.skip
        inside = self._low <= self._columns.steps[self._columns.place_of(number)] <= self._high
        self._over = self._over or (self._begun and not inside)
        return inside and not self._over


class WindowedValues:
    """The mean or median of a metric over the window.

    Where none of its values is of a reading, and none in the window, it was printed once and not
    again and again: then all count.
    """

    last_only = False

    def __init__(self, statistic: Literal["mean", "median"], window: Window, edge: Edge) -> None:
        self._statistic = statistic
        self._window = window
        self._edge = edge
        self._inside = array("d")
        self._outside = array("d")
        self._leading: bool | None = None
        self._on_readings = False
        self._line = self._number = 0  # which line of the edge's, how many values of it came

    def add(self, value: float, step: float = 0.0, *, marked: bool = False) -> None:
        self.extend((value,))

    def extend(self, values: Sequence[float]) -> None:
        """Values of one line, or of several that are all on the same side of the window's edge."""
        if self._leading is None:
            self._leading = self._edge.before_any
        self._on_readings = self._on_readings or self._edge.on_reading
        if self._line != self._edge.lines:
            self._line, self._number = self._edge.lines, 0
        for value in values if self._edge.near else ():
            inside = self._edge.inside(self._number, leading=self._leading)
            (self._inside if inside else self._outside).append(value)
            self._number += 1
        if not self._edge.near:
            inside = self._edge.inside(0, leading=self._leading)
            (self._inside if inside else self._outside).extend(values)

    @property
    def value(self) -> float | None:
        values = self._chosen()
        if not values:
            return None
        if self._statistic == "median":
            return median(array("d", values))
        return sum(values) / len(values)

    def _chosen(self) -> array[float]:
        if not self._edge.reached:
            return self._outside
        if self._inside:
            return self._ends(self._inside)
        return array("d") if self._on_readings else self._outside

    def _ends(self, values: array[float]) -> array[float]:
        """As many from the end as the window has, of a metric that each reading has."""
        if self._window.last is not None:
            return values[-self._window.last :]
        return values[: -self._window.drop] if self._window.drop else values
