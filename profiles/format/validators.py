"""Checks of single values in a profile; each returns the value or raises ProfileError.

ProfileError is no ValueError, so :func:`_as_value_error` hands it to pydantic as one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence, Set
from functools import wraps
from typing import ParamSpec, TypeVar

from profiles.case_tag import parse_tag
from profiles.durations import is_duration, parse_duration
from profiles.errors import DlperfError
from profiles.format.expression import Values, parse_expression
from profiles.format.regex.line_pattern import check_groups, check_runs, compile_pattern
from profiles.format.template import placeholders
from profiles.schema_mistakes import Key

READING_GROUPS = frozenset({"value", "step", "time", "unit"})
RANK_GROUPS = frozenset({"rank", "step", "compute", "communication", "input"})
OWN_TIME_GROUPS = frozenset({"rank", "value"})
PATH_GROUPS = frozenset({"nodes", "gpus_per_node", "gpus", "repeat"})
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*", re.ASCII)

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _as_value_error(check: Callable[_P, _R]) -> Callable[_P, _R]:
    @wraps(check)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return check(*args, **kwargs)
        except DlperfError as error:
            raise ValueError(str(error)) from None

    return checked


class MistakeAt(ValueError):
    """A value that does not fit others. ``at``: which, where pydantic cannot know it."""

    def __init__(self, at: Key, what: str) -> None:
        self.at = at
        self.what = what
        super().__init__(f"{key_text(at)}: {what}" if at else what)


def key_text(at: Key) -> str:
    """``launch.variant[0].when``"""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
    return "".join(parts).removeprefix(".")


@_as_value_error
def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name; use letters, digits, '_', '-', '.'")
    return name


@_as_value_error
def check_duration(text: str) -> str:
    parse_duration(text)
    return text


@_as_value_error
def check_expected(text: str) -> str:
    """A duration, or arithmetic in seconds."""
    if not is_duration(text):
        try:
            parse_expression(text)
        except DlperfError as error:
            raise ValueError(f"neither a duration such as 90s nor seconds: {error}") from None
    return text


@_as_value_error
def check_case_tag(tag: str) -> str:
    parse_tag(tag)
    return tag


@_as_value_error
def check_condition(
    text: str, *, at: Key = (), known: Set[str] | None = None, tried: Sequence[Values] = ()
) -> str:
    expression = parse_expression(text)
    if known is not None:
        for name in sorted(expression.names - known):
            known_names = ", ".join(sorted(known))
            raise MistakeAt(at, f"{name!r} in {text!r} is no parameter; known: {known_names}")
    for values in tried:
        try:
            expression.holds(values)
        except DlperfError as error:
            raise MistakeAt(at, str(error)) from None
    return text


@_as_value_error
def check_words(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"command {command!r} cannot be split into words: {error}") from None
    if not words:
        raise ValueError("command is empty; say what to run")
    return command


@_as_value_error
def check_pattern(
    text: str,
    *,
    at: Key = (),
    required: Set[str] | None = None,
    known: Set[str] | None = None,
) -> str:
    compile_pattern(text)
    check_runs(text)
    if required is not None and known is not None:
        try:
            check_groups(text, frozenset(required), frozenset(known))
        except DlperfError as error:
            raise MistakeAt(at, str(error)) from None
    return text


@_as_value_error
def check_placeholders(template: str, *, at: Key, known: Set[str]) -> str:
    for name in placeholders(template):
        if name not in known:
            raise MistakeAt(
                at, f"unknown placeholder {{{name}}}; known: {', '.join(sorted(known))}"
            )
    return template
