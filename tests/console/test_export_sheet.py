"""The export sheet where names, files and disks are not as they should be, or slow."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from html import unescape
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text
from textual.app import App, ComposeResult
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input, Static

from backends.campaign.folder import compare_campaigns
from backends.campaign.folder.export_report import Export, formats_of
from backends.campaign.plan.selection import Selection
from backends.hosts.machines import Machines
from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.layout import Layout
from backends.results.publish import LAYOUTS
from backends.results.render import Column, Table
from backends.results.translations import LANGUAGES
from tests.console.conftest import (
    DEADLINE_S,
    HUGE,
    LARGE,
    ONEFLOW,
    SMALL,
    begin,
    console,
    screen_text,
    settled,
    shows,
    type_ahead,
    until,
    words,
)
from tests.console.fakes import FakeWorkspace
from tests.console.test_results import choose, export, open_export, open_results
from tui import typed_ahead
from tui.app import DlperfApp
from tui.screens import export_sheet
from tui.screens.dialogs import Prompt
from tui.screens.export_sheet import ExportSheet
from tui.screens.export_text import LONGEST, MOST_LINES, WIDEST, file_text, tables_text
from tui.screens.results_page import ResultsPage
from tui.theme import MUTED
from tui.widgets.cut_marks import CUT_LEFT, CUT_RIGHT
from tui.widgets.text_lines import _CELL, CSV_CELL, TextLines, _without_cut_figures


@asynccontextmanager
async def opened(
    workspace: FakeWorkspace, size: tuple[int, int], seconds: float = 600, *, repeats: int = 2
) -> AsyncIterator[tuple[DlperfApp, Pilot[str], ExportSheet]]:
    """The sheet over the results of a campaign, so many seconds after that began."""
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace, repeats=repeats)
        await open_results(workspace, app, pilot, seconds)
        yield app, pilot, await open_export(app, pilot)


@pytest.mark.parametrize("width", [60, 70, 80, 90, 100, 120, 200])
async def test_what_is_said_of_a_file_stands_in_one_line(
    workspace: FakeWorkspace, width: int
) -> None:
    async with opened(workspace, (width, 40)) as (app, pilot, sheet):
        await until(pilot, partial(shows, app, "a new file"))
        name = f"{sheet._wanted.file_name} in the campaign's directory"
        lines = str(sheet.query_one("#choices", Static).content).split("\n")
        room = sheet.query_one("#choices").content_size.width
        line = f"⏎     File     {name}"
        at = next(n for n, one in enumerate(lines) if one.startswith("⏎"))
        if len(line) + len("  a new file") <= room:
            assert lines[at] == f"{line}  a new file"
        else:
            assert lines[at : at + 2] == [line, f"{' ' * 15}a new file"]


async def test_no_file_is_proposed_in_a_directory_that_lies_there_no_more(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    async with opened(workspace, LARGE) as (app, pilot, sheet):
        path = sheet._viewed.path
        path.mkdir(parents=True, exist_ok=True)
        await until(pilot, partial(shows, app, "a new file"))
        path.rename(tmp_path / "elsewhere")
        await until(pilot, partial(shows, app, "the campaign's directory was moved or removed"))
        await pilot.press("l")
        await until(pilot, sheet._laid_out_now.is_set)
        assert shows(app, "the campaign's directory was moved or removed")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        await settled(app)
        assert shows(app, "⏎ Write")
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "O lists what there is"))
        assert app.screen is sheet, "nothing is asked"
        assert not path.exists()
        (tmp_path / "elsewhere").rename(path)
        app.clear_notifications()
        await until(pilot, partial(shows, app, "a new file"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("~nobody-there/x.md", "no home directory"),
        ("\0.md", "cannot be the name of a file"),
        ("   ", "no file is named"),
    ],
    ids=["unknown user", "NUL", "blank"],
)
async def test_a_name_that_no_file_can_have_is_told_while_it_is_typed_and_not_taken(
    workspace: FakeWorkspace, name: str, said: str
) -> None:
    async with opened(workspace, LARGE) as (app, pilot, _):
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = name
        await until(pilot, partial(shows, app, said))
        assert not shows(app, f"✗ {said}")
        await pilot.press("enter")
        assert shows(app, "✗ ")
        assert isinstance(app.screen, Prompt)


async def test_what_was_chosen_before_is_not_shown_as_what_is_being_laid_out(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(workspace, LARGE) as (app, pilot, sheet):

        def new_file() -> bool:
            return "a new file" in " ".join(words(sheet.query_one("#choices")).split())

        await until(pilot, new_file)
        before, go_on = str(sheet.query_one("#laid-out").border_title), threading.Event()
        told = sheet._told

        def slowly(what: Export, aligned: bool) -> export_sheet.LaidOut:
            go_on.wait(20)
            return told(what, aligned)

        monkeypatch.setattr(sheet, "_told", slowly)
        await pilot.press("v")
        await until(pilot, partial(shows, app, export_sheet.AT_WORK))
        assert not new_file()
        go_on.set()
        await until(pilot, new_file)
        assert not shows(app, export_sheet.AT_WORK)
        assert before not in ("", str(sheet.query_one("#laid-out").border_title))


async def test_what_the_next_layouts_need_is_imported_once_the_first_one_is_shown(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported: list[str] = []
    monkeypatch.setattr(export_sheet, "import_module", imported.append)
    async with opened(workspace, LARGE) as (_, pilot, _):
        await until(pilot, lambda: "pandas" in imported)


@pytest.mark.parametrize(
    "name", ["x" * 5_000 + ".md", "x" * 5_000 + "/report.md"], ids=["file", "directory"]
)
async def test_a_name_too_long_for_a_file_is_told_and_the_sheet_stays(
    workspace: FakeWorkspace, tmp_path: Path, name: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        await export(app, pilot, tmp_path / name)
        if "/" in name:
            await until(pilot, partial(shows, app, "There is no directory"))
            await pilot.press("y")
        await until(pilot, partial(shows, app, "cannot write the report"))
        await until(pilot, lambda: isinstance(app.screen, ExportSheet))
    assert not list(tmp_path.glob("x*"))


def test_a_preview_has_a_bound_however_long_the_file_and_its_lines_are() -> None:
    lines = ["short", "漢" * 100_000, *["x" * 10_000] * (MOST_LINES + 500)]
    shown = [line.plain for line in file_text("\n".join(lines))]
    assert shown[0] == "short"
    assert shown[1].startswith("漢" * LONGEST + "…")
    assert max(map(len, shown)) < LONGEST + 40
    assert shown[-1] == "… 502 more lines are in the file"
    assert len(shown) == MOST_LINES + 1


async def test_what_is_shown_is_made_beside_the_event_loop_and_copied_whole(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "data:" + "A" * 20_000
    made_in: list[threading.Thread] = []

    def watched(text: str) -> Any:
        made_in.append(threading.current_thread())
        return file_text(text)

    monkeypatch.setattr(export_sheet, "exported", lambda *_: long)
    monkeypatch.setattr(export_sheet, "file_text", watched)
    async with opened(workspace, LARGE) as (app, pilot, sheet):
        await choose(sheet, pilot, "report", "md")
        await pilot.press("y")
        assert app.clipboard == long
    assert made_in
    assert threading.main_thread() not in made_in


class Gate:
    """Calls of ``held`` wait until it is opened; how many there were, and how many at a time."""

    def __init__(self, held: Callable[..., Any]) -> None:
        self._held = held
        self._lock = threading.Lock()
        self.opened = threading.Event()
        self.inside, self.most_inside = 0, 0
        self.asked: list[Export] = []

    def __call__(self, *arguments: Any) -> Any:
        with self._lock:
            self.inside += 1
            self.most_inside = max(self.inside, self.most_inside)
            self.asked += [one for one in arguments if isinstance(one, Export)]
        try:
            assert self.opened.wait(DEADLINE_S)
            return self._held(*arguments)
        finally:
            with self._lock:
                self.inside -= 1


def gate(monkeypatch: pytest.MonkeyPatch, name: str) -> AbstractContextManager[Gate]:
    """In the way of what the sheet calls by that name, open at the latest when this is left."""

    @contextmanager
    def kept() -> Any:
        closed = Gate(getattr(export_sheet, name))
        monkeypatch.setattr(export_sheet, name, closed)
        try:
            yield closed
        finally:
            closed.opened.set()

    return kept()


async def test_an_export_that_was_left_while_it_was_written_still_tells_its_end(
    workspace: FakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "mine.md"
    with gate(monkeypatch, "export") as writing:
        async with console(workspace, LARGE) as (app, pilot):
            begin(app, workspace)
            await open_results(workspace, app, pilot)
            await export(app, pilot, target)
            await until(pilot, lambda: writing.inside)
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, ResultsPage))
            assert not shows(app, "written mine.md")
            writing.opened.set()
            await until(pilot, partial(shows, app, "written mine.md"))
            assert "29.67" in target.read_text(encoding="utf-8")
            assert isinstance(app.screen, ResultsPage)


async def test_two_exports_at_a_time_both_tell_their_end(
    workspace: FakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gate(monkeypatch, "export") as writing:
        async with console(workspace, (200, 60)) as (app, pilot):
            begin(app, workspace)
            await open_results(workspace, app, pilot)
            for number, name in enumerate(("first.md", "second.md"), 1):
                await export(app, pilot, tmp_path / name)
                await until(pilot, lambda number=number: writing.inside == number)
            writing.opened.set()
            for name in ("first.md", "second.md"):  # a long path is broken on the screen
                await until(
                    pilot,
                    lambda name=name: (
                        shows(app, name) or any(name in one.message for one in app._notifications)
                    ),
                )
            await until(pilot, lambda: isinstance(app.screen, ExportSheet))


async def test_keys_faster_than_the_layouts_are_made_leave_one_at_work_and_show_the_last(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gate(monkeypatch, "laid_out") as laying_out:
        async with console(workspace, LARGE) as (app, pilot):
            begin(app, workspace)
            await open_results(workspace, app, pilot)
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, ExportSheet))
            sheet = app.screen
            assert isinstance(sheet, ExportSheet)
            await until(pilot, lambda: laying_out.inside)
            await pilot.press("v", "f", "L", "V", "p", "L", "v", "L")
            assert laying_out.most_inside == 1
            laying_out.opened.set()
            await until(pilot, lambda: sheet._written is not None)
            assert laying_out.most_inside == 1
            assert len(laying_out.asked) == 2
            assert laying_out.asked[-1] == sheet._wanted


def at_work(app: DlperfApp) -> bool:
    """A table is laid out, or a file written."""
    groups = ("preview", "export", "write")
    return any(one.group in groups and not one.is_finished for one in app.workers)


HASTE = [
    ["v", "f", "L"],
    ["enter", *"fLsy", "enter"],
    ["f", "enter", *"Vv1", "enter"],
    ["v", "s", "S", "p", "y", "V", "s", "y", "enter", *"pS", "escape", "L"],
]


async def test_what_is_typed_in_haste_does_what_it_would_do_slowly(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is typed, and however long a layout takes: names are no commands either."""
    random, known = Random(20261126), export_sheet.laid_out
    ways = HASTE + [
        [
            *random.choices("vVfLpsSy", k=random.randint(1, 6)),
            "enter",
            *random.choices("vVfLpsSy", k=random.randint(1, 6)),
            *".md",
            random.choice(("enter", "escape")),
        ]
        for _ in range(3)
    ]
    takes_s = 0.0

    def slowly(*arguments: Any) -> str:
        time.sleep(takes_s)
        return known(*arguments)

    monkeypatch.setattr(export_sheet, "laid_out", slowly)
    async with console(workspace, SMALL) as (app, pilot):
        controller = begin(app, workspace)
        controller.path.mkdir()
        monkeypatch.chdir(controller.path)  # where what has only a name goes
        await open_results(workspace, app, pilot)
        page, before = app.screen, set(controller.path.iterdir())
        assert isinstance(page, ResultsPage)

        async def came_of(pieces: Sequence[Sequence[str]], *, slowly: bool = False) -> object:
            app.copy_to_clipboard("")
            page._export_chosen = None
            for piece in pieces:
                await type_ahead(app, pilot, *piece)
                if slowly:
                    await until(pilot, lambda: not at_work(app))
                await asyncio.sleep(random.choice((0.0, 0.01, 0.05)))
            await until(pilot, lambda: not at_work(app))
            if isinstance(app.screen, Prompt):  # no such name is taken
                await pilot.press("escape")
            sheet = app.screen
            assert isinstance(sheet, ExportSheet), sheet
            new = set(controller.path.iterdir()) - before
            written = {path.name: path.read_text(encoding="utf-8") for path in new}
            for path in new:
                path.unlink()
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is page)
            return sheet._wanted, sheet._format, sheet._written, app.clipboard, written

        for typed in ways:
            keys, takes_s = ["e", *typed], 0.0
            expected = await came_of([[key] for key in keys], slowly=True)
            for takes_s in (0.0, 0.05):
                cuts = sorted(random.sample(range(1, len(keys)), k=random.randint(0, 2)))
                pieces = [keys[a:b] for a, b in pairwise([0, *cuts, len(keys)])]
                assert await came_of(pieces) == expected, (pieces, takes_s)


