"""Which rank a line of a log is of, where its launcher says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

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


class LogRanks:
    """The ranks that lines of one log are of, and the one whose lines alone are shown.

    ``most``: ranks that its run has at most.
    """

    def __init__(self, most: int = MOST_RANKS) -> None:
        self.known: frozenset[int] = frozenset()
        self.chosen: int | None = None  # None: all lines are shown
        self._most = min(most, MOST_RANKS)
        self._bare = True  # "3: " before a line is a rank's

    def note(self, new: Sequence[str], every: Callable[[], Iterable[str]]) -> None:
        """``new`` lines came; ``every``: all that are here by now."""
        lines: Iterable[str] = new
        if self._bare and any(number_of(line) >= self._most for line in new):
            # The run has no such rank: "1234: loss 3.2" begins with a step.
            self._bare, self.known, lines = False, frozenset(), every()
            if self.chosen is not None and not any(map(self.shows, every())):
                self.chosen = None
        ranks = (rank_of(line, bare=self._bare) for line in lines)
        self.known |= {rank for rank in ranks if rank is not None and rank < MOST_RANKS}

    def shows(self, line: str) -> bool:
        return self.chosen is None or rank_of(line, bare=self._bare) == self.chosen
