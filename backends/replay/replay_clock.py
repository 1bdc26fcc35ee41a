"""The time of a replay: it runs as fast as somebody wants, and stands still when told to."""

from __future__ import annotations

from collections.abc import Callable

SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
USUAL = 10.0
SHORTEST_S = 30.0


def speed_for(recorded_s: float) -> float:
    """The usual speed, or the fastest at which a short recording still takes SHORTEST_S."""
    slow_enough = (s for s in SPEEDS if s <= USUAL and recorded_s / s >= SHORTEST_S)
    return max(slow_enough, default=SPEEDS[0])


class ReplayClock:
    """Called: seconds since the epoch, from ``begin`` to ``end`` and no further.

    Parameters
    ----------
    monotonic: real seconds.
    speed: of :data:`SPEEDS`, or between the slowest and the fastest.
    """

    def __init__(
        self, begin: float, end: float, speed: float, monotonic: Callable[[], float]
    ) -> None:
        self.begin, self.end = begin, end
        self.speed = speed
        self.plays = True
        self._monotonic = monotonic
        self._shown, self._since = begin, monotonic()

    def __call__(self) -> float:
        passed = (self._monotonic() - self._since) * self.speed if self.plays else 0.0
        return min(self._shown + passed, self.end)

    @property
    def over(self) -> bool:
        return self() >= self.end

    def toggle(self) -> None:
        """Stand still, or go on."""
        self._settle()
        self.plays = not self.plays

    def faster(self, steps: int) -> None:
        """To the next faster of :data:`SPEEDS`; ``steps`` -1: to the next slower."""
        self._settle()
        ahead = [s for s in SPEEDS if (s > self.speed if steps > 0 else s < self.speed)]
        if ahead:
            self.speed = ahead[0] if steps > 0 else ahead[-1]

    def seek(self, moment: float) -> None:
        """Go on from there, or stand still there."""
        moment = min(max(moment, self.begin), self.end)
        self._shown, self._since = moment, self._monotonic()

    def lately(self, within_s: float) -> float:
        """Where it went on from, if that is less than so many real seconds ago; or where it is."""
        return self._shown if self._monotonic() - self._since < within_s else self()

    def _settle(self) -> None:
        self._shown, self._since = self(), self._monotonic()
