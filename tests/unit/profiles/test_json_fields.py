"""Objects in a log are read by a quick parser, and as Python's own would."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from profiles.logs.json_fields import decoded

OBJECT = (
    '{"key": "tracked_stats", "value": {"throughput": 2500.5, "loss": NaN, "top": -Infinity}, "s": '
    '"\\u00e9\\n", "steps": [0, -0, 1E-7, 12345678901234567890123, 1e400, 0.30000000000000004]}'
)


def by_python(text: str) -> object:
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


@given(
    at=st.integers(1, len(OBJECT)),
    less=st.integers(0, 3),
    more=st.text('{}[]",:0123456789.eE+-\\untrl /é\t\x00\x7f', max_size=3),
    after=st.sampled_from(["", " ", "}", ", ", OBJECT, "\x00"]),
)
def test_an_object_is_what_python_says_it_is(at: int, less: int, more: str, after: str) -> None:
    text = OBJECT[:at] + more + OBJECT[at + less :] + after
    assert repr(decoded(text)) == repr(by_python(text))


def test_what_is_too_deep_or_too_large_is_nothing() -> None:
    for text in ('{"a":' * 100_000, '{"a": ' + "1" * 5000 + "}", '{"\\ud800": 1}', ""):
        assert repr(decoded(text)) == repr(by_python(text))
