"""What a pattern needs is in everything that it matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.cleantext import ESCAPE
from profiles.format.catalog import Catalog
from profiles.logs.literals import any_digits_alike, required_literals, stays_in_line

CATALOG = Catalog.load()
BUNDLED = sorted(
    {
        pattern
        for name in CATALOG.names
        for measure in [CATALOG.get(name).measure]
        for pattern in (
            measure.reading,
            *(metric.reading for metric in measure.metrics.values()),
            *([measure.summary] if measure.summary else []),
        )
    }
)


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"iter (?P<step>\d+), .*samples/s: (?P<value>[\d.]+)", (b"samples/s: ", b"iter ", b", ")),
        (r"(?P<value>\d+)", ()),
        (r"abc|xyz", ()),
        (r"abc|abd", (b"ab",)),
        (r"(?:\d \w|\w, \d \d):", (b" ", b":")),
        (r"(?i)samples", ()),
        (r"x?yes", (b"yes",)),
        (r"(?:one)+ two", (b" two", b"one")),
        (r"(?:one)* two", (b" two",)),
        (r"wor(?P<value>k)er", (b"worker",)),
        (r"(?=ahead)b", (b"b",)),
        (r"^start$", (b"start",)),
        (r"a{0}b", (b"b",)),
        (r"é: (\d)", (b": ",)),
    ],
)
def test_literals_of_patterns(pattern: str, literals: tuple[bytes, ...]) -> None:
    found = required_literals(pattern)
    assert set(literals) <= set(found) or not literals
    assert literals or not found


@given(st.data())
@settings(max_examples=60)
def test_every_match_of_a_bundled_pattern_holds_its_literals(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(BUNDLED))
    text = data.draw(st.from_regex(re.compile(pattern, re.ASCII)))
    match = re.search(pattern, text, re.ASCII)
    assert match is not None
    for literal in required_literals(pattern):
        assert literal.decode() in match.group()


@pytest.mark.parametrize("pattern", BUNDLED)
def test_every_bundled_reading_can_be_found_by_a_literal(pattern: str) -> None:
    assert required_literals(pattern)


@pytest.mark.parametrize(
    ("pattern", "stays"),
    [
        (r"iter (?P<step>\d+), .*samples/s: (?P<value>[\d.]+)", True),
        (r"^ +\d+ \| (?P<value>[\d.]+)$", True),
        (r"a\s+b", False),
        (r"[^,]*,", False),
        (r"\D", False),
        (r"(?s)a.b", False),
        (r"\Aabc", False),
        (r"abc\Z", False),
        (r"(?=a)b", False),
        (r"(a)\1", False),
        (r"[\x00-\x20]", False),
        (r"é", False),
        ("a\nb", False),
        (r"(?:[^x])", False),
        (r"(?i:a)b", False),
    ],
)
def test_patterns_that_could_leave_their_line_are_told(pattern: str, stays: bool) -> None:
    assert stays_in_line(pattern) is stays


@pytest.mark.parametrize(
    ("pattern", "alike"),
    [
        (r"iter +(?P<step>\d{1,6}), .*?samples/s: (?P<value>[\d.,]+)", True),
        (r"^[ -~]\w\b\S[^,]|(?:N/A|[\x00-\xff])$", True),
        (r"(?i:mfu): (?P<value>[0-9.]+)", True),
        (ESCAPE.pattern, True),
        (r"top1: (?P<value>\d)", False),
        (r"(?P<value>[1-9]\d*)", False),
        (r"[^0]", False),
        (r"(?:x|[a-z5]+)*", False),
        (r"[^7]x", False),
        (r"(\d)\1", False),
        (r"(?=1)\d", False),
        (r"(?<!\d)\d", False),
        (r"", False),
    ],
)
def test_patterns_that_take_any_digit_for_another_are_told(pattern: str, alike: bool) -> None:
    assert any_digits_alike(pattern) is alike


@given(st.data())
@settings(max_examples=100)
def test_a_match_stays_where_it_is_when_digits_change(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from([it for it in BUNDLED if any_digits_alike(it)]))
    text = data.draw(st.from_regex(re.compile(pattern, re.ASCII)))
    table = str.maketrans("0123456789", "".join(data.draw(st.permutations("0123456789"))))
    spans, others = (
        [match.regs for match in re.finditer(pattern, it, re.ASCII)]
        for it in (text, text.translate(table))
    )
    assert spans == others
