"""Every key that is shown does something, and every key that does something is shown.

``DLPERF_BURSTS`` presses all keys also in the states that only vary another one; ``make fuzz``
does so.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Input

from backends.campaign.record.events import RunDiagnosed
from backends.hangs.diagnosis import Diagnosis, Finding, Sign, Suspect
from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    begin,
    console,
    hints_shown,
    screen_text,
    settled,
    tick,
    until,
)
from tests.console.fakes import FakeFinding, FakeSummary, FakeWorkspace
from tests.console.test_bursts import (
    Typist,
    WatchedWorkspace,
    focus_in_sight,
    hosts_of,
    open_console,
)
from tests.console.test_matrix import open_matrix
from tui.app import DlperfApp
from tui.key_bindings import PANELS, key_name
from tui.key_types import Key
from tui.screens.dialogs import Dialog
from tui.screens.help import focused_panels
from tui.screens.matrix_page import MatrixPage
from tui.screens.run_order import PLANNED
from tui.screens.run_panels import RunPanels
from tui.screens.runs_page import RunsPage
from tui.typed_ahead import typed_ahead
from tui.widgets.header import Tabs
from tui.widgets.keybar import KeyBar, offered, panel_of, placed
from tui.widgets.keyed_table import KeyedTable

pytestmark = pytest.mark.painted

WIDE = (200, 50)
"""Room for all hints."""
LOW = (220, 30)
"""Where a run has room for one panel."""
STOP = FakeFinding("stop", "in use: alice", "wait, ask, or leave the host out", "node3")
WARN = FakeFinding("warn", "load 9.7 on 48 CPUs", "look with top", "node2")
EVERYWHERE = FakeFinding("stop", "no license", "ask for one", "")


@dataclass(frozen=True)
class State:
    """``keys``: from the page to it. ``at``: seconds of a campaign; None: there is none.
    ``hidden``: what can be done on its page, but not here. ``own``: it has the keys of another
    state, and these; of the others only some are pressed."""

    name: str
    page: str
    keys: tuple[str, ...] = ()
    at: float | None = None
    findings: tuple[FakeFinding, ...] = ()
    past: int = 0
    hosts: int = 4
    hidden: tuple[str, ...] = ()
    size: tuple[int, int] = WIDE
    own: tuple[str, ...] | None = None


ALL_KEYS = "DLPERF_BURSTS" in os.environ
SHARES = 6
"""Of so many states that vary another one, one presses a key."""

MARKED = ("O", "g", "space", "j", "space")
STATES = (
    State("hosts", "hosts"),
    State("hosts filtered", "hosts", ("/",), own=()),
    State("host details", "hosts", ("enter",)),
    State("matrix", "matrix"),
    State(
        "matrix, a case that cannot be",
        "matrix",
        ("j",) * 3,
        hosts=1,
        hidden=("mark", "mark_row"),
        own=(),
    ),
    State("matrix, a campaign at work, repeats", "matrix", ("+", "+"), at=30, own=("repeats(-1)",)),
    State("matrix, marks to take back", "matrix", ("x",), own=("undo",)),
    State("matrix, profiles", "matrix", ("tab",)),
    State("matrix, filter", "matrix", ("/", "o")),
    State("add a case", "matrix", ("c",)),
    State("target", "matrix", ("U",)),
    State("parameters", "matrix", ("p",)),
    State("parameters, written", "matrix", ("p", "i"), own=()),
    State("settings", "matrix", ("s",)),
    State("a setting", "matrix", ("s", "enter")),
    State("scaling", "matrix", ("b",)),
    State("hosts to use", "matrix", ("o",)),
    State("dry-run", "matrix", ("d",)),
    State("start", "matrix", ("enter",), findings=(WARN,)),
    State("start, a host stopped", "matrix", ("enter",), findings=(WARN, STOP), own=()),
    State("start, all stopped", "matrix", ("enter",), findings=(EVERYWHERE,), own=()),
    State("help", "matrix", ("?",)),
    State("help of a dialog", "matrix", ("o", "?")),
    State("notes", "runs", ("N",), at=30),
    State("no campaigns", "matrix", ("O",)),
    State("campaigns", "matrix", ("O",), past=1, own=()),
    State("campaigns, filter", "matrix", ("O", "/"), past=1, own=()),
    State("campaigns, marked", "matrix", MARKED, past=2, own=("compare",)),
    State("compare", "matrix", (*MARKED, "c"), past=2),
    State("compare, zoomed", "matrix", (*MARKED, "c", "z"), past=2, own=("zoom", "view")),
    State("compare, filter", "matrix", (*MARKED, "c", "/"), past=2, own=()),
    State("threshold", "matrix", (*MARKED, "c", "t"), past=2),
    State("no runs", "runs"),
    State("runs", "runs", at=30),
    State("runs, one failed", "runs", ("j", "k", "home", "j"), at=60, own=("retry",)),
    State("runs, all over", "runs", at=3000, own=()),
    State("runs, one paused", "runs", ("G", "p"), at=30, own=("pause",)),
    State("runs, zoomed", "runs", ("z",), at=30, own=()),
    State("runs, schedule", "runs", ("s",), at=30, own=()),
    State("runs, zoomed, without room", "runs", ("z",), at=30, size=LOW, own=()),
    State("run's log, zoomed, without room", "runs", ("enter", "z"), at=30, size=LOW, own=()),
    State("results, the case", "results", ("v",), at=3000),
    State("run's log", "runs", ("enter",), at=30),
    State("run's log, zoomed", "runs", ("enter", "z"), at=30, own=()),
    State("cancel a run", "runs", ("c",), at=30),
    State("cancel all", "runs", ("C",), at=30, own=()),
    State("quit", "runs", ("q",), at=30),
    State("no results", "results"),
    State("results", "results", at=3000),
    State("repeats", "results", ("enter",), at=3000),
    State("export", "results", ("e",), at=3000),
    State("export to a file", "results", ("e", "enter"), at=3000),
    State("runs, filter", "runs", ("/",), at=30),
    State("results, filter", "results", ("/",), at=3000),
    State("another campaign, read-only", "runs", ("O", "enter"), past=1, own=()),
)
ELSEWHERE = ("quit", "start", "force", "leave_out", "choose", "redraw", "retry_all")
"""Actions whose effects have tests of their own."""


async def at(state: State, workspace: WatchedWorkspace, app: DlperfApp, typist: Typist) -> None:
    """Make the state so, from wherever the console is."""
    await typist.back(state.page)
    if isinstance(page := typist.page, RunsPage):
        page.panels.view = page.panels.view_before = ""  # what a key before showed
        page._order = PLANNED
    for _ in range(3):  # the zoom, the filter, the focus
        typist.page.action_back()
    app.screen.query(KeyedTable).first().action_scroll_top()
    if state.page == "matrix":
        app.screen.query_one("#grid").focus()
    if isinstance(page := typist.page, MatrixPage) and not page._asked.taking_part:
        assert page.focused_marks is not None
        page._asked.put(page.focused_marks.with_defaults())  # what a key before took out
    app.session.marked.clear()  # of campaigns, which are kept
    tick(app)
    await typist.settle()
    for key in state.keys:
        await typist.type(key)
    tick(app)
    await typist.settle()


async def prepare(state: State, workspace: WatchedWorkspace, app: DlperfApp) -> None:
    workspace.findings = state.findings
    if state.at is not None:
        begin(app, workspace)
        for _ in range(10):
            workspace.clock.tick(state.at / 10)
            app.session.live  # noqa: B018 - brings the campaign up to the clock


@asynccontextmanager
async def set_up(
    state: State, workspace: FakeWorkspace
) -> AsyncIterator[tuple[DlperfApp, Pilot[str], FakeWorkspace, Typist]]:
    """A console in which the state can be gone to, with the campaigns that it has."""
    watched = hosts_of(workspace, state.hosts)
    app = await open_console(watched, campaign=False)
    await prepare(state, watched, app)
    async with app.run_test(size=state.size, notifications=True) as pilot:
        await pilot.pause()
        typist = Typist(app, watched)
        await typist.settle()
        await open_matrix(app, pilot)
        for number in range(state.past):
            past = watched.controller(await plan_of(app), f"past{number}")
            watched.summaries += [FakeSummary(past.path.name, past.path, "unfinished", 1, 8)]
        yield app, pilot, watched, typist


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
async def test_every_hint_works_and_every_key_has_one(
    workspace: FakeWorkspace, state: State
) -> None:
    async with set_up(state, workspace) as (app, pilot, watched, typist):
        for _ in range(10 * state.past):
            watched.clock.tick(30 / state.past)
            for controller in watched.controllers.values():
                controller.advance()
        await at(state, watched, app, typist)
        hints = offered(app.screen)
        if state.size == WIDE:
            await until(pilot, partial(all_shown, app, hints))
        if isinstance(app.screen, Dialog) and not isinstance(app.focused, Input):
            assert {"j", "k", "question_mark"} <= set(app.screen.active_bindings)
        shown = {key.action for key in hints}
        assert not shown & set(state.hidden)
        assert not [key for key in working(app) if key.action not in shown], state.name
        if state.keys and app.screen.is_modal:
            await tell_of_keys_elsewhere(app, typist)
        share = STATES.index(state) % SHARES
        for number, key in enumerate(hints):
            known = state.own is not None and key.action not in state.own
            if known and number % SHARES != share and not ALL_KEYS:
                continue
            everywhere = key in PANELS["app"].keys and state.name != "runs"
            if key.action in ELSEWHERE or everywhere:
                continue
            await at(state, watched, app, typist)
            assert key.action in {other.action for other in offered(app.screen)}, key.action
            before = effects(app, watched)
            await typist.type(*key.keys.split(",")[:1])
            tick(app)
            await typist.settle()
            assert effects(app, watched) != before, f"{key_name(key)} {key.label}"
            assert focus_in_sight(app), f"{key_name(key)} {key.label}: {app.focused}"


async def plan_of(app: DlperfApp):  # type: ignore[no-untyped-def]
    return app.screen._asked.plan  # type: ignore[attr-defined]


def working(app: DlperfApp) -> list[Key]:
    """The documented keys that do something now, but for those that are for moving about."""
    screen = app.screen
    text = isinstance(screen.focused, Input)
    with typed_ahead(screen).at_leisure():
        bound = list(screen.active_bindings.values())
    found = []
    for node, binding, _, _ in bound:
        panel = PANELS.get(panel_of(node))
        for key in panel.keys if panel else ():
            moving = not key.palette or key.action in MOVING or key.action.startswith("page(")
            if key.action == binding.action and not (text and key.written):
                assert panel_of(node) in focused_panels(screen)
                if not moving:
                    found.append(key)
    return found


MOVING = ("down", "up")


async def tell_of_keys_elsewhere(app: DlperfApp, typist: Typist) -> None:
    """No key of the whole console is silent in what lies over a page."""
    screen = app.screen
    text = isinstance(screen.focused, Input)
    for key in PANELS["app"].keys:
        for name in key.keys.split(","):
            moving = not key.palette and key.action != "command_palette"
            if moving or name in screen.active_bindings or (text and "ctrl+" not in name):
                continue
            await typist.type(name)
            await typist.settle()
            assert app.screen is screen
            if key.action != "redraw":
                told = screen_text(app)
                assert f"▌ {key_name(key)} " in told, name
                if "has no such key" in told and isinstance(screen, Dialog):
                    assert screen._box is not None
                    title = str(screen._box.border_title).partition(" · ")[0].strip()
                    assert not re.match(r"\d+ |.*\?", title), "a name, no sentence"
                    assert f": {title} has no such key" in " ".join(told.split())


async def test_a_key_that_is_text_in_the_filter_is_not_named_below_it(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        assert "^p or : Palette" in screen_text(app)
        await pilot.press("slash")
        await until(pilot, lambda: "^p Palette" in screen_text(app))
        assert "^p or" not in screen_text(app)


def all_shown(app: DlperfApp, hints: list[Key]) -> bool:
    shown = screen_text(app).replace("  ", " ")
    return all(f"{key_name(key)} {key.label}" in shown for key in hints)


def painted(app: DlperfApp) -> object:
    """The screen, colours too, but for what the key bar offers."""
    screen = app.screen
    offers = {y for bar in screen.query(KeyBar) for y in bar.region.line_range}
    strips = screen._compositor.render_strips()
    return [list(strip) for y, strip in enumerate(strips) if y not in offers]


def effects(app: DlperfApp, workspace: WatchedWorkspace) -> object:
    """All that can be noticed of a key: on the screen, or elsewhere. That other keys are offered
    is none."""
    return (
        painted(app),
        len(app.screen_stack),
        len(app._notifications),
        len(workspace.probed),
        len(workspace.started),
        app.clipboard,
        app.theme,
        getattr(app.screen, "_held", None),  # of Runs: whether the cursor goes with what is at work
    )


async def test_what_has_settled_is_painted(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, _):
        tabs = app.screen.query_one(Tabs)
        for _ in range(20):
            tabs.display = not tabs.display
            await settled(app)
            assert ("2 Matrix" in screen_text(app)) is tabs.display


async def test_no_hint_of_the_page_shows_beneath_a_dialog(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("p")
        await until(pilot, lambda: "Cancel" in screen_text(app))
        await until(pilot, lambda: "Dry-run" not in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Dry-run" in screen_text(app))


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_key_is_called_what_it_would_do_now(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        workspace.clock.tick(10)
        tick(app)
        await pilot.press("3", "G")
        labels = partial(labels_of, app)
        assert labels()["pause"] == "Pause"
        await pilot.press("p")
        tick(app)
        assert labels()["pause"] == "Let it start"
        assert labels()["pause_all"] == "Pause all"
        await pilot.press("P")
        tick(app)
        assert labels()["pause_all"] == "Let all start"
        views = [labels()["view"]]
        for _ in range(3):
            await pilot.press("v")
            tick(app)
            await pilot.pause()
            assert app.screen.query_one(f"#{views[-1].lower()}").display
            views.append(labels()["view"])
        assert len(set(views)) == (3 if size == SMALL else 2)
        await pilot.press("z")
        tick(app)
        assert labels()["zoom"] == "All panels"


def labels_of(app: DlperfApp) -> dict[str, str]:
    return {key.action: key.label for key in offered(app.screen)}


@pytest.mark.parametrize("page", ["1", "2", "3", "4"])
async def test_what_comes_by_itself_changes_the_hints_too(
    workspace: FakeWorkspace, page: str
) -> None:
    """A campaign that begins, goes on and ends while nobody touches a key."""
    async with console(workspace, WIDE) as (app, pilot):
        await pilot.press(page)
        begin(app, workspace)
        for _ in range(12):
            workspace.clock.tick(60)
            tick(app)
            await settled(app)
            bar = app.screen.query_one(KeyBar)
            words = "".join(f" {key_name(key)} {key.label} " for key in bar.chosen())
            assert " ".join(hints_shown(app).split()) == " ".join(words.split())


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_diagnose_is_among_the_first_keys_while_a_run_is_silent(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await pilot.press("3")
        begin(app, workspace)
        stuck = workspace.controllers[next(iter(workspace.controllers))]
        while not any(run.state.active and run.readings > 5 for run in stuck.snapshot().runs):
            workspace.clock.tick(2)
        tick(app)
        await settled(app)
        assert "d Diagnose" not in hints_shown(app)
        stuck.advance = lambda: None  # type: ignore[method-assign]
        workspace.clock.tick(200)
        tick(app)
        await settled(app)
        assert "▲ silent 3m" in screen_text(app)
        assert "d Diagnose" in hints_shown(app)


@given(st.data(), st.integers(60, 220), st.integers(1, 2))
def test_hints_are_whole_each_beside_the_next_and_help_is_the_last(
    data: st.DataObject, width: int, lines: int
) -> None:
    panels = data.draw(st.lists(st.sampled_from(sorted(PANELS)), max_size=4, unique=True))
    keys = {key.action: key for name in ("app", *panels) for key in PANELS[name].keys if key.footer}
    shown = placed(sorted(keys.values(), key=lambda key: key.footer), width, lines)
    ends: dict[int, int] = {}
    for line, column, key in shown:
        assert column == ends.get(line, 0)
        ends[line] = column + len(f" {key_name(key)} {key.label} ")
    assert all(line < lines and end <= width for line, end in ends.items())
    assert shown[-1][2].action == "help"
    room = width - ends[max(ends)]
    left_out = [key for key in keys.values() if key not in [one for _, _, one in shown]]
    assert all(len(f" {key_name(key)} {key.label} ") > room for key in left_out), "room to spare"
    if width >= 200 and lines == 2 and len(panels) < 2:
        assert len(shown) == len(keys)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (120, 50)])
async def test_a_click_is_the_key_that_it_is_on(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await open_matrix(app, pilot)
        bar = app.screen.query_one(KeyBar)
        lines = bar.render().plain.split("\n")
        assert len(lines) == bar.size.height == (2 if size[1] >= 50 else 1)
        for y, line in enumerate(lines):
            for x in range(len(line)):
                key = bar.key_at(x, y)
                assert key is not None
                assert f"{key_name(key)} {key.label}" in line[max(0, x - 30) : x + 30]


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_that_hosts_are_asked_is_said_until_their_answer_stands_there_with_its_files(
    workspace: FakeWorkspace, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DlperfApp, "NOTIFICATION_TIMEOUT", 600)  # it does not go by itself
    async with console(workspace, size) as (app, pilot):
        await pilot.press("3")
        begin(app, workspace)
        stuck = workspace.controllers[next(iter(workspace.controllers))]
        while not any(run.state.active and run.readings > 5 for run in stuck.snapshot().runs):
            workspace.clock.tick(2)
        stuck.advance = lambda: None  # type: ignore[method-assign]
        workspace.clock.tick(200)
        tick(app)
        await settled(app)
        await pilot.press("x", "d")
        (asked,) = stuck.diagnosed
        (label,) = [run.label for run in stuck.snapshot().runs if run.run_id == asked]

        def asking(words: str) -> bool:
            return any(words in one.message for one in app._notifications)

        await until(pilot, lambda: asking(f"{label}: its hosts are asked"))
        suspect = Suspect("node3", 5, 3, None, (Finding(Sign.XID, xid=79),))
        found = Diagnosis((suspect,), ranks=8, files=(f"diagnosis/{asked}/node3.txt",))
        stuck._apply(RunDiagnosed(t=workspace.clock(), run_id=asked, diagnosis=found))
        tick(app)
        await until(pilot, lambda: not asking("its hosts are asked"))
        told = app.screen.query_one(RunPanels).details.text
        assert f"1 file of what they said: {stuck.path}/diagnosis/{asked}" in told
        details = app.screen.query_one(RunPanels).details
        await pilot.press("tab", "end", "shift+tab", "d")
        assert details.scroll_y == details.max_scroll_y > 0
        await until(pilot, lambda: asking(f"{label}: its hosts are asked again"))
        stuck._apply(RunDiagnosed(t=workspace.clock() + 1, run_id=asked, diagnosis=found))
        tick(app)
        await until(pilot, lambda: not asking("its hosts are asked"))
        await until(pilot, lambda: details.scroll_y == 0)  # where their answer stands
