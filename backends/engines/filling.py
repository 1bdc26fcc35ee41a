"""Hosts while runs are put on them: whose turn it is, and who may go meanwhile. Pure.

Runs go round by round (a round has a repeat of every case), within a round those that take the most
host time first. A run that must wait holds the hosts that it can have soonest, so that a stream of
small runs never starves a large one. Hosts that nobody ahead needs are filled from behind; hosts
that are held, by runs of the same round or the next that have ended by then, or delay the one that
holds by less host time than would lie idle. (Backfilling as in Lifka, The ANL/IBM SP scheduling
system, 1995; the price of a delay and the limit to the next round are ours.)
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backends.engines.engine import Wanted
from backends.engines.waiting_line import Turn, WaitingLine, in_turn
from profiles.format.host_capacity import HostCapacity


class Use(NamedTuple):
    """Of a host. ``until``: when it is expected to be free again, settle time included.
    ``resting``: no run is there any more, and ``until`` is certain."""

    until: float = math.inf
    resting: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A host that the campaign may use.

    ``uses``: what is on it. ``unusable``: why it cannot be used now (unreachable, held by …).
    ``away_s``: for how long it has been out of reach.
    """

    capacity: HostCapacity
    uses: tuple[Use, ...] = ()
    unusable: str = ""
    away_s: float | None = None

    @property
    def name(self) -> str:
        return self.capacity.name

    @property
    def busy(self) -> bool:
        return any(not use.resting for use in self.uses)

    def fits(self, want: Wanted) -> bool:
        if want.cluster and want.cluster not in self.capacity.clusters:
            return False
        return self.capacity.holds(want.gpus_per_node, gpu_only=want.gpu_only)


class Start(NamedTuple):
    want: Wanted
    hosts: tuple[str, ...]


class _Hold(NamedTuple):
    """Of a host, by a run that waits. ``gap_s``: how long until it can begin; 0: nobody knows."""

    gap_s: float
    by: Wanted

    def allows(self, want: Wanted) -> bool:
        return want.repeat <= self.by.repeat + 1 and want.length_s <= self.limit_s(want.nodes)

    def limit_s(self, nodes: int) -> float:
        """Of a run on so many hosts, beyond which the delay costs more than it fills."""
        return self.gap_s * (1 + nodes / self.by.nodes)


class _Host:
    """``free_at``: expected, of what is on it. ``hold``: by a run that waits, while it is free."""

    __slots__ = ("free_at", "hold", "number", "offer")

    def __init__(self, number: int, offer: Offer, now: float) -> None:
        self.number = number
        self.offer = offer
        self.hold: _Hold | None = None
        self.free_at = max((use.until for use in offer.uses), default=now)

    def free(self, now: float) -> bool:
        return not self.offer.busy and self.free_at <= now

    @property
    def idle_s(self) -> float:
        """Until the run that holds it can begin."""
        return math.inf if self.hold is None else self.hold.gap_s


