"""The console on the demo's hosts: the real engine below it, at its fastest, by keys."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from backends import use_cases
from backends.campaign.plan.selection import Selection
from backends.campaign.record.journal import read_events
from backends.campaign.record.lock import CampaignLock
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.demo import open_demo
from backends.hosts.host_facts import HostState
from backends.keeper.request import Verb
from backends.simulated.machine import Machine
from backends.simulated.simulated_cluster import SimulatedCluster
from profiles.errors import DlperfError
from tests.console.conftest import (
    HUGE,
    LARGE,
    ONEFLOW,
    SMALL,
    console,
    screen_text,
    settled,
    shows,
    tick,
    words,
)
from tests.console.fakes import FakeSummary, FakeWorkspace
from tui.app import DlperfApp
from tui.cli.program import main
from tui.kept_words import PAST
from tui.key_bindings import PANELS
from tui.screens.campaign_list import CampaignList, kept_campaign, unfinished_question
from tui.screens.dialogs import Choice
from tui.session import Session
from tui.widgets.header import header_text
from tui.widgets.keyed_table import KeyedTable

SPEED = 60.0
WITHIN_S = 60.0
LEAVES = {"quit"}
"""Actions that end the console."""


@asynccontextmanager
async def demo(
    campaigns: Path, size: tuple[int, int] = LARGE, speed: float = SPEED
) -> AsyncIterator[tuple[DlperfApp, Pilot[str]]]:
    workspace = open_demo(campaigns, speed, time.time())
    async with console(workspace, size) as (app, pilot):
        await until(app, lambda: all(h.facts is not None for h in app.session.hosts))
        await settled(app)
        yield app, pilot
        await app.session.close()


async def until(app: DlperfApp, condition: Callable[[], object]) -> None:
    """Of hosts that are at work all the time: nothing ever stands still."""
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline, screen_text(app)
        await asyncio.sleep(0.02)
        tick(app)


async def test_its_replays_are_told_of_no_inventory_for_its_hosts_are_in_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = Path(__file__).parents[2] / "docs" / "examples" / "h200-x2-resnet50-compile"
    async with open_demo(tmp_path, SPEED, time.time()) as workspace:
        command = Session(workspace).replay_command(recorded)
    assert main(command[command.index("--campaigns") :]) == 2
    assert "needs a terminal" in capsys.readouterr().err, "it was found"


async def start(app: DlperfApp, *tags: str, profile: str = "oneflow-resnet50") -> None:
    plan = app.session.workspace.plan(Selection((profile,), tags, repeats=2))
    await app.session.start(plan)
    app.watch_campaign()


async def test_who_looks_on_from_a_shell_is_told_of_a_silent_run(tmp_path: Path) -> None:
    """As the console that is at work is, by whose hosts' clock alone it is silent."""
    async with demo(tmp_path) as (app, _):
        selection = Selection(("ngc-pytorch-resnet50",), ("1n1g",), repeats=3)
        plan = app.session.workspace.plan(selection)
        await app.session.start(plan)
        app.watch_campaign()
        [path] = tmp_path.iterdir()

        def status(*words: str) -> str:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                main(["status", path.name, *words, "--campaigns", str(tmp_path)])
            return said.getvalue()

        silent = "no ETA: a run is silent"
        await until(app, lambda: app.session.live and silent in app.session.live.summary)
        await until(app, lambda: silent in status("--line"))
        assert "running, no reading for " in status()
        told = json.loads(status("--json"))
        assert (told["eta_s"], told["eta_text"]) == (None, silent)


