"""The details of a run are there whole, whatever became of a layout that was asked for."""

from __future__ import annotations

import pytest
from textual.geometry import Size

from tests.console.conftest import HUGE, SMALL, begin, console, settled, until
from tests.console.fakes import FakeWorkspace
from tests.console.test_runs import open_runs
from tui.widgets.shown_text import ShownText


@pytest.mark.parametrize("size", [SMALL, HUGE], ids=str)
async def test_details_that_have_lost_their_lines_get_them_though_they_say_the_same(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace, ("1n1g",), repeats=1)
        workspace.clock.tick(3600)
        page = await open_runs(app, pilot)
        page.panels.view = "details"
        page.tick()
        await settled(app)
        details = page.panels.beside if page.panels.beside.display else page.panels.details
        shown = details.query_one(ShownText)
        whole = shown.size.height
        assert whole > 3
        shown.styles.height = 1
        await until(pilot, lambda: shown.size == Size(shown.size.width, 1))
        shown.styles.inline._rules.pop("height")  # and nobody hears of it
        page.tick()
        await until(pilot, lambda: shown.size.height == whole)
