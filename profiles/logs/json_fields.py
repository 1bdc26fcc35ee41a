"""Values out of the JSON objects that stand in a log's lines (MLPerf's ``:::MLLOG``, dllogger)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from profiles.format.line_reading import Where
from profiles.scalars import Scalar, scalar_text

_decode = json.JSONDecoder().raw_decode


class JsonFields:
    """The paths of a :class:`profiles.format.line_reading.LineReading`, ready for use."""

    def __init__(self, paths: Mapping[str, str], where: Where) -> None:
        self._paths = tuple(
            tuple(paths[name].split(".")) if name in paths else ()
            for name in ("value", "step", "end" if "end" in paths else "time")
        )
        self._where = tuple((tuple(key.split(".")), _texts(held)) for key, held in where.items())

    def fields(self, text: str) -> tuple[str, str, str] | None:
        """Value, step and time, or end, of the object that ``text`` begins with; empty texts for
        what it lacks.

        None where there is no such object, or not one that counts. What follows it is of no
        interest: lines get glued together.
        """
        if not self._may_count(text):
            return None
        try:
            found, _end = _decode(text)
        except (ValueError, RecursionError):
            return None
        for path, held in self._where:
            if _text(found, path) not in held:
                return None
        value, step, time = (_text(found, path) if path else "" for path in self._paths)
        return (value, step, time) if value else None

    def _may_count(self, text: str) -> bool:
        """Cheaper than decoding: without escapes every text that it must hold stands there."""
        return "\\" in text or all(
            "" in held or any(word in text for word in held) for _path, held in self._where
        )


def _texts(held: Scalar | tuple[Scalar, ...]) -> tuple[str, ...]:
    return tuple(map(scalar_text, held if isinstance(held, tuple) else (held,)))


def _text(found: Any, path: tuple[str, ...]) -> str:  # Any: JSON
    """The text of the scalar at the path; empty where there is none."""
    try:
        for key in path:
            found = found[key]
    except (LookupError, TypeError):  # no such key, or no object that has keys
        return ""
    if isinstance(found, list) and found:
        found = found[-1]  # MLPerf's steps since and up to: [2, 3516]
    return scalar_text(found) if isinstance(found, str | int | float) else ""