class Filling:
    """From ``now`` on, by the clock of ``not_before``; runs of ``wanted`` in planning order."""

    def __init__(self, wanted: Iterable[Wanted], offers: Iterable[Offer], now: float) -> None:
        self.now = now
        usable = [offer for offer in offers if not offer.unusable]
        self._hosts = [_Host(number, offer, now) for number, offer in enumerate(usable)]
        self._open = {host.number: host for host in self._hosts if host.free(now)}
        self._ends = sorted((h.free_at, h.number) for h in self._hosts if not h.free(now))
        self._lines: dict[object, WaitingLine] = {}
        self._fit: dict[object, frozenset[int]] = {}
        self._later: list[tuple[float, Turn, Wanted]] = []
        for turn, want in in_turn(wanted):
            if want.not_before > now:
                self._later.append((want.not_before, turn, want))
            else:
                self._line(want).append(turn, want)
        heapq.heapify(self._later)

    def _line(self, want: Wanted) -> WaitingLine:
        if (line := self._lines.get(needs := want.needs)) is None:
            line = self._lines[needs] = WaitingLine()
        return line

    @property
    def lines(self) -> Iterable[WaitingLine]:
        """Runs that are due and wait; those that need the same hosts together."""
        return self._lines.values()

    def starts(self) -> Iterator[Start]:
        """What starts now."""
        for host in self._open.values():
            host.hold = None
        yield from self._who_is_next()
        yield from self._meanwhile()

    def advance(self) -> bool:
        """To when the next host is free or the next run is due; False: to no time that is known."""
        at = min((queue[0][0] for queue in (self._ends, self._later) if queue), default=math.inf)
        if at == math.inf:
            return False
        self.now = max(self.now, at)
        while self._ends and self._ends[0][0] <= self.now:
            host = self._hosts[self._ends.pop(0)[1]]
            self._open[host.number] = host
        self._open = dict(sorted(self._open.items()))  # in the order of preference
        while self._later and self._later[0][0] <= self.now:
            _, turn, want = heapq.heappop(self._later)
            self._line(want).insert(turn, want)
        return True

    # One moment ----------------------------------------------------------------------------------

    def _who_is_next(self) -> Iterator[Start]:
        unheld = dict(self._open)
        taken_until: dict[int, float] = {}
        heads = [(*head, line) for line in self.lines if (head := line.head()) is not None]
        heapq.heapify(heads)
        while heads and unheld:
            turn, want, line = heapq.heappop(heads)
            if chosen := self._choose(want, unheld.values()):
                yield self._put(line, turn, want, chosen)
                if (head := line.head()) is not None:
                    heapq.heappush(heads, (*head, line))
            else:
                chosen = self._hold_for(want, taken_until)
            for host in chosen:
                unheld.pop(host.number, None)

    def _hold_for(self, want: Wanted, taken_until: dict[int, float]) -> list[_Host]:
        """The hosts that it can have soonest, of those that no run before it waits for if there are
        enough; none where it cannot start whoever ends.

        ``taken_until``: by number, hosts that a run before it will have by then.
        """
        fitting = self._fitting(want)
        soonest = itertools.chain(self._open, (number for _, number in self._ends))
        unasked = (n for n in soonest if n in fitting and n not in taken_until)
        asked = (n for n in sorted(taken_until, key=taken_until.__getitem__) if n in fitting)
        numbers = itertools.islice(itertools.chain(unasked, asked), want.nodes)
        held = [self._hosts[number] for number in numbers]
        if len(held) < want.nodes:
            return []
        begins = max(taken_until.get(host.number, max(self.now, host.free_at)) for host in held)
        hold = _Hold(begins - self.now if begins < math.inf else 0.0, want)
        for host in held:
            taken_until[host.number] = begins + want.length_s
            host.hold = host.hold or hold
        return held

    def _meanwhile(self) -> Iterator[Start]:
        """On hosts that are held, together with such as nobody had use for."""
        for turn, want, line in self._short_enough():
            usable = [h for h in self._open.values() if h.hold is None or h.hold.allows(want)]
            if chosen := self._choose(want, sorted(usable, key=lambda host: host.idle_s)):
                yield self._put(line, turn, want, chosen)

    def _short_enough(self) -> list[tuple[Turn, Wanted, WaitingLine]]:
        """Runs that one of the holds allows, in their order."""
        holds = {host.hold for host in self._open.values() if host.hold is not None}
        found = []
        for line in self.lines if holds else ():
            if (head := line.head()) is not None and (nodes := head[1].nodes) <= len(self._open):
                limit_s = max(hold.limit_s(nodes) for hold in holds)
                last = max(hold.by.repeat for hold in holds) + 1
                found += [(turn, want, line) for turn, want in line.shorter(limit_s, last)]
        return sorted(found, key=lambda one: one[0])

    def _put(self, line: WaitingLine, turn: Turn, want: Wanted, chosen: Sequence[_Host]) -> Start:
        line.drop(turn)
        for host in chosen:
            del self._open[host.number]
            host.free_at = self.now + want.length_s
            bisect.insort(self._ends, (host.free_at, host.number))
        return Start(want, tuple(host.offer.name for host in chosen))

    def _choose(self, want: Wanted, hosts: Iterable[_Host]) -> list[_Host]:
        """As many as it needs, or none; those that it avoids only when there are no others."""
        fitting = self._fitting(want)
        fit: Iterable[_Host] = (host for host in hosts if host.number in fitting)
        if want.avoid:
            fit = sorted(fit, key=lambda host: host.offer.name in want.avoid)
        chosen = list(itertools.islice(fit, want.nodes))
        return chosen if len(chosen) == want.nodes else []

    def _fitting(self, want: Wanted) -> frozenset[int]:
        """The numbers of the hosts that it fits."""
        if (known := self._fit.get(want.needs)) is None:
            fit = (host.number for host in self._hosts if host.offer.fits(want))
            known = self._fit[want.needs] = frozenset(fit)
        return known
