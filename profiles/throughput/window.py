"""Which readings count: the window of a rule over the readings of a log."""

from __future__ import annotations

from collections.abc import Sequence

from profiles.format.profile import Window
from profiles.logs.readings import Readings


def window_range(window: Window, readings: Readings) -> range:
    """Positions of the readings that count; empty when none is left.

    By step, the window ends where the steps leave it for good or start anew (another epoch);
    a repeated step number (a step taken again after a loss-scale overflow) counts each time.
    """
    total = len(readings)
    if window.by_step:
        return _by_step(window, readings.steps)
    if window.last is not None:
        return range(max(0, total - window.last), total)
    start = min(window.skip, total)
    return range(start, max(start, total - window.drop))


def _by_step(window: Window, steps: Sequence[float]) -> range:
    low = float("-inf") if window.from_step is None else window.from_step
    high = float("inf") if window.to_step is None else window.to_step
    start = next((at for at, step in enumerate(steps) if low <= step <= high), len(steps))
    end = start
    while end < len(steps) and low <= steps[end] <= high:
        end += 1
    return range(start, end)


def describe_window(window: Window) -> str:
    """For people: ``all readings``, ``readings after the first 10``, ``steps 20 to 120``."""
    if window.by_step:
        if window.to_step is None:
            return f"steps from {window.from_step:g}"
        if window.from_step is None:
            return f"steps to {window.to_step:g}"
        return f"steps {window.from_step:g} to {window.to_step:g}"
    if window.last is not None:
        return f"last {window.last} readings"
    parts = [
        _edge("after the first", window.skip),
        _edge("before the last", window.drop),
    ]
    named = " and ".join(part for part in parts if part)
    return f"readings {named}" if named else "all readings"


def _edge(text: str, count: int) -> str:
    return "" if not count else text if count == 1 else f"{text} {count}"


def is_before(window: Window, index: int, step: float | None) -> bool:
    """Whether a reading is warm-up, as far as can be told while the run goes on."""
    if window.by_step:
        return window.from_step is not None and step is not None and step < window.from_step
    return index < window.skip
