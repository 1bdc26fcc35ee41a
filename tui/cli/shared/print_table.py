"""Rows for a reader: aligned and coloured on a terminal, markdown in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from backends.results import render
from backends.results.escaping import md_text
from backends.results.numbers import NOTHING
from backends.results.render import Column
from profiles.cleantext import clean_text
from tui.cli.shared.output import folded

if TYPE_CHECKING:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

Report = tuple[Sequence[str], Sequence[str]]
"""Paragraphs before the tables and after them."""

WIDEST = 10_000
"""Columns that nothing is folded in."""
LAST = 20
"""Columns that its last one gets, before others give any."""
BETWEEN = 2
"""Columns between two of its columns."""


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
    """A cell with a tone; ``below``: how its text ends, where that may go on below its row."""

    text: str
    tone: Tone = Tone.PLAIN
    below: str = ""


@dataclass(frozen=True, slots=True)
class Rows:
    """As many cells in each row as there are columns; text of others is made safe here.

    ``under``: the paragraphs below each row; empty: none has any.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[str | Said]]
    under: Sequence[Sequence[Said]] = ()


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
        below = [*table.notes, *(f"{link.text}: {link.path}" for link in table.links)]
        for line in ("", *below, *[""] * bool(below)):
            console.print(Text(clean_text(line), str(Tone.QUIET)))
    for line in after:
        console.print(Text(clean_text(line)))


def print_on(console: Console, rows: Rows) -> None:
    """What the terminal has room for: some columns go below their rows; others that can be left
    out are, and are named; cells go on in the next line between words. Where that is not enough the
    terminal's own lines go on."""
    shown, notes = _with_room(rows, console.width)
    console.width = max(_least_width(shown), console.width)
    console.print(*_fitted(shown, notes, console.width), sep="\n")


def fitted(rows: Rows, width: int) -> list[Table | Padding | Text]:
    """What a terminal of that width has room for, and what is left out, for a Rich console."""
    return _fitted(*_with_room(rows, width), width)


def _fitted(shown: Rows, notes: Sequence[str], width: int) -> list[Table | Padding | Text]:
    from rich.padding import Padding  # noqa: PLC0415 (as above)
    from rich.text import Text  # noqa: PLC0415

    parts: list[Table | Padding | Text] = []
    for table, under in zip(_terminal_tables(shown, width), shown.under or [()], strict=True):
        below = [Text(_below(said, width - BETWEEN), str(said.tone)) for said in under]
        parts += [table, *(Padding(text, (0, 0, 0, BETWEEN)) for text in below)]
    return [*parts, *(Text(note, str(Tone.QUIET)) for note in notes)]


def _below(said: Said, width: int) -> str:
    return folded(clean_text(said.text), width, indent="", parts=True)


def _with_room(rows: Rows, width: int) -> tuple[Rows, list[str]]:
    """What is left of them, and what is said below all of them: what is the same in each and has no
    column, and the headings of what is left out, first what tells nothing."""
    kept, below = list(range(len(rows.columns))), list[int]()
    ends: list[list[Said]] = [[] for _ in rows.rows]
    if _least_width(rows, WIDEST) > width:
        below = [n for n in kept if rows.columns[n].below and not rows.columns[n].rank]
        kept = [n for n in kept if n not in below]
        ends = [[Said(s.below) for s in map(_said, row) if s.below] for row in rows.rows]
        rows = Rows(rows.columns, [[_begin(_said(cell)) for cell in row] for row in rows.rows])
    while _least_width(_only(rows, kept)) > width:
        ranked = [n for n in kept if rows.columns[n].rank]
        if not ranked:
            break
        gone = max(ranked, key=lambda n: (_is_empty(rows, n), rows.columns[n].rank, n))
        kept.remove(gone)
        below += [gone] * rows.columns[gone].below
    alike = [n for n in below if rows.columns[n].rank and _is_same(rows, n)]
    notes = [f"{rows.columns[n].heading} of each: {_said(rows.rows[0][n]).text}" for n in alike]
    below = [n for n in below if n not in alike]
    shown = {*kept, *below, *alike}
    told = [n for n in range(len(rows.columns)) if n not in shown and not _is_empty(rows, n)]
    under = [[*end, *_paragraphs(rows, number, sorted(below))] for number, end in enumerate(ends)]
    left = _only(rows, kept)
    if left_out := ", ".join(dict.fromkeys(rows.columns[n].heading for n in told)):
        notes.append(f"no room for {left_out}: a wider terminal or a pipe has it all")
    return Rows(left.columns, left.rows, under if any(under) else ()), notes


def _begin(cell: Said) -> Said:
    """Without what goes on below its row."""
    return Said(cell.text.removesuffix(cell.below).rstrip(), cell.tone) if cell.below else cell


