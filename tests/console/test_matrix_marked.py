from __future__ import annotations

import re

import pytest

from tests.console.conftest import HUGE, LARGE, SMALL, console, screen_text, shows, until
from tests.console.fakes import START, FakeFinding, FakeWorkspace, v100_hosts
from tests.console.test_matrix_past import DAY, measured, read, smoke, wanted
from tui.matrix_about import about_case
from tui.matrix_below import marked_lines, profiles_lines
from tui.matrix_marks import marked_cases
from tui.screens.matrix_page import MatrixPage
from tui.screens.start_dialog import StartDialog

SAID = "how long a run of each takes"


async def test_where_lines_are_free_every_marked_case_has_one(workspace: FakeWorkspace) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: "what a run is" in screen_text(app))
        page = app.screen
        assert isinstance(page, MatrixPage)
        await pilot.press("a")
        asked = page._asked
        (part,) = asked.taking_part
        cases = marked_cases(asked.cells(part))
        await until(pilot, lambda: shows(app, f"marked: {len(cases)} cases, {SAID}"))
        told = [row for row in screen_text(app).splitlines() if "≈" in row or "not known" in row]
        assert all(any(case.label in row for row in told) for case in cases)
        for height in range(len(cases) + 5):
            assert len(marked_lines(part, asked, 0.0, 80, height)) <= height
        about = about_case(part, cases[0], asked, app.session.workspace, 0.0)
        assert SAID not in str(about.text), "which is of one case"
        for cell in (cell for row in asked.cells(part) for cell in row):
            about = str(about_case(part, cell.case, asked, app.session.workspace, 0.0).text)
            assert "cannot run" not in about
        await pilot.press("n")
        await until(pilot, lambda: not shows(app, SAID))


async def test_of_a_last_result_no_part_is_cut_whatever_the_room(workspace: FakeWorkspace) -> None:
    measured(workspace, {smoke("1n1g"): [14410.0, 14420.0, 14400.0], smoke("1n2g"): [28000.0]})
    async with console(workspace, LARGE) as (app, pilot):
        page = await read(app, pilot)
        await pilot.press("a")
        part = page.focused_marks
        assert part is not None
        for width in range(58, 140):
            lines = [str(line) for line in marked_lines(part, page._asked, START, width, 40)]
            (told,) = (line for line in lines if " 1n1g" in line and "/s" in line)
            behind = told.partition("/s")[2].split("  ")
            whole = r"|±[\d.–]+%?|n=3|grade \w|(2026-\d\d-\d\d, )?2d ago"
            assert all(re.fullmatch(whole, word) for word in behind), told
        assert "2d ago" in told


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_until_it_is_known_hours_and_time_are_both_the_least(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    measured(workspace, {smoke("1n1g"): [14410.0]})
    async with console(workspace, size) as (app, pilot):
        await read(app, pilot)
        await pilot.press("n", "space")
        await until(pilot, lambda: re.search(r" · ≈\S+ · ", screen_text(app)))
        assert not shows(app, "at least")
        await pilot.press("u")
        await until(pilot, lambda: re.search(r"until ±1%.* · at least ≈\S+ ", screen_text(app)))
        assert not re.search(r" · ≈\S+ · ", screen_text(app))


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_an_older_result_that_counts_for_filling_is_told_beside_the_newest(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    measured(workspace, {smoke("1n1g"): [1802.0, 1803.0, 1804.0], smoke("1n2g"): [5.0]}, "of-three")
    newer = {smoke("1n1g"): [1701.0], smoke("1n2g"): [6.0]}
    measured(workspace, newer, "of-one", at=START - DAY)
    async with console(workspace, size) as (app, pilot):
        page = await read(app, pilot)
        await pilot.press("plus", "plus", "n", "f")
        assert "1n1g/batch_size=32" not in wanted(page)
        assert re.search(r"1,?701(.0)? ", screen_text(app)), screen_text(app)
        await until(
            pilot,
            lambda: re.search(
                r"[; ] older(, of more repeats)?: 1,?803(.0)?, n=3", screen_text(app)
            ),
        )
        await pilot.press("j")
        await until(pilot, lambda: not shows(app, "older"))


async def test_about_says_first_what_a_case_cannot_run_for(workspace: FakeWorkspace) -> None:
    workspace = FakeWorkspace(workspace.campaigns_dir, hosts=v100_hosts()[:1])
    async with console(workspace, LARGE) as (app, pilot):
        page = await read(app, pilot)
        part = page.focused_marks
        assert part is not None
        cells = [cell for row in page._asked.cells(part) for cell in row]
        for cell in cells:
            about = about_case(part, cell.case, page._asked, app.session.workspace, 0.0)
            refused = f"{cell.case.label} cannot run here: {cell.reason}\n"
            assert str(about.text).startswith(refused) is bool(cell.reason)
            assert ("cannot run" in str(about.text)) is bool(cell.reason)
        assert {bool(cell.reason) for cell in cells} == {True, False}


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
async def test_where_several_profiles_are_marked_each_is_told_before_the_case(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: shows(app, "Matrix · "))
        page = app.screen
        assert isinstance(page, MatrixPage)
        for name in workspace.catalog.names:
            part = page._asked.marks(name)
            page._asked.put(part.with_all(page._asked.snapshots))
        page.pull()
        told = [
            line.plain.split()[0]
            for line in profiles_lines(page._asked, 120, 20)[1:]
            if line.plain.strip()
        ]
        assert len(told) > 1
        assert told == [part.profile.name for part in page._asked.taking_part]
        for width in range(40, 80):
            assert all(one.cell_len <= width for one in profiles_lines(page._asked, width, 20))


async def test_preflights_stop_stays_in_the_frame_until_something_else_is_planned(
    workspace: FakeWorkspace,
) -> None:
    workspace.findings = (FakeFinding("stop", "too full", "", "node1"),)
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: shows(app, "Matrix · "))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StartDialog) and app.screen.stopped)
        await pilot.press("escape")
        await until(pilot, lambda: shows(app, "preflight said stop · "))
        await pilot.press("plus")
        await until(pilot, lambda: not shows(app, "preflight said stop"))
