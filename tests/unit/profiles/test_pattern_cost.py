"""No pattern and no line hangs the parser: what is judged bounded is, the rest runs on RE2."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from profiles.format.regex import line_pattern as patterns_module
from profiles.format.regex import match_with_re2
from profiles.format.regex.backtracking import LINE_LIMIT, SHORTEST, Judgement, judge, most_steps
from profiles.format.regex.line_pattern import line_pattern
from profiles.format.regex.match_with_re2 import LinearPattern
from profiles.logs.log_paths import recognise
from tests.unit.profiles.backtracker import Backtracker, TooManyStepsError
from tests.unit.profiles.builders import HEAD, READING, parse, profile
from tests.unit.profiles.test_literals import BUNDLED

CHARACTERS = ("a", "b", "[ab]", "[^a]", ".", r"\w", ",", "ab", "aba")
REPEATS = ("*", "+", "?", "*?", "+?", "{2}", "{0,2}", "{1,3}", "{2,}")


def patterns(*, beyond_re2: bool = False) -> st.SearchStrategy[str]:
    """Every kind of item, in small patterns that meet the same few characters again and again."""

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        repeated = st.tuples(inner, st.sampled_from(REPEATS)).map(lambda it: f"(?:{it[0]}){it[1]}")
        series = st.lists(inner, min_size=2, max_size=3).map("".join)
        either = st.lists(inner, min_size=2, max_size=3).map("|".join).map("(?:{})".format)
        ahead = [inner.map("(?={})".format)] if beyond_re2 else []
        return st.one_of(repeated, series, either, inner.map("({})".format), *ahead)

    atom = st.sampled_from(CHARACTERS)
    repeated = st.tuples(st.sampled_from(CHARACTERS[:7]), st.sampled_from(REPEATS)).map("".join)
    edge = st.sampled_from((r"\b", r"\B", "^", "$"))
    whole = st.recursive(st.one_of(repeated, atom, repeated, edge), grown, max_leaves=7)
    # A character that no text has: every way is tried.
    return st.tuples(whole, st.sampled_from(("!", "!", "$", ""))).map("".join)


PARTS = st.sampled_from(("", "a", "b", ",", "ab", "aab", "a,", "ba,", "aba"))
PUMPED = st.tuples(PARTS, PARTS, st.integers(1, 20), PARTS, st.integers(0, 20), PARTS).map(
    lambda it: it[0] + it[1] * it[2] + it[3] * it[4] + it[5]
)


LONGEST_READ = 350
"""Bytes: longer than any line of a published log that a bundled profile takes a reading from."""


SAME = {
    "linear": r"(?:a+)*: (?P<value>\d+) images",
    "short lines by re": r"(?:a*): (?P<value>\d+) images",
    "re": r": (?P<value>\d+) images",
}
PUMPED_LINES = ("aa: 7 images", ": 8 images, aaa: 9 images", "aaaaa: x", "é: 1 images", "a" * 5000)


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    """The matcher of the tests goes a few calls deeper with every character."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


@settings(max_examples=1000)
@given(patterns(beyond_re2=True), PUMPED)
@example("a?" * 14 + "!", "a" * 20)
@example("(?:a|ab)*(?:a|b)!", "ab" * 20)
@example(r"(?:(?:\w|\w))*!", "a" * 12)
@example("(?:|){14}!", "a" * 12)
@example("a*b?!", "a" * 17)
@example("a*b?c?d?!", "a" * 160)
def test_a_search_takes_no_more_steps_than_was_judged(pattern: str, text: str) -> None:
    bound = most_steps(pattern, len(text) + 1)
    assume(bound < 10_000)
    # Of an optional item the entering counts, what it looks at, and what is looked at without it.
    matcher = Backtracker(pattern, text, limit=2 * len(pattern) * bound)
    spans = matcher.search_all()
    expected = [match.span() for match in re.finditer(pattern, text, re.ASCII)]
    if all(start < end for start, end in expected):  # of empty ones re has rules of its own
        assert spans == expected


@settings(max_examples=400)
@given(patterns(), PUMPED)
@example(r"(?i:[^a]B)\S\s\x0b", "xb,\v\v")
@example(r"(?P<value>(a|b,)+?)\b!?", "ab,ab")
def test_both_engines_find_the_same(pattern: str, text: str) -> None:
    assume(text)  # Python before 3.14 finds no \\B in nothing
    try:
        matcher = Backtracker(pattern, text, limit=5_000)
        matcher.search_all()
    except (TooManyStepsError, RecursionError):
        assume(False)
    expected = [match.span() for match in re.finditer(pattern, text, re.ASCII)]
    assume(all(start < end for start, end in expected))
    found = LinearPattern(pattern).finditer(text)
    assert [match.span() for match in found] == expected


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        (r"(a+)+$", "(a+)+"),
        (r"(\d+|\w+)*x", r"(\d+|\w+)*"),
        (r"x (?P<value>(?:[\d.]+ ?)+)y", r"(?:[\d.]+ ?)+"),
        (r"^(\w+\s?)*$", r"(\w+\s?)*"),
        (r"(?:(?:a*)b?)*c", "(?:a*b?)*"),
        (r"(x+x+)+y", "(x+x+)+"),
        (r"(?P<value>(?:\d\d|\d)*)b", r"(?:\d(?:\d|))*"),
        (r"(.*)*b", "(.*)*"),
    ],
)
def test_the_nested_quantifier_is_named(pattern: str, part: str) -> None:
    assert judge(pattern) == Judgement(0, part, nested=True)


