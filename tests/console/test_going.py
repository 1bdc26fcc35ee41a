"""The console goes: what its clock still asks for finds a page that is half gone."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from textual.worker import WorkerFailed

from tests.console.conftest import LARGE, begin, console
from tests.console.fakes import FakeWorkspace
from tui.app import DlperfApp
from tui.console_fault import _fault_of
from tui.session import Session


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


@pytest.mark.parametrize("keys", ["1", "2", "3", "4", "O", "?", "N", "4e", "3?"])
@pytest.mark.parametrize("how", ["quit", "escape"])
async def test_what_a_page_or_a_dialog_has_at_work_ends_before_its_widgets_go(
    workspace: FakeWorkspace, keys: str, how: str
) -> None:
    """Its worker looks as often as the loop lets it, so at every moment at which one may go on."""
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=1)
        await pilot.press(*keys)
        shown = app.screen
        widgets = list(shown.children)

        async def look() -> None:
            while True:
                assert list(shown.children) == widgets
                await asyncio.sleep(0)

        worker = shown.run_worker(look())
        await pilot.pause()
        assert worker.is_running
        if how == "escape" and shown.is_modal:
            await pilot.press("escape")
            assert app.screen is not shown
    assert worker.is_cancelled


async def test_of_a_fault_in_a_worker_the_fault_itself_is_told(workspace: FakeWorkspace) -> None:
    async def broken() -> None:
        raise LookupError("made for a test")

    app = DlperfApp(workspace)

    async def sit() -> None:
        async with app.run_test():
            app.screen.run_worker(broken())
            await asyncio.sleep(0.01)

    with pytest.raises(WorkerFailed):
        await sit()
    assert isinstance(app.fault, LookupError)
    assert app.fault.__traceback__ is not None


@pytest.mark.parametrize("ended", ["console", "replay"])
async def test_a_fault_names_what_ended_by_it(
    workspace: FakeWorkspace, ended: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = Session(workspace)
    session.playing = (lambda: "▶") if ended == "replay" else None
    fault = await _fault_of(session, LookupError("made for a test"))
    assert str(fault).startswith(f"the {ended} ended by a fault of its own, LookupError")