@pytest.mark.parametrize("keys", ["enter", "fenter", "vLpenter"])
async def test_a_file_can_be_named_before_its_table_is_laid_out(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keys: str
) -> None:
    chosen = keys.removesuffix("enter")
    with gate(monkeypatch, "laid_out") as laying_out:
        async with console(workspace, SMALL) as (app, pilot):
            begin(app, workspace)
            monkeypatch.chdir(tmp_path)
            page = await open_results(workspace, app, pilot)
            await type_ahead(app, pilot, "e", *chosen, "enter", *"fLvq.md")
            assert laying_out.inside
            assert isinstance(app.screen, Prompt)
            assert app.screen.query_one(Input).value == "fLvq.md"
            await pilot.press("enter")
            laying_out.opened.set()
            await until(pilot, (tmp_path / "fLvq.md").exists)
            await pilot.press("escape")
            assert app.screen is page


@pytest.mark.parametrize("key", ["s", "y"])
async def test_a_key_that_waits_for_a_layout_that_does_not_come_locks_nobody_in(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(typed_ahead, "PATIENCE_S", 0.2)
    with gate(monkeypatch, "laid_out"):
        async with console(workspace, SMALL) as (app, pilot):
            begin(app, workspace)
            page = await open_results(workspace, app, pilot)
            for name in ("e", key, "enter", "f", "escape"):
                app.post_message(Key(name, name if len(name) == 1 else None))
            await until(Pilot(app), lambda: len(app.screen_stack) > 1)
            await until(Pilot(app), lambda: app.screen is page)
            assert not app.clipboard


def test_one_enormous_cell_leaves_the_others_of_its_table_in_sight() -> None:
    rows = (("1n1g", "6,871.5"), ("x" * 50_000, "y" * 50_000), ("1n4g", "漢" * 100))
    columns = (Column("case", "left"), Column("images/s"))
    lines = [line.plain for line in tables_text([Table("", columns, rows)])]
    assert max(map(cell_len, lines)) == 2 * WIDEST + 2
    heading, first, enormous, last = lines[:4]
    assert heading.index("images/s") + len("images/s") == first.index("6,871.5") + len("6,871.5")
    assert enormous == "  ".join(letter * (WIDEST - 1) + "…" for letter in "xy")
    assert last.split() == ["1n4g", "漢" * 29 + "…"]


async def test_notes_are_folded_at_the_preview_and_rows_are_as_wide_as_they_are() -> None:
    note = "w: Welch's interval, of the ratio of geometric means; " * 3
    table = Table("T" * 20, (Column("case", "left"),), (("1n1g " * 24,),), note, (note,))

    class Shows(App[None]):
        def compose(self) -> ComposeResult:
            yield TextLines()

    async with Shows().run_test(size=(60, 40)) as pilot:
        lines = pilot.app.query_one(TextLines)
        for width in (60, 50):
            await pilot.resize_terminal(width, 40)
            lines.show(tables_text([table], note))
            await pilot.pause()
            shown = [line.plain for line in lines._lines]
            row = next(n for n, line in enumerate(shown) if line.startswith("1n1g"))
            assert lines.virtual_size.width == cell_len(shown[row]) == WIDEST
            assert all(cell_len(one) <= width for n, one in enumerate(shown) if n != row)
            assert " ".join(" ".join(shown).split()).count(" ".join(note.split())) == 3


@given(
    st.lists(
        st.lists(st.sampled_from(["1 12", "1,234.5", "1.9", "x–y", "Gr"]), min_size=1),
        min_size=1,
        max_size=9,
    ),
    st.integers(20, 60),
    st.booleans(),
)
@example([["1.931 … 1.948 w", "26,595.91"] * 4], 30, False)
@example([["1 12"], ["1 12"], ["1 12", "1 12"], ["1 12"], ["1 12"]], 20, False)
@example(
    [[one] for one in ("36", "128", "256", "480", "1n8g", "V100", "throughput", "512")], 30, True
)
def test_of_a_figure_that_fits_all_is_shown_or_dots_and_a_step_shows_it(
    cells: list[list[str]], width: int, csv: bool
) -> None:
    parts = ["".join(cell).replace(",", "" if csv else ",") for cell in cells]
    row = Text(("," if csv else "  ").join(parts))
    step = width // 2 + 2
    most = width - step - 1
    seen = dict.fromkeys((CSV_CELL if csv else _CELL).finditer(row.plain), 0)
    assert not csv or [cell[0] for cell in seen] == parts
    for at in range(0, max(1, row.cell_len - width + step), step):
        first = min(at, max(0, row.cell_len - width))
        last = first + width
        kinds = [CSV_CELL] if csv else []
        text = _without_cut_figures(row, first, last, most, *kinds).plain
        assert len(text) == len(row.plain)
        inside = first + (first > 0), last - (len(row.plain) > last)
        for cell in seen:
            place = slice(max(cell.start(), inside[0]), min(cell.end(), inside[1]))
            shown = text[place]
            figure = any(map(str.isdigit, cell[0])) and len(cell[0]) <= most
            if figure and shown != cell[0]:
                assert shown == "…" * len(shown)
            elif not figure:
                assert shown == row.plain[place], "no blank where there is something"
            seen[cell] += shown == cell[0]
        between = set(range(len(text))).difference(*(range(*cell.span()) for cell in seen))
        assert all(text[at] == row.plain[at] for at in between)
    assert all(seen[cell] for cell in seen if len(cell[0]) <= most)


async def test_a_csv_shows_what_the_file_has_but_for_the_figures_that_an_edge_cuts(
    workspace: FakeWorkspace,
) -> None:
    async with opened(workspace, LARGE) as (_, pilot, sheet):
        await choose(sheet, pilot, sheet._shown, "csv")
        lines = sheet.query_one(TextLines)
        for _ in range(5):
            across = lines.scroll_offset.x
            for number, line in enumerate(lines._lines[: lines.size.height]):
                fields = [field.span() for field in re.finditer("[^,]+", line.plain)]
                shown = lines.render_line(number).text
                for at, char in enumerate(shown[1:-1], across + 1):
                    edges = (across, across + len(shown) - 1)
                    cut = any(a <= at < b and any(a <= e < b for e in edges) for a, b in fields)
                    assert char == line.plain[at : at + 1].ljust(1) or (cut and char == "…")
            await pilot.press("l")


@pytest.mark.parametrize(("format", "layout"), [("csv", ""), ("table", ""), ("md", "report")])
async def test_the_next_export_begins_as_the_last_one_was_left(
    workspace: FakeWorkspace, format: str, layout: str
) -> None:
    async with opened(workspace, LARGE) as (app, pilot, sheet):
        await choose(sheet, pilot, layout or sheet._layouts[1], format)
        await pilot.press("L")
        chosen = sheet._wanted, sheet._format
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not sheet)
        again = await open_export(app, pilot)
        assert (again._wanted, again._format) == chosen


