"""Which rank printed what: the prefixes that launchers put before a line, or into the middle of it.

``mpirun --tag-output`` writes ``[1,0]<stdout>:`` (job, rank), with ``--timestamp-output`` preceded
by ``Wed Jun  1 10:54:24 2022``. Two ranks can share a physical line when one of them did not end
its own, so a line is cut at every prefix and each part belongs to the prefix before it.
"""

from __future__ import annotations

import re

PREFIX_HINT = b"<std"
"""What a line with a prefix contains."""

_PREFIX = re.compile(
    r"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})?"
    r"\[\d+,(?P<rank>\d+)\]<std(?:out|err|diag)>:?",
    re.ASCII,
)


def parts_of_ranks(line: str, ranks: tuple[int, ...]) -> list[str]:
    """The parts of the line that one of ``ranks`` printed; what has no prefix belongs to all."""
    parts: list[str] = []
    wanted, start = True, 0
    for match in _PREFIX.finditer(line):
        if wanted and match.start() > start:
            parts.append(line[start : match.start()])
        wanted, start = int(match.group("rank")) in ranks, match.end()
    if wanted:
        parts.append(line[start:])
    return parts
