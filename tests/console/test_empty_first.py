"""Pages that were opened while there was nothing to show."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from backends.campaign.plan.selection import Selection
from tests.console.conftest import (
    HUGE,
    LARGE,
    ONEFLOW,
    SMALL,
    begin,
    console,
    screen_text,
    shows,
    tick,
    until,
)
from tests.console.fakes import START, FakeSummary, FakeWorkspace
from tui.app import DlperfApp
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


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
@pytest.mark.parametrize("page", ["3", "4"])
async def test_without_a_campaign_the_last_one_is_named_and_the_keys_that_are_told_open_it(
    workspace: FakeWorkspace, page: str, size: tuple[int, int]
) -> None:
    names = ("2026-11-20-new", "2026-11-19-old")
    for name in names:
        plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 1))
        path = workspace.controller(plan, name).path
        workspace.summaries.append(FakeSummary(name, path, "finished", 1, 1, START - 7200))
    async with console(workspace, size) as (app, pilot):
        await pilot.press(page)
        said = "O, then Enter, opens the last: 2026-11-20-new (oneflow-resnet50 1n1g, 1 of 1 runs"
        await until(pilot, lambda: said in unwrapped(app))
        assert "begun 2h ago" in unwrapped(app)
        await pilot.press("O")
        await until(pilot, partial(shows, app, names[1]))
        await pilot.press("enter")
        await until(pilot, lambda: app.session.viewed is not None)
        assert app.session.viewed is not None
        assert app.session.viewed.name == names[0]
        tick(app)
        await until(pilot, lambda: not shows(app, "No campaign is open"))


def unwrapped(app: DlperfApp) -> str:
    return " ".join(screen_text(app).replace("│", " ").split())
