"""Intervals of ratios: scipy's, DLPerf's own listing, and what must hold whatever the figures."""

from __future__ import annotations

import csv
import io
import json
import math
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from backends.results import student
from backends.results.layouts.cells import change_ends, range_cell, ratio_decimals
from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.speedup import speedup_tables
from backends.results.ratios import (
    Method,
    RatioInterval,
    median_ratio_interval,
    ratio_interval,
    welch,
)
from backends.results.render import markdown_rows
from backends.results.result_files import results_csv
from backends.results.results_json import document
from backends.results.summary import summarise

PADDLE = {
    "1n1g": [353.77, 354.28, 352.5, 350.54, 350.77, 351.55],
    "1n2g": [654.9, 631.3, 638.81, 625.95, 639.43, 611.51],
    "4n8g": [9243.73, 9329.65, 9337.39, 9333.09, 9332.23, 9295.01],
}
"""The repeats that DLPerf's Paddle report lists."""

throughputs = st.floats(min_value=1e-3, max_value=1e7)


def samples(fewest: int, most: int = 12) -> st.SearchStrategy[list[float]]:
    return st.lists(throughputs, min_size=fewest, max_size=most)


def noisy(seed: int, n: int, center: float, cv: float) -> list[float]:
    numbers = random.Random(seed)
    return [numbers.gauss(center, cv * center) for _ in range(n)]


def ends(interval: RatioInterval | None) -> tuple[float, float]:
    assert interval is not None
    return interval.low, interval.high


@pytest.mark.parametrize("df", [1, 1.5, 2, 2.3, 4, 7.7, 12, 30, 200, 1e5])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_quantiles_of_t_are_those_of_scipy(df: float, confidence: float):
    expected = stats.t.ppf((1 + confidence) / 2, df)
    assert student.quantile(confidence, df) == pytest.approx(expected, rel=1e-8)


@given(st.floats(0, 60), st.floats(1, 1e4))
def test_tails_of_t_are_those_of_scipy(t: float, df: float):
    expected = 2 * stats.t.sf(t, df)
    assert student.two_sided_p(t, df) == pytest.approx(expected, rel=1e-6, abs=1e-300)
    assert student.two_sided_p(-t, df) == student.two_sided_p(t, df)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (3, 7), (5, 4), (10, 10), (6, 30)])
def test_welch_is_that_of_scipy_on_logarithms(n: int, m: int):
    base, values = noisy(n, n, 100, 0.01), noisy(m + 50, m, 780, 0.03)
    ours = welch(base, values)
    theirs = stats.ttest_ind(np.log(values), np.log(base), equal_var=False)
    interval = theirs.confidence_interval(0.95)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-8)
    assert ours.df == pytest.approx(theirs.df)
    assert ours.ratio == pytest.approx(stats.gmean(values) / stats.gmean(base))
    assert ends(ours.interval()) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    narrow = theirs.confidence_interval(0.5)
    assert ends(ours.interval(0.5)) == pytest.approx((math.exp(narrow.low), math.exp(narrow.high)))


@pytest.mark.parametrize(("n", "m"), [(6, 6), (7, 7), (6, 9), (8, 11)])
def test_bootstrap_is_that_of_scipy_with_many_resamples(n: int, m: int):
    base, values = noisy(n, n, 100, 0.01), noisy(m + 50, m, 780, 0.01)

    def ratio(a, b, axis):
        return np.median(b, axis=axis) / np.median(a, axis=axis)

    theirs = stats.bootstrap(
        (base, values), ratio, n_resamples=40_000, method="percentile", vectorized=True, rng=1
    ).confidence_interval
    ours = median_ratio_interval(base, values)
    assert ends(ours) == pytest.approx((theirs.low, theirs.high), rel=3e-4)
    assert ours.method is Method.BOOTSTRAP


def test_intervals_of_the_paddle_listing():
    small = ratio_interval(PADDLE["1n1g"], PADDLE["1n2g"])
    large = ratio_interval(PADDLE["1n1g"], PADDLE["4n8g"])
    assert [round(end, 2) for end in ends(small)] == [1.76, 1.84]
    assert [round(end, 2) for end in ends(large)] == [26.29, 26.61]


