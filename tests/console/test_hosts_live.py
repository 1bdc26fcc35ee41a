"""Hosts as they are now: what is wrong and its remedy, how old it is, what their GPUs do."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import apply
from backends.hosts.host_condition import concerns
from backends.hosts.host_facts import Concern, GpuProcess, HostSnapshot, HostState
from backends.hosts.live_telemetry import Figure, LiveTelemetry
from backends.remote.lease import Lease
from tests.console.conftest import LARGE, begin, console, screen_text, settled, tick, until, words
from tests.console.fakes import START, FakeWorkspace, facts, known_host, v100_hosts
from tests.console.test_telemetry_panel import gpu_lines, tell
from tui.lent_terminal import lend_terminal
from tui.screens.hosts_page import STALE_S, HostRows, note
from tui.text import age
from tui.theme import MUTED
from tui.widgets.host_detail import live_text, with_live
from tui.widgets.host_text import host_text

HUGE = (200, 60)


def detail(app: Any) -> str:
    """All of it, in sight or not."""
    return "\n".join(words(part) for part in app.screen.query("#detail Static"))


def test_every_concern_stands_with_its_remedy() -> None:
    gpus = list(facts().gpus)
    gpus[3] = replace(gpus[3], throttle_reasons=("hardware thermal slowdown",), ecc_uncorrected=2)
    host = known_host("n", "10.0.0.1", replace(facts(), gpus=tuple(gpus), load1=90.0))
    assert host.state is HostState.DEGRADED
    text = host_text(host, width=300).plain
    for concern in host.concerns:
        assert f"{'▲' if concern.degrades else '·'} {concern.what}\n" in text
        assert f"  → {concern.remedy}\n" in text
    assert len(host.concerns) == 3
    said = note(host).plain
    assert said.startswith("▲ 2 problems: GPU3 "), "how many there are is no end that is cut"
    assert all(concern.what in said for concern in host.concerns)


def test_a_remark_names_what_is_no_more_than_worth_knowing_where_nothing_else_is() -> None:
    host = known_host("n", "", replace(facts(), load1=90.0))
    assert host.state is HostState.READY
    [concern] = host.concerns
    assert note(host).plain == concern.what
    several = replace(host, concerns=(concern, concern))
    assert note(several).plain == f"2 remarks: {concern.what}; {concern.what}"
    used = known_host("n", "", replace(facts(), load1=90.0, lease=Lease("bob@login02", START)))
    assert note(used).plain == str(used.lease)
    assert note(known_host("n", "", facts())).plain == "–"


@given(st.lists(st.booleans(), max_size=4), st.booleans())
def test_a_remark_that_is_no_problem_is_told_alike_beside_problems_and_alone(
    grave: list[bool], used: bool
) -> None:
    """▲ and the count are of what degrades the host, as its state is."""
    lease = Lease("bob@login02", START) if used else None
    concerns = tuple(Concern(f"what {n}", "", degrades=bad) for n, bad in enumerate(grave))
    host = replace(known_host("n", "", replace(facts(), lease=lease)), concerns=concerns)
    said = note(host).plain
    assert ("▲" in said) == any(grave)
    problems = sum(grave)
    assert ("problems" in said) == (problems > 1)
    assert problems < 2 or f"▲ {problems} problems: " in said
    for concern in concerns:
        assert (concern.what in said) == (concern.degrades or not used)


def test_what_slows_a_gpu_down_and_its_clock_stand_in_its_line() -> None:
    gpus = list(facts().gpus)
    gpus[3] = replace(gpus[3], throttle_reasons=("power cap",), sm_clock_mhz=1237)
    text = host_text(known_host("n", "", replace(facts(), gpus=tuple(gpus)))).plain
    line = next(row for row in text.splitlines() if row.startswith("  3 "))
    assert "1237" in line
    assert "power cap" in line


@pytest.mark.parametrize(
    ("passed", "said"),
    [(0.0, "now"), (4.9, "now"), (27.0, "25s"), (61.0, "1m00s"), (3700.0, "1h01m"), (-5.0, "now")],
)
def test_how_old_it_is(passed: float, said: str) -> None:
    host = replace(v100_hosts()[0], probed_at=START)
    assert age(host, START + passed) == said
    shown = host_text(host, now=START + passed).plain
    assert ("asked just now" if said == "now" else f"as of {said} ago") in shown
    assert age(replace(host, probed_at=None), START) == "–"


def test_our_own_run_is_shown_as_such_and_anybody_elses_by_its_user() -> None:
    process = GpuProcess(0, 4711, "bench", "python", 900, run_id="r00")
    lease = Lease("bench@login01, run r00", START, run_id="r00")
    found = replace(facts(), gpu_processes=(process,), lease=lease)
    own = {"r00": "1n8g b128 #1"}
    host = known_host("n", "", found)
    assert note(host, own).plain.startswith("our run 1n8g b128 #1")
    assert "bench" not in note(host, own).plain
    assert "held by our run 1n8g b128 #1" in host_text(host, own=own).plain
    assert "bench@login01" in note(host).plain, "of no campaign that is at work here"
    assert "our run r00 GPU 0" in note(host).plain


@given(st.integers(40, 200), st.integers(1, 12))
def test_who_holds_a_host_is_told_whole_at_every_width(width: int, words: int) -> None:
    holder = " ".join(f"word{n}" for n in range(words))
    host = known_host("n", "", replace(facts(), lease=Lease(holder, START)))
    told = host_text(host, width=width).plain.partition("\nGPUs")[0].splitlines()
    assert all(len(line) <= width for line in told)
    assert f"held by {host.lease.explained if host.lease else ''}" in " ".join(
        " ".join(told).split()
    )


@pytest.mark.parametrize("size", [LARGE, HUGE], ids=str)
async def test_gpus_and_links_are_side_by_side_below_the_sentence(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, _):
        shown = detail(app)
        assert "two NVLink quads, GPU0…3 on NUMA node 0" in shown
        [line] = [row for row in shown.splitlines() if row.startswith("  2 ")]
        assert line.split()[-10:] == [
            *("GPU2", "NV1", "NV2", "·", "NV2", "SYS", "SYS", "NV1", "SYS", "PIX")
        ]


async def test_a_matrix_without_room_beside_the_gpus_stands_below_them(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("enter", "G")
        await until(pilot, lambda: "SYS between NUMA nodes" in detail(app))
        assert "0-11,24-35" in host_text(v100_hosts()[0]).plain


async def test_the_host_under_the_cursor_is_watched_and_no_other(
    workspace: FakeWorkspace,
) -> None:
    workspace.telemetry = {"node2": gpu_lines(range(8), 20).encode()}
    async with console(workspace, HUGE) as (app, pilot):
        await pilot.press("j")
        await until(pilot, lambda: workspace.watched[-1:] == ["node2"])
        tick(app)
        await until(pilot, lambda: "Last two minutes" in detail(app))
        [line] = [row for row in detail(app).splitlines() if row.startswith("GPU7")]
        assert [*line.split()[1:2], "297W", "1530MHz", "12.0GiB", "61°C"] == [
            word for word in line.split() if word[0].isdigit()
        ]
        await pilot.press("2")
        await until(pilot, lambda: not watching(app))
        await pilot.press("1")
        await until(pilot, lambda: workspace.watched[-2:] == ["node2", "node2"])


@pytest.mark.parametrize("ahead_s", [0.0, 3600.0, -3600.0])
def test_what_a_host_does_now_is_shown_whatever_its_clock_says(ahead_s: float) -> None:
    live = LiveTelemetry()
    live.feed(gpu_lines(range(8), 20, START + ahead_s).encode())
    shown = live_text(known_host("n", "", facts(offset=ahead_s)), live, 200).plain
    assert shown.count("█") >= 8


@pytest.mark.parametrize("gpus", [1, 4, 8])
@pytest.mark.parametrize("height", range(60))
def test_figures_take_the_lines_that_are_free_and_no_more(gpus: int, height: int) -> None:
    live = LiveTelemetry()
    live.feed(gpu_lines(range(gpus), 20, START).encode())
    host = known_host("n", "", facts())
    text = live_text(host, live, 200, height).plain
    taken = text.count("\n") + 1
    least = 3 + gpus
    assert taken <= max(height, least)
    rows = max(1, (taken - 3) // gpus)
    assert rows >= 4 or height - taken <= gpus + 3
    if height <= least:
        assert text == live_text(host, live, 200).plain


def watching(app: Any) -> bool:
    described = [w.description for w in app.workers if not w.is_finished]
    return any("what the host does now" in words for words in described)


async def test_where_a_run_of_ours_is_at_work_its_own_telemetry_is_shown(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        controller = begin(app, workspace, ("1n8g",))
        workspace.clock.tick(10)
        tick(app)
        already = len(workspace.watched)
        await pilot.press("2", "1")
        tell(controller, "node1", gpu_lines(range(8), 20))
        await until(pilot, lambda: tick(app) or "Last two minutes" in detail(app))
        assert len(workspace.watched) == already, "nothing more runs on the host"


async def test_what_a_host_does_now_stands_in_its_table_until_nothing_tells_any_more(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        controller = begin(app, workspace, ("1n8g",))
        workspace.clock.tick(4)
        tick(app)
        before = detail(app)
        assert "before our run began" in before
        for line in gpus_shown(before):
            assert "held by our run" in before
            assert " 0%" not in line
            assert "34°C" not in line
        await pilot.press("2", "1")
        tell(controller, "node1", gpu_lines(range(8), 20))
        await until(pilot, lambda: tick(app) or "Last two minutes" in detail(app))
        said = r"facts as of \d+s ago, before our run began; GPUs and load as of now"
        assert re.search(said, detail(app))
        for index, line in enumerate(gpus_shown(detail(app))):
            assert "12.0/15.8" in line
            assert " 96%" in line
            assert "61°C" in line
            assert f"{290 + index}/300" in line
            assert "1530" in line
        monkeypatch.setattr("tui.screens.hosts_page.OF_NOW_S", 0.0)
        tick(app)
        assert all(" 96%" not in line for line in gpus_shown(detail(app)))


def gpus_shown(detail: str) -> list[str]:
    lines = [row for row in detail.splitlines() if re.match(r" +\d  .*°C", row)]
    assert len(lines) == 8
    return lines


async def test_a_host_that_a_run_of_ours_has_lost_says_so_before_anybody_asks_it(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, _):
        controller = begin(app, workspace, ("1n8g",))
        workspace.clock.tick(4)
        run = next(run for run in controller.snapshot().runs if run.state is RunState.RUNNING)
        lost = ev.ContactChanged(t=workspace.clock(), run_id=run.run_id, host="node1", lost=True)
        controller.state = apply(controller.state, lost)
        workspace.clock.tick(16)
        tick(app)
        assert f"our run {run.label} is on it; connection lost 16s ago" in detail(app)
        assert "it had 8 × Tesla V100-SXM2-16GB when it last told" in detail(app)
        assert "1 unreachable" in screen_text(app)
        assert "4 hosts 32 GPUs (node1 out of reach)" in screen_text(app)
        controller.state = apply(controller.state, replace(lost, lost=False))
        tick(app)
        assert "connection lost" not in detail(app)
        assert "1 unreachable" not in screen_text(app)
        assert "(node1 out of reach)" not in screen_text(app)


async def test_a_host_that_our_run_has_left_is_asked_again_at_once(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.screens.page.AGAIN_EVERY_S", 0.05)
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, ("1n8g",))
        workspace.clock.tick(4)
        tick(app)
        workspace.answer(*(replace(one, probed_at=workspace.clock()) for one in v100_hosts()))
        await until(pilot, lambda: workspace.refreshed)
        assert not any(workspace.refreshed_among), "its run is at work"
        workspace.clock.tick(400)
        asked = workspace.refreshed_among
        await until(pilot, lambda: tick(app) or any("node1" in (among or ()) for among in asked))


async def test_hosts_are_asked_again_by_themselves_and_quietly(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.screens.page.AGAIN_EVERY_S", 0.05)
    async with console(workspace, LARGE) as (app, pilot):
        workspace.answer(*(replace(host, probed_at=START) for host in v100_hosts()))
        await until(pilot, lambda: workspace.refreshed)
        tick(app)
        await until(pilot, lambda: "asked just now" in detail(app))
        assert len(workspace.probed) == 1, "nobody is asked for a password by it"
        await pilot.press("4")
        await settled(app)
        asked = len(workspace.refreshed)
        await asyncio.sleep(0.3)
        assert len(workspace.refreshed) <= asked + 1, "not while another page is in front"


async def test_a_host_out_of_reach_names_our_run_on_it_and_is_asked_again_once_that_has_it_back(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.screens.page.AGAIN_EVERY_S", 0.05)
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n8g",))
        workspace.clock.tick(4)
        run = next(run for run in controller.snapshot().runs if run.state is RunState.RUNNING)
        lost = ev.ContactChanged(
            t=workspace.clock(), run_id=run.run_id, host="node1", lost=True, reason="no answer"
        )
        controller.state = apply(controller.state, lost)
        away = HostSnapshot(
            "node1", "10.0.0.1", HostState.UNREACHABLE, "connection refused", probed_at=START
        )
        workspace.answer(away, *v100_hosts()[1:])
        await until(pilot, lambda: tick(app) or "is on it; connection" in detail(app))
        assert f"our run {run.label} is on it; connection" in screen_text(app)
        assert ["node1"] not in workspace.refreshed_among
        back = replace(lost, lost=False, reason="")
        controller.state = apply(controller.state, back)
        await until(pilot, lambda: tick(app) or ["node1"] in workspace.refreshed_among)


async def test_hosts_are_asked_again_as_soon_as_their_page_is_entered(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.screens.page.AGAIN_EVERY_S", 3600.0)
    async with console(workspace) as (app, pilot):
        for away in ("2", "3", "4"):
            await pilot.press(away)
            asked = len(workspace.refreshed)
            await pilot.press("1")
            await until(pilot, lambda: len(workspace.refreshed) > asked)  # noqa: B023 (awaited)
        assert app.current_mode == "hosts"


@given(old=st.floats(0.0, 4 * STALE_S))
@settings(max_examples=40, deadline=None)
def test_what_is_old_is_shown_as_what_it_was(old: float) -> None:
    host = replace(v100_hosts()[0], probed_at=START - old)
    rows = HostRows()
    fresh = rows.of([replace(host, probed_at=START)], {}, START)[0].cells[:-1]
    cells = rows.of([host], {}, START)[0].cells[:-1]
    assert [cell.plain for cell in cells] == [cell.plain for cell in fresh]
    muted = {str(cell.style) for cell in cells} == {MUTED}
    assert muted == (old >= STALE_S)
    looks = [[str(cell.style) for cell in row] for row in (cells, fresh)]
    assert (looks[0] == looks[1]) != muted


@given(old=st.floats(0.0, 4 * STALE_S))
@settings(max_examples=40, deadline=None)
def test_a_load_of_now_does_not_stand_beside_an_older_age(old: float) -> None:
    host = replace(v100_hosts()[0], probed_at=START - old)
    [row] = HostRows().of([host], {}, START, watched={host.name})
    assert row.cells[-1].plain == "now"
    [unwatched] = HostRows().of([host], {}, START, watched={"another"})
    assert unwatched.cells[-1].plain == age(host, START)


@pytest.mark.parametrize(("width", "told"), [(78, False), (118, True), (198, True)])
@pytest.mark.parametrize("clocks", [None, (1380, 877)])
def test_above_the_lines_stands_what_a_full_one_is(
    width: int, told: bool, clocks: tuple[int, int] | None
) -> None:
    live = LiveTelemetry()
    live.feed(gpu_lines(range(8), 20, START).encode())
    gpus = tuple(replace(gpu, application_clocks_mhz=clocks) for gpu in facts().gpus)
    host = known_host("n", "", replace(facts(), gpus=gpus))
    full = clocks[0] if clocks else live.limit(Figure.CLOCK, 0) or live.top(Figure.CLOCK, 0)
    lines = live_text(host, live, width).plain.split("\n")
    assert any(f"SM clock of {full:.0f}MHz" in line for line in lines) == told
    assert max(map(len, lines)) <= width


async def test_s_logs_in_or_says_what_to_type(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("j", "s")
        await until(pilot, lambda: "type: ssh -- 10.11.0.3" in screen_text(app))


async def test_nobody_logs_in_from_a_console_that_only_looks(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE, readonly=True) as (app, pilot):
        assert "Log in" not in screen_text(app)
        await pilot.press("s")
        await settled(app)
        assert "ssh" not in screen_text(app)


class Lender:
    """What a console does when its terminal is lent."""

    def __init__(self) -> None:
        self.done: list[str] = []

    @contextmanager
    def suspend(self) -> Iterator[None]:
        self.done.append("suspended")
        yield
        self.done.append("resumed")

    @contextmanager
    def batch_update(self) -> Iterator[None]:
        yield

    def refresh(self, *, layout: bool) -> None:
        self.done.append("drawn")


async def test_the_console_works_on_while_its_terminal_is_lent() -> None:
    lender: Any = Lender()
    before = signal.getsignal(signal.SIGINT)
    ticks = 0

    async def count() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    counting = asyncio.create_task(count())
    status, said = await lend_terminal(lender, ["sh", "-c", "kill -INT $PPID; sleep 0.3; exit 7"])
    assert said == ""
    counting.cancel()
    assert status == 7, "an interrupt at its prompt did not end the console"
    assert ticks > 5
    assert lender.done == ["suspended", "resumed", "drawn"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def without_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Who lends a terminal that nobody types on."""
    with Path(os.devnull).open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield Lender()


