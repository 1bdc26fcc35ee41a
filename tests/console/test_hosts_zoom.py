from __future__ import annotations

import pytest

from tests.console.conftest import SMALL, console, screen_text, until
from tests.console.fakes import FakeWorkspace
from tui.widgets.host_detail import HostDetail
from tui.widgets.keyed_table import KeyedTable


async def test_the_details_alone_take_the_page_and_all_of_them_can_be_reached(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        detail, table = app.screen.query_one(HostDetail), app.screen.query_one(KeyedTable)
        before = detail.size.height
        assert "z Zoom" in screen_text(app)
        for back in ("z", "escape", "slash"):
            await pilot.press("z")
            await until(pilot, lambda: detail.size.height > before + 3)
            assert app.focused is detail
            assert "z All panels" in screen_text(app)
            await pilot.press("G")
            await until(pilot, lambda: detail.scroll_y == detail.max_scroll_y)
            await pilot.press(back)
            await until(pilot, lambda: table.size.height)
            assert table.has_focus or back == "slash"


@pytest.mark.parametrize("zoomed", [False, True])
async def test_back_in_the_list_the_details_begin_at_their_top(
    workspace: FakeWorkspace, zoomed: bool
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        detail, table = app.screen.query_one(HostDetail), app.screen.query_one(KeyedTable)
        await pilot.press(*"z" * zoomed, "enter", "G")
        await until(pilot, lambda: detail.scroll_y == detail.max_scroll_y > 0)
        await pilot.press("escape")
        await until(pilot, lambda: table.has_focus)
        await until(pilot, lambda: detail.scroll_y == 0)
        await pilot.press("enter", "G")
        await until(pilot, lambda: detail.scroll_y > 0)
        await pilot.press("shift+tab", "j")
        await until(pilot, lambda: detail.scroll_y == 0)


@pytest.mark.parametrize("lines", [10, 12, 14, 15, 16])
async def test_the_host_under_the_cursor_is_in_sight_however_small_the_terminal(
    workspace: FakeWorkspace, lines: int
) -> None:
    async with console(workspace, (40, lines)) as (app, pilot):
        table = app.screen.query_one(KeyedTable)
        for _ in range(table.row_count):
            name = str(table.current_key)
            panel = app.screen.query_one("#hosts-panel").region
            rows = screen_text(app).splitlines()[panel.y + 1 : panel.bottom - 1]
            assert any(name in row for row in rows)
            await pilot.press("j")
