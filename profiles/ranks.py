"""Which rank printed what: the prefixes that launchers put before a line, or into the middle of it.

``mpirun --tag-output`` writes ``[1,0]<stdout>:`` (job, rank), with ``--timestamp-output`` preceded
by ``Wed Jun  1 10:54:24 2022``. Two ranks can share a physical line when one of them did not end
its own, so a line is cut at every prefix and each part belongs to the prefix before it.
``srun --label`` writes ``0: ``, ``torchrun --tee`` ``[default0]:``, by rank_prefix.
"""

from __future__ import annotations

from typing import Literal

from profiles.literals import required_literals
from profiles.patterns import compile_pattern

MPI_PREFIX = (
    r"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})?"
    r"\[\d+,(?P<rank>\d+)\]<std(?:out|err|diag)>:?"
)


class RankFilter:
    """Picks what one of ``ranks`` printed; text without a prefix before it belongs to all."""

    def __init__(self, ranks: tuple[int, ...] | Literal["all"], prefix: str = MPI_PREFIX) -> None:
        self._ranks = None if ranks == "all" else frozenset(map(str, ranks))
        self._prefix = compile_pattern(prefix)
        # What text with a prefix contains; "<" is found faster than "<std", and most logs lack it.
        literals = (b"<", b"<std") if prefix == MPI_PREFIX else required_literals(prefix)
        self._hints = literals if self._ranks is not None else ()

    def concerns(self, text: bytes) -> bool:
        """Whether there may be a prefix in the text, so that :meth:`parts` has to be asked."""
        return self._ranks is not None and all(hint in text for hint in self._hints)

    def parts(self, line: str) -> list[str]:
        """The parts of the line that count. A line is cut at every prefix."""
        if self._ranks is None:
            return [line]
        parts: list[str] = []
        wanted, start = True, 0
        for match in self._prefix.finditer(line):
            if wanted and match.start() > start:
                parts.append(line[start : match.start()])
            wanted, start = match.group("rank") in self._ranks, match.end()
        if wanted:
            parts.append(line[start:])
        return parts