async def test_what_the_terminal_is_lent_for_stands_there_before_the_program_shows_anything(
    capfd: pytest.CaptureFixture[str], without_keys: Any
) -> None:
    await lend_terminal(
        without_keys, ["echo", "its first picture"], leads_back=True, says="opening the replay …"
    )
    shown = capfd.readouterr().out
    assert 0 < shown.index("opening the replay …") < shown.index("its first picture")


async def test_what_ssh_says_when_it_ends_is_not_lost_beneath_the_console(
    capfd: pytest.CaptureFixture[str],
) -> None:
    lender: Any = Lender()
    says = "echo 'ssh: connect to host node7 port 22: Connection refused' >&2; sleep 30 & exit 255"
    line = "a shell on node7; exit comes back"
    command = ["sh", "-c", says]  # who holds stderr is left alone
    status, said = await lend_terminal(lender, command, says=line)
    assert (status, said) == (255, "ssh: connect to host node7 port 22: Connection refused")
    shown = capfd.readouterr().out
    assert shown.startswith(f"{line}\n")
    assert "Connection refused" in shown, "it is seen when it is said as well"


async def test_what_a_replay_says_when_it_ends_is_left_to_the_console_it_leads_back_to(
    capfd: pytest.CaptureFixture[str], without_keys: Any
) -> None:
    command = ["sh", "-c", "echo 'dlperf-tui: its log is gone' >&2; exit 2"]
    ended = await lend_terminal(without_keys, command, leads_back=True)
    assert ended == (2, "dlperf-tui: its log is gone")
    assert "its log is gone" not in "".join(capfd.readouterr()), "it would stand there at the end"


