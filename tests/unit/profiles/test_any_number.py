"""A reading is read right however it is written, or refused and counted; never another number."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.cleantext import ESCAPE
from profiles.format.catalog import Catalog
from profiles.logs.any_number import with_any_number
from profiles.throughput.measure_run import left_out
from tests.unit.profiles.builders import measure, parse, profile

BODIES = (r"[\d.]+", r"\d[\d.]*", r"[\d.,]+", r"\d+(?:\.\d+)?", r"[\d,.]+", r"\d+\.?\d*")
WRITTEN = st.sampled_from(BODIES).map(
    lambda body: rf"reading = 'iter (?P<step>\d+), loss: \S+ samples/s: (?P<value>{body})'"
)
VALUES = st.floats(0, 1e9).map(lambda value: round(value, 3))
NO_READINGS = st.sampled_from(
    [
        "nan", "NaN", "inf", "-inf", "-Infinity", "-26.5", "-1,234", "26,5", "1,23", "0,123",
        "1,2345", "1.234,5", "1,00,000", "1.2.3", "12345,678", "1e999",
    ]
)  # fmt: skip


def line(text: str, step: int = 1) -> str:
    return f"iter {step}, loss: 1.0 samples/s: {text}\n"


@given(measure_by=WRITTEN, value=VALUES, form=st.sampled_from(("{}", "{:,}", "{:.6e}", "+{}")))
def test_a_number_is_read_as_it_is_written(measure_by: str, value: float, form: str) -> None:
    text = form.format(value)
    parser = parse(profile(measure_by), line(text))
    assert [reading.value for reading in parser.readings] == [float(text.replace(",", ""))]
    assert parser.rejected == 0


@given(measure_by=WRITTEN, texts=st.lists(NO_READINGS, min_size=1, max_size=40))
def test_what_is_no_reading_is_counted_and_never_another_number(
    measure_by: str, texts: list[str]
) -> None:
    log = "".join(line(text, step) for step, text in enumerate(texts))
    parser = parse(profile(measure_by), log + line("7.5", len(texts)))
    assert [reading.value for reading in parser.readings] == [7.5]
    assert parser.rejected == len(texts)


def test_the_warning_counts_what_was_left_out() -> None:
    of = profile(r"reading = 'samples/s: (?P<value>[\d.]+)'")
    found = measure(of, line("100") + line("nan") + line("26,5") + line("100"))
    assert found.throughput == 100
    assert left_out(2) in found.warnings


def test_a_log_without_one_number_says_so() -> None:
    found = measure(profile(r"reading = 'samples/s: (?P<value>[\d.]+)'"), line("nan") + line("nan"))
    assert found.reason == "none of the log's readings counts"
    assert left_out(2) in found.warnings


@pytest.mark.parametrize(
    ("pattern", "row"),
    [
        (r"^(?P<step>\d+),(?P<value>[\d.]+)", "7,26.5,300"),
        (r"^(?P<value>[\d.]+),(?P<step>\d+)", "26.5,300,7"),
    ],
)
def test_commas_of_a_table_separate_its_columns(pattern: str, row: str) -> None:
    parser = parse(profile(f"reading = '{pattern}'"), row)
    assert [reading.value for reading in parser.readings] == [26.5]


CATALOG = Catalog.load()
READ = [
    (name, rule.reading, ESCAPE.sub("", rule.example))
    for name in CATALOG.names
    for _when, rule in CATALOG.get(name).measure.rules
    # A row of nccl-tests is found by its columns; llm.c prints whole numbers.
    if rule.example and not rule.paths and name not in ("nccl-tests", "llm-c")
]


@pytest.mark.parametrize(("name", "pattern", "example"), READ, ids=[name for name, *_ in READ])
def test_the_library_misses_no_reading_that_is_no_number(
    name: str, pattern: str, example: str
) -> None:
    wider = with_any_number(pattern)
    found = re.search(pattern, example)
    assert found is not None
    start, stop = found.span("value")
    for text in ("nan", "-1.5", "2.5e4"):
        again = re.search(wider, f"{example[:start]}{text}{example[stop:]}")
        assert again is not None
        assert again["value"].rstrip(",") == text


BETWEEN = st.text("abcdefinot ,.:;()/=-+_", max_size=12).filter(
    lambda text: re.search(r"\b(?:nan|inf|infinity)\b", text) is None
)


@given(
    body=st.sampled_from((r"\d+", r"\d[\d.]*", r"\d+\.\d+", r"\d+\.?\d*", r"\d+(?:\.\d+)?")),
    words=BETWEEN | st.sampled_from([" (inference): ", ", mean: ", " nanoseconds... ", " info="]),
    unit=st.sampled_from(("", "ms", r"\s*ms", " samples/s")),
)
def test_words_before_a_number_hide_it_from_no_pattern_that_skips_them(
    body: str, words: str, unit: str
) -> None:
    pattern = rf"speed.*?(?P<value>{body}){unit}"
    text = f"speed{words} 26.5{unit.removeprefix(chr(92) + 's*')}"
    before = re.search(pattern, text)
    after = re.search(with_any_number(pattern), text)
    assert before is not None
    assert after is not None
    # A whole number stays what it was; '26.5ms' has the 5 in front of its unit.
    assert after["value"] == before["value"]


@pytest.mark.parametrize("text", ["step 10-12.5", "step 10+12.5", "step a-12.5"])
def test_a_dash_between_two_things_is_no_sign(text: str) -> None:
    found = re.search(with_any_number(r"step \w+.*?(?P<value>\d+\.\d+)"), text)
    assert found is not None
    assert found["value"] == "12.5"


@pytest.mark.parametrize("unit", ["ms", " ms", r"\s*ms", ""])
@pytest.mark.parametrize("written", ["nan", "inf", "-inf", "-3.5"])
def test_no_number_is_seen_with_its_unit_behind_it(unit: str, written: str) -> None:
    wider = with_any_number(rf"took (?P<value>[\d.]+){unit}")
    found = re.search(wider, f"took {written}{unit.removeprefix(chr(92) + 's*')}")
    assert found is not None
    assert found["value"] == written


def test_what_looks_like_the_group_in_a_class_of_characters_is_left_alone() -> None:
    pattern = r"[(?P<value>\d+)] (?P<value>[0-9]+)"
    assert with_any_number(pattern) == pattern