@pytest.mark.parametrize("format", ["table", "md", "csv"])
async def test_a_format_stays_chosen_beyond_the_layouts_that_do_not_have_it(
    workspace: FakeWorkspace, format: str
) -> None:
    async with opened(workspace, LARGE) as (_, pilot, sheet):
        await choose(sheet, pilot, sheet._layouts[0], format)
        for key in ["v", "V"] * len(sheet._layouts) + ["v"] * 2 * len(sheet._layouts):
            await pilot.press(key)
            assert sheet._format == (format if format in sheet._formats else sheet._formats[0])


async def test_a_layout_that_does_not_fit_what_is_exported_next_is_not_begun_with(
    workspace: FakeWorkspace,
) -> None:
    async with opened(workspace, LARGE) as (_, _, sheet):
        begun = ExportSheet(sheet._viewed, sheet._groups, ("no such", "no such", "zh"))
        assert (begun._shown, begun._format) == (sheet._shown, sheet._format)
        assert begun._lang == "zh"


async def test_a_long_name_has_both_ends_and_what_was_written_has_room_all_the_same(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    name = "2026-11-27-" + "oneflow-resnet50-" * 5 + "end"
    async with console(workspace, SMALL) as (app, pilot):
        plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 2))
        app.session.controller = workspace.controller(plan, name)
        await open_results(workspace, app, pilot)
        await open_export(app, pilot)
        title = screen_text(app).splitlines()[0]
        assert "Export · 2026-11-27-" in title
        assert "-end ─" in title
        await pilot.press("escape")
        await export(app, pilot, tmp_path / "speedup.zh.md")
        await until(pilot, lambda: isinstance(app.screen, ExportSheet) and shows(app, "Written"))
        told = "".join(words(app.screen.query_one("#choices")).split())  # a long path is broken
        assert str(tmp_path / "speedup.zh.md") in told