async def test_a_shell_on_this_machine_keeps_the_terminal_for_stderr_and_shows_its_prompt() -> None:
    lender: Any = Lender()
    command = ["sh", "-c", "test -p /dev/stderr"]  # a pipe: no shell is interactive then
    assert (await lend_terminal(lender, command, overhear=False))[0] == 1
    assert (await lend_terminal(lender, command))[0] == 0


@pytest.mark.parametrize("gpus", [True, False])
def test_the_load_that_is_said_to_be_of_now_is_that_of_the_last_sample(gpus: bool) -> None:
    told = facts() if gpus else replace(facts(), gpus=())
    host = replace(known_host("node1", "node1.example", told), probed_at=START - 55)
    live = LiveTelemetry()
    live.feed(f"host, {START:.0f}, 48, 2.7, 0, 0, 0\n".encode())
    said = host_text(with_live(host, live), now=START, metered=True).plain
    assert "load as of now" in " ".join(said.split())
    assert "load 2.7" in said


@given(before=st.floats(0, 200), load=st.floats(0, 200))
def test_a_remark_on_the_load_is_of_the_load_that_is_shown(before: float, load: float) -> None:
    told = replace(facts(), load1=before)
    host = known_host("node1", "node1.example", told)
    live = LiveTelemetry()
    live.feed(f"host, {START:.0f}, 48, {load:.6f}, 0, 0, 0\n".encode())
    shown = with_live(host, live)
    assert shown.facts is not None
    assert shown.concerns == concerns(shown.facts)
    assert with_live(shown, live) == shown


