"""The line of the pages, which has the latest of a campaign's notes."""

from __future__ import annotations

from io import StringIO
from unittest.mock import PropertyMock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from textual.geometry import Size
from textual.widgets import Static

from tests.console.conftest import LARGE, SMALL, console, screen_text, until
from tests.console.fakes import FakeWorkspace
from tui.screens.dialogs import Notes
from tui.screens.help import AllNotes, all_notes
from tui.text import clock_time, with_ends
from tui.widgets.header import Tabs


@given(
    note=st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=200),
    more=st.integers(0, 12),
    width=st.sampled_from([80, 100, 120, 160]),
)
@settings(deadline=None, max_examples=60)
def test_the_line_of_the_pages_says_how_many_notes_more_there_are_and_where(
    note: str, more: int, width: int
) -> None:
    with patch.object(Tabs, "size", PropertyMock(return_value=Size(width, 1))):
        tabs = Tabs("results")
        tabs.set_reactive(Tabs.note, note)
        tabs.set_reactive(Tabs.more, more)
        line = tabs.render().plain.rstrip()
    assert cell_len(line) <= width
    assert line.endswith(f" · N: {more} more") is (more > 0)
    if f"▲ {note}" not in line:
        assert "…" in line
        assert " · N" in line


@given(
    folders=st.lists(st.text("abc-_", min_size=1, max_size=30), min_size=1, max_size=4),
    said=st.text("abc ", min_size=1, max_size=120),
    width=st.integers(60, 200),
)
def test_a_note_about_a_log_keeps_the_end_of_its_name(
    folders: list[str], said: str, width: int
) -> None:
    note = f"{'/'.join(folders)}/x_r3.log: {said}"
    shown = with_ends(note, width)
    assert cell_len(shown) <= width
    assert "_r3.log: " in shown
    assert (shown == note) is (cell_len(note) <= width)


@given(
    path=st.from_regex(r"logs/[a-z0-9_.-]{1,60}_2_2\.log", fullmatch=True),
    words=st.sampled_from(["missing", "was changed", "missing on 2 hosts"]),
    rest=st.text("abc ", max_size=60),
    more=st.integers(0, 12),
)
@settings(deadline=None)
def test_a_note_about_a_log_says_what_is_wrong_with_it_before_its_path_is_cut(
    path: str, words: str, rest: str, more: int
) -> None:
    with patch.object(Tabs, "size", PropertyMock(return_value=Size(80, 1))):
        tabs = Tabs("results")
        tabs.set_reactive(Tabs.note, f"{path}: {words}; {rest}")
        tabs.set_reactive(Tabs.more, more)
        line = tabs.render().plain
    assert words in line
    assert cell_len(line.rstrip()) <= 80


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_the_frame_of_notes_says_what_their_times_are_since(
    workspace: FakeWorkspace, size: tuple[int, int], *, simulated: bool
) -> None:
    notes = tuple((float(at), "warn", f"missing {at}") for at in range(100))
    async with console(workspace, size) as (app, pilot):
        app.push_screen(Notes(lambda: AllNotes(notes, 0.0, "", (), simulated)))
        await until(pilot, lambda: "missing 99" in screen_text(app))
        await pilot.press("G")
        await until(pilot, lambda: "missing 0 " in screen_text(app))
        assert f"times since {clock_time(0.0)}" in screen_text(app)
        assert ("in simulated time" in screen_text(app)) is simulated


async def test_the_notes_are_as_wide_as_the_terminal_and_cut_no_path(
    workspace: FakeWorkspace,
) -> None:
    path = f"logs/pytorch/{'resnet50-v1.5_' * 20}b256_amp_1.log"
    async with console(workspace, LARGE) as (app, pilot):
        told = AllNotes(((0.0, "warn", f"{path}: missing"),), 0.0, "", ())
        app.push_screen(Notes(lambda: told))
        await until(pilot, lambda: isinstance(app.screen, Notes))
        await pilot.pause()
        shown = app.screen.query_one("#reading", Static)
        assert shown.size.width > 0.85 * app.size.width
        console_ = Console(width=shown.size.width, record=True, file=StringIO())
        console_.print(all_notes(told))
        assert path in "".join(console_.export_text().split()).replace("+0swarn", "")
