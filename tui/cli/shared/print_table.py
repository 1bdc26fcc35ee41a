"""Rows for a reader: aligned and coloured on a terminal, markdown in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from backends.results import render
from backends.results.escaping import md_text
from backends.results.render import Column
from profiles.cleantext import clean_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Column", "Rows", "Said", "Tone", "print_rows", "print_tables", "terminal_table"]

Report = tuple[Sequence[str], Sequence[str]]
"""Paragraphs before the tables and after them."""

WIDEST = 10_000
"""Columns that a table may take before it is folded."""
LAST = 20
"""Columns that its last one gets, however narrow the terminal is."""


class Tone(StrEnum):
    """How a word is shown on a terminal; what it means stands in the word as well."""

    PLAIN = ""
    GOOD = "green"
    BUSY = "cyan"
    WARN = "yellow"
    BAD = "red"
    QUIET = "dim"
    NAME = "bold"


@dataclass(frozen=True, slots=True)
class Said:
    """A cell with a tone."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Rows:
    """As many cells in each row as there are columns; text of others is made safe here."""

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[str | Said]]


def print_rows(rows: Rows) -> None:
    """On stdout."""
    if sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 (comes with Textual; 50 ms)

        print_on(Console(highlight=False), rows)
        return
    texts = tuple(tuple(_said(cell).text for cell in row) for row in rows.rows)
    print("\n".join(render.markdown_rows(render.Table("", rows.columns, texts))))


def print_tables(tables: Sequence[render.Table], said: Report = ((), ())) -> None:
    """Results on stdout, each table with its title, caption and notes; ``said``: paragraphs before
    and after them."""
    before, after = said
    if not sys.stdout.isatty():
        parts = [*(f"> **{md_text(line)}**" for line in before)]
        parts += [render.render_markdown(tables).rstrip("\n")] if tables else []
        print("\n\n".join([*parts, *map(md_text, after)]))
        return
    from rich.console import Console  # noqa: PLC0415 (as above)
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    for line in before:
        console.print(Text(f"{clean_text(line)}\n", Tone.WARN))
    for table in tables:
        for words, tone in ((table.title, Tone.NAME), (table.caption, Tone.PLAIN)):
            if words:
                console.print(Text(f"{clean_text(words)}\n", str(tone)))
        print_on(Console(highlight=False), Rows(table.columns, table.rows))
        links = (f"{link.text}: {link.path}" for link in table.links)
        for line in ("", *table.notes, *links):
            console.print(Text(clean_text(line), str(Tone.QUIET)))
    for line in after:
        console.print(Text(clean_text(line)))


def print_on(console: Console, rows: Rows) -> None:
    """A terminal that is narrower than the table wraps its lines: nothing is lost."""
    shown = terminal_table(rows)
    wide = console.options.update(max_width=WIDEST)
    console.width = max(console.measure(shown, options=wide).minimum, console.width)
    console.print(shown)


def terminal_table(rows: Rows) -> Table:
    """For a Rich console, which knows the width and NO_COLOR. Nothing is cut: the last column goes
    on in the next line where it is too long."""
    from rich.cells import cell_len  # noqa: PLC0415 (as above)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    texts = [
        [Text(clean_text(cell.text), style=str(cell.tone)) for cell in map(_said, row)]
        for row in rows.rows
    ]
    remarks = rows.columns[-1].align == "left"  # the others are numbers and names
    nothing = remarks and bool(texts) and not any(row[-1].plain for row in texts)
    columns = rows.columns[:-1] if nothing else rows.columns
    for number, column in enumerate(columns):
        justify: Literal["left", "right"] = "left" if column.align == "left" else "right"
        last = remarks and column is rows.columns[-1]
        widest = max((row[number].cell_len for row in texts), default=0)
        heading = Text(_folded(column.heading, widest))
        headed = max(map(cell_len, heading.plain.split("\n")))
        table.add_column(
            heading,
            justify=justify,
            overflow="fold",
            no_wrap=not last,
            min_width=LAST if last else max(widest, headed),
        )
    for row in texts:
        table.add_row(*row[: len(columns)])
    return table


def _folded(heading: str, width: int) -> str:
    """On several lines where it is wider than what stands below it."""
    lines = [""]
    for word in heading.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _said(cell: str | Said) -> Said:
    return cell if isinstance(cell, Said) else Said(cell)
