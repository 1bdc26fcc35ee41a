"""What a recorded campaign knows of its own past: which byte of which file was there when.

The journal says it of itself and, at each reading, of rank 0's log, which stands still in between:
no line is there before the reading that it has. Telemetry has the host's clock in it. Where nothing
is known but when a run began and ended, or made its first reading, bytes are taken to have come
evenly; and to the logs of its other hosts as to rank 0's.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from backends.campaign.folder.frozen import profiles_of
from backends.campaign.folder.paths import KEEPER_LOG, SPOOL, host_log_path, telemetry_path
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.regular_file import lies_within, open_to_read
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from backends.campaign.record.lock import FILE_NAME as LOCK
from backends.campaign.record.state import RunRecord
from backends.engines.hosts_schedule import Slot
from backends.hosts.preflight_finding import Bearing
from backends.replay.unmerged import unmerged
from profiles.errors import DlperfError
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser

MOST_BYTES = 1 << 30
"""A replay is a copy on this machine's disk."""
_HOST_LINE = b"host, "
_AT_ONCE = 1 << 16
_MOST_LOOKED_AT, _MOST_OF_A_LOG = 32 << 20, 8 << 20
_A_LOG, _A_LINE = 1 << 10, 1 << 6
"""Bytes that take as long to look at as to begin with a log, or a line."""
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

    @property
    def size(self) -> int:
        """Bytes in the end."""
        return self.points[-1][1]

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
    turns: when runs began or ended, in order; seconds since the epoch.
    simulated: nothing in it was measured.
    slots: where and when each run was, by its id.
    found: what preflight stopped or warned of, and it was started all the same; and of which runs.
    failed: when runs failed; seconds since the epoch.
    found_at: when a run was found to hang, or to have a slow rank; seconds since the epoch.
    """

    source: Path
    host: str
    lines: bytes
    tracks: Mapping[str, Track]
    others: tuple[str, ...]
    turns: tuple[float, ...]
    simulated: bool
    slots: Mapping[str, Slot]
    found: tuple[tuple[str, Bearing], ...] = ()
    failed: tuple[float, ...] = ()
    found_at: tuple[float, ...] = ()

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
    if state.simulated:
        events = list(unmerged(events))
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
    spans = [
        span
        for run_id, run in state.runs.items()
        if (span := _Span.of(run, of_run.get(run_id, []))) is not None
    ]
    sizes = _sizes(source, (span.run for span in spans))
    if (total := sum(sizes.values()) + size) > MOST_BYTES:
        raise DlperfError(
            f"it has {total >> 20} MiB, which a replay would write again",
            where=str(source),
            remedy=f"at most {MOST_BYTES >> 20} MiB can be replayed; see 'dlperf-tui logs'",
        )
    begins = _first_lines(source, spans, profiles_of(source, state.frozen))
    turns: set[float] = set()
    for span in spans:
        tracks |= span.tracks(source, sizes, begins.get(span.run.run_id, 0))
        turns |= {span.begin, span.end}
    others = tuple(path for path in sizes if path not in tracks)
    begun = journal.beginning(source / journal.FILE_NAME)
    host = begun.host if begun is not None else ""
    turned = tuple(sorted(turns))
    of_runs = itertools.chain(state.forced_on, itertools.repeat(Bearing()))
    found = (*zip(state.overridden, of_runs, strict=False), *state.warned)
    slots = {s.run.run_id: Slot(s.run.hosts, s.begin, s.end) for s in spans}
    return Recording(
        source,
        host,
        b"".join(lines),
        tracks,
        others,
        turned,
        state.simulated,
        slots,
        found,
        failed=tuple(event.t for event in events if isinstance(event, ev.RunFailed)),
        found_at=tuple(_found_at(of_run.values())),
    )


def _found_at(runs: Iterable[Sequence[ev.Event]]) -> Iterator[float]:
    """Of each run every diagnosis, and when a slow rank was told of first."""
    for run in runs:
        yield from (event.t for event in run if isinstance(event, ev.RunDiagnosed))
        told = (e.t for e in run if isinstance(e, ev.SlowRanksTold) and e.slow_ranks)
        yield from itertools.islice(told, 1)


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

    run: RunRecord
    begin: float
    end: float
    read: tuple[tuple[float, int], ...]

    @staticmethod
    def of(run: RunRecord, mine: Sequence[ev.Event]) -> _Span | None:
        """By its events; None where it never began."""
        began = [event.t for event in mine if isinstance(event, (ev.RunAssigned, ev.RunLaunched))]
        if not began:
            return None
        ended = [event.t for event in mine if isinstance(event, _ENDS)]
        read: list[tuple[float, int]] = []
        for event in mine:
            if isinstance(event, ev.ReadingsRestarted):  # of another log than the one that is here
                read.clear()
            elif isinstance(event, ev.ReadingsSampled) and event.offset:
                read.append((event.t, event.offset))
        return _Span(run, began[-1], max(ended[-1:] or [mine[-1].t]), tuple(read))

    def tracks(self, source: Path, sizes: Mapping[str, int], first_line: int) -> dict[str, Track]:
        """``sizes``: of the campaign's files. ``first_line``: bytes before the first reading's."""
        found: dict[str, Track] = {}
        rank_0: Track | None = None
        for number, log in enumerate(_logs(self.run)):
            if (size := sizes.get(log)) is not None:
                known = _as(rank_0, size) if number else self._lines(first_line)
                found[log] = self._track(size, known)
                rank_0 = rank_0 or found[log]
        for telemetry in _telemetry(self.run):
            if (size := sizes.get(telemetry)) is not None:
                found[telemetry] = self._track(size, _sampled(source, telemetry))
        return found

    def _lines(self, there: int) -> Iterator[tuple[float, int]]:
        """Of rank 0's log: no line of a reading before it."""
        for t, offset in self.read:
            yield t, there
            yield t, offset
            there = offset

    def _track(self, size: int, known: Iterable[tuple[float, int]]) -> Track:
        points = [(self.begin, 0)]
        for t, there in (*known, (self.end, size)):
            before = points[-1]
            when = max(before[0], min(t, self.end))  # what is no number is no time, either
            points.append((when, min(max(there, before[1]), size)))
        return Track(tuple(points))


