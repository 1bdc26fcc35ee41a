"""Hosts while runs are put on them: whose turn it is, and who may go meanwhile. Pure.

Runs go round by round (a round has a repeat of every case), within a round those that take the most
host time first. A run that must wait holds the hosts that it can have soonest, so that a stream of
small runs never starves a large one. Hosts that nobody ahead needs are filled from behind; hosts
that are held, by runs of the same round or the next that have ended by then, or delay the one that
holds by less host time than would lie idle. (Backfilling as in Lifka, The ANL/IBM SP scheduling
system, 1995; the price of a delay and the limit to the next round are ours.)

A run has its hosts alone, unless it packs: such runs share one, each with devices of its own, and
only while no host is idle that they might have. Who waits holds hosts as a whole.
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
    ``resting``: no run is there any more, and ``until`` is certain. ``devices``: those alone, by
    index; None: all of it."""

    until: float = math.inf
    resting: bool = False
    devices: tuple[int, ...] | None = None


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

    @property
    def devices(self) -> int:
        """That runs which pack may share; 0: not known, so that none are."""
        return self.capacity.devices(gpu_only=False) or 0

    def room(self, now: float) -> int:
        """How many of them nothing is on."""
        taken = (use for use in self.uses if not use.resting or use.until > now)
        return self.devices - sum(_count(use, self.devices) for use in taken)

    def fits(self, want: Wanted) -> bool:
        if want.cluster and want.cluster not in self.capacity.clusters:
            return False
        return self.capacity.holds(want.gpus_per_node, gpu_only=want.gpu_only)


def _count(use: Use, of: int) -> int:
    return of if use.devices is None else len(use.devices)


class Start(NamedTuple):
    """``end``: when the run has ended."""

    want: Wanted
    hosts: tuple[str, ...]
    end: float


class _Hold(NamedTuple):
    """Of a host, by a run that waits and will keep so many ``hosts`` from others. ``gap_s``: how
    long until it can begin; 0: nobody knows."""

    gap_s: float
    by: Wanted
    hosts: float

    def allows(self, want: Wanted, hosts: float) -> bool:
        return want.repeat <= self.by.repeat + 1 and want.length_s <= self.limit_s(hosts)

    def limit_s(self, hosts: float) -> float:
        """Of a run that takes so many, beyond which the delay costs more than it fills."""
        return self.gap_s * (1 + hosts / self.hosts)


class _Host:
    """``size``: its devices, or 1 where they are not known; ``taken``: of them, now. ``hold``: by a
    run that waits, while there is room."""

    __slots__ = ("hold", "number", "offer", "size", "taken")

    def __init__(self, number: int, offer: Offer) -> None:
        self.number = number
        self.offer = offer
        self.hold: _Hold | None = None
        self.size = offer.devices or 1
        self.taken = 0

    @property
    def room(self) -> int:
        return self.size - self.taken

    def needs(self, want: Wanted) -> int:
        """How many of its devices a run takes."""
        return want.gpus_per_node if want.pack and self.offer.devices else self.size

    @property
    def idle_s(self) -> float:
        """Until the run that holds it can begin."""
        return math.inf if self.hold is None else self.hold.gap_s


