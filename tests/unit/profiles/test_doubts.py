"""Where a clock begins to be doubted."""

from __future__ import annotations

import pytest

from profiles.throughput.doubts import clock_texts
from profiles.throughput.tally import Span


@pytest.mark.parametrize(
    ("apart", "told"), [(1.249, False), (1.251, True), (1 / 1.249, False), (1 / 1.251, True)]
)
def test_a_clock_is_doubted_where_it_and_the_readings_are_a_quarter_apart(
    apart: float, told: bool
) -> None:
    assert bool(clock_texts(Span(), 100 * apart, 100, "images/s")) == told


@pytest.mark.parametrize(("seconds", "told"), [(0.99, False), (1.01, True)])
def test_a_step_back_is_told_from_a_thousandth_of_the_time_on(seconds: float, told: bool) -> None:
    span = Span()
    span.first, span.last, span.set_back = (0, 0), (100, 1000), (50, seconds)
    assert bool(clock_texts(span, 100, 100, "images/s")) == told
