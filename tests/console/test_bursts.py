"""Bursts of keys, typed faster than anything is drawn, into every page and dialog.

``DLPERF_BURSTS=2500 pytest tests/console/test_bursts.py`` tries as many in each test, more or
fewer by what one takes: 11,250 together; ``DLPERF_FUZZ_SEED`` others. ``make fuzz`` does both.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.widgets import Input

from backends.campaign.folder.remove import Removable
from backends.campaign.folder.tags_and_note import About
from backends.campaign.plan.plan import Plan
from backends.campaign.plan.selection import Selection
from backends.campaign.record.run_state import RunState
from backends.keeper.process import Begun, KeeperError
from profiles.counted import counted
from tests.console.conftest import LARGE, SMALL, begin, screen_text, settled, tick
from tests.console.fakes import FakeController, FakeFinding, FakeSummary, FakeWorkspace, v100_hosts
from tui.app import DlperfApp
from tui.key_bindings import PAGES, PANELS
from tui.screens.campaign_list import CampaignList
from tui.screens.dialogs import Choice, Dialog, Pages, Prompt
from tui.screens.dry_run import DryRunView
from tui.screens.matrix_page import MatrixPage
from tui.screens.page import Page
from tui.screens.runs_page import RunsPage
from tui.screens.start_dialog import StartDialog
from tui.widgets.filter_table import TablePanel
from tui.widgets.keybar import offered
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.log_panel import LogPanel

pytestmark = pytest.mark.painted

BURSTS = int(os.environ.get("DLPERF_BURSTS", "16"))
SEED = int(os.environ.get("DLPERF_FUZZ_SEED", "1"))
PER_CONSOLE = 40
"""Bursts into one console before the next one is opened."""

CHARACTERS = {"space": " ", "enter": "\r", "tab": "\t"}
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-/?%.=:"
NAMED = ("space", "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "tab")
LEAVING = ("enter", "escape")
SIGNS = {_character_to_key(sign): sign for sign in LETTERS}
ANYTHING = (*LETTERS, *NAMED, *(LEAVING * 6), *("ctrl+p", "shift+tab", "backspace"), *"1234" * 2)

OPENERS = {
    "hosts": ("O", "N", "?", "q"),
    "matrix": ("c", "U", "p", "s", "b", "o", "d", "enter", "O", "N", "?", "q"),
    "runs": ("c", "C", "O", "N", "?", "q"),
    "results": ("e", "enter", "O", "N", "?", "q"),
}
TEXT = ("c", "U")
"""Of Matrix: they open a line to write on."""


def key_event(key: str) -> events.Key:
    name = key if len(key) > 1 or key.isalnum() else _character_to_key(key)
    written = CHARACTERS.get(key, SIGNS.get(key, key if len(key) == 1 else None))
    return events.Key(name, written)


class Seen:
    """What was in front, and what a key would have started there, when a burst was typed."""

    def __init__(self, app: DlperfApp) -> None:
        self.screen = app.screen
        self.text = screen_text(app)
        page = self.screen
        self.plan = page._asked.plan if isinstance(page, MatrixPage) else None
        selected = page.selected if isinstance(page, RunsPage) else None
        self.run_id = selected.run_id if selected else ""
        lists = page.query(KeyedTable) if isinstance(page, CampaignList) else ()
        self.campaign = next((table.current_key for table in lists), None)
        self.quits = isinstance(page, Choice) and "Quit" in self.text
        self.read_on = any(part.scroll_y for part in page.query(Pages))
        self.covered = bool(app._notifications) and app.size.height < SMALL[1]


class WatchedController(FakeController):
    """Is told to end and to repeat only what was asked about, or shown."""

    watched: WatchedWorkspace

    def cancel_run(self, run_id: str) -> None:
        seen, run = self.watched.seen, self.state.runs[run_id]
        assert isinstance(seen.screen, Choice), seen.text
        of_all = re.search(r"Cancel (· )?\d+ run(s? of|s?…)|Quit", seen.text)  # … in few columns
        assert run.case.label in seen.text or of_all, seen.text
        super().cancel_run(run_id)

    def retry(self, run_id: str) -> None:
        of_all = self.state.runs[run_id].state is RunState.FAILED  # R: every one of the list
        assert self.watched.seen.run_id == run_id or of_all, self.watched.seen.text
        super().retry(run_id)

    def add(self, plan: Plan) -> int:
        assert isinstance(self.watched.seen.screen, StartDialog), self.watched.seen.text
        self.watched._was_seen(plan)
        return super().add(plan)


class WatchedWorkspace(FakeWorkspace):
    """Starts, resumes and closes only what was shown when the burst began."""

    app: DlperfApp
    seen: Seen
    kept = False
    created: Path | None = None  # for a keeper, the last

    async def preflight(self, plan: Plan, say: object = None) -> tuple[FakeFinding, ...]:
        await asyncio.sleep(0.002)
        return self.findings

    async def start(
        self, plan: Plan, findings: Sequence[FakeFinding] = (), *, force: bool = False
    ) -> FakeController:
        self._was_seen(plan)
        return await super().start(plan, findings, force=force)

    async def create(
        self, plan: Plan, findings: Sequence[FakeFinding] = (), *, force: bool = False
    ) -> Path:
        assert isinstance(self.seen.screen, StartDialog), self.seen.text
        self._was_seen(plan)
        self.created = await super().create(plan, findings, force=force)
        return self.created

    def _was_seen(self, plan: Plan) -> None:
        seen = self.seen
        if isinstance(seen.screen, StartDialog):
            assert plan is seen.screen._plan or plan is seen.screen._without
            told = counted(seen.screen._plan.run_count, "run") in seen.text
            assert told or seen.read_on or seen.covered
        elif isinstance(seen.screen, DryRunView):  # on top of it, of the same plan
            assert counted(plan.run_count, "run") in seen.text or seen.covered
        else:
            assert isinstance(seen.screen, MatrixPage), seen.text
            assert seen.plan is plan

    async def leave_to_keeper(self, path: Path, options: object) -> Begun:
        """As :func:`tui.keeping.leave_to_keeper`; every other one does not begin."""
        known = path in (Path(self.seen.campaign), self.created)
        assert known or self.seen.quits, self.seen.text
        await asyncio.sleep(0.002)
        self.kept = not self.kept
        if self.kept:
            raise KeeperError("the keeper ended before it began")
        return Begun(4711)

    async def resume(self, path: Path, *, take_over: bool = False) -> FakeController:
        """Also of one that no keeper began to keep."""
        assert self.seen.campaign == str(path) or self.seen.quits, self.seen.text
        return await super().resume(path, take_over=take_over)

    def remove_campaign(
        self, path: Path, *, force: bool = False, asked: Removable | None = None
    ) -> None:
        """Only what was asked about, and what no keeper began with."""
        if path != self.created:
            assert isinstance(self.seen.screen, Choice), self.seen.text
            assert f"Remove {path.name}, " in self.seen.text
        super().remove_campaign(path, force=force, asked=asked)

    def describe_campaign(self, path: Path, change: Callable[[About], About]) -> About:
        written = isinstance(self.seen.screen, Prompt) and path.name in self.seen.text
        nothing = About() in [one.about for one in self.summaries if one.path == path]
        assert written or nothing or self.seen.campaign == str(path), self.seen.text
        return super().describe_campaign(path, change)

    def controller(self, plan: Plan, name: str = "2026-11-21-resnet50") -> FakeController:
        made = super().controller(plan, name)
        watched = WatchedController(
            made.path, made.cases, made.clock, hosts=made.hosts, fails=self.fails
        )
        watched.watched = self
        self.controllers[watched.path] = watched
        return watched


class Typist:
    """Types bursts into one console, and waits until each has had all its effects."""

    def __init__(self, app: DlperfApp, workspace: WatchedWorkspace) -> None:
        self.app = app
        self.workspace = workspace
        self.typed: list[tuple[str, ...]] = []

    @property
    def page(self) -> Page:
        page = self.app.screen_stack[0]
        assert isinstance(page, Page)
        return page

    async def type(self, *keys: str) -> None:
        self.typed.append(keys)
        self.workspace.seen = Seen(self.app)
        for key in keys:
            self.app.post_message(key_event(key))
        await self.settle()

    async def settle(self) -> None:
        """Until nothing is being done, by workers either."""
        await settled(self.app, at_work=self._at_work, typed=self.typed[-3:])

    def _at_work(self) -> bool:
        lasting = ("watch", "follow", "after a precheck")
        return any(not w.is_finished and w.group not in lasting for w in self.app.workers)

    async def back(self, name: str) -> None:
        """To a page, and nothing above it: what had come by itself meanwhile neither."""
        while self.app.current_mode != name or len(self.app.screen_stack) > 1:
            assert self.app._exception is None, (self.app._exception, self.typed[-3:])
            if len(self.app.screen_stack) > 1:
                await self.type("escape")
            else:
                self.app.action_page(name)
                await self.settle()


WATCHED: list[WatchedWorkspace] = []


@pytest.fixture(autouse=True)
def _keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is started; the last console's workspace sees to that."""

    async def leave(path: Path, options: object) -> Begun:
        return await WATCHED[-1].leave_to_keeper(path, options)

    monkeypatch.setattr("tui.keeping.leave_to_keeper", leave)


