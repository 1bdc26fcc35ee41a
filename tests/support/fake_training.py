"""A simulated run that prints readings of a training, as a workload of the simulated hosts."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from backends.simulated.fake_run import FOREVER, Child, Workload


@dataclass(frozen=True, slots=True)
class Curve:
    """Readings over time: a warm-up that decays, noise around a level, and what becomes of it.

    Parameters
    ----------
    level: samples/s when warm.
    every_s: seconds between two readings; ``first_s``: until the first.
    warmup: the first reading's deficit as a part of the level; it halves with each reading.
    noise: standard deviation as a part of the level.
    slows_at, slows_by: from this reading on the level is lower by this part (throttling).
    """

    level: float
    every_s: float = 1.0
    first_s: float = 1.0
    warmup: float = 0.25
    noise: float = 0.01
    slows_at: int | None = None
    slows_by: float = 0.0

    def values(self, seed: object) -> Iterator[tuple[float, float]]:
        """(seconds since the start, samples/s), without end; the same for the same seed."""
        chance = random.Random(repr(seed))
        for number in itertools.count():
            value = self.level * (1.0 - self.warmup * 0.5**number) if number < 64 else self.level
            if self.slows_at is not None and number >= self.slows_at:
                value *= 1.0 - self.slows_by
            yield self.first_s + number * self.every_s, value * (1 + chance.gauss(0.0, self.noise))


def training(
    curve: Curve,
    readings: int,
    line: Callable[[int, float], str],
    *,
    seed: object,
    first: str = "",
    last: str = "",
    stalls: bool = False,
    fails_with: int = 0,
    children: tuple[Child, ...] = (),
    on_term_s: float | None = 0.0,
) -> Workload:
    """A training run that prints so many readings and then ends, fails or stalls.

    Parameters
    ----------
    line: the text of a reading, from its number and its samples/s.
    seed: anything with a stable ``repr``; the same gives the same log.
    first, last: text before the first reading, and after the last one (the error, of one that
        fails).
    stalls: it prints nothing more and never ends.
    fails_with: its exit status.
    """

    def output() -> Iterator[tuple[float, bytes]]:
        if first:
            yield 0.0, first.encode()
        at = 0.0
        for number, (at, value) in enumerate(itertools.islice(curve.values(seed), readings)):
            yield at, f"{line(number, value)}\n".encode()
        if last:
            yield at, last.encode()

    ends = curve.first_s + readings * curve.every_s
    return Workload(
        output=output,
        ends_after_s=FOREVER if stalls else ends,
        exit_status=fails_with,
        on_term_s=on_term_s,
        children=children,
    )
