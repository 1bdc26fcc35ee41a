"""Telemetry while it is written: any portions of bytes, bounded memory, nothing made up."""

from __future__ import annotations

import io
import os
import subprocess
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.run_telemetry import RunTelemetry
from backends.hosts.live_telemetry import (
    GPU_FIGURES,
    MOST_POINTS,
    Curve,
    Figure,
    LiveTelemetry,
)
from backends.hosts.telemetry import read_telemetry, telemetry_command
from backends.hosts.telemetry_summary import Span, summarise

NOON = 1_795_262_400  # 2026-11-21 12:00 UTC
HEADER = (
    "timestamp, index, memory.used [MiB], utilization.gpu [%], power.draw [W], "
    "clocks.current.sm [MHz], temperature.gpu, clocks.max.sm [MHz]\n"
)


def gpu(second: int, index: int, *figures: object, zone_h: float = 0.0) -> str:
    hours, rest = divmod(int(second + zone_h * 3600), 3600)
    clock = f"{12 + hours:02d}:{rest // 60:02d}:{rest % 60:02d}.250"
    cells = ", ".join(map(str, figures or (4096, 97, 300.5, 1500, 61, 1980)))
    return f"2026/11/21 {clock}, {index}, {cells}\n"


def host(second: int, load: float = 1.0, busy: int = 0, total: int = 0) -> str:
    return f"host, {NOON + second}, 8, {load}, {busy}, {total}, 0\n"


def fed(text: str) -> LiveTelemetry:
    live = LiveTelemetry()
    live.feed(text.encode())
    return live


def test_every_figure_of_every_gpu_is_there_as_it_was_told() -> None:
    live = fed(HEADER + gpu(0, 0) + gpu(0, 1, 8192, 50, "[N/A]", 900, 40, 1980) + host(1))
    assert live.gpus == (0, 1)
    assert [live.last(figure, 0) for figure in GPU_FIGURES] == [97, 300.5, 1500, 4096, 61]
    assert live.last(Figure.POWER, 1) is None, "it is not known, so it is not 0"
    assert live.last(Figure.UTILIZATION, 2) is None
    assert [live.limit(figure, 0) for figure in GPU_FIGURES] == [0, 0, 1980, 0, 0]
    assert not live.limit(Figure.CLOCK, 2)
    assert not live.limit(Figure.CLOCK)


@pytest.mark.parametrize("zone_h", [-9.5, 0.0, 5.75])
def test_times_are_those_of_the_hosts_clock_whatever_its_zone(zone_h: float) -> None:
    live = fed(HEADER + gpu(0, 0, zone_h=zone_h) + host(1) + gpu(1, 0, zone_h=zone_h))
    assert live.ends_at == NOON + 1.25
    later = HEADER + gpu(3600, 0, zone_h=zone_h) + host(3601)
    live.feed(later.encode())
    assert live.ends_at == NOON + 3601


@pytest.mark.parametrize("zone_h", [-9.5, 0.0, 5.75])
@pytest.mark.parametrize("first", [0, 3, 60])
def test_a_run_of_seconds_needs_no_second_line_of_its_host(zone_h: float, first: int) -> None:
    """Such as comes right before the samples tells their zone; one of long before does not."""
    live = fed(host(0) + HEADER + gpu(first, 0, zone_h=zone_h) + gpu(first + 1, 0, zone_h=zone_h))
    if first < 60:
        assert live.ends_at == NOON + first + 1.25
        assert live.last(Figure.POWER, 0) == 300.5
    else:
        assert not live.gpus


def test_a_stream_that_begins_again_hours_later_does_not_change_its_zone() -> None:
    live = fed(HEADER + gpu(0, 0) + host(1) + gpu(1, 0))
    live.feed((host(7200) + HEADER + gpu(7201, 0) + gpu(7202, 0) + host(7203)).encode())
    assert live.ends_at == NOON + 7203
    columns = live.columns(Figure.CLOCK, NOON, NOON + 7205, 7205, gpu=0)
    assert [i for i, value in enumerate(columns) if value is not None] == [0, 1, 7201, 7202]


def test_a_host_without_gpus_tells_how_busy_its_cpus_were_in_between() -> None:
    live = fed(host(0, 0.5, 100, 1000) + host(5, 2.0, 350, 1500))
    assert live.gpus == ()
    assert live.last(Figure.CPU_BUSY) == 50.0
    assert live.columns(Figure.LOAD, NOON, NOON + 10, 2) == [0.5, 2.0]
    assert live.columns(Figure.CPU_BUSY, NOON, NOON + 10, 2) == [None, 50.0]


def test_a_host_tells_of_a_run_of_seconds_and_of_a_long_one_less_often(tmp_path: Path) -> None:
    (tmp_path / "sleep").write_text("#!/bin/sh\n")
    (tmp_path / "sleep").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = f"{telemetry_command(gpus=False)} | head -n 60"
    lines = subprocess.check_output(["sh", "-c", command], env=environment, text=True).split("\n")
    told = [n for n, line in enumerate(lines) if line.startswith("host, ")]
    seconds = [lines[:n].count("") for n in told]
    assert seconds == [*range(15), *range(15, seconds[-1] + 1, 5)]
    assert seconds[-1] >= 30


def test_columns_are_means_and_a_gap_is_none() -> None:
    curve = Curve(gap_s=2.0)
    for time, value in ((0.5, 1), (1.0, 3), (2.5, 5), (9.5, 7)):
        curve.add(time, value)
    assert curve.columns(0, 10, 10) == [1, 3, 5, *[None] * 6, 7]
    assert curve.columns(0, 10, 1) == [4.0]
    assert curve.columns(0, 0, 3) == [None] * 3