async def test_a_campaign_is_named_by_the_day_of_who_starts_it(tmp_path: Path) -> None:
    """However far the time of the simulated hosts is ahead."""
    async with open_demo(tmp_path, SPEED, time.time() + 86400.0) as workspace:
        await workspace.cluster.probe()
        days = [time.strftime("%Y-%m-%d")]
        path = await workspace.create(workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",))))
        days.append(time.strftime("%Y-%m-%d"))
    assert path.name[:10] in days


def states(app: DlperfApp) -> list[RunState]:
    live = app.session.live
    return [run.state for run in live.runs] if live is not None else []


async def test_the_degraded_host_is_shown_with_its_remedy(tmp_path: Path) -> None:
    async with demo(tmp_path, HUGE) as (app, pilot):
        found = {host.name: host.state for host in app.session.hosts}
        assert list(found.values()) == [HostState.READY] * 3 + [HostState.DEGRADED]
        await pilot.press("1", "G")
        await until(app, lambda: shows(app, "look at cooling"))
        shown = "\n".join(words(part) for part in app.screen.query("#detail Static"))
        assert "GPU5 is hot: 88 °C" in shown
        assert "two NVLink quads" in shown  # of the report's matrix


async def test_hosts_are_being_asked_before_the_first_frame(tmp_path: Path) -> None:
    workspace = open_demo(tmp_path, SPEED, time.time())
    app = DlperfApp(workspace)
    assert {host.state for host in app.session.hosts} == {HostState.PROBING}
    await workspace.close()


async def test_facts_of_a_host_are_as_old_as_its_runs_have_lived_meanwhile(tmp_path: Path) -> None:
    async with demo(tmp_path, HUGE) as (app, pilot):
        await pilot.press("1")
        began = time.monotonic()
        await until(app, lambda: shows(app, "as of 2m00s ago"))
        assert time.monotonic() - began < 15.0, "of the hosts' time"


async def test_a_campaign_goes_from_the_matrix_to_its_results_by_keys(tmp_path: Path) -> None:
    async with demo(tmp_path) as (app, pilot):
        await pilot.press("2")
        await until(app, lambda: shows(app, "oneflow-resnet50"))
        await pilot.press("n", "space", "minus", "minus", "minus", "minus", "minus", "minus")
        await until(app, lambda: shows(app, "1 case"))
        await pilot.press("enter")
        if app.current_mode != "runs":
            await until(app, lambda: app.screen.is_modal or app.current_mode == "runs")
        if app.screen.is_modal:
            await until(app, lambda: shows(app, "Start"))
            await settled(app)
            await pilot.press("enter")
        await until(app, lambda: RunState.RUNNING in states(app))
        await until(app, lambda: app.current_mode == "runs" and shows(app, "images/s"))
        await until(app, lambda: finished(app))
        assert states(app) == [RunState.SUCCEEDED]
        [path] = tmp_path.iterdir()
        assert "SIMULATED" in path.name
        await pilot.press("4")
        await until(app, lambda: shows(app, "1n1g"))
        assert shows(app, "SIMULATED")


async def test_runs_are_paused_cancelled_and_tried_again(tmp_path: Path) -> None:
    async with demo(tmp_path, speed=3.0) as (app, pilot):
        await start(app, "4n8g")
        await pilot.press("3")
        await until(app, lambda: RunState.RUNNING in states(app))
        await pilot.press("j", "p")
        await until(app, lambda: any(run.paused for run in runs(app)))
        await pilot.press("k", "c")
        await until(app, lambda: app.screen.is_modal)
        await settled(app)
        await pilot.press("y")
        await until(app, lambda: RunState.CANCELLED in states(app))
        [cancelled] = [run for run in runs(app) if run.state is RunState.CANCELLED]
        assert cancelled.cleanup.verified  # nothing of it is left on the hosts
        assert not any(machine.at_work() for machine in machines(app))
        await until(app, lambda: not app.screen.is_modal)
        await until(app, lambda: app.screen.check_action("retry", ()))
        await pilot.press("t")
        await until(app, lambda: RunState.RUNNING in states(app))
        assert [run.attempt for run in runs(app)] == [1, 1, 2]


async def test_what_went_with_the_console_of_a_demo_says_so_and_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with demo(tmp_path, speed=3.0) as (app, _):
        await start(app, "4n8g")
        await until(app, lambda: RunState.RUNNING in states(app))
    [path] = tmp_path.iterdir()
    seen = max(event.t for event in read_events(path / "events.jsonl"))
    monkeypatch.setattr("backends.demo._moments", lambda *_: [seen + 3600.0])
    for attempt in (2, 3):
        async with demo(tmp_path, speed=10.0) as (app, _):
            await app.session.resume(path)
            await until(app, lambda n=attempt: n == runs(app)[-1].attempt)
            await until(app, lambda: runs(app)[-1].state is RunState.RUNNING)
    async with demo(tmp_path, speed=30.0) as (app, _):
        await app.session.resume(path)
        await until(app, lambda: runs(app)[-1].attempt == 4)
        first, *_ = runs(app)
        assert first.state is RunState.FAILED
        assert first.reason == "its demo was left"
        assert first.launched_at is not None
        assert first.ended_at == pytest.approx(max(seen, first.launched_at), abs=0.01)
        await until(app, lambda: finished(app))
        live = app.session.live
        assert live is not None
        last = live.state.latest_attempts()
        assert {run.state for run in last} == {RunState.SUCCEEDED}


def finished(app: DlperfApp) -> bool:
    return app.session.live is not None and app.session.live.finished


def runs(app: DlperfApp) -> list[RunRecord]:
    live = app.session.live
    return list(live.state.runs.values()) if live is not None else []


def machines(app: DlperfApp) -> list[Machine]:
    workspace = app.session.workspace
    assert isinstance(workspace, use_cases.Workspace)
    pool = workspace.cluster.pool
    assert isinstance(pool, SimulatedCluster)
    return list(pool.machines.values())


async def test_no_screen_and_no_dialog_is_without_the_word(tmp_path: Path) -> None:
    """At the size where dialogs cover most of the page."""
    seen: set[str] = set()
    async with demo(tmp_path, SMALL) as (app, pilot):

        def say(what: str) -> None:
            assert "SIMULATED" in screen_text(app), f"{what}\n{screen_text(app)}"
            if type(app.screen).__name__ not in seen:
                assert "SIMULATED" in app.export_screenshot(), what
            seen.add(type(app.screen).__name__)

        async def all_keys(page: str, digit: str) -> None:
            everywhere = PANELS["app"].keys if page == "runs" else ()
            for key in (*everywhere, *PANELS[page].keys):
                if key.action in LEAVES or key.action.startswith("page"):
                    continue
                await pilot.press(digit)
                await settled(app)
                say(f"page {page}")
                await pilot.press(key.keys.partition(",")[0])
                await settled(app)
                say(f"{page}: {key.action}")
                while app.screen.is_modal:
                    await pilot.press("escape")
                    await settled(app)

        await all_keys("hosts", "1")
        await all_keys("matrix", "2")
        await start(app, "1n1g")
        await all_keys("runs", "3")
        await until(app, lambda: finished(app))
        await all_keys("results", "4")
        assert {"HostsPage", "MatrixPage", "RunsPage", "ResultsPage"} < seen
        assert len(seen) > 9, seen


async def test_quitting_says_what_becomes_of_simulated_hosts_and_no_keeper_is_begun(
    tmp_path: Path,
) -> None:
    async with demo(tmp_path, speed=5.0) as (app, pilot):
        await start(app, "4n8g")
        await until(app, lambda: RunState.RUNNING in states(app))
        await pilot.press("q")
        await until(app, lambda: app.screen.is_modal)
        shown = screen_text(app)
        assert "SIMULATED" in shown
        assert "keeper" not in shown.partition("Quit")[2]
        await settled(app)
        await pilot.press("d")
        await until(app, lambda: not app.is_running or app._exit)
        assert "dlperf-tui demo" in str(app.return_value)
        assert f"Its files:\n  {tmp_path}" in str(app.return_value)
    again = open_demo(tmp_path, SPEED, time.time() - 600.0)  # it was simulated faster than that
    [journal] = tmp_path.glob("*/events.jsonl")
    seen = max(event.t for event in read_events(journal))
    assert again.clock() >= seen  # nothing of it is to come
    async with console(again, LARGE) as (app, pilot):
        await until(app, lambda: isinstance(app.screen, CampaignList))
        await settled(app)
        await pilot.press("r")
        await until(app, lambda: app.session.controller is not None)
        await until(app, lambda: finished(app))
        assert app.session.live is not None
        assert app.session.live.simulated
        await app.session.close()


def test_nobody_is_asked_to_go_on_with_campaigns_of_the_other_kind() -> None:
    def left(name: str, *, simulated: bool) -> FakeSummary:
        return FakeSummary(name, Path(name), "unfinished", 1, 2, simulated=simulated)

    both = [left("measured", simulated=False), left("made up", simulated=True)]
    for simulated, name in ((True, "made up"), (False, "measured")):
        session = Session(FakeWorkspace(Path(), simulated=simulated))
        asked = unfinished_question(both, session)
        assert asked is not None
        assert [summary.name for summary in asked._summaries or ()] == [name]
    assert unfinished_question(both[1:], session) is None
    kept = [replace(summary, keeper=True, state="live") for summary in both]
    assert kept_campaign(kept, simulated=True) == Path("made up")
    assert kept_campaign(kept, simulated=False) == Path("measured")
    assert kept_campaign(kept[:1], simulated=True) is None


async def test_who_is_at_work_on_a_real_campaign_is_not_gone_for_a_demo(tmp_path: Path) -> None:
    workspace = open_demo(tmp_path / "campaigns", SPEED, time.time() + 3600.0)
    lock = CampaignLock(tmp_path)
    lock.acquire()
    assert workspace.writer(tmp_path) == lock.living()
    assert lock.living() is not None
    lock.release()
    await workspace.close()


async def test_who_measures_is_asked_for_nothing_from_simulated_hosts() -> None:
    session = Session(FakeWorkspace(Path(), simulated=True))
    session.opened = cast(CampaignSnapshot, SimpleNamespace(path=Path("x"), simulated=False))
    with pytest.raises(DlperfError, match="SIMULATED"):
        await session.ask(Verb.CANCEL)


@pytest.mark.parametrize("speed", [1.0, 10.0, 60.0])
@pytest.mark.parametrize("size", [SMALL, HUGE])
async def test_how_fast_time_flies_stands_beside_the_word_on_every_page(
    tmp_path: Path, speed: float, size: tuple[int, int]
) -> None:
    async with demo(tmp_path, size, speed) as (app, pilot):
        for page in "1234":
            await pilot.press(page)
            await until(app, lambda: shows(app, f" SIMULATED, time ≤×{speed:g} "))


async def test_a_measured_campaign_shows_no_such_word(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        for digit in "1234":
            await pilot.press(digit)
            assert not shows(app, "SIMULATED")


async def test_keys_are_answered_while_time_flies(tmp_path: Path) -> None:
    """At 60 × with runs on all hosts the console has most of the time for its operator."""
    async with demo(tmp_path) as (app, _):
        await start(app, "1n1g", "1n8g", profile="ngc-pytorch-resnet50")
        await until(app, lambda: states(app).count(RunState.RUNNING) >= 3)
        loop = asyncio.get_running_loop()
        late = []
        for _ in range(40):
            before = loop.time()
            await asyncio.sleep(0.05)
            late.append(loop.time() - before - 0.05)
        assert sorted(late)[len(late) // 2] < 0.05, late


@pytest.mark.parametrize("of_hosts", [False, True])
@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("width", range(64, 201, 4))
def test_the_first_line_keeps_its_word_and_the_end_of_the_campaign_at_any_width(
    workspace: FakeWorkspace, width: int, simulated: bool, of_hosts: bool
) -> None:
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 7))
    workspace.simulated = simulated
    campaign = workspace.controller(plan).snapshot()
    hosts = workspace.snapshots()
    line = header_text(width, "login01.site", hosts, campaign, simulated="SIMULATED" * of_hosts)
    assert line.cell_len == width
    right = f"{'measured · ' * (of_hosts and not simulated)}{campaign.summary}"
    assert line.plain.endswith(f"{right} ")
    marks = [" dlperf-tui  SIMULATED "] * of_hosts + [" SIMULATED  "] * (simulated and not of_hosts)
    assert line.plain.count("SIMULATED") == len(marks)
    assert all(mark in line.plain for mark in marks)
    whole = f" {campaign.name} · {right} "
    cluster = "login01" in line.plain or "GPUs" in line.plain
    assert line.plain.endswith(whole) or not cluster, "its name tells consoles apart"
    assert line.plain.endswith(whole) or width < len(f" dlperf-tui SIMULATED {whole}") + 4


@pytest.mark.parametrize("replay", [True, False])
def test_a_replay_that_is_not_read_yet_is_being_opened(replay: bool) -> None:
    line = header_text(120, "vm", (), None, only_looks=True, replay=replay).plain
    assert ("the replay is being opened" in line) is replay
    assert ("no campaign · read-only console" in line) is not replay


@given(
    width=st.integers(40, 160),
    why=st.sampled_from(["a run is silent", "a run is overdue", "node[1-3] cannot be used"]),
    failed=st.integers(0, 9),
    skipped=st.integers(0, 9),
    paused=st.integers(0, 9),
    simulated=st.sampled_from(["", "SIMULATED", "SIMULATED, time ≤×60"]),
)
def test_nothing_of_the_first_line_is_cut_without_an_ellipsis(
    width: int, why: str, failed: int, skipped: int, paused: int, simulated: str
) -> None:
    workspace = FakeWorkspace(Path("/nowhere"))
    workspace.simulated = bool(simulated)
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 7))
    campaign = replace(
        workspace.controller(plan).snapshot(),
        eta_s=None,
        no_eta=why,
        failed=failed,
        skipped=skipped,
        paused=paused,
    )
    line = header_text(width, "vm", (), campaign, simulated=simulated)
    assert line.cell_len == width
    said, short = campaign.summary, campaign.summary.replace(": a run is ", ": ")
    assert line.plain.endswith((f" {said} ", f" {short} ", "… "))
    assert line.plain.endswith(f" {said} ") or len(f" dlperf-tui{simulated}{said}") + 20 > width
    before = line.plain.removesuffix(f" {short} ")
    if before != line.plain and len(f" dlperf-tui {simulated}  {short} ") + 16 <= width:
        assert campaign.name[:3] in before


