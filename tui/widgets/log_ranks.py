"""Which rank a line of a log is of, where its launcher says so."""

from __future__ import annotations

import re

from profiles.logs.ranks import MPI_PREFIX

_TAGS = re.compile(
    MPI_PREFIX.replace("?P<rank>", "?P<mpirun>")
    + r"|\[(?:rank|default)(?P<torchrun>\d{1,6})\]:"
    + r"| *(?P<srun>\d{1,6}): "
)
"""``mpirun --tag-output``, ``torchrun --tee`` and what PyTorch prints itself, ``srun --label``."""


def rank_of(line: str) -> int | None:
    """By the prefix of the line; None where it has none."""
    found = _TAGS.match(line)
    return int(next(filter(None, found.groups()))) if found else None


def ranks_text(ranks: frozenset[int]) -> str:
    """``0-7, 9``"""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ", ".join(f"{low}-{high}" if high > low else f"{low}" for low, high in runs)
