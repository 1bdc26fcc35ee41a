"""What in a log speaks against its own figure: a clock that was set, readings no run can have.

Nothing is left out for it: the figure stays what the rule gives, with a warning and a worse grade.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum

from profiles.counted import counted
from profiles.throughput.speed import is_speed
from profiles.throughput.tally import Span
from profiles.throughput.window_speeds import FAR_ABOVE, FarAbove

CLOCKS_APART = 1.25
"""Factor between the figure by timestamps and that by the readings; the 17 published logs that have
both are within 1.05."""
SET_BACK = 0.001
"""Share of the window's time; less is two lines that overtook each other."""


class Doubt(StrEnum):
    """What a doubt is about; the names are journaled, and the flags of a case."""

    CLOCK = "clock"
    FAR_ABOVE = "far_above"
    SAME_LOG = "same_log"
    OTHER_DIRECTORY = "other_directory"


Doubts = Mapping[str, tuple[str, ...]]


def clock_texts(span: Span, by_clock: float, by_readings: float, unit: str) -> tuple[str, ...]:
    """What is wrong with the timestamps that a figure is made of."""
    texts = []
    first = span.first[1] if span.first else math.nan
    if span.set_back is not None:
        step, seconds = span.set_back
        if seconds > SET_BACK * (span.last[1] - first):
            texts.append(
                f"the timestamps run backwards by {seconds:,.3g} s at step {step:.12g}: a clock "
                "was set, and the figure is made of it"
            )
    apart = by_clock / by_readings if is_speed(by_readings) else 1.0
    if not 1 / CLOCKS_APART <= apart <= CLOCKS_APART:
        texts.append(
            f"the timestamps give {by_clock:,.2f} {unit}, the log's own readings "
            f"{by_readings:,.2f}: a clock was set, or much time went by between the readings"
        )
    return tuple(texts)


def far_above_text(found: FarAbove) -> str:
    """``2 of 40 readings are more than 3 times as fast as their median, up to 12 times at step
    60: the others may have been disturbed, or the log tells these otherwise; they count``"""
    where = f"reading {found.reading + 1}" if math.isnan(found.step) else f"step {found.step:.12g}"
    times = f"{found.times:,.2f}" if found.times < 10 else f"{found.times:,.0f}"
    one = found.count == 1
    is_, these, count = ("is", "this one", "it counts") if one else ("are", "these", "they count")
    return (
        f"{found.count} of {counted(found.of, 'reading')} {is_} more than {FAR_ABOVE:g} times as "
        f"fast as their median, {'' if one else 'up to '}{times} times at {where}: the "
        f"others may have been disturbed, or the log tells {these} otherwise; {count}"
    )