def _logs(run: RunRecord) -> list[str]:
    """Of rank 0's host first."""
    if not (run.log and run.hosts):
        return []
    others = (host_log_path(run.log, host) for host in run.hosts[1:])
    return [str(Path(log)) for log in (run.log, *others)]


def _telemetry(run: RunRecord) -> Iterable[str]:
    return dict.fromkeys(telemetry_path(run.run_id, host) for host in run.hosts)


def _sizes(source: Path, runs: Iterable[RunRecord]) -> dict[str, int]:
    """Bytes of all that a copy has beside the journal, by path relative to the directory."""
    sizes = dict(_files(source))
    for run in runs:
        for path in (*_logs(run), *_telemetry(run)):
            if path not in sizes and (size := _size(source, path)) is not None:
                sizes[path] = size
    sizes.pop(journal.FILE_NAME, None)
    return sizes


def _first_lines(
    source: Path, spans: Iterable[_Span], profiles: Mapping[str, Profile]
) -> dict[str, int]:
    """By run: where the line of its first reading begins in rank 0's log, as far as that is found
    in a time that somebody waits for."""
    found: dict[str, int] = {}
    left = _MOST_LOOKED_AT
    for span in spans:
        profile = profiles.get(span.run.profile)
        if profile is not None and span.read and left > 0:
            found[span.run.run_id], cost = _first_line(source, span, profile, left)
            left -= cost
    return found


def _first_line(source: Path, span: _Span, profile: Profile, left: int) -> tuple[int, int]:
    """Bytes of rank 0's log before the line of its first reading, 0 where that is not found; and
    what of ``left`` it took to look."""
    path = source / span.run.log
    fd = open_to_read(path) if lies_within(source, path) else None
    cost = _A_LOG
    if fd is None:
        return 0, cost
    left = min(left, _MOST_OF_A_LOG)
    parser = LogParser(profile, span.run.case, keep=False)
    at = line = 0
    with os.fdopen(fd, "rb") as file:
        while at < span.read[0][1] and cost < left and (part := file.readline(_AT_ONCE)):
            cost += max(len(part), _A_LINE)
            if parser.feed(part):
                return line, cost
            at += len(part)
            line = at if part.endswith(b"\n") else line
    return 0, cost


def _as(other: Track | None, size: int) -> Iterator[tuple[float, int]]:
    """Of a file of so many bytes that grew as another one."""
    if other is not None and (whole := other.size):
        yield from ((t, size * there // whole) for t, there in other.points)


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
        for line in iter(partial(file.readline, _AT_ONCE), b""):
            if line.startswith(_HOST_LINE):
                with contextlib.suppress(ValueError):
                    yield float(line.split(b",", 2)[1]), at
            at += len(line)
