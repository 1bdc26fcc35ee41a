"""What repeats that differ much say of their mean: no throughput is below 0."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tui.screens.result_text import case_text
from tui.widgets.scaling_plot import Quantity, measured


@example([2000.0, 8000.0])
@given(st.lists(st.floats(1.0, 10_000.0), min_size=2, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_interval_of_a_throughput_is_told_or_drawn_below_0(
    runs_of: Callable[..., list[RunResult]], values: list[float]
) -> None:
    (group,) = summarise(runs_of("1n1g", values))
    (case,) = group.cases
    assert case.spread is not None
    assert case.spread.student is not None
    (said,) = re.findall("95% of mean +(.*)", case_text(case, group).plain)
    untold = "wider than the mean itself (Student's, ±"
    assert said.startswith(untold) == (case.spread.student >= 1)
    assert not said.startswith("-")
    drawn = measured(case, group, Quantity.PER_DEVICE)
    assert drawn is not None
    assert drawn.interval is None or drawn.interval[0] >= 0
