"""Which rank printed what: the prefixes that launchers put before a line, or into the middle of it.

``mpirun --tag-output`` writes ``[1,0]<stdout>:`` (job, rank), with ``--timestamp-output`` preceded
by ``Wed Jun  1 10:54:24 2022``. Two ranks can share a physical line when one of them did not end
its own, so a line is cut at every prefix and each part belongs to the prefix before it.
``srun --label`` writes ``0: ``, ``torchrun --tee`` ``[default0]:``, by rank_prefix.
"""

from __future__ import annotations

import re
from typing import Literal

from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.format.regex.line_pattern import line_pattern
from profiles.logs.literals import digits_that_count, required_literals, stays_in_line

_TIMESTAMP = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
_TAG = r"\[\d+,(?P<rank>\d+)\]<std(?:out|err|diag)>:?"
MPI_PREFIX = f"(?:{_TIMESTAMP})?{_TAG}"

_TIMESTAMP_LENGTH = len("Wed Jun  1 10:54:24 2022")
_TIMESTAMP_BYTES = re.compile(_TIMESTAMP.encode())


class RankFilter:
    """Picks what one of ``ranks`` printed; text without a prefix before it belongs to all."""

    def __init__(self, ranks: tuple[int, ...] | Literal["all"], prefix: str = MPI_PREFIX) -> None:
        self._ranks = None if ranks == "all" else frozenset(map(str, ranks))
        self._prefix = line_pattern(prefix)
        self._rank = self._prefix.groupindex["rank"]
        self._timestamps = prefix == MPI_PREFIX
        # The tag alone is found five times as fast; a timestamp before it is cut off afterwards.
        tag = _TAG if self._timestamps else prefix
        in_line = stays_in_line(tag) and self._prefix.groups == 1
        in_line = in_line and line_pattern(tag).longest == LINE_LIMIT
        self._bytes_tag = re.compile(tag.encode(), re.MULTILINE) if in_line else None
        # What text with a prefix contains; "<" is found faster than "<std", and most logs lack it.
        literals = (b"<", b"<std") if self._timestamps else required_literals(prefix)
        self._hints = literals if self._ranks is not None else ()
        self.any_digits = self._ranks is None or digits_that_count(prefix) == ()
        self._selected = (b"", b"")

    def concerns(self, text: bytes) -> bool:
        """Whether there may be a prefix in the text, so that :meth:`parts` has to be asked."""
        return self._ranks is not None and all(hint in text for hint in self._hints)

    def select(self, lines: bytes) -> bytes:
        """Lines made of the parts that count, one each; the same as :meth:`parts` line by line."""
        if self._ranks is None:
            return lines
        if self._selected[0] is not lines:  # the patterns of a dense log all ask for the same block
            self._selected = (lines, self._select(lines))
        return self._selected[1]

    def _select(self, lines: bytes) -> bytes:
        if self._bytes_tag is None:
            decoded = lines.decode("utf-8", "replace").split("\n")
            return "\n".join(part for line in decoded for part in self.parts(line)).encode()
        first, *rest = self._bytes_tag.split(lines)
        ranks, texts = rest[::2], [first, *rest[1::2]]
        if self._timestamps:
            texts = [*map(_without_timestamp, texts[:-1]), texts[-1]]
        wanted = {rank.encode() for rank in self._ranks or ()}
        if wanted.issuperset(ranks):
            return b"\n".join(texts)
        # Up to the end of its line a text is its rank's; lines without a prefix belong to all.
        found = [texts[0]]
        for rank, text in zip(ranks, texts[1:], strict=True):
            found.append(text if rank in wanted else text[_line_end(text) :])
        return b"\n".join(found)

    def parts(self, line: str) -> list[str]:
        """The parts of the line that count. A line is cut at every prefix."""
        return [line[start:end] for start, end in self.cut(line)[0]]

    def cut(self, line: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """From where to where the parts that count go, and the ranks in the prefixes."""
        if self._ranks is None:
            return [(0, len(line))], []
        parts: list[tuple[int, int]] = []
        ranks: list[tuple[int, int]] = []
        wanted, start = True, 0
        for match in self._prefix.finditer(line):
            if wanted and match.start() > start:
                parts.append((start, match.start()))
            ranks.append(match.span(self._rank))
            wanted, start = match.group(self._rank) in self._ranks, match.end()
        if wanted:
            parts.append((start, len(line)))
        return parts, ranks


def _without_timestamp(text: bytes) -> bytes:
    if not text[-1:].isdigit():  # as most, and fast
        return text
    end = text[-_TIMESTAMP_LENGTH:]
    return text[:-_TIMESTAMP_LENGTH] if _TIMESTAMP_BYTES.fullmatch(end) else text


def _line_end(text: bytes) -> int:
    end = text.find(b"\n")
    return len(text) if end < 0 else end
