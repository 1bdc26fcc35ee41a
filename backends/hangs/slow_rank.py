"""A rank that takes longer than the others, as it is journaled and shown."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SlowRank:
    """``excess``: 0.12 is 12% above ``usual_s``, the own time of the usual rank per step, which is
    the median of the ``others``, so many ranks (None: an older version told, which had no such
    median). All are medians over ``steps``, the first and the last; None: its lines do not say.

    ``host``, ``device``: where its line was read, and which of the run's devices there it has, None
    where it has none of its own. ``since``, ``until``: seconds since the epoch, where the first of
    its spans begins and the last ends; until None: it still is. Both the run's end: what told it
    came later, and when it was is not known. ``between_s``: not slow in that time.
    """

    rank: int
    host: str
    device: int | None
    excess: float
    own_s: float
    usual_s: float
    since: float
    until: float | None = None
    between_s: float = 0.0
    others: int | None = None
    steps: tuple[int, int] | None = None

    def after(self, before: SlowRank | None, touching_s: float = 0.0) -> SlowRank:
        """With what was told of the rank before; a gap of ``touching_s`` or less is none. Only an
        older version tells of the last span alone."""
        if before is None or self.since <= before.since:
            return self
        gap_s = 0.0 if before.until is None else max(0.0, self.since - before.until)
        between_s = before.between_s + (gap_s if gap_s > touching_s else 0.0)
        return replace(self, since=before.since, between_s=between_s)

    def by(self, end: float) -> SlowRank:
        """Nothing of it after ``end``, that of its run: what came later was there by then."""
        since, until = min(self.since, end), None if self.until is None else min(self.until, end)
        between_s = min(self.between_s, (end if until is None else until) - since)
        return replace(self, since=since, until=until, between_s=between_s)
