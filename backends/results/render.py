"""A table as a value, and its two faces: markdown and CSV.

Every cell is text that is already formatted but not yet escaped: escaping is the renderer's work,
so that no layout can forget it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from backends.results.escaping import csv_cell, md_cell, md_link, md_text

Align = Literal["left", "center", "right"]
_RULES: dict[Align, str] = {"left": "---", "center": ":---:", "right": "---:"}


@dataclass(frozen=True, slots=True)
class Column:
    """``rank``: on a terminal without room for all, the highest is left out first; 0: it stays.
    ``whole``: its cells are not folded there, such as a figure with its unit. ``below``: without
    room for all it goes below its rows there, with its heading; one that has a rank, where it would
    be left out. ``least``: columns within which its words are not folded there."""

    heading: str
    align: Align = "right"
    rank: int = 0
    whole: bool = False
    below: bool = False
    least: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """``path`` is relative to the report."""

    text: str
    path: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of as many cells as there are columns. ``notes`` explain marks and what is left out.

    ``shared``: what is so of every row, by name, and stands in words above or below it. CSV, which
    has neither, has a column of each.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table {self.title!r}: every row needs {len(self.columns)} cells")

    @property
    def headings(self) -> tuple[str, ...]:
        return tuple(column.heading for column in self.columns)


def markdown_rows(table: Table) -> list[str]:
    """The table alone: heading, rule and one line per row."""
    rules = [_RULES[column.align] for column in table.columns]
    return [
        _markdown_row(map(md_cell, table.headings)),
        _markdown_row(rules),
        *(_markdown_row(map(md_cell, row)) for row in table.rows),
    ]


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def render_markdown(tables: Sequence[Table], *, heading: str = "###") -> str:
    """Title, caption, table, notes and links of each; ends with a line break."""
    parts: list[str] = []
    for table in tables:
        if table.title:
            parts.append(f"{heading} {md_text(table.title)}")
        if table.caption:
            parts.append(md_text(table.caption))
        parts.append("\n".join(markdown_rows(table)))
        if table.notes:
            parts.append("\n".join(f"- {md_text(note)}" for note in table.notes))
        if table.links:
            parts.append("\n".join(f"- {md_link(link.text, link.path)}" for link in table.links))
    return "\n\n".join(parts) + "\n"


def render_csv(tables: Sequence[Table]) -> str:
    """RFC 4180 with LF line ends. Several tables: a first column names the table each row is of.

    Tables with different headings follow one another with a blank line between.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    named = len(tables) > 1
    previous: tuple[str, ...] | None = None
    for table in tables:
        if table.headings != previous:
            if previous is not None:
                out.write("\n")
            writer.writerow(_csv_row(("table", *table.headings) if named else table.headings))
            previous = table.headings
        for row in table.rows:
            writer.writerow(_csv_row((table.title, *row) if named else row))
    return out.getvalue()


def transposed_csv(text: str) -> str:
    """Of one table."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(zip(*csv.reader(io.StringIO(text)), strict=True))
    return out.getvalue()


_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)


def _csv_row(cells: Iterable[str]) -> list[str]:
    """Numbers without the commas that people read: 2,942.66 would be text to a spreadsheet."""
    return [csv_cell(c.replace(",", "") if _GROUPED.fullmatch(c) else c) for c in cells]
