"""Readings measured as they come are measured as all of them at once, to the last bit."""

from __future__ import annotations

import math
import statistics
import tracemalloc
from array import array
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from profiles import exact_sums as exact
from profiles.exact_sums import ExactSum, median, sort
from profiles.format.profile import Profile
from profiles.logs.failures import FailureScanner
from profiles.logs.log_parser import LogParser
from profiles.throughput import window_speeds as bounded
from profiles.throughput.chosen import Part
from profiles.throughput.measure_run import measure_run
from profiles.throughput.steady import MATERIAL_COST, Disturbance, Shape, disturbances
from profiles.throughput.tally import Tally
from profiles.throughput.window_speeds import Speeds
from tests.unit.profiles import all_at_once
from tests.unit.profiles.builders import case, profile

TIMED = r"reading = '^(?:(?P<time>\d\d:\d\d:\d\d) )?(?:iter (?P<step>\S+), )?speed (?P<value>\S+)$'"
STEPLESS = r"reading = 'speed (?P<value>\S+)$'"

NUMBERS = st.one_of(
    st.floats(1e-3, 1e6),
    st.sampled_from([100.0, 100.1, 99.9, 1e-300, 1e300, 0.0, -5.0]),
    st.floats(allow_nan=False, allow_infinity=False),
)
FINITE = st.sampled_from([1.0, 2.5, -0.0, 1.7e308]) | st.floats(
    allow_nan=False, allow_infinity=False
)
STEPS = st.one_of(
    st.none(), st.integers(0, 60), st.sampled_from(["20.5", "inf", "x"]), st.floats(0, 100)
)
LINES = st.lists(st.tuples(STEPS, NUMBERS, st.integers(0, 30) | st.none()), max_size=40)
WINDOWS = st.sampled_from(
    (
        "{}",
        "{ skip = 1 }",
        "{ skip = 1, keep_only = true }",
        "{ skip = 3, drop = 2 }",
        "{ drop = 30 }",
        "{ last = 1 }",
        "{ last = 5 }",
        "{ last = 100 }",
        "{ from_step = 10 }",
        "{ to_step = 30 }",
        "{ from_step = 10, to_step = 40 }",
    )
)
STATISTICS = ("mean", "median", "trimmed_mean", "harmonic_mean", "last", "elapsed")


@st.composite
def rules(draw: st.DrawFn) -> Profile:
    reading = draw(st.sampled_from((TIMED, TIMED, STEPLESS)))
    window = draw(WINDOWS)
    if reading == STEPLESS and "step" in window:
        window = "{ skip = 2, keep_only = true }"
    timestamp = "timestamp = '%H:%M:%S'\n" if reading == TIMED and draw(st.booleans()) else ""
    text = reading if timestamp else reading.replace("?P<time>", "?:")
    return profile(
        f"{text}\n{timestamp}window = {window}\n"
        f"statistic = '{draw(st.sampled_from(STATISTICS))}'\n"
        f"kind = '{draw(st.sampled_from(('throughput', 'step_time')))}'\n"
        f"scope = '{draw(st.sampled_from(('global', 'per_device')))}'\n"
        f"trim = {{ at_least = {draw(st.integers(0, 3))}, fraction = 0.1 }}"
    )


def log_of(lines: list[tuple[object, float, int | None]]) -> bytes:
    texts = []
    for step, value, at in lines:
        time = "" if at is None else f"10:00:{at:02} "
        texts.append(f"{time}{'' if step is None else f'iter {step}, '}speed {value!r}\n")
    return "".join(texts).encode()


