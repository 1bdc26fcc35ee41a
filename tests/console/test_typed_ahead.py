"""What is typed faster than the console draws."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from textual.app import App
from textual.events import Key
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.widgets import Input

from backends.campaign.folder.tags_and_note import About
from backends.campaign.plan.selection import Selection
from tests.console.conftest import (
    LARGE,
    ONEFLOW,
    begin,
    console,
    screen_text,
    settled,
    shows,
    tick,
    type_ahead,
    until,
)
from tests.console.fakes import FakeSummary, FakeWorkspace, unprobed
from tests.console.test_campaigns import prepared
from tests.console.test_matrix_choices import one_case_marked, open_matrix
from tui import typed_ahead
from tui.command_palette import Palette
from tui.key_bindings import PANELS
from tui.screens.campaign_list import CampaignList
from tui.screens.compare_screen import Compare
from tui.screens.dialogs import Choice, Dialog, Prompt, Reading
from tui.screens.dry_run import DryRunView
from tui.screens.export_sheet import ExportSheet
from tui.screens.front_screen import REFRESH_S
from tui.screens.matrix_page import MatrixPage
from tui.screens.page import Page
from tui.screens.precheck_dialog import PrecheckDialog
from tui.screens.repeats import Repeats
from tui.screens.start_dialog import StartDialog
from tui.typed_ahead import TypedAhead


async def test_a_case_can_be_typed_and_taken_in_one_go(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await type_ahead(app, pilot, *"c4n2g", "enter")
        assert app.screen is page
        assert page.focused_marks is not None
        assert "4n2g" in page.focused_marks.tags
        assert "4n2g" in screen_text(app)
        assert not workspace.started


async def test_letters_typed_ahead_of_a_text_prompt_arrive_in_it(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        marks = page.focused_marks
        await type_ahead(app, pilot, *"c3n1gxy")
        assert isinstance(app.screen, Prompt)
        assert app.screen.query_one(Input).value == "3n1gxy"
        assert page.focused_marks == marks


async def test_the_page_has_what_follows_a_dialog_that_was_left(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await type_ahead(app, pilot, "c", "escape", "o", "escape", "3")
        assert app.current_mode == "runs"


async def test_a_list_of_marks_takes_what_was_typed_ahead(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await type_ahead(app, pilot, "o", "n", "j", "space", "enter")
        assert app.screen is page
        assert page._asked.hosts == "node2"


async def test_a_second_enter_starts_nothing_that_was_not_shown(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await type_ahead(app, pilot, "enter", "enter", "F", "enter")
        assert isinstance(app.screen, StartDialog)
        assert not workspace.started
        await pilot.press("enter")
        await until(pilot, lambda: workspace.started)


async def test_enter_and_escape_in_quick_succession(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await type_ahead(app, pilot, *("enter", "escape") * 6)
        assert app.screen is page
        assert not workspace.started


async def test_a_page_that_was_not_drawn_yet_asks_before_it_starts(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        await one_case_marked(app, pilot)  # which Enter starts without a question
        page = app.screen
        await pilot.press("1")
        await type_ahead(app, pilot, "2", "enter")
        assert isinstance(app.screen, StartDialog)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)
        assert not workspace.started
        await type_ahead(app, pilot, "space", "space", "enter")
        assert isinstance(app.screen, StartDialog)
        assert not workspace.started


async def test_an_answer_typed_ahead_of_its_question_is_none(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        await pilot.press("3")
        await type_ahead(app, pilot, "c", "y", "enter", "n")
        assert isinstance(app.screen, Choice)
        assert not controller.cancelled
        await pilot.press("y")
        await until(pilot, lambda: controller.cancelled)


async def test_quitting_is_answered_only_when_asked(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        await type_ahead(app, pilot, *"qcd", "enter")
        assert isinstance(app.screen, Choice)
        assert not controller.cancelled
        assert not workspace.closed


@pytest.mark.parametrize("down", range(3))
async def test_a_campaign_is_opened_by_keys_typed_before_the_list_was_read(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, down: int
) -> None:
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 1))
    paths = [workspace.controller(plan, f"2026-11-2{day}-resnet50").path for day in (3, 2, 1)]
    workspace.summaries = [FakeSummary(path.name, path, "finished", 1, 1) for path in paths]
    read = asyncio.Event()

    async def campaigns() -> Sequence[FakeSummary]:
        await read.wait()
        return workspace.summaries

    async with console(workspace) as (app, pilot):
        monkeypatch.setattr(app.session, "campaigns", campaigns)
        for key in ("O", *"j" * down, "enter"):
            app.post_message(Key(key, "\r" if key == "enter" else key))
        await until(Pilot(app), lambda: isinstance(app.screen, CampaignList))
        read.set()
        await until(pilot, lambda: app.session.opened)
        assert app.session.viewed_path == paths[down]


@pytest.mark.parametrize(("key", "title"), [("t", "Tags"), ("n", "Note")])
async def test_tags_and_a_note_can_be_typed_in_one_go_with_the_way_to_their_campaign(
    workspace: FakeWorkspace, key: str, title: str
) -> None:
    workspace.summaries = [FakeSummary(n, Path(f"/c/{n}"), "finished", 1, 1) for n in ("a", "b")]
    async with console(workspace) as (app, pilot):
        await type_ahead(app, pilot, "O", "j", key, *"v100")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        prompt = app.screen
        assert isinstance(prompt, Prompt)
        assert prompt._title == title
        assert " b" in prompt._text.plain
        assert prompt.query_one(Input).value == "v100"
        await pilot.press("enter")  # not in the same go: what was said before is seen first
        said = "b is tagged v100" if key == "t" else "b has its note"
        await until(pilot, partial(shows, app, said))
        assert [bool(one.about.tags or one.about.note) for one in workspace.summaries] == [
            False,
            True,
        ]


@pytest.mark.parametrize("said", [False, True])
@pytest.mark.parametrize("key", ["t", "n"])
async def test_enter_of_a_burst_takes_tags_and_a_note_where_none_were_said_before(
    workspace: FakeWorkspace, key: str, said: bool
) -> None:
    about = About(tags=("base",), note="base") if said else About()
    saved = "a is tagged" if key == "t" else "a has its note"
    workspace.summaries = [FakeSummary("a", Path("/c/a"), "finished", 1, 1, about=about)]
    async with console(workspace) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        await type_ahead(app, pilot, key, *"v100x", "enter", *"jk")
        await until(pilot, lambda: isinstance(app.screen, Prompt if said else CampaignList))
        if said:
            assert app.screen.query_one(Input).value == "v100x"  # and j and k, which were for then
            await pilot.press(*"j", "enter")
            await until(pilot, partial(shows, app, saved))
        else:
            await until(pilot, partial(shows, app, saved))
        told = workspace.summaries[0].about
        assert "v100x" + "j" * said in (*told.tags, told.note)


async def test_a_key_that_acts_at_once_on_what_was_not_shown_yet_says_so_truly(
    workspace: FakeWorkspace,
) -> None:
    workspace.summaries = [FakeSummary(n, Path(f"/c/{n}"), "live", 0, 1) for n in ("a", "b")]
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "▶ live"))
        await type_ahead(app, pilot, "j", "r")
        assert isinstance(app.screen, CampaignList)
        await until(
            pilot, partial(shows, app, "r Resume: not taken: the screen had only just changed")
        )


async def test_a_campaign_is_asked_for_at_once_before_it_is_removed(
    workspace: FakeWorkspace,
) -> None:
    paths = [(await prepared(workspace, "finished", name)).path for name in ("a", "b")]
    workspace.summaries = [FakeSummary(p.name, p, "finished", 1, 1) for p in paths]
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        await type_ahead(app, pilot, "j", "d", "y")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        question = app.screen
        assert isinstance(question, Choice)
        await until(pilot, partial(shows, app, "y: not taken: the screen had only just changed"))
        assert len(workspace.summaries) == 2


MARKING = ("space", "x", "a", "n")


KEYS = st.lists(st.sampled_from((*MARKING, "j", "k", "l", "tab")), min_size=1, max_size=6)
QUICK = (Phase.explicit, Phase.generate)


@example(keys=["n", "k", "a", "tab", "space", "x"])
@given(keys=KEYS)
@settings(max_examples=5, deadline=None, phases=QUICK)
def test_no_key_marks_what_was_not_there_when_it_was_typed(keys: list[str]) -> None:
    """Before the hosts of a Matrix that was seen without them had answered."""

    async def marks() -> tuple[object, object]:
        with tempfile.TemporaryDirectory() as directory:
            workspace = FakeWorkspace(Path(directory))
            async with console(workspace) as (app, pilot):
                workspace._hosts = unprobed(workspace._answers)
                await pilot.press("2")
                typed = [Key(key, {"space": " "}.get(key, key)) for key in keys]
                await workspace.probe()
                tick(app)
                for event in typed:
                    app.post_message(event)
                await settled(app)
                page = app.screen
                assert isinstance(page, MatrixPage)
                if set(keys) & set(MARKING):
                    assert any("not marked" in one.message for one in app._notifications)
                await pilot.press("tab")  # what it takes to be shown marked by itself
                return page._asked.plan and page._asked.plan.cases, page._asked.begun

    async def unmarked() -> None:
        with tempfile.TemporaryDirectory() as directory:
            async with console(FakeWorkspace(Path(directory))) as (app, pilot):
                page = await open_matrix(app, pilot)
                assert page._asked.plan is not None
                expected = page._asked.plan.cases, True
        assert await marks() == expected

    asyncio.run(unmarked())


@given(keys=st.lists(st.sampled_from((*MARKING, "j", "l", "P", "L", "u", "z", "plus")), min_size=1))
@settings(max_examples=5, deadline=None, phases=QUICK)
def test_keys_typed_on_the_way_to_a_page_do_there_what_they_do_typed_slowly(
    keys: list[str],
) -> None:
    """A page that was never seen too: none of them is lost."""

    async def asked(*, fast: bool) -> object:
        with tempfile.TemporaryDirectory() as directory:
            async with console(FakeWorkspace(Path(directory))) as (app, pilot):
                if fast:
                    await type_ahead(app, pilot, "2", *(CHARACTER.get(key, key) for key in keys))
                else:
                    await pilot.press("2")
                    for key in keys:
                        await pilot.press(key)
                page = app.screen
                assert isinstance(page, MatrixPage)
                now = page._asked
                return repr((now._marks, now.repeats, now.auto, now.pack, now.linked))

    async def compare() -> None:
        assert await asked(fast=True) == await asked(fast=False)

    asyncio.run(compare())


CHARACTER = {"plus": "+", "slash": "/", "asterisk": "*"}


HARMLESS = ("space", "space", "j", "j", "k", "g", "G", "asterisk", "u", "s", "S")
FILTERS = (("slash", *"2g", "enter"), ("slash", *"no", "enter"), ("slash", *"a", "escape"))
BURSTS = st.tuples(
    st.lists(st.sampled_from([*((key,) for key in HARMLESS), *FILTERS]), min_size=1, max_size=9),
    st.sampled_from([(), ("c",), ("escape",)]),
).map(lambda one: [key for part in (*one[0], one[1]) for key in part])


@example(keys=["space", "j", "space", "c"])
@example(keys=["j", "j", "space"])
@example(keys=["slash", *"2g", "enter", "space", "escape"])
@example(keys=["asterisk", "j", "space", "s", "S", "c"])
@given(keys=BURSTS)
@settings(max_examples=6, deadline=None, phases=QUICK)
def test_keys_typed_with_the_one_that_lists_campaigns_do_what_they_do_typed_slowly(
    keys: list[str],
) -> None:
    """But those that start, end or say something."""

    async def left(*, fast: bool) -> object:
        with tempfile.TemporaryDirectory() as directory:
            workspace = FakeWorkspace(Path(directory))
            for name in ("1g", "2ga", "2gb", "4g"):
                await prepared(workspace, "finished", name)
            async with console(workspace, LARGE) as (app, pilot):
                typed = [CHARACTER.get(key, key) for key in keys]
                if fast:
                    await type_ahead(app, pilot, "O", *typed)
                for key in () if fast else ("O", *keys):
                    await pilot.press(key)
                await settled(app, at_work=lambda: at_work(app))
                marked = [path.name for path in app.session.marked]
                return marked, [type(one) for one in app.screen_stack], screen_text(app)

    async def compare() -> None:
        assert await left(fast=True) == await left(fast=False)

    asyncio.run(compare())


def at_work(app: App[Any]) -> bool:
    return any(not one.is_finished and one.group not in ("watch", "follow") for one in app.workers)


async def test_a_campaign_that_the_cursor_went_to_by_itself_is_not_marked_unseen(
    workspace: FakeWorkspace,
) -> None:
    for name in ("a", "b"):
        await prepared(workspace, "finished", name)
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        listed = app.screen
        assert isinstance(listed, CampaignList)
        typed = Key("space", " ")
        listed.show(workspace.summaries[1:])  # the one under the cursor was removed
        app.post_message(typed)
        await settled(app)
        assert not listed._marked
        await pilot.press("space")
        assert [*listed._marked] == [workspace.summaries[1].path]


async def test_keys_wait_for_the_list_of_campaigns(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        marks = page.focused_marks
        await type_ahead(app, pilot, "O", "n", "a", "r", "enter")
        assert isinstance(app.screen, CampaignList)
        assert page.focused_marks == marks


@pytest.mark.parametrize("key", ["question_mark", "N"])
async def test_something_to_read_is_left_and_the_page_goes_on(
    workspace: FakeWorkspace, key: str
) -> None:
    async with console(workspace) as (app, pilot):
        await type_ahead(app, pilot, key, "j", "j", "escape", "2", "j")
        assert not isinstance(app.screen, Reading)
        assert app.current_mode == "matrix"


@pytest.mark.parametrize("key", ["pagedown", "pageup", "end", "home", "down", "up", "enter"])
async def test_a_palette_without_a_list_yet_moves_nowhere(
    workspace: FakeWorkspace, key: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        for _ in range(5):
            await type_ahead(app, pilot, "ctrl+p", key, key, "q", key, "escape")
            assert app._exception is None
            while len(app.screen_stack) > 1:
                await pilot.press("escape")


@pytest.mark.parametrize("second", ["enter", "escape"])
async def test_a_palette_that_was_left_is_not_left_again(
    workspace: FakeWorkspace, second: str
) -> None:
    """By a key that came before it had gone: it chooses nothing, and ends nothing."""
    async with console(workspace, LARGE) as (app, pilot):
        page = app.screen
        await type_ahead(app, pilot, "ctrl+p", *"help")
        palette = app.screen
        assert isinstance(palette, Palette)
        await until(pilot, lambda: palette._list_visible)
        palette._select_or_command()
        palette._select_or_command()
        if second == "enter":
            palette.post_message(Input.Submitted(palette.query_one(Input), ""))
        else:
            palette._action_escape()
        await settled(app)
        assert app._exception is None
        assert not isinstance(app.screen, Palette)
        assert app.screen_stack[0] is page


async def test_nobody_is_locked_in_by_what_does_not_come(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typed_ahead, "PATIENCE_S", 0.2)
    async with console(workspace) as (app, pilot):
        await one_case_marked(app, pilot)  # which Enter starts without a question
        with app.typed.held():
            for key in ("enter", "escape", "3"):
                app.post_message(Key(key, None if len(key) > 1 else key))
            # No key's turn comes, so that nothing settles.
            await until(Pilot(app), lambda: app.current_mode == "runs")
        assert not workspace.started


async def test_a_key_that_waited_too_long_is_not_taken_for_a_new_one_when_the_one_before_it_ends(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typed_ahead, "PATIENCE_S", 0.0)
    async with console(workspace) as (app, pilot):
        first, second = Slow(), Slow()
        for slow in (first, second):
            app.typed.add(Key("r", "r"))
            assert app.typed.next() is not None
            app.typed.follow(slow)
        assert app.typed.typed_at == -inf
        first.go_on()  # the key before it has been dealt with at last
        for _ in range(20):
            await asyncio.sleep(0.002)
        assert app.typed.typed_at == -inf
        second.go_on()
        await until(pilot, lambda: app.typed.typed_at is None)


@pytest.mark.parametrize("given_up", range(7))
async def test_what_is_typed_for_a_list_acts_on_it_whole_or_not_at_all(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, given_up: int
) -> None:
    """However many of the keys came too early for a disk that takes its time."""
    for name in ("first", "second"):
        await prepared(workspace, "finished", name)
    monkeypatch.setattr(typed_ahead, "PATIENCE_S", 0.15 if given_up else 30.0)
    known, listed = workspace.campaigns, threading.Event()

    def slowly() -> tuple[FakeSummary, ...]:
        assert listed.wait(20)
        return known()

    async with console(workspace, LARGE) as (app, pilot):
        monkeypatch.setattr(workspace, "campaigns", slowly)
        app.post_message(Key("O", "O"))  # nothing settles before it is listed
        await until(Pilot(app), lambda: isinstance(app.screen, CampaignList))
        keys = ["slash", *"sec", "enter", "enter"]

        def type_(names: Sequence[str]) -> None:
            for name in names:
                said = "/" if name == "slash" else name
                app.post_message(Key(name, said if len(said) == 1 else None))

        before = app.typed.number
        type_(keys[:given_up])
        await until(Pilot(app), lambda: app.typed.number == before + given_up)
        if given_up:
            monkeypatch.setattr(typed_ahead, "PATIENCE_S", 30.0)
        type_(keys[given_up:])
        listed.set()
        if not given_up:
            await until(pilot, lambda: app.session.opened is not None)
            assert app.session.opened is not None
            assert app.session.opened.path.name == "second"
            return
        await until(pilot, partial(shows, app, "✓ finished"))
        await settled(app)
        assert isinstance(app.screen, CampaignList)
        assert app.session.opened is None
        assert not app.screen.query_one(Input).value
        await pilot.press("down", "enter")  # what is typed for what is shown is taken as ever
        await until(pilot, lambda: app.session.opened is not None)


class Slow(MessagePump):
    """Deals with what it is told when it may."""

    def __init__(self) -> None:
        super().__init__()
        self._told: list[partial[None]] = []

    def call_later(self, callback: Any, *args: Any, **kwargs: Any) -> bool:
        self._told.append(partial(callback, *args, **kwargs))
        return True

    def go_on(self) -> None:
        self._told.pop()()


async def test_a_key_whose_turn_comes_when_the_console_is_leaving_goes_nowhere(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, _pilot):
        app.typed.add(Key("enter", "\r"))
        app._screen_stacks["hosts"].clear()  # as its last step does
        await app._hand_on()
        assert not app.typed._waiting
        app.exit()


async def test_what_comes_by_itself_waits_for_keys_but_not_for_ever(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(workspace) as (app, _):
        page, ticks = app.screen, []
        assert isinstance(page, Page)
        monkeypatch.setattr(page, "pull", lambda: ticks.append(None))
        with app.typed.held():
            monkeypatch.setattr("tui.screens.page.WAITS_S", inf)
            await asyncio.sleep(3 * REFRESH_S)
            assert not ticks
            monkeypatch.setattr("tui.screens.page.WAITS_S", 0.0)
            await until(Pilot(app), lambda: ticks)


async def test_a_page_may_come_when_the_console_is_leaving(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, _):
        app.action_page("runs")
        app.exit()


@pytest.mark.parametrize(
    ("page", "written"),
    [
        *(("1", "quitzzzz"), ("2", "cancelzz"), ("3", "nothingx")),
        *(("1", "queuee"), ("2", "xxq"), ("3", "qqqq"), ("1", "startupq")),
    ],
)
async def test_enter_in_the_palette_chooses_of_what_was_found_for_all_that_is_written(
    workspace: FakeWorkspace, page: str, written: str
) -> None:
    """However fast it was typed: nothing is called so, though something is that begins so."""
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await type_ahead(app, pilot, page)
        at = app.screen
        for _ in range(3):
            await type_ahead(app, pilot, "ctrl+p", *written, "enter")
            await settled(app)
            assert app.is_running
            assert not app._exit
            assert isinstance(app.screen, Palette), "nothing was chosen"
            await type_ahead(app, pilot, "escape")
            assert app.screen is at


@pytest.mark.parametrize("written", ["help", "theme", "matrix", "campaigns"])
async def test_what_is_written_in_one_go_is_what_the_palette_does(
    workspace: FakeWorkspace, written: str
) -> None:
    async def after(*, fast: bool) -> tuple[str, str]:
        async with console(workspace, LARGE) as (app, pilot):
            if fast:
                await type_ahead(app, pilot, "ctrl+p", *written, "enter")
            else:
                await type_ahead(app, pilot, "ctrl+p", *written)
                palette = app.screen
                assert isinstance(palette, Palette)
                await until(pilot, lambda: palette._found and palette._list_visible)
                await type_ahead(app, pilot, "enter")
            await until(pilot, lambda: not isinstance(app.screen, Palette))
            await settled(app)
            return app.current_mode, type(app.screen).__name__ + app.theme

    assert await after(fast=True) == await after(fast=False)


def test_nobody_has_a_pause_in_a_console_that_is_on_its_way_out() -> None:
    """Its clocks may tick when its last screen has gone."""
    app: App[None] = App()
    assert not app.screen_stack
    assert not TypedAhead(app, lambda: None).over_for(0.0)


@pytest.mark.parametrize(
    "dialog", [Compare, DryRunView, ExportSheet, PrecheckDialog, Repeats], ids=lambda one: one.PANEL
)
def test_what_only_copies_may_be_typed_before_it_is_shown(dialog: type[Dialog[Any]]) -> None:
    assert any(key.action == "copy" for key in PANELS[dialog.PANEL].keys)
    assert "copy" in dialog.AHEAD
