"""Lines of a log file with the place where each begins, and how they fill the width of a panel."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.cells import chop_cells
from rich.console import Console
from rich.text import Text

from profiles.cleantext import LineCleaner
from tui.text import plain
from tui.theme import MUTED

_NO_CONSOLE = Console(width=1, color_system=None)


class LogLine(NamedTuple):
    """``start``: of its first byte in the file; ``text`` is display-safe."""

    start: int
    text: str


def bytes_before(many: int, path: Path) -> LogLine:
    """What stands in the place of the first bytes of a log."""
    return LogLine(many, f"… {many:,} bytes before: {plain(path)}")


class LineReader:
    """Bytes in any chunking, from a line's beginning on, to display-safe lines."""

    def __init__(self, start: int = 0) -> None:
        self._cleaner = LineCleaner()
        self._start = start  # of the line that is not complete yet
        self._at = start

    def feed(self, data: bytes) -> list[LogLine]:
        """The lines that ``data`` completes."""
        starts, place = [], 0
        for _ in range(data.count(b"\n")):
            starts.append(self._start)
            place = data.index(b"\n", place) + 1
            self._start = self._at + place
        self._at += len(data)
        return [LogLine(*one) for one in zip(starts, self._cleaner.feed(data), strict=True)]

    def finish(self) -> list[LogLine]:
        """The last line, if it had no line end."""
        return [LogLine(self._start, text) for text in self._cleaner.finish()]


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a file, and how many bytes lie before and behind them."""

    lines: tuple[LogLine, ...]
    before: int
    behind: int


PART_BYTES = 64 * 1024
"""On each side of the place that is looked at."""


def read_part(path: Path, place: int) -> Part:
    """The lines around a line's beginning.

    Raises
    ------
    OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = max(0, min(place, size) - PART_BYTES)
        file.seek(start)
        data = file.read(min(place, size) - start + PART_BYTES)
    if start:
        cut = data.find(b"\n", 0, place - start) + 1  # 0: one line is longer than that
        start, data = start + cut, data[cut:]
    reader = LineReader(start)
    lines = reader.feed(data)
    end = start + len(data)
    if end == size or not lines:
        lines += reader.finish()
    else:
        end = start + data.rfind(b"\n") + 1
    return Part(tuple(lines), start, size - end)


class Row(NamedTuple):
    """A row of the panel: which line, and what of it."""

    line: int
    text: str


def rows_of(lines: Iterable[LogLine], width: int | None) -> Iterator[Row]:
    """Every line as one row, or as many as it takes in ``width`` columns."""
    for number, line in enumerate(lines):
        text = line.text
        if width is None or len(text) * 2 <= width or (text.isascii() and len(text) <= width):
            yield Row(number, text)
        elif text.isascii():
            for at in range(0, len(text), width):
                yield Row(number, text[at : at + width])
        else:
            for piece in chop_cells(text, width):
                yield Row(number, piece)


class Place(NamedTuple):
    """Of a row, whatever the width: its line, and how many characters of that lie before it."""

    line: int = 0
    before: int = 0


def place_of(rows: Sequence[Row], number: int) -> Place:
    """Of the row with this number."""
    line, first = rows[number].line, number
    while first > 0 and rows[first - 1].line == line:
        first -= 1
    return Place(line, sum(len(row.text) for row in rows[first:number]))


def row_at(rows: Sequence[Row], place: Place) -> int:
    """The number of the row that has it; of a line without a row that of the one after it."""
    number = bisect_left(rows, place.line, key=lambda row: row.line)
    left = place.before
    while number + 1 < len(rows) and rows[number + 1].line == place.line:
        left -= len(rows[number].text)
        if left < 0:
            break
        number += 1
    return number


def wrapped_line(words: str, number: int, width: int, height: int) -> Text:
    """Of words that stand where a log would, wrapped: a line, indented; the last of ``height``
    ends in ``…`` where there are more."""
    lines = Text(words, MUTED).wrap(_NO_CONSOLE, width)
    rest = list(lines)[number:]
    if len(rest) > 1 and number == height - 1:
        rest = [Text(" ".join(line.plain.strip() for line in rest), MUTED)]
        rest[0].truncate(width, overflow="ellipsis")
    text = rest[0] if rest else Text()
    text.rstrip()
    text.pad_left(1)
    text.no_wrap, text.end = True, ""
    return text
