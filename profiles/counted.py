"""How many of something, as a person says it."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """ "1 host", "4 hosts", "2 repeats", "3 matches"."""
    if number == 1:
        return f"{number} {noun}"
    plural = f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
    return f"{number} {plural}"
