"""The palette of actions looks like every other dialog."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.command import CommandList

from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    begin,
    console,
    screen_text,
    shows,
    until,
)
from tests.console.fakes import FakeWorkspace
from tui.command_palette import AROUND, CHANGES_PLAN, KEY, WIDEST, Palette, beyond, brief
from tui.key_bindings import PANELS, key_name


@pytest.mark.parametrize("typed", ["", "zx"])
@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_it_has_one_whole_frame_and_looks_for_actions(
    workspace: FakeWorkspace, size: tuple[int, int], typed: str
) -> None:
    async with console(workspace, size) as (app, pilot):
        await pilot.press("2", "ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Palette) and shows(app, "Dry-run"))
        assert shows(app, "Search for actions, runs, cases, hosts, help …")
        assert not shows(app, "for commands")
        if typed:
            await pilot.press(*typed)
            await until(pilot, lambda: shows(app, "Nothing has these words"))
        box = app.screen.query_one("#--input").region
        assert box.width >= min(160, size[0] * 96 // 100)
        lines = [line[box.x : box.right] for line in screen_text(app).splitlines()[box.y :]]
        end = next(n for n, line in enumerate(lines) if line.startswith("╰"))
        assert lines[0].replace("─", "") == "╭╮"
        assert lines[end].replace("─", "") == "╰╯"
        assert end > 1
        assert all(line[0] == line[-1] == "│" for line in lines[1:end])


@pytest.mark.parametrize("dialog", [False, True])
async def test_in_a_dialog_it_says_that_only_the_dialogs_own_actions_are_found(
    workspace: FakeWorkspace, dialog: bool
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        await pilot.press("2", *["question_mark"] * dialog)
        await until(pilot, lambda: app.screen.is_modal is dialog)
        await pilot.press("ctrl+p", *"theme")
        await until(pilot, lambda: shows(app, "Theme") or shows(app, "Nothing has these words"))
        assert shows(app, "Theme") is not dialog
        told = " ".join(screen_text(app).replace("│", " ").split())
        assert ("in a dialog only its own actions are found. Leave it, with Esc" in told) is dialog


@pytest.mark.parametrize("typed", ["", "r"])
@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_an_action_has_a_row_with_what_it_does_and_its_key_in_a_column_at_the_right(
    workspace: FakeWorkspace, size: tuple[int, int], typed: str
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3", "ctrl+p", *typed)
        await until(pilot, lambda: isinstance(app.screen, Palette))
        listed = app.screen.query_one(CommandList)
        await until(pilot, lambda: listed.option_count and listed.region.height > 2)
        room = listed.scrollable_content_region
        lines = [
            line[listed.region.x + 1 : listed.region.right - 1]
            for line in screen_text(app).splitlines()[room.y : room.bottom]
        ]
        assert len(lines) >= min(listed.option_count, room.height)
        keys = {key_name(key) for panel in PANELS.values() for key in panel.keys}
        ends = {
            len(line.rstrip("▁▂▃▄▅▆▇█ "))
            for line in lines
            if line.rstrip("▁▂▃▄▅▆▇█ ").split("  ")[-1] in keys
        }
        assert len(ends) == 1, lines
        assert re.match(r"  \S.*  \S.*  \S+", lines[0])
        assert not any("\n" in str(one.prompt) for one in listed.options)


@pytest.mark.parametrize(("page", "of_row"), [("1", "r s z"), ("3", "c space f")])
async def test_what_concerns_the_row_under_the_cursor_comes_first(
    workspace: FakeWorkspace, page: str, of_row: str
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press(page, "ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Palette) and app.screen._found)
        listed = app.screen.query_one(CommandList)
        await until(pilot, lambda: listed.option_count)
        keys = [str(one.prompt).splitlines()[0].split()[-1] for one in listed.options]
        assert keys[:3] == of_row.split()


@pytest.mark.parametrize(("word", "found"), [("placement", "Linked"), ("topology", "Hosts: Zoom")])
async def test_what_a_key_is_for_is_found_by_the_fields_word(
    workspace: FakeWorkspace, word: str, found: str
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        await pilot.press("2", "ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Palette) and shows(app, "Dry-run"))
        await pilot.press(*word)
        await until(pilot, lambda: shows(app, found))


@pytest.mark.parametrize(
    ("page", "named"), [("2", "One more repeat of each case  "), ("3", "Matrix: One m")]
)
async def test_a_repeat_more_is_called_so_and_not_by_the_word_that_the_footer_has_room_for(
    workspace: FakeWorkspace, page: str, named: str
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: shows(app, "Matrix · "))
        await pilot.press(page, "ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Palette))
        await pilot.press(*"one more")
        await until(pilot, lambda: shows(app, named))
        assert not shows(app, "More  ")


@pytest.mark.parametrize("typed", ["exp", "re", "s", "p"])
async def test_what_changes_a_plan_elsewhere_comes_after_all_else_and_says_so(
    workspace: FakeWorkspace, typed: str
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press("4", "2", "3", "ctrl+p", *typed)
        await until(pilot, lambda: isinstance(app.screen, Palette) and app.screen._found)
        listed = app.screen.query_one(CommandList)
        await until(pilot, lambda: listed.option_count)
        told = [
            str(option.prompt)
            for option in listed.options
            if not re.search(r"not now: |^\s*help of |  (run|host): |  case  ", str(option.prompt))
        ]
        changes = ["changes the plan: " in one for one in told]
        assert changes == sorted(changes), told
        assert all(
            one.strip().startswith("Matrix: ")
            for one, is_so in zip(told, changes, strict=True)
            if is_so
        )


@pytest.mark.parametrize("page", ["runs", "results", "matrix", "hosts"])
def test_what_is_said_of_an_action_is_more_than_its_name(page: str) -> None:
    for key in PANELS[page].keys:
        name = key.named or key.label
        for label in (name, f"Runs: {name}"):
            for before in ("", CHANGES_PLAN):
                said = beyond(key, label, before + key.help).removeprefix(CHANGES_PLAN)
                assert said.casefold() != name.casefold()
    (key,) = (one for one in PANELS["runs"].keys if one.action == "schedule")
    assert "hosts over time" in beyond(key, "Schedule", key.help)
    assert beyond(key, "Close schedule", key.help) == "chart, telemetry and log"


@given(st.lists(st.text("abc", min_size=1), min_size=1), st.integers(4, 60), st.data())
def test_what_an_action_does_is_told_in_whole_clauses_and_a_cut_has_its_mark(
    found: list[str], room: int, data: st.DataObject
) -> None:
    between = st.sampled_from([" ", "; ", ", ", ". ", ": "])
    words = found[0] + "".join(data.draw(between) + word for word in found[1:])
    told = brief(words, room)
    assert len(told) <= room
    assert told.endswith("…") is (told != words)
    kept = told.removesuffix("…").rstrip()
    assert words.startswith(kept)
    assert not kept or words[len(kept) :][:1] in ("", " ", *";.")
    clause = re.split(r"[;.] ", words)[0]
    if told != words and len(clause) + 2 <= room:
        assert words[len(kept)] in ";."


def test_what_actions_do_has_room_at_200_columns() -> None:
    told = {key.help: key.label for one in PANELS.values() for key in one.keys if key.palette}
    for words, label in told.items():
        assert brief(words, WIDEST - AROUND - KEY - len(f"{label}  ")) == words
