"""What starts on which hosts, now and, by what is expected, later. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from backends.engines.engine import Schedule, Waiting, WaitKind, Wanted
from backends.engines.filling import Filling, Offer, Start, Use
from backends.engines.waiting_line import in_turn
from backends.inventory.nodesets import fold_nodeset

MOST_PLAYED = 1_000
"""Runs by which it is estimated when all of them have ended."""


@dataclass(frozen=True, slots=True)
class Slot:
    """When a run is on its hosts, by the clock of ``not_before``; ``end``: infinite where nobody
    knows how long it takes."""

    hosts: tuple[str, ...]
    start: float
    end: float


def schedule_on(offers: Sequence[Offer], wanted: Sequence[Wanted], now: float) -> Schedule:
    """What starts at ``now``, by the clock of ``not_before``, of runs in planning order."""
    filling = Filling(wanted, offers, now)
    started = list(filling.starts())
    starts = {want.run_id: hosts for want, hosts, _ in started}
    offers = _with_starts(offers, started)  # until something ends nobody asks again why runs wait
    waiting: dict[str, Waiting] = {}
    vain: dict[str, Waiting] = {}
    behind: dict[str, Wanted] = {}
    for line in filling.lines:
        left = list(line.left())
        if left:
            fitting = [offer for offer in offers if offer.fits(left[0])]
            unusable = tuple((o.name, o.unusable) for o in fitting if o.unusable)
            why = replace(_why(left[0], fitting, now), unusable=unusable)
            waiting |= dict.fromkeys((want.run_id for want in left), why)
            if why.kind in (WaitKind.BEHIND, WaitKind.SETTLING):
                behind |= {want.run_id: one for want in left if (one := filling.kept_from(want))}
            if why.kind is WaitKind.BUSY and 1 < left[0].nodes > len(fitting) / 2:
                # One of them at a time.
                behind |= {want.run_id: left[0] for want in left[1:]}
            vain |= _in_vain(left, fitting)
    for run_id, ahead in behind.items():
        if (its := waiting.get(ahead.run_id)) is not None:  # else it went after all
            busy = its.kind is WaitKind.BUSY
            hosts, nodes = (its.hosts, its.nodes) if busy else ((), 0)
            waiting[run_id] = Waiting(
                WaitKind.BEHIND,
                hosts,
                nodes=nodes,
                behind=ahead.run_id,
                unusable=waiting[run_id].unusable,
            )
    rests = (use.until for offer in offers for use in offer.uses if use.resting)
    times = (at for at in (*rests, *(want.not_before for want in wanted)) if at > now)
    return Schedule(starts, waiting, min(times, default=None), vain)


def timeline(
    offers: Sequence[Offer], wanted: Sequence[Wanted], now: float = 0.0
) -> dict[str, Slot]:
    """By run id: what :func:`schedule_on` will come to if everything takes as long as is expected.

    A run that waits for one of unknown duration, or for hosts that cannot be used, is left out.
    """
    filling = Filling(wanted, offers, now)
    slots = {}
    while True:
        for want, hosts, end in filling.starts():
            slots[want.run_id] = Slot(hosts, filling.now, end)
        if not filling.advance():
            return slots


def ends_at(offers: Sequence[Offer], wanted: Sequence[Wanted], now: float = 0.0) -> float:
    """When the last of the runs has ended; infinite where nobody knows.

    Of very many the first :data:`MOST_PLAYED` are played, and the others fill hosts as those do.
    """
    devices = max((offer.devices for offer in offers), default=1) or 1
    turns = [want for _, want in in_turn(wanted, devices)]
    played, others = turns[:MOST_PLAYED], turns[MOST_PLAYED:]
    slots = timeline(offers, played, now)
    if len(slots) < len(played):
        return math.inf
    end = max((slot.end for slot in slots.values()), default=now)
    if not others:
        return end
    return end + (end - now) * _host_time_s(others, devices) / _host_time_s(played, devices)


def _host_time_s(wanted: Iterable[Wanted], devices: int) -> float:
    return sum(want.hosts_taken(devices) * want.length_s for want in wanted)


def _with_starts(offers: Sequence[Offer], started: Iterable[Start]) -> list[Offer]:
    """The same hosts with what starts on them."""
    uses: dict[str, list[Use]] = {}
    for want, hosts, end in started:
        devices = tuple(range(want.gpus_per_node)) if want.pack else None
        for name in hosts:
            uses.setdefault(name, []).append(Use(end + want.settle_s, devices=devices))
    return [
        replace(offer, uses=(*offer.uses, *uses[offer.name])) if offer.name in uses else offer
        for offer in offers
    ]


def _why(want: Wanted, fitting: Sequence[Offer], now: float) -> Waiting:
    blocked = [o for o in fitting if o.unusable]
    usable = [o for o in fitting if not o.unusable]
    full = [o for o in usable if not (want.pack and o.room(now) >= want.gpus_per_node)]
    busy = tuple(o.name for o in full if o.busy)
    if (lacks := want.nodes - (len(fitting) - len(blocked))) > 0 and blocked:
        names = tuple(offer.name for offer in blocked)
        nodes = lacks if lacks < len(blocked) else 0
        return Waiting(WaitKind.UNUSABLE, names, _reasons(blocked), nodes=nodes, busy=busy)
    if len(fitting) < want.nodes:
        return Waiting(
            WaitKind.TOO_FEW,
            nodes=want.nodes,
            gpus_per_node=want.gpus_per_node,
            known=len(fitting),
        )
    if busy:
        lacks = want.nodes - sum(not o.busy for o in usable)
        if lacks <= 0:  # they are kept for another one, or rest
            free = sum(not (o.busy or any(use.until > now for use in o.uses)) for o in usable)
            return Waiting(WaitKind.BEHIND) if free >= want.nodes else _settling(want, usable, now)
        away = tuple(o.name for o in blocked if o.away_s is not None)
        will_do = tuple(o.name for o in fitting if o.name in busy or o in blocked)
        awaited = tuple(name for name in will_do if name not in away)
        nodes = lacks if lacks < len(awaited) else 0
        return Waiting(WaitKind.BUSY, awaited, nodes=nodes, away=away)
    if any(use.until > now for o in full for use in o.uses):
        return _settling(want, usable, now)
    return Waiting(WaitKind.BEHIND)


def _settling(want: Wanted, usable: Iterable[Offer], now: float) -> Waiting:
    """Until as many hosts as it needs have rested."""
    free = (o for o in usable if not o.busy or (want.pack and o.room(now) >= want.gpus_per_node))
    times = sorted(_rested_at(offer, want, now) for offer in free)
    return Waiting(WaitKind.SETTLING, expected_at=times[want.nodes - 1])


def _rested_at(offer: Offer, want: Wanted, now: float) -> float:
    """When what rests of the host leaves room for the run."""
    times = sorted({now, *(use.until for use in offer.uses if use.until > now)})
    room = (at for at in times if want.pack and offer.room(at) >= want.gpus_per_node)
    return next(room, times[-1])


def _reasons(blocked: Iterable[Offer]) -> str:
    """The one that all have; else whose each is: ``held by bob (node3), no answer (node[1-2])``."""
    names: dict[str, list[str]] = {}
    for offer in blocked:
        names.setdefault(offer.unusable, []).append(offer.name)
    if len(names) == 1:
        return next(iter(names))
    return ", ".join(f"{reason} ({fold_nodeset(whose)})" for reason, whose in names.items())


def _in_vain(left: Iterable[Wanted], fitting: Sequence[Offer]) -> Mapping[str, Waiting]:
    """By run id: the hosts without which there are too few, when they have been away too long."""
    away = [offer for offer in fitting if offer.away_s is not None]
    vain = {}
    for want in left if away else ():
        gone = [o for o in away if o.away_s is not None and o.away_s >= want.patience_s]
        if gone and len(fitting) - len(gone) < want.nodes:
            detail = "; ".join(f"{o.name}: {o.unusable}" for o in gone[:3])
            names = tuple(offer.name for offer in gone)
            vain[want.run_id] = Waiting(WaitKind.UNUSABLE, names, detail)
    return vain
