from __future__ import annotations

from tests.console.conftest import HUGE, console, screen_text, shows, until
from tests.console.fakes import FakeWorkspace
from tui.matrix_about import about_case
from tui.matrix_below import marked_lines
from tui.matrix_marks import marked_cases
from tui.screens.matrix_page import MatrixPage

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
        await pilot.press("n")
        await until(pilot, lambda: not shows(app, SAID))
