"""The frame that is seen while the first page is made."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

from tests.console.conftest import LARGE, SMALL, Operator, screen_text, type_ahead, until
from tests.console.fakes import FakeWorkspace
from tests.console.test_bursts import key_event
from tui import typed_ahead
from tui.app import DlperfApp
from tui.key_bindings import PAGES, PANELS
from tui.screens import opening
from tui.screens.opening import Opening
from tui.screens.page import Page


@pytest.mark.parametrize("size", [SMALL, LARGE, (20, 4)])
async def test_the_lines_above_the_page_are_painted_before_it_is_made(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    painted: list[type[Screen[Any]]] = []
    seen: list[str] = []
    display, new_page = DlperfApp._display, DlperfApp.new_page

    def noted(app: DlperfApp, screen: Screen[Any], renderable: Any) -> None:
        painted.append(type(screen))
        display(app, screen, renderable)

    def made(app: DlperfApp, name: str) -> Screen[None]:
        assert set(painted) == {Opening}
        seen.append(screen_text(app))
        return new_page(app, name)

    monkeypatch.setattr(DlperfApp, "_display", noted)
    monkeypatch.setattr(DlperfApp, "new_page", made)
    app = DlperfApp(workspace, frame_first=True)
    async with app.run_test(size=size):
        pilot = Operator(app)
        await until(pilot, lambda: isinstance(app.screen, Page) and app.screen.whole)
        await until(pilot, lambda: workspace.probed)
        for words in ("dlperf-tui", "1 Hosts", "Opening …"):
            assert words in seen[0]
        assert "Opening …" not in screen_text(app)
        assert opening.MODE not in app._screen_stacks
        assert painted[-1] is type(app.screen)


@pytest.mark.parametrize("keys", [("3",), ("2", "j"), ("?",), ("3", "1")])
async def test_a_key_that_is_typed_before_the_page_is_there_is_for_the_page(
    workspace: FakeWorkspace, keys: tuple[str, ...]
) -> None:
    ends = []
    for frame_first in (True, False):
        app = DlperfApp(workspace, frame_first=frame_first)
        async with app.run_test(size=LARGE):
            pilot = Operator(app)
            await type_ahead(app, pilot, *keys)
            await until(pilot, lambda app=app: app.current_mode != opening.MODE)
            await pilot.pause()
            ends.append((app.current_mode, [type(one) for one in app.screen_stack]))
    assert ends[0] == ends[1]


async def test_who_quits_meanwhile_has_quit(workspace: FakeWorkspace) -> None:
    app = DlperfApp(workspace, frame_first=True)
    async with app.run_test(size=LARGE):
        app.exit("said")
        await asyncio.sleep(0)
    assert app.return_value == "said"
    assert app._exception is None


async def test_no_key_that_waited_too_long_goes_to_what_has_no_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a disk takes seconds to give the modules of the first page."""
    monkeypatch.setattr(typed_ahead, "PATIENCE_S", 0.0)
    typed = ""

    def mounted(screen: Opening) -> None:
        screen.app.post_message(key_event(typed))

    monkeypatch.setattr(Opening, "on_mount", mounted, raising=False)
    named = dict.fromkeys(key.keys.partition(",")[0] for key in PANELS["app"].keys)
    for typed in (*named, "question_mark"):
        app = DlperfApp(FakeWorkspace(tmp_path / typed), frame_first=True)
        async with app.run_test(size=LARGE):
            pilot = Operator(app)
            await until(pilot, lambda app=app: app.current_mode in PAGES)
            await pilot.pause()
        assert app._exception is None, typed
