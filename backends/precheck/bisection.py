"""Which hosts break a collective that each of them joined: the smallest group that fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

FEWEST = 2
"""Hosts of a collective."""

Broken = Callable[[Sequence[tuple[str, ...]]], Awaitable[Sequence[bool]]]
"""Runs the collective on groups that share no host, at the same time; which of them failed."""


@dataclass(frozen=True, slots=True)
class Culprits:
    """``hosts``: one that fails with whomever it is tried; two or more that fail only together.

    ``tries``: how many groups were run. ``certain``: False where the tries ended before.
    """

    hosts: tuple[str, ...]
    tries: int
    certain: bool = True


async def find_culprits(hosts: Sequence[str], broken: Broken, *, most_tries: int) -> Culprits:
    """Halve until one host, or the smallest group that fails, is left.

    It is delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing
    input", 2002), where no test may have fewer than two hosts. ``hosts`` has failed as a whole;
    a run that fails by chance makes the answer as wrong as the run.
    """
    suspects = tuple(hosts)
    good: set[str] = set()
    tries = 0
    parts = 2
    while len(suspects) > FEWEST:
        groups = [group for group in _split(suspects, parts) if len(group) >= FEWEST]
        if tries + len(groups) > most_tries:
            return Culprits(suspects, tries, certain=False)
        failed = await broken(groups)
        tries += len(groups)
        good |= {h for group, bad in zip(groups, failed, strict=True) if not bad for h in group}
        if any(failed):
            suspects, parts = groups[list(failed).index(True)], 2
            continue
        smaller = await _without_a_part(suspects, parts, broken, most_tries - tries)
        if smaller is None:
            return Culprits(suspects, tries, certain=False)
        rest, spent = smaller
        tries += spent
        if rest:
            suspects, parts = rest, max(2, parts - 1)
        elif parts < len(suspects):
            parts = min(2 * parts, len(suspects))
        else:
            break  # none of them can be left out
    known = [host for host in hosts if host in good and host not in suspects]
    untried = [host for host in hosts if host not in good and host not in suspects]
    return await _which_of(suspects, [*known, *untried], broken, tries, most_tries)


async def _without_a_part(
    suspects: tuple[str, ...], parts: int, broken: Broken, tries_left: int
) -> tuple[tuple[str, ...], int] | None:
    """What still fails without one of the parts (empty: nothing does), and how many were run; None:
    the tries are over."""
    spent = 0
    for part in _split(suspects, parts):
        rest = tuple(host for host in suspects if host not in part)
        if len(rest) < FEWEST or len(rest) == len(suspects):
            continue
        if parts == 2:
            continue  # the other part, which was just tried
        if spent >= tries_left:
            return None
        spent += 1
        if (await broken([rest]))[0]:
            return rest, spent
    return (), spent


async def _which_of(
    few: tuple[str, ...], others: Sequence[str], broken: Broken, tries: int, most_tries: int
) -> Culprits:
    """Each with others in the place of the rest, one after the other; ``others``: first those that
    have worked. So a host is found that breaks only what several do, too."""
    company = tuple(others[: len(few) - 1])
    if len(few) < FEWEST or len(company) < len(few) - 1 or tries + len(few) > most_tries:
        return Culprits(few, tries, certain=False)
    failed = [(await broken([(host, *company)]))[0] for host in few]
    if all(failed):  # it may be the others as well
        return Culprits(few, tries + len(few), certain=False)
    alone = tuple(host for host, bad in zip(few, failed, strict=True) if bad)
    return Culprits(alone or few, tries + len(few))


def _split(hosts: tuple[str, ...], parts: int) -> list[tuple[str, ...]]:
    """In order, into parts that differ by one host at most."""
    edges = [place * len(hosts) // parts for place in range(parts + 1)]
    return [hosts[a:b] for a, b in pairwise(edges) if b > a]
