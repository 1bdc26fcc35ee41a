"""Values out of the JSON objects that stand in a log's lines (MLPerf's ``:::MLLOG``, dllogger)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from profiles.format.line_reading import Where
from profiles.scalars import Scalar, scalar_text

_raw_decode = json.JSONDecoder().raw_decode


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
    if not path:
        return ""
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return ""
        found = found[key]
    if isinstance(found, list) and found:
        found = found[-1]  # MLPerf's steps since and up to: [2, 3516]
    if isinstance(found, str):
        return found
    return scalar_text(found) if isinstance(found, int | float) else ""
