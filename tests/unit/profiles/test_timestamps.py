import math

import pytest

from profiles.logs.timestamps import TimestampParser


@pytest.mark.parametrize(
    ("layout", "first", "second", "seconds"),
    [
        ("%Y-%m-%d %H:%M:%S,%f", "2020-08-03 23:59:59,500", "2020-08-04 00:00:01,000", 1.5),
        ("%Y/%m/%d %H:%M:%S", "2023/07/28 06:42:52", "2023/07/28 06:43:52", 60),
        ("%a %b %d %H:%M:%S %Y", "Wed Jun  1 10:54:24 2022", "Wed Jun  1 10:54:25 2022", 1),
        ("%H:%M:%S", "23:59:58", "00:00:02", 4),
        ("%Y-%m-%dT%H:%M:%S%z", "2020-01-01T00:00:00+0100", "2020-01-01T00:00:00+0000", 3600),
    ],
)
def test_differences_are_seconds(layout: str, first: str, second: str, seconds: float) -> None:
    parser = TimestampParser(layout)
    start = parser.seconds(first)
    assert parser.seconds(second) - start == pytest.approx(seconds)


def test_other_text_is_no_time() -> None:
    assert math.isnan(TimestampParser("%H:%M").seconds("yesterday"))
    assert math.isnan(TimestampParser("%Y-%m-%d %H:%M").seconds("2020-13-45 10:10"))