@pytest.mark.parametrize("lost", [0, 10])
@pytest.mark.parametrize("width", range(80, 201, 8))
def test_that_time_flies_is_said_in_words_where_that_cuts_nothing_of_the_campaign(
    workspace: FakeWorkspace, width: int, lost: int
) -> None:
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 7))
    workspace.simulated = True
    campaign = replace(
        workspace.controller(plan).snapshot(),
        done=7 + 2 * lost,
        total=7 + 2 * lost,
        finished=True,
        cancelled=lost,
        skipped=lost,
        failed=lost,
    )
    line = header_text(width, "vm", (), campaign, simulated="SIMULATED, time ≤×20").plain
    assert line.endswith(f" {campaign.summary} ")
    assert len(line) == width
    assert " SIMULATED, time ≤×20 " in line or " SIMULATED ≤×20 " in line
    assert " SIMULATED, time ≤×20 " in line or width < 100


@pytest.mark.parametrize("ahead_s", [0.0, 3600.0])
async def test_ages_are_told_by_the_clock_of_who_sits_here_however_far_ahead_the_demo_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead_s: float
) -> None:
    monkeypatch.setattr("backends.demo._moments", lambda *_: [time.time() + ahead_s])
    workspace = open_demo(tmp_path, SPEED, time.time())
    session = Session(workspace)
    before = session.now
    assert abs(session.now - time.time()) < 1.0
    time.sleep(0.5)  # a machine that is too busy for the simulation, whose time stands meanwhile
    assert abs(session.now - time.time()) < 0.2
    assert 0.5 <= session.now - before < 5.0
    await session.close()