def hosts_of(workspace: FakeWorkspace, count: int = 4) -> WatchedWorkspace:
    watched = WatchedWorkspace(workspace.campaigns_dir, hosts=v100_hosts()[:count])
    watched.fails = {"1n8g": "NCCL error: unhandled system error"}
    WATCHED.append(watched)
    return watched


def keys_in_reach(app: DlperfApp) -> list[str]:
    """What the widget with the focus, and what is around it, offer now; two keys to move with."""
    offers = [key for key in offered(app.screen) if key not in PANELS["app"].keys]
    return [*(key.keys.split(",")[0] for key in offers), "down", "end"]


def focus_in_sight(app: DlperfApp) -> bool:
    """What has the keys can be seen; a list may be away for the words that say why it is empty."""
    focused = app.focused
    if focused is None or isinstance(focused, KeyedTable):
        return True
    return bool(focused.is_on_screen and focused.region.area)


async def open_console(workspace: WatchedWorkspace, *, campaign: bool) -> DlperfApp:
    app = DlperfApp(workspace)
    workspace.app = app
    if campaign:
        controller = begin(app, workspace)
        workspace.clock.tick(60)
        older = workspace.controller(Plan(Selection(()), (), controller.cases, ()), "older")
        workspace.summaries = [
            FakeSummary(c.path.name, c.path, "unfinished", 1, 8) for c in (controller, older)
        ]
    return app