def _paragraphs(rows: Rows, row: int, below: Sequence[int]) -> Iterator[Said]:
    """What there was no room for in one, each that is always there in one of its own."""
    told = [(rows.columns[number], _said(rows.rows[row][number])) for number in below]
    told = [(column, cell) for column, cell in told if cell.text not in ("", NOTHING)]
    if ranked := [f"{column.heading}: {cell.text}" for column, cell in told if column.rank]:
        yield Said(" · ".join(ranked), Tone.QUIET)
    for column, cell in told:
        if not column.rank:
            yield Said(f"{column.heading}: {cell.text}", cell.tone)


def _only(rows: Rows, kept: Sequence[int]) -> Rows:
    return Rows(
        tuple(rows.columns[n] for n in kept),
        [[row[n] for n in kept] for row in rows.rows],
        rows.under,
    )


def _is_same(rows: Rows, number: int) -> bool:
    return len(rows.rows) > 1 and len({_said(row[number]).text for row in rows.rows}) == 1


def _is_empty(rows: Rows, number: int) -> bool:
    return all(_said(row[number]).text in ("", "0", NOTHING) for row in rows.rows)


def _terminal_tables(rows: Rows, width: int) -> Iterator[Table]:
    """For a Rich console, which knows NO_COLOR: one, or one for each row that has paragraphs below
    it. Nothing is cut: words go on in the next line of their cell where ``width`` has no room, the
    last column's first."""
    from rich.table import Table  # noqa: PLC0415 (as above)
    from rich.text import Text  # noqa: PLC0415

    rows = _without_nothing(rows)
    widths = _widths(rows, width)
    parts = [[row] for row in rows.rows] if rows.under else [rows.rows]
    for part, shown in enumerate(parts):
        table = Table(box=None, pad_edge=False, padding=(0, BETWEEN, 0, 0), header_style="bold")
        table.show_header = not part
        for number, (column, given) in enumerate(zip(rows.columns, widths, strict=True)):
            justify: Literal["left", "right"] = "left" if column.align == "left" else "right"
            heading = Text(_folded(column.heading, _needs(rows, number)))
            table.add_column(heading, justify=justify, overflow="fold", width=given)
        for row in shown:
            cells = map(_said, row)
            table.add_row(*(Text(clean_text(cell.text), style=str(cell.tone)) for cell in cells))
        yield table


def _without_nothing(rows: Rows) -> Rows:
    """Without remarks, where there are none."""
    last = len(rows.columns) - 1
    nothing = rows.columns[last].align == "left" and bool(rows.rows)
    if nothing and not any(clean_text(_said(row[last]).text) for row in rows.rows):
        return _only(rows, range(last))
    return rows


def _least_width(rows: Rows, width: int = 0) -> int:
    """In which all of them have room; with ``WIDEST`` no cell is folded in it."""
    rows = _without_nothing(rows)
    return sum(_widths(rows, width)) + BETWEEN * (len(rows.columns) - 1)


def _widths(rows: Rows, width: int) -> list[int]:
    """Of every column what it needs; where that is too much, those of words give, the last first:
    down to LAST, then all down to their longest word; and then the last one breaks words, where
    its cells may be broken at all."""
    numbers = range(len(rows.columns))
    words = [_words(rows, number) for number in numbers]
    needs = [_needs(rows, number) for number in numbers]
    widths = [
        max(need, *map(_width, _folded(column.heading, need).split("\n")))
        for column, need in zip(rows.columns, needs, strict=True)
    ]
    over = sum(widths) + BETWEEN * (len(widths) - 1) - width
    last = numbers[-1]
    least = [
        max(min(column.least, need), *map(_width, own))
        for column, need, own in zip(rows.columns, needs, words, strict=True)
    ]
    steps = [(last, max(LAST, least[last])), *((n, least[n]) for n in reversed(numbers))]
    for number, most in (*steps, *[(last, LAST)] * (not rows.columns[last].whole)):
        if rows.columns[number].align == "left" and over > 0:
            given = max(0, min(over, widths[number] - most))
            widths[number] -= given
            over -= given
    return widths


def _needs(rows: Rows, number: int) -> int:
    """For the widest of a column's cells."""
    return max((_width(clean_text(_said(row[number]).text)) for row in rows.rows), default=0)


def _words(rows: Rows, number: int) -> set[str]:
    """What is not broken there: words, or cells."""
    column = rows.columns[number]
    cells = [clean_text(_said(row[number]).text) for row in rows.rows]
    if not column.whole:
        cells = [word for cell in cells for word in cell.split()]
    return {*column.heading.split(), *cells}


def _width(text: str) -> int:
    from rich.cells import cell_len  # noqa: PLC0415 (comes with Textual; 50 ms)

    return cell_len(text)


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
