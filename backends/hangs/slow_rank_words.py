"""Slow ranks in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from backends.hangs.slow_rank import SlowRank
from profiles.cleantext import clean_text
from profiles.durations import format_duration

SHORT_S = 60.0
"""Of less it is told how long it was."""
BETWEEN_S = 1.0
"""Spans that lie closer together are told as one."""
CLOCK_S = 300.0
"""From here on a clock by the minute says enough."""


def slow_rank_line(
    slow: SlowRank, *, ranks: int = 0, ended_at: float | None = None, now: float | None = None
) -> str:
    """``rank 5 on node3 GPU5: own time 14% above the median of the other 7 ranks, steps 133 to 400,
    since 02:13``; of less than a minute how long, of less than some minutes with the seconds, and
    of several spans how long in all; of one that ended no later than it began that nobody knows
    when it was.

    ``ranks``: of the run, where that is known. ``ended_at``: when it was over, ``now``: of one that
    is at work, seconds since the epoch; neither: nobody says.
    """
    until = ended_at if slow.until is None else slow.until
    latest = now if until is None else until
    seconds = math.inf if latest is None else latest - slow.since
    clock = "%H:%M:%S" if 0 <= seconds < CLOCK_S else "%H:%M"
    since = _clock(slow.since, clock)
    when = f"since {since}"
    several = slow.between_s >= BETWEEN_S
    if until is not None and seconds <= 0:
        when = "at a time that is not known"
    elif until is not None and seconds < SHORT_S and not several:
        when = f"for {_lasting(seconds)} from {since} on"
    elif slow.until is not None:
        when = f"from {since} to {_clock(slow.until, clock)}"
    if several:
        lasted = (
            "on and off" if latest is None else f"for {_lasting(seconds - slow.between_s)} in all"
        )
        when = f"{lasted} {when}"
    who = f"rank {slow.rank} on {clean_text(slow.host)}{_device(slow)}"
    others = "the other" if slow.others == 1 or ranks == 2 else "the others"
    if slow.others is not None and slow.others > 1:
        others = f"the median of the other {slow.others} ranks"
    steps = "" if slow.steps is None else f", steps {slow.steps[0]} to {slow.steps[1]},"
    return f"{who}: own time {slow.excess:.0%} above {others}{steps} {when}"


def still_slow(slow_ranks: Sequence[SlowRank] | None) -> str:
    """Those that are slow now, in few words for a row; empty where none is: ``rank 5 14% slow on
    node3 GPU5``"""
    now = [slow for slow in slow_ranks or () if slow.until is None]
    if not now:
        return ""
    more = f", {len(now) - 1} more" if len(now) > 1 else ""
    slow = now[0]
    return (
        f"rank {slow.rank} {slow.excess:.0%} slow on {clean_text(slow.host)}{_device(slow)}{more}"
    )


def _device(slow: SlowRank) -> str:
    return "" if slow.device is None else f" GPU{slow.device}"


def _lasting(seconds: float) -> str:
    if seconds >= SHORT_S:
        return format_duration(seconds)
    return f"{max(0.0, seconds):.{int(seconds < 10)}f} s"


def _clock(t: float, clock: str) -> str:
    return datetime.fromtimestamp(t).astimezone().strftime(clock)
