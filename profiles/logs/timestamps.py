"""The log's own timestamps as seconds, comparable within one log."""

from __future__ import annotations

import math
from datetime import datetime

_EPOCH = datetime(1970, 1, 1)  # logs do not say their zone; only differences count
_DAY = 86400.0


class TimestampParser:
    """Texts in one strptime format to seconds.

    A format without a date starts anew at midnight; a step back by more than half a day is taken
    for that, so the texts have to come in the order of the log.
    """

    def __init__(self, layout: str) -> None:
        self._layout = layout
        self._iso = layout.startswith("%Y-%m-%d") and len(layout) > 8
        self._dated = "%d" in layout or "%j" in layout or "%c" in layout or "%x" in layout
        self._days = 0.0
        self._last = -math.inf

    def seconds(self, text: str) -> float:
        """Seconds since an arbitrary start; NaN where the text is not in the format."""
        moment = self._moment(text)
        if moment is None:
            return math.nan
        if moment.tzinfo is not None:
            return moment.timestamp()
        seconds = (moment - _EPOCH).total_seconds()
        if self._dated:
            return seconds
        if seconds + self._days < self._last - _DAY / 2:
            self._days += _DAY
        self._last = seconds + self._days
        return self._last

    def _moment(self, text: str) -> datetime | None:
        if self._iso:  # 20 times as fast as strptime
            try:
                return datetime.fromisoformat(text)
            except ValueError:
                pass
        try:
            return datetime.strptime(text, self._layout)
        except ValueError:
            return None
