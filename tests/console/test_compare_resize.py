"""Panels of Compare are filled for the widths that they have, in whatever order those came."""

from __future__ import annotations

from random import Random

import pytest
from rich.text import Text
from textual import events
from textual.geometry import Size
from textual.pilot import Pilot

from tests.console.conftest import HUGE, LARGE, SMALL, console, screen_text, settled, until
from tests.console.fakes import FakeWorkspace
from tests.console.test_bursts import SEED
from tests.console.test_compare import open_compare
from tests.console.test_compare_layout import MANY, several
from tui.app import DlperfApp
from tui.screens.compare_screen import VIEWS
from tui.widgets.details import Details

SIZES = (SMALL, LARGE, (160, 24), HUGE, (96, 30))


def resize(app: DlperfApp, size: tuple[int, int]) -> None:
    """Waits for nothing, as a terminal does."""
    app._driver._size = size  # type: ignore[union-attr]
    app.post_message(events.Resize(Size(*size), Size(*size)))


async def resized(app: DlperfApp, pilot: Pilot[str]) -> None:
    await settled(app)
    await until(pilot, lambda: app._resize_event is None and app._resize_timer is None)
    await until(pilot, lambda: app.screen._compositor.size == app.size)


def key(app: DlperfApp, name: str) -> None:
    app.post_message(events.Key(name, name))


@pytest.mark.parametrize("seed", range(2))
async def test_zoom_view_and_resize_in_any_order_end_as_a_fresh_screen_of_that_size(
    workspace: FakeWorkspace, seed: int
) -> None:
    await several(workspace, 2, MANY)
    random = Random(SEED + seed)
    async with console(workspace, SMALL) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        for _ in range(4):
            for _ in range(random.randint(1, 4)):
                typed = random.choice(("z", "v", *SIZES))
                key(app, typed) if isinstance(typed, str) else resize(app, typed)
                if random.random() < 0.3:
                    await resized(app, pilot)
            await resized(app, pilot)
            app.clear_notifications()
            await settled(app)
            size, (view, alone) = app.size, (screen._view, screen._alone)
            shown = screen_text(app)
            async with console(workspace, (size.width, size.height)) as (fresh, other):
                compared = await open_compare(fresh, other, 2)
                compared._view = view
                compared._zoom(alone)
                await settled(fresh)
                compared._fill()
                await settled(fresh)
                assert shown == screen_text(fresh), (size, view, alone)


async def test_a_resize_while_the_zoom_is_taken_away_fills_every_panel(
    workspace: FakeWorkspace,
) -> None:
    await several(workspace, 2, MANY)
    async with console(workspace, SMALL) as (app, pilot):
        await open_compare(app, pilot, 2)
        await pilot.press("c", "v", "z")
        key(app, "z")
        resize(app, LARGE)
        await resized(app, pilot)
        shown = screen_text(app)
        await pilot.press("j", "k")
        assert shown == screen_text(app), VIEWS


async def test_redraw_fills_every_panel_anew_whatever_is_in_it(workspace: FakeWorkspace) -> None:
    await several(workspace, 2, MANY)
    async with console(workspace, LARGE) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        shown = screen_text(app)
        screen.query_one("#verdict", Details).show("Verdict", Text("filled for another width"))
        await settled(app)
        assert shown != screen_text(app)
        await pilot.press("ctrl+l")
        assert shown == screen_text(app)


async def test_keys_of_the_console_and_of_pages_say_in_compare_why_they_do_nothing(
    workspace: FakeWorkspace,
) -> None:
    await several(workspace, 2, MANY)
    async with console(workspace, LARGE) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        for typed in ("1", "2", "3", "4", "O", "N", "T", "R", "p"):
            app.clear_notifications()
            await pilot.press(typed)
            assert app.screen is screen
            assert len(app._notifications) == 1, typed
        await pilot.press("1")
        said = "1 Hosts: Compare has no such key; Esc closes it"
        assert said in screen_text(app)


async def test_q_closes_compare_and_the_campaigns_and_quits_only_from_a_page(
    workspace: FakeWorkspace,
) -> None:
    await several(workspace, 2, MANY)
    async with console(workspace, LARGE) as (app, pilot):
        page = app.screen
        screen = await open_compare(app, pilot, 2)
        await pilot.press("q")
        await until(pilot, lambda: app.screen is not screen)
        campaigns = app.screen
        assert campaigns is not page
        await pilot.press("q")
        await until(pilot, lambda: app.screen is page)
        await pilot.press("O")
        await until(pilot, lambda: app.screen is not page)
        await settled(app)
        campaigns = app.screen
        await pilot.press("slash", "q")
        assert app.screen is campaigns, "where text is typed it is text"
