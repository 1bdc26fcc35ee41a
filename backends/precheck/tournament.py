"""Who is measured with whom, and when: every pair once, all hosts of a round at the same time."""

from __future__ import annotations

from collections.abc import Sequence

MOST_ROUNDS = 8
"""By default. Each host then has eight partners, which tells a slow host from a slow link."""

Pair = tuple[str, str]
Round = tuple[Pair, ...]


def tournament(hosts: Sequence[str], most: int = MOST_ROUNDS) -> tuple[Round, ...]:
    """At most ``most`` rounds of disjoint pairs; n − 1 of them have every pair once (n for odd n).

    The circle method (Kirkman, 1847): one host stays, the others move on by one place each round.
    Of more rounds than may be, those are taken that lie evenly apart, so that partners differ as
    much as they can: neighbours by name often share a switch.
    """
    ring: list[str | None] = [*hosts]
    if len(ring) < 2:
        return ()
    if len(ring) % 2:
        ring.append(None)  # whoever meets it has a rest
    rounds = []
    for _ in range(len(ring) - 1):
        half = len(ring) // 2
        facing = zip(ring[:half], reversed(ring[half:]), strict=True)
        pairs = ((a, b) for a, b in facing if a is not None and b is not None)
        rounds.append(tuple((a, b) if _first(hosts, a, b) else (b, a) for a, b in pairs))
        ring = [ring[0], ring[-1], *ring[1:-1]]
    if len(rounds) <= most:
        return tuple(rounds)
    return tuple(rounds[place * len(rounds) // most] for place in range(max(0, most)))


def _first(hosts: Sequence[str], a: str, b: str) -> bool:
    return hosts.index(a) < hosts.index(b)


def disjoint(pairs: Sequence[Pair]) -> tuple[Round, ...]:
    """Any pairs, in as many rounds as it takes for no host to be in two at once."""
    rounds: list[list[Pair]] = []
    for pair in pairs:
        for some in rounds:
            if not any(set(pair) & set(other) for other in some):
                some.append(pair)
                break
        else:
            rounds.append([pair])
    return tuple(tuple(some) for some in rounds)