class Filling:
    """From ``now`` on, by the clock of ``not_before``; runs of ``wanted`` in planning order."""

    def __init__(self, wanted: Iterable[Wanted], offers: Iterable[Offer], now: float) -> None:
        self.now = now
        usable = [offer for offer in offers if not offer.unusable]
        self._hosts = [_Host(number, offer) for number, offer in enumerate(usable)]
        self._devices = max((host.size for host in self._hosts), default=1)
        self._ends: list[tuple[float, int, int]] = []
        self._given: set[int] = set()  # since the beginning, by number
        for host in self._hosts:
            for use in host.offer.uses:
                if not use.resting or use.until > now:
                    self._take(host, use.until, _count(use, host.size))
        self._open = {host.number: host for host in self._hosts if host.room > 0}
        self._lines: dict[object, WaitingLine] = {}
        self._fit: dict[object, frozenset[int]] = {}
        self._later: list[tuple[float, Turn, Wanted]] = []
        for turn, want in in_turn(wanted, self._devices):
            if want.not_before > now:
                self._later.append((want.not_before, turn, want))
            else:
                self._line(want).append(turn, want)
        heapq.heapify(self._later)

    def _line(self, want: Wanted) -> WaitingLine:
        if (line := self._lines.get(needs := want.needs)) is None:
            line = self._lines[needs] = WaitingLine(want.hosts_taken(self._devices))
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
            _, number, count = self._ends.pop(0)
            host = self._hosts[number]
            host.taken -= count
            if host.room > 0:
                self._open[number] = host
        self._open = dict(sorted(self._open.items()))  # in the order of preference
        while self._later and self._later[0][0] <= self.now:
            _, turn, want = heapq.heappop(self._later)
            self._line(want).insert(turn, want)
        return True

    def kept_from(self, want: Wanted) -> Wanted | None:
        """After :meth:`starts`: who keeps hosts from it on which nothing runs, the first of several
        in turn; None: nobody, or it would not fill them however short it were."""
        fitting, open_to = self._fitting(want), want.repeat - 1
        holds = {
            host.hold
            for host in self._hosts
            if host.hold is not None
            and host.number in fitting
            and not (host.offer.busy or host.number in self._given)
        }
        ahead = [hold for hold in holds if hold.by is not want and hold.by.repeat >= open_to]
        first = min(ahead, key=lambda h: (h.by.repeat, -h.hosts * h.by.length_s), default=None)
        return None if first is None else first.by

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
                chosen = [host for host in chosen if host.taken >= host.size]
            else:
                chosen = self._hold_for(want, line, taken_until)
            for host in chosen:
                unheld.pop(host.number, None)

    def _hold_for(
        self, want: Wanted, line: WaitingLine, taken_until: dict[int, float]
    ) -> list[_Host]:
        """The hosts that it can have soonest, of those that no run before it waits for if there are
        enough; none where it cannot start whoever ends.

        ``taken_until``: by number, hosts that a run before it will have by then.
        """
        fitting = self._fitting(want)
        soonest = ((n, at) for n, at in self._room_at(want) if n in fitting)
        unasked = ((n, at) for n, at in soonest if n not in taken_until)
        in_order = sorted(taken_until, key=taken_until.__getitem__)
        asked = ((n, taken_until[n]) for n in in_order if n in fitting)
        found = list(itertools.islice(itertools.chain(unasked, asked), want.nodes))
        if len(found) < want.nodes:
            return []
        begins = max(at for _, at in found)
        hold = _Hold(begins - self.now if begins < math.inf else 0.0, want, line.hosts_taken)
        held = [self._hosts[number] for number, _ in found]
        for host in held:
            taken_until[host.number] = begins + want.length_s
            host.hold = host.hold or hold
        return held

    def _room_at(self, want: Wanted) -> Iterator[tuple[int, float]]:
        """Hosts by number with when they have room for it, soonest first."""
        room = {}
        for number, host in self._open.items():
            if host.room >= host.needs(want):
                yield number, self.now
            else:
                room[number] = host.room
        for at, number, count in self._ends:
            host = self._hosts[number]
            before = room.get(number, host.room)
            room[number] = before + count
            if before < host.needs(want) <= room[number]:
                yield number, max(self.now, at)

    def _meanwhile(self) -> Iterator[Start]:
        """On hosts that are held, together with such as nobody had use for."""
        for turn, want, line in self._short_enough():
            takes, there = line.hosts_taken, self._open.values()
            usable = [h for h in there if h.hold is None or h.hold.allows(want, takes)]
            if chosen := self._choose(want, sorted(usable, key=lambda host: host.idle_s)):
                yield self._put(line, turn, want, chosen)

    def _short_enough(self) -> list[tuple[Turn, Wanted, WaitingLine]]:
        """Runs that one of the holds allows, in their order."""
        holds = {host.hold for host in self._open.values() if host.hold is not None}
        found = []
        for line in self.lines if holds else ():
            if (head := line.head()) is not None and head[1].nodes <= len(self._open):
                limit_s = max(hold.limit_s(line.hosts_taken) for hold in holds)
                last = max(hold.by.repeat for hold in holds) + 1
                found += [(turn, want, line) for turn, want in line.shorter(limit_s, last)]
        return sorted(found, key=lambda one: one[0])

    def _put(self, line: WaitingLine, turn: Turn, want: Wanted, chosen: Sequence[_Host]) -> Start:
        line.drop(turn)
        end = self.now + want.takes_s(host.offer.name for host in chosen)
        for host in chosen:
            self._given.add(host.number)
            self._take(host, end + want.settle_s, host.needs(want))
            if host.taken >= host.size:
                del self._open[host.number]
        return Start(want, tuple(host.offer.name for host in chosen), end)

    def _take(self, host: _Host, until: float, count: int) -> None:
        host.taken += count
        bisect.insort(self._ends, (until, host.number, count))

    def _choose(self, want: Wanted, hosts: Iterable[_Host]) -> list[_Host]:
        """As many as it needs, or none; those that it avoids only when there are no others.

        One that packs takes the host where the least is taken: alone it measures best.
        """
        fitting = self._fitting(want)
        if want.pack:
            emptiest = min(
                (h for h in hosts if h.number in fitting and h.room >= h.needs(want)),
                key=lambda host: (host.offer.name in want.avoid, host.taken),
                default=None,
            )
            return [] if emptiest is None else [emptiest]
        fit: Iterable[_Host] = (host for host in hosts if not host.taken and host.number in fitting)
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
