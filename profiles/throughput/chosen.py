"""The readings that count, picked out of a log's readings as these come."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass

from profiles.format.measure_section import Window
from profiles.logs.readings import Readings


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive readings, as columns of one length; those that no rule asks for are empty."""

    values: array[float]
    steps: array[float]
    times: array[float]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def lowest(self) -> float:
        return min(self.values)

    def __getitem__(self, which: slice) -> Part:
        return Part(self.values[which], self.steps[which], self.times[which])

    def __add__(self, other: Part) -> Part:
        return Part(self.values + other.values, self.steps + other.steps, self.times + other.times)


NOTHING = Part(array("d"), array("d"), array("d"))


def part_of(readings: Readings, *, steps: bool, times: bool) -> Part:
    """Those columns of the readings that are needed."""
    return Part(
        readings.values,
        readings.steps if steps else array("d"),
        readings.times if times else array("d"),
    )


class Chooser:
    """Lets through what lies in a window. The parts come and go in the log's order.

    ``before``: the step of the reading before the first that counts; NaN without one. ``passed``:
    how many readings are before that one.
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        self._take: Callable[[Part], Part] = self._by_reading
        if window.by_step:
            self._take = self._by_step
        elif window.last is not None:
            self._take = self._the_last
        self._left_to_skip = window.skip
        self._held = NOTHING
        self._only = NOTHING  # the log's first reading while there is no other, if it is to count
        self._any = self._begun = self._over = False
        self.before = math.nan
        self.passed = 0

    def take(self, part: Part) -> Part:
        """More of the log; returns what counts of it for sure."""
        return self._take(part)

    def end(self) -> Part:
        """The log has ended; returns what counts of what was held back."""
        if self._only:
            self.passed = 0
            return self._only
        held, self._held = self._held, NOTHING
        last = self._window.last
        if last is None:
            return NOTHING  # by reading: what is held is what the end drops
        if len(held) > last:
            self._pass(held[: len(held) - last])
        return held[-last:]

    def _pass(self, part: Part) -> None:
        self.passed += len(part)
        if part.steps:
            self.before = part.steps[-1]

    def _by_reading(self, part: Part) -> Part:
        if part and self._window.keep_only:
            self._only = part if len(part) == 1 and not self._any else NOTHING
            self._any = True
        if self._left_to_skip:
            self._pass(part[: self._left_to_skip])
            part, skipped = part[self._left_to_skip :], min(len(part), self._left_to_skip)
            self._left_to_skip -= skipped
        drop = self._window.drop
        if not drop:
            return part
        self._held += part
        sure = max(0, len(self._held) - drop)
        found, self._held = self._held[:sure], self._held[sure:]
        return found

    def _the_last(self, part: Part) -> Part:
        self._held += part
        wanted = self._window.last or 0
        if len(self._held) > 2 * wanted:
            self._pass(self._held[:-wanted])
            self._held = self._held[-wanted:]
        return NOTHING

    def _by_step(self, part: Part) -> Part:
        """The window ends where the steps leave it for good or start anew (another epoch);
        a step taken again (after a loss-scale overflow) counts each time."""
        if self._over:
            return NOTHING
        low = -math.inf if self._window.from_step is None else self._window.from_step
        high = math.inf if self._window.to_step is None else self._window.to_step
        start = 0
        if not self._begun:
            inside = (at for at, step in enumerate(part.steps) if low <= step <= high)
            start = next(inside, len(part))
            self._pass(part[:start])
            self._begun = start < len(part)
        outside = (at for at in range(start, len(part)) if not low <= part.steps[at] <= high)
        end = next(outside, len(part))
        self._over = self._begun and end < len(part)
        return part[start:end]