@given(ended=st.floats(0.0, 9.9))
def test_until_an_end_the_last_sample_before_it_stands_and_none_that_came_after(
    ended: float,
) -> None:
    curve = Curve()
    for second in range(11):
        curve.add(second, 100.0 if second <= ended else 0.0)
    columns = curve.columns(0.0, 10.0, 100, ended)
    last = int(ended * 10)
    assert set(columns[: last + 1]) == {100.0}
    assert set(columns[last + 1 :]) <= {0.0}


def test_a_long_run_is_thinned_and_keeps_its_mean_and_its_newest_sample() -> None:
    curve = Curve()
    for second in range(100_000):
        curve.add(float(second), float(second % 10))
    assert len(curve._points) < MOST_POINTS
    assert curve.last == 9.0
    assert curve.columns(0, 98_000, 7) == pytest.approx([4.5] * 7, abs=0.05)


@given(st.lists(st.integers(1, 60)))
def test_any_portions_say_the_same(cuts: list[int]) -> None:
    text = (
        HEADER + "".join(gpu(s, s % 2) + host(s, 1.0, 10 * s, 100 * s) for s in range(9))
    ).encode()
    whole, parts = fed(text.decode()), LiveTelemetry()
    position = 0
    for cut in (*cuts, len(text)):
        parts.feed(text[position : position + cut])
        position += cut
    for figure in Figure:
        for device in (None, 0, 1):
            span = (NOON - 5, NOON + 20, 25)
            assert parts.columns(figure, *span, gpu=device) == whole.columns(
                figure, *span, gpu=device
            )


@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from([HEADER, gpu(0, 0), host(0), "host, 1", "2026/", ", ", "\n", "-1"])
    ).map("".join)
)
def test_no_text_raises(text: str) -> None:
    live = LiveTelemetry()
    live.feed(text.encode("utf-8", "replace"))
    live.feed(b"\n")
    for device in (None, *live.gpus):
        live.columns(Figure.POWER, 0.0, 1.0, 5, gpu=device)


def test_it_agrees_with_what_is_summed_up_at_the_end() -> None:
    data = (Path(__file__).parent / "telemetry-h200.csv").read_bytes()
    live, whole = LiveTelemetry(), read_telemetry(io.BytesIO(data))
    live.feed(data)
    for device in live.gpus:
        rows = whole.gpus[whole.gpus["gpu"] == device]
        for figure in GPU_FIGURES:
            assert live.last(figure, device) == rows[str(figure)].iloc[-1]
    assert live.ends_at == pytest.approx(max(whole.gpus.time_s.max(), whole.host.time_s.max()))


@given(
    watts=st.lists(st.integers(80, 700), min_size=2, max_size=12),
    first=st.floats(0.3, 12),  # the very first sample tells of no time
    lasts=st.floats(0, 12),
)
def test_what_it_says_of_a_time_is_what_is_summed_up_of_it(
    watts: list[int], first: float, lasts: float
) -> None:
    lines = [gpu(n, 0, 4096, w % 100, w, 1980 - w, 61, 1980) for n, w in enumerate(watts)]
    text = HEADER + "".join(lines) + host(len(watts))
    span = Span(NOON + first, NOON + first + lasts)
    [use] = summarise(read_telemetry(io.BytesIO(text.encode())), "n", (0,), span, {}).gpus
    live = fed(text)
    for figure, mean in (
        (Figure.UTILIZATION, use.utilization_mean),
        (Figure.CLOCK, use.sm_clock_mhz_mean),
        (Figure.POWER, use.power_w_mean),
    ):
        said = live.mean(figure, span.start, span.end, 0)
        assert said == (mean if mean is None else pytest.approx(mean)), figure


@given(
    passed=st.lists(
        st.integers(1, 6).flatmap(lambda s: st.tuples(st.just(s), st.integers(0, 200 * s))),
        min_size=1,
        max_size=6,
    ),
    first=st.floats(0, 20),
    lasts=st.floats(0, 30),
)
def test_cpus_are_as_busy_in_a_time_as_is_summed_up_of_it(
    passed: list[tuple[int, int]], first: float, lasts: float
) -> None:
    """However often they were looked at: seconds to the next look, and their ticks."""
    seconds = accumulate((s for s, _ in passed), initial=0)
    busy = accumulate((ticks for _, ticks in passed), initial=0)
    lines = [host(s, 1.0, ticks, 200 * s) for s, ticks in zip(seconds, busy, strict=True)]
    data = HEADER + gpu(0, 0) + "".join(lines)
    span = Span(NOON + first, NOON + first + lasts)
    [use] = summarise(read_telemetry(io.BytesIO(data.encode())), "n", (0,), span, {}).hosts
    said = fed(data).mean(Figure.CPU_BUSY, span.start, span.end)
    assert said == (None if use.cpu_busy is None else pytest.approx(100 * use.cpu_busy))


def test_a_run_is_read_as_its_files_grow_and_anew_when_they_are_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "telemetry").mkdir()
    file = tmp_path / "telemetry" / "r1.node1.csv"
    run = RunTelemetry(tmp_path, "r1", ["node1", "node2"])
    assert not run.read()
    assert not run.hosts["node1"].seen
    file.write_text(HEADER + gpu(0, 0) + host(1))
    run.read()
    assert run.hosts["node1"].last(Figure.UTILIZATION, 0) == 97
    with file.open("a") as more:
        more.write(gpu(1, 0, 1, 2, 3, 4, 5, 6))
    run.read()
    assert run.hosts["node1"].last(Figure.UTILIZATION, 0) == 2
    file.write_text(host(1))
    run.read()
    assert run.hosts["node1"].gpus == ()
    assert not run.hosts["node2"].seen
    run.close()
    assert not run.read(), "it is closed"
