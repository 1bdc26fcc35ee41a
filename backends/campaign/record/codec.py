"""Events as JSON lines, and back.

One event is one JSON object per line; ``kind`` names the class. The first line names the schema: a
journal of a newer one is not opened. Keys that no field has are skipped; a line of an unknown kind,
or with a value that cannot be (:mod:`backends.campaign.record.event_values`), is a damaged one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, fields, replace
from functools import cache
from itertools import chain
from typing import Any, NotRequired, get_type_hints  # Any: what JSON may hold, before the check

from typing_extensions import TypedDict  # of Python 3.11 pydantic takes none of the library's

from backends.campaign.record import events
from backends.campaign.record.cleanup_doubts import Cleanup
from backends.campaign.record.events import EVENT_TYPES, Event, ReadingsSampled
from backends.hangs.diagnosis import Diagnosis
from backends.hosts.telemetry_summary import Telemetry

_FIELDS = {name: tuple(f.name for f in fields(cls)) for name, cls in EVENT_TYPES.items()}
_FLAT = frozenset({"readings", "points", "last"})  # of readings; elsewhere a number of them
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
        elif key in ("steady", "ranks") and value is not None:
            value = [item.to_json() for item in value]
        elif key in ("slow_ranks", "bearings", "forced_on"):
            value = [asdict(item) for item in value]
        elif isinstance(value, Telemetry | Diagnosis):
            value = asdict(value)
        elif key in _FLAT and isinstance(value, tuple):
            value = list(chain.from_iterable(value))  # read twice as fast
        record[key] = dict(value) if isinstance(value, Mapping) else value
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate (a file name that is no UTF-8) becomes JSON's own escape of it.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def decode(line: bytes) -> Event | None:
    """The event of one line; None when it is torn, not JSON, or of an unknown or wrong shape."""
    try:
        record = _fast_json()(line)  # in half the time; a journal may have a million readings
    except ValueError:  # a lone surrogate, of a file name that is no UTF-8: or no JSON at all
        record = _json(line)
    return event_of(record)


def event_of(record: object) -> Event | None:
    """The event of a line's JSON; None when it is of an unknown or wrong shape."""
    kind = record.get("kind") if isinstance(record, dict) else None
    if not isinstance(kind, str) or kind not in EVENT_TYPES:
        return None
    try:
        return EVENT_TYPES[kind](**_checker(kind)(record))
    except (ValueError, OverflowError):  # a value that cannot be, or one that is missing
        return None


@cache
def _fast_json() -> Callable[[bytes], Any]:
    from pydantic_core import from_json  # noqa: PLC0415 (as the checker)

    return from_json


@cache
def _checker(kind: str) -> Callable[[object], dict[str, Any]]:
    """From a line's JSON to the fields of an event; raises ValueError."""
    from pydantic import TypeAdapter  # noqa: PLC0415 (a tenth of a second, where none is read)

    from backends.campaign.record import event_values  # noqa: PLC0415

    cls = EVENT_TYPES[kind]
    types = get_type_hints(cls, {**vars(events), **vars(event_values)}, include_extras=True)
    shape = {
        field.name: types[field.name] if _is_required(field) else NotRequired[types[field.name]]
        for field in fields(cls)
    }
    return TypeAdapter(TypedDict(kind, shape)).validator.validate_python  # type: ignore[operator]


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


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
