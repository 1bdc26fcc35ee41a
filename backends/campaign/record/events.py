"""The journal's vocabulary: what can happen in a campaign, as frozen values and as JSON lines.

One event is one JSON object per line; ``kind`` names the class, ``t`` is the time of writing in
seconds since the epoch (UTC) on the login node. The first line names the schema: a journal of a
newer one is not opened. Keys that no field has are skipped; a line of an unknown kind, or with a
value that cannot be (:mod:`backends.campaign.record.shapes`), is a damaged one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, ClassVar

from backends.campaign.record.doubts import UNKNOWN, Cleanup
from backends.campaign.record.shapes import check_of
from profiles.scalars import Scalar
from profiles.throughput.steady import Disturbance

SCHEMA = 3

JournaledReading = tuple[float | None, float, float]
"""A reading in the journal: (step or None, global samples/s, receive time)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``durable`` events are fsynced before anything depends on them; the others may batch."""

    t: float
    durable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignCreated(Event):
    campaign: str
    schema: int = SCHEMA
    version: str = ""
    simulated: bool = False
    imported: bool = False
    forced: bool = False  # preflight stops were overridden by the operator
    overridden: tuple[str, ...] = ()  # … namely these
    frozen: str = ""  # SHA-256 of frozen/manifest.json; empty: nothing was frozen (schema 1)
    place: str = ""  # the directory's inode numbers, see backends.campaign.folder.place
    host: str = ""  # the machine it was made on
    path: str = ""  # … and under which path


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatsAsked(Event):
    """Repeats until it is known; see :class:`backends.results.auto_repeats.AutoRepeats`."""

    target: float
    quantity: str
    max_repeats: int
    budget_gpu_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSettled(Event):
    """A case gets no further repeats; ``why``: a :class:`backends.results.auto_repeats.Stop`."""

    profile: str
    nodes: int
    gpus_per_node: int
    parameters: Mapping[str, Scalar]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPlaced(Event):
    """The campaign goes on in this directory: a copy that was adopted, or where it was moved to."""

    place: str
    host: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignHandedOn(Event):
    """The campaign goes on in another directory; from this one nothing is run any more."""

    host: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlanned(Event):
    """A run that is to be done: a repeat of a case, or with ``attempt`` > 1 a retry of it."""

    run_id: str
    profile: str
    framework: str
    model: str
    unit: str
    nodes: int
    gpus_per_node: int
    parameters: Mapping[str, Scalar]
    repeat: int
    attempt: int = 1
    not_before: float = 0.0
    retry_of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQueued(Event):
    """The engine was, or is about to be, asked for hosts that it may give later.

    Written before the request, without ``job_id``, and again with it once that is known: a request
    whose answer was lost is found by the run's id and not made twice.
    """

    run_id: str
    job_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequeued(Event):
    """The engine took the run's hosts and queued it again by itself: this attempt has failed, and
    ``next_id`` is the attempt that waits in its place."""

    run_id: str
    next_id: str
    reason: str
    job_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAssigned(Event):
    """Hosts were given, rank 0 first. From here on something may exist on them.

    ``devices``: the device indices on each host; a journal of an older version has none.
    """

    run_id: str
    hosts: tuple[str, ...]
    commands: tuple[str, ...]
    port: int
    log: str  # rank-0 log, relative to the campaign directory
    devices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    job_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLaunched(Event):
    """Every host's supervisor answered: the run is on its way. ``boot_ids`` in host order.

    Where it is on its way is said again, so that a damaged line about its assignment loses nothing.
    """

    run_id: str
    boot_ids: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    devices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    port: int = 0
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDeferred(Event):
    """The hosts were held by somebody else; nothing of the run is there, it is planned again."""

    run_id: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingsArrived(Event):
    """All readings ``first`` … of a run, as journals before :class:`ReadingsSampled` hold them."""

    durable: ClassVar[bool] = False
    run_id: str
    first: int
    readings: tuple[JournaledReading, ...]
    warmup: int = 0  # how many readings from the run's start lie before the window


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingsSampled(Event):
    """So many more readings of a run came, the first of them number ``first`` (from 0).

    ``points``: those whose number is a multiple of ``stride``, (step or null, global samples/s,
    receive time) each, which the journal holds as one flat list; ``last``: the last one. All of
    them are in rank 0's log, up to its byte ``offset``. Replaying is idempotent by number: what the
    state already has is skipped.
    """

    durable: ClassVar[bool] = False
    run_id: str
    first: int
    count: int
    stride: int
    points: tuple[JournaledReading, ...]
    last: tuple[JournaledReading, ...]
    warmup: int = 0  # how many readings from the run's start lie before the window
    offset: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError unless the points are those of the numbers."""
        if len(self.points) != len(self.numbers) or len(self.last) != 1 or self.count < 1:
            raise ValueError("these are not the readings of these numbers")

    @property
    def numbers(self) -> range:
        """Of the points."""
        return range(self.first + -self.first % self.stride, self.first + self.count, self.stride)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactChanged(Event):
    """The connection to a run's host was lost (``lost``, with the reason) or is back."""

    durable: ClassVar[bool] = False
    run_id: str
    host: str
    lost: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCancelling(Event):
    """The run is to be ended. It stays so until that is verified on each of its hosts, or until
    one has been away for too long: a console that comes later goes on with it."""

    run_id: str
    by: str = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSucceeded(Event):
    """``throughput``: null only for a published result that has metrics alone."""

    run_id: str
    throughput: float | None
    readings: int
    used: int
    window: str
    statistic: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    gpu_memory_mib: int | None = None
    warnings: tuple[str, ...] = ()
    fingerprint: str = ""
    steady: tuple[Disturbance, ...] | None = None  # None: nobody could tell
    cleanup: Cleanup = UNKNOWN
    log: str = ""
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed(Event):
    """``reason`` is one line; ``evidence`` the log lines that show it, display-safe."""

    run_id: str
    reason: str
    evidence: tuple[str, ...] = ()
    category: str = ""
    host: str = ""
    exit_status: int | None = None
    retry: str = "never"  # never, now or later: whether another attempt makes sense
    cleanup: Cleanup = UNKNOWN
    log: str = ""  # set by import, where no RunAssigned precedes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCancelled(Event):
    run_id: str
    cleanup: Cleanup = UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class HostVerified(Event):
    """A later look found nothing of an ended run on one of its hosts any more."""

    run_id: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingsRestarted(Event):
    """The log here was not the host's any more: it is read anew from its first byte."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    """Something the operator must be told that belongs to no run: disk full, a host's lease …"""

    text: str
    level: str = "warn"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAsked(Event):
    """Everything is to end: until something is planned again no console starts anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFinished(Event):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignReopened(Event):
    """Work goes on: a later resume, or a retry after the campaign had finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesLost(Event):
    """Never written: what a reader says of lines that it could not read."""

    lines: int


