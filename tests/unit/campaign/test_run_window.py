"""Which readings count, how evenly steps came and where they did not: told of any run, any time."""

from __future__ import annotations

import json
import math
import random
from array import array
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backends.campaign.record.codec import decode, encode
from backends.campaign.record.events import ReadingsSampled
from backends.campaign.record.run_record import RunRecord, Series
from backends.campaign.record.run_results import run_result
from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_view import chart_series
from backends.campaign.record.run_window import came_at_once, jitter, run_window, window_seen
from backends.campaign.record.state import CampaignState, apply, fold
from backends.hosts.telemetry_summary import GpuUse, HostUse, Meanwhile, Telemetry
from profiles.throughput.steady import Disturbance, Shape, disturbances
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned, succeeded
from tui.screens.run_panels import chart_title, counted_times
from tui.widgets.throughput_plot import throughput_plot, window_plot


def run_with(values: list[float], **more: object) -> RunRecord:
    """A reading a second, as they are kept."""
    run_id = "r-0001-a1"
    run = fold([planned(run_id), assigned(run_id)]).runs[run_id]
    series = Series().extended(0, len(values), 1, [(i, v, 3.0 + i) for i, v in enumerate(values)])
    kept = {"state": RunState.RUNNING, "started_at": 2.0, "reading_count": len(values)}
    return replace(run, series=series, **kept | more)  # type: ignore[arg-type]


