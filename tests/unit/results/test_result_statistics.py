"""The arithmetic behind the tables, against figures worked out by hand or published."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from backends.results.statistics import (
    coefficient_of_variation,
    dependence,
    describe,
    drift,
    efficiency,
    first_run_slow,
    half_width,
    median_interval,
    outliers,
    speedup,
    students_half_width,
)

throughputs = st.floats(min_value=1e-3, max_value=1e7, allow_nan=False)


def test_coefficient_of_variation_uses_the_sample_standard_deviation():
    assert coefficient_of_variation([99.0, 101.0]) == pytest.approx(math.sqrt(2) / 100)
    assert coefficient_of_variation([100.0]) is None


@pytest.mark.parametrize("n", range(1, 6))
def test_fewer_than_six_repeats_give_no_interval(n: int):
    assert median_interval([float(i) for i in range(1, n + 1)]) is None


@pytest.mark.parametrize(
    ("n", "low", "high", "coverage"),
    # Conover, table of exact confidence intervals for the median.
    [
        (6, 1, 6, 0.9688),
        (8, 1, 8, 0.9922),
        (9, 2, 8, 0.9609),
        (10, 2, 9, 0.9785),
        (20, 6, 15, 0.9586),
    ],
)
def test_interval_of_the_median_takes_the_published_order_statistics(n, low, high, coverage):
    values = [float(i) for i in range(1, n + 1)]
    random.Random(n).shuffle(values)
    interval = median_interval(values)
    assert interval is not None
    assert (interval.low, interval.high) == (low, high)
    assert interval.coverage == pytest.approx(coverage, abs=5e-5)


def test_interval_is_not_afraid_of_many_repeats():
    interval = median_interval([float(i) for i in range(3000)])
    assert interval is not None
    assert interval.coverage >= 0.95


@given(st.lists(throughputs, min_size=6, max_size=40))
def test_interval_holds_the_median(values: list[float]):
    spread = describe(values)
    assert spread.interval is not None
    assert spread.interval.low <= spread.median <= spread.interval.high


def test_outlier_is_named_by_the_median_absolute_deviation():
    values = [100.0, 101.0, 99.0, 100.5, 120.0]
    # median 100.5, deviations 0.5 0.5 1.5 0 19.5, MAD 0.5: limit 2.59
    assert outliers(values) == (4,)


@pytest.mark.parametrize(("deviations", "named"), [(3.4, False), (3.6, True)])
def test_outlier_is_off_by_three_and_a_half_robust_deviations(deviations: float, named: bool):
    """Whose deviation is 1.4826 times the median absolute one, here 1."""
    values = [99.0, 99.0, 99.0, 100.0, 101.0, 101.0, 100 + deviations * 1.4826]
    assert outliers(values) == ((6,) if named else ())


@pytest.mark.parametrize(("off", "named"), [(2.38, False), (2.48, True)])
def test_outlier_among_equal_values_goes_by_the_mean_deviation(off: float, named: bool):
    """The mean absolute deviation of these eight is (2 + off) / 8: the limit is at 2.43."""
    values = [*[100.0] * 5, 99.0, 101.0, 100 + off]
    assert outliers(values) == ((7,) if named else ())


def test_equal_values_with_a_slip_of_rounding_are_no_crowd_of_outliers():
    # More than half are equal, MAD is 0: the formula alone would name all three others.
    assert outliers([100.0, 100.0, 100.0, 100.0, 99.9, 100.1, 99.9]) == ()
    assert outliers([100.0] * 6 + [90.0]) == (6,)
    assert outliers([100.0, 100.0, 100.0]) == ()


def test_first_run_slow_is_named_when_it_lies_clearly_below_the_rest():
    assert first_run_slow([90.0, 100.0, 100.5, 99.8, 100.2])
    assert not first_run_slow([110.0, 100.0, 100.5, 99.8, 100.2])
    assert not first_run_slow([99.7, 100.0, 100.5, 99.8, 100.2])
    assert not first_run_slow([100.0, 90.0, 100.5, 99.8, 100.2])
    assert not first_run_slow([90.0, 100.0, 100.5, 99.8]), "three others say too little"


def test_first_run_is_not_slow_for_half_a_percent():
    assert not first_run_slow([99.1, 100.0, 100.01, 99.99, 100.02])
    assert first_run_slow([98.9, 100.0, 100.01, 99.99, 100.02])


def test_drift_is_named_with_its_size_and_its_evidence():
    found = drift([100.0, 99.0, 98.0, 97.0, 96.0, 95.0])
    assert found is not None
    assert found.tau == -1
    assert found.p == pytest.approx(2 / 720)
    assert found.change == pytest.approx(-5 / 97.5)


def test_drift_needs_six_repeats_a_clear_order_and_one_percent():
    assert drift([100.0, 99.0, 98.0, 97.0, 96.0]) is None
    assert drift([100.0, 98.0, 99.0, 97.0, 95.0, 96.0]) is None
    assert drift([100.0, 99.9, 99.8, 99.7, 99.6, 99.5]) is None


def test_exact_p_of_the_trend_counts_every_order():
    values = [100.0, 110.0, 120.0, 130.0, 140.0, 150.0]

    def score(order: tuple[float, ...]) -> int:
        return sum((b > a) - (b < a) for a, b in itertools.combinations(order, 2))

    orders = list(itertools.permutations(values))
    found = drift(values)
    assert found is not None
    as_far = sum(abs(score(order)) >= abs(score(tuple(values))) for order in orders)
    assert found.p == pytest.approx(as_far / len(orders))


@pytest.mark.parametrize(("change", "said"), [(0.0095, False), (0.0105, True)])
def test_drift_of_less_than_one_percent_is_not_named(change: float, said: bool):
    assert (drift([100 * (1 + change * (i / 7 - 0.5)) for i in range(8)]) is not None) is said


def rising(n: int, inversions: int) -> list[float]:
    """By 1% from one to the next, but for so many pairs that are the wrong way round."""
    order = list(range(n))
    for _ in range(inversions):
        at = next(i for i in range(n - 1) if order[i] < order[i + 1])
        order[at], order[at + 1] = order[at + 1], order[at]
    return [100.0 + place for place in order]


@pytest.mark.parametrize(
    ("n", "inversions", "said"), [(7, 2, False), (10, 8, True), (13, 18, False), (11, 11, True)]
)
def test_drift_is_named_at_one_percent(n: int, inversions: int, said: bool):
    values = rising(n, inversions)
    exact = stats.kendalltau(range(n), values, method="exact")
    assert 0.009 < exact.pvalue < 0.011
    found = drift(values)
    assert (found is not None) == (exact.pvalue <= 0.01) == said
    assert found is None or (found.p, found.tau) == (
        pytest.approx(exact.pvalue),
        pytest.approx(exact.statistic),
    )


@pytest.mark.parametrize(
    ("values", "exact"),
    [
        (rising(30, 140), True),
        (rising(31, 150), False),
        ([100.0, 100.0, 98.0, 98.0, 96.0, 96.0, 94.0, 94.0], False),
        ([100.0, 100.0, 100.0, 98.0, 97.0, 97.0, 99.0, 96.0, 95.0], False),
    ],
)
def test_p_of_a_trend_is_exact_up_to_thirty_repeats_without_ties(values: list[float], exact: bool):
    """Beyond, it is normal, with one less of the score for its continuity, which scipy has not."""
    found = drift(values)
    assert found is not None
    expected = stats.kendalltau(
        range(len(values)), values, method="exact" if exact else "asymptotic"
    ).pvalue
    if not exact:
        score = abs(sum((b > a) - (b < a) for a, b in itertools.combinations(values, 2)))
        expected = 2 * stats.norm.sf(stats.norm.isf(expected / 2) * (score - 1) / score)
    assert found.p == pytest.approx(expected, rel=1e-6)
    assert abs(found.change) > 0.04


@given(st.lists(throughputs, min_size=2, max_size=30))
def test_dependence_is_that_of_moran_at_one_percent(values: list[float]):
    n, off = len(values), np.array(values) - np.mean(values)
    found = dependence(values)
    if n < 8 or not off.any():
        assert found is None
        return
    r = float((off[1:] * off[:-1]).sum() / (off * off).sum())
    limit = -1 / n + stats.norm.ppf(0.99) * (n - 2) / (n * math.sqrt(n - 1))
    if abs(r - limit) > 1e-3:
        assert found == (pytest.approx(r) if r > limit else None)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_repeats_have_the_width_of_students_interval(n: int):
    values = [100.0, 101.0, 99.5, 102.0, 98.7][:n]
    low, high = stats.t.interval(0.95, n - 1, np.mean(values), stats.sem(values))
    half = (high - low) / 2 / np.mean(values)
    assert students_half_width(values) == pytest.approx(half)
    assert half_width(values) == (pytest.approx(half) if n > 2 else None)
    assert students_half_width(values[:1]) is None


@given(st.lists(throughputs, min_size=1, max_size=30))
def test_every_set_of_throughputs_can_be_described(values: list[float]):
    spread = describe(values)
    assert spread.minimum <= spread.median <= spread.maximum
    assert spread.cv is None or spread.cv >= 0


def test_no_values_are_no_statistics():
    with pytest.raises(ValueError, match="without a successful repeat"):
        describe([])


def test_speedup_without_a_base_is_nothing_and_never_zero():
    assert speedup(100.0, None) is None
    assert speedup(None, 100.0) is None
    assert speedup(300.0, 100.0) == 3
    assert efficiency(None, 8, 1) is None
    assert efficiency(6.0, 8, 1) == 0.75
    assert efficiency(3.0, 8, 2) == 0.75


def test_model_and_statistics_load_neither_pandas_nor_matplotlib():
    script = (
        "import sys, backends.results.run_result, backends.results.statistics\n"
        "import backends.results.result_files\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'pandas', 'matplotlib', 'numpy', 'textual', 'asyncssh'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
