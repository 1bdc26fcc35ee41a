"""Pages that were opened while there was nothing to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.console.conftest import begin, console, tick
from tests.console.fakes import FakeWorkspace
from tui.widgets.keyed_table import KeyedTable


@pytest.mark.parametrize("page", ["3", "4"])
async def test_a_page_that_was_opened_empty_fills_when_a_campaign_starts(
    tmp_path: Path, page: str
) -> None:
    workspace = FakeWorkspace(tmp_path)
    async with console(workspace, (80, 24)) as (app, pilot):
        await pilot.press(page)
        await pilot.pause()
        table = app.screen.query(KeyedTable).first()
        assert not table.shown_keys
        await pilot.press("2")
        begin(app, workspace)
        await pilot.press(page)
        for _ in range(3):
            tick(app)
            await pilot.pause()
        assert table.shown_keys
        assert table.display
        assert table.size.width > 0
