from __future__ import annotations

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
