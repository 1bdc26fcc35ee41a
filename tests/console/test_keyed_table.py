from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any
from unittest.mock import PropertyMock, patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text
from textual.app import App, ComposeResult
from textual.coordinate import Coordinate
from textual.geometry import Region
from textual.widgets import DataTable

from backends.results.short_flags import SHORT
from tests.console.conftest import console, screen_text, words
from tests.console.fakes import FakeWorkspace
from tui.screens import campaign_text, compare_text, matrix_page
from tui.screens.result_text import labels_of, result_columns
from tui.text import cell
from tui.widgets.keyed_table import NOTHING, Column, KeyedTable, Row

pytestmark = pytest.mark.painted

COLUMNS = (
    Column("name", "Name", 8),
    Column("extra", "Extra", 10, from_width=60),
    Column("note", "Note", None),
)


class Bench(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.moves: list[str | None] = []

    def compose(self) -> ComposeResult:
        yield KeyedTable(COLUMNS)

    def on_keyed_table_moved(self, event: KeyedTable.Moved) -> None:
        self.moves.append(event.key)


def rows(*names: str, note: str = "") -> list[Row]:
    return [Row(n, (cell(n), cell("x"), cell(note or n.upper()))) for n in names]


async def test_the_cursor_stays_on_its_row_when_rows_come_and_go() -> None:
    app = Bench()
    async with app.run_test(size=(50, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.refill(rows("a", "b", "c"))
        table.select("b")
        await pilot.pause()
        table.refill(rows("new", "a", "b"))
        await pilot.pause()
        assert table.current_key == "b"
        table.refill(rows("a", "c"))
        await pilot.pause()
        assert table.current_key == "c"


@pytest.mark.parametrize("others", [0, 1])
async def test_other_content_begins_at_its_first_row(others: int) -> None:
    app = Bench()
    async with app.run_test(size=(50, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.refill(rows(*map(str, range(30))))
        table.select("25")
        await pilot.pause()
        table.refill(rows(*map(str, range(30 - others, 60))))
        await pilot.pause()
        assert (table.current_key == "30") is (not others)
        assert (table.scroll_y == 0) is (not others)
        table.select("50")
        table.refill(rows(*map(str, range(40, 55))))
        await pilot.pause()
        assert table.current_key == "50"


async def test_an_update_draws_only_cells_that_differ() -> None:
    app = Bench()
    async with app.run_test(size=(50, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.refill(rows("a", "b"))
        await pilot.pause()
        updated: list[Text] = []
        original = table.update_cell_at

        def record(at: Coordinate, value: Text, *, update_width: bool = False) -> None:
            updated.append(value)
            original(at, value, update_width=update_width)

        table.update_cell_at = record  # type: ignore[method-assign,assignment]
        table.refill([*rows("a"), *rows("b", note="changed")])
        assert [text.plain for text in updated] == ["changed"]


def painted_cells(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(row, column) of those that Textual paints from now on; row -1 has the labels."""
    painted: list[tuple[int, int]] = []
    textuals: Any = DataTable._render_cell

    def paint(table: Any, row: int, column: int, *looks: Any, **more: Any) -> object:
        painted.append((row, column))
        return textuals(table, row, column, *looks, **more)

    monkeypatch.setattr(DataTable, "_render_cell", paint)
    return painted


async def test_the_focus_paints_the_row_of_the_cursor_alone(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(workspace) as (app, pilot):
        painted = painted_cells(monkeypatch)
        table = app.screen.query_one(KeyedTable)
        assert table.row_count > 2
        for focused in (None, table, None):
            app.screen.set_focus(focused)
            await pilot.pause()
        painted.clear()
        for focused in (table, None):
            app.screen.set_focus(focused)
            await pilot.pause()
        assert {row for row, _ in painted} <= {table.cursor_row}, painted


async def test_only_what_looks_different_is_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    painted = painted_cells(monkeypatch)
    app = Bench()
    async with app.run_test(size=(50, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.focus()
        table.refill(rows("a", "b", "c"))
        await pilot.pause()
        assert {row for row, _ in painted} == {-1, 0, 1, 2}
        painted.clear()
        table.refill([*rows("a", "b"), *rows("c", note="changed")])
        await pilot.pause()
        assert painted == [(2, 1)]
        table.refill(rows("a", "b", "d"))
        await pilot.pause()
        assert words(table).splitlines()[-1].split() == ["d", "D"]


async def test_appending_keeps_the_scroll() -> None:
    app = Bench()
    async with app.run_test(size=(50, 6)) as pilot:
        table = app.query_one(KeyedTable)
        names = [f"r{i:02d}" for i in range(30)]
        table.refill(rows(*names))
        table.select("r20")
        await pilot.pause()
        before = table.scroll_y
        assert before > 0
        table.refill(rows(*names, "r30"))
        await pilot.pause()
        assert table.scroll_y == before


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_a_long_name_yields_to_a_figure_that_must_be_whole(width: int) -> None:
    class Compared(App[None]):
        def compose(self) -> ComposeResult:
            *others, verdict = compare_text.COLUMNS
            yield KeyedTable((*others, replace(verdict, least=24)))

    app = Compared()
    async with app.run_test(size=(width, 10)) as pilot:
        table = app.query_one(KeyedTable)
        name = "1n8g b128 fp32 " + "one of the parameters " * 4
        cells = (name, "2", "14409.6", "14409.6", "6, 6/7", "1.000", "0.998…1.002", "? unknown")
        table.refill([Row("a", tuple(map(cell, cells)))])
        await pilot.pause()
        _, row = words(table).rstrip().splitlines()
        shown = [column.key for column, _ in table._shown]
        assert "6, 6/7" in row or "n" not in shown
        assert width < 120 or "n" in shown


async def test_columns_give_way_where_it_is_narrow() -> None:
    app = Bench()
    async with app.run_test(size=(50, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.refill(rows("a"))
        await pilot.pause()
        assert "Extra" not in words(table)
        await pilot.resize_terminal(90, 10)
        await pilot.pause()
        assert "Extra" in words(table)
        assert table.current_key == "a"


async def test_moves_are_told_once_per_row() -> None:
    app = Bench()
    async with app.run_test(size=(50, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.focus()
        table.refill(rows("a", "b"))
        await pilot.pause()
        table.refill(rows("a", "b", note="again"))
        await pilot.press("j")
        await pilot.pause()
        table.refill([])
        await pilot.pause()
        assert app.moves == ["a", "b", None]


async def test_cells_are_literal_and_shortened_with_an_ellipsis() -> None:
    app = Bench()
    async with app.run_test(size=(50, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.refill(rows("[/nope]", note="long " * 30))
        await pilot.pause()
        assert "[/nope]" in words(table)
        assert "…" in words(table)


async def test_a_column_grows_for_its_cells_where_the_other_one_leaves_that_empty() -> None:
    class Wide(App[None]):
        def compose(self) -> ComposeResult:
            columns = (Column("hosts", "Hosts", 6, most=30), Column("note", "Note", None))
            yield KeyedTable(columns)

    app = Wide()
    async with app.run_test(size=(60, 10)) as pilot:
        table = app.query_one(KeyedTable)
        hosts = "node[01-04,07-12,15]"
        table.refill([Row("a", (cell(hosts), cell("short")))])
        await pilot.pause()
        assert hosts in words(table)
        table.refill([Row("a", (cell(hosts), cell("connection refused " * 3)))])
        await pilot.pause()
        assert "connection refused " * 2 in words(table), "what the reason needs is not taken away"
        assert hosts not in words(table)


async def test_nothing_is_cut_while_columns_are_empty() -> None:
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.refill(rows("a", "b", note="x" * 29))  # name 8 + note, and two columns for each
        await pilot.pause()
        assert "x" * 29 in words(table)
        assert "Name" in words(table)
        table.refill(rows("abcdefgh", "b", note="x" * 29))
        await pilot.pause()
        assert "abcdefgh" in words(table)
        assert "…" in words(table)
        table.refill(rows("a", "b", note="x" * 29))  # it stands still
        await pilot.pause()
        assert "…" in words(table)


async def test_a_filter_goes_to_the_first_row_that_it_leaves() -> None:
    app = Bench()
    async with app.run_test(size=(50, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.refill(rows("a", "ab", "b", "c"))
        await pilot.pause()
        table.select("c")
        table.filter_rows("b")
        await pilot.pause()
        assert table.current_key == "ab"
        table.select("b")
        table.filter_rows("")
        await pilot.pause()
        assert table.current_key == "b"


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["on", "off"]), min_size=6, max_size=6), st.integers(-2, 2)
        ),
        max_size=6,
    )
)
@settings(max_examples=25, deadline=None)
async def test_what_is_read_stays_until_the_cursor_leaves_it_whatever_its_row_says(
    steps: list[tuple[list[str], int]],
) -> None:
    names = "abcdef"
    app = Bench()
    async with app.run_test(size=(50, 12)) as pilot:
        table = app.query_one(KeyedTable)
        said = dict.fromkeys(names, "on")
        table.refill(rows(*names, note="on"))
        await pilot.pause()
        table.filter_rows("on")
        for notes, by in steps:
            before = table.current_key
            said = dict(zip(names, notes, strict=True))
            table.refill([row for n in names for row in rows(n, note=said[n])])
            await pilot.pause()
            assert table.current_key == before
            assert set(table.shown_keys) == {n for n in names if said[n] == "on"} | {before}
            assert table.unmatched is (said[str(before)] == "off")
            at = table.shown_keys.index(str(before))
            to = table.shown_keys[max(0, min(len(table.shown_keys) - 1, at + by))]
            for _ in range(abs(by)):
                await pilot.press("down" if by > 0 else "up")
            await pilot.pause()
            assert table.current_key is not None
            if to == before:
                assert table.current_key == before
            else:
                assert set(table.shown_keys) == {n for n in names if said[n] == "on"}
        table.filter_rows("off")
        await pilot.pause()
        assert set(table.shown_keys) == {n for n in names if said[n] == "off"}


async def test_a_column_without_anything_in_it_goes_before_a_cell_is_cut() -> None:
    app = Bench()
    async with app.run_test(size=(60, 10)) as pilot:
        table = app.query_one(KeyedTable)

        def filled(extra: str) -> list[Row]:
            return [Row("a", (cell("abcdefgh"), cell(extra), cell("x" * 48)))]

        table.refill(filled("–"))
        await pilot.pause()
        assert "Extra" not in words(table)
        assert "x" * 48 in words(table)
        table.refill(filled("now"))
        await pilot.pause()
        assert "Extra" in words(table)
        assert "now" in words(table)
        assert "…" in words(table)
        table.refill(filled("–"))
        await pilot.pause()
        assert "Extra" in words(table), "columns stand still while their cells come and go"
        table.refill([Row("other", filled("–")[0].cells)])
        await pilot.pause()
        assert "Extra" not in words(table), "and are laid out anew for other rows"


FIGURES = (
    Column("name", "Name", None),
    Column("why", "Why", 9),
    Column("rate", "Rate", 6, right=True),
    Column("eta", "ETA", 5, right=True),
    Column("elapsed", "Elapsed", 7, right=True, from_width=60),
)


class Figures(App[None]):
    def compose(self) -> ComposeResult:
        yield KeyedTable(FIGURES)


@st.composite
def rows_that_spread(draw: st.DrawFn) -> Row:
    why = draw(
        st.sampled_from(["", "full", "waits for node3", "stalled: no reading for 10m", "漢字" * 9])
    )
    figures = draw(st.lists(st.sampled_from(["–", "12", ""]), min_size=3, max_size=3))
    cells = (cell("run"), cell(why), *(cell(figure, right=True) for figure in figures))
    return Row("r", cells, spread=1 if why else None)


@pytest.mark.parametrize("width", [50, 58, 70, 100])
@given(st.lists(rows_that_spread(), min_size=1, max_size=5))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_cell_goes_on_over_the_empty_ones_behind_it_and_over_no_other(
    width: int, shown: list[Row]
) -> None:
    app = Figures()
    async with app.run_test(size=(width, 6)) as pilot:
        table = app.query_one(KeyedTable)
        for row in shown:  # each in the place of the one before
            table.refill([row])
            await pilot.pause()
            line = screen_text(app).splitlines()[1]
            _, why, *figures = (text.plain for text in row.cells)
            behind = figures[: 3 if width >= 60 else 2]
            filled = [figure for figure in behind if figure not in NOTHING]
            widths = [6, 5, 7][: len(behind)]
            free = next((n for n, f in enumerate(behind) if f not in NOTHING), len(behind))
            room = 9 + sum(own + 2 for own in widths[:free] if why)
            assert (why in line) is (cell_len(why) <= room)
            assert ("…" in line) is (cell_len(why) > room)
            assert line.count("12") == len(filled)
            assert cell_len(line.rstrip()) <= width


async def test_other_words_for_a_column_while_there_is_no_room_leave_what_is_drawn() -> None:
    """It is painted once more before it is told that it has room again."""
    app = Figures()
    async with app.run_test(size=(70, 6)) as pilot:
        table = app.query_one(KeyedTable)
        row = Row("r", (cell("run"), cell("waits for node3"), *[cell("–")] * 3), spread=1)
        table.refill([row])
        await pilot.pause()
        drawn = table.render_line(1).text
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(table, "_laid_out", lambda: False)
            table.refill([row], [replace(column, label="other") for column in FIGURES])
            assert table.render_line(1).text == drawn
            assert not table.current_cut


@pytest.mark.parametrize("width", [60, 80, 100])
async def test_what_tells_rows_apart_is_not_cut_while_another_column_has_room(width: int) -> None:
    class Named(App[None]):
        def compose(self) -> ComposeResult:
            columns = (
                Column("name", "Name", 10, most=60, first=True),
                Column("n", "n", 6, right=True),
                Column("rest", "Rest", None),
            )
            yield KeyedTable(columns)

    async with Named().run_test(size=(width, 10)) as pilot:
        table = pilot.app.query_one(KeyedTable)
        name, far = "n" * 44, "far " * 30
        table.refill([Row("a", (Text(name), Text("1"), Text(far)))])
        await pilot.pause()
        widths = {column.key: given for column, given in table._layout()}
        assert widths["name"] >= len(name) or widths["rest"] == COLUMNS[-1].least
        assert sum(widths.values()) + 2 * len(widths) <= width


STILL = (
    Column("state", "State", 12, still=True),
    Column("name", "Name", 10, most=40, first=True, ends=True, still=True),
    Column("hosts", "Hosts", 8, most=30, from_width=60, still=True),
    Column("words", "Words", None, most=30, least=13),
    Column("rate", "Rate", 6, right=True, still=True),
    Column("address", "Address", 12),
)
HELD = {
    "state": ["running", "✗ unreachable", ""],
    "hosts": ["–", "node1", "node[01-12]"],
    "words": ["", "no", "out of memory on node3, and a lot more to say of that"],
    "rate": ["–", "1", "123,456,789"],
    "address": ["10.0.0.1", "10.0.0.2"],
}


@pytest.mark.parametrize("width", [56, 80, 120])
@given(
    st.lists(
        st.lists(
            st.fixed_dictionaries({k: st.sampled_from(v) for k, v in HELD.items()}), max_size=4
        ),
        min_size=2,
        max_size=8,
    )
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_columns_whose_cells_come_and_go_stand_still_and_none_moves_back(
    width: int, lives: list[list[dict[str, str]]]
) -> None:
    """Room is taken once, by what needs it: from the column that has the rest, and for good."""

    class Kept(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyedTable(STILL)

    async with Kept().run_test(size=(width, 10)) as pilot:
        table = pilot.app.query_one(KeyedTable)
        first = Row("first", tuple(cell("a-name" if c.key == "name" else "") for c in STILL))
        seen: list[dict[str, int]] = []
        for life in lives:
            others = (
                Row(str(n), tuple(cell("a-name" if c.key == "name" else one[c.key]) for c in STILL))
                for n, one in enumerate(life)
            )
            table.refill([first, *others])
            await pilot.pause()
            seen.append({column.key: given for column, given in table._layout()})
        for before, after in pairwise(seen):
            grown = [k for k in after if k != "words" and after[k] != before.get(k, 0)]
            assert grown in ([], ["hosts"], ["address"], ["hosts", "address"])
            assert all(after[k] > before.get(k, 0) for k in grown)
            assert set(before) <= set(after)
            assert after["words"] <= before["words"]


RUNS = (
    Column("state", "State", 8, still=True),
    Column("name", "Name", 8, most=30, first=True, ends=True, still=True),
    Column("hosts", "Hosts", 8, from_width=60, most=30, still=True),
    Column("words", "Words", None, most=30, least=13),
    Column("rate", "Rate", 6, right=True, still=True),
    Column("eta", "ETA", 6, right=True, still=True),
)
LIVES = {
    "state": ["running", ""],
    "name": ["a", "a-longer-name", "b" * 28],
    "hosts": ["–", "node1", "node[01-12]"],
    "words": ["", "waiting for h200-a,h200-b,v100-a,v100-b", "out of memory on node3"],
    "rate": ["–", "1", "123,456,789"],
    "eta": ["–", "2m"],
}


lives = st.fixed_dictionaries({k: st.sampled_from(v) for k, v in LIVES.items()})
waits = lives.map(lambda life: life | {"words": LIVES["words"][1], "rate": "–", "eta": "–"})


def runs_of_a_list(lives: list[dict[str, str]], *, insist: bool) -> list[Row]:
    return [
        Row(
            str(n),
            tuple(kept(one[c.key]) for c in RUNS),
            spread=3 if one["words"] else None,
            insists=insist,
        )
        for n, one in enumerate(lives)
    ]


@cache
def kept(text: str) -> Text:
    """The same object while it says the same, as cells of runs are."""
    return cell(text)


@pytest.mark.parametrize("insist", [False, True])
@given(
    st.lists(
        st.tuples(st.sampled_from([56, 80, 120]), st.lists(waits | lives, min_size=1, max_size=3)),
        min_size=2,
        max_size=8,
    )
)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_what_is_painted_is_what_a_new_table_paints(
    insist: bool, shown: list[tuple[int, list[dict[str, str]]]]
) -> None:
    """Whatever columns had before: no cell is of another width."""

    class Listed(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyedTable(RUNS)

    async with Listed().run_test(size=(80, 8)) as pilot:
        table = pilot.app.query_one(KeyedTable)
        for width, of in shown:
            await pilot.resize_terminal(width, 8)
            table.refill(runs_of_a_list(of, insist=insist))
            await pilot.pause()
            painted = words(table)
            table._painted.clear()
            table._clear_caches()
            assert painted == words(table)


@pytest.mark.parametrize("length", [37, 70])
async def test_no_name_that_is_whole_is_cut_where_the_table_is_wider(length: int) -> None:
    class Listed(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyedTable(campaign_text.COLUMNS)

    told = {"state": "✓ finished", "name": "n" * (length - 1) + "z", "runs": "12/12"}
    told |= {"figure": "1n4g 2,052,976 tokens/s", "speedup": "3.74", "grade": "B"}
    told |= {"device": "H200", "measures": "torch-gpt 1n1g 1n2g", "begun": "104d"}
    app, whole = Listed(), False
    async with app.run_test(size=(40, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.refill([Row("a", tuple(cell(told.get(c.key, "")) for c in campaign_text.COLUMNS))])
        for width in (*range(40, 96, 8), *range(96, 160), 200):
            await pilot.resize_terminal(width, 10)
            await pilot.pause()
            shown = told["name"] in words(table)
            assert shown or not whole, (width, words(table))
            whole = shown
        assert whole
        assert all(text in words(table) for text in told.values())


@given(
    lengths=st.fixed_dictionaries(
        {"state": st.integers(10, 28), "name": st.integers(8, 60), "figure": st.integers(1, 52)}
        | {"speedup": st.integers(1, 9), "device": st.integers(1, 32)}
        | {"measures": st.integers(1, 52), "said": st.integers(1, 72)}
    ),
    width=st.sampled_from([120, 160, 200, 240]),
)
def test_no_cell_of_a_campaign_is_cut_while_another_column_has_blanks(
    lengths: dict[str, int], width: int
) -> None:
    table = KeyedTable(campaign_text.COLUMNS)
    told = {"runs": "12/12", "grade": "B", "begun": "104d"}
    told |= {key: "x" * length for key, length in lengths.items()}
    row = Row("a", tuple(cell(told.get(c.key, "")) for c in campaign_text.COLUMNS))
    region = PropertyMock(return_value=Region(0, 0, width, 9))
    with patch.object(KeyedTable, "scrollable_content_region", region):
        table._rows = (row,)
        layout = table._layout()
    needed = {c.key: max(len(told.get(c.key, "")), len(c.label)) for c, _ in layout}
    cut = [c.key for c, given in layout if len(told.get(c.key, "")) > given]
    blank = [c.key for c, given in layout if given > needed[c.key] and not c.still]
    assert not (cut and blank), (cut, blank)


@given(
    speedup=st.sampled_from(["1.924", "16.000 †", "30.04 †", "128.000 † ‡"]),
    case=st.integers(4, 60),
    flag=st.sampled_from(sorted(SHORT.values())),
    more=st.integers(0, 9),
    width=st.integers(78, 240),
)
def test_no_speedup_and_no_first_flag_of_a_result_is_cut(
    speedup: str, case: int, flag: str, more: int, width: int
) -> None:
    """The mark at the end of a speedup says that it is none of scaling."""
    told = {"case": "x" * case, "throughput": "28,819", "speedup": speedup, "grade": "D"}
    told |= {
        "interval": "16.000 … 16.000 w",
        "efficiency": "100.0% †",
        "flags": f"▲ {flag}" + ", drift" * more,
    }
    told |= {"gpus": "16", "cv": "0.00%", "n": "3"}
    columns = result_columns([], labels_of([]))
    table = KeyedTable(columns)
    row = Row("a", tuple(cell(told.get(c.key, "")) for c in columns))
    region = PropertyMock(return_value=Region(0, 0, width, 9))
    with patch.object(KeyedTable, "scrollable_content_region", region):
        table._rows = (row, replace(row, key="b"))
        layout = {column.key: given for column, given in table._layout()}
    assert layout["speedup"] >= len(speedup)
    assert layout["flags"] >= len(f"▲ {flag}+{more}" if more else f"▲ {flag}")
    assert layout["efficiency"] >= len(told["efficiency"])


async def test_of_a_profile_that_has_no_room_both_ends_of_its_name_are_shown() -> None:
    class Profiles(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyedTable(matrix_page.COLUMNS)

    names = ("ngc-pytorch-resnet50", "ngc-pytorch-resnet50-convergence")
    app = Profiles()
    async with app.run_test(size=(40, 10)) as pilot:
        table = app.query_one(KeyedTable)
        table.refill([Row(name, (cell(f"[ ] {name}"),)) for name in names])
        for width in range(20, 41):
            await pilot.resize_terminal(width, 10)
            await pilot.pause()
            shown = [line.strip() for line in words(table).splitlines()[1:3]]
            for name, line in zip(names, shown, strict=True):
                assert line.startswith("[ ] ngc"), (width, line)
                assert line.endswith(name[-4:]), (width, line)


COMPARED = (
    Column("name", "Name", 8, most=30, ends=True),
    Column("figure", "Figure", 6, right=True, gives_way=2),
    Column("interval", "Interval", 9, right=True, gives_way=1),
    Column("verdict", "Verdict", None, least=12),
)


@pytest.mark.parametrize(
    ("width", "left_out"), [(54, ""), (53, "Interval"), (42, "Figure"), (20, "Figure")]
)
async def test_figures_give_way_in_their_order_where_a_name_or_a_verdict_would_be_cut(
    width: int, left_out: str
) -> None:
    class Compared(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyedTable(COMPARED)

    async with Compared().run_test(size=(width, 6)) as pilot:
        name, figures = "a-name-that-is-long", ("12", "0.99…1.01")
        cells = (cell(name), *map(cell, figures), cell("inconclusive"))
        pilot.app.query_one(KeyedTable).refill([Row("r", cells)])
        await pilot.pause()
        head, line, *_ = screen_text(pilot.app).splitlines()
        gone = {"": (), "Interval": ("Interval",), "Figure": ("Figure", "Interval")}[left_out]
        assert [c.label for c in COMPARED if c.label not in head] == list(gone)
        assert (name in line and "inconclusive" in line) is (width > 20)