async def test_the_list_and_the_panel_have_one_load(tmp_path: Path) -> None:
    busy = known_host("node1", "node1.example", replace(facts(), load1=40.0))
    workspace = FakeWorkspace(tmp_path, hosts=[busy, *v100_hosts()[1:]])
    async with console(workspace, HUGE) as (app, pilot):
        await until(pilot, lambda: "load 40.0 on 48 CPUs" in detail(app))
        assert "40.0/48" in screen_text(app)
        workspace.telemetry = {"node1": f"host, {START:.0f}, 48, 1.4, 0, 0, 0\n".encode()}
        await pilot.press("j", "k")
        await until(pilot, lambda: tick(app) or "1.4/48" in screen_text(app))
        assert "load 1.4" in detail(app)
        assert "40.0" not in screen_text(app)
        assert "computes there" not in detail(app)


def test_a_recorded_host_stays_one_whatever_its_telemetry_tells() -> None:
    told = known_host("node1", "node1.example", replace(facts(), load1=nan))
    live = LiveTelemetry()
    live.feed(f"host, {START:.0f}, 48, 2.7, 0, 0, 0\n".encode())
    assert told.recorded
    shown = with_live(told, live)
    assert shown.recorded
    said = host_text(shown, now=START, metered=True).plain
    assert not re.search(r"\bago\b|\bnow\b", said), said
