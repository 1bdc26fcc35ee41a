"""What can be asked of whoever is at work on a campaign, and what is answered: two small files.

Neither says who asks: that is the owner of the file (:mod:`backends.keeper.spool`).
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MOST_BYTES = 1 << 20
MOST_REPEATS = 1000
MOST_RUNS = 20_000
"""That a request or an answer names; so many ids are well below :data:`MOST_BYTES`."""
_LONGEST = 200
_ID = re.compile(r"[0-9a-f]{32}")


class Verb(StrEnum):
    CANCEL = "cancel"
    RETRY = "retry"
    PAUSE = "pause"
    UNPAUSE = "unpause"
    REPEAT = "repeat"
    DIAGNOSE = "diagnose"


@dataclass(frozen=True, slots=True)
class Request:
    """``campaign``: what the ids of all its runs begin with, so that a request is good for no other
    one. ``run_ids``: None: all that it can mean. ``repeats``: so many more of each case."""

    id: str
    campaign: str
    verb: Verb
    run_ids: tuple[str, ...] | None = None
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """``done``: False: refused, and nothing was changed. ``run_ids``: what changed; empty where all
    that had not ended was asked to end."""

    id: str
    done: bool
    text: str
    run_ids: tuple[str, ...] = ()


def new_id() -> str:
    return secrets.token_hex(16)


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def request_to_json(request: Request) -> bytes:
    runs = None if request.run_ids is None else list(request.run_ids)
    record = {
        "id": request.id,
        "campaign": request.campaign,
        "verb": str(request.verb),
        "run_ids": runs,
        "repeats": request.repeats,
    }
    return json.dumps(record).encode()


def request_from_json(data: bytes) -> Request:
    """Raises ValueError, with one line why, for everything that :func:`request_to_json` does not
    write."""
    record = _record(data)
    verb, runs, repeats = record.get("verb"), record.get("run_ids"), record.get("repeats", 0)
    if verb not in tuple(Verb):
        raise ValueError("it asks for nothing that can be asked")
    if type(repeats) is not int or not 0 <= repeats <= MOST_REPEATS:
        raise ValueError(f"repeats are a number up to {MOST_REPEATS}")
    if (repeats == 0) is (verb == Verb.REPEAT):
        raise ValueError("repeats are asked for with 'repeat', and only there")
    return Request(
        _text(record, "id"),
        _text(record, "campaign"),
        Verb(verb),
        None if runs is None else _texts(runs),
        repeats,
    )


def answer_to_json(answer: Answer) -> bytes:
    record = {
        "id": answer.id,
        "done": answer.done,
        "text": answer.text,
        "run_ids": list(answer.run_ids),
    }
    return json.dumps(record).encode()


def answer_from_json(data: bytes) -> Answer:
    """Raises ValueError."""
    record = _record(data)
    done, text = record.get("done"), record.get("text")
    if type(done) is not bool or type(text) is not str:
        raise ValueError("this is no answer")
    return Answer(_text(record, "id"), done, text, _texts(record.get("run_ids")))


def _record(data: bytes) -> dict[str, Any]:  # what JSON holds, before the check
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(record, dict):
        raise ValueError("it is not an object of JSON")  # noqa: TRY004 (as all of these)
    return record


def _text(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    if type(value) is not str or not 0 < len(value) <= _LONGEST or not value.isprintable():
        raise ValueError(f"{key} is no name")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MOST_RUNS:
        raise ValueError("run_ids are a list of names")
    return tuple(_text({"run_ids": item}, "run_ids") for item in value)


def unique(run_ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run_ids))