@pytest.mark.parametrize(
    ("n", "m", "method"),
    [
        (2, 9, None),
        (9, 2, None),
        (3, 9, Method.WELCH),
        (5, 5, Method.WELCH),
        (9, 5, Method.WELCH),
        (6, 6, Method.BOOTSTRAP),
        (1000, 6, Method.BOOTSTRAP),
        (6, 1001, Method.WELCH),
    ],
)
def test_method_goes_by_the_fewest_repeats(n: int, m: int, method: Method | None):
    interval = ratio_interval(noisy(1, n, 100, 0.01), noisy(2, m, 200, 0.01))
    assert (interval.method if interval else None) is method
    assert interval is None or interval.low < 2 < interval.high


def test_ratio_of_means_has_the_interval_of_means():
    base, values = noisy(1, 9, 100, 0.01), noisy(2, 9, 200, 0.01)
    assert ratio_interval(base, values, "mean") == welch(base, values).interval()


@given(samples(6), samples(6))
def test_bootstrap_holds_the_ratio_that_it_is_of(base: list[float], values: list[float]):
    low, high = ends(median_ratio_interval(base, values))
    ratio = float(np.median(values) / np.median(base))
    assert low <= ratio * (1 + 1e-9)
    assert ratio <= high * (1 + 1e-9)


REPEATS = st.one_of(
    samples(3), st.builds(lambda value, n: [value] * n, throughputs, st.integers(3, 9))
)


@pytest.mark.parametrize("center", ["median", "mean"])
@given(REPEATS, REPEATS, st.integers(1, 9), st.integers(1, 16))
@example([7.0] * 3, [56.0] * 3, 1, 8)
@example([1.0] * 5, [1.0] * 8 + [2.0] * 7, 1, 8)  # Welch's own interval begins at 1.14
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_an_interval_holds_the_figure_that_stands_beside_it(
    runs_of, center: str, base: list[float], values: list[float], nodes: int, gpus: int
):
    runs = runs_of("1n1g", base) + runs_of(f"{nodes + 1}n{gpus}g", values)
    groups = summarise(runs, center)
    told = document("c", runs, groups)["results"][-1]
    row = list(csv.DictReader(io.StringIO(results_csv(groups))))[-1]
    for name in ("speedup", "efficiency"):
        low, high = told[f"{name}_interval"]
        assert low <= told[name] <= high
        assert [float(row[f"{name}{end}"]) for end in ("", "_low", "_high")] == [
            *(told[name], low, high)
        ]


@given(samples(3), samples(3))
def test_inverse_ratio_has_the_inverse_interval(base: list[float], values: list[float]):
    there, back = welch(base, values), welch(values, base)
    low, high = ends(there.interval())
    assert ends(back.interval()) == pytest.approx((1 / high, 1 / low), rel=1e-6)
    assert low * (1 - 1e-9) <= there.ratio <= high * (1 + 1e-9)


@given(samples(3), samples(3), st.floats(1e-3, 1e3))
def test_unit_of_the_throughput_does_not_matter(
    base: list[float], values: list[float], factor: float
):
    plain = ratio_interval(base, values)
    scaled = ratio_interval([b * factor for b in base], [v * factor for v in values])
    assert ends(scaled) == pytest.approx(ends(plain), rel=1e-6)


def test_repeats_that_do_not_scatter_have_an_interval_of_one_point():
    interval = ratio_interval([100.0] * 3, [97.0] * 3)
    assert ends(interval) == pytest.approx((0.97, 0.97))
    same = welch([100.0] * 3, [100.0] * 3)
    assert (same.p, ends(same.interval())) == (1.0, (1.0, 1.0))
    assert welch([100.0] * 3, [97.0] * 3).p == 0.0


def test_speedup_and_efficiency_have_intervals_in_every_document(runs_of):
    runs = [run for tag in PADDLE for run in runs_of(tag, PADDLE[tag])]
    groups = summarise(runs)
    results = {r["case"]: r for r in document("c", runs, groups)["results"]}
    large = results["4n8g"]
    assert [round(end, 2) for end in large["speedup_interval"]] == [26.29, 26.61]
    assert large["efficiency_interval"] == [end / 32 for end in large["speedup_interval"]]
    assert large["ratio_method"] == "bootstrap"
    base = results["1n1g"]
    assert base["speedup_interval"] is base["efficiency_interval"] is base["ratio_method"] is None
    first, *_, row = csv.DictReader(io.StringIO(results_csv(groups)))
    assert [float(row["speedup_low"]), float(row["speedup_high"])] == large["speedup_interval"]
    assert float(row["efficiency_high"]) == large["efficiency_interval"][1]
    assert row["ratio_method"] == "bootstrap"
    assert first["speedup_low"] == ""
    json.dumps(results, allow_nan=False)


