"""Which rank a line of a log is of, where its launcher says so."""

from __future__ import annotations

import re

from profiles.logs.ranks import MPI_PREFIX

MOST_RANKS = 4_096
"""That can be chosen from."""
_TAGS = re.compile(
    MPI_PREFIX.replace("?P<rank>", "?P<mpirun>")
    + r"|\[(?:rank|default)(?P<torchrun>\d{1,6})\]:"
    + r"| *(?P<srun>\d{1,6}): "
)
"""``mpirun --tag-output``, ``torchrun --tee`` and what PyTorch prints itself, ``srun --label``."""


def rank_of(line: str, *, bare: bool = True) -> int | None:
    """By the prefix of the line; None where it has none. ``bare``: also srun's, which is a number
    and a colon, as a step may be."""
    found = _TAGS.match(line)
    if found is None or (found["srun"] and not bare):
        return None
    return int(next(filter(None, found.groups())))


def number_of(line: str) -> int:
    """That srun may have put before it; -1: none."""
    found = _TAGS.match(line)
    return int(found["srun"]) if found and found["srun"] else -1
