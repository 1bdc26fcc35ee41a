"""Where a grade fell, what it fell by stands beside it; and of environments what differs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.results.comparison import compare
from backends.results.comparison_report import comparison_table
from backends.results.history import history
from backends.results.history_report import history_tables
from backends.results.run_result import RunResult
from tests.unit.results.test_history import campaign, times

Runs = Callable[..., list[RunResult]]
OLD = "Tesla V100-SXM2-16GB, driver 450.80, CUDA 11.0, Debian 12, 6.1; ECC: on; python: torch 2.1"
FELL = {
    "forced": {"forced": True},
    "log changed": {"log_changed": ("cut",)},
}


@pytest.mark.parametrize("word", FELL)
@given(first=st.booleans(), last=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_compare_and_history_say_what_a_grade_fell_by(
    runs_of: Runs, word: str, first: bool, last: bool
) -> None:
    before, now = (
        runs_of("1n1g", times(1.0), fingerprint=OLD, **(FELL[word] if fell else {}))
        for fell in (first, last)
    )
    (row,) = comparison_table(compare(before, now)).rows
    table, *_ = history_tables(history([campaign(0, before), campaign(1, now)]))
    fallen = last and not first
    for why in (row[-1], table.notes[1]):
        assert (f": {word}" in why) == fallen
        assert ("grade B → " in why) == fallen


@given(newer=st.sets(st.sampled_from(["450.80", "11.0", "6.1", "torch 2.1", "V100-SXM2-16GB"])))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_history_shows_of_environments_what_differs_and_nothing_else(
    runs_of: Runs, newer: set[str]
) -> None:
    text = OLD
    for value in newer:
        text = text.replace(value, "A100-SXM4-80GB" if "V100" in value else f"{value}9")
    nights = [
        campaign(place, runs_of("1n1g", times(1.0), fingerprint=own))
        for place, own in enumerate((OLD, text, text))
    ]
    cases, campaigns = history_tables(history(nights))
    assert [row[-1] == "" for row in campaigns.rows] == [True, not newer, True]
    said = campaigns.rows[1][-1]
    for value in ("450.80", "11.0", "6.1", "torch 2.1", "V100-SXM2-16GB"):
        assert (value in said) == (value in newer)
    assert "ECC" not in said + cases.notes[1]
