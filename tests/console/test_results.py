from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input

from backends.campaign.folder.export_report import formats_of
from backends.campaign.plan.selection import Selection
from backends.inventory.host_entry import Host, Inventory
from backends.results.case_result import CaseResult
from backends.results.publish import LAYOUTS
from backends.results.summary import Group
from backends.use_cases import Workspace
from tests.console import fakes
from tests.console.conftest import (
    HUGE,
    LARGE,
    ONEFLOW,
    SMALL,
    begin,
    console,
    screen_text,
    shows,
    tick,
    until,
    words,
)
from tests.console.fakes import FakeWorkspace
from tui.app import DlperfApp
from tui.screens import results_page
from tui.screens.dialogs import Choice, Prompt
from tui.screens.export_sheet import ExportSheet
from tui.screens.repeats import Repeats, repeat_rows, repeats_text
from tui.screens.result_text import SORTS, flags_below
from tui.screens.results_page import ResultsPage
from tui.screens.runs_page import RunsPage
from tui.text import cell
from tui.widgets.chart import Chart, draw
from tui.widgets.details import Details
from tui.widgets.filter_table import TablePanel
from tui.widgets.keyed_table import KeyedTable, Row
from tui.widgets.scaling_plot import Quantity

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


async def open_results(
    workspace: FakeWorkspace, app: DlperfApp, pilot: Pilot[str], seconds: float = 600
) -> ResultsPage:
    await pilot.press("4")
    await until(pilot, lambda: isinstance(app.screen, ResultsPage) and app.screen.is_mounted)
    for _ in range(12):
        workspace.clock.tick(seconds / 12)
        tick(app)
    await pilot.pause()
    tick(app)
    await pilot.pause()
    assert isinstance(app.screen, ResultsPage)
    return app.screen


async def test_the_table_tells_throughput_speedup_efficiency_cv_and_repeats(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        row = next(r for r in screen_text(app).splitlines() if "4n8g b128 fp32" in r)
        assert row.replace("│", " ").split()[3:9] == [
            *("32", "11,422", "29.67", "92.7%", "0.05%", "2"),
        ]
        assert "base" in next(r for r in screen_text(app).splitlines() if "1n1g b128" in r)
        assert "images/s, median of the repeats · base 1n1g" in screen_text(app)


@pytest.mark.parametrize("repeats", [1, 2])
async def test_one_repeat_has_no_range(workspace: FakeWorkspace, repeats: int) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=repeats)
        await open_results(workspace, app, pilot)
        await until(pilot, partial(shows, app, "│ median"))
        assert shows(app, "│ range") == (repeats > 1)
        assert shows(app, ", CV 0.") == (repeats > 1)


async def test_devices_of_hosts_without_gpus_are_not_called_gpus(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fakes, "FINGERPRINT", "AMD EPYC 9654, Debian 12, 6.1.0, x86_64")
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        await until(pilot, lambda: "Speedup over devices" in screen_text(app))
        *_, below = screen_text(app).split("Results · ")
        assert " Devices " in below
        assert "per device" in below
        labels = [column.label.plain for column in page.main_panel().table.ordered_columns]
        assert labels[:3] == ["Case", "Devices", "images/s"]


