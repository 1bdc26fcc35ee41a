"""What a recorded campaign knows of its own past: which byte of which file was there when.

The journal says it of itself and, at each reading, of rank 0's log; telemetry has the host's clock
in it. In between, and where nothing is known but when a run began and ended, bytes are taken to
have come evenly.
"""

from __future__ import annotations

import contextlib
import os
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from backends.campaign.folder.paths import KEEPER_LOG, SPOOL, host_log_path, telemetry_path
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.regular_file import lies_within, open_to_read
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from backends.campaign.record.lock import FILE_NAME as LOCK
from backends.campaign.record.state import RunRecord
from profiles.errors import DlperfError

MOST_BYTES = 1 << 30
"""A replay is a copy on this machine's disk."""
_HOST_LINE = b"host, "
_NOT_OF_THE_PAST = (
    *(journal.FILE_NAME, LOCK, KEEPER_LOG, SPOOL),
    *("results.csv", "results.json", "report.md"),
)
"""Written by whoever was at work on it, and again and again."""
_ENDS = (ev.RunSucceeded, ev.RunFailed, ev.RunCancelled)


@dataclass(frozen=True, slots=True)
class Track:
    """How a file grew: ``points`` are (seconds since the epoch, bytes), neither ever falling.

    ``exact``: there were no bytes between two points.
    """

    points: tuple[tuple[float, int], ...]
    exact: bool = False

    def size_at(self, now: float) -> int:
        """Bytes that were there."""
        after = bisect_right(self.points, now, key=lambda point: point[0])
        if after == 0:
            return 0
        (t, size) = self.points[after - 1]
        if self.exact or after == len(self.points):
            return size
        (later, more) = self.points[after]
        return size + int((more - size) * (now - t) / (later - t))


@dataclass(frozen=True, slots=True)
class Recording:
    """A campaign that is over, or what there is of one that is not.

    Parameters
    ----------
    source: its directory.
    host: the machine it was made on.
    lines: of its journal, as a copy that is the campaign itself would have them.
    tracks: of the journal, logs and telemetry, by path relative to the directory.
    others: its other files, of which nobody knows when they came.
    simulated: nothing in it was measured.
    """

    source: Path
    host: str
    lines: bytes
    tracks: Mapping[str, Track]
    others: tuple[str, ...]
    simulated: bool

    @property
    def begin(self) -> float:
        """Seconds since the epoch."""
        return self.tracks[journal.FILE_NAME].points[0][0]

    @property
    def end(self) -> float:
        """Seconds since the epoch, of the last that is known."""
        return max(track.points[-1][0] for track in self.tracks.values())


def read_recording(source: Path) -> Recording:
    """Blocking.

    Raises
    ------
    JournalError, ForeignFileError: as reading any campaign.
    DlperfError: it was imported, so that nothing is known of when; or it is too large.
    """
    state = read_campaign(source)
    if state.imported:
        raise DlperfError(
            "it was imported: nobody knows when its lines came",
            where=str(source),
            remedy="look at its log with 'dlperf-tui logs', at its figures with 'report'",
        )
    events = [
        _at_home(event)
        for event in journal.read_events(source / journal.FILE_NAME)
        if _plays(event)
    ]
    lines, points, now, size = [], [], 0.0, 0
    for event in events:
        line = encode(event)
        now, size = max(now, event.t), size + len(line)
        lines.append(line)
        points.append((now, size))
    tracks = {journal.FILE_NAME: Track(tuple(points), exact=True)}
    of_run: dict[str, list[ev.Event]] = {}
    for event in events:
        of_run.setdefault(getattr(event, "run_id", ""), []).append(event)
    for run_id, run in state.runs.items():
        if (span := _Span.of(of_run.get(run_id, []))) is not None:
            tracks |= span.tracks(source, run)
    others = {path: size for path, size in _files(source) if path not in tracks}
    total = sum(others.values()) + sum(track.points[-1][1] for track in tracks.values())
    if total > MOST_BYTES:
        raise DlperfError(
            f"it has {total >> 20} MiB, which a replay would write again",
            where=str(source),
            remedy=f"at most {MOST_BYTES >> 20} MiB can be replayed; see 'dlperf-tui logs'",
        )
    begun = journal.beginning(source / journal.FILE_NAME)
    host = begun.host if begun is not None else ""
    return Recording(source, host, b"".join(lines), tracks, tuple(others), state.simulated)


def _plays(event: ev.Event) -> bool:
    return not isinstance(event, (ev.LinesLost, ev.CampaignPlaced, ev.CampaignHandedOn))


def _at_home(event: ev.Event) -> ev.Event:
    """A copy is a copy, and says so; this one stands for the campaign itself."""
    if isinstance(event, ev.CampaignCreated):
        return replace(event, place="", host="", path="")
    return event


@dataclass(frozen=True, slots=True)
class _Span:
    """When a run began and ended, and how much of rank 0's log was read when."""

    begin: float
    end: float
    read: tuple[tuple[float, int], ...]

    @staticmethod
    def of(mine: Sequence[ev.Event]) -> _Span | None:
        """By the events of one run; None where it never began."""
        began = [event.t for event in mine if isinstance(event, (ev.RunAssigned, ev.RunLaunched))]
        if not began:
            return None
        ended = [event.t for event in mine if isinstance(event, _ENDS)]
        read = tuple(
            (event.t, event.offset)
            for event in mine
            if isinstance(event, ev.ReadingsSampled) and event.offset
        )
        return _Span(began[-1], max(ended[-1:] or [mine[-1].t]), read)

    def tracks(self, source: Path, run: RunRecord) -> dict[str, Track]:
        found = {}
        for number, host in enumerate(run.hosts):
            if run.log:
                log = str(Path(run.log if number == 0 else host_log_path(run.log, host)))
                found[log] = self._track(source, log, self.read if number == 0 else ())
            telemetry = telemetry_path(run.run_id, host)
            found[telemetry] = self._track(source, telemetry, _sampled(source, telemetry))
        found.pop(journal.FILE_NAME, None)
        return {path: track for path, track in found.items() if track is not None}

    def _track(self, source: Path, path: str, known: Iterable[tuple[float, int]]) -> Track | None:
        size = _size(source, path)
        if size is None:
            return None
        points = [(self.begin, 0)]
        for t, there in (*known, (self.end, size)):
            before = points[-1]
            when = max(before[0], min(t, self.end))  # what is no number is no time, either
            points.append((when, min(max(there, before[1]), size)))
        return Track(tuple(points))


def _files(source: Path) -> Iterator[tuple[str, int]]:
    """What lies there that was written once, relative to it, with its size."""
    for folder, folders, files in os.walk(source):
        here = Path(folder).relative_to(source)
        folders[:] = [name for name in folders if str(here / name) not in _NOT_OF_THE_PAST]
        for name in files:
            path = str(here / name)
            if path not in _NOT_OF_THE_PAST and (size := _size(source, path)) is not None:
                yield path, size


def _size(source: Path, path: str) -> int | None:
    """Bytes; None where no regular file of the campaign lies."""
    if not lies_within(source, source / path):
        return None
    try:
        found = (source / path).lstat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _sampled(source: Path, path: str) -> Iterator[tuple[float, int]]:
    """What of a host's telemetry was there when, by the host's clock."""
    fd = open_to_read(source / path) if lies_within(source, source / path) else None
    if fd is None:
        return
    with os.fdopen(fd, "rb") as file:
        at = 0
        for line in file:
            if line.startswith(_HOST_LINE):
                with contextlib.suppress(ValueError):
                    yield float(line.split(b",", 2)[1]), at
            at += len(line)
