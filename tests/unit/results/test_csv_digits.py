"""How many digits figures have in CSV."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.results.comparison import compare
from backends.results.comparison_files import comparisons_csv
from backends.results.numbers import csv_number
from backends.results.publish import LAYOUTS, publish

FIGURE = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_a_number_has_twelve_significant_digits_at_most(value: float) -> None:
    told = csv_number(value)
    if isinstance(value, int):
        assert told == str(value)
        return
    assert float(told) == pytest.approx(value, rel=1e-11)
    assert len(told.partition("e")[0].lstrip("-0.").replace(".", "").rstrip("0")) <= 12


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.floats(1.0, 1e6), min_size=3, max_size=6))
def test_no_figure_of_a_csv_has_more_digits(runs_of, speeds: list[float]) -> None:
    runs = [*runs_of("1n1g", speeds), *runs_of("1n8g", [8.1 * s for s in speeds])]
    texts = [
        publish("c", runs, layout=name, format="csv")
        for name in ("speedup", "pivot", "compare", "airank")
        if "csv" in LAYOUTS[name].formats
    ]
    texts.append(comparisons_csv([compare(runs, runs)]))
    for cell in (cell for text in texts for row in csv.reader(io.StringIO(text)) for cell in row):
        if FIGURE.fullmatch(cell):
            digits = cell.partition("e")[0].lstrip("-0.").replace(".", "").rstrip("0")
            assert len(digits) <= 12, cell
