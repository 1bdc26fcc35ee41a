"""What a run's GPUs do meanwhile, under its chart: on the same axis, and nothing made up."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text
from textual.pilot import Pilot

from backends.campaign.folder.run_telemetry import RunTelemetry
from backends.campaign.plan.selection import Selection
from backends.hosts.live_telemetry import GPU_FIGURES, Figure, LiveTelemetry
from profiles.durations import format_duration, parse_duration
from profiles.format.catalog import Catalog
from tests.console.conftest import (
    LARGE,
    ONEFLOW,
    SMALL,
    begin,
    console,
    screen_text,
    shows,
    tick,
    until,
    words,
)
from tests.console.fakes import START, Clock, FakeController, FakeWorkspace, facts
from tui.app import DlperfApp
from tui.screens.runs_page import RunsPage
from tui.widgets.chart import Chart
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.log_panel import LogPanel
from tui.widgets.meters import (
    GAP,
    LABEL_WIDTH,
    STANDS_S,
    WORDS,
    Source,
    columns_for,
    each_gpu,
    in_columns,
    lowest_clock,
    means,
    none_known,
    scale,
    source_of,
    sparkline,
    tall_sparkline,
    unlike,
    value_text,
)
from tui.widgets.telemetry_panel import (
    NO_SAMPLE,
    WOULD_BE_HERE,
    Counted,
    TelemetryPanel,
    times_below,
)

HUGE = (200, 60)
HEADER = (
    "timestamp, index, memory.used [MiB], utilization.gpu [%], power.draw [W], "
    "clocks.current.sm [MHz], temperature.gpu\n"
)


def gpu_lines(gpus: Iterable[int], seconds: int, begin_s: float = START) -> str:
    """One sample a second: idle for ten seconds, then at work."""
    lines = [HEADER]
    for second in range(seconds):
        stamp = time.strftime("%Y/%m/%d %H:%M:%S.000", time.gmtime(begin_s + second))
        at_work = second >= 10
        for gpu in gpus:
            figures = (12_310, 96, 290 + gpu, 1530, 61) if at_work else (11, 0, 41, 135, 34)
            lines.append(f"{stamp}, {gpu}, {', '.join(map(str, figures))}\n")
        if second % 5 == 1:
            lines.append(
                f"host, {begin_s + second:.0f}, 48, 3.5, {second * 90}, {second * 4800}, 0\n"
            )
    return "".join(lines)


def tell(controller: FakeController, host: str, text: str) -> None:
    run = next(run for run in controller.state.runs.values() if host in run.hosts)
    path = controller.path / "telemetry" / f"{run.run_id}.{host}.csv"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)


async def open_runs(
    app: DlperfApp, pilot: Pilot[str], workspace: FakeWorkspace, text: str
) -> TelemetryPanel:
    controller = begin(app, workspace, ("1n8g",))
    await pilot.press("3")
    for _ in range(5):
        workspace.clock.tick(4)
        tick(app)
        await pilot.pause()
    if text:
        tell(controller, "node1", text)
    panel = app.screen.query_one(TelemetryPanel)
    await until(pilot, lambda: panel.known or not text)
    tick(app)
    await pilot.pause()
    return panel


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_z_shows_every_gpu_of_every_host_and_what_is_cut_names_it(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        controller = begin(app, workspace, ("4n8g",))
        await pilot.press("3")
        for _ in range(5):
            workspace.clock.tick(4)
            tick(app)
            await pilot.pause()
        run = next(run for run in controller.state.runs.values() if run.state.active)
        for host in run.hosts:
            path = controller.path / "telemetry" / f"{run.run_id}.{host}.csv"
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(gpu_lines(range(8), 20))
        panel = app.screen.query_one(TelemetryPanel)
        await until(pilot, lambda: len(panel._sources()) == 4)
        tick(app)
        await pilot.press("m", *"m" * (size == SMALL))
        await until(pilot, lambda: "of each" in screen_text(app))
        assert re.search(r"\+\d+ more: z", screen_text(app))
        await pilot.press("z")
        await until(pilot, lambda: "more: z" not in screen_text(app))
        every = [f"{host}:{gpu}" for host in run.hosts for gpu in range(8)]
        await until(pilot, lambda: all(name in words(panel) for name in every))
        assert app.screen.query_one(Chart).is_on_screen is (size != SMALL)
        first = re.findall(r"^\s*(node\d:\d)", words(panel), re.MULTILINE)
        assert first == every[: len(first)], "down the first column, by host"
        shown = "utilisation of each"
        for _ in GPU_FIGURES:
            assert shown in screen_text(app)
            await pilot.press("m")
            shown = f"{WORDS[panel._figure].title} of each" if panel._figure else ""
            await until(pilot, partial(shows, app, shown))
        assert shown == "utilisation of each", "no mean of them: that is there without z"


@pytest.mark.parametrize("odd", [None, 2, 7])
async def test_a_gpu_that_is_unlike_the_others_is_never_among_those_that_are_cut(
    workspace: FakeWorkspace, odd: int | None
) -> None:
    async with console(workspace, (80, 16)) as (app, pilot):
        text = gpu_lines(range(8), 20).replace(f", {odd}, 12310, 96,", f", {odd}, 12310, 4,")
        panel = await open_runs(app, pilot, workspace, text)
        await pilot.press("m", "m")
        await until(pilot, lambda: "utilisation of each" in screen_text(app))
        assert re.search(r"\+\d+ more: z", screen_text(app))
        first, *rest = re.findall(r"GPU(\d)", words(panel))
        assert int(first) == (odd or 0)
        assert rest == sorted(set("01234567") - {first})[: len(rest)]


@given(st.integers(1, 70), st.integers(0, 40), st.integers(20, 200))
def test_lines_beside_one_another_are_all_there_once_and_within_the_width(
    number: int, rows: int, width: int
) -> None:
    beside = columns_for(number, rows, width)
    each = (width - GAP * (beside - 1)) // beside
    lines = in_columns([Text(f"n{n}".ljust(each)) for n in range(number)], beside, each)
    named = [line.plain.split() for line in lines]
    assert [name for at in range(beside) for row in named for name in row[at : at + 1]] == [
        f"n{n}" for n in range(number)
    ]
    assert all(line.cell_len <= width for line in lines)
    assert beside == 1 or len(lines) * (beside - 1) < number


@pytest.mark.parametrize("size", [LARGE, HUGE], ids=str)
async def test_figures_stand_under_the_chart_on_its_axis(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        panel = await open_runs(app, pilot, workspace, gpu_lines(range(8), 20))
        await until(pilot, lambda: "mean of 8 GPUs" in screen_text(app))
        lines = words(panel).splitlines()
        assert [line.split()[:2] for line in lines] == [
            ["util", "96/100%"],
            ["power", "294/300W"],
            ["clock", "1530/1530MHz"],
            ["mem", "12.0/15.8GiB"],
            ["hottest", "61/100°C"],
        ]
        chart = app.screen.query_one(Chart)
        left, (_, end) = chart.axis
        drawn = words(chart).splitlines()
        assert {line[left - 1] for line in drawn[1:-2]} <= set("┤│┼"), "that is where its axis is"
        assert len(panel._strips) == 5
        columns = chart.size.width - left
        busy_from = lines[0].index("█")
        at_s = (busy_from - left) / columns * end
        assert 8.8 < at_s < 10.2, "the sample of the tenth second stands for the one before it"
        await pilot.press("m")
        assert "utilisation of each" in screen_text(app)
        assert "lines: 0 to 20s, from 0 to 100%" in screen_text(app)
        assert [row.split()[:2] for row in words(panel).splitlines()[:2]] == [
            ["GPU0", "96%"],
            ["GPU1", "96%"],
        ]
        for _ in range(5):
            await pilot.press("m")
        assert "mean of 8 GPUs" in screen_text(app)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
async def test_lines_of_a_run_at_work_span_its_time_before_and_after_its_first_reading(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        controller = begin(app, workspace, ("1n8g",))
        await pilot.press("3")
        tell(controller, "node1", gpu_lines(range(8), 60))
        panel = app.screen.query_one(TelemetryPanel)
        await until(pilot, lambda: panel.known)
        await pilot.press("m")
        tick(app)
        await until(pilot, lambda: panel.display and panel._axis[1][1] > 1.0)
        spans: set[bool] = set()
        for _ in range(8):
            workspace.clock.tick(3)
            tick(app)
            await pilot.pause()
            run = controller.snapshot().runs[0]
            if run.state.active:
                spans.add(run.readings > 0)
                end = max(10.0, run.elapsed_s or 0.0)
                said = f"lines: 0 to {format_duration(end)}, "
                await until(pilot, partial(shows, app, said))
                assert panel._axis[1] == (0.0, end)
        assert spans == {False, True}


async def test_beside_the_mean_stands_which_gpu_was_throttled_once_that_is_known(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "GPU3 throttled 65.0%"
    monkeypatch.setattr("tui.screens.run_panels.throttled_words", lambda *_: words)
    async with console(workspace, LARGE) as (app, pilot):
        await open_runs(app, pilot, workspace, gpu_lines(range(8), 60))
        assert words not in screen_text(app)
        workspace.clock.tick(300)
        await until(pilot, lambda: tick(app) or f"{words} · mean of 8" in screen_text(app))


def slowed_lines(gpus: Iterable[int], slow: int, from_s: int, mhz: int) -> str:
    """:func:`gpu_lines` of a minute, in which the clock of one sinks."""
    lines = gpu_lines(gpus, 60).splitlines(keepends=True)
    first = [n for n, line in enumerate(lines) if f", {slow}, 1" in line][from_s:]
    for n in first:
        lines[n] = lines[n].replace(", 1530, ", f", {mhz}, ")
    return "".join(lines)


@given(
    hosts=st.integers(1, 4),
    slow=st.integers(0, 7),
    from_s=st.integers(10, 60),
    mhz=st.sampled_from([1530, 1500, 1400, 1200, 1110, 600]),
    ended=st.booleans(),
)
def test_a_gpu_whose_clock_is_far_below_the_mean_has_a_line_that_dips_and_no_other_has(
    hosts: int, slow: int, from_s: int, mhz: int, ended: bool
) -> None:
    sources = []
    for number in range(hosts):
        live = LiveTelemetry()
        told = slowed_lines(range(8), slow, from_s, mhz) if not number else gpu_lines(range(8), 60)
        live.feed(told.encode())
        sources.append(source_of(f"sim{number}", live, range(8), facts()))
    counted = (START + 10, START + 60) if ended else None
    line = lowest_clock(sources, (START, START + 60), 60, label=30, counted=counted)
    long, far = 60 - from_s, (1530 - mhz) * (1 - 1 / (8 * hosts))
    if line is None:
        assert far <= 153 or long <= 7 or (long * far <= 6 * 153)
        return
    assert far > 153
    assert line.plain.split()[0] == (f"sim0:{slow}" if hosts > 1 else f"GPU{slow}")
    curve = line.plain[30:]
    assert curve[30] > curve[59] or from_s <= 30, "it dips where that GPU was slow"


@pytest.mark.parametrize("size", [(80, 24), (80, 30), LARGE, HUGE], ids=str)
@pytest.mark.parametrize("mhz", [1530, 1110])
async def test_the_line_of_the_lowest_clock_stands_below_the_mean_and_takes_no_other_away(
    workspace: FakeWorkspace, size: tuple[int, int], mhz: int
) -> None:
    async with console(workspace, size) as (app, pilot):
        await open_runs(app, pilot, workspace, slowed_lines(range(8), 3, 12, mhz))
        if not app.screen.query_one(TelemetryPanel).display:
            await pilot.press("m")
        await pilot.pause()
        lines = words(app.screen.query_one(TelemetryPanel)).splitlines()
        names = [line.split()[0] for line in lines if line.strip()]
        assert "more:" not in "".join(lines)
        assert ("GPU3" in names) <= (mhz == 1110)
        if mhz == 1110 and size in (LARGE, HUGE):
            assert names[names.index("clock") + 1] == "GPU3"
        if "GPU3" in names:
            assert "hottest" in names


async def test_the_chart_keeps_its_room_beside_many_runs_telemetry_and_a_log(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n8g",), repeats=30)
        await pilot.press("3")
        for _ in range(5):
            workspace.clock.tick(4)
            tick(app)
        tell(controller, "node1", gpu_lines(range(8), 20))
        await until(pilot, lambda: "mean of 8 GPUs" in screen_text(app))
        chart, log = app.screen.query_one(Chart), app.screen.query_one(LogPanel)
        curves = [row for row in words(chart).splitlines() if "┤" in row or "│" in row]
        assert len(curves) >= 4
        assert log.size.height >= 3
        assert app.screen.query_one(KeyedTable).size.height >= 12


async def test_where_nothing_is_told_there_is_no_panel_and_no_key(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        panel = await open_runs(app, pilot, workspace, "")
        assert not panel.display
        assert "Meters" not in screen_text(app)


async def test_a_host_without_gpus_shows_its_cpus(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        text = "".join(
            f"host, {START + s:.0f}, 48, 7.5, {s * 24}, {s * 48}, 0\n" for s in range(0, 40, 5)
        )
        panel = await open_runs(app, pilot, workspace, text)
        await until(pilot, lambda: "of its host" in screen_text(app))
        assert [line.split()[:2] for line in words(panel).splitlines()] == [
            ["CPU", "50/100%"],
            ["load", "7.5/48.0"],
        ]
        assert "GPU" not in words(panel)


async def test_gpus_that_have_told_nothing_yet_are_dashes_and_not_their_host(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        text = f"host, {START + 5:.0f}, 48, 7.5, 24, 48, 0\n"
        panel = await open_runs(app, pilot, workspace, text)
        await until(pilot, lambda: "mean of 8 GPUs" in screen_text(app))
        assert [line.split()[:2] for line in words(panel).splitlines()[:2]] == [
            ["util", "–"],
            ["power", "–"],
        ]


async def test_where_space_is_short_v_leads_to_it(workspace: FakeWorkspace) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        panel = await open_runs(app, pilot, workspace, gpu_lines(range(8), 20))
        assert not panel.display
        await pilot.press("v")
        await until(pilot, lambda: panel.display and words(panel).startswith("util"))
        assert "61/100°C" in words(panel)


@pytest.mark.parametrize("away", ["view", "page"])
async def test_what_comes_into_sight_again_is_read_again_at_once(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, away: str
) -> None:
    monkeypatch.setattr("tui.widgets.telemetry_panel.LOOK_EVERY_S", 3600.0)
    size = SMALL if away == "view" else LARGE
    async with console(workspace, size) as (app, pilot):
        panel = await open_runs(app, pilot, workspace, "")
        controller = app.session.controller
        assert isinstance(controller, FakeController)
        tell(controller, "node1", gpu_lines(range(8), 5))
        panel.look(unseen=True)
        await until(pilot, lambda: panel.known)
        tick(app)
        if away == "page":
            await until(pilot, lambda: "0/100%" in words(panel))
            await pilot.press("1")
        tell(controller, "node1", gpu_lines(range(8), 20))
        await pilot.press("v" if away == "view" else "3")
        await until(pilot, lambda: panel.display and "96/100%" in words(panel))


async def test_details_and_telemetry_have_one_sample(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        panel = await open_runs(app, pilot, workspace, gpu_lines(range(8), 8))
        page, controller = app.screen, app.session.controller
        assert isinstance(page, RunsPage)
        assert isinstance(controller, FakeController)
        assert panel.newest() in page.panels.beside.text
        monkeypatch.setattr(page.panels, "show", lambda *_, **__: None)
        tell(controller, "node1", gpu_lines(range(8), 18))
        before = panel.newest()
        await until(pilot, lambda: panel.newest() != before)
        assert panel.newest() in page.panels.beside.text, "before the page is brought up to date"


@given(st.integers(2, 20), st.integers(0, 1700), st.integers(1, 1700), st.integers(12, 200))
def test_times_stand_below_the_lines_where_their_samples_are(
    left: int, start: int, lasts: int, columns: int
) -> None:
    line = times_below(left, (start, start + lasts), columns).plain
    assert len(line) <= left + columns
    assert not line[:left].strip()
    for found in re.finditer(r"\S+", line):
        at = parse_duration(found[0])
        place = (at - start) / lasts * columns
        assert found.start() - left == pytest.approx(place, abs=1 + columns / lasts)


async def test_times_stand_in_the_first_free_row(workspace: FakeWorkspace) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        panel = await open_runs(app, pilot, workspace, gpu_lines(range(8), 18))
        await pilot.press("m")
        await until(pilot, lambda: panel.display and "96/100%" in words(panel))
        tick(app)
        lines = words(panel).splitlines()
        free = next(n for n, line in enumerate(lines) if not re.search("[▁-█]", line))
        assert re.match(r" +0s +\d+s", lines[free])


def test_a_clock_that_is_ahead_is_taken_off() -> None:
    live = LiveTelemetry()
    live.feed(gpu_lines([0], 20, START + 3600).encode())
    span = (START, START + 20)
    [line] = each_gpu([Source("n", live, (0,), 3600.0)], Figure.UTILIZATION, span, 20)
    assert line.plain[LABEL_WIDTH:] == "▁" * 10 + "█" * 10
    [line] = each_gpu([Source("n", live, (0,))], Figure.UTILIZATION, span, 20)
    assert line.plain[LABEL_WIDTH:].strip() == "", "nothing was seen then"


@given(st.integers(min_value=0, max_value=18), st.integers(min_value=1, max_value=20))
def test_of_a_run_that_has_ended_the_mean_of_what_counts_is_said_whatever_came_last(
    first: int, seconds: int
) -> None:
    live = LiveTelemetry()
    live.feed((gpu_lines([0], 20) + gpu_lines([0], 9, START + 22)).encode())
    assert live.last(Figure.UTILIZATION, 0) == 0
    last = min(20, first + seconds)
    counted = (START + first, START + last)
    mean = fmean(96 if second >= 10 else 0 for second in range(first, min(last + 1, 20)))
    for lines in (means, partial(each_gpu, figure=Figure.UTILIZATION)):
        source = [Source("n", live, (0,))]
        line = lines(source, span=(START, START + 40), columns=20, counted=counted)[0]
        assert line.plain.split()[1].removesuffix("/100%").removesuffix("%") == f"{mean:.0f}"


def half_busy(looks: list[int]) -> LiveTelemetry:
    """The CPUs of a host, at these seconds."""
    live = LiveTelemetry()
    for s in looks:
        live.feed(f"host, {START + s:.0f}, 48, 7.5, {s * 24}, {s * 48}, 0\n".encode())
    return live


@given(
    st.lists(st.integers(0, 40), min_size=2, unique=True).map(sorted),
    st.lists(st.integers(0, 40), min_size=2, max_size=2, unique=True).map(sorted),
)
def test_what_was_seen_during_a_run_is_told_though_it_trained_for_too_short_a_time(
    looks: list[int], trained: list[int]
) -> None:
    """CPUs tell how busy they are between two looks."""
    panel, source = TelemetryPanel(lambda: None), [Source("n", half_busy(looks))]
    while_trained = Counted(*map(float, trained), "while it trained")
    over_run = Counted(0.0, 40.0, "over the run")
    panel._began, panel._counted = START, (while_trained, over_run)
    counted = panel._counts(source)
    within = [s for s in looks if trained[0] <= s <= trained[1]]
    assert counted is (while_trained if len(within) > 1 else over_run)
    lines = means(source, (START, START + 40), 20, counted=panel._time_of(counted))
    assert [line.plain.split()[:2] for line in lines] == [["CPU", "50/100%"], ["load", "7.5/7.5"]]
    assert counted.words in panel._scale(source, counted)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=5, unique=True).map(sorted),
    st.tuples(st.floats(0.0, 40.0), st.floats(0.0, 40.0)).map(sorted),
)
def test_no_curve_stands_beside_a_figure_that_is_not_known(
    looks: list[int], counted: list[float]
) -> None:
    live = half_busy(looks)
    span = (START + counted[0], START + counted[1])
    for line in means([Source("n", live)], (START, START + 40), 30, counted=span):
        unknown = line.plain.split()[1] == "–"
        assert not (none_known([Source("n", live)], span) and not unknown)
        assert ("in that time" in line.plain) is unknown
        assert not (unknown and set(line.plain) & set("▁▂▃▄▅▆▇█"))


async def test_a_run_that_has_ended_shows_what_its_gpus_did_while_it_trained(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n8g",), repeats=1)
        await pilot.press("3")
        for _ in range(10):
            workspace.clock.tick(6)
            tick(app)
        assert controller.snapshot().finished
        tell(controller, "node1", gpu_lines(range(8), 40) + gpu_lines(range(8), 9, START + 41))
        await until(pilot, partial(shows, app, "mean of 8 GPUs"))
        await until(
            pilot, partial(shows, app, "figures: while it trained · lines: the run, from 0 to")
        )
        panel = app.screen.query_one(TelemetryPanel)
        await until(pilot, lambda: words(panel))
        assert words(panel).split()[1] not in ("0/100%", "–")
        await pilot.press("W")
        await until(
            pilot, partial(shows, app, "figures: while it trained · lines: the chart's time")
        )


@given(st.lists(st.integers(20, 99), min_size=2, max_size=32))
def test_of_the_temperatures_of_several_gpus_the_hottest_is_said(degrees: list[int]) -> None:
    stamps = [time.strftime("%Y/%m/%d %H:%M:%S.000", time.gmtime(START + s)) for s in range(3)]
    lines = [
        f"{stamp}, {gpu}, 11, 0, 41, 135, {now}\n"
        for stamp in stamps
        for gpu, now in enumerate(degrees)
    ]
    telemetry = LiveTelemetry()
    telemetry.feed(
        "".join([HEADER, *lines, f"host, {START + 2:.0f}, 48, 3.5, 90, 4800, 0\n"]).encode()
    )
    sources = [Source("node1", telemetry, tuple(range(len(degrees))))]
    for counted in (None, (START - 1, START + 3)):
        said = means(sources, (START, START + 10), 20, counted=counted)[-1].plain
        assert said.split()[:2] == ["hottest", f"{max(degrees)}/100°C"]


def test_what_is_not_known_is_a_dash_and_a_gap() -> None:
    live = LiveTelemetry()
    live.feed(gpu_lines([0], 7).replace(", 41,", ", [N/A],").encode())
    power = means([Source("n", live, (0,))], (START, START + 7), 7)[1]
    assert power.plain.split() == ["power", "–"]
    assert value_text(Figure.MEMORY, None) == "–"


def test_sparklines_go_from_nothing_to_the_top() -> None:
    assert sparkline([0, 50, 100, None, 1000, -5], 100.0) == "▁▅█ ↑▁"
    assert sparkline([102.0, 130.0], 100.0) == "█↑", "a limit is passed by a little now and then"
    assert sparkline([0.0, 0.0], 0.0) == "▁▁"


@given(
    values=st.lists(st.none() | st.integers(-10, 200), max_size=8),
    top=st.sampled_from([0.0, 96.0, 100.0]),
    rows=st.integers(1, 4),
)
def test_a_tall_sparkline_is_as_high_as_its_values_and_has_no_holes(
    values: list[int | None], top: float, rows: int
) -> None:
    lines = tall_sparkline(values, top, rows)
    assert [len(line) for line in lines] == [len(values)] * rows
    heights = []
    for value, column in zip(values, zip(*lines, strict=True), strict=True):
        marks = "".join(column).lstrip(" ")
        assert " " not in marks
        assert set(marks[1:]) <= {"█"}
        assert (value is None) is (not marks)
        heights.append(8 * len(marks) + " ▁▂▃▄▅▆▇█↑".index(marks[0]) if marks else None)
        assert not top or value is None or value < top * 9 / 8 or marks[0] == "↑"
    known = [pair for pair in zip(values, heights, strict=True) if pair[0] is not None]
    if top:
        assert [h for _, h in sorted(known)] == sorted(h for _, h in known)
    assert rows > 1 or lines == [sparkline(values, top)]


@given(st.sampled_from(GPU_FIGURES), st.integers(0, 99_999), st.floats(0, 1e5), st.booleans())
def test_what_a_full_line_stands_for_is_said_behind_the_figure_and_the_line_keeps_to_it(
    figure: Figure, value: int, limit: float, known: bool
) -> None:
    live = LiveTelemetry()
    sample = dict.fromkeys(GPU_FIGURES, 0) | {figure: value}
    fields = (Figure.MEMORY, Figure.UTILIZATION, Figure.POWER, Figure.CLOCK, Figure.TEMPERATURE)
    told = ", ".join(str(sample[one]) for one in fields)
    stamp = time.strftime("%Y/%m/%d %H:%M:%S.000", time.gmtime(START))
    live.feed(f"{HEADER}{stamp}, 0, {told}\nhost, {START:.0f}, 48, 3.5, 0, 0, 0\n".encode())
    source = Source("n", live, (0,), limits={0: {figure: limit}} if known else {})
    last, top = live.last(figure, 0), live.top(figure, 0)
    assert last == value
    full = (limit if known else 0.0) or max(WORDS[figure].least_top, top)
    rows = means([source], (START - 1, START + 1), 4, label=40)
    said = next(row.plain.split()[1] for row in rows if row.plain.startswith(WORDS[figure].name))
    assert scale([source], figure) == value_text(figure, full)
    if full > 0:
        number, _, behind = said.partition("/")
        assert behind == value_text(figure, full)
        assert number + WORDS[figure].unit == value_text(figure, last)


def test_the_clock_of_an_idle_gpu_is_drawn_low_where_its_samples_say_how_high_it_can_be() -> None:
    live = LiveTelemetry()
    header = HEADER.replace("temperature.gpu", "temperature.gpu, clocks.max.sm [MHz]")
    stamp = time.strftime("%Y/%m/%d %H:%M:%S.000", time.gmtime(START))
    live.feed(
        f"{header}{stamp}, 0, 0, 0, 43, 135, 34, 1530\nhost, {START:.0f}, 48, 0, 0, 0, 0\n".encode()
    )
    source = Source("n", live, (0,))
    clock = means([source], (START - 1, START + 1), 2, label=20)[2]
    assert clock.plain.split() == ["clock", "135/1530MHz", "▁"]
    assert scale([source], Figure.CLOCK) == "1530MHz"
    limited = replace(source, limits={0: {Figure.CLOCK: 1290.0}})
    assert scale([limited], Figure.CLOCK) == "1290MHz", "what its operator set"


@given(st.lists(st.integers(1, 60), min_size=2, max_size=4), st.integers(8, 40))
def test_the_hottest_of_hosts_that_tell_by_turns_is_drawn_to_the_end(
    told_s: list[int], columns: int
) -> None:
    hot = max(told_s) - min(max(told_s) - 1, int(STANDS_S))  # the one that told last of it
    sources = []
    for host, seconds in enumerate([hot, *told_s]):
        live = LiveTelemetry()
        live.feed(HEADER.encode())
        for at in range(seconds):
            stamp = time.strftime("%Y/%m/%d %H:%M:%S.000", time.gmtime(START + at))
            live.feed(f"{stamp}, 0, 0, 0, 43, 135, {62 if host else 88}\n".encode())
            live.feed(f"host, {START + at:.0f}, 48, 0, 0, 0, 0\n".encode())
        sources.append(Source(f"n{host}", live, (0,)))
    hottest = means(sources, (START, START + 60), columns, label=20)[-1].plain
    assert hottest.split()[:2] == ["hottest", "88/100°C"]
    assert set(hottest[20:].strip()) == {sparkline([88.0], 100.0)}


def test_beside_the_mean_of_gpus_stands_a_limit_that_each_of_them_has_or_none() -> None:
    live = LiveTelemetry()
    live.feed(gpu_lines([0, 1], 20).encode())
    small = replace(facts().gpus[0], index=0, power_limit_w=300.0)
    large = replace(small, index=1, power_limit_w=700.0, memory_total_mib=143_771)
    here = replace(facts(), gpus=(small, large))
    on_one = [source_of("node1", live, (0, 1), here)]
    on_two = [
        source_of("node1", live, (0,), replace(here, gpus=(small,))),
        source_of("node2", live, (1,), replace(here, gpus=(large,))),
    ]
    for sources in (on_one, on_two):
        power = means(sources, (START, START + 20), 20, label=20)[1]
        assert power.plain.split()[:2] == ["power", "290W"]
        assert power.plain[20:].strip()[-1] == "▅", "drawn to the mean of their limits, 500 W"
        assert unlike(sources)
        assert scale(sources, Figure.POWER) == "700W", "of each: to the one scale of all"
    alone = means(on_two[:1], (START, START + 20), 20, label=20)[1]
    assert alone.plain.split()[:2] == ["power", "290/300W"]
    assert not unlike(on_two[:1])


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
async def test_m_and_W_bring_what_they_are_of_into_sight_and_the_foot_knows_what_is_on(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        panel = await open_runs(app, pilot, workspace, gpu_lines(range(8), 20))
        await pilot.press("home", "s")
        assert not panel.display
        await pilot.press("m")
        await until(pilot, partial(shows, app, "mean of 8 GPUs"))
        assert panel.display
        page = app.screen
        assert isinstance(page, RunsPage)
        for word in ("Whole run", "Window"):
            await pilot.press("W")
            await until(pilot, lambda word=word: page.labels_now["window"] == word)
            await pilot.press("m")
            await until(pilot, lambda: panel.display)
            assert page.labels_now["window"] == word


def test_gpus_of_several_hosts_are_told_apart(tmp_path: Path) -> None:
    live = LiveTelemetry()
    live.feed(gpu_lines([0, 1], 20).encode())
    sources = [Source("node1", live, (0, 1)), Source("node2", live, (1,))]
    lines = each_gpu(sources, Figure.POWER, (START, START + 20), 20, label=16)
    assert [line.plain.split()[:2] for line in lines] == [
        ["node1:0", "290W"],
        ["node1:1", "291W"],
        ["node2:1", "291W"],
    ]
    assert Clock().now == START


@pytest.mark.parametrize("profile", ["cpu-smoke", "oneflow-resnet50"])
async def test_before_the_first_sample_that_is_said_and_a_run_on_cpus_is_told_in_its_host(
    workspace: FakeWorkspace, profile: str
) -> None:
    workspace.catalog = Catalog.load((), None)
    async with console(workspace, LARGE) as (app, pilot):
        values = ONEFLOW if profile == "oneflow-resnet50" else {"batch_size": ("32",)}
        controller = workspace.controller(
            workspace.plan(Selection((profile,), ("1n8g",), values, 1))
        )
        app.session.controller = controller
        await pilot.press("3")
        workspace.clock.tick(3)
        tick(app)
        await until(pilot, lambda: any(run.hosts for run in controller.state.runs.values()))
        run = next(iter(controller.state.runs.values()))
        begun = run.started_at or 0.0
        first = f"host, {begun + 1:.0f}, 48, 3.5, 90, 4800, 0\n"
        tell(controller, run.hosts[0], first + first.replace("90, 4800", "180, 9600"))
        panel = app.screen.query_one(TelemetryPanel)
        await until(pilot, lambda: panel.known)
        tick(app)
        on_gpus = profile != "cpu-smoke"
        await until(pilot, partial(shows, app, "mean of 8 GPUs" if on_gpus else "of its host"))
        assert shows(app, "the first sample is still to come") == on_gpus
        assert ("GPUs" in str(panel.border_title)) == on_gpus


def short(text: str) -> str:
    return text.replace(" b128 fp32", "")


def read_at_will(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Telemetry is read while this is set, as it is at first."""
    goes_on, read = threading.Event(), RunTelemetry.read
    goes_on.set()

    def reads(telemetry: RunTelemetry) -> bool:
        assert goes_on.wait(30)
        return read(telemetry)

    monkeypatch.setattr(RunTelemetry, "read", reads)
    return goes_on


