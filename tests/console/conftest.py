"""What the console's tests share: a workspace without a cluster, and waiting for a condition."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from textual import events
from textual._compositor import Compositor
from textual._context import active_message_pump, visible_screen_stack
from textual.app import App
from textual.css.model import RuleSet
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widget import Widget

from backends.campaign.plan.selection import Selection
from tests.console.fakes import FakeController, FakeWorkspace
from tui.app import DlperfApp
from tui.backend_protocols import Workspace
from tui.screens.login_questions import ConsolePrompter
from tui.stylesheet import KeptStylesheet
from tui.widgets.keybar import KeyBar

SMALL, LARGE, HUGE = (80, 24), (120, 40), (200, 60)
DEADLINE_S = 30.0
STILL_S = 120.0
PARSED: dict[Hashable, list[RuleSet]] = {}
ONEFLOW = {"benchmark_root": ("/opt/cnns",), "data_root": ("/data/ofrecord",)}


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer for a key than an operator for a line: what is said stays, and
    keys wait for their turn, until a test gives them less time itself."""
    monkeypatch.setattr("tui.flash.SHOWN_S", 120.0)
    monkeypatch.setattr("tui.typed_ahead.PATIENCE_S", 60.0)
    monkeypatch.setattr(DlperfApp, "NOTIFICATION_TIMEOUT", 120.0)


@pytest.fixture(autouse=True)
def painted_when_looked_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads the screen has all of it painted then, and :func:`console` does at its end; styles
    that another test's console has parsed are parsed. Else what nobody looks at would be a third of
    what these tests cost. Tests of just that, and those that look for what breaks painting, are
    marked ``painted``."""

    def unread(self: Compositor, full: bool = False, **how: Any) -> object:
        if full:  # a picture of it
            return render(self, full=True, **how)
        visible_screen_stack.set(how.get("screen_stack") or [])
        self._dirty_regions.clear()
        return None

    def parse(self: KeptStylesheet, css: str, **of: Any) -> list[RuleSet]:
        key = (css, frozenset(self._variables.items()), *of.items())
        if key not in PARSED:
            PARSED[key] = rules(self, css, **of)
        return PARSED[key]

    render, rules = Compositor.render_update, KeptStylesheet._parse_rules
    if request.node.get_closest_marker("painted") is None:
        monkeypatch.setattr(Compositor, "render_update", unread)
        monkeypatch.setattr(KeptStylesheet, "_parse_rules", parse)


@pytest.fixture
def workspace(tmp_path: Path) -> FakeWorkspace:
    return FakeWorkspace(tmp_path)


async def until(pilot: Pilot[str], condition: Callable[[], object]) -> None:
    """Wait until ``condition`` holds, at most :data:`DEADLINE_S`."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("the condition did not come true in time")
        await asyncio.sleep(0.01)
    await pilot.pause()


class Operator(Pilot[str]):
    """Textual's own takes a process for idle that a busy machine gave no time to."""

    async def press(self, *keys: str) -> None:
        await super().press(*keys)
        await self.pause()

    async def pause(self, delay: float | None = None) -> None:
        await asyncio.sleep(delay or 0)
        await settled(cast(DlperfApp, self.app))


@asynccontextmanager
async def console(
    workspace: Workspace,
    size: tuple[int, int] = SMALL,
    *,
    readonly: bool = False,
    prompter: ConsolePrompter | None = None,
    marks_file: Path | None = None,
) -> AsyncIterator[tuple[DlperfApp, Pilot[str]]]:
    """The app; on a fake cluster once the hosts have answered."""
    app = DlperfApp(workspace, readonly=readonly, prompter=prompter, marks_file=marks_file)
    async with app.run_test(size=size, notifications=True):
        pilot = Operator(app)
        if isinstance(workspace, FakeWorkspace):
            await until(pilot, lambda: workspace.probed)
        await pilot.pause()  # a page that was opened by itself is there
        tick(app)
        await pilot.pause()
        yield app, pilot
        if app.is_running and app.screen_stack:
            screen_text(app)


def tick(app: DlperfApp) -> None:
    """What the clockwork does twice a second, now: as the screen, beyond which no message goes that
    one of its widgets sends itself meanwhile."""
    if app.screen.is_mounted:
        outside = active_message_pump.set(app.screen)
        getattr(app.screen, "tick", lambda: None)()
        active_message_pump.reset(outside)


async def type_ahead(app: DlperfApp, pilot: Pilot[str], *keys: str) -> None:
    """All keys in one go, as a terminal hands over what was typed while the console was busy."""
    characters = {"space": " ", "enter": "\r", "tab": "\t"}
    for key in keys:
        name = key if len(key) > 1 or key.isalnum() else _character_to_key(key)
        app.post_message(events.Key(name, characters.get(key, key if len(key) == 1 else None)))
    await settled(app)


async def settled(
    app: DlperfApp, *, at_work: Callable[[], bool] = lambda: False, typed: object = ()
) -> None:
    """Until every key, message and callback has been dealt with, and all of it is painted.

    ``at_work``: whether there is something else to wait for. ``typed``: what a failure names. The
    clock is the console's own time on the CPU, which a busy machine does not use up; what waits for
    nothing at all uses none.
    """
    quiet, end, idle_end = 0, time.process_time() + DEADLINE_S, time.monotonic() + STILL_S
    while quiet < 2 and app.is_running and not app._exit:  # what one pass led to is the second's
        late = time.process_time() > end or time.monotonic() > idle_end
        assert not late, (typed, app.screen_stack, list(app.workers))
        await Pilot(app)._wait_for_screen()  # each widget is through with what it was at
        quiet = quiet + 1 if _still(app) and not at_work() else 0
        await asyncio.sleep(0.001)


def _still(app: DlperfApp) -> bool:
    """Nothing waits for its turn, and nothing for being painted."""
    screen = app.screen
    nodes = [app, *(node for one in app.screen_stack for node in one.walk_children(with_self=True))]
    waiting = any(node.message_queue_size or node._next_callbacks for node in nodes)
    unpainted = screen._layout_required or screen._scroll_required or screen._repaint_required
    unpainted = unpainted or screen._recompose_required or screen._dirty_widgets
    return app.typed.idle and not (waiting or unpainted or screen._callbacks)


def begin(
    app: DlperfApp,
    workspace: FakeWorkspace,
    tags: tuple[str, ...] = ("1n1g", "1n8g", "2n8g", "4n8g"),
    repeats: int = 2,
) -> FakeController:
    """A campaign at work, without going through the matrix."""
    plan = workspace.plan(Selection(("oneflow-resnet50",), tags, ONEFLOW, repeats))
    controller = workspace.controller(plan)
    app.session.controller = controller
    return controller


def hints_shown(app: DlperfApp) -> str:
    """The last line, or two."""
    rows = screen_text(app).splitlines()
    return "\n".join(rows[app.screen.query_one(KeyBar).region.y :])


def screen_text(app: App[Any]) -> str:
    """What the terminal shows, line by line."""
    visible_screen_stack.set(app._background_screens)
    lines = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in lines)


def shows(app: DlperfApp, text: str) -> bool:
    return text in screen_text(app)


def words(widget: Widget) -> str:
    """What one widget shows."""
    lines = [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]
    return "\n".join(lines)
