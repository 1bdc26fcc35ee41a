"""What is slower than the others, or than before, and by how much. Pure arithmetic.

A value is slow when it lies below the median by more than 3.5 × 1.4826 × MAD (Iglewicz and Hoaglin,
1993, as for the outliers of a case) and by more than a tolerance; below half of it in any case,
for a MAD of three values says little. Where k < n/2 of n values are slowed, and the others lie
within ±e of 1 with 2e within the tolerance, no other is named, and all k are that lost more than
1 − (1 − e)(1 − max(tolerance, 10.4e / (1 − e))), or more than half: median and MAD lie among those
that were not slowed. Two values have no majority: they can differ, and that is all that is said.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from backends.results.statistics import OUTLIER_LIMIT

FEWEST = 3
"""Values that have a majority."""
MAD_OF_NORMAL = 1.4826
SURELY = 0.5
"""A loss that the spread of the others does not excuse."""
FEWEST_BEFORE = 3
"""Earlier values of a host that tell what is usual for it."""

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Slower:
    """``loss``: relative to ``usual``, 0.21: it has 79% of that. ``of``: how many values that is
    the median of."""

    value: float
    usual: float
    of: int

    @property
    def loss(self) -> float:
        return 1 - self.value / self.usual if self.usual > 0 else 0.0


def slower_than_others(values: Mapping[Key, float], tolerance: float) -> dict[Key, Slower]:
    """Those that are slow among all, the slowest first; none where fewer than three are known."""
    if len(values) < FEWEST:
        return {}
    limit, usual = _limit(list(values.values()), tolerance)
    slow = {
        key: Slower(value, usual, len(values)) for key, value in values.items() if value < limit
    }
    return dict(sorted(slow.items(), key=lambda item: item[1].value))


def slower_than_before(value: float, before: Sequence[float], tolerance: float) -> Slower | None:
    """Whether a value is slow for who had ``before``; None where too few are known, too."""
    if len(before) < FEWEST_BEFORE:
        return None
    limit, usual = _limit(before, tolerance)
    return Slower(value, usual, len(before)) if value < limit else None


def differ(values: Mapping[Key, float], tolerance: float) -> tuple[Key, Slower] | None:
    """Of two, the one that is slower by more than the tolerance."""
    if len(values) != 2:
        return None
    low, high = sorted(values, key=lambda key: values[key])
    found = Slower(values[low], values[high], 1)
    return (low, found) if found.loss > tolerance else None


def _limit(values: Sequence[float], tolerance: float) -> tuple[float, float]:
    usual = statistics.median(values)
    spread = statistics.median(abs(value - usual) for value in values)
    excused = min(OUTLIER_LIMIT * MAD_OF_NORMAL * spread, SURELY * usual)
    return usual - max(excused, tolerance * usual), usual


Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SlowEnds:
    """Of figures of pairs: ``hosts`` are slow with whomever, ``pairs`` only with each other."""

    hosts: Mapping[str, Slower]
    pairs: Mapping[Pair, Slower]


def slow_ends(values: Mapping[Pair, float], tolerance: float) -> SlowEnds:
    """Tell slow hosts from slow links; a pair that failed has 0.

    A host is as good as with its best partner: one bad link leaves it well, and of a slow host
    every pair is slow. Pairs of hosts that are named are not judged any more.
    """
    best: dict[str, float] = {}
    partners: dict[str, int] = {}
    for pair, value in values.items():
        for host in pair:
            best[host] = max(best.get(host, 0.0), value)
            partners[host] = partners.get(host, 0) + 1
    # With one partner there is nothing to tell the host from the link by.
    several = {host: value for host, value in best.items() if partners[host] > 1}
    hosts = slower_than_others(several, tolerance)
    rest = {pair: value for pair, value in values.items() if not set(pair) & set(hosts)}
    pairs = slower_than_others(rest, tolerance)
    if not pairs and len(rest) < FEWEST:
        # Too few are left to have a majority of their own: against all of those hosts' best.
        known = [best[host] for host in best if host not in hosts]
        usual = statistics.median(known) if len(known) >= FEWEST else 0.0
        pairs = {
            pair: Slower(value, usual, len(known))
            for pair, value in rest.items()
            if value < (1 - tolerance) * usual
        }
    return SlowEnds(hosts, pairs)
