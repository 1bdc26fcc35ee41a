"""What a pattern needs is in everything that it matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from profiles.cleantext import ESCAPE
from profiles.format.catalog import Catalog
from profiles.logs.literals import digits_that_count, required_literals, stays_in_line

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
    ("pattern", "words"),
    [
        (r"iter +(?P<step>\d{1,6}), .*?samples/s: (?P<value>[\d.,]+)", ()),
        (r"^[ -~]\w\b\S[^,]|(?:N/A|[\x00-\xff])$", ()),
        (r"(?i:mfu): (?P<value>[0-9.]+)", ()),
        (ESCAPE.pattern, ()),
        (r"top_1: (?P<value>\d)", (b"top_1: ",)),
        (r"(?:x|[a-z]|p5)*(?P<value>bf16|fp8) \d*k9", (b"bf16", b"fp8", b"k9", b"p5")),
        (r"(?i:top1): \d", None),
        (r"(?i)top1: \d", None),
        (r", 1: (?P<value>\d)", None),
        (r"top1+", None),
        (r"é1", None),
        (r"(?P<value>[1-9]\d*)", None),
        (r"[^0]", None),
        (r"(?:x|[a-z5]+)*", None),
        (r"[^7]x", None),
        (r"(\d)\1", None),
        (r"(?=1)\d", None),
        (r"(?<!\d)\d", None),
        (r"", None),
    ],
)
def test_the_digits_that_a_pattern_tells_apart_are_known(
    pattern: str, words: tuple[bytes, ...] | None
) -> None:
    assert digits_that_count(pattern) == words


WORDS = st.sampled_from(("top_1: ", "top", "bf16", "5", "0", r"\d", "[a-z]", r"\b", ",", "1 "))
PATTERNS = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join).map("(?:{})".format),
        inner.map("(?:{})*".format),
        inner.map("({})?".format),
    ),
    max_leaves=8,
)


@given(
    st.one_of(PATTERNS, st.sampled_from([it for it in BUNDLED if digits_that_count(it)])),
    st.data(),
)
@settings(max_examples=300)
def test_a_match_stays_where_it_is_when_no_digit_changes_that_counts(
    pattern: str, data: st.DataObject
) -> None:
    words = digits_that_count(pattern)
    assume(words is not None)
    near = data.draw(st.from_regex(re.compile(pattern, re.ASCII)))
    text = near + data.draw(st.text("top_165 ,", max_size=9)) + near
    table = str.maketrans("0123456789", "".join(data.draw(st.permutations("0123456789"))))
    other = list(text.translate(table))
    same = re.sub("[0-9]", "0", text)
    for word in words or ():
        like = re.sub("[0-9]", "0", word.decode())
        for at in range(len(text)):
            if same.startswith(like, at):
                other[at : at + len(like)] = text[at : at + len(like)]
    spans, others = (
        [match.regs for match in re.finditer(pattern, it, re.ASCII)]
        for it in (text, "".join(other))
    )
    assert spans == others
