"""What an export looks like: its tables aligned, or the text of the file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text

from backends.results.render import Align, Column, Table
from profiles.cleantext import clean_text
from tui.text import shorten
from tui.theme import ACCENT, MUTED
from tui.widgets.text_lines import folded

MOST_LINES = 2_000
"""Of a preview; the file has all."""
LONGEST = 2_000
"""Characters of a line there: of a figure inside the file it is as well to see the beginning."""

BETWEEN = "  "
WIDEST = 60
"""Columns of an aligned cell: one that is wider is cut, as all others would stand far apart."""


def tables_text(tables: Sequence[Table], below: str = "") -> list[Text]:
    """Aligned cells, as wide as they are; titles, captions, notes and a line ``below`` all of them,
    which go on in the next line."""
    lines = [line for table in tables for line in _table_lines(table)]
    lines += [folded(Text(clean_text(below), MUTED))] if below else []
    return _shown(lines[:MOST_LINES], len(lines))


def columns_of(tables: Sequence[Table]) -> list[tuple[int, str]]:
    """Of those of :func:`tables_text` in which column of the screen each ends, and its heading."""
    found = []
    for table in tables:
        end = -len(BETWEEN)
        for width, heading in zip(_widths(_cells(table)), table.headings, strict=True):
            end += len(BETWEEN) + width
            found.append((end, clean_text(heading)))
    return found


def file_text(text: str) -> list[Text]:
    """What is written, line by line, safe to show."""
    lines = text.split("\n")
    shown = [Text(clean_text(line, cap=LONGEST)) for line in lines[:MOST_LINES]]
    return _shown(shown, len(lines))


def _shown(lines: Sequence[Text], of: int) -> list[Text]:
    left = of - len(lines)
    return [*lines, *[Text(f"… {left:,} more lines are in the file", MUTED)] * (left > 0)]


def _cells(table: Table) -> list[list[str]]:
    rows = (table.headings, *table.rows)
    return [[shorten(clean_text(cell), WIDEST) for cell in row] for row in rows]


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(*cells, strict=True)]


def _table_lines(table: Table) -> Iterator[Text]:
    cells = _cells(table)
    widths = _widths(cells)
    if table.title:
        yield folded(Text(clean_text(table.title), "bold"))
    if table.caption:
        yield folded(Text(clean_text(table.caption), MUTED))
    for number, row in enumerate(cells):
        padded = (
            _padded(cell, width, column.align)
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        )
        yield Text(BETWEEN.join(padded).rstrip(), MUTED if number == 0 else "")
    for note in table.notes:
        yield folded(Text(clean_text(note), MUTED))
    if table.links:
        yield Text(f"logs: {len(table.links)}, linked in the file", MUTED)
    yield Text()


def is_there(path: Path) -> bool:
    """False, too, where nobody may look."""
    return os.path.exists(path)  # noqa: PTH110 (that of a Path raises then)


def _padded(cell: str, width: int, align: Align) -> str:
    room = width - cell_len(cell)
    if align == "left":
        return cell + " " * room
    before = room if align == "right" else room // 2
    return " " * before + cell + " " * (room - before)


def named_line(keys: str, name: str) -> Text:
    """What a line of choices begins with: the keys that choose, then what."""
    return Text(keys, f"bold {ACCENT}", end="").append(f"{name:<9}", MUTED)


def chosen_line(keys: str, name: str, choices: Sequence[str], chosen: str) -> Text:
    """ "f Format  [md] csv json" """
    text = named_line(keys, name)
    for choice in choices:
        if choice == chosen:
            text.append(f"[{choice}]", f"bold {ACCENT}")
        else:
            text.append(f" {choice} ")
    return text


def order_words(columns: Sequence[Column], column: int | None, *, descending: bool) -> str:
    if column is None:
        return "as laid out"
    heading = clean_text(columns[column].heading) if column < len(columns) else "–"
    return f"by {heading or 'the first column'}, {'largest' if descending else 'smallest'} first"