@settings(max_examples=500)
@given(rules(), LINES, st.lists(st.integers(0, 600), max_size=12))
def test_any_batches_give_what_the_definition_gives(
    it: Profile, lines: list[tuple[object, float, int | None]], cuts: list[int]
) -> None:
    at = case(it, 2, 4)
    log = log_of(lines)
    whole = LogParser(it, at)
    whole.feed(log)
    whole.finish()
    try:
        expected = all_at_once.throughput(whole.rule, at, whole.readings)
    except (OverflowError, ValueError):  # the definition's own sums are beyond all floats
        expected = None

    parser = LogParser(it, at, keep=False)
    tally = Tally(parser.rule)
    edges = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    for start, end in pairwise(edges):
        tally.take(parser.feed(log[start:end]))
    tally.take(parser.finish())
    found = measure_run(it, at, parser, tally)
    if parser.readings and len(edges) > 2 and not parser.finish():
        with pytest.raises(IndexError):
            parser.readings[0]
        with pytest.raises(IndexError):
            list(parser.readings.values)
    assert found.throughput == expected
    assert found.readings == len(whole.readings)
    window = all_at_once.chosen(whole.rule.window, whole.readings.steps, found.readings)
    assert found.used == len(window)
    assert found.first == (window.start if window else None)
    assert found == measure_run(it, at, whole)
    if found.throughput is not None:
        speeds = whole.readings.values[window.start : window.stop]
        if whole.rule.kind == "step_time":
            speeds = array("d", (1 / value if value > 0 else math.inf for value in speeds))
        steps = whole.readings.steps[window.start : window.stop]
        expected_ones = disturbances(speeds, steps, window.start)
        told = _without_costs(found.steady)
        of_mean = _without_costs(expected_ones)
        if told != of_mean:  # stalls that cost the rule's own statistic more than the mean
            (stalls,) = [one for one in found.steady or () if one.shape is Shape.STALLS]
            assert stalls.cost >= MATERIAL_COST
            assert [one for one in told or () if one.shape is not Shape.STALLS] == of_mean


def _without_costs(found: Iterable[Disturbance] | None) -> list[Disturbance] | None:
    """Of stalls, which are of the rule's own statistic."""
    if found is None:
        return None
    return [replace(one, cost=0.0) if one.shape is Shape.STALLS else one for one in found]


