"""How many of something, as a person says it."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """ "1 host", "4 hosts", "2 repeats", "3 matches"."""
    if number == 1:
        return f"{number} {noun}"
    plural = f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
    return f"{number} {plural}"


def first_of(names: Sequence[str], most: int) -> str:
    """ "a, b", "a, b and 3 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
