"""Readings of a demo as they came: its journal is written every two seconds of ours, which may be
minutes of its own, and has what came meanwhile as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress, groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from backends.campaign.record import events as ev

if TYPE_CHECKING:
    from backends.campaign.record.event_values import JournaledReading

_time = attrgetter("t")


def unmerged(events: Iterable[ev.Event]) -> Iterator[ev.Event]:
    """The same, with readings when they were received; what :func:`~backends.campaign.record.codec.
    merged` moved ahead over events of other runs is behind these again.

    Where rank 0's log was at each of them is taken to be even between two that the journal knows.
    """
    late: list[ev.ReadingsSampled] = []
    offsets: dict[str, int] = {}
    for event in events:
        run_id, parts = getattr(event, "run_id", None), list[ev.ReadingsSampled]()
        if isinstance(event, ev.ReadingsSampled):
            parts += _parts(event, offsets.get(event.run_id, 0))
            offsets[event.run_id] = event.offset
        elif isinstance(event, ev.ReadingsRestarted):
            offsets.pop(event.run_id, None)
        now = parts[0].t if parts else event.t
        due = [one.run_id == run_id or one.t <= now for one in late]
        yield from sorted(compress(late, due), key=_time)
        late = [*(one for one, is_due in zip(late, due, strict=True) if not is_due), *parts]
        if not parts:
            yield event
    yield from sorted(late, key=_time)


def _parts(event: ev.ReadingsSampled, before: int) -> Iterator[ev.ReadingsSampled]:
    """``before``: the log's bytes at the readings before these; 0: nobody knows."""
    numbered = zip(event.numbers, event.points, strict=True)
    groups = [list(one) for _, one in groupby(numbered, key=lambda one: one[1][2])]
    first, end = event.first, event.first + event.count
    begun = 0  # of the points
    for group in groups[:-1]:
        number, last = group[-1]
        share = (number + 1 - event.first) / event.count
        yield replace(
            event,
            t=last[2],
            first=first,
            count=number + 1 - first,
            points=_points(group),
            last=(last,),
            offset=before + int((event.offset - before) * share) if before else 0,
        )
        first, begun = number + 1, begun + len(group)
    yield replace(event, first=first, count=end - first, points=event.points[begun:])


def _points(group: Sequence[tuple[int, JournaledReading]]) -> tuple[JournaledReading, ...]:
    return tuple(point for _, point in group)
