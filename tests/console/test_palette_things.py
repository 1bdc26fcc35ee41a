"""The palette leads to runs, cases, hosts and lines of the help by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from textual.command import CommandList
from textual.pilot import Pilot

from tests.console.conftest import HUGE, LARGE, SMALL, begin, console, screen_text, shows, until
from tests.console.fakes import FakeWorkspace
from tui.app import DlperfApp
from tui.command_palette import Palette
from tui.palette_things import MOST
from tui.screens.dialogs import Reading
from tui.screens.page import Page
from tui.screens.runs_page import RunsPage


async def look_for(app: DlperfApp, pilot: Pilot[str], words: str) -> list[str]:
    """The lines of what is found."""
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(app.screen, Palette))
    await pilot.press(*words)
    palette = app.screen
    assert isinstance(palette, Palette)
    await until(pilot, lambda: palette._found and palette.query_one(CommandList).option_count)
    return [str(one.prompt) for one in palette.query_one(CommandList).options]


async def choose(app: DlperfApp, pilot: Pilot[str], is_it: Callable[[str], bool]) -> None:
    listed = app.screen.query_one(CommandList)
    at = next(n for n, one in enumerate(listed.options) if is_it(str(one.prompt)))
    listed.highlighted = at
    await pilot.press("enter")


@pytest.mark.parametrize("begun", ["1", "3", "4"])
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("page", ["runs", "results", "hosts"])
async def test_a_name_leads_to_its_row_also_where_a_filter_hides_it(
    workspace: FakeWorkspace, page: str, filtered: bool, begun: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        run = controller.snapshot().runs[-1]
        name, kind, key = {
            "runs": (run.label, "run: ", run.run_id),
            "results": (run.case.label, " case ", run.case.key),
            "hosts": ("node3", "host: ", "node3"),
        }[page]
        digit = {"runs": "3", "results": "4", "hosts": "1"}[page]
        if filtered:
            await pilot.press(digit)
            await until(pilot, lambda: app.current_mode == page)
            await pilot.press("slash", *"zzz", "enter")
        await pilot.press(begun)
        await look_for(app, pilot, name)
        await choose(app, pilot, lambda line: kind in f"{line} " and name in line)
        await until(pilot, lambda: app.current_mode == page and isinstance(app.screen, Page))
        screen = app.screen
        assert isinstance(screen, Page)
        panel = screen.main_panel()
        assert panel is not None
        await until(pilot, lambda: panel.table.current_key == key)
        assert not panel.filter_text


async def test_of_each_kind_there_are_a_few_behind_the_actions_and_the_help_is_last(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3")
        found = await look_for(app, pilot, "node")
        kinds = [
            "help" if line.startswith("help of ") else "host" if "  host: " in line else "action"
            for line in found
            if "not now: " not in line
        ]
        assert kinds == sorted(kinds, key=["action", "host", "help"].index)
        assert 0 < kinds.count("host") <= MOST
        assert 0 < kinds.count("help") <= MOST
        await pilot.press("escape")
        found = await look_for(app, pilot, "n8g")
        assert 0 < sum("  run: " in line for line in found) <= MOST


async def test_a_run_is_found_by_its_name_before_what_could_be_done_to_it(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage) and app.screen.selected)
        assert isinstance(app.screen, RunsPage)
        assert app.screen.selected is not None
        tag = app.screen.selected.case.tag
        found = await look_for(app, pilot, tag)
        assert "  run: " in found[0]
        assert not any("space" in line for line in found), "Mark is found by what it does"
        await pilot.press("escape")
        assert any("space" in line for line in await look_for(app, pilot, f"mark {tag}"))


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
@pytest.mark.parametrize("begun", ["1", "2", "4"])
async def test_a_flag_leads_to_the_line_of_the_help_that_says_what_it_is(
    workspace: FakeWorkspace, begun: str, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await pilot.press(begun)
        found = await look_for(app, pilot, "throt")
        assert any("throttled: a GPU was" in line for line in found)
        await choose(app, pilot, lambda line: "throttled: " in line)
        await until(pilot, lambda: isinstance(app.screen, Reading))
        await until(pilot, partial(shows, app, "throttled: a GPU was slowed"))


async def test_an_action_on_a_run_names_it(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage) and app.screen.selected)
        page = app.screen
        assert isinstance(page, RunsPage)
        await pilot.press("j")
        run = page.selected
        assert run is not None
        name = page.names[run.run_id]
        found = await look_for(app, pilot, "cancel")
        assert any(line.lstrip().startswith(f"Cancel  {name}: ") for line in found), found
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)
        await pilot.press("1")
        found = await look_for(app, pilot, "cancel")
        assert any(line.lstrip().startswith(f"Runs: Cancel  {name}: ") for line in found), found
        assert screen_text(app)


@pytest.mark.parametrize("words", ["sign", "colour", "stop a run", "slow"])
async def test_the_help_of_runs_is_found_by_everyday_words(
    workspace: FakeWorkspace, words: str
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        await pilot.press("3", "?", "slash", *words, "enter")
        await until(pilot, partial(shows, app, f" · {words} · 1 of "))


@pytest.mark.parametrize(("words", "where"), [("copy", "Runs"), ("throttled", "Results")])
async def test_what_the_help_has_not_it_says_which_other_has(
    workspace: FakeWorkspace, words: str, where: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("2", "?", "slash", *words, "enter")
        await until(pilot, partial(shows, app, f"nothing has: {words}"))
        assert "the help of" in screen_text(app)
        assert where in screen_text(app).partition("the help of")[2]
