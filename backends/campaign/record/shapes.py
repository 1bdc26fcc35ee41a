"""What the fields of a journal line may hold. A value that cannot be makes its line a damaged one,
so that whatever reads a journal (charts, dates, paths, sums) never meets one."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import PurePosixPath
from typing import Any  # what JSON may hold is only known after the check

from backends.campaign.record.doubts import Cleanup
from profiles.throughput.steady import Disturbance

_LATEST = 253_402_300_799.0  # the end of the year 9999, the last that a date can name
_MOST = 1 << 53


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _relative(value: Any) -> str:
    """A path that stays in the campaign: it is read, linked to, and opened for writing."""
    text = _text(value)
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or "\0" in text:
        raise ValueError
    return text


def _texts(value: Any) -> tuple[str, ...]:
    if type(value) is not list or any(type(item) is not str for item in value):
        raise TypeError
    return tuple(value)


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _whole(low: int, high: int = _MOST) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int:
            raise TypeError
        if not low <= value <= high:
            raise ValueError
        return value

    return check


def _power_of_two(value: Any) -> int:
    number = _whole(1)(value)
    if number & (number - 1):
        raise ValueError
    return number


def _number(value: Any) -> float:
    """Any float: a loss that diverged is NaN. Whole numbers only as far as a float goes."""
    if type(value) is float:
        return value
    return _whole(-_MOST)(value)


def _time(value: Any) -> float:
    if not 0 <= _number(value) <= _LATEST:
        raise ValueError
    return float(value)


def _or_none(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else check(value)


def _share(value: Any) -> float:
    if not 0 < _number(value) < 1:
        raise ValueError
    return float(value)


def _scalar(value: Any) -> str | int | float | bool:
    if type(value) in (str, bool):
        return value  # type: ignore[no-any-return]  # one of the two
    if not math.isfinite(_number(value)):
        raise ValueError  # it would not be the same case as itself
    return value  # type: ignore[no-any-return]  # a number


def _by_name(check: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    def checked(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise TypeError
        return {name: check(item) for name, item in value.items()}

    return checked


def _devices(value: Any) -> tuple[int, ...]:
    if type(value) is not list or len(value) > 4096:
        raise TypeError
    return tuple(_whole(0, 1_000_000)(item) for item in value)


def _readings(value: Any) -> tuple[tuple[float | None, float, float], ...]:
    """One flat list of step, value and time; the first journals had a list of lists."""
    if type(value) is not list:
        raise TypeError
    flat = value
    if value and type(value[0]) is list:
        if any(len(row) != 3 for row in value):
            raise ValueError
        flat = list(chain.from_iterable(value))
    if len(flat) % 3:
        raise ValueError
    try:
        array("d", flat)  # all at once, for a journal may have a million of them
    except TypeError:  # one without a step, or one that is no reading
        array("d", flat[1::3] + flat[2::3] + [step for step in flat[0::3] if step is not None])
    return tuple(zip(flat[0::3], flat[1::3], flat[2::3], strict=True))


def _steady(value: Any) -> tuple[Disturbance, ...]:
    if type(value) is not list or any(type(item) is not dict for item in value):
        raise TypeError
    try:
        return tuple(Disturbance.from_json(item) for item in value)
    except KeyError:
        raise ValueError from None


_BY_TYPE: Mapping[str, Callable[[Any], Any]] = {
    "str": _text,
    "bool": _truth,
    "int": _whole(0),
    "int | None": _or_none(_whole(-_MOST)),
    "float": _number,
    "float | None": _or_none(_number),
    "tuple[str, ...]": _texts,
    "tuple[JournaledReading, ...]": _readings,
    "Mapping[str, Scalar]": _by_name(_scalar),
    "Mapping[str, float]": _by_name(_number),
    "Mapping[str, tuple[int, ...]]": _by_name(_devices),
    "Cleanup": Cleanup.from_json,
    "tuple[Disturbance, ...] | None": _or_none(_steady),
}
_BY_NAME: Mapping[str, Callable[[Any], Any]] = {
    "t": _time,
    "not_before": _time,
    "nodes": _whole(1, 1_000_000),
    "gpus_per_node": _whole(1, 1_000_000),
    "attempt": _whole(1, 1_000_000),
    "port": _whole(0, 65535),
    "stride": _power_of_two,
    "log": _relative,
    "target": _share,
}


def check_of(name: str, annotation: str) -> Callable[[Any], Any]:
    """The check of a field, by its name where its range is narrower than its type.

    It returns the value as the event holds it; TypeError, ValueError, OverflowError: it is of a
    wrong kind, or out of range.
    """
    return _BY_NAME.get(name) or _BY_TYPE[annotation]