async def test_four_scales_are_projected_in_the_chart_and_never_in_the_table(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        await until(pilot, lambda: "PROJECTED 64:" in screen_text(app))
        assert page.main_panel().table.row_count == 4


async def test_a_projection_that_is_there_when_the_page_has_gone_is_no_fault(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        gone = ResultsPage(page.session)
        await ResultsPage._project.__wrapped__(gone, page._groups)  # type: ignore[attr-defined]
        assert gone._beyond


async def test_three_scales_are_not_projected(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, ("1n1g", "1n8g", "4n8g"))
        await open_results(workspace, app, pilot)
        projecting = [w for w in app.workers if w.group == "projection"]
        await until(pilot, lambda: all(w.is_finished for w in projecting))
        assert "PROJECTED" not in screen_text(app)


async def test_while_nothing_has_ended_the_cases_are_there_without_figures(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot, seconds=12)
        row = next(r for r in screen_text(app).splitlines() if "4n8g b128 fp32" in r)
        assert "nothing ended yet" in row
        assert " 0.0" not in row
        await until(pilot, partial(shows, app, "no repeat has ended yet"))
        assert "tries it again" not in screen_text(app), "nothing has failed"


async def test_flags_are_told_in_words(workspace: FakeWorkspace) -> None:
    workspace.fails = {"1n8g": "out of memory"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        row = next(r for r in screen_text(app).splitlines() if "1n8g b128 fp32" in r)
        assert "✗ failed " in row
        assert "0/2" in row
        await pilot.press("j")
        await until(pilot, partial(shows, app, "no repeat has succeeded yet"))


async def test_the_curve_shows_speedup_against_the_ideal(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        assert page.query_one(Chart).display
        assert page.query_one(Details).display
        legend = next(row for row in screen_text(app).splitlines() if "1 b128 fp32 " in row)
        assert "ideal" in legend


async def test_at_80_columns_v_switches_between_curve_and_case(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        assert (page.query_one(Chart).display, page.query_one(Details).display) == (True, False)
        await pilot.press("v")
        await until(pilot, partial(shows, app, "median"))
        assert (page.query_one(Chart).display, page.query_one(Details).display) == (False, True)


async def test_enter_shows_every_repeat_with_its_distance_from_the_median(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, Repeats))
        await until(pilot, partial(shows, app, "vs median"))
        assert "2 of 2 repeats succeeded" in screen_text(app)
        assert "+0.0" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ResultsPage))


async def open_export(app: DlperfApp, pilot: Pilot[str]) -> ExportSheet:
    await pilot.press("e")
    await until(pilot, lambda: isinstance(app.screen, ExportSheet))
    sheet = app.screen
    assert isinstance(sheet, ExportSheet)
    await until(pilot, lambda: sheet._written is not None)
    return sheet


async def choose(sheet: ExportSheet, pilot: Pilot[str], layout: str, format: str) -> None:
    """Go to a layout and a format by keys; from a document that is of no layout by the format."""
    if sheet._shown != layout and sheet._wanted.whole_document:
        await pilot.press("f")
    for _ in sheet._layouts:
        if sheet._shown != layout:
            await pilot.press("v")
    for _ in sheet._formats:
        if sheet._format != format:
            await pilot.press("f")
    await until(pilot, lambda: sheet._written is not None)
    assert (sheet._shown, sheet._format) == (layout, format)


async def export(
    app: DlperfApp, pilot: Pilot[str], path: Path | str, layout: str = "report", format: str = "md"
) -> None:
    if not isinstance(app.screen, ExportSheet):
        await open_export(app, pilot)
    assert isinstance(app.screen, ExportSheet)
    await choose(app.screen, pilot, layout, format)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, Prompt))
    app.screen.query_one(Input).value = str(path)
    await pilot.press("enter")


async def test_the_report_goes_by_default_into_the_campaign(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_results(workspace, app, pilot)
        controller.path.mkdir(exist_ok=True)
        sheet = await open_export(app, pilot)
        await pilot.press("V")
        await until(pilot, lambda: sheet._written is not None)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        assert app.screen.query_one(Input).value == str(controller.path / "report.md")
        await pilot.press("enter")
        await until(pilot, lambda: sheet._last is not None)
        report = (controller.path / "report.md").read_text(encoding="utf-8")
        assert "29.67" in report


async def test_an_export_asks_before_it_writes_over_another_file(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text("mine", encoding="utf-8")
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        await export(app, pilot, mine)
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ExportSheet))
        assert mine.read_text(encoding="utf-8") == "mine"
        await export(app, pilot, mine)
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, lambda: "29.67" in mine.read_text(encoding="utf-8"))
        await until(pilot, lambda: isinstance(app.screen, ExportSheet))


async def test_an_export_shows_all_of_its_path_and_asks_before_it_makes_directories(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    target = tmp_path / ("long" * 15) / "deep" / "mine.md"
    async with console(workspace, (80, 24)) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        await open_export(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = str(target)
        await pilot.pause()
        assert "".join(words(app.screen.query_one(".meaning")).split()) == f"{target},asmd"
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "There is no directory"))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ExportSheet))
        assert not target.parent.parent.exists()
        await export(app, pilot, target)
        await until(pilot, partial(shows, app, "There is no directory"))
        await pilot.press("y")
        await until(pilot, target.exists)


OF_OTHER_RUNS = {"collectives", "llm", "mlperf"}
"""Layouts that these runs, in images/s, have nothing for."""
FITTING = [name for name in LAYOUTS if name not in OF_OTHER_RUNS]


