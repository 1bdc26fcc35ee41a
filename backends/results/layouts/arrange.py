"""A table in another order, or with its rows as columns: the same cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from backends.results.numbers import NOTHING
from backends.results.render import Column, Table

_NUMBER = re.compile(r"[-+−±]?\d[\d,]*(?:\.\d+)?", re.ASCII)
_EMPTY = frozenset({"", "-", NOTHING})


@dataclass(frozen=True, slots=True)
class Arrangement:
    """``column``: the one to sort by, counted from 0; None: as the layout has them. ``transposed``:
    what was the first column is the heading."""

    column: int | None = None
    descending: bool = False
    transposed: bool = False


AS_IT_IS = Arrangement()


def arranged(tables: Sequence[Table], how: Arrangement) -> tuple[Table, ...]:
    """A table that has no such column keeps its order."""
    return tuple(_transposed(t) if how.transposed else t for t in (_sorted(t, how) for t in tables))


def sort_key(cell: str) -> tuple[int, float, str]:
    """Figures by the first number in them, before words; a ratio 6/7 by its 6."""
    found = _NUMBER.match(cell.strip())
    if found is None:
        return 1, 0.0, cell.casefold()
    digits = found.group().replace(",", "").replace("−", "-").lstrip("±+")
    return 0, float(digits), cell.casefold()


def in_order(cells: Sequence[str], *, descending: bool) -> list[int]:
    """The places of the cells in order; equal ones stay as they are, empty ones come last."""
    empty = [place for place, cell in enumerate(cells) if cell.strip() in _EMPTY]
    told = [place for place in range(len(cells)) if place not in set(empty)]
    told.sort(key=lambda place: sort_key(cells[place]), reverse=descending)
    return told + empty


def _sorted(table: Table, how: Arrangement) -> Table:
    if how.column is None or not 0 <= how.column < len(table.columns):
        return table
    cells = [row[how.column] for row in table.rows]
    order = in_order(cells, descending=how.descending)
    return replace(table, rows=tuple(table.rows[place] for place in order))


def _transposed(table: Table) -> Table:
    if not table.rows:
        return table
    cells = [table.headings, *table.rows]
    turned = list(zip(*cells, strict=True))
    first, *rows = turned
    columns = (Column(first[0], "left"), *(Column(heading, rank=1) for heading in first[1:]))
    return replace(table, columns=columns, rows=tuple(rows))
