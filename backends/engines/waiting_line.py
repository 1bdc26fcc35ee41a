"""Runs that wait, in their order: whose turn it is."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from backends.engines.engine import Wanted

Turn = tuple[int, float, int]
"""A run's place among all: its round, its host time in seconds, negative, and where it was planned.
"""


def in_turn(wanted: Iterable[Wanted], devices: int = 1) -> list[tuple[Turn, Wanted]]:
    """Runs given in planning order. Round by round, for heat and time of day spread evenly so; in
    a round what takes the most host time first, before it what nobody knows the duration of.

    ``devices``: of a host, of which runs that pack take a share.
    """
    turns = [
        ((want.repeat, -want.hosts_taken(devices) * want.length_s, number), want)
        for number, want in enumerate(wanted)
    ]
    turns.sort()
    return turns


class WaitingLine:
    """Of runs that need the same hosts, so that those of one round are in the order of their
    durations. ``hosts_taken``: by each, as in its turn."""

    def __init__(self, hosts_taken: float) -> None:
        self.hosts_taken = hosts_taken
        self._waiting: list[tuple[Turn, Wanted]] = []
        self._gone: set[int] = set()
        self._first = 0

    def append(self, turn: Turn, want: Wanted) -> None:
        self._waiting.append((turn, want))

    def insert(self, turn: Turn, want: Wanted) -> None:
        """One whose turn may be over."""
        insort(self._waiting, (turn, want), lo=self._first, key=lambda pair: pair[0])

    def head(self) -> tuple[Turn, Wanted] | None:
        while self._first < len(self._waiting):
            turn, want = self._waiting[self._first]
            if turn[2] not in self._gone:
                return turn, want
            self._gone.remove(turn[2])
            self._first += 1
        return None

    def drop(self, turn: Turn) -> None:
        self._gone.add(turn[2])

    def left(self) -> Iterator[Wanted]:
        return (want for _, want in self._after(self._first))

    def shorter(self, limit_s: float, last_round: int) -> Iterator[tuple[Turn, Wanted]]:
        """Those of the rounds up to the last that take no longer, in their order."""
        if (head := self.head()) is None:
            return
        (first_round, _, _), _ = head
        for number in range(first_round, last_round + 1):
            shortest = (number, -self.hosts_taken * limit_s, -1)
            start = bisect_left(self._waiting, shortest, self._first, key=lambda pair: pair[0])
            for turn, other in self._after(start):
                if turn[0] != number:
                    break
                yield turn, other

    def _after(self, start: int) -> Iterator[tuple[Turn, Wanted]]:
        for place in range(start, len(self._waiting)):
            if self._waiting[place][0][2] not in self._gone:
                yield self._waiting[place]
