"""Two campaigns: a regression is one that the repeats can carry."""

from __future__ import annotations

import pytest

from backends.results.compare import compare, comparison_document, comparison_table
from backends.results.render import render_markdown
from profiles.errors import SelectionError


def verdicts(comparison):
    return {case.case: str(case.verdict) for case in comparison.cases}


def test_difference_beyond_the_threshold_is_a_regression_or_an_improvement(runs_of):
    before = runs_of("1n1g", [100]) + runs_of("1n2g", [200]) + runs_of("1n4g", [400])
    after = runs_of("1n1g", [97]) + runs_of("1n2g", [210]) + runs_of("1n4g", [393])
    comparison = compare(before, after, 0.02)
    assert verdicts(comparison) == {"1n1g": "regression", "1n2g": "improvement", "1n4g": "same"}
    assert [case.case for case in comparison.regressions] == ["1n1g"]
    assert "too few repeats for an interval" in comparison.cases[0].reason


def test_exactly_the_threshold_is_still_the_same(runs_of):
    comparison = compare(runs_of("1n1g", [100]), runs_of("1n1g", [98]), 0.02)
    assert verdicts(comparison) == {"1n1g": "same"}


def test_six_noisy_repeats_that_overlap_carry_no_regression(runs_of):
    noisy = runs_of("1n1g", [90, 94, 100, 101, 105, 110])
    slower = runs_of("1n1g", [88, 90, 95, 96, 99, 104])
    assert verdicts(compare(noisy, slower)) == {"1n1g": "same"}
    steady = runs_of("1n1g", [100, 100.1, 100.2, 99.9, 99.8, 100])
    steadily_slower = runs_of("1n1g", [96, 96.1, 96.2, 95.9, 95.8, 96])
    assert verdicts(compare(steady, steadily_slower)) == {"1n1g": "regression"}


def test_missing_cases_are_named(runs_of):
    before = runs_of("1n1g", [100]) + runs_of("1n2g", [200]) + runs_of("1n8g", [None])
    after = runs_of("1n1g", [100]) + runs_of("1n4g", [400]) + runs_of("1n8g", [800])
    comparison = compare(before, after)
    reasons = {case.case: case.reason for case in comparison.cases}
    assert reasons["1n2g"] == "not in the candidate"
    assert reasons["1n4g"] == "not in the baseline"
    assert reasons["1n8g"] == "no successful run in the baseline"
    assert {str(c.verdict) for c in comparison.cases} == {"same", "insufficient"}


def test_case_that_no_longer_succeeds_is_a_regression(runs_of):
    comparison = compare(runs_of("1n1g", [100]), runs_of("1n1g", [None]))
    assert verdicts(comparison) == {"1n1g": "regression"}


def test_different_units_are_refused(runs_of):
    with pytest.raises(SelectionError, match="baseline is in samples/s, candidate in images/s"):
        compare(runs_of("1n1g", [100]), runs_of("1n1g", [100], unit="images/s"))


def test_nothing_in_common_is_refused(runs_of):
    with pytest.raises(SelectionError, match="no case in common"):
        compare(runs_of("1n1g", [100]), runs_of("1n2g", [100]))
    with pytest.raises(SelectionError, match="no case in common"):
        compare([], [])


def test_threshold_out_of_range_is_refused(runs_of):
    with pytest.raises(SelectionError, match="threshold 2 is out of range"):
        compare(runs_of("1n1g", [100]), runs_of("1n1g", [100]), 2)


def test_comparison_prints_as_table_and_document(runs_of):
    comparison = compare(runs_of("1n1g", [100, 102]), runs_of("1n1g", [90]))
    text = render_markdown([comparison_table(comparison)])
    assert "| cpu-smoke | 1n1g | batch_size=64, precision=fp32 | 101 | 2 | 90 | 1 | 0.891 |" in text
    assert "退化" in render_markdown([comparison_table(comparison, "zh")])
    document = comparison_document(comparison)
    assert document["regressions"] == 1
    assert document["cases"][0]["verdict"] == "regression"
