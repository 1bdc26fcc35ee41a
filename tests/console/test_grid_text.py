"""The grid of cases in as many columns as there are: none is cut, and all can be reached."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from profiles.format.case import GLOBAL_BATCH, Case
from tests.console.conftest import SMALL, console, screen_text, settled
from tests.console.fakes import FakeWorkspace
from tests.console.test_matrix import current, open_matrix
from tui.matrix_labels import column_labels
from tui.matrix_marks import Cell
from tui.widgets.grid import MatrixGrid
from tui.widgets.grid_text import TAG_WIDTH, GridText

WORD = st.text("abcdefgh0123456789=", min_size=1, max_size=12)
LABELS = st.integers(1, 3).flatmap(
    lambda words: st.lists(
        st.lists(WORD, min_size=words, max_size=words).map(" ".join), min_size=1, max_size=30
    )
)


def cells(columns: int) -> tuple[tuple[Cell, ...], ...]:
    return (tuple(Cell(Case("p", 1, 1, {"n": n}), "free") for n in range(columns)),)


@given(LABELS, st.integers(40, 200), st.data())
def test_columns_in_sight_are_whole_and_the_others_are_counted(
    labels: list[str], room: int, data: st.DataObject
) -> None:
    told = st.sampled_from(["", "✗", "384 D", "26.6k A", "7392"])
    figures = tuple(data.draw(told) for _ in labels)
    grid = GridText(tuple(labels), cells(len(labels)), (), (figures,), room)
    first = data.draw(st.integers(0, grid.furthest))
    columns = grid.columns(first)
    heading = grid.heading(columns)
    shown = list(zip(*(line.plain[TAG_WIDTH:].split() for line in heading), strict=False))
    words = {word for line in heading for word in line.plain.split()}
    for index in columns:
        assert set(labels[index].split()) <= words, shown
    assert all(line.cell_len <= room for line in [*heading, grid.line(0, columns)])
    text = heading[0].plain
    before, after = re.search(r"‹ \+(\d+)", text), re.search(r"\+(\d+) ›$", text)
    hidden = [int(found[1]) if found else 0 for found in (before, after)]
    assert hidden == [first, len(labels) - columns.stop]
    if first == grid.furthest:
        assert not after
    assert not (before and grid.left[-1] <= room)


@given(LABELS, st.integers(40, 200), st.data())
def test_any_column_comes_into_sight(labels: list[str], room: int, data: st.DataObject) -> None:
    grid = GridText(tuple(labels), cells(len(labels)), (), (), room)
    column = data.draw(st.integers(0, len(labels) - 1))
    first = data.draw(st.integers(0, grid.furthest))
    moved = grid.first_for(column, first)
    assert column in grid.columns(moved)
    assert moved <= grid.furthest or len(grid.columns(moved)) == 1
    assert moved == first or column not in grid.columns(first)


def test_a_mark_and_a_figure_are_parted_also_where_the_grade_has_to_go_for_it() -> None:
    labels, figures = ("b256 fp32", "b256 amp"), (("384 D", "24.1k D"),)
    told = [
        GridText(labels, cells(2), (), figures, room).line(0, range(2)).plain.split("1n1g")[1]
        for room in range(60, 27, -1)
    ]
    assert all("[ ] 24.1k " in line for line in told if "24.1k" in line)
    assert "384 D" in told[0]
    assert "384 D" not in told[-1]
    assert "384" in told[-1]


def label(cell: Cell) -> str:
    given = cell.case.parameters
    return f"Σ{given[GLOBAL_BATCH]}" if cell.strong else f"b{given['batch_size']}"


async def test_at_80_columns_each_heading_is_whole_wherever_the_cursor_goes(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        page = await open_matrix(app, pilot)
        part = page.focused_marks
        assert part is not None
        page._put(part.with_scaling(weak=True, totals=[32, 64, 128, 256]))
        await settled(app)
        grid = page.query_one(MatrixGrid)

        def heading() -> str:
            return screen_text(app).splitlines()[4].split("│")[1]

        names = set(column_labels(page._asked.marks(part.profile.name)))
        assert len(names) == 8
        seen = set()
        for key in ["l"] * 8 + ["h"] * 8:
            await pilot.press(key)
            columns = [word for word in heading().split() if word[0] in "bΣ"]
            assert set(columns) <= names
            assert len(columns) + sum(map(int, re.findall(r"\+(\d+)", heading()))) == 8
            assert label(current(page)) in columns
            seen |= set(columns)
        assert seen == names
        await pilot.press(*"l" * 8)
        shown = heading().split()[2]
        x = screen_text(app).splitlines()[4].index(shown) - grid.region.x
        await pilot.click(MatrixGrid, offset=(x, 3))
        assert label(current(page)) == shown