def test_table_shows_the_intervals_where_there_are_any(runs_of):
    runs = [run for tag in PADDLE for run in runs_of(tag, PADDLE[tag])]
    (table,) = speedup_tables(summarise(runs))
    assert "| 26.51 | 26.29 … 26.61 | 82.8% | 82.2% … 83.1% |" in markdown_rows(table)[-1]
    assert not any(note.startswith("w:") for note in table.notes)
    few = [run for tag in PADDLE for run in runs_of(tag, PADDLE[tag][:2])]
    (table,) = speedup_tables(summarise(few))
    assert "95% of speedup" not in table.headings
    (table,) = speedup_tables(summarise(runs), LayoutOptions(style="oneflow"))
    assert len(table.headings) == 6


@pytest.mark.parametrize(
    ("lang", "words"), [("en", ("medians", "means")), ("zh", ("中位数", "平均值"))]
)
@given(n=st.integers(3, 7), center=st.sampled_from(["median", "mean"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_welch_is_named_in_the_table_beside_the_ratio_that_the_speedup_is(
    runs_of, lang: str, words: tuple[str, str], n: int, center: str
):
    runs = [run for tag in PADDLE for run in runs_of(tag, PADDLE[tag][:n])]
    (table,) = speedup_tables(summarise(runs, center), LayoutOptions(lang=lang))
    marked = any(cell.endswith(" w") for row in table.rows for cell in row)
    notes = [note for note in table.notes if "Welch" in note]
    assert len(notes) == marked == (n < 6 or center == "mean")
    own, other = words if center == "median" else words[::-1]
    for note in notes:
        of = note.replace("几何平均值", "").replace("geometric means", "")
        assert own in of
        assert other not in of


def test_interval_of_a_speedup_takes_three_repeats_of_the_base_too(runs_of):
    runs = runs_of("1n1g", [100, 101]) + runs_of("1n2g", [190, 191, 192, 193])
    (group,) = summarise(runs)
    assert [case.speedup_interval for case in group.cases] == [None, None]
    (group,) = summarise(runs_of("1n1g", [100, 101, 102, None]) + runs[2:])
    assert group.cases[1].speedup_interval is not None


def test_failed_repeats_do_not_enter_an_interval(runs_of):
    with_failure = [*PADDLE["1n2g"][:3], None, *PADDLE["1n2g"][3:]]
    runs = runs_of("1n1g", PADDLE["1n1g"]) + runs_of("1n2g", with_failure)
    (group,) = summarise(runs)
    expected = ratio_interval(PADDLE["1n1g"], PADDLE["1n2g"])
    assert group.cases[1].speedup_interval == expected


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1.76, 1.84, "1.76 … 1.84 w"),
        (3.8591, 3.8811, "3.859 … 3.881 w"),
        (26.01, 26.99, "26.01 … 26.99 w"),
        (1.98011, 1.98089, "1.980 … 1.981 w"),
        (1.0, 1.0, "1.00 … 1.00 w"),
    ],
)
def test_an_interval_has_the_decimals_that_it_takes_to_read_it(
    low: float, high: float, shown: str
) -> None:
    interval = RatioInterval(low, high, Method.WELCH)
    assert range_cell(interval, ratio_decimals(interval)) == shown


@given(st.floats(0.5, 2), st.floats(0, 0.5), st.integers(2, 4), st.sampled_from(Method))
@example(0.995, 0.00491, 3, Method.WELCH)
@example(1.00004, 0.1, 2, Method.BOOTSTRAP)
def test_no_end_of_an_interval_that_excludes_1_is_told_as_1(
    low: float, width: float, decimals: int, method: Method
) -> None:
    interval = RatioInterval(low, low + width, method)
    told = [float(end.removesuffix(" w")) for end in range_cell(interval, decimals).split(" … ")]
    changes = [float(end.removesuffix("%")) for end in change_ends(interval)]
    for end, as_ratio, change in zip((low, low + width), told, changes, strict=True):
        if abs(end - 1) > 1e-8:
            assert (end < 1, end > 1) == (as_ratio < 1, as_ratio > 1) == (change < 0, change > 0)
        assert as_ratio == pytest.approx(end, abs=0.51 * 10**-decimals)