@pytest.mark.parametrize("layout", [*FITTING, "report"])
async def test_what_is_written_is_what_was_shown_in_every_format_and_language(
    workspace: FakeWorkspace, tmp_path: Path, layout: str
) -> None:
    async with console(workspace, (200, 30)) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        sheet = await open_export(app, pilot)
        assert sheet._layouts == [*FITTING, "report"]
        texts = {}
        for format in formats_of(None if layout == "report" else layout):
            for lang in ("en", "zh") if format == "md" else ("en",):
                target = tmp_path / f"{layout}.{lang}.{format}"
                if not isinstance(app.screen, ExportSheet):
                    sheet = await open_export(app, pilot)
                if sheet._lang != lang:
                    await pilot.press("L")
                await choose(sheet, pilot, layout, format)
                shown = sheet._written
                await export(app, pilot, target, layout, format)
                await until(pilot, target.exists)
                await until(pilot, lambda: isinstance(app.screen, ExportSheet))
                texts[format, lang] = target.read_text(encoding="utf-8")
                if layout not in ("report", "pivot"):  # whose links go from where they lie
                    assert texts[format, lang] == shown
        json = [text for (format, _), text in texts.items() if format == "json"]
        assert all(text.startswith("{") for text in json)
        if ("md", "zh") in texts:
            assert texts["md", "zh"] != texts["md", "en"]
            assert any("一" <= character <= "鿿" for character in texts["md", "zh"])


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_that_all_is_simulated_is_told_once_and_in_no_row(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    workspace.simulated = True
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        assert shows(app, "all simulated: grade D")
        rows = [
            line
            for line in screen_text(app).splitlines()
            if line.startswith("│ ") and "n8g" in line
        ]
        assert rows
        assert not any("▲ simulated" in row for row in rows)


async def test_a_table_is_sorted_reversed_and_turned_by_keys_and_written_so(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        sheet = await open_export(app, pilot)
        assert "S Reverse" not in screen_text(app), "nothing is sorted yet"
        for _ in range(3):
            await pilot.press("s")
            await until(pilot, lambda: sheet._written is not None)
        assert shows(app, "by gpu num, smallest first")
        await pilot.press("S")
        await until(pilot, partial(shows, app, "by gpu num, largest first"))
        await until(pilot, lambda: sheet._written is not None)
        rows = [line.split()[3] for line in screen_text(app).splitlines() if " 13210 " in line]
        assert rows[:4] == ["32", "16", "8", "1"]
        await pilot.press("p")
        await until(pilot, partial(shows, app, "Rows as columns  no [yes]"))
        await until(pilot, lambda: sheet._written is not None)
        assert shows(app, "gpu num")
        line = next(line for line in screen_text(app).splitlines() if "│ gpu num" in line)
        assert line.strip("│ ").split() == ["gpu", "num", "32", "16", "8", "1"]
        target = tmp_path / "turned.md"
        await export(app, pilot, target, "speedup", "md")
        await until(pilot, target.exists)
        assert "| gpu num | 32 | 16 | 8 | 1 |" in target.read_text(encoding="utf-8")


async def test_what_is_copied_is_what_would_be_written_and_does_nothing_where_it_is_pasted(
    workspace: FakeWorkspace,
) -> None:
    workspace.fails = {"1n8g": "\x1b]52;c;AAAA\x07harm\x9b2J"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        sheet = await open_export(app, pilot)
        await pilot.press("y")
        await until(pilot, partial(shows, app, "handed to the terminal"))
        assert app.clipboard == sheet._written
        await choose(sheet, pilot, "report", "md")
        await pilot.press("y")
        assert "harm" in app.clipboard
        assert all(c == "\n" or c.isprintable() for c in app.clipboard)


async def test_an_export_that_cannot_be_written_says_so(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        (tmp_path / "file").touch()
        await export(app, pilot, tmp_path / "file" / "report.md")
        await until(pilot, partial(shows, app, "cannot write the report"))
        assert "choose a directory that may be written" in screen_text(app)
        assert isinstance(app.screen, ExportSheet)


async def test_rows_are_sorted_by_key_and_the_cursor_stays_on_its_case(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        table = page.main_panel().table
        as_they_are = table.shown_keys
        before = table.current_key
        await pilot.press("s")
        assert shows(app, "by throughput ▾")
        assert table.shown_keys == as_they_are[::-1]
        await pilot.press("S")
        assert shows(app, "by throughput ▴")
        assert table.shown_keys == as_they_are
        assert table.current_key == before
        await pilot.press(*["s"] * (len(SORTS) - 1))
        assert table.shown_keys == as_they_are


@pytest.mark.parametrize("width", [40, 60, 80, 160])
async def test_only_columns_in_sight_are_sorted_by(workspace: FakeWorkspace, width: int) -> None:
    async with console(workspace, (width, 24)) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot, 3000)
        shown = {column.key for column, _ in page.main_panel().table._shown}
        sorted_by = set()
        for _ in SORTS:
            await pilot.press("s")
            sorted_by.add(page._order.by.casefold())
        assert sorted_by == shown & {name.casefold() for name in SORTS}


async def test_the_case_under_the_cursor_stays_in_sight_when_rows_are_sorted(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        values = {**ONEFLOW, "batch_size": ("128", "160")}
        tags = tuple(f"{nodes}n{devices}g" for nodes in (1, 2, 3, 4) for devices in (1, 2, 4, 8))
        plan = workspace.plan(Selection(("oneflow-resnet50",), tags, values, 1))
        app.session.controller = workspace.controller(plan)
        page = await open_results(workspace, app, pilot, 6000)
        table = page.main_panel().table
        fit = table.size.height - table.header_height
        assert table.row_count > 2 * fit
        await pilot.press("s")
        for row in (0, 10, 20, table.row_count - 1):
            table.move_cursor(row=row)
            await pilot.pause()
            for key in ("S", "S", *["s"] * len(SORTS)):
                kept = table.current_key
                await pilot.press(key)
                assert table.current_key == kept
                assert 0 <= table.cursor_row - table.scroll_offset.y < fit, (row, key)


async def test_repeats_are_drawn_again_only_when_they_or_their_room_are_others(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    def counted(case: CaseResult, group: Group, width: int, *others: Any) -> Text:
        drawn.append((case.case, width))
        return repeats_text(case, group, width, *others)

    monkeypatch.setattr(results_page, "repeats_text", counted)
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace, repeats=7)
        await open_results(workspace, app, pilot, 6000)
        await until(pilot, partial(shows, app, "all cases, from the median of each"))
        drawn.clear()
        for _ in range(5):
            tick(app)
            await pilot.pause()
        assert drawn == []
        await pilot.press("j")
        assert [case for case, _ in drawn] == ["1n8g"]
        assert shows(app, "Repeats · 1n8g")
        await pilot.resize_terminal(180, 60)
        await until(pilot, lambda: len({width for _, width in drawn}) == 2)


async def test_outliers_among_the_repeats_are_named(workspace: FakeWorkspace) -> None:
    async with console(workspace, (200, 60)) as (app, pilot):
        controller = begin(app, workspace, ("1n1g", "1n8g"), repeats=7)
        page = await open_results(workspace, app, pilot, 3000)
        run = next(run for run in controller.state.runs.values() if run.repeat == 4)
        slow = replace(run, throughput=(run.throughput or 0.0) * 0.9)
        controller.state = replace(
            controller.state, runs={**controller.state.runs, run.run_id: slow}
        )
        page._summarised = None
        tick(app)
        await pilot.pause()
        assert shows(app, "#4")
        assert shows(app, "○ outlier")
        assert shows(app, "all cases, from the median of each")
        assert shows(app, "outlier: repeat 4")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Repeats))
        assert shows(app, "outlier; it counts")


async def test_the_reasons_of_a_grade_have_the_grade_that_they_allow(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=2)
        await open_results(workspace, app, pilot)
        assert shows(app, "C, by what is marked C below")
        assert shows(app, "▲ C few repeats: 2 repeats")
        assert shows(app, "▲ B not watched: its machines were not seen")


@pytest.mark.parametrize("quantity", list(Quantity)[1:])
async def test_c_draws_the_next_quantity_with_its_projection(
    workspace: FakeWorkspace, quantity: Quantity
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=7)
        page = await open_results(workspace, app, pilot, 3000)
        await until(pilot, partial(shows, app, "PROJECTED 64:"))
        await pilot.press(*["c"] * list(Quantity).index(quantity))
        said = {Quantity.EFFICIENCY: "Efficiency over GPUs", Quantity.PER_DEVICE: "per GPU over"}
        assert shows(app, said[quantity])
        plot = page.query_one(Chart)._plot
        case = next(case for case in page._groups[0].cases if case.case == "4n8g")
        value = {
            Quantity.EFFICIENCY: 100 * (case.efficiency or 0),
            Quantity.PER_DEVICE: (case.throughput or 0) / 32,
        }[quantity]
        assert (32.0, pytest.approx(value)) in plot.lines[0].points + plot.lines[1].points
        assert any(line.bars for line in plot.lines)
        (farther,) = (line for line in plot.lines if line.band)
        low, high = farther.band or (0.0, 0.0)
        assert low < farther.points[-1][1] < high


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_two_groups_of_parameters_have_a_curve_each(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        values = {**ONEFLOW, "batch_size": ("128", "160")}
        plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g", "1n8g"), values, 1))
        app.session.controller = workspace.controller(plan)
        await open_results(workspace, app, pilot)
        assert "1 b128 fp32" in screen_text(app)
        assert "2 b160 fp32" in screen_text(app)


@pytest.fixture
def reading(tmp_path: Path) -> Workspace:
    """To look at campaigns that were measured, without a host."""
    return Workspace(Inventory((Host("here", transport="local"),), None), None, tmp_path)


async def open_example(app: DlperfApp, pilot: Pilot[str], name: str) -> ResultsPage:
    await app.session.open(EXAMPLES / name)
    await pilot.press("4")
    await until(pilot, lambda: isinstance(app.screen, ResultsPage) and app.screen.selected)
    assert isinstance(app.screen, ResultsPage)
    return app.screen


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_a_bandwidth_has_its_curve_over_sizes_and_no_share_of_a_device(
    reading: Workspace, size: tuple[int, int]
) -> None:
    async with console(reading, size) as (app, pilot):
        page = await open_example(app, pilot, "h200-x4-allreduce")
        await until(pilot, partial(shows, app, "GB/s over the size of a message"))
        shown = screen_text(app)
        for words_of_a_curve in ("64 MiB", "4 GiB", "1n2g", "1n4g", "◉ 347.7 GB/s at 4 GiB"):
            assert words_of_a_curve in shown
        for never in ("per GPU", "Efficiency", "a curve needs", "base 1n2g"):
            assert never not in shown
        assert page.check_action("quantity", ()) is False
        assert page.not_now("quantity") in ("a bandwidth has no other curve", "")
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "vs median"))
        assert shows(app, "GB/s")
        assert not shows(app, "samples/s")
        await app.session.close()


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("h200-x4-gpt-124m", "tokens/s"),
        ("h200-x4", "images/s"),
        ("h200-x4-allreduce", "busbw GB/s"),
    ],
)
async def test_every_figure_stands_under_its_own_unit(
    reading: Workspace, name: str, unit: str
) -> None:
    async with console(reading, LARGE) as (app, pilot):
        table = (await open_example(app, pilot, name)).main_panel().table
        await until(pilot, lambda: unit in [c.label.plain for c in table.ordered_columns])
        assert "samples/s" not in screen_text(app)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage))
        table = app.screen.query_one("#runs", KeyedTable)
        await until(pilot, lambda: unit in [c.label.plain for c in table.ordered_columns])
        assert "samples/s" not in [c.label.plain for c in table.ordered_columns]
        await app.session.close()


