"""Regular expressions of a profile: compiled the same way everywhere, errors in profile terms."""

from __future__ import annotations

import functools
import re

from profiles.errors import ProfileError


@functools.lru_cache(maxsize=512)
def compile_pattern(text: str) -> re.Pattern[str]:
    r"""Compile a profile's pattern. ``\d``, ``\w`` and ``\s`` mean ASCII only.

    Raises
    ------
    ProfileError: the pattern does not compile; the message gives the column (from 1).
    """
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        column = f" at column {error.pos + 1}" if error.pos is not None else ""
        raise ProfileError(
            f"pattern {text!r} does not compile: {error.msg}{column}",
            remedy="write it in single quotes ('…') so that TOML leaves backslashes alone",
        ) from None


def check_groups(text: str, required: frozenset[str], known: frozenset[str]) -> None:
    """Raise ProfileError unless the pattern has the ``required`` groups and only ``known`` ones."""
    groups = set(compile_pattern(text).groupindex)
    for name in sorted(groups - known):
        raise ProfileError(
            f"pattern {text!r} has an unknown group {name!r}",
            remedy="known groups: " + ", ".join(sorted(known)),
        )
    for name in sorted(required - groups):
        raise ProfileError(
            f"pattern {text!r} has no group {name!r}",
            remedy=f"put (?P<{name}>…) around what it should read",
        )