EVENT_TYPES: Mapping[str, type[Event]] = {
    cls.__name__: cls
    for cls in (
        CampaignCreated,
        CampaignPlaced,
        CampaignHandedOn,
        RepeatsAsked,
        CaseSettled,
        RunPlanned,
        RunQueued,
        RunRequeued,
        RunAssigned,
        RunLaunched,
        RunDeferred,
        ReadingsArrived,
        ReadingsSampled,
        ContactChanged,
        RunCancelling,
        RunSucceeded,
        RunFailed,
        RunCancelled,
        HostVerified,
        ReadingsRestarted,
        Noted,
        CancelAsked,
        CampaignFinished,
        CampaignReopened,
    )
}

_FIELDS = {name: tuple(f.name for f in fields(cls)) for name, cls in EVENT_TYPES.items()}
_TUPLES = frozenset(
    {"hosts", "commands", "boot_ids", "warnings", "evidence", "overridden"}
)  # lists in JSON

_CHECKS = {
    name: {f.name: check_of(f.name, str(f.type)) for f in fields(cls)}
    for name, cls in EVENT_TYPES.items()
}
_FLAT = frozenset({"readings", "points", "last"})  # of readings; elsewhere a number of them
_FORMER = {"clean": "cleanup"}  # the keys of earlier versions
_JSON = json.JSONDecoder()
_READINGS_START = (b'{"kind":"ReadingsSampled",', b'{"kind":"ReadingsArrived",')


def is_readings(line: bytes) -> bool:
    """Whether a line holds readings, of which a journal has most, without decoding it."""
    return line.startswith(_READINGS_START)


def encode(event: Event) -> bytes:
    """One JSON line, newline included."""
    name = type(event).__name__
    record: dict[str, Any] = {"kind": name}
    for key in _FIELDS[name]:
        value = getattr(event, key)
        if isinstance(value, Cleanup):
            value = value.to_json()
        elif key == "steady" and value is not None:
            value = [disturbance.to_json() for disturbance in value]
        elif key in _FLAT and isinstance(value, tuple):
            value = list(chain.from_iterable(value))  # read twice as fast
        record[key] = dict(value) if isinstance(value, Mapping) else value
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate (a file name that is no UTF-8) becomes JSON's own escape of it.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def decode(line: bytes) -> Event | None:
    """The event of one line; None when it is torn, not JSON, or of an unknown or wrong shape."""
    return event_of(_json(line))


def event_of(record: object) -> Event | None:
    """The event of a line's JSON; None when it is of an unknown or wrong shape."""
    if not isinstance(record, dict):
        return None
    kind = record.get("kind")
    cls = EVENT_TYPES.get(kind) if isinstance(kind, str) else None
    if cls is None:
        return None
    try:
        checks = _CHECKS[cls.__name__]
        named = ((_FORMER.get(key, key), value) for key, value in record.items())
        return cls(**{key: checks[key](value) for key, value in named if key in checks})
    except (TypeError, ValueError, OverflowError):  # a value that cannot be, or one that is missing
        return None


def schema_of(line: bytes) -> tuple[int, str]:
    """Schema and version of the program in a journal's first line; (0, "") where it has none."""
    record = _json(line)
    if not isinstance(record, dict):
        return 0, ""
    schema, by = record.get("schema"), record.get("version")
    return (schema if type(schema) is int else 0), (by if isinstance(by, str) else "")


def _json(line: bytes) -> Any:  # what JSON holds
    try:
        text = line.decode()
        record, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return None if text[end:].strip() else record


def merged(events: Sequence[Event]) -> list[Event]:
    """The same events with a run's readings in as few of them as can be.

    Readings move ahead to their run's last ones, but never over another event of that run.
    """
    result: list[Event] = []
    last: dict[str, int] = {}
    for event in events:
        run_id = getattr(event, "run_id", None)
        if run_id is None:
            result.append(event)
            continue
        at = last.get(run_id)
        before = result[at] if at is not None else None
        if (
            at is not None
            and isinstance(event, ReadingsSampled)
            and isinstance(before, ReadingsSampled)
            and before.first + before.count == event.first
            and event.stride % before.stride == 0
        ):
            result[at] = _joined(before, event)
            continue
        last[run_id] = len(result)
        result.append(event)
    return result


def _joined(one: ReadingsSampled, next_one: ReadingsSampled) -> ReadingsSampled:
    """Both as one, thinned as the second is."""
    kept = (
        point
        for number, point in zip(one.numbers, one.points, strict=True)
        if number % next_one.stride == 0
    )
    return replace(
        next_one,
        first=one.first,
        count=one.count + next_one.count,
        points=(*kept, *next_one.points),
    )