async def test_a_case_says_its_window_whether_it_was_steady_and_what_it_is_lost_to(
    reading: Workspace,
) -> None:
    async with console(reading, HUGE) as (app, pilot):
        await open_example(app, pilot, "h200-x2-resnet50-graphs")
        await pilot.press("j")
        panel = app.screen.query_one("#case", Details)
        await until(pilot, lambda: "lost to" in panel.text)
        case = " ".join(panel.text.split())
        assert "window 8 readings, " in case
        assert "steady not looked at (8 readings, it takes 10)" in case
        assert "exposed all-reduce" in case
        assert "unexplained" in case
        await app.session.close()


async def test_a_repeat_says_when_and_where_it_ran_and_what_was_odd_about_it(
    reading: Workspace,
) -> None:
    async with console(reading, LARGE) as (app, pilot):
        page = await open_example(app, pilot, "h200-x2-auto")
        _group, case = page.selected or pytest.fail("nothing is selected")
        odd = next(run for run in case.runs if run.steady)
        rows = {row.key: row.cells[-1].plain for row in repeat_rows(case)}
        assert "not level before step 24" in rows[odd.run_id]
        await pilot.press("j")
        _group, case = page.selected or pytest.fail("nothing is selected")
        assert all("power cap" in row.cells[-1].plain for row in repeat_rows(case))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "Began"))
        assert re.search(r"  0, 1 +\d\d:\d\d:\d\d ", screen_text(app))
        await app.session.close()


