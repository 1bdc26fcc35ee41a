"""A rank that takes longer than the others, as it is journaled and shown."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SlowRank:
    """``excess``: 0.12 is 12% above ``usual_s``, the own time of the usual rank per step.

    ``host``, ``device``: where its line was read, and which of the run's devices there it has, None
    where it has none of its own. ``since``, ``until``: seconds since the epoch; None: it still is.
    Both the run's end: what told it came later, and when it was is not known.
    """

    rank: int
    host: str
    device: int | None
    excess: float
    own_s: float
    usual_s: float
    since: float
    until: float | None = None

    def by(self, end: float) -> SlowRank:
        """Nothing of it after ``end``, that of its run: what came later was there by then."""
        until = None if self.until is None else min(self.until, end)
        return replace(self, since=min(self.since, end), until=until)
