import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from profiles.durations import format_duration, in_three_columns, parse_duration
from profiles.errors import ProfileError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20s", 20), ("10m", 600), ("2h", 7200), ("1m30s", 90), ("500ms", 0.5), ("1d 2h", 93600)],
)
def test_durations_are_numbers_with_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "h", "2 hours", "-5s", "1h-5m", "٣s"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ProfileError, match='such as "90s" or "2h"'):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (12.4, "12s"), (185, "3m05s"), (7800, "2h10m"), (270_000, "3d03h")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(0, 99 * 86_400))
@example(114.0)
@example(417.0)
@example(99.6)
def test_a_duration_in_three_columns_is_the_nearest_of_its_unit(seconds: float) -> None:
    text = in_three_columns(seconds)
    assert len(text) <= 3
    assert abs(parse_duration(text) - seconds) <= parse_duration(f"1{text[-1]}") / 2
    assert text[-1] == "s" or abs(parse_duration(text) - seconds) <= 0.25 * seconds
