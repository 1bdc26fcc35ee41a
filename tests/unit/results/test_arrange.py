"""Tables in another order have the same cells."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.results.layouts.arrange import Arrangement, arranged, in_order
from backends.results.render import Column, Table

CELLS = st.sampled_from(
    ["–", "-", "", "3.85 †", "1,234", "12", "6/7", "-2.1%", "1.76 … 1.84 w", "B"]
)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=6).map(
        lambda rows: Table("t", tuple(Column(f"c{n}") for n in range(width)), tuple(rows))
    )
)


@given(TABLES, st.integers(0, 3), st.booleans())
def test_sorting_keeps_every_row_and_leaves_empty_cells_last(
    table: Table, column: int, descending: bool
) -> None:
    (found,) = arranged([table], Arrangement(column, descending))
    assert Counter(found.rows) == Counter(table.rows)
    if column >= len(table.columns):
        assert found == table
        return
    empty = [row[column] in ("–", "-", "") for row in found.rows]
    assert empty == sorted(empty)


@given(st.lists(st.integers(-10_000, 10_000), min_size=1), st.booleans())
def test_figures_are_in_the_order_of_what_they_say(values: list[int], descending: bool) -> None:
    cells = [f"{value:,}" for value in values]
    order = [values[place] for place in in_order(cells, descending=descending)]
    assert order == sorted(values, reverse=descending)


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["10", "9", "–"], [1, 0, 2]),
        (["95.6%", "100.0%"], [0, 1]),
        (["6/7", "7", "B", "A"], [0, 1, 3, 2]),
        (["−2", "1"], [0, 1]),
    ],
)
def test_what_comes_first(cells: list[str], order: list[int]) -> None:
    assert in_order(cells, descending=False) == order


@given(TABLES)
def test_a_table_that_is_turned_twice_is_itself(table: Table) -> None:
    (turned,) = arranged([table], Arrangement(transposed=True))
    assert len(turned.rows) == (len(table.columns) - 1 if table.rows else 0)
    (back,) = arranged([turned], Arrangement(transposed=True))
    if turned.rows:
        assert (back.headings, back.rows) == (table.headings, table.rows)