async def test_a_case_that_failed_says_why_and_where_to_try_it_again(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g", "1n8g"), repeats=1)
        controller.fails = {case.case.tag: "NCCL timed out" for case in controller.cases}
        for _ in range(40):
            workspace.clock.tick(30)
            tick(app)
        await pilot.press("4")
        await until(pilot, lambda: "NCCL timed out" in screen_text(app))
        assert "t there tries it again" in screen_text(app)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_filter_stands_in_the_frame_however_long_the_name_before_it_is(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        panel = app.screen.query_one(TablePanel)
        panel.start_filter()
        await pilot.press(*"1n", "enter")
        found, of = len(panel.table.shown_keys), panel.table.row_total
        for length in range(0, 200, 7):
            panel.retitle("x" * length)
            await pilot.pause()
            assert f"/1n · {found} of {of} " in screen_text(app)


async def test_words_of_the_title_which_all_cases_share_match_every_one(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        table = page.main_panel().table
        (_, case), *_ = page._cases.values()
        for name in case.as_case.parameters:
            table.filter_rows(case.as_case.value_label(name))
            assert len(table.shown_keys) == table.row_total > 1


async def test_repeats_are_drawn_at_no_width_but_that_of_their_panel(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths = []

    def drawn(case: Any, group: Any, width: int, *more: Any) -> Any:
        widths.append(width)
        return repeats_text(case, group, width, *more)

    monkeypatch.setattr(results_page, "repeats_text", drawn)
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        assert min(widths) > 0
        await until(pilot, lambda: widths[-1] == page.query_one("#repeats").content_size.width - 1)


async def test_all_flags_of_the_case_under_the_cursor_can_be_read_at_every_width(
    workspace: FakeWorkspace,
) -> None:
    workspace.fails = {"1n8g": "out of memory"}
    async with console(workspace, SMALL) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        for width in (80, 90, 99):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            table = page.main_panel().table
            assert any(flags_below(case, page._groups, 999) for _, case in page._cases.values())
            for key in table.shown_keys:
                table.select(key)
                await pilot.pause()
                _, case = page._cases[key]
                told = flags_below(case, page._groups, 999)
                assert not told or shows(app, told), (width, told, screen_text(app))


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_the_columns_hang_on_the_rows_and_the_width_and_not_on_what_was_shown_before(
    workspace: FakeWorkspace, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def longer(*given: Any) -> list[Row]:
        end = cell(" and more")
        return [replace(row, cells=tuple(one + end for one in row.cells)) for row in rows(*given)]

    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page, rows = await open_results(workspace, app, pilot, 3000), results_page.result_rows
        before = screen_text(app)
        assert " n  Gr  Flags" in before
        for shown in (longer, rows):
            monkeypatch.setattr(results_page, "result_rows", shown)
            page.pull()
            await pilot.pause()
        assert screen_text(app) == before


@pytest.mark.painted
@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_no_curve_is_drawn_before_the_list_above_it_has_its_lines(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[tuple[int, int]] = []

    def watched(*drawn: Any) -> list[Strip]:
        table = app.screen.query_one("#results", KeyedTable)
        lines.append((table.virtual_size.height, 1 + table.row_count))
        return draw(*drawn)

    async with console(Workspace(Inventory(()), None, EXAMPLES), size) as (app, pilot):
        monkeypatch.setattr("tui.widgets.chart.draw", watched)
        await app.session.open(EXAMPLES / "h200-x4")
        await pilot.press("4")
        await until(pilot, lambda: lines)
    assert all(there == needed for there, needed in lines), lines


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
@pytest.mark.parametrize("page", ["3", "4"])
async def test_the_campaigns_name_stands_before_what_all_cases_share(
    tmp_path: Path, page: str, size: tuple[int, int]
) -> None:
    name = "h200-x2-gpt-1.3b"
    async with console(Workspace(Inventory(()), None, EXAMPLES), size) as (app, pilot):
        await app.session.open(EXAMPLES / name)
        await pilot.press(page)
        await until(pilot, lambda: isinstance(app.screen, (ResultsPage, RunsPage)))
        called = re.compile(rf" (?:{re.escape(name)}|h200-\S*…\S*) · all ")  # or all fits beside
        await until(pilot, lambda: called.search(screen_text(app)))
        for line in screen_text(app).splitlines():
            if "▲ few" in line and "╰" not in line:
                assert "…" not in line.partition("▲")[2]
