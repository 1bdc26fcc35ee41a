"""Durations as people write them in a profile, ``90s``, ``10m``, ``1m30s``, and times of day."""

from __future__ import annotations

import re
from datetime import datetime

from profiles.errors import ProfileError

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds in ``text``: numbers with the units ms, s, m, h, d, largest first or not.

    Raises
    ------
    ProfileError: ``text`` is not a duration; a bare number has no unit and is refused.
    """
    compact = text.replace(" ", "")
    if not is_duration(text):
        raise ProfileError(
            f"{text!r} is not a duration",
            remedy='write a number with a unit, such as "90s" or "2h"',
        )
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(compact))


def is_duration(text: str) -> bool:
    """Whether :func:`parse_duration` reads it."""
    return bool(_WHOLE.fullmatch(text.replace(" ", "")))


def clock_text(t: float, now: float) -> str:
    """``14:02``, the reader's time of day; of another day than ``now`` with the date. Both in
    seconds since the epoch."""
    at, today = (datetime.fromtimestamp(each).astimezone() for each in (t, now))
    return at.strftime("%H:%M" if at.date() == today.date() else "%Y-%m-%d %H:%M")


def in_three_columns(seconds: float) -> str:
    """To the nearest of a unit, in two digits: 99s, 2m, 99m, 2h, 5d."""
    for size, unit in ((1, "s"), (60, "m"), (3600, "h")):
        if (many := round(seconds / size)) < 100:
            return f"{many}{unit}"
    return f"{round(seconds / 86400)}d"


def in_largest_unit(seconds: float) -> str:
    """Whole, rounded down: 111s, 12m, 3h, 5d."""
    if seconds < 120:
        return f"{int(seconds)}s"
    units = ((86400, "d"), (3600, "h"), (60, "m"))
    size, unit = next(one for one in units if seconds >= one[0])
    return f"{int(seconds // size)}{unit}"


def format_duration(seconds: float) -> str:
    """How a screen shows it, seconds rounded: 12s, 3m05s, 2h10m, 3d04h."""
    total = max(0, round(seconds))
    if total < 60:
        return f"{total}s"
    if total < 3600:
        return f"{total // 60}m{total % 60:02d}s"
    if total < 86400:
        return f"{total // 3600}h{total % 3600 // 60:02d}m"
    return f"{total // 86400}d{total % 86400 // 3600:02d}h"
