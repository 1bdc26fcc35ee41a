"""Values out of the JSON objects that stand in a log's lines (MLPerf's ``:::MLLOG``, dllogger)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from pydantic_core import from_json

from profiles.format.line_reading import Where
from profiles.logs.readings import to_number
from profiles.scalars import Scalar, scalar_text

Place = tuple[int, int]
"""From where to where in a text."""
NOWHERE = (0, 0)

_raw_decode = json.JSONDecoder().raw_decode
# Of a text without backslashes.
_STRING_OR_NUMBER = re.compile(r'"[^"]*"|(-?(\d)(\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)')


@dataclass(frozen=True, slots=True)
class Places:
    """Where in a text what is read stands. ``never_zero``: digits that are 0 in no such text."""

    value: Place
    step: Place
    third: Place
    never_zero: tuple[int, ...] = ()

    @property
    def texts(self) -> tuple[Place, Place, Place]:
        return self.value, self.step, self.third

    def moved(self, by: int) -> Places:
        """The same in a text that begins with so many characters more."""
        value, step, third = ((a + by, b + by) if a < b else NOWHERE for a, b in self.texts)
        return Places(value, step, third, tuple(at + by for at in self.never_zero))


@dataclass(frozen=True, slots=True)
class _Number:
    """The n-th in a text."""

    nth: int


class JsonFields:
    """The paths of a :class:`profiles.format.line_reading.LineReading`, ready for use."""

    def __init__(self, paths: Mapping[str, str], where: Where) -> None:
        self._paths = tuple(
            tuple(paths[name].split(".")) if name in paths else ()
            for name in ("value", "step", "end" if "end" in paths else "time")
        )
        self._where = tuple((tuple(key.split(".")), _texts(held)) for key, held in where.items())
        # Without escapes an object that counts has one of each of these in its text.
        self._words = tuple(held for _path, held in self._where if "" not in held)
        names = "".join((*paths.values(), *where))
        self._digits_in_names = any(letter.isdigit() for letter in names)

    def fields(self, text: str) -> tuple[str, str, str] | None:
        """Value, step and time, or end, of the object that ``text`` begins with; empty texts for
        what it lacks.

        None where there is no such object, or not one that counts. What follows it is of no
        interest: lines get glued together.
        """
        if not text.startswith("{"):
            return None
        if "\\" not in text:  # cheaper than decoding
            for words in self._words:
                for word in words:
                    if word in text:
                        break
                else:
                    return None
        found = decoded(text)
        for path, held in self._where:
            if _text(found, path) not in held:
                return None
        value, step, time = self._paths
        told = _text(found, value)
        return (told, _text(found, step), _text(found, time)) if told else None

    def places(self, text: str) -> Sequence[Places] | None:
        """Where the object that ``text`` begins with has them, which is empty where it does not
        count; None where that may be otherwise in a text with other digits."""
        objects = None if self._digits_in_names or "\\" in text else _numbered(text)
        if objects is None:
            return None
        told = self.fields(text)
        found, numbers = objects
        held = [_at(found, path) for path, _held in self._where]
        if any(isinstance(one, _Number) or any(map(str.isdigit, _told(one))) for one in held):
            return None
        places = [_place(_at(found, path), numbers) for path in self._paths]
        if told is None:
            wanted = (texts for _path, texts in self._where)
            counts = all(_told(one) in texts for one, texts in zip(held, wanted, strict=True))
            return None if counts and places[0] != NOWHERE else ()
        value, step, third = places
        if value is None or step is None or third is None:
            return None
        if to_number(text[slice(*value)]) != to_number(told[0]):
            return None
        return (Places(value, step, third, tuple(_leading(numbers))),)


def _numbered(text: str) -> tuple[Any, Sequence[re.Match[str]]] | None:  # Any: JSON
    """The object that the text begins with, numbers in it by their number, and where these are."""
    numbers = count()

    def nth(_text: str) -> _Number:
        return _Number(next(numbers))

    try:
        found, end = json.JSONDecoder(parse_int=nth, parse_float=nth).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    tokens = _STRING_OR_NUMBER.finditer(text, 0, end)
    return found, [token for token in tokens if token[1]]


def _place(stands: Any, numbers: Sequence[re.Match[str]]) -> Place | None:  # Any: JSON
    """Nowhere of what is not there; None of what is no number."""
    if isinstance(stands, _Number):
        return numbers[stands.nth].span()
    return None if _told(stands) else NOWHERE


def _leading(numbers: Sequence[re.Match[str]]) -> Sequence[int]:
    """Where the first of several digits before a point is: JSON has no zero there."""
    return [number.start(2) for number in numbers if number[3]]


def decoded(text: str) -> Any:  # Any: JSON
    """The object that the text begins with; None where there is none."""
    try:
        return from_json(text)  # three times as fast, but for what follows
    except ValueError:
        pass
    try:
        return _raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _texts(held: Scalar | tuple[Scalar, ...]) -> tuple[str, ...]:
    return tuple(map(scalar_text, held if isinstance(held, tuple) else (held,)))


def _text(found: Any, path: tuple[str, ...]) -> str:  # Any: JSON
    """The text of the scalar at the path; empty where there is none, or no path."""
    return _told(_at(found, path))


def _at(found: Any, path: tuple[str, ...]) -> Any:  # Any: JSON
    """What stands at the path; None where there is nothing, or no path."""
    if not path:
        return None
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    if isinstance(found, list) and found:
        return found[-1]  # MLPerf's steps since and up to: [2, 3516]
    return found


def _told(found: Any) -> str:  # Any: JSON
    if isinstance(found, str):
        return found
    return scalar_text(found) if isinstance(found, int | float) else ""
