"""The console goes: what its clock still asks for finds a page that is half gone."""

import asyncio
from contextlib import suppress

import pytest

from tests.console.conftest import LARGE, begin, console
from tests.console.fakes import FakeWorkspace


@pytest.mark.parametrize("page", "1234")
async def test_a_page_that_goes_is_not_brought_up_to_date(
    workspace: FakeWorkspace, page: str
) -> None:
    wrong: list[BaseException] = []
    ticks = 0

    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=1)
        await pilot.pause()
        await pilot.press(page)
        shown = app.screen

        async def clock() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1
                try:
                    shown.tick()
                    if app.screen_stack:
                        for key in "dcwtf":
                            app._why_nothing(key)
                        app._tell()
                        shown.tell_no_more()
                except Exception as error:
                    wrong.append(error)
                    return

        going = asyncio.create_task(clock())
    going.cancel()
    with suppress(asyncio.CancelledError):
        await going
    assert ticks
    assert not wrong
