"""Where the engine tells what it does, for whoever has to find out why: not for the operator.

What belongs to a campaign goes to its own log (:mod:`backends.campaign.folder.debug_log`) from all
tasks that the campaign started; the rest to the logger ``dlperf``, which a program that uses this
one as a library may configure. Nothing here touches the logging of anybody else.

Told are names, verbs, numbers, states and reasons. Never what a login was answered, what a command
got on its standard input, nor the values of environment variables. What a host or an error says may
quote such a thing all the same: :func:`without_secrets`.
"""

from __future__ import annotations

import logging
import os
import re
from contextvars import ContextVar

_ELSEWHERE = logging.getLogger("dlperf")
_ELSEWHERE.addHandler(logging.NullHandler())

_current: ContextVar[logging.Logger] = ContextVar("debug log", default=_ELSEWHERE)


def log() -> logging.Logger:
    """The log of the campaign that the running task works for."""
    return _current.get()


def log_to(logger: logging.Logger) -> None:
    """From here on this task, and those that it starts, work for the campaign of that log."""
    _current.set(logger)


# Every repetition has an end: a line that a host made to keep us busy costs no more than another.
_NAME = (
    r"(?:token|secret|passw(?:or)?d|passphrase|credential|api_?key|access_?key|private_?key)"
    r"[\w.-]{0,40}"
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_QUOTED = (
    (re.compile(r"-----BEGIN [^-]{0,80}-----.*?(?:-----END [^-]{0,80}-----|\Z)", re.DOTALL), "***"),
    (re.compile(r"(://[^\s/@:]{0,80}:)[^\s/]{1,300}@"), r"\1***@"),
    (re.compile(r"(\b(?:bearer|basic)\s{1,3})[\w.~+/=-]{8,}", re.IGNORECASE), r"\1***"),
    (
        re.compile(
            rf"({_NAME}[\"']?\s{{0,3}}[=:]\s{{0,3}})"
            r"(?:\"[^\"]{0,300}\"?|'[^']{0,300}'?|[^\s,;]+)",
            re.IGNORECASE,
        ),
        r"\1***",
    ),
    (re.compile(rf"((?<![\w-])--[\w-]{{0,40}}{_NAME}\s{{1,3}})[^\s-]\S*", re.IGNORECASE), r"\1***"),
)
_SHORTEST = 6  # a shorter value would blot out words


def without_secrets(text: str) -> str:
    """With *** for what looks secret: keys, and the values of variables, options and addresses
    that are called so; those that our own environment has wherever they stand."""
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST and _SECRET_NAME.search(name):
            text = text.replace(value, "***")
    for pattern, instead in _QUOTED:
        text = pattern.sub(instead, text)
    return text