@pytest.mark.parametrize("pattern", ["a.*b.*c", "(.*,){11}P", "(a?){30}a{30}", "(?:a{0,20}){9}b"])
def test_what_shares_out_a_line_in_too_many_ways_is_not_tried(pattern: str) -> None:
    assert judge(pattern).longest == 0


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [
        (r"iter (?P<step>\d+), samples/s: (?P<value>[\d.]+)", LINE_LIMIT),
        (r"iter (?P<step>\d+), .*samples/s: (?P<value>[\d.]+)", 4_000),
        (r"loss (?:\d+\.\d+, )*ips (?P<value>[\d.]+)", 4_000),
        (r"step: (?P<step>\d+) .*loss: .*ips: (?P<value>[\d.]+)", SHORTEST),
        (r"(?P<value>\d+) images", 1_000),
    ],
)
def test_what_logs_are_read_with_is_good_for_their_lines(pattern: str, longest: int) -> None:
    assert judge(pattern).longest >= longest


@pytest.mark.parametrize("pattern", BUNDLED)
def test_bundled_patterns_stay_on_the_fast_engine(pattern: str) -> None:
    assert line_pattern(pattern).longest > LONGEST_READ


@settings(max_examples=200)
@given(st.lists(st.sampled_from((*PUMPED_LINES, "y" * 3000)), max_size=30))
def test_long_lines_among_short_ones_give_the_same_readings(lines: list[str]) -> None:
    log = "\n".join(lines).encode()
    found = {
        name: [reading.value for reading in parse(profile(f"reading = '{reading}'"), log).readings]
        for name, reading in SAME.items()
    }
    assert found["linear"] == found["short lines by re"] == found["re"]


def test_what_linear_time_cannot_express_is_refused_by_name() -> None:
    with pytest.raises(ValidationError) as caught:
        profile(r"reading = '(?P<value>(\d+)+)(?=x)'")
    text = str(caught.value)
    assert r"nested quantifier (\d+)+" in text
    assert "lookaround" in text
    with pytest.raises(ValidationError, match="a backreference"):
        profile(r"reading = '(?P<value>(?P<a>\w+)+ (?P=a))$'")


def test_what_re_can_bound_may_look_around() -> None:
    it = profile(r"reading = '(?<!un)steady (?P<value>\d+)(?= images)'")
    found = parse(it, b"steady 3 images\nunsteady 4 images\nsteady 5 samples\n")
    assert [reading.value for reading in found.readings] == [3]


def test_without_re2_costly_patterns_are_refused_and_others_see_the_beginning_of_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = b"1 images" + b"." * 5000 + b"2 images\n3 images\n"
    line_pattern.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(match_with_re2, "available", lambda: False)
        patch.setattr(patterns_module, "available", lambda: False)
        with pytest.raises(ValidationError, match="install google-re2"):
            profile(r"reading = '(?P<value>(\d+)+)x'")
        it = profile(r"reading = '(?P<value>\d+) images'")
        assert [reading.value for reading in parse(it, log).readings] == [1, 3]
    line_pattern.cache_clear()
    assert [reading.value for reading in parse(it, log).readings] == [1, 2, 3]


HANGS = r"reading = 'speed (?P<value>(\d+)+) images$'"


@pytest.mark.parametrize(
    "where",
    [
        r"reading = 'speed (?P<value>(?:\d+)+) images$'",
        READING + "\n" + r"summary = 'speed (?P<value>(?:\d+)+) images$'",
        READING + "\n" + r"rank_prefix = 'speed (?P<rank>(?:\d+)+) images$'",
        READING + "\n[measure.metrics.top]\n" + HANGS,
        READING + "\n[measure.stated]\n" + r"batch_size = 'speed (?P<value>(?:\d+)+) images$'",
        READING + "\n[[measure.failure]]\n" + r"pattern = 'speed (\d+)+ images$'"
        "\nreason = 'odd'",
    ],
)
def test_no_pattern_of_a_profile_hangs_on_a_line(where: str) -> None:
    log = (
        b"iter 1, samples/s: 5\n"
        + b"speed "
        + b"1" * 60_000
        + b" image\n"
        + b"iter 2, samples/s: 7"
    )
    parser = parse(profile(where), log)
    assert parser.failures == ()
    assert len(parser.readings) == (0 if where.startswith("reading = 'speed") else 2)


def test_no_import_path_hangs() -> None:
    it = profile(head=HEAD + "[import]\npaths = ['(?P<nodes>(?:\\d+)+)n/x$']\n")
    assert recognise(it, "1" * 4000 + "n/y.log") is None
