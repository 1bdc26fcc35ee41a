"""Numbers as the reports print them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.results.numbers import fixed, percent, ratio, trimmed


@pytest.mark.parametrize(
    ("value", "text"),
    [(2621.2, "2621.2"), (747.295, "747.3"), (12671.9, "12671.9"), (1000.0, "1000"), (0.5, "0.5")],
)
def test_trimmed_has_two_decimals_at_most(value, text):
    assert trimmed(value) == text


def test_small_values_keep_three_digits():
    assert trimmed(0.001234) == "0.00123"
    assert trimmed(0.0) == "0"


def test_fixed_rounds_halves_up_as_people_do():
    assert fixed(747.295) == "747.30"
    assert fixed(383.76, 3) == "383.760"
    assert fixed(2725.415) == "2725.42"
    assert fixed(None) == "–"


def test_thousands_are_separated_on_request():
    assert trimmed(137335.0, 0, thousands=True) == "137,335"


def test_base_has_speedup_one_and_others_two_decimals():
    assert ratio(1.0, is_base=True) == "1"
    assert ratio(1.0) == "1.00"
    assert ratio(None, is_base=True) == "–"


def test_percent_of_a_fraction():
    assert percent(0.9385) == "93.9%"
    assert percent(0.0042, 2) == "0.42%"


@given(st.floats(min_value=1e-12, max_value=1e15))
def test_every_throughput_prints_as_a_plain_number(value: float):
    for text in (fixed(value), trimmed(value), trimmed(value, thousands=True), percent(value)):
        assert float(text.replace(",", "").rstrip("%")) >= 0
        assert "e" not in text.lower()
