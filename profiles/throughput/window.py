"""Which readings count: the window of a rule over the readings of a log."""

from __future__ import annotations

from profiles.format.measure_section import Window
from profiles.logs.readings import Readings


def describe_window(window: Window) -> str:
    """For people: ``all readings``, ``readings after the first 10``, ``steps 20 to 120``."""
    if window.by_step:
        if window.to_step is None:
            return f"steps from {window.from_step:.12g}"
        if window.from_step is None:
            return f"steps to {window.to_step:.12g}"
        return f"steps {window.from_step:.12g} to {window.to_step:.12g}"
    if window.last is not None:
        return f"last {window.last} readings"
    parts = [
        _edge("after the first", window.skip),
        _edge("before the last", window.drop),
    ]
    named = " and ".join(part for part in parts if part)
    if window.keep_only:
        named += ", or the only one"
    return f"readings {named}" if named else "all readings"


def _edge(text: str, count: int) -> str:
    return "" if not count else text if count == 1 else f"{text} {count}"


def warm_up(window: Window, readings: Readings, known: int = 0) -> int:
    """How many readings from the log's start lie before the window, as far as can be told now.

    ``known``: how many that were before these ``readings``.
    """
    if window.last is not None:
        return max(known, readings.stop - window.last)
    if not window.by_step:
        return max(known, min(window.skip, readings.stop))
    if window.from_step is None:
        return known
    steps = readings.steps
    for at in range(len(steps) - 1, -1, -1):
        if steps[at] < window.from_step:
            return readings.stop - len(steps) + at + 1
    return known
