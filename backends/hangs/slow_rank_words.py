"""Slow ranks in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from backends.hangs.slow_rank import SlowRank
from profiles.cleantext import clean_text


def slow_rank_line(slow: SlowRank) -> str:
    """``rank 5 on node3 GPU5: own time 14% above the others since 02:13``"""
    when = f"since {_clock(slow.since)}"
    if slow.until is not None:
        when = f"from {_clock(slow.since)} to {_clock(slow.until)}"
    who = f"rank {slow.rank} on {clean_text(slow.host)}{_device(slow)}"
    return f"{who}: own time {slow.excess:.0%} above the others {when}"


def still_slow(slow_ranks: Sequence[SlowRank] | None) -> str:
    """Those that are slow now, in few words for a row; empty where none is: ``rank 5 +14% on node3
    GPU5``"""
    now = [slow for slow in slow_ranks or () if slow.until is None]
    if not now:
        return ""
    more = f", {len(now) - 1} more" if len(now) > 1 else ""
    slow = now[0]
    return f"rank {slow.rank} {slow.excess:+.0%} on {clean_text(slow.host)}{_device(slow)}{more}"


def _device(slow: SlowRank) -> str:
    return "" if slow.device is None else f" GPU{slow.device}"


def _clock(t: float) -> str:
    return f"{datetime.fromtimestamp(t).astimezone():%H:%M}"