def noisy(count: int, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [100 * (1 + chance.gauss(0, 0.002)) for _ in range(count)]


def of(run: RunRecord) -> tuple[float | None, float | None]:
    window = run_window(run, chart_series(run).points)
    return window.start, window.end


@given(st.integers(0, 3000), st.integers(0, 3000), st.integers(1, 3000))
@settings(max_examples=60, deadline=None)
def test_the_window_of_a_measured_run_has_its_readings_and_no_other(
    before: int, after: int, used: int
) -> None:
    count = before + used + after
    known = bool(before or not after)
    values = [float(i + 1) for i in range(count)]
    run = run_with(values, warmup=before, used=used, window_known=known)
    run = replace(run, state=RunState.SUCCEEDED, ended_at=3.0 + count)
    start, end = of(run)
    stride = run.series.stride
    if not known:
        assert (start, end) == (None, None), "which ones, a journal of old does not say"
    else:
        # The reading number n came at n + 1 s; what is kept is every stride-th.
        assert start is None or before <= start - 1 < before + used + stride
        assert end is None or end - 1 < before + used
        assert (start is None) == (not before or -(-before // stride) * stride >= before + used)


@given(st.integers(0, 40), st.floats(2.0, 1000.0), st.integers(0, 10))
def test_the_seconds_of_a_window_are_none_after_the_run_had_ended_on_its_hosts(
    in_time: int, late_s: float, warmup: int
) -> None:
    """A reading a second for 40 s; the connection is lost after ``in_time`` of them, and the rest
    comes all at once, ``late_s`` after the end."""
    times = [3.0 + i if i < in_time else 43.0 + late_s for i in range(40)]
    run = run_with([100.0] * 40, warmup=warmup, used=40 - warmup, window_known=True)
    series = replace(run.series, times=array("d", times))
    run = replace(run, state=RunState.SUCCEEDED, ended_at=43.0, series=series)
    used, seconds, _ = window_seen(run)
    assert used == 40 - warmup
    assert seconds is None or seconds <= 41 - warmup
    if warmup < in_time:
        assert seconds is not None
        assert seconds >= 39 - warmup


def test_where_the_window_begins_is_journaled_also_for_the_last_readings() -> None:
    events = [planned("r-0001-a1"), assigned("r-0001-a1")]
    told = replace(succeeded("r-0001-a1"), readings=100, used=90, first=10)
    state = apply(fold(events), told)
    assert state.runs["r-0001-a1"].warmup == 10
    old = apply(fold(events), replace(told, first=None))
    assert old.runs["r-0001-a1"].warmup == 0


@given(st.lists(st.floats(0.1, 1e6), min_size=10, max_size=200), st.floats(0.01, 100))
def test_jitter_does_not_depend_on_the_unit_and_is_none_of_an_even_pace(
    speeds: list[float], unit: float
) -> None:
    found = jitter(speeds)
    scaled = jitter([speed * unit for speed in speeds])
    assert found is not None
    assert scaled is not None
    assert scaled.p95 == pytest.approx(found.p95, rel=1e-6)
    assert scaled.cv == pytest.approx(found.cv, rel=1e-6, abs=1e-9)
    even = jitter([speeds[0]] * 20)
    assert even is not None
    assert (even.p95, even.cv) == pytest.approx((1.0, 0.0), abs=1e-9)


def test_jitter_is_of_the_time_per_step_and_of_the_window_alone() -> None:
    # Of 40 steps four take twice as long: the 95th percentile is among them.
    speeds = [100.0 if i % 10 else 50.0 for i in range(40)]
    run = run_with([1.0] * 5 + speeds, warmup=5)
    window = run_window(run, chart_series(run).points)
    assert window.jitter is not None
    assert window.jitter.p95 == pytest.approx(2.0)
    assert jitter(speeds[:9]) is None, "too few to tell"


@pytest.mark.parametrize("count", [60, 900, 5000])
def test_a_run_at_work_shows_where_its_speed_changed(count: int) -> None:
    values = noisy(count)
    changed = [v * 0.8 if i >= count // 2 else v for i, v in enumerate(values)]
    run = run_with(changed, warmup=10)
    ((found, (at_s, value)),) = run_window(run, chart_series(run).points).disturbed
    assert found.shape is Shape.STEP
    assert found.size == pytest.approx(-0.2, abs=0.01)
    assert found.reading == pytest.approx(count // 2, abs=max(2, count // 50))
    assert found.step == found.reading, "run_with numbers steps from 0, as readings are"
    assert at_s - 1 == pytest.approx(found.reading, abs=run.series.stride)
    assert value == pytest.approx(80, rel=0.3)


def test_nothing_is_marked_on_a_steady_run_and_of_a_bandwidth_over_sizes() -> None:
    steady = run_with(noisy(300), warmup=10)
    assert run_window(steady, chart_series(steady).points).disturbed == ()
    sizes = run_with([float(i) for i in range(1, 40)], unit="GB/s")
    window = run_window(sizes, chart_series(sizes).points)
    assert (window.disturbed, window.jitter) == ((), None)


def test_a_measured_run_has_the_marks_that_were_measured() -> None:
    values = noisy(100)
    values[50] = 10.0
    told = disturbances(values)
    assert told
    elsewhere = (replace(told[0], reading=70), Disturbance(Shape.STEP, 0.1, 0.1, reading=9999))
    run = run_with(values, state=RunState.SUCCEEDED, used=100, steady=elsewhere, ended_at=200.0)
    window = run_window(run, chart_series(run).points)
    assert [one for one, _ in window.disturbed] == list(elsewhere)
    assert [at for _, (at, _) in window.disturbed] == [71.0, 100.0], "never past the last one"
    assert run.series.times == array("d", [3.0 + i for i in range(100)])


@given(
    st.lists(st.floats() | st.sampled_from([1e-320, 1e-308, 1e308]), min_size=10, max_size=12),
    st.integers(1, 30),
    st.integers(0, 12),
)
@example([1e-320], 12, 0)
@example([1e-308], 12, 0)
@example([float("inf")], 12, 0)
@example([1e308], 200, 0)
@settings(deadline=None)
def test_readings_that_are_no_speeds_are_looked_at_without_harm(
    values: list[float], times: int, warmup: int
) -> None:
    run = run_with(values * times, warmup=warmup)
    window = run_window(run, chart_series(run).points)
    assert window.jitter is None or math.isfinite(window.jitter.p95 + window.jitter.cv)


@pytest.mark.parametrize("key", ["reading", "count", "every"])
def test_the_journal_has_no_disturbance_of_a_reading_that_cannot_be(key: str) -> None:
    steady = (Disturbance(Shape.STALLS, -0.5, 0.1, reading=3, count=2, every=4),)
    event = replace(succeeded("r-0001-a1"), steady=steady)
    assert decode(encode(event)) == event
    for value in (-1, -5000, 1 << 60):
        record = json.loads(encode(event))
        record["steady"][0][key] = value
        assert decode(json.dumps(record).encode()) is None


def cold_start(seed: int = 1) -> list[float]:
    return [5.0, 20.0, 60.0, 80.0, *noisy(60, seed)]


def read_in(
    values: list[float], *, at_end: bool, warmup: int = 0, sums_up: bool = False
) -> CampaignState:
    """As the journal has them."""
    points = tuple((i, value, 3.0 + i) for i, value in enumerate(values))
    told = ReadingsSampled(
        t=100.0,
        run_id="r-0001-a1",
        first=0,
        count=len(values),
        stride=1,
        points=points,
        last=points[-1:],
        warmup=warmup,
        told_at_end=at_end,
        summed_up=sums_up,
    )
    return fold([planned("r-0001-a1"), assigned("r-0001-a1"), told])


@given(used=st.integers(10, 60), summary=st.booleans(), at_end=st.booleans())
@settings(max_examples=40, deadline=None)
def test_jitter_never_has_the_warm_up_in_it(used: int, summary: bool, at_end: bool) -> None:
    values = cold_start()
    first = len(values) - used
    state = read_in(values, at_end=at_end, warmup=first)
    live = state.runs["r-0001-a1"]
    window = run_window(live, chart_series(live).points)
    expected = jitter(values[first:])
    assert window.jitter == (None if at_end else expected)
    assert window.known is not at_end
    assert window.warmup == (0 if at_end else first), "not claimed before it is known"
    assert chart_series(live).warmup == window.warmup
    ended = replace(
        succeeded("r-0001-a1"), readings=len(values), used=0 if summary else used, first=first
    )
    run = apply(state, ended).runs["r-0001-a1"]
    window = run_window(run, chart_series(run).points)
    assert (window.known, window.jitter, window.warmup) == (True, expected, first)
    old = apply(state, replace(ended, first=None)).runs["r-0001-a1"]
    assert run_window(old, chart_series(old).points).jitter in (None, expected)


@given(
    st.lists(st.sampled_from([3.0, 4.0, 90.0]), min_size=1, max_size=9).map(sorted),
    st.integers(0, 3),
    st.sampled_from([RunState.RUNNING, RunState.SUCCEEDED, RunState.FAILED]),
)
@example([3.0] * 4, 0, RunState.SUCCEEDED)
@example([3.0, 4.0, 4.0, 4.0], 2, RunState.SUCCEEDED)
@example([3.0, 4.0, 90.0], 1, RunState.SUCCEEDED)
def test_a_chart_says_that_its_readings_came_at_once_where_reports_do(
    times: list[float], warmup: int, state: RunState
) -> None:
    points = [(i, 100.0, at) for i, at in enumerate(times)]
    used = max(1, len(times) - warmup)
    run = replace(run_with([100.0]), series=Series().extended(0, len(times), 1, points))
    run = replace(run, state=state, warmup=warmup, used=used, ended_at=99.0)
    assert came_at_once(run) == run_result(run, CampaignState()).came_at_once
    burst = state is RunState.SUCCEEDED and used > 1 and times[0] == times[-1]
    said = chart_title(run, "over time").endswith("over time, times not known: came in one burst")
    assert said or not burst
    assert not said or state is RunState.SUCCEEDED
    drawn = chart_series(run)
    window = run_window(run, drawn.points)
    whole = throughput_plot([drawn], run.run_id, width=60, window=window)
    for plot in (whole, window_plot(drawn, width=60, window=window)):
        timed = any(words.endswith("s") for _, words in plot.x_ticks)
        assert timed == (bool(plot.lines) and not said), "no times where none are known"
        if said and plot.lines:
            assert {x for x, _ in plot.lines[-1].points} <= {1.0 + n for n in range(len(times))}
            assert plot.x_limits[1] <= len(times) * 1.02
            assert {float(words) for _, words in plot.x_ticks} <= {*range(len(times) + 1)}


@given(st.lists(st.sampled_from([3.0, 4.0, 90.0]), min_size=2, max_size=9).map(sorted))
def test_nothing_is_told_of_the_time_in_which_a_run_trained_where_nobody_knows_when_that_was(
    times: list[float],
) -> None:
    points = [(i, 100.0, at) for i, at in enumerate(times)]
    run_id = "r-0001-a1"
    state = fold([planned(run_id), assigned(run_id)])
    run = state.runs[run_id]
    run = replace(run, series=Series().extended(0, len(times), 1, points), started_at=2.0)
    gpu = GpuUse("node1", 0, 1.0, 100.0, 100.0, 640.0, 640.0, 1965.0, 1980.0, 53.0, 14471.0)
    told = Telemetry((gpu,), (HostUse("node1", 32, 2.34, 0.5),), (Meanwhile(0, "node1", 0, 1.0),))
    end = replace(
        succeeded(run_id), readings=len(times), used=len(times), first=0, telemetry=told, t=99.0
    )
    ended = apply(replace(state, runs={run_id: run}), end).runs[run_id]
    while_it_trained = {one.words for one in counted_times(ended, 97.0)} - {"over the run"}
    assert bool(while_it_trained) is not came_at_once(ended)
    for seen in (ended.telemetry, run_result(ended, CampaignState()).telemetry):
        assert seen is not None
        if not came_at_once(ended):
            assert seen == told
            continue
        assert seen.gpus == (GpuUse("node1", 0, 0.0, memory_mib_max=14471.0),)
        assert (seen.hosts, seen.meanwhile) == ((HostUse("node1", 32, 2.34),), ())
