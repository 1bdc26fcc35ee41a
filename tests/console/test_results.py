from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from backends.campaign.plan.selection import Selection
from backends.results.publish import LAYOUTS
from tests.console import fakes
from tests.console.conftest import (
    LARGE,
    ONEFLOW,
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
from tui.screens.dialogs import Choice, Prompt
from tui.screens.results_page import Repeats, ResultsPage
from tui.widgets.chart import Chart
from tui.widgets.details import Details


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
        assert labels[:3] == ["Case", "Devices", "samples/s"]


async def test_four_scales_are_projected_in_the_chart_and_never_in_the_table(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_results(workspace, app, pilot)
        await until(pilot, lambda: "PROJECTED 64:" in screen_text(app))
        assert page.main_panel().table.row_count == 4


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


async def test_flags_are_told_in_words(workspace: FakeWorkspace) -> None:
    workspace.fails = {"1n8g": "out of memory"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        row = next(r for r in screen_text(app).splitlines() if "1n8g b128 fp32" in r)
        assert "✗ failed runs" in row
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


async def export(app: DlperfApp, pilot: Pilot[str], path: Path | str, what: str = "r") -> None:
    await pilot.press("e")
    await until(pilot, partial(shows, app, "Write what?"))
    await pilot.press(what)
    await until(pilot, lambda: isinstance(app.screen, Prompt))
    app.screen.query_one(Input).value = str(path)
    await pilot.press("enter")


async def test_e_exports_the_report_by_default_into_the_campaign(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_results(workspace, app, pilot)
        controller.path.mkdir(exist_ok=True)
        await pilot.press("e")
        await until(pilot, partial(shows, app, "Write what?"))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        assert app.screen.query_one(Input).value == str(controller.path / "report.md")
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "report written to"))
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
        await until(pilot, lambda: isinstance(app.screen, ResultsPage))
        assert mine.read_text(encoding="utf-8") == "mine"
        await export(app, pilot, mine)
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, lambda: "29.67" in mine.read_text(encoding="utf-8"))


async def test_an_export_shows_all_of_its_path_and_asks_before_it_makes_directories(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    target = tmp_path / ("long" * 15) / "deep" / "mine.md"
    async with console(workspace, (80, 24)) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        await pilot.press("e", "r")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = str(target)
        await pilot.pause()
        assert "".join(words(app.screen.query_one(".meaning")).split()) == str(target)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "There is no directory"))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ResultsPage))
        assert not target.parent.parent.exists()
        await export(app, pilot, target)
        await until(pilot, partial(shows, app, "There is no directory"))
        await pilot.press("y")
        await until(pilot, target.exists)


OF_OTHER_RUNS = {"collectives", "llm", "mlperf"}
"""Layouts that these runs, in images/s, have nothing for."""


async def test_every_layout_can_be_exported_in_each_of_its_formats(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_results(workspace, app, pilot)
        await pilot.press("e")
        await until(pilot, partial(shows, app, "Write what?"))
        fitting = [layout for layout in LAYOUTS.values() if layout.name not in OF_OTHER_RUNS]
        for layout in LAYOUTS.values():
            assert (f"{layout.name}: " in screen_text(app)) == (layout in fitting)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ResultsPage))
        for number, layout in enumerate(fitting, 1):
            for format in layout.formats:
                target = tmp_path / f"{layout.name}.{format}"
                await export(app, pilot, target, str(number))
                await until(pilot, target.exists)
                text = target.read_text(encoding="utf-8")
                assert text.startswith("{") == (format == "json"), text[:80]
                await until(pilot, lambda: isinstance(app.screen, ResultsPage))


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
