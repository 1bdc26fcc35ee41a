"""Looks through a log on disk, a piece at a time: for words, or for what looks like an error.

A thread does it; it holds one piece at most, however long the log is. Found is what the screen
would show, so escape sequences within a word do not hide it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice, takewhile
from pathlib import Path
from typing import BinaryIO

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from profiles.cleantext import ESCAPE_BYTES, clean_line
from tui.theme import ACCENT

PIECE_BYTES = 1 << 20
LONGEST_LINE = 1 << 23
"""A line that goes on for longer is looked through in pieces."""


@dataclass(frozen=True, slots=True)
class Sought:
    """``hints``: lower-case bytes of which every line that ``pattern`` finds has one.

    Upper and lower case of ASCII letters are the same, in both.
    """

    words: str
    hints: tuple[bytes, ...]
    pattern: re.Pattern[str]


def words_sought(text: str) -> Sought:
    """Lines that have the text, taken literally."""
    pattern = re.compile(re.escape(text), re.IGNORECASE | re.ASCII)
    return Sought(text, (text.encode("utf-8", "replace").lower(),), pattern)


ERRORS = Sought(
    "errors",
    (
        *(b"error", b"exception", b"traceback", b"fatal", b"critical", b"abort", b"panic"),
        *(b"segmentation fault", b"core dumped", b"out of memory", b"killed"),
    ),
    re.compile(
        r"error\b|errors:|exception\b|traceback \(|\bfatal\b|\bcritical\b|\babort(?:ed|ing)?\b"
        r"|\bpanic\b|segmentation fault|core dumped|out of memory|\bkilled\b",
        re.IGNORECASE | re.ASCII,
    ),
)


class Search:
    """One search through a file; ``stop`` ends it from another thread."""

    def __init__(self, path: Path, sought: Sought) -> None:
        self.sought = sought
        self._path = path
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def after(self, place: int, *, beyond: bool = False) -> int | None:
        """Where the first line begins that has it, from the line at ``place`` on; ``beyond``: that
        line left out. None: there is none, or the search was stopped.

        Raises
        ------
        OSError: the file cannot be read.
        """
        return next(self._from(place, beyond=beyond), None)

    def position(self, place: int) -> tuple[int, int] | None:
        """Which of all lines that have it the one at ``place`` is, from 1, and how many there are;
        None: the search was stopped. Raises as :meth:`after`."""
        before = every = 0
        for found in self._from(0):
            every += 1
            before += found < place
        return None if self._stopped.is_set() else (before + 1, every)

    def _from(self, place: int, *, beyond: bool = False) -> Iterator[int]:
        """Where the lines begin that have it, until the search is stopped."""
        with self._path.open("rb") as file:
            file.seek(place)
            if beyond:
                place += _skip_line(file)
            carried, data = b"", b"more"
            while data and not self._stopped.is_set():
                data = file.read(PIECE_BYTES)
                piece = carried + data
                whole = len(piece) if not data else piece.rfind(b"\n") + 1
                if not whole and len(piece) < LONGEST_LINE and data:
                    carried = piece
                    continue
                whole = whole or len(piece)
                for found in _found(piece[:whole], self.sought):
                    yield place + found
                place, carried = place + whole, piece[whole:]

    def before(self, place: int) -> int | None:
        """Where the last line begins that has it, of those that begin before ``place``, which is a
        line's beginning or lies behind the end. Otherwise as :meth:`after`."""
        size = PIECE_BYTES
        with self._path.open("rb") as file:
            place = min(place, file.seek(0, 2))
            while place > 0 and not self._stopped.is_set():
                low = max(0, place - size)
                file.seek(low)
                piece = file.read(place - low)
                # All but the line of which only the end was read.
                cut = piece.find(b"\n", 0, -1) + 1 if low else 0
                if low and not cut and size < LONGEST_LINE:
                    size *= 2
                    continue
                *_, last = (None, *_found(piece[cut:], self.sought))
                if last is not None:
                    return low + cut + last
                place, size = low + cut, PIECE_BYTES
        return None

    def all_round(self, place: int, *, beyond: bool, forward: bool) -> tuple[int | None, bool]:
        """As :meth:`after` or :meth:`before`, or from the other end where that finds none; and
        whether it was from there."""
        found = self.after(place, beyond=beyond) if forward else self.before(place)
        if found is not None:
            return found, False
        return (self.after(0) if forward else self.before(1 << 62)), True


def with_hits(text: str, sought: Sought, base: Style, *, found: bool) -> Iterator[Segment]:
    """What was looked for in reverse; in colour where it is the line that was ``found`` last."""
    hit, at = base + Style(reverse=True, color=ACCENT if found else None), 0
    for match in islice(sought.pattern.finditer(text), 100):
        yield Segment(text[at : match.start()], base)
        yield Segment(match.group(), hit)
        at = match.end()
    yield Segment(text[at:], base)


def brought_in(text: str, sought: Sought, left: int, width: int) -> int:
    """The first of ``width`` columns to be shown, now ``left``, for the line's first hit to be
    among them, beside the marks of a line that goes on."""
    if (match := sought.pattern.search(text)) is None:
        return left
    begin = cell_len(text[: match.start()])
    end = begin + cell_len(match.group())
    if left + (left > 0) <= begin and end < left + width:
        return left
    if end < width:
        return 0
    return max(0, min(max(begin - width // 3, end - width + 1), begin - 1))


def rows_before_hit(rows: Iterable[str], text: str, sought: Sought) -> int:
    """How many rows of a wrapped line end before its first hit begins."""
    match = sought.pattern.search(text)
    ends = accumulate(map(len, rows))
    return sum(1 for _ in takewhile(match.start().__ge__, ends)) if match else 0


def _skip_line(file: BinaryIO) -> int:
    """Read up to the next line's beginning; how many bytes that were."""
    skipped = 0
    while data := file.read(PIECE_BYTES):
        end = data.find(b"\n") + 1
        if end:
            file.seek(end - len(data), 1)
            return skipped + end
        skipped += len(data)
    return skipped


def _found(piece: bytes, sought: Sought) -> Iterator[int]:
    """Where the lines of a piece begin that have it."""
    shown = ESCAPE_BYTES.sub(b"", piece) if b"\x1b" in piece else piece
    lowered = shown.lower()
    hits = {hint: lowered.find(hint) for hint in sought.hints}
    at = there = 0  # the beginning of one line: in what is shown, and in the piece
    while hits := {hint: hit for hint, hit in hits.items() if hit >= 0}:
        start = shown.rfind(b"\n", 0, min(hits.values())) + 1
        end = shown.find(b"\n", start) + 1 or len(shown)
        there = start if shown is piece else _lines_on(piece, there, shown.count(b"\n", at, start))
        at = start
        if sought.pattern.search(clean_line(piece[there : _lines_on(piece, there, 1)])):
            yield there
        for hint, hit in hits.items():  # each is looked for once, however often others are there
            if hit < end:
                hits[hint] = lowered.find(hint, end)


def _lines_on(piece: bytes, at: int, lines: int) -> int:
    """Where the line begins that is so many after the one at ``at``, or the end of the piece.
    Escape sequences have no line ends."""
    for _ in range(lines):
        at = piece.find(b"\n", at) + 1 or len(piece)
    return at