@given(
    st.sampled_from(STATISTICS),
    st.sampled_from(["throughput", "step_time"]),
    st.dictionaries(st.integers(2, 16), st.floats(0.002, 0.9), min_size=1, max_size=5),
    st.none() | st.lists(st.integers(1, 20), min_size=20, max_size=20),
)
def test_what_stalls_cost_is_by_how_much_the_figure_would_be_higher_without_them(
    statistic: str, kind: str, stalls: dict[int, float], distances: list[int] | None
) -> None:
    """Whatever statistic it is, and however many steps a reading stands for."""
    it = profile(f"{TIMED.replace('?P<time>', '?:')}\nstatistic = '{statistic}'\nkind = '{kind}'")
    at = case(it, 1, 1)
    steps = [None] * 20 if distances is None else list(accumulate(distances))
    figures = []
    for factors in (stalls, {}):
        speeds = [100 * factors.get(n, 1.0) for n in range(20)]
        values = speeds if kind == "throughput" else [1 / speed for speed in speeds]
        parser = LogParser(it, at)
        parser.feed(log_of([(step, v, None) for step, v in zip(steps, values, strict=True)]))
        parser.finish()
        found = measure_run(it, at, parser)
        assert found.throughput is not None
        figures.append(found.throughput)
        if factors:
            assert found.steady is not None
            (told,) = found.steady
    assert told.shape is Shape.STALLS
    assert told.cost == pytest.approx(max(0.0, 1 - figures[0] / figures[1]), abs=1e-9)
    if statistic == "elapsed" and distances is None:
        assert told.cost > sum(1 - factor for factor in stalls.values()) / 20 - 1e-9


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_speeds_are_halved_the_same_in_any_batching(sizes: list[int]) -> None:
    total = sum(sizes)
    values = array("d", (100 + (7 * n) % 13 for n in range(total)))
    steps = array("d", (20 * n for n in range(total)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded, "MOST", 16)
        whole, batched = Speeds(durations=False), Speeds(durations=False)
        whole.add(Part(values, steps, array("d")))
        at = 0
        for size in sizes:
            batched.add(Part(values[at : at + size], steps[at : at + size], array("d")))
            at += size
    width = whole._width
    for of in (whole, batched):
        of.add(Part(array("d", [1.0]) * width, array("d", [0.0]) * width, array("d")))
    assert (whole._width, whole._values) == (batched._width, batched._values)
    assert whole._steps == batched._steps
    assert total // width <= 16
    assert list(whole._steps[: total // width]) == list(steps[: total // width * width : width])


def test_a_slow_down_among_very_many_readings_is_found_where_it_is() -> None:
    values = array(
        "d", [100.0 + n % 3 for n in range(90_000)] + [80.0 + n % 3 for n in range(60_000)]
    )
    tally = Speeds(durations=False)
    tally.add(Part(values, array("d", range(150_000)), array("d")))
    found = tally.disturbances(5, lambda part: statistics.fmean(part.values))
    assert found is not None
    [step] = found
    assert step.shape is Shape.STEP
    assert abs(step.reading - 90_005) < 1000
    assert step.step == step.reading - 5
    assert step.size == pytest.approx(-0.198, abs=0.002)


@given(st.lists(st.lists(NUMBERS, max_size=8), max_size=8))
@example([[1e308, 1e308], [-1e308]])
@example([[1e16, 1.0], [1.0, -1e16]])
def test_a_sum_in_parts_is_rounded_once(parts: list[list[float]]) -> None:
    total = ExactSum()
    for part in parts:
        total.add(part)
    try:
        expected = math.fsum(value for part in parts for value in part)
    except OverflowError:
        expected = math.inf
    assert total.endless or total.value == expected


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_sum_with_what_is_no_number_has_no_end_and_ends(odd: float) -> None:
    total = ExactSum()
    total.add([1.0, odd])
    total.add([2.0])
    assert total.endless


@pytest.mark.timeout(20)
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("kind", ["throughput", "step_time"])
def test_a_step_without_end_and_a_reading_of_nothing_come_to_an_end(
    statistic: str, kind: str
) -> None:
    it = profile(
        f"reading = 'iter (?P<step>\\S+), speed (?P<value>\\S+)'\n"
        f"statistic = '{statistic}'\nkind = '{kind}'"
    )
    parser = LogParser(it, case(it))
    parser.feed(b"iter 1, speed 1.0\niter inf, speed 0.0\niter inf, speed 1.0\n")
    assert measure_run(it, case(it), parser).readings == 3


@pytest.mark.parametrize("many", [0, 1 << 16])
@given(st.lists(FINITE, min_size=1))
def test_values_are_sorted_in_place_few_or_many(many: int, values: list[float]) -> None:
    few, exact._MANY = exact._MANY, many
    try:
        ordered = array("d", values)
        sort(ordered)
        assert list(ordered) == sorted(values)
        assert median(array("d", values)) == statistics.median(values)
    finally:
        exact._MANY = few


@pytest.mark.parametrize("statistic", ["mean", "harmonic_mean", "last"])
def test_memory_does_not_grow_with_the_log(monkeypatch: pytest.MonkeyPatch, statistic: str) -> None:
    """What is kept of a log for its failures, and of its speeds, comes to its end."""
    monkeypatch.setattr(bounded, "MOST", 256)
    it = profile(
        r"reading = 'iter (?P<step>\d+), speed (?P<value>\S+)'"
        f"\nwindow = {{ skip = 1 }}\nstatistic = '{statistic}'"
    )
    at = case(it)

    def parse(blocks: int) -> int:
        parser = LogParser(it, at, keep=False)
        parser._failures = FailureScanner((), head=1000, tail=1000)
        tally = Tally(parser.rule)
        tracemalloc.start()
        for block in range(blocks):
            lines = (f"iter {block * 2000 + n}, speed {100 + n % 7}.25\n" for n in range(2000))
            tally.take(parser.feed("".join(lines).encode()))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert tally.count == 2000 * blocks
        return peak

    parse(12)  # imports what a dense log needs
    assert parse(12) < 1.1 * parse(4)


@pytest.mark.parametrize("statistic", ["median", "trimmed_mean", "elapsed"])
def test_order_statistics_keep_eight_bytes_of_a_reading(statistic: str) -> None:
    it = profile(
        f"reading = 'iter (?P<step>\\d+), speed (?P<value>\\S+)'\nstatistic = '{statistic}'"
    )
    parser = LogParser(it, case(it), keep=False)
    tally = Tally(parser.rule)
    for first in (1, 1001):
        lines = (f"iter {n}, speed 2.5\n" for n in range(first, first + 1000))
        tally.take(parser.feed("".join(lines).encode()))
    assert tally.value == 2.5
    kept = [value for value in vars(tally._kept).values() if isinstance(value, array)]
    assert 1999 <= sum(map(len, kept)) <= 2000
