"""What whoever is at work on a campaign knows of this moment, and the journal does not: why runs
wait, what starts are at, when silent ones are given up, whose logs are read late, and what time it
is by simulated clocks. A small file beside the requests, for those who look on.

It goes with whoever wrote it: it is read only while somebody is at work.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter

from backends.campaign.folder.paths import SPOOL
from backends.campaign.folder.regular_file import open_to_read
from backends.campaign.record.event_values import LATEST
from backends.engines.engine import Waiting
from backends.results.result_files import write_in_campaign
from profiles.cleantext import LINE_CAP, clean_text

MOMENT = f"{SPOOL}/moment.json"
MOST_BYTES = 1 << 20
MOST_RUNS = 2_000
"""That it tells of: a screen shows the first of them."""


@dataclass(frozen=True, slots=True)
class Moment:
    """By run id. ``starting``: what a start is at, in words. ``at``: the time by a simulated clock,
    seconds since the epoch; all that had happened by then is in the journal. ``given_up``: when one
    without a reading will be ended as stalled, by the same clock. ``unread``: when the first of
    what one printed came that is not read yet, likewise."""

    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    starting: Mapping[str, str] = field(default_factory=dict)
    at: float | None = None
    given_up: Mapping[str, float] = field(default_factory=dict)
    unread: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Alike:
    """Runs that wait for the same."""

    runs: tuple[str, ...]
    why: Waiting


@dataclass(frozen=True, slots=True)
class _Written:
    waiting: tuple[_Alike, ...]
    starting: dict[str, str]
    at: float | None = None
    given_up: dict[str, float] = field(default_factory=dict)
    unread: dict[str, float] = field(default_factory=dict)


NOTHING = Moment()
_FORMAT = TypeAdapter(_Written)


def write_moment(campaign: Path, moment: Moment) -> None:
    """Blocking. Raises OSError."""
    alike: dict[Waiting, list[str]] = {}
    for run_id in list(moment.waiting)[:MOST_RUNS]:
        alike.setdefault(moment.waiting[run_id], []).append(run_id)
    groups = tuple(_Alike(tuple(runs), why) for why, runs in alike.items())
    written = _Written(
        groups, dict(moment.starting), moment.at, dict(moment.given_up), dict(moment.unread)
    )
    write_in_campaign(campaign / MOMENT, json.dumps(asdict(written)))


def forget_moment(campaign: Path) -> None:
    """Nobody is at work any more."""
    with contextlib.suppress(OSError):
        (campaign / MOMENT).unlink()


class MomentReader:
    """Reads it again only when it was written again; what is no such file tells nothing."""

    def __init__(self, campaign: Path) -> None:
        self._path = campaign / MOMENT
        self._seen: tuple[int, ...] | None = None
        self._moment = NOTHING

    def read(self) -> Moment:
        """Blocking."""
        fd = open_to_read(self._path)
        if fd is None:
            self._seen, self._moment = None, NOTHING
            return NOTHING
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            seen = (status.st_ino, status.st_mtime_ns, status.st_size)
            if seen != self._seen:
                self._seen = seen
                try:
                    self._moment = _read(file.read(MOST_BYTES))
                except (OSError, ValueError, RecursionError):
                    self._moment = NOTHING
        return self._moment


def _read(data: bytes) -> Moment:
    """Raises ValueError for what :func:`write_moment` never writes."""
    written = _FORMAT.validate_json(data)
    waiting: dict[str, Waiting] = {}
    for one in written.waiting:
        waiting |= dict.fromkeys(one.runs, _checked(one.why))
    starting = {run_id: _shown(words) for run_id, words in written.starting.items()}
    for told in (*written.given_up.values(), *written.unread.values()):
        _time(told)
    return Moment(waiting, starting, _time(written.at), written.given_up, written.unread)


def _time(told: float | None) -> float | None:
    """Raises ValueError for a time that no clock tells."""
    if told is not None and not 0 <= told <= LATEST:
        raise ValueError("no time")
    return told


def _checked(why: Waiting) -> Waiting:
    """Raises ValueError as :func:`_time` does."""
    _time(why.expected_at)
    hosts, away = (tuple(map(_shown, names)) for names in (why.hosts, why.away))
    return replace(
        why,
        hosts=hosts,
        away=away,
        detail=_shown(why.detail),
        behind=_shown(why.behind),
        unusable=tuple((_shown(name), _shown(reason)) for name, reason in why.unusable),
        busy=tuple(map(_shown, why.busy)),
    )


def _shown(text: str) -> str:
    return clean_text(text, cap=LINE_CAP)
