"""What is wrong in a TOML or CSV document, in the document's words and none of pydantic's."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any  # the kinds of TOML

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Key = tuple[int | str, ...]
"""The way to a value from the top of a document: ``("launch", "variant", 0, "when")``."""

_LONGEST = 60  # characters of a value that is quoted

_NOUNS = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of a usual size",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}
_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "unknown key",
    "greater_than": "must be greater than {gt:g}, not {value}",
    "greater_than_equal": "must be {ge:g} or more, not {value}",
    "less_than": "must be less than {lt:g}, not {value}",
    "less_than_equal": "must be {le:g} or less, not {value}",
    "string_too_short": "must not be empty",
    "too_short": "must have {min_length} or more in it, not {actual_length}",
    "too_long": "must have {max_length} or fewer in it",
}
"""By pydantic's kinds of errors."""


@dataclass(frozen=True, slots=True)
class SchemaMistake:
    """``at``: the way to the value, or to the key that is missing or unknown. ``details``: what
    pydantic said of it."""

    at: Key
    details: tuple[ErrorDetails, ...]

    @property
    def kind(self) -> str:
        """As pydantic calls it."""
        return self.details[0]["type"]

    @property
    def what(self) -> str:
        """``must be greater than 0, not -1``, to stand behind the key."""
        first = self.details[0]
        context, value = first.get("ctx", {}), shown(first["input"])
        if self.kind == "value_error":
            return str(context["error"])
        if self.kind in _SENTENCES:
            return _SENTENCES[self.kind].format(value=value, **context)
        nouns = dict.fromkeys(filter(None, map(_noun, self.details)))
        if "a number" in nouns:
            nouns.pop("a whole number", None)
        return f"must be {' or '.join(nouns)}, not {value}" if nouns else f"{value} is not allowed"


def mistakes(errors: Sequence[ErrorDetails], document: object) -> list[SchemaMistake]:
    """One for each place of the document that is wrong, in the order of pydantic's errors.

    A value of several kinds is tried as each; the errors of all of them are one mistake here, which
    is the one that lies deepest or, of these, is about more than the value's kind.
    """
    places: dict[Key, list[ErrorDetails]] = {}
    for error in errors:
        places.setdefault(_place(error, document), []).append(error)
    deepest = [
        at for at in places if not any(at == other[: len(at)] for other in places if other != at)
    ]
    return [SchemaMistake(at, tuple(sorted(places[at], key=_about_kind))) for at in deepest]


def _noun(error: ErrorDetails) -> str | None:
    if error["type"] == "literal_error":
        return str(error["ctx"]["expected"])
    return _NOUNS.get(error["type"])


def _about_kind(error: ErrorDetails) -> bool:
    return error["type"] in _NOUNS and error["type"] != "finite_number"


def _place(error: ErrorDetails, document: object) -> Key:
    """Without what pydantic puts between for itself: the kinds that a value was tried as."""
    at: list[int | str] = []
    value: Any = document
    parts = error["loc"]
    for number, part in enumerate(parts):
        if _holds(value, part):
            value = value[part]
        elif error["type"] != "missing" or number + 1 < len(parts):
            continue
        at.append(part)
    return tuple(at)


def _holds(value: object, part: int | str) -> bool:
    if isinstance(value, Mapping):
        return part in value
    return isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)


def shown(value: object) -> str:
    """A value as TOML writes it, cut where it is long."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            text = repr(value)
        case float() if not math.isfinite(value):
            return str(value)
        case int() if abs(value) >= 1 << 64:
            return "a number of too many digits"
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def read_toml(text: str) -> dict[str, Any]:
    """Raises tomllib.TOMLDecodeError, also for what tomllib itself lets through as other errors."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("Nested too deeply") from None
    except ValueError:
        raise tomllib.TOMLDecodeError("A number has too many digits") from None