async def test_whatever_the_moves_figures_stand_under_the_name_of_their_run(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that take their time: between a move and its data those of the run before stay for a
    moment, then nothing is shown."""
    slow = read_at_will(monkeypatch)
    async with console(workspace, HUGE) as (app, pilot):
        controller = begin(app, workspace, ("1n8g", "2n8g"), repeats=3)
        await pilot.press("3", "v", "v")
        for _ in range(12):
            workspace.clock.tick(10)
            tick(app)
        runs = {run.run_id: run for run in controller.snapshot().runs}
        watts = {run_id: 210 + 10 * place for place, run_id in enumerate(runs)}
        for run_id, run in list(runs.items())[:-1]:  # of the last nothing was ever told
            begun = controller.state.runs[run_id].started_at or 0.0
            text = gpu_lines([0], 60, begun).replace(", 290,", f", {watts[run_id]},")
            path = controller.path / "telemetry" / f"{run_id}.{run.hosts[0]}.csv"
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)
        page, panel = app.screen, app.screen.query_one(TelemetryPanel)
        assert isinstance(page, RunsPage)
        await pilot.press("home")
        await until(pilot, lambda: "power" in words(panel))
        seen = set()
        for moves in ("j", "j j", "end", "k", "k k", "m", "end k", "home", "v v v", "j"):
            slow.clear()
            await pilot.press(*moves.split())
            assert page.selected is not None
            called = short(page.selected.label)
            for _ in range(2):
                tick(app)
                await pilot.pause()
                shown, told = words(panel) if panel.display else "", short(str(panel.border_title))
                of = {watts[run_id] for run_id, run in runs.items() if short(run.label) in told}
                assert {*re.findall(r"\b(2\d0)W", shown)} <= {*map(str, of)}, (moves, told)
                if shown:
                    await until(pilot, lambda of=called: of in short(str(panel.border_title)))
                    seen.add(words(panel).strip())
                slow.set()
                await until(pilot, lambda: not panel.reading)
        assert "reading …" in seen


@pytest.mark.parametrize("told", [True, False])
async def test_m_waits_for_what_is_being_read_and_says_when_there_is_nothing(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, *, told: bool
) -> None:
    """Typed right behind the move to a run whose telemetry nobody has looked at."""
    slow = read_at_will(monkeypatch)
    async with console(workspace, SMALL) as (app, pilot):
        controller = begin(app, workspace, ("1n8g",), repeats=2)
        await pilot.press("3")
        for _ in range(9):
            workspace.clock.tick(10)
            tick(app)
        _, second = controller.snapshot().runs
        if told:
            begun = controller.state.runs[second.run_id].started_at or 0.0
            path = controller.path / "telemetry" / f"{second.run_id}.{second.hosts[0]}.csv"
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(gpu_lines([0], 40, begun))
        page, panel = app.screen, app.screen.query_one(TelemetryPanel)
        assert isinstance(page, RunsPage)
        await pilot.press("home")
        await until(pilot, lambda: page.selected is not None and not panel.reading)
        slow.clear()
        await pilot.press("j", "m")
        await until(pilot, lambda: panel.display and "reading …" in words(panel))
        assert not shows(app, "m Meters: ")
        slow.set()
        if told:
            await until(pilot, lambda: "power" in words(panel))
        else:
            await until(pilot, lambda: NO_SAMPLE in words(panel))
            assert WOULD_BE_HERE in screen_text(app), "whole, at 80 columns"
