"""What was not steady about a run: which shape, where, how large, and what it costs."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.throughput.measure_log_file import measure_file
from profiles.throughput.steady import Disturbance, Shape, disturbances
from tests.unit.profiles.builders import measure, profile


def noise(n: int = 40, scatter: float = 0.005, seed: int = 1) -> list[float]:
    """Readings around 100."""
    numbers = random.Random(seed)
    return [100 * (1 + scatter * numbers.gauss(0, 1)) for _ in range(n)]


def calm(n: int = 40) -> list[float]:
    """Readings that scatter by 0.1%, evenly."""
    return [100 + 0.1 * (-1) ** i for i in range(n)]


def shaped(factors: Sequence[float], values: Sequence[float] | None = None) -> list[float]:
    return [f * v for f, v in zip(factors, values or noise(len(factors)), strict=True)]


def only(values: Sequence[float], **more: object) -> Disturbance:
    found = disturbances(values, **more)  # type: ignore[arg-type]
    assert found is not None
    assert len(found) == 1, found
    return found[0]


def test_steady_readings_have_nothing_to_tell():
    assert disturbances(noise()) == ()
    assert disturbances([100.0] * 40) == ()


def test_throttling_is_a_step_with_its_size_and_place():
    found = only(shaped([1.0] * 25 + [0.85] * 15), steps=[20.0 * i for i in range(40)], first=3)
    assert (found.shape, found.reading, found.step, found.count) == (Shape.STEP, 28, 500.0, 15)
    assert found.size == pytest.approx(-0.15, abs=0.01)
    assert found.cost == pytest.approx((25 + 15 * 0.85) / 40 / 0.85 - 1, abs=0.01)


def test_a_slow_down_that_goes_on_is_a_trend():
    found = only(shaped([1 - 0.06 * i / 39 for i in range(40)]))
    assert (found.shape, found.reading) == (Shape.TREND, 0)
    assert found.size == pytest.approx(-0.06, abs=0.01)


@pytest.mark.parametrize("tau", [2, 5, 10])
def test_warm_up_is_told_with_where_it_settles(tau: int):
    found = only(shaped([1 - 0.25 * math.exp(-i / tau) for i in range(1, 41)]))
    assert found.shape is Shape.WARM_UP
    assert found.size == pytest.approx(-0.25 * math.exp(-1 / tau), abs=0.06)
    # Where a hundredth is left: 25% · exp(−i/τ) = 1%.
    assert found.reading == pytest.approx(tau * math.log(25), abs=max(4, tau))
    assert found.cost == pytest.approx(0.25 / 40 / (math.exp(1 / tau) - 1), rel=0.35)


def test_a_slow_first_quarter_is_warm_up_too():
    found = only(shaped([0.9] * 8 + [1.0] * 32))
    assert (found.shape, found.reading, found.count) == (Shape.WARM_UP, 8, 8)
    assert only(shaped([0.9] * 10 + [1.0] * 30)).shape is Shape.WARM_UP
    later = only(shaped([0.9] * 11 + [1.0] * 29))
    assert (later.shape, later.reading) == (Shape.STEP, 11)
    assert later.size == pytest.approx(0.11, abs=0.01)


def test_first_readings_that_hardly_move_are_warm_up():
    found = only(shaped([0.1, 0.6] + [1.0] * 38))
    assert (found.shape, found.reading, found.count) == (Shape.WARM_UP, 2, 2)
    assert found.size == pytest.approx(-0.9, abs=0.01)
    assert found.cost == pytest.approx(1.3 / 40, abs=0.002)


@pytest.mark.parametrize("slow", range(2, 8))
def test_a_warm_up_ends_where_a_reading_is_like_the_others(slow: int):
    """However much these scatter, so that not all before it are deep enough for a stall."""
    factors = [0.4, *([0.6, 0.55] * 4)][:slow] + [1.0, 1.25, 0.8] * 8
    found = disturbances(factors)
    assert found is not None
    assert [(one.shape, one.reading) for one in found] == [(Shape.WARM_UP, slow)]
    assert disturbances(factors[slow:]) == ()


def test_a_stall_is_told_with_its_cost():
    found = only(shaped([1.0] * 17 + [0.4] + [1.0] * 22))
    assert (found.shape, found.reading, found.count, found.every) == (Shape.STALLS, 17, 1, None)
    assert found.size == pytest.approx(-0.6, abs=0.01)
    assert found.cost == pytest.approx(0.6 / 40, abs=0.001)


def test_regular_stalls_are_told_with_their_period():
    found = only(shaped([0.8 if i % 9 == 8 else 1.0 for i in range(40)]))
    assert (found.shape, found.count, found.every, found.reading) == (Shape.STALLS, 4, 9, 8)
    irregular = only(shaped([0.8 if i in (3, 9, 30, 35) else 1.0 for i in range(40)]))
    assert (irregular.count, irregular.every) == (4, None)


@pytest.mark.parametrize(
    ("stalls", "every"), [((5, 15), None), ((5, 14, 25), 10), ((5, 14, 26), None)]
)
def test_stalls_are_regular_from_three_on_that_come_two_readings_early_or_late(
    stalls: tuple[int, ...], every: int | None
):
    assert only(shaped([0.8 if i in stalls else 1.0 for i in range(40)])).every == every


@pytest.mark.parametrize(("last", "shape"), [(2, Shape.STALLS), (3, Shape.STEP)])
def test_what_stays_low_for_three_readings_to_the_end_is_a_level(last: int, shape: Shape):
    assert only(shaped([1.0] * (40 - last) + [0.8] * last)).shape is shape


def test_stalls_and_a_step_are_told_apart():
    factors = [1.0] * 20 + [0.9] * 20
    factors[5] = factors[12] = 0.3
    found = disturbances(shaped(factors))
    assert found is not None
    step, stalls = found
    assert (step.shape, step.reading, stalls.count) == (Shape.STEP, 20, 2)


def test_deep_stalls_are_found_however_much_the_rest_scatters():
    """Six deviations of readings that swing by 10% are more than all there is."""
    values = [0.35 if i % 9 == 8 else 1 + 0.1 * (-1) ** i for i in range(36)]
    found = disturbances(values)
    assert found is not None
    assert [(d.shape, d.count, d.every) for d in found] == [(Shape.STALLS, 4, 9)]


@pytest.mark.parametrize(("depth", "said"), [(0.48, False), (0.52, True)])
def test_half_of_the_speed_is_a_stall_in_any_case(depth: float, said: bool):
    values = [1 - depth if i % 9 == 8 else 1 + 0.1 * (-1) ** i for i in range(36)]
    found = disturbances([*values, *[1.1] * 4, 1.0])  # so that the median is 1
    assert found is not None
    assert (Shape.STALLS in {d.shape for d in found}) is said


@pytest.mark.parametrize("n", [0, 1, 9])
def test_nothing_is_said_of_too_few_readings(n: int):
    assert disturbances(shaped([0.5] * (n // 2) + [1.0] * (n - n // 2))) is None


def test_ten_readings_are_enough():
    assert only(shaped([1.0] * 5 + [0.8] * 5)).shape is Shape.STEP


@pytest.mark.parametrize(("depth", "said"), [(0.048, False), (0.052, True)], ids=["4.8%", "5.2%"])
def test_stalls_are_five_percent_deep(depth: float, said: bool):
    assert bool(disturbances(shaped([1.0] * 20 + [1 - depth] + [1.0] * 19, calm()))) is said


@pytest.mark.parametrize(("deviations", "said"), [(5.8, False), (6.2, True)])
def test_stalls_are_six_deviations_deep(deviations: float, said: bool):
    """Of readings that scatter by 2% up and down, a robust deviation is 1.4826 · 2%."""
    values = [1.0, *([1.02, 0.98] * 20)]
    values[21] = 1 - deviations * 1.4826 * 0.02
    assert bool(disturbances([*values, 1.02, 1.02])) is said, "the median is 1"


@pytest.mark.parametrize(("size", "said"), [(0.009, False), (0.011, True)])
def test_changes_of_less_than_one_percent_are_not_worth_a_word(size: float, said: bool):
    assert bool(disturbances(shaped([1.0] * 20 + [1 - size] * 20, calm()))) is said


@pytest.mark.parametrize(("n", "said"), [(55, True), (65, False)])
def test_what_costs_less_than_a_thousandth_is_not_worth_a_word(n: int, said: bool):
    """One reading 6% low costs 0.1% of sixty."""
    values = shaped([1.0] * (n - 10) + [0.94] + [1.0] * 9, calm(n))
    assert bool(disturbances(values)) is said


def standard_errors(values: Sequence[float], correlated: float = 0.0) -> float:
    """Of the step in the middle, on the three degrees of freedom that a shape takes."""
    readings = np.array(values)
    half = len(readings) // 2
    left = np.concatenate([part - part.mean() for part in (readings[:half], readings[half:])])
    noise = (left @ left) / (len(readings) - 3) * (1 + correlated) / (1 - correlated)
    explained = ((readings - readings.mean()) ** 2).sum() - left @ left
    return float(np.sqrt(explained / noise))


def smallest_step(calm: Sequence[float]) -> list[float]:
    """``calm``, slower from the middle on by as little as is said."""

    def slower(by: float) -> list[float]:
        half = len(calm) // 2
        return [value - by * (i >= half) for i, value in enumerate(calm)]

    low, high = 0.0, 0.3
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if disturbances(slower(middle)) else (middle, high)
    (found,) = disturbances(slower(high)) or ()
    assert (found.shape, found.reading) == (Shape.STEP, len(calm) // 2)
    assert abs(found.size) > 0.02, "it is not for its size that nothing smaller is said"
    return slower(high)


@pytest.mark.parametrize("n", [16, 20, 40])
def test_a_change_of_level_has_four_and_a_half_standard_errors(n: int):
    alternating = [1 - 0.02 * (-1) ** i for i in range(n)]
    assert standard_errors(smallest_step(alternating)) == pytest.approx(4.5, rel=0.005)


def test_readings_that_take_after_each_other_count_for_a_nineteenth_at_least():
    """A swing whose readings are correlated by 0.99; more than 0.9 is not believed."""
    swinging = [1 - 0.02 * math.sin(2 * math.pi * i / 50) for i in range(200)]
    step = smallest_step(swinging)
    assert standard_errors(step, correlated=0.9) == pytest.approx(4.5, rel=0.02)


def test_chance_is_not_accused_and_a_small_step_in_noise_is_found():
    accused = [bool(disturbances(noise(20, 0.02, seed))) for seed in range(300)]
    assert sum(accused) <= 9
    small = [1.0] * 10 + [0.965] * 10
    found = [bool(disturbances(shaped(small, noise(20, 0.01, seed)))) for seed in range(100)]
    assert sum(found) >= 90


def test_swings_are_not_taken_for_changes():
    """Neighbours that take after each other look like a level, and are worth fewer readings."""

    def swinging(seed: int) -> list[float]:
        numbers, values, last = random.Random(seed), [], 0.0
        for _ in range(40):
            last = 0.7 * last + numbers.gauss(0, 0.01)
            values.append(100 * (1 + last))
        return values

    assert sum(bool(disturbances(swinging(seed))) for seed in range(200)) <= 30


def test_many_readings_are_judged_as_few():
    factors = [1.0] * 30_000 + [0.97] * 10_000
    found = only(shaped(factors, noise(40_000, 0.02)))
    assert found.shape is Shape.STEP
    assert found.reading == pytest.approx(30_000, abs=200)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=40))
def test_any_readings_give_an_answer_that_json_holds(values: list[float]):
    for found in disturbances(values) or ():
        assert found.cost >= 0
        again = Disturbance.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False)))
        assert again == found


@given(st.lists(st.floats(1e-3, 1e6), min_size=10, max_size=40), st.floats(1e-3, 1e3))
def test_unit_does_not_matter(values: list[float], factor: float):
    def shapes(readings: Sequence[float]) -> list[Shape]:
        return [found.shape for found in disturbances(readings) or ()]

    found = disturbances(values)
    assert found is not None
    if all(abs(abs(d.size) - 0.01) > 1e-6 and abs(d.cost - 0.001) > 1e-6 for d in found):
        doubled = [4 * value for value in values]  # exactly, in binary
        assert shapes(doubled) == shapes(values)


def test_only_the_window_is_looked_at_and_step_times_are_speeds(tmp_path: Path):
    profile = Catalog.load().get("mmseg-hrnet")  # seconds per step, skip 5
    (case,) = expand(profile, ["1n1g"], {})
    times = [9.0, 5.0, 4.0, 3.0, 2.0, *([1.0] * 15), *([1.25] * 15)]
    lines = [
        f"2022-09-29 08:00:00,000 - mmseg - INFO - Iter [{10 * i}/400]\tlr: 9.9e-03, "
        f"eta: 0:10:00, time: {seconds:.3f}, data_time: 0.010, memory: 100, loss: 1.0"
        for i, seconds in enumerate(times, start=1)
    ]
    log = tmp_path / "log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    measured, parser = measure_file(profile, log, case)
    assert measured.used == 30, parser.readings
    assert measured.steady is not None
    (found,) = measured.steady
    assert (found.shape, found.reading) == (Shape.STEP, 20)
    assert found.size == pytest.approx(-0.2)


CURVE = r"""
reading = 'bytes (?P<step>\d+): (?P<value>[\d.]+) GB/s'
kind = "bandwidth"
window = { skip = 0 }
statistic = "STATISTIC"
"""


@pytest.mark.parametrize("statistic", ["mean", "median", "last", "elapsed"])
@given(
    sizes=st.lists(st.integers(1, 2**40), min_size=10, max_size=40, unique=True).map(sorted),
    values=st.data(),
)
def test_a_curve_over_sizes_does_not_drift(
    statistic: str, sizes: list[int], values: st.DataObject
) -> None:
    assume(any(after - before > 1 for before, after in pairwise(sizes)))
    speeds = sorted(values.draw(st.floats(0.01, 900)) for _size in sizes)
    log = "".join(f"bytes {n}: {v:.3f} GB/s\n" for n, v in zip(sizes, speeds, strict=True))
    assert measure(profile(CURVE.replace("STATISTIC", statistic)), log).steady is None


def test_trials_of_one_size_that_drift_are_told() -> None:
    log = "".join(f"bytes {trial}: {400 - trial} GB/s\n" for trial in range(1, 41))
    steady = measure(profile(CURVE.replace("STATISTIC", "median")), log).steady
    assert [found.shape for found in steady or ()] == [Shape.TREND]
