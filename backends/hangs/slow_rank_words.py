"""Slow ranks in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from backends.hangs.slow_rank import SlowRank
from profiles.cleantext import clean_text

SHORT_S = 60.0
"""Clocks are told by the minute."""


def slow_rank_line(slow: SlowRank, *, ranks: int = 0, ended_at: float | None = None) -> str:
    """``rank 5 on node3 GPU5: own time 14% above the others since 02:13``; of less than a minute
    how long.

    ``ranks``: of the run, where that is known. ``ended_at``: when it was over, seconds since the
    epoch; None: it is at work, or nobody says.
    """
    when = f"since {_clock(slow.since)}"
    until = ended_at if slow.until is None else slow.until
    if until is not None and 0 <= (seconds := until - slow.since) < SHORT_S:
        when = f"for {seconds:.{int(seconds < 10)}f} s from {_clock(slow.since)} on"
    elif slow.until is not None:
        when = f"from {_clock(slow.since)} to {_clock(slow.until)}"
    who = f"rank {slow.rank} on {clean_text(slow.host)}{_device(slow)}"
    others = "the other" if ranks == 2 else "the others"
    return f"{who}: own time {slow.excess:.0%} above {others} {when}"


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


def _clock(t: float) -> str:
    return f"{datetime.fromtimestamp(t).astimezone():%H:%M}"
