"""What the fields of a journal line may hold. A value that cannot be makes its line a damaged one,
so that whatever reads a journal (charts, dates, paths, sums) never meets one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import PurePosixPath
from typing import Annotated, Any  # what JSON may hold is only known after the check

from pydantic import AfterValidator, AliasChoices, Field, PlainValidator, TypeAdapter

from backends.campaign.record.cleanup_doubts import Cleanup
from backends.hangs.diagnosis import Diagnosis
from backends.hangs.slow_rank import SlowRank
from backends.hosts.preflight_finding import Bearing
from backends.hosts.telemetry_summary import Telemetry
from profiles.scalars import Scalar
from profiles.throughput.rank_times import RankTime
from profiles.throughput.steady import Disturbance

JournaledReading = tuple[float | None, float, float]
"""A reading in the journal: (step or None, global samples/s, receive time)."""

LATEST = 253_402_300_799.0
"""The end of the year 9999, the last that a date can name."""
_MOST = 1 << 53


def _text(value: Any) -> str:
    """Also one with lone surrogates, of a file name that is no UTF-8: pydantic refuses those."""
    if type(value) is not str:
        raise ValueError("no text")
    return value


def _relative(value: str) -> str:
    """A path that stays in the campaign: it is read, linked to, and opened for writing."""
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or "\0" in value:
        raise ValueError("no path within the campaign")
    return value


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError("no power of two")
    return value


def _scalar(value: Any) -> Scalar:
    if type(value) in (str, bool):
        return value  # type: ignore[no-any-return]  # one of the two
    if type(value) not in (int, float) or not -_MOST <= value <= _MOST:
        raise ValueError("no value of a parameter")  # NaN would not be the same case as itself
    return value  # type: ignore[no-any-return]  # a number


def _readings(value: Any) -> tuple[JournaledReading, ...]:
    """One flat list of step, value and time; the first journals had a list of lists."""
    if type(value) is not list:
        raise ValueError("no readings")
    flat = value
    try:
        if value and type(value[0]) is list:
            if any(len(row) != 3 for row in value):
                raise ValueError("no readings")
            flat = list(chain.from_iterable(value))
        sum(flat, 0.0)  # numbers? All at once, for a journal may have a million of them
    except TypeError:  # one without a step, or one that is no reading
        try:
            sum(flat[1::3] + flat[2::3] + [step for step in flat[0::3] if step is not None], 0.0)
        except TypeError as error:
            raise ValueError("no readings") from error
    numbers = iter(flat)
    return tuple(zip(numbers, numbers, numbers, strict=True))


def _cleanup(value: Any) -> Cleanup:
    try:
        return Cleanup.from_json(value)
    except TypeError as error:
        raise ValueError("no look at the hosts") from error


def _steady(value: Any) -> tuple[Disturbance, ...]:
    try:
        found = tuple(Disturbance.from_json(item) for item in value)
    except (TypeError, LookupError) as error:
        raise ValueError("no disturbances") from error
    if not all(0 <= n <= _MOST for one in found for n in (one.reading, one.count, one.every or 0)):
        raise ValueError("no reading")
    return found


def _ranks(value: Any) -> tuple[RankTime, ...]:
    try:
        return tuple(RankTime.from_json(item) for item in value)
    except (TypeError, LookupError) as error:
        raise ValueError("no seconds of ranks") from error


_diagnosis = TypeAdapter(Diagnosis)


def _diagnosed(value: Any) -> Diagnosis:
    json.dumps(value, allow_nan=False)
    found = _diagnosis.validate_python(value)
    if any(not suspect.findings for suspect in found.suspects):
        raise ValueError("suspected of nothing")
    times = [f.at for suspect in found.suspects for f in suspect.findings if f.at is not None]
    if not all(0 <= at <= LATEST for at in times):
        raise ValueError("no time")
    for path in found.files:
        _relative(path)
    return found


_slow = TypeAdapter(tuple[SlowRank, ...])


def _slow_ranks(value: Any) -> tuple[SlowRank, ...]:
    json.dumps(value, allow_nan=False)
    found = _slow.validate_python(value)
    times = [t for one in found for t in (one.since, one.until) if t is not None]
    if not all(0 <= at <= LATEST for at in times):
        raise ValueError("no time")
    if not all(0 <= one.rank <= _MOST for one in found):
        raise ValueError("no rank")
    if not all(0 <= one.between_s <= LATEST for one in found):
        raise ValueError("no time between")
    if not all(one.others is None or 0 < one.others <= _MOST for one in found):
        raise ValueError("no other ranks")
    if not all(one.steps is None or 0 < one.steps[0] <= one.steps[1] <= _MOST for one in found):
        raise ValueError("no steps")
    return found


_telemetry = TypeAdapter(Telemetry)


def _watched(value: Any) -> Telemetry:
    json.dumps(value, allow_nan=False)  # no figure of it may be none
    return _telemetry.validate_python(value)


_bearing = TypeAdapter(tuple[Bearing, ...])


def _bearings(value: Any) -> tuple[Bearing, ...]:
    return _bearing.validate_python(value)


Text = Annotated[str, PlainValidator(_text)]
Texts = tuple[Text, ...]
Truth = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=0, le=_MOST)]
Whole = Annotated[int, Field(strict=True, ge=-_MOST, le=_MOST)]
Number = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Digest = Annotated[str, Field(strict=True, pattern="^[0-9a-f]{64}$")]
Port = Annotated[int, Field(strict=True, ge=0, le=65535)]
PowerOfTwo = Annotated[int, Field(strict=True, ge=1, le=_MOST), AfterValidator(_power_of_two)]
Time = Annotated[float, Field(strict=True, ge=0, le=LATEST)]
Share = Annotated[float, Field(strict=True, gt=0, lt=1)]
Measured = Annotated[float, Field(strict=True)]  # a loss that diverged is NaN
RelativePath = Annotated[Text, AfterValidator(_relative)]
Parameters = Mapping[Text, Annotated[Scalar, PlainValidator(_scalar)]]
Devices = Mapping[
    Text,
    Annotated[
        tuple[Annotated[int, Field(strict=True, ge=0, le=1_000_000)], ...],
        Field(max_length=4096),
    ],
]
JournaledReadings = Annotated[tuple[JournaledReading, ...], PlainValidator(_readings)]
LookedAfter = Annotated[
    Cleanup,
    Field(validation_alias=AliasChoices("cleanup", "clean")),  # the key of earlier versions
    PlainValidator(_cleanup),
]
RankTimes = Annotated[tuple[RankTime, ...], PlainValidator(_ranks)]
Diagnosed = Annotated[Diagnosis, PlainValidator(_diagnosed)]
SlowRanks = Annotated[tuple[SlowRank, ...], PlainValidator(_slow_ranks)]
Watched = Annotated[Telemetry, PlainValidator(_watched)]
Bearings = Annotated[tuple[Bearing, ...], PlainValidator(_bearings)]
Disturbances = Annotated[tuple[Disturbance, ...], PlainValidator(_steady)]