@pytest.mark.parametrize("letters", range(1, 40, 3))
async def test_what_was_written_is_told_from_home_on_and_breaks_between_directories(
    workspace: FakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, letters: int
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    path = tmp_path / "campaigns" / ("a" * letters) / "2026-11-30-demo" / "pivot.csv"
    async with opened(workspace, SMALL) as (app, pilot, sheet):
        sheet._last = path
        sheet._show_choices()
        choices = app.screen.query_one("#choices")
        await until(pilot, lambda: words(choices).endswith("pivot.csv"))
        *_, told = words(choices).partition("Written")
        first, *others = told.split()
        assert "".join([first, *others]) == f"~/{path.relative_to(tmp_path)}"
        assert all(line.endswith("/") for line in [first, *others][:-1])
        assert told.endswith("pivot.csv")


async def test_a_path_that_can_be_read_where_it_is_written_is_not_told_twice(
    workspace: FakeWorkspace,
) -> None:
    async with opened(workspace, SMALL) as (app, pilot, _):
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        here = Path("a.csv").absolute()
        for typed, said in (("/tmp/a.md", "as md"), ("a.csv", f"{here}, as csv")):
            app.screen.query_one(Input).value = typed
            await pilot.pause()
            meaning = "".join(words(app.screen.query_one(".meaning")).split())
            assert meaning == "".join(said.split())


@pytest.mark.parametrize("depth", [1, 4, 9, 30])
async def test_a_path_is_read_by_its_parts_and_the_line_it_is_written_on_says_where_it_goes_on(
    workspace: FakeWorkspace, depth: int
) -> None:
    path = "/" + "".join(f"directory-{n}/" for n in range(depth)) + "speedup-of-all.md"
    async with opened(workspace, SMALL) as (app, pilot, _):
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        line = app.screen.query_one(Input)
        line.value = path
        fits = len(path) < line.scrollable_content_region.width
        for key, place, mark in (("end", 0, CUT_LEFT), ("home", -1, CUT_RIGHT)):
            await pilot.press(key)
            await pilot.pause()
            shown = line.render_line(0).text
            assert len(shown) == line.size.width
            assert (shown[place] == mark) is not fits
        if not fits:
            told = app.screen.query_one(".meaning")
            rows = [told.render_line(y).text.strip() for y in range(told.size.height)]
            assert "".join(rows).replace(" ", "") == f"{path},asmd"
            assert all(row.endswith("/") for row in rows[:-1])


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_lines_that_go_on_are_marked_on_the_side_where_they_do(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with opened(workspace, size, 3000, repeats=7) as (_, pilot, sheet):
        lines = sheet.query_one(TextLines)
        widest = max(line.cell_len for line in lines._lines)
        seen = set()
        for _ in range(20):
            across, width = lines.scroll_offset.x, lines.size.width
            for number, line in enumerate(lines._lines[: lines.size.height]):
                shown = lines.render_line(number).text
                assert len(shown) == width
                assert (shown[-1] == CUT_RIGHT) == (line.cell_len > across + width)
                assert (shown[0] == CUT_LEFT) == (across > 0 < line.cell_len)
                inside = shown[1 if across else 0 : -1]
                assert inside.strip().strip("…") in line.plain
            seen.add(across)
            await pilot.press("l")
        assert len(seen) <= widest / (width / 2) + 2, "sideways by half of what is in sight"
        assert lines.scroll_offset.x + width >= widest, "to the end of the longest line"
        await pilot.press(*["h"] * 20)
        assert lines.scroll_offset.x == 0


@pytest.mark.parametrize("size", [SMALL, LARGE, (200, 60)])
async def test_the_table_is_there_once_and_every_key_that_chooses_stands_before_its_choices(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with opened(workspace, size) as (app, pilot, _):
        shown = screen_text(app)
        assert shown.count("gpu num") == 1
        for line in ("v V   Layout   [speedup]", "f     Format   [table]", "L Language [en] zh"):
            assert line in shown
        assert "written as md" in shown
        await pilot.press("f", "L")
        await until(pilot, partial(shows, app, "L Language  en [zh]"))
        assert not shows(app, "written as md")


async def test_a_line_names_no_key_that_is_refused_and_what_is_for_programs_says_so(
    workspace: FakeWorkspace,
) -> None:
    async with opened(workspace, SMALL) as (app, pilot, sheet):
        for layout in sheet._layouts:
            for format in ("table", "csv", "json") if layout not in OWN else (OWN[layout],):
                await choose(sheet, pilot, layout, format)
                arranges = layout not in OWN and format != "json"
                assert ("s S   " in words(sheet.query_one("#choices"))) == arranges
                if layout == "speedup":
                    assert shows(app, "for programs: ") == (format != "table")
        await pilot.press("s")
        await until(pilot, partial(shows, app, "s Sort: only a table can be put in another order"))
        await pilot.press("p")
        await until(pilot, partial(shows, app, "p Transpose: only a table can be transposed"))


async def test_the_name_of_an_export_goes_by_what_is_in_it(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_results(workspace, app, pilot)
        sheet = await open_export(app, pilot)
        said: dict[str, str] = {}
        for layout in sheet._layouts:
            for format in formats_of(None if layout == "report" else layout):
                for lang in LANGUAGES:
                    own = None if layout == "report" else layout
                    what = Export(own, format, LayoutOptions(lang=lang))
                    if format != "html":
                        text = export_sheet.exported(
                            sheet._viewed.state, controller.path, what, controller.path
                        )
                        assert said.setdefault(what.file_name, text) == text
        texts = [text for name, text in said.items() if name.endswith(".json")]
        assert len(texts) == len(set(texts))  # nothing is proposed under two names


async def test_a_language_is_offered_where_the_text_depends_on_it(workspace: FakeWorkspace) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        sheet = await open_export(app, pilot)
        await choose(sheet, pilot, "speedup", "csv")
        await pilot.press("L")
        await until(pilot, partial(shows, app, "this csv is the same in every language"))
        assert "Language none" in " ".join(screen_text(app).split())
        await choose(sheet, pilot, "pivot", "md")
        await pilot.press("L")
        await until(pilot, lambda: "pivot.zh.mdinthecampaign" in "".join(screen_text(app).split()))


async def test_json_has_every_run_whatever_the_layout_and_no_key_pretends_otherwise(
    workspace: FakeWorkspace,
) -> None:
    async with opened(workspace, HUGE) as (app, pilot, sheet):
        for layout in ("speedup", "pivot"):
            await choose(sheet, pilot, layout, "json")
            choices = words(sheet.query_one("#choices"))
            assert "v V" not in choices
            assert "L " not in choices.replace("Layout", "").replace("Language", "")
            assert "report.jsonin" in "".join(choices.split())
            assert shows(app, "for programs: every run and what the cases come to")
            assert not shows(app, LAYOUTS[layout].help)
            before = sheet._wanted
            await pilot.press("v")
            await until(pilot, partial(shows, app, "json is the same of every layout"))
            await pilot.press("L")
            await until(pilot, partial(shows, app, "this json is the same in every language"))
            assert sheet._wanted == before
            await pilot.press("f")
        seen = {sheet._shown}
        for _ in sheet._layouts:  # also past what is written as JSON only
            await pilot.press("v")
            seen.add(sheet._shown)
        assert seen == set(sheet._layouts)


OWN = {"dlperf-json": "json", "report": "md"}
"""What layouts without tables are shown as."""


@pytest.mark.parametrize("layout", ["airank", "speedup"])
async def test_what_a_layout_is_for_is_told_in_every_format(
    workspace: FakeWorkspace, layout: str
) -> None:
    async with opened(workspace, HUGE) as (app, pilot, sheet):
        for format in ("table", "md", "csv", "json"):
            await choose(sheet, pilot, layout, format)
            about = LAYOUTS[layout].help if format != "json" else "every run and what the cases"
            await until(pilot, partial(shows, app, about))
            assert shows(app, "for programs: ") is (format in ("csv", "json"))
    assert "AI-Rank" in LAYOUTS["airank"].help


@pytest.mark.parametrize("size", [SMALL, LARGE, (200, 60)])
async def test_the_frame_says_which_columns_are_in_sight_and_with_which_keys_the_others_come(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with opened(workspace, size, 3000, repeats=7) as (_, pilot, sheet):
        lines = sheet.query_one(TextLines)
        for layout in sheet._layouts:
            await choose(sheet, pilot, layout, OWN.get(layout, "table"))
            await pilot.pause()
            widest, width = lines.virtual_size.width, lines.scrollable_content_region.width
            first = 0
            while True:
                title = str(lines.border_title)
                said = f"characters {first + 1} to {min(first + width, widest)} of {widest}: ← →"
                assert (said in title) == ("characters" in title), (layout, title)
                right = columns_at_right(lines, first + width - (first + width < widest))
                count = f"→ {len(right)} more column{'s' * (len(right) != 1)}: "
                if right and sheet._format == "table":
                    named = title.partition(count)[2]
                    assert named, (right, title)
                    assert ", ".join(right).startswith(named), (right, title)
                else:
                    assert ("characters" in title) == (widest > width)
                await pilot.press("right")
                await pilot.pause()
                if lines.scroll_offset.x == first:
                    break
                first = lines.scroll_offset.x
            assert first + width >= widest


def columns_at_right(lines: TextLines, last: int) -> list[str]:
    """Of the tables the headings that end behind a column."""
    found: dict[str, None] = {}
    for line in lines._lines:
        if str(line.style) == str(MUTED) and line.no_wrap is not False and "  " in line.plain:
            ends = re.finditer(r"\S+(?: \S+)*", line.plain)
            found |= {one[0]: None for one in ends if one.end() > last}
    return [*found]


@pytest.mark.parametrize("size", [SMALL, LARGE, (200, 60)])
async def test_the_file_and_what_becomes_of_one_that_is_there_are_told_before_the_key(
    workspace: FakeWorkspace, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        controller = begin(app, workspace)
        await open_results(workspace, app, pilot)
        controller.path.mkdir(exist_ok=True)
        sheet = await open_export(app, pilot)
        for layout in sheet._layouts:
            await choose(sheet, pilot, layout, OWN.get(layout, "table"))
            proposed = str(controller.path / sheet._wanted.file_name)
            there = Path(proposed).exists()
            for exists in (there, True):
                Path(proposed).touch()
                said = "".join(words(sheet.query_one("#choices")).split())
                assert f"{sheet._wanted.file_name}inthecampaign'sdirectory" in said
                assert ("anewfile" in said) == (not exists)
                by_itself = layout == "report"
                assert ("itselfwroteitatitsend" in said) == (exists and by_itself), said
                assert ("asksbeforeitwritesoverit" in said) == (exists and not by_itself)
                sheet._renew()
                await until(pilot, lambda: sheet._written is not None)
                await until(pilot, lambda: sheet._exists)


async def test_a_file_that_somebody_else_removes_is_no_longer_said_to_be_there(
    workspace: FakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.screens.export_sheet.LOOK_S", 0.05)
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_results(workspace, app, pilot)
        controller.path.mkdir(exist_ok=True)
        proposed = controller.path / "pivot.md"
        await export(app, pilot, proposed, "pivot")
        await until(pilot, lambda: isinstance(app.screen, ExportSheet))

        def said() -> str:
            return "".join(words(app.screen.query_one("#choices")).split())

        await until(pilot, lambda: "exists;asksbefore" in said())
        assert "Written" in said()
        proposed.unlink()
        await until(pilot, lambda: "anewfile" in said())
        await until(pilot, lambda: "Written" not in said())
        proposed.touch()
        await until(pilot, lambda: "exists;asksbefore" in said())


@pytest.mark.parametrize(
    "layout", [one for one in LAYOUTS.values() if one.tables], ids=lambda one: one.name
)
@pytest.mark.parametrize("renamed", [True, False])
async def test_the_preview_has_every_word_of_what_is_written(
    workspace: FakeWorkspace, tmp_path: Path, layout: Layout, renamed: bool
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace, repeats=2)
        page = await open_results(workspace, app, pilot)
        assert page.viewed is not None
        path = tmp_path / "baseline" if renamed else page.viewed.path
        sheet = ExportSheet(replace(page.viewed, path=path), page._groups)
        for lang, format in product(LANGUAGES, layout.formats):
            what = Export(layout.name, format, LayoutOptions(lang=lang))
            if (told := sheet._told(what, aligned=False)).text is None:
                return  # there is nothing of what it lays out
            assert [line.plain for line in told.shown] == told.text.split("\n")
            if format == "md":
                aligned = "".join(line.plain for line in sheet._told(what, aligned=True).shown)
                shown = "".join(aligned.split())
                for part in re.split(r"\||\n", unescape(told.text.replace("\\", ""))):
                    bare = re.sub(r"^(#+|:?-{3,}:?|-)", "", re.sub(r"[\s*`]", "", part))
                    assert bare in shown or "](" in bare


async def test_what_was_written_stays_in_sight_and_the_sheet_is_there_for_the_next(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        for name in ("first.md", "second.md"):
            await export(app, pilot, tmp_path / name, "pivot")
            await until(pilot, lambda: isinstance(app.screen, ExportSheet))
            await until(pilot, lambda name=name: app.screen._last == tmp_path / name)
            await pilot.press("f")
            said = "".join(words(app.screen.query_one("#choices")).split())
            assert f"Written{tmp_path / name}" in said


@pytest.mark.parametrize(("suffix", "chosen"), [(".md", "csv"), (".csv", "json"), (".JSON", "md")])
async def test_the_file_is_of_the_format_that_its_name_says_and_that_is_told_before_enter(
    workspace: FakeWorkspace, tmp_path: Path, chosen: str, suffix: str
) -> None:
    begins = {"md": "###", "csv": ("profile,", "node num,"), "json": "{"}
    written = suffix.lower().removeprefix(".")
    target = tmp_path / f"out{suffix}"
    async with opened(workspace, LARGE) as (app, pilot, sheet):
        await pilot.press("s", "S")
        await choose(sheet, pilot, "speedup", chosen)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = str(target)
        meaning = app.screen.query_one(".meaning")
        said = f"as{written}"
        await until(pilot, lambda: said in "".join(words(meaning).split()))
        await pilot.press("enter")
        await until(pilot, target.exists)
        assert target.read_text().startswith(begins[written])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("out.csv", "this is not written as csv"),
        ("v", "the name says no format"),
        ("a.b", "the name says no format"),
    ],
)
async def test_a_name_that_says_no_format_which_there_is_is_told_and_not_taken(
    workspace: FakeWorkspace, tmp_path: Path, name: str, said: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        await export(app, pilot, tmp_path / name)  # of the whole report
        await until(pilot, partial(shows, app, f"✗ {said}"))
        assert shows(app, "→ end it with .md or .html")
        assert isinstance(app.screen, Prompt)
    assert not (tmp_path / name).exists()


async def test_what_is_written_while_runs_are_at_work_says_before_that_it_stays_so(
    workspace: FakeWorkspace,
) -> None:
    for seconds in (60, 600):
        async with opened(workspace, HUGE, seconds) as (app, pilot, sheet):
            await choose(sheet, pilot, "speedup", "table")
            await until(pilot, partial(shows, app, "a new file"))
            assert shows(app, "stays as of now, with") == (not sheet._viewed.finished)


@pytest.mark.parametrize("over", ["enter", "question_mark"])
async def test_what_lies_over_the_sheet_has_all_the_keys_that_are_shown(
    workspace: FakeWorkspace, over: str
) -> None:
    async with opened(workspace, HUGE) as (app, pilot, sheet):
        frame = sheet._box
        assert frame is not None
        await until(pilot, lambda: "Layout" in str(frame.border_subtitle))
        await pilot.press(over)
        await until(pilot, lambda: app.screen is not sheet)
        await until(pilot, lambda: not frame.border_subtitle)
        await pilot.press("escape")
        await until(pilot, lambda: "Layout" in str(frame.border_subtitle))


async def test_below_the_table_stands_what_the_file_says_of_its_hosts(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Machines(1, 8, 64, 500, boots=frozenset({"one machine of several names"}))
    monkeypatch.setattr(compare_campaigns, "machines_of", lambda *_: one)
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace, repeats=2)
        page = await open_results(workspace, app, pilot)
        assert page.viewed is not None
        sheet = ExportSheet(page.viewed, page._groups)
        told = sheet._told(sheet._wanted, aligned=True)
        assert told.text is not None
        shown = " ".join(" ".join(line.plain for line in told.shown).split())
        assert "(1 machine)" in told.text
        assert "(1 machine)" in shown


async def test_the_order_of_a_csv_is_told_by_the_name_that_the_file_has(
    workspace: FakeWorkspace,
) -> None:
    """Of results.csv in any language the English one, for every column of the table."""
    async with opened(workspace, HUGE) as (_app, pilot, sheet):
        await choose(sheet, pilot, "speedup", "table")
        await pilot.press("L")
        for place in range(3):
            await choose(sheet, pilot, "speedup", "table")
            await pilot.press("s")
            await until(pilot, lambda place=place: sheet._order.column == place)
            await until(pilot, lambda: not sheet._at_work)
            assert f"by {sheet._columns[place].heading}, " in words(sheet.query_one("#choices"))
            await choose(sheet, pilot, "speedup", "csv")
            await until(pilot, lambda: not sheet._at_work)
            assert sheet._order.column == place
            name = words(sheet.query_one("#choices")).partition(" by ")[2].partition(",")[0]
            assert sheet._written is not None
            assert name in sheet._written.splitlines()[0].split(","), name
