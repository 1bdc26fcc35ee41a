"""How many of something, as a person says it."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """ "1 host", "4 hosts", "2 repeats", "3 matches"."""
    if number == 1:
        return f"{number} {noun}"
    plural = f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
    return f"{number} {plural}"


def first_of(names: Sequence[str], most: int = 3) -> str:
    """ "a, b", "a, b, c, +2": in any language, and in the narrow columns of tables."""
    more = [f"+{len(names) - most}"] if len(names) > most else []
    return ", ".join([*names[:most], *more])
