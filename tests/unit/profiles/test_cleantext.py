"""Whatever a host prints, what is displayed cannot act on a terminal."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from profiles.cleantext import LineCleaner, clean_line, clean_text

UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)
HOSTILE = st.lists(
    st.sampled_from(
        [
            b"\x1b[31m", b"\x1b]52;c;YQ==\x07", b"\x1b]0;title\x1b\\", b"\x1b[", b"\x1b", b"\x9b1m",
            "\u009b31m".encode(), "\u202e".encode(), "\u2028".encode(), b"\xed\xa0\x80", b"\xff",
            b"\r", b"\n", b"\r\n", b"\x00", b"\b", b"\t", b"[/red]", "é█".encode(), b"text ",
            b"\x1bc",
        ]
    )
    | st.binary(max_size=8),
    max_size=20,
).map(b"".join)  # fmt: skip


@given(HOSTILE)
@example(b"\x1b]52;c;YQ==")
@example(b"\x1b\x1b[31m[31m")
def test_nothing_that_a_terminal_acts_on_is_left(raw: bytes) -> None:
    text = clean_line(raw)
    assert not UNSAFE.search(text)
    text.encode()


@given(st.text(st.characters()))
def test_text_is_cleaned_like_bytes(text: str) -> None:
    assert not UNSAFE.search(clean_text(text))
    assert clean_text(clean_text(text)) == clean_text(text)


@given(HOSTILE, st.integers(1, 40))
def test_the_cap_holds_and_says_what_is_missing(raw: bytes, cap: int) -> None:
    text = clean_line(raw, cap=cap)
    shown = re.sub(r"… \+\d+ bytes$", "", text)
    assert len(shown) <= cap
    assert shown == text or len(shown) == cap or len(raw) > 8 * cap


@given(HOSTILE, st.lists(st.integers(0, 200), max_size=8))
def test_lines_do_not_depend_on_the_chunking(data: bytes, cuts: list[int]) -> None:
    whole = LineCleaner(cap=20)
    expected = whole.feed(data) + whole.finish()
    chunked = LineCleaner(cap=20)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    lines = [
        line for start, end in itertools.pairwise(edges) for line in chunked.feed(data[start:end])
    ]
    assert lines + chunked.finish() == expected


@given(HOSTILE)
def test_the_cleaner_and_the_function_agree(data: bytes) -> None:
    cleaner = LineCleaner()
    lines = cleaner.feed(data) + cleaner.finish()
    parts = data.split(b"\n")
    assert lines == [clean_line(part) for part in (parts if parts[-1] else parts[:-1])]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"a\tb", "a b"),
        (b" 10%\r 50%\r100%", "100%"),
        (b"100% done\r", "100% done"),
        (b"device: \x00. x", "device: \ufffd. x"),
        (b"99\x08\x08100", "99\ufffd100"),
        (b"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        ("abc\u202edef".encode(), "abc\ufffddef"),
        (b"", ""),
    ],
)
def test_lines_read_as_a_terminal_would_have_left_them(raw: bytes, shown: str) -> None:
    assert clean_line(raw) == shown


def test_long_lines_are_cut_with_the_number_of_bytes_that_are_missing() -> None:
    assert clean_line(b"x" * 5000) == "x" * 4096 + "… +904 bytes"
    assert clean_line("é".encode() * 10, cap=4) == "éééé… +12 bytes"


def test_an_endless_line_needs_no_endless_memory() -> None:
    cleaner = LineCleaner(cap=10)
    for _ in range(1000):
        assert cleaner.feed(b"y" * 1000) == []
    assert cleaner.feed(b"\n") == ["yyyyyyyyyy… +999990 bytes"]