async def test_a_campaign_in_the_directory_of_one_that_was_removed_is_another(
    tmp_path: Path,
) -> None:
    """Of as many runs of the same cases: nothing of the one before is shown for it."""
    async with demo(tmp_path, HUGE) as (app, pilot):
        seen: list[str] = []
        for _ in range(2):
            await start(app, "1n1g")
            await pilot.press("3", "j")
            for panel in ("v", "s", "3"):  # each keeps what it shows
                await pilot.press(panel)
                await settled(app)
            await until(app, lambda: finished(app))
            [path] = tmp_path.iterdir()
            seen.append(path.name)
            await settled(app)
            rows = app.screen.query_one(KeyedTable).rows
            assert {key.value for key in rows} == {run.run_id for run in runs(app)}
            await pilot.press("4")
            await until(app, lambda: shows(app, "1n1g"))
            await pilot.press("O")
            await until(app, lambda: shows(app, "✓ finished"))
            await settled(app)
            await pilot.press("d")
            await until(app, lambda: isinstance(app.screen, Choice))
            await settled(app)
            await pilot.press("y")
            await until(app, lambda: not any(tmp_path.iterdir()))
            await until(app, lambda: isinstance(app.screen, CampaignList))
            await settled(app)
            await pilot.press("escape")
        assert seen[0] == seen[1], "the case that is meant"


@given(st.integers(40, 120), st.integers(0, 9999), st.integers(0, 9999))
def test_that_a_campaign_is_past_is_told_whole_in_the_first_line_or_not_at_all(
    width: int, failed: int, skipped: int
) -> None:
    workspace = FakeWorkspace(Path("/nowhere"))
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 7))
    snapshot = workspace.controller(plan).snapshot()
    campaign = replace(
        snapshot, finished=True, read_only=True, failed=failed, skipped=skipped, cancelled=skipped
    )
    line = header_text(width, "vm", (), campaign).plain
    ends = (f"{campaign.summary} · {PAST} ", f"{campaign.summary} ")
    assert line.endswith(ends) or len(f" dlperf-tui{ends[1]}") + 1 > width
