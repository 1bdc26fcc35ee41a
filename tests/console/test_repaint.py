"""What goes to the terminal: only the cells that differ, and all of those."""

from __future__ import annotations

import asyncio
import re
from io import StringIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import RichVisual
from textual.widget import Widget

from tests.console.conftest import LARGE, SMALL, begin, console, screen_text, settled, tick, until
from tests.console.fakes import FakeWorkspace
from tui import typed_ahead
from tui.app import DlperfApp
from tui.repaint import Painted
from tui.screens import front_screen
from tui.screens.front_screen import WHOLE_WITHIN_S, FrontScreen
from tui.widgets.log_panel import LogPanel
from tui.widgets.shown_text import RenderedOnce

pytestmark = pytest.mark.painted

WIDTH, HEIGHT = 24, 3
STYLES = tuple(Style.parse(text) for text in ("red", "bold", "on #102030", "none"))
PLAIN = st.text("ab ─⣿[", min_size=WIDTH, max_size=WIDTH)
TERMINAL = Console(file=StringIO(), force_terminal=True, color_system="truecolor")
Line = tuple[str, tuple[int, ...]]

lines = st.tuples(PLAIN, st.tuples(*[st.integers(0, len(STYLES) - 1)] * (WIDTH // 6)))
pictures = st.lists(
    st.tuples(st.lists(lines, min_size=HEIGHT, max_size=HEIGHT), st.sampled_from(["full", "part"])),
    min_size=1,
    max_size=6,
)


def strip_of(line: Line) -> Strip:
    text, styles = line
    pieces = [text[i : i + 6] for i in range(0, WIDTH, 6)]
    return Strip([Segment(p, STYLES[s]) for p, s in zip(pieces, styles, strict=True)])


class Screen:
    """A terminal of cells: (character, colour, background, bold), as far as it can be seen."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], tuple[str, ...]] = {}

    def write(self, data: str) -> None:
        x = y = 0
        shown = {"fore": "", "back": "", "bold": ""}
        for sequence, kind, text in re.findall(r"(\x1b\[[\d;]*([Hm]))|([^\x1b])", data):
            if kind == "H":
                y, x = (int(number) - 1 for number in sequence[2:-1].split(";"))
            elif kind == "m":
                for code in re.findall(r"48;2;\d+;\d+;\d+|\d+", sequence):
                    if code == "0":
                        shown = dict.fromkeys(shown, "")
                    else:
                        place = {"4": "back", "3": "fore", "1": "bold"}[code[0]]
                        shown[place] = code
            elif text and text != "\n":
                letters = text != " "
                seen = [shown["fore"] * letters, shown["back"], shown["bold"] * letters]
                self.cells[y, x] = (text, *seen)
                x += 1


def full(picture: list[Line]) -> LayoutUpdate:
    return LayoutUpdate([[strip_of(line)] for line in picture], Region(0, 0, WIDTH, HEIGHT))


def part(picture: list[Line]) -> ChopsUpdate:
    """As where a widget of the last line was painted."""
    chops = [{0: strip_of(line).crop(0, 9), 9: strip_of(line).crop(9, WIDTH)} for line in picture]
    return ChopsUpdate(chops, [(HEIGHT - 1, 9, WIDTH)], [[9, WIDTH]] * HEIGHT)


@given(pictures)
@settings(deadline=None)
def test_the_terminal_shows_what_it_would_have_shown(
    shown: list[tuple[list[Line], str]],
) -> None:
    painted, here, there = Painted(), Screen(), Screen()
    for number, (picture, kind) in enumerate(shown):
        update = full(picture) if kind == "full" or number == 0 else part(picture)
        there.write(update.render_segments(TERMINAL))
        here.write(painted.only_changes(update).render_segments(TERMINAL))  # type: ignore[union-attr]
        assert here.cells == there.cells


def sent(painted: Painted, picture: list[Line]) -> str:
    return str(painted.only_changes(full(picture)).render_segments(TERMINAL))  # type: ignore[union-attr]


BLANK: Line = (" " * WIDTH, (3, 3, 3, 3))


def test_what_is_there_already_is_not_sent_again() -> None:
    painted = Painted()
    assert sent(painted, [BLANK] * HEIGHT)
    assert sent(painted, [BLANK] * HEIGHT) == ""
    one = (" " * 10 + "x" + " " * 13, BLANK[1])
    assert sent(painted, [BLANK, one, BLANK]) == "\x1b[2;11H\x1b[0mx\x1b[0m"
    painted.forget()
    assert sent(painted, [BLANK] * HEIGHT).count(" ") == WIDTH * HEIGHT


def test_a_style_is_said_once_however_many_places_have_it() -> None:
    painted = Painted()
    sent(painted, [BLANK] * HEIGHT)
    several: Line = ("x" + " " * 10 + "x" + " " * 12, (0, 0, 0, 0))
    text = sent(painted, [several, several, BLANK])
    assert text.count("x") == 4
    assert re.findall(r"\x1b\[[\d;]*m", text) == ["\x1b[0;31m", "\x1b[0m"]


def test_lines_of_which_terminals_disagree_are_sent_whole() -> None:
    wide: Line = ("漢字" + " " * (WIDTH - 4), BLANK[1])
    painted = Painted()
    update = LayoutUpdate(
        [[Strip([Segment(wide[0])])], *[[strip_of(BLANK)]] * 2], Region(0, 0, WIDTH, HEIGHT)
    )
    for _ in range(2):
        text = str(painted.only_changes(update).render_segments(TERMINAL))  # type: ignore[union-attr]
        assert wide[0] in text


def displayed(app: DlperfApp) -> list[int]:
    """The bytes of each update from now on."""
    sizes: list[int] = []
    before = app._painted.only_changes

    def noting(update: object) -> object:
        changes = before(update)  # type: ignore[arg-type]
        if changes is not None:
            sizes.append(len(changes.render_segments(TERMINAL).encode()))  # type: ignore[union-attr]
        return None

    app._painted.only_changes = noting  # type: ignore[assignment]
    return sizes


async def test_a_dialog_sends_its_own_cells_and_leaving_it_those_behind(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        workspace.clock.tick(60)
        await pilot.press("3")
        sizes = displayed(app)
        app.action_redraw()
        await until(pilot, lambda: sizes)
        for key in ("c", "escape", "question_mark", "escape", "O", "escape", "ctrl+p", "escape"):
            sizes.clear()
            await pilot.press(key)
            await until(pilot, lambda: app.typed.idle and sizes)
            assert sum(sizes) < 12_000, (key, sizes)


async def test_what_comes_to_the_front_is_painted_once_and_whole(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_screen, "WHOLE_WITHIN_S", 60.0)  # however busy the machine is
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        workspace.clock.tick(60)
        await pilot.press("3")
        sizes = displayed(app)
        for key in ("question_mark", "escape", "2", "p", "escape", "1", "3"):
            tick(app)  # what the page before has read from disk is there
            await settled(app)
            sizes.clear()
            await pilot.press(key)
            await until(pilot, lambda: app.typed.idle and sizes)
            large = [size for size in sizes if size > 1_000]
            assert len(large) == 1, (key, sizes)


async def test_the_page_stays_behind_a_dialog_whenever_that_is_rendered(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        for keys in (("p",), ("p", "question_mark"), ("q",)):
            await pilot.press("2", *keys)
            await settled(app)
            beside = screen_text(app).splitlines()[1:4]
            assert "2 Matrix" in beside[0]
            app.screen.refresh()
            app.screen.render_line(0)  # as where the mouse points, and not to paint it
            assert screen_text(app).splitlines()[1:4] == beside, keys
            await pilot.press(*["escape"] * len(keys))


async def test_what_never_gets_whole_is_painted_all_the_same(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, _):
        sizes = displayed(app)
        sight = app.screen.sight  # type: ignore[attr-defined]
        sight.renew()
        sight._drawing = -1  # nothing that follows is its
        app.screen.refresh()
        await asyncio.sleep(WHOLE_WITHIN_S)
        app.screen.refresh()
        async with asyncio.timeout(10):
            while not sizes:
                await asyncio.sleep(0.01)
        assert not sight.drawn
        sight.renew()  # for the end of the test, which waits for it


async def test_a_move_of_the_cursor_sends_little(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        sizes = displayed(app)
        app.action_redraw()
        for page in ("1", "2"):
            await pilot.press(page)
            await until(pilot, lambda: app.typed.idle)
            for key in ("down", "up", "down", "up"):
                sizes.clear()
                await pilot.press(key)
                await until(pilot, lambda: app.typed.idle)
                assert sum(sizes) < 2_000, (page, key, sizes)


async def test_what_a_key_has_had_read_is_painted_then_and_not_with_the_next_tick(
    workspace: FakeWorkspace,
) -> None:
    """Textual's clock stands still, so that nothing is painted by it."""
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        workspace.clock.tick(60)
        await pilot.press("3")
        tick(app)
        log = app.screen.query_one(LogPanel)
        await until(pilot, lambda: log.path is not None)
        for key in "jkjk":
            before = log.path
            app.screen._update_timer.stop()
            app.post_message(events.Key(key, key))
            async with asyncio.timeout(10):
                while log.path == before or log in app.screen._dirty_widgets:
                    await asyncio.sleep(0.001)


async def test_help_is_rendered_once_for_a_width(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[int] = []
    before = RichVisual.render_strips

    def noting(self: RichVisual, width: int, *rest: Any) -> list[Strip]:
        if isinstance(self, RenderedOnce):
            rendered.append(width)
        return before(self, width, *rest)

    monkeypatch.setattr(RichVisual, "render_strips", noting)
    async with console(workspace, LARGE) as (_, pilot):
        for key in ("question_mark", "escape", "down"):
            rendered.clear()
            await pilot.press(key)
            assert len(set(rendered)) == len(rendered), "its height is asked for several times"
            assert bool(rendered) is (key == "question_mark")
        await pilot.press("question_mark")
        rendered.clear()
        await pilot.resize_terminal(66, 30)
        await until(pilot, lambda: rendered)
        assert len(rendered) == len(set(rendered)), "other widths are other lines"


class Letters:
    """What Textual has sent, as letters at their places."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], str] = {}

    def write(self, data: str) -> None:
        x = y = 0
        for sequence, kind, text in re.findall(r"(\x1b\[[\d;]*([A-Za-z]))|([^\x1b])", data):
            if kind == "H":
                y, x = (int(number) - 1 for number in sequence[2:-1].split(";"))
            elif text == "\n":
                y, x = y + 1, 0
            elif text:
                self.cells[y, x] = text
                x += 1

    def lines(self, width: int, height: int) -> list[str]:
        return ["".join(self.cells.get((y, x), " ") for x in range(width)) for y in range(height)]


@pytest.mark.parametrize("way", ["escape", "z"])
@pytest.mark.parametrize("host", ["node1", "node4"])
async def test_panels_that_move_are_painted_where_they_are(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, way: str, host: str
) -> None:
    """Also when somebody asked where a widget is before they were laid out: a filter goes, a row
    comes into sight, and the panel below is pushed down."""
    sent, display = Letters(), DlperfApp._display

    def displayed(app: DlperfApp, screen: Any, renderable: Any) -> None:
        if screen is app.screen and isinstance(renderable, LayoutUpdate | ChopsUpdate):
            sent.write(renderable.render_segments(TERMINAL))
        display(app, screen, renderable)

    monkeypatch.setattr(DlperfApp, "_display", displayed)
    async with console(workspace, SMALL) as (app, pilot):
        await pilot.press("1")
        await settled(app)
        await pilot.press("slash", *host, "enter")
        await settled(app)
        for key in ("z", way, "slash", "escape", way):
            await pilot.press(key)
            await settled(app)
            strips = app.screen._compositor.render_strips()
            assert sent.lines(*SMALL) == [strip.text for strip in strips], key


async def test_what_a_key_asks_for_is_painted_at_once_and_not_with_the_next_tick_of_a_clock(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[list[Widget]] = []

    def paint(screen: FrontScreen[None]) -> None:
        painted(screen)
        nodes = screen.walk_children(Widget)
        left.append([w for w in nodes if w._repaint_required or w in screen._dirty_widgets])

    painted = FrontScreen.paint
    monkeypatch.setattr(FrontScreen, "paint", paint)
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        workspace.clock.tick(60)
        for page, keys in (("2", "jkljh "), ("3", "jjk"), ("1", "jjk")):
            await pilot.press(page)
            tick(app)
            await settled(app)
            for key in keys:
                left.clear()
                await pilot.press("space" if key == " " else key)
                await until(pilot, lambda: app.typed.idle and left)
                assert [] in left, (page, key, left)  # later ones may be of a line of the log


@pytest.mark.parametrize("page", ["1", "2", "3", "4"])
async def test_of_what_a_key_changes_nothing_is_painted_before_all_of_it(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """Also where Textual's clock ticks meanwhile."""
    early, painted = [], []
    display, focus = DlperfApp._display, FrontScreen.set_focus

    def displayed(app: DlperfApp, screen: Any, renderable: Any) -> None:
        if screen is app.screen and isinstance(renderable, LayoutUpdate | ChopsUpdate):
            (painted if app.typed.typed_at is None else early).append(key)
        display(app, screen, renderable)

    def focused(screen: FrontScreen[None], *args: Any, **named: Any) -> None:
        focus(screen, *args, **named)
        typed_ahead._hear(screen)
        screen._on_timer_update()

    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press(page)
        await settled(app)
        monkeypatch.setattr(DlperfApp, "_display", displayed)
        monkeypatch.setattr(FrontScreen, "set_focus", focused)
        for key in ("tab", "shift+tab"):
            await pilot.press(key)
            await settled(app)
            assert painted[-1:] == [key]
    assert not early


@pytest.mark.parametrize("page", ["1", "2", "3", "4"])
async def test_the_focus_changes_styles_of_what_has_it_or_is_around_or_in_that_and_no_others(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    matched: list[Widget] = []
    apply = Stylesheet.apply

    def noting(self: Stylesheet, node: DOMNode, **how: Any) -> None:
        matched.extend([node] if isinstance(node, Widget) else [])  # not for parts of one
        apply(self, node, **how)

    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press(page)
        await settled(app)
        for key in ("tab", "tab", "shift+tab"):
            before = app.focused
            with monkeypatch.context() as watched:
                watched.setattr(Stylesheet, "apply", noting)
                await pilot.press(key)
                await settled(app)
            had = [one for one in (before, app.focused) if one is not None]
            concerned = {w for one in had for w in (*one.ancestors_with_self, *one.walk_children())}
            assert set(had) <= set(matched) <= concerned, key
            matched.clear()
            nodes = list(app.screen.walk_children(with_self=True))
            kept = [node.styles.get_rules() for node in nodes]
            app.stylesheet.update_nodes(nodes)
            assert [node.styles.get_rules() for node in nodes] == kept
