"""A simulated table: rates by row and column, as markdown and back."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """``rates``: fractions by row name, one for every column; NaN where there is nothing."""

    corner: str
    columns: tuple[str, ...]
    rates: Mapping[str, Sequence[float]]

    def markdown(self) -> str:
        rule = ["---", *(["---:"] * len(self.columns))]
        rows = [[self.corner, *self.columns], rule]
        rows += [[name, *map(_cell, row)] for name, row in self.rates.items()]
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(rate: float) -> str:
    return "–" if math.isnan(rate) else f"{rate:.1%}"


@dataclass(frozen=True)
class Simulation:
    """``run(count)``: the table from so many simulated cases; ``count`` of the document.

    ``exact``: nothing in it is drawn, so that there is no luck.
    """

    name: str
    run: Callable[[int], Table]
    count: int
    quick: int
    exact: bool = False


def parse(markdown: str) -> Table:
    """Back from :meth:`Table.markdown`."""
    lines = [line.strip("| \n").split(" | ") for line in markdown.strip().splitlines()]
    header, _, *rows = lines
    rates = {row[0]: [_rate(cell) for cell in row[1:]] for row in rows}
    return Table(header[0], tuple(header[1:]), rates)


def _rate(cell: str) -> float:
    return math.nan if cell == "–" else float(cell.rstrip("%")) / 100


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- simulated: {name} -->\n", "<!-- end -->"


def committed(document: str, name: str) -> str:
    """The table of that name in a document."""
    begin, end = _marks(name)
    return document.split(begin)[1].split(end, maxsplit=1)[0]


def replaced(document: str, name: str, table: str) -> str:
    """The document with the table of that name exchanged."""
    begin, end = _marks(name)
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    if not pattern.search(document):
        raise ValueError(f"the document has no table {name!r}")
    return pattern.sub(lambda _: f"{begin}{table}{end}", document)