def state_of(page: Page, app: DlperfApp) -> tuple[object, ...]:
    """What keys could have changed on a page."""
    tables = [table.current_key for table in page.query(KeyedTable)]
    filters = [panel.filter_text for panel in page.query(TablePanel)]
    following = [log.following for log in page.query(LogPanel)]
    shown = [(node.id, node.display) for node in page.query("#body *") if node.id]
    asked: object = None
    if isinstance(page, MatrixPage):
        a = page._asked
        asked = (a._marks, a.repeats, a.auto, a.rule, a.explain, a.hosts)
        asked = repr(asked)
    return (app.current_mode, tables, filters, following, shown, asked)


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An export is written where the console was started, by whatever name was typed."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES)
async def test_keys_typed_ahead_of_a_dialog_leave_the_page_behind_alone(
    workspace: FakeWorkspace, page: str
) -> None:
    random = Random(f"{page} {SEED}")
    watched = hosts_of(workspace)
    app = await open_console(watched, campaign=True)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.pause()
        typist = Typist(app, watched)
        await typist.settle()
        await typist.back(page)
        tick(app)
        await typist.settle()
        for number in range(max(BURSTS // 4, len(OPENERS[page]))):
            opener = OPENERS[page][number % len(OPENERS[page])]
            before = state_of(typist.page, app)
            letters = random.choices(LETTERS, k=random.randint(1, 8))
            if opener not in TEXT or page != "matrix":
                letters = [key for key in letters if key not in "q?"]
                letters += random.choices(NAMED, k=3)
                random.shuffle(letters)
            await typist.type(opener, *letters)
            assert len(app.screen_stack) > 1, (typist.typed[-1], app._exception)
            assert state_of(typist.page, app) == before, typist.typed[-1]
            if opener in TEXT and page == "matrix":
                assert isinstance(app.screen, Prompt)
                assert app.screen.query_one(Input).value == "".join(letters), typist.typed[-1]
            await typist.back(page)
            assert not any(isinstance(screen, Dialog) for screen in app.screen_stack)


@pytest.mark.parametrize(("size", "campaign"), [(SMALL, False), (LARGE, True)])
async def test_no_burst_starts_ends_or_repeats_what_was_not_shown(
    workspace: FakeWorkspace, size: tuple[int, int], campaign: bool
) -> None:
    left, console = BURSTS, 0
    while left > 0:
        console += 1
        random = Random(f"{SEED} {console} {campaign}")
        watched = hosts_of(workspace)
        watched.findings = (FakeFinding("stop", "busy", "wait", "node1"),) * (console % 2)
        app = await open_console(watched, campaign=campaign)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            typist = Typist(app, watched)
            for _ in range(min(left, PER_CONSOLE)):
                left -= 1
                if app._exit or not app.is_running:
                    break
                await typist.type(*random.choices(ANYTHING, k=random.randint(1, 10)))
                watched.clock.tick(random.choice((0, 0, 1, 30)))
            assert app._exception is None, typist.typed


@pytest.mark.parametrize("keys", [("y",), ("up", "enter"), ("enter",)], ids=" ".join)
async def test_a_question_of_which_no_word_is_in_sight_has_no_answer(
    workspace: FakeWorkspace, keys: tuple[str, ...]
) -> None:
    watched = hosts_of(workspace)
    app = await open_console(watched, campaign=True)
    async with app.run_test(size=(20, 4)) as pilot:
        await pilot.pause()
        typist = Typist(app, watched)
        await typist.back("runs")
        await typist.type("c")
        await typist.settle()
        question = app.screen
        assert isinstance(question, Choice)
        for key in keys:
            await typist.type(key)
        await typist.settle()
        assert app.screen is question
        await pilot.resize_terminal(*SMALL)
        await typist.type(*keys)
        await typist.settle()
        assert app.screen is not question


SIZES = (SMALL, LARGE, (200, 60), (120, 12), (40, 6), (20, 4))
ON_THE_WAY = {"runs": ((), ("z",), ("enter",), ("enter", "z"), ("v", "v"), ("enter", "slash", "i"))}
"""From a page: where what is in sight is not all of it."""


@pytest.mark.parametrize("page", PAGES)
async def test_no_key_in_reach_breaks_a_page_whatever_is_zoomed_focused_or_out_of_sight(
    workspace: FakeWorkspace, page: str
) -> None:
    """Only keys that do something at that moment, and now and then another size of the terminal:
    what keys at random hardly ever come to."""
    ways = ON_THE_WAY.get(page, ((),))
    left, console = max(1, BURSTS * len(ways) // 6), 0
    while left > 0:
        console += 1
        random = Random(f"{page} {SEED} {console}")
        watched = hosts_of(workspace)
        app = await open_console(watched, campaign=True)
        async with app.run_test(size=LARGE) as pilot:
            await pilot.pause()
            typist = Typist(app, watched)
            for number in range(min(left, PER_CONSOLE)):
                left -= 1
                await typist.back(page)
                app.screen.action_back()
                await pilot.resize_terminal(*random.choice(SIZES))
                for key in ways[number % len(ways)]:
                    await typist.type(key)
                for _ in range(5):
                    await typist.type(*random.choices(keys_in_reach(app), k=random.choice((1, 2))))
                    room = app.size.height >= SMALL[1]
                    assert not room or focus_in_sight(app), (typist.typed[-20:], app.focused)
                    if random.random() < 0.1:
                        await pilot.resize_terminal(*random.choice(SIZES))
                watched.clock.tick(random.choice((0, 0, 1, 30)))
                assert app._exception is None, typist.typed[-20:]


async def test_keys_typed_ahead_of_a_replay_change_nothing_in_the_console_below(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the replay's; nor does one come back later, whose patience ended meanwhile."""
    random, watched, lent = Random(SEED), hosts_of(workspace), 0

    async def lend(*_: object, **__: object) -> tuple[int, str]:
        nonlocal lent
        lent += 1
        monkeypatch.setattr("tui.typed_ahead.PATIENCE_S", 0.01)
        await asyncio.sleep(0.03)
        return 0, ""

    monkeypatch.setattr("tui.lent_terminal.lend_terminal", lend)
    app = await open_console(watched, campaign=True)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.pause()
        typist = Typist(app, watched)
        await typist.settle()
        await typist.back("hosts")
        await typist.type("O")
        assert isinstance(app.screen, CampaignList)
        listed, before = app.screen, screen_text(app)
        typed = [("question_mark",), ("3",), ("space",), ("d",), ("escape",), ("r", "enter")]
        typed += [tuple(random.choices(ANYTHING, k=3)) for _ in range(BURSTS // 5)]
        for number, keys in enumerate(typed, 1):
            monkeypatch.setattr("tui.typed_ahead.PATIENCE_S", 60.0)
            await typist.type("p", *keys)
            assert lent == number, keys
            assert app.screen is listed, keys
            assert screen_text(app) == before, keys
        await typist.type("space")
        assert "1 marked" in screen_text(app), "keys are taken again"
