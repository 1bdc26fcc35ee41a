"""A rank that takes longer than the others, as it is journaled and shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SlowRank:
    """``excess``: 0.12 is 12% above ``usual_s``, the own time of the usual rank per step.

    ``host``, ``device``: where its line was read, and which of the run's devices there it has, None
    where it has none of its own. ``since``, ``until``: seconds since the epoch; None: it still is.
    """

    rank: int
    host: str
    device: int | None
    excess: float
    own_s: float
    usual_s: float
    since: float
    until: float | None = None
