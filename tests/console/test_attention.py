"""The console rings for what a campaign tells its operator, once, and never with their escapes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from backends.campaign.record import events as ev
from backends.inventory.notify_settings import NotifySettings
from tests.console.conftest import LARGE, begin, console, until
from tests.console.fakes import FakeWorkspace
from tui import app as console_app


@pytest.mark.parametrize("asked", [True, False])
async def test_it_rings_once_for_what_was_told_since_it_opened(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    written: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "write", lambda self, data: written.append(data))
    monkeypatch.setattr(console_app, "FOLLOW_S", 0.01)
    if asked:
        settings = NotifySettings(terminal="osc9")
        workspace.inventory = replace(workspace.inventory, notify=settings)
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        for t, key, text in (
            (workspace.clock() - 9, "old", "long ago"),
            (workspace.clock(), "new", "node1 \x1b]0;x\x07 failed"),
        ):
            controller._apply(ev.Told(t=t, key=key, occasion="failure", text=text))
        if asked:
            await until(pilot, lambda: "\x1b]9;" in "".join(written))
        for _ in range(20):
            await pilot.pause(0.01)
    rung = [data for data in written if data.startswith("\a")]
    assert len(rung) == asked
    assert not asked or rung[0].count("\x1b") == 1
    assert not asked or rung[0].startswith("\a\x1b]9;node1 ")
