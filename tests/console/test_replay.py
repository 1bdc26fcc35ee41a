"""The console over a recorded campaign: its keys, and that it says what it is."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import random
import re
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.pilot import Pilot

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from backends.campaign.record.status_view import CampaignSnapshot
from backends.hangs.diagnosis import Diagnosis
from backends.hangs.slow_rank import SlowRank
from backends.replay.recording import read_recording
from backends.replay.replay_clock import SPEEDS, ReplayClock
from backends.replay.replay_workspace import ReplayWorkspace
from profiles.durations import format_duration
from profiles.errors import DlperfError
from tests.console.conftest import HUGE, LARGE, SMALL, Operator, screen_text, settled, tick, until
from tests.console.test_keys import drawn
from tests.support.console_terminal import Terminal
from tui.cli.program import main
from tui.command_palette import Palette
from tui.lent_terminal import LEADS_BACK
from tui.replaying import ReplayApp
from tui.screens.help import focused_panels, help_of, help_text
from tui.screens.possible_changes import why_not
from tui.screens.runs_page import RunsPage
from tui.screens.schedule_text import Schedule
from tui.session import Session
from tui.widgets.keybar import KeyBar, offered
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.seek_bar import FAILED, FOUND, LEAST, SeekBar, seek_bar

RECORDED = Path(__file__).resolve().parents[2] / "docs" / "examples" / "h200-x2-resnet50-compile"
OF_HOSTS = {"probe_one", "probe_all", "login", "precheck", "start", "export", "campaigns"}
ALTERNATE_SCREEN, MAIN_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
CHANGES = {"cancel_run", "cancel_all", "pause", "pause_all", "retry", "retry_all"} | {
    "repeat",
    "diagnose",
}


class Stopwatch:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def replay(
    size: tuple[int, int] = LARGE, speed: float = 10.0, recorded: Path = RECORDED
) -> AsyncIterator[tuple[ReplayApp, Pilot[str], Stopwatch]]:
    watch = Stopwatch()
    workspace = ReplayWorkspace(recorded, speed, monotonic=watch)
    app = ReplayApp(workspace)
    async with app.run_test(size=size, notifications=True):
        pilot = Operator(app)
        await until(pilot, lambda: app.session.opened is not None and app.current_mode == "runs")
        yield app, pilot, watch
    if app.is_running or workspace.playback.exists():
        await workspace.close()


@pytest.mark.parametrize("name", ["h200-x2-gpt-1.3b", "two-cores-auto"])
async def test_results_call_the_devices_from_the_first_moment_on_what_they_are(name: str) -> None:
    async with replay(recorded=RECORDED.parent / name) as (app, pilot, watch):
        await pilot.press("4")
        await until(pilot, lambda: app.current_mode == "results")
        headings = set()
        for moment in (0.3, 3600.0):
            watch.now = moment
            tick(app)
            table = app.screen.query_one(KeyedTable)
            await until(pilot, lambda table=table: len(table.ordered_columns) > 1)
            headings.add(table.ordered_columns[1].label.plain)
        assert headings == {"Devices" if name == "two-cores-auto" else "GPUs"}


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_its_list_has_the_keys_from_the_first_moment_on(size: tuple[int, int]) -> None:
    async with replay(size) as (app, pilot, _):
        await until(pilot, lambda: "2n" in screen_text(app) or "1n" in screen_text(app))
        table = app.screen.query_one(KeyedTable)
        await until(pilot, lambda: table.display and table.has_focus)
        assert "Back" not in {key.label for key in offered(app.screen)}
        before = table.cursor_row
        await pilot.press("j")
        await until(pilot, lambda: table.cursor_row == before + 1)


@given(
    room=st.integers(0, 200),
    at=st.floats(0, 1),
    failed=st.lists(st.floats(0, 1), max_size=4),
    found=st.lists(st.floats(0, 1), max_size=4),
)
def test_a_bar_of_the_time_fills_its_room_and_has_a_sign_for_whatever_went_wrong(
    room: int, at: float, failed: list[float], found: list[float]
) -> None:
    told = seek_bar(SeekBar(at, tuple(failed), tuple(found)), room).plain
    assert cell_len(told) == (room if room >= LEAST + 2 else 0)
    if told:
        assert (FAILED in told) is bool(failed)
        assert (FOUND in told) <= bool(found)
        assert "┃" in told or failed or found
        assert "━" not in told[told.find("┄") :] or "┄" not in told, "what is past is before"


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_a_bar_shows_where_a_replay_is_in_a_line_that_is_there_anyway(
    size: tuple[int, int],
) -> None:
    async with replay(size) as (app, pilot, watch):
        clock = clock_of(app)
        for moment in (0.0, 12.0, 1000.0):
            watch.now = moment
            share = (clock() - clock.begin) / (clock.end - clock.begin)

            def line() -> str:
                tick(app)
                return screen_text(app).splitlines()[1]

            def told(share: float = share) -> bool:
                past, to_come = line().count("━"), line().count("┄")
                return abs(past - share * (past + to_come + 1)) <= 1 and "┃" in line()

            await until(pilot, told)
            assert ("[ ] run" in line()) is (size != SMALL)


def test_what_failed_and_what_was_found_is_known_of_a_recording(tmp_path: Path) -> None:
    source = tmp_path / "c"
    shutil.copytree(RECORDED, source)
    at = read_recording(source)
    assert (at.failed, at.found_at) == ((), ())
    path = source / journal.FILE_NAME
    told = [*journal.read_events(path)]
    run = next(e.run_id for e in told if isinstance(e, ev.RunSucceeded))
    ended = next(n for n, e in enumerate(told) if isinstance(e, ev.RunSucceeded))
    t = told[ended].t
    rank = SlowRank(1, "node1", 1, 0.2, 1.2, 1.0, since=t - 3)
    slow = ev.SlowRanksTold(t=t - 3, run_id=run, slow_ranks=(rank,))
    more = [
        replace(slow, t=t - 4, slow_ranks=()),
        slow,
        replace(slow, t=t - 2),
        ev.RunDiagnosed(t=t - 1, run_id=run, diagnosis=Diagnosis()),
        ev.RunFailed(t=t, run_id=run, reason="NCCL error"),
    ]
    path.write_bytes(b"".join(map(encode, [*told[:ended], *more, *told[ended + 1 :]])))
    at = read_recording(source)
    assert at.failed == (t,)
    assert sorted(at.found_at) == [t - 3, t - 1]


async def test_space_plays_and_marks_no_run() -> None:
    async with replay() as (app, pilot, _):
        clock = app._replay.replay_clock
        table = app.screen.query_one(KeyedTable)
        await until(pilot, lambda: table.has_focus)
        for plays in (False, True):
            await pilot.press("space")
            await until(pilot, lambda plays=plays: clock.plays is plays)
        assert "[x]" not in screen_text(app)
        told = drawn(help_of(app.screen), 400)
        assert "so does Space" in told
        assert "mark the run" not in told


async def test_runs_come_as_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    async with replay() as (app, pilot, watch):
        await until(pilot, lambda: "REPLAY ▶ ×10 0s of" in screen_text(app))
        assert "✓ succeeded" not in screen_text(app)
        watch.now += 5.0
        await until(pilot, lambda: "✓ succeeded" in screen_text(app))
        await until(pilot, lambda: "4,647.9" in screen_text(app))
        watch.now += 1000.0
        await until(pilot, lambda: "8/8 runs · finished" in screen_text(app))
        await until(pilot, lambda: "REPLAY ■ end" in screen_text(app))
        await pilot.press("4")
        await until(pilot, lambda: "6,767.1" in screen_text(app))
        for key in ("0", "full_stop"):
            await pilot.press(key)
            await until(pilot, lambda: "0/8 runs" in screen_text(app))
            watch.now += 1000.0
            await until(pilot, lambda: "REPLAY ■ end" in screen_text(app))
            assert "read-only" not in screen_text(app)


@pytest.mark.parametrize("page", ["hosts", "runs", "results"])
async def test_who_goes_to_a_page_while_it_is_opened_stays_there(page: str) -> None:
    workspace = ReplayWorkspace(RECORDED, 1.0, monotonic=Stopwatch())
    app = ReplayApp(workspace)
    async with app.run_test(size=LARGE):
        app.action_page(page)
        assert app.session.opened is None
        await until(Operator(app), lambda: app.session.opened is not None)
        await settled(app)
        assert app.current_mode == page
    await workspace.close()


@pytest.mark.parametrize("lent", [False, True])
async def test_it_opens_on_runs_and_q_says_whether_it_leads_back(
    lent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ReplayApp.DEFAULT_MODE == "runs", "from its first paint on"
    monkeypatch.delenv(LEADS_BACK, raising=False)
    if lent:
        monkeypatch.setenv(LEADS_BACK, "1")
    async with replay() as (app, pilot, _):
        await until(pilot, lambda: ("q Back" if lent else "q Quit") in screen_text(app))
        assert ("q Quit" in screen_text(app)) != lent


async def test_what_was_found_of_a_host_stays_while_our_run_is_there(tmp_path: Path) -> None:
    source = tmp_path / RECORDED.name
    shutil.copytree(RECORDED, source)
    journal = source / "events.jsonl"
    of_it = '"bearings":[{"profiles":[],"hosts":[["vm"]],"gpus":[1],"tags":[]}]'
    warned = f'"warned":["vm: GPU1 is hot: 88 °C"],{of_it}'
    journal.write_text(journal.read_text().replace('"warned":[]', warned, 1))

    def in_row(app: ReplayApp, *said: str) -> bool:
        lines = screen_text(app).splitlines()
        return any(" vm " in line and all(one in line for one in said) for line in lines)

    async with replay(recorded=source) as (app, pilot, _):
        await pilot.press("full_stop", "1")
        await until(pilot, lambda: in_row(app, "GPU1 is hot: 88 °C"))
        await pilot.press("right_curly_bracket")
        await until(pilot, lambda: in_row(app, "our run"))
        assert in_row(app, "our run", "▲ GPU1"), screen_text(app)


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_its_time_is_the_operators(size: tuple[int, int]) -> None:
    async with replay(size) as (app, pilot, watch):
        await pilot.press("full_stop")
        watch.now += 60.0
        await until(pilot, lambda: "REPLAY ‖ ×10 0s" in screen_text(app))
        await until(pilot, lambda: ". Play" in screen_text(app))
        await pilot.press("full_stop")
        await until(pilot, lambda: "REPLAY ▶ ×10 0s" in screen_text(app))
        await until(pilot, lambda: ". Pause" in screen_text(app))
        for speed in SPEEDS[SPEEDS.index(10.0) + 1 :]:
            await pilot.press("greater_than_sign")
            await until(pilot, lambda speed=speed: f"×{speed:g} 0s" in screen_text(app))
        for speed in reversed(SPEEDS[:-1]):
            await pilot.press("less_than_sign")
            await until(pilot, lambda speed=speed: f"×{speed:g} 0s" in screen_text(app))


async def test_a_runs_log_is_played_with_it_and_told_by_its_place_in_the_campaign() -> None:
    async with replay(HUGE) as (app, pilot, watch):
        watch.now += 1000.0
        await until(pilot, lambda: "8/8 runs · finished" in screen_text(app))
        page = app.screen
        assert isinstance(page, RunsPage)
        await pilot.press("home")
        await until(pilot, lambda: page.selected is not None and page.panels.log_panel._lines)
        run, viewed = page.selected, page.viewed
        assert run is not None
        assert viewed is not None
        assert run.log is not None
        assert run.log.is_file()
        whole = run.log.read_text(encoding="utf-8", errors="replace").splitlines()
        assert [line.text for line in page.panels.log_panel._lines] == whole
        told = str(run.log.relative_to(viewed.path))
        await until(pilot, lambda: told in page.panels.beside.text)
        assert str(viewed.path) not in page.panels.beside.text


DOES = (
    *("right_square_bracket", "left_square_bracket", "right_curly_bracket", "left_curly_bracket"),
    *("greater_than_sign", "less_than_sign", "full_stop", "0"),
)


def clock_of(app: ReplayApp) -> ReplayClock:
    return app.session.workspace.replay_clock  # type: ignore[attr-defined,no-any-return]


def arrived(app: ReplayApp) -> bool:
    """What is shown is the moment that the clock stands still at."""
    return bool(app.session.workspace.cluster.now() == clock_of(app)())


async def stand_still(app: ReplayApp, pilot: Pilot[str], page: str) -> str:
    """What the page says of the first run, or host."""
    if clock_of(app).plays:
        clock_of(app).toggle()
    await pilot.press(page)
    await until(pilot, lambda: arrived(app))
    tick(app)
    await pilot.press("end", "home")
    before, shown = "", "nothing yet"
    while shown != before:  # logs and telemetry are read in threads
        await asyncio.sleep(0.4)
        tick(app)
        await pilot.pause()
        before, shown = shown, screen_text(app)
    return shown


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("page", ["1", "3", "4"])
async def test_all_that_is_in_sight_is_of_the_moment_whatever_was_done_before(
    page: str, seed: int
) -> None:
    """As on the screen of one that only ever went to that moment."""
    chance = random.Random(f"{seed}{page}")
    recorded = RECORDED.with_name(chance.choice(("h200-x2-auto", RECORDED.name)))
    async with replay(HUGE, recorded=recorded) as (app, pilot, watch):
        await pilot.press(page)
        for key in chance.choices(DOES, k=6):
            watch.now += chance.uniform(0.0, 4.0)
            await pilot.press(key)
            await until(pilot, lambda: arrived(app))
        shown, moment = await stand_still(app, pilot, page), clock_of(app)()
        speed = clock_of(app).speed
    async with replay(HUGE, speed, recorded=recorded) as (app, pilot, watch):
        clock_of(app).toggle()
        clock_of(app).seek(moment)
        again = await stand_still(app, pilot, page)
    assert again.splitlines() == shown.splitlines()


@pytest.mark.parametrize(
    "act", [ReplayApp._show_moment, ReplayApp.action_play, lambda app: app.action_faster(1)]
)
async def test_a_moment_that_comes_while_a_page_is_being_made_waits_for_it(
    act: Callable[[ReplayApp], None],
) -> None:
    async with replay() as (app, pilot, _):
        app.action_page("results")
        assert not app.screen.query("*"), "its widgets come later"
        act(app)
        await until(pilot, lambda: "REPLAY" in screen_text(app) and "Results" in screen_text(app))


async def test_what_the_disk_has_no_room_for_is_said_and_the_next_key_plays_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with replay(HUGE) as (app, pilot, watch):
        watch.now += 5.0
        await until(pilot, lambda: "✓ succeeded" in screen_text(app))
        with monkeypatch.context() as disk:
            disk.setattr(os, "link", full)
            disk.setattr(shutil, "copyfile", full)
            await pilot.press("0")
            await until(pilot, lambda: "No space left on device" in screen_text(app))
        assert "✓ succeeded" in screen_text(app), "what was shown is shown"
        await pilot.press("0")
        await until(pilot, lambda: "0/8 runs" in screen_text(app))
        watch.now += 1000.0
        await until(pilot, lambda: "REPLAY ■ end" in screen_text(app))


@pytest.mark.parametrize("went_back", [True, False])
async def test_a_copy_that_went_while_another_was_opened_is_missed_by_nobody(
    went_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = ReplayWorkspace(RECORDED, 10.0, monotonic=Stopwatch())
    workspace.replay_clock.seek(workspace.replay_clock.end - 1.0)
    workspace.advance()
    session = Session(workspace, readonly=True)
    await session.open(workspace.playback)
    workspace.replay_clock.seek(workspace.replay_clock.begin)
    workspace.advance()
    now, load = workspace.load(workspace.playback), workspace.load

    def late(path: Path, *, quick: bool) -> CampaignSnapshot:
        shutil.rmtree(path)
        if went_back:
            session.opened = now
        return load(path, quick=quick)

    monkeypatch.setattr(workspace, "load", late)
    with contextlib.nullcontext() if went_back else pytest.raises(DlperfError):
        await session.refresh()
    assert (session.opened is now) is went_back
    await workspace.close()


async def test_who_chose_a_run_keeps_it_going_back() -> None:
    async with replay(HUGE) as (app, pilot, watch):
        watch.now += 5.0
        table = app.screen.query_one(KeyedTable)
        await until(pilot, lambda: table.current_key is not None)
        await pilot.press("end")
        chosen = table.current_key
        for key in ("left_square_bracket", "0", "right_curly_bracket", "left_curly_bracket"):
            path = app.session.viewed_path
            await pilot.press(key)
            await until(pilot, lambda path=path: app.session.viewed_path != path or arrived(app))
            tick(app)
            assert app.screen.query_one(KeyedTable).current_key == chosen


@pytest.mark.parametrize("page", ["1", "3", "4"])
async def test_nothing_is_offered_that_asks_a_host_or_changes_something(page: str) -> None:
    async with replay(HUGE) as (app, pilot, watch):
        watch.now += 5.0
        await pilot.press(page)
        await until(pilot, lambda: "REPLAY" in screen_text(app))
        actions = {key.action.partition("(")[0] for key in offered(app.screen)}
        assert {"play", "faster", "restart", "quit"} <= actions
        assert not actions & (OF_HOSTS | CHANGES)
        for key in ("r", "R", "s", "p", "c", "C", "t", "P", "plus", "e", "O", "enter"):
            await pilot.press(key)
            await pilot.press("escape")
        assert app.session.controller is None
        assert app.session.opened is not None
        assert app.session.opened.path == app.session.workspace.playback  # type: ignore[attr-defined]


async def test_its_palette_says_why_a_page_never_does_a_thing_there_opened_or_not() -> None:
    async with replay(HUGE) as (app, pilot, watch):
        watch.now += 1000.0
        for page in ("3", "4", "1"):
            await pilot.press(page, "colon")
            await until(pilot, lambda: isinstance(app.screen, Palette))
            await pilot.press(*"export")
            await until(pilot, lambda: "Export  not in a replay; dlperf-tui" in screen_text(app))
            await pilot.press("escape")


@pytest.mark.parametrize("passed", [0.0, 5.0, 20.0, 1000.0])
async def test_a_recorded_host_is_what_it_was_at_that_moment_and_not_ready_today(
    passed: float,
) -> None:
    async with replay() as (app, pilot, watch):
        watch.now += passed
        await until(pilot, lambda: not passed or "0/6" not in screen_text(app))
        watch.now += 0.001
        await pilot.press("full_stop", "1")
        await until(pilot, lambda: app.current_mode == "hosts")
        await until(pilot, lambda: "asked" in screen_text(app) or "as of" in screen_text(app))
        tick(app)
        shown = screen_text(app)
        viewed = app.session.viewed
        assert viewed is not None
        active = [run for run in viewed.runs if run.state.active]
        assert "ready" not in shown
        assert "no lease" not in shown
        assert ("○ recorded" in shown) == (not active)
        assert all(f"our run {run.label}" in shown for run in active)
        assert "580.159.04" in shown, "the driver, as it was recorded"


def done_by(app: ReplayApp, act: Callable[[], None]) -> bool:
    """Whether something of the clock is another for it, which is put back."""
    clock = clock_of(app)
    before = clock.plays, clock.speed, clock()
    act()
    after = clock.plays, clock.speed, clock()
    clock.plays, clock.speed = before[:2]
    clock.seek(before[2])
    return after != before


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
@pytest.mark.parametrize("speed", [SPEEDS[0], 10.0, SPEEDS[-1]])
async def test_a_key_of_its_own_is_offered_where_it_does_something_and_there_alone(
    size: tuple[int, int], speed: float
) -> None:
    async with replay(size, speed) as (app, pilot, _):
        clock = clock_of(app)
        clock.toggle()
        acts: dict[str, Callable[[], None]] = {
            "faster(1)": lambda: app.action_faster(1),
            "faster(-1)": lambda: app.action_faster(-1),
            "turn(1)": lambda: app.action_turn(1),
            "turn(-1)": lambda: app.action_turn(-1),
            "skip(30)": lambda: app.action_skip(30),
            "skip(-30)": lambda: app.action_skip(-30),
        }
        for moment in (clock.begin, (clock.begin + clock.end) / 2, clock.end):
            clock.seek(moment)
            await until(pilot, lambda: arrived(app))
            offers = {key.action for key in offered(app.screen)}
            does = {name for name, act in acts.items() if done_by(app, act)}
            assert offers & set(acts) == does
            assert ("restart" in offers) == (moment > clock.begin)
            tick(app)
            shown = {key.action for key in app.screen.query_one(KeyBar).chosen()}
            hidden = {"skip(30)", "skip(-30)"} if size != HUGE else set()
            assert shown >= (offers & {*acts, "restart", "play"}) - hidden
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "Next: this is its end" in screen_text(app))


@pytest.mark.parametrize("keys", [(), ("z",), ("enter",), ("enter", "z"), ("s",), ("v", "v")])
async def test_the_key_that_shows_the_next_panel_has_room_wherever_it_works(
    keys: tuple[str, ...],
) -> None:
    async with replay(SMALL) as (app, pilot, _):
        clock = clock_of(app)
        clock.seek((clock.begin + clock.end) / 2)  # a run has a log there
        await until(pilot, lambda: arrived(app))
        tick(app)
        await pilot.press(*keys)
        await settled(app)
        for moment in ((clock.begin + clock.end) / 2, clock.begin, clock.end):
            clock.seek(moment)
            await until(pilot, lambda: arrived(app))
            for plays in (True, False):
                if clock.plays is not plays:
                    await pilot.press("full_stop")
                tick(app)
                works = {key.action for key in offered(app.screen)}
                shown = {key.action for key in app.screen.query_one(KeyBar).chosen()}
                assert "view" in shown or "view" not in works


AS_IF_NOW = re.compile(r"\bago\b|\bnow\b|\bETA\b")


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
@pytest.mark.parametrize("keys", ["1", "3", "3s", "3v", "3vv", "4"])
async def test_nothing_is_told_as_if_it_were_so_now(size: tuple[int, int], keys: str) -> None:
    async with replay(size) as (app, pilot, _):
        clock = clock_of(app)
        clock.toggle()
        for tenth in range(10):
            clock.seek(clock.begin + 0.1 * tenth * (clock.end - clock.begin))
            await until(pilot, lambda: arrived(app))
            viewed = app.session.viewed
            if viewed is not None and any(run.state.active and run.progress for run in viewed.runs):
                break
        else:
            raise AssertionError("no run is ever at work")
        await pilot.press(*keys)
        await until(pilot, lambda: "REPLAY" in screen_text(app))
        tick(app)
        await pilot.pause()
        shown = screen_text(app)
        assert not AS_IF_NOW.search(shown), shown


async def test_esc_on_a_page_of_a_replay_says_how_it_is_left() -> None:
    async with replay(LARGE) as (app, pilot, _):
        await pilot.press("escape")
        await until(pilot, lambda: "q leaves the replay" in screen_text(app))


async def test_of_a_run_that_waits_it_is_said_that_why_is_not_recorded() -> None:
    async with replay(HUGE) as (app, pilot, watch):
        watch.now += 2.0
        await until(pilot, lambda: "×10 20s of" in screen_text(app))
        await pilot.press("G")
        await until(pilot, lambda: "why it waited is not recorded" in screen_text(app))
        await pilot.press("g")
        await until(pilot, lambda: "why it waited is not recorded" not in screen_text(app))


async def test_there_is_no_matrix_in_a_replay_and_its_own_keys_stand_together() -> None:
    async with replay(HUGE) as (app, pilot, watch):
        watch.now += 1.0
        await until(pilot, lambda: "×10 10s of" in screen_text(app))
        for key in ("1", "3", "4"):
            await pilot.press(key, "2")
            assert app.current_mode != "matrix"
            await until(pilot, lambda: "2: not in a replay, which shows one" in screen_text(app))
            assert "Matrix" not in screen_text(app)
            names = [key.action.partition("(")[0] for key in offered(app.screen)]
            assert names[0] == "play"
            own = [names.index(name) for name in ("faster", "restart")]
            assert len(names[min(own) : max(own)]) <= 2, "nothing else between them"


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_why_a_key_does_nothing_covers_neither_the_moment_nor_the_length(
    size: tuple[int, int],
) -> None:
    async with replay(size) as (app, pilot, watch):
        watch.now += 1000.0
        await until(pilot, lambda: "REPLAY ■ end" in screen_text(app))
        moment = screen_text(app).splitlines()[1]
        await pilot.press("right_curly_bracket")
        await until(pilot, lambda: "this is its end" in screen_text(app))
        assert screen_text(app).splitlines()[1] == moment


async def test_help_says_that_it_is_a_replay() -> None:
    async with replay() as (app, pilot, _):
        await pilot.press("question_mark")
        await until(pilot, lambda: "This is a replay" in screen_text(app))
        await pilot.press("escape")
        lines = drawn(help_text(focused_panels(app.screen)), 400).splitlines()
        about = [line for line in lines if line.startswith(("This is a replay", "Every run of"))]
        assert about[0].startswith("This is a replay")
        titles = [line for line in lines if line.isalpha()]
        assert titles[0] == "Replay"
        keys = [line.split()[0] for line in lines if line.startswith("  ")]
        assert keys[:3] == [".", "]", "["]
        assert keys.count("0") == 1, "each once"


async def test_help_of_runs_speaks_only_of_keys_that_there_are() -> None:
    """As in a console that only looks; where runs are changed, it warns what acts at once."""
    warning = "p, P and t act at once"
    assert warning in drawn(help_text(["runs"]), 400)
    async with replay() as (app, pilot, _):
        await pilot.press("3")
        await until(pilot, lambda: app.current_mode == "runs")
        told = drawn(help_of(app.screen), 400)
        assert "Every run of the campaign" in told
        assert warning not in told


@pytest.mark.parametrize("name", ["h200-x2-resnet50-graphs", "h200-x2-auto"])
async def test_what_is_to_come_is_what_the_record_has(name: str) -> None:
    """At every turn: each run where and when it came to be, and none that never was."""
    recorded = RECORDED.with_name(name)
    runs = read_campaign(recorded).runs
    async with replay(HUGE, recorded=recorded) as (app, pilot, _):
        clock_of(app).toggle()
        for _turn in range(6):
            await pilot.press("]")
            await until(pilot, lambda: arrived(app))
            viewed = app.session.viewed
            assert viewed is not None
            schedule = Schedule(app.session.recorded_slots)
            slots = schedule._ahead(viewed, app.session.workspace.cluster.now(), ())
            left = [one for one in viewed.state.runs.values() if not one.state.ended]
            assert slots.keys() == {one.run_id for one in left}
            for run_id, slot in slots.items():
                was = runs[run_id]
                assert (slot.hosts, slot.end) == (was.hosts, was.ended_at)
                assert slot.start == pytest.approx(was.started_at, abs=1.0)


async def test_it_ends_and_leaves_nothing() -> None:
    async with replay() as (app, pilot, _):
        playback = app.session.viewed_path
        assert playback is not None
        await pilot.press("q")
        await until(pilot, lambda: not playback.exists())


@pytest.mark.parametrize("speed", ["0", "101", "fast", "nan", "-1", "inf"])
def test_a_wrong_speed_is_one_line(speed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(RECORDED), f"--speed={speed}"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_a_terminal_it_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(RECORDED)]) == 2
    said = capsys.readouterr().err
    assert "terminal" in said
    assert f"dlperf-tui report {RECORDED}" in said


def test_without_a_terminal_too_it_is_said_that_there_is_no_such_campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(RECORDED, tmp_path / RECORDED.name)
    for word, meant in ((RECORDED.name[:-1], RECORDED.name), ("nosuch", "there is")):
        assert main(["--campaigns", str(tmp_path), "replay", word]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"no campaign '{word}'" in said
        assert meant in said


@pytest.mark.parametrize("leads_back", [False, True])
def test_nothing_is_left_of_it_on_the_terminal_but_how_its_figures_are_got(
    tmp_path: Path, *, leads_back: bool
) -> None:
    program = "import sys; from tui.cli.program import main; sys.exit(main(sys.argv[1:-1]))"
    words = [sys.executable, "-c", program, "--campaigns", str(RECORDED.parent)]
    words += ["replay", RECORDED.name]
    terminal = Terminal(words, SMALL, tmp_path, **{LEADS_BACK: "1"} if leads_back else {})
    try:
        assert terminal.shows(b"REPLAY")
        terminal.press(["q"])
        assert terminal.ends() == 0
    finally:
        terminal.close()
    before, _, after = bytes(terminal.received).partition(ALTERNATE_SCREEN)
    assert f"reading {RECORDED.name}".encode() in before
    assert b"\n" not in before
    assert before.endswith(b"\r\x1b[K"), "the line is taken away"
    shown, _, left = after.partition(MAIN_SCREEN)
    assert b"reading" not in left
    assert (b"report " in left and bytes(RECORDED) in left) is not leads_back
    _, cleared, drawn = shown.rpartition(b"\x1b[2J")
    assert cleared, "a window that has grown would bring back what is left there"
    assert b"REPLAY" not in drawn


async def test_results_say_how_many_runs_count_and_how_many_were_profiled() -> None:
    recorded = RECORDED.with_name("h200-x4-gpt-124m")
    async with replay(HUGE, recorded=recorded) as (app, pilot, watch):
        watch.now += 10_000.0
        await until(pilot, lambda: "12 succeeded, 3 of them profiled" in screen_text(app))
        await pilot.press("4")
        await until(pilot, lambda: "9 counted, 3 profiled" in screen_text(app))


@pytest.mark.parametrize("key", ["]", "}", "0"])
async def test_where_it_goes_is_said_until_it_is_there(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go, advance = threading.Event(), ReplayWorkspace.advance

    def slow(workspace: ReplayWorkspace) -> bool:
        return may_go.wait() and advance(workspace)

    async with replay(SMALL) as (app, pilot, watch):
        watch.now += 3.0
        await until(pilot, lambda: "REPLAY ▶ ×10 30s of" in screen_text(app))
        monkeypatch.setattr(ReplayWorkspace, "advance", slow)
        await pilot.press(key)
        there = format_duration(clock_of(app)() - clock_of(app).begin)
        await until(pilot, lambda: f"REPLAY seeking {there} of" in screen_text(app))
        may_go.set()
        await until(pilot, lambda: f"REPLAY ▶ ×10 {there} of" in screen_text(app))


async def test_who_stands_still_stands_still_at_the_beginning_and_who_is_at_the_end_plays_on() -> (
    None
):
    async with replay() as (app, pilot, watch):
        clock = app._replay.replay_clock
        watch.now += 5.0
        await pilot.press("full_stop")
        await pilot.press("0")
        await until(pilot, lambda: app._replay.moment == clock.begin)
        watch.now += 5.0
        assert (clock.plays, clock()) == (False, clock.begin)
        for key in ("full_stop", "space"):
            await pilot.press(key)
            watch.now += 1000.0
            await until(pilot, lambda: "REPLAY ■ end" in screen_text(app))


@pytest.mark.parametrize("key", ["[", "{"])
async def test_who_goes_back_from_the_end_stands_still_there(key: str) -> None:
    async with replay() as (app, pilot, watch):
        clock = app._replay.replay_clock
        watch.now += 1000.0
        await until(pilot, lambda: "REPLAY ■ end" in screen_text(app))
        await until(pilot, lambda: ". Again" in screen_text(app))
        await pilot.press(key)
        await until(pilot, lambda: "REPLAY ‖" in screen_text(app))
        at = clock()
        watch.now += 1000.0
        assert clock() == at < clock.end
        await pilot.press("full_stop")
        watch.now += 1000.0
        await until(pilot, lambda: "REPLAY ■ end" in screen_text(app))


def test_while_a_replay_is_opened_no_key_says_that_there_is_no_campaign() -> None:
    assert why_not("window", None, None, opening=True) == "the replay is being opened"
    assert why_not("window", None, None) == "there is no campaign here"


@pytest.mark.parametrize("key", ["2", "escape"])
async def test_what_is_said_leaves_the_campaigns_name_in_sight(key: str) -> None:
    async with replay(LARGE) as (app, pilot, _):
        await pilot.press("full_stop")
        await until(pilot, lambda: "0/8 runs" in screen_text(app).splitlines()[0])
        _, _, campaign = screen_text(app).splitlines()[0].rstrip().rpartition("  ")
        await pilot.press(key)
        await until(pilot, lambda: "replay" in screen_text(app).splitlines()[0])
        assert screen_text(app).splitlines()[0].rstrip().endswith(campaign)
