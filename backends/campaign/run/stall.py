"""Whether a run has stalled, told by its readings and not by how busy its devices look. Pure."""

from __future__ import annotations

LONGEST_LOOK_S = 15.0
"""Time between two looks beyond this was spent suspended (a closed laptop), not watching."""


class StallWatch:
    """Adds up the time without a reading in which one could have come.

    Time out of contact with a host does not count, nor what was quiet before it was noticed: the
    readings are there, only not here. Of the time before, while others or nobody watched, counts
    what is known to have been quiet there.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.quiet_s = 0.0
        self._looked_at = 0.0

    def start(self, now: float) -> None:
        """From here on readings can come."""
        self._looked_at = now

    def reading_came(self, now: float) -> None:
        self.quiet_s = 0.0
        self._looked_at = now

    def was_quiet(self, seconds: float) -> None:
        """For so long the log there has not grown, and all of it is here."""
        self.quiet_s = max(self.quiet_s, seconds)

    def stalled(self, now: float, *, in_contact: bool) -> bool:
        if in_contact:
            self.quiet_s += min(max(0.0, now - self._looked_at), LONGEST_LOOK_S)
        else:
            self.quiet_s = 0.0
        self._looked_at = now
        return self.over

    def quiet_by(self, now: float) -> float:
        """With the time since the last look."""
        return self.quiet_s + max(0.0, now - self._looked_at)

    @property
    def over(self) -> bool:
        return self.quiet_s >= self.limit_s

    @property
    def over_at(self) -> float:
        """When it will be over, if no reading comes."""
        return self._looked_at + self.limit_s - self.quiet_s

    @property
    def next_look_s(self) -> float:
        return min(max(self.limit_s - self.quiet_s, 0.05), 5.0)
