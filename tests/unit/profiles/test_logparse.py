"""Logs to readings: whatever the chunking, whatever the host prints between."""

from __future__ import annotations

import itertools
import math
import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.cleantext import ESCAPE
from profiles.format.profile import Profile
from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.logs.any_number import with_any_number
from profiles.logs.log_parser import LogParser
from profiles.logs.ranks import RankFilter
from profiles.logs.readings import Reading, to_number
from tests.unit.profiles.builders import READING, TIMED, case, parse, profile, readings

PATTERNS = (
    READING,
    r"reading = 'samples/s: (?P<value>[\w.,+-]+)'",
    r"reading = '(?P<step>\d+), .*?(?P<value>\d+)$'",
    r"reading = '[^,]*, samples/s: (?P<value>\S+)'",  # could cross a line end
    r"reading = '^iter\s+(?P<step>\d+),(?P<value>\D*[\d.]+)'",
    r"reading = '(?P<value>\d)'",
    'ranks = "all"\n' + READING,
)
PIECES = st.sampled_from(
    [
        b"iter 20, samples/s: 288.088", b"iter 4", b"0, samples/s: 1", b"samples/s: nan", b"\n",
        b"samples/s: 1,234.5\n", b"iter 7, samples/s: 9.5\n", b"\r", b"\r\n", b"\x1b[32m",
        b"\x1b[0m",
        b"\x1b", b"[1,0]<stdout>:", b"[1,3]<stdout>:", b"\x00", b"\t", b" ", "é█".encode(), b"\xff",
        b"\xe2", b"iter 1_0, samples/s: 1_0\n", b"x" * 40, b"/", b"samples", b"/s: 5\n",
        b"iter 20, samples/s: 1.5\n" * 20,
    ]
)  # fmt: skip
LOGS = st.lists(PIECES | st.binary(max_size=5), max_size=40).map(b"".join)


def expected(of: Profile, log: bytes) -> list[tuple[float, float]]:
    """The definition, line by line, with nothing done to be fast."""
    rule = of.measure
    found: list[tuple[float, float]] = []
    for raw in re.split(rb"[\r\n]", log):
        line = ESCAPE.sub("", raw[:LINE_LIMIT].decode("latin-1")).encode("latin-1")
        text = line.decode("utf-8", "replace")
        for part in RankFilter(rule.ranks).parts(text):
            for match in re.finditer(with_any_number(rule.reading), part, re.ASCII):
                value = to_number(match["value"])
                if math.isfinite(value) and value >= 0:
                    found.append((value, to_number(match.groupdict().get("step") or "")))
    return found


def got(parser: LogParser) -> list[tuple[float, float]]:
    return [
        (reading.value, math.nan if reading.step is None else reading.step)
        for reading in parser.readings
    ]


@pytest.mark.parametrize("measure", PATTERNS)
@given(log=LOGS, cuts=st.lists(st.integers(0, 2000), max_size=6))
@settings(max_examples=150, deadline=None)
def test_readings_are_those_of_each_line_for_every_chunking(
    measure: str, log: bytes, cuts: list[int]
) -> None:
    it = profile(measure)
    parser = LogParser(it, case(it))
    edges = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    new: list[Reading] = []
    for start, end in itertools.pairwise(edges):
        new += parser.feed(log[start:end])
    new += parser.finish()
    assert str(got(parser)) == str(expected(it, log))  # as text: NaN equals itself there
    assert [reading.index for reading in new] == list(range(len(parser.readings)))


@given(
    log=st.lists(st.integers(0, 6), min_size=50, max_size=300),
    measure=st.sampled_from(PATTERNS),
    size=st.integers(1, 20000),
)
@settings(max_examples=80, deadline=None)
def test_large_blocks_of_any_density_give_the_same(log: list[int], measure: str, size: int) -> None:
    lines = (
        b"iter 20, samples/s: 288.088\n",
        b"I0802 20:45 14568 gpu_resources.cc] a message of the runtime, about nothing at all\n" * 3,
        b"/".join([b"home", b"user", b"samples"]) + b": 3\n",
        b"iter 7, samples/s: 1,024\n",
        b"[1,0]<stdout>:iter 5, samples/s: 7[1,12]<stderr>:iter 5, samples/s: 8\n",
        b"Wed Jun  1 10:54:24 2022[1,3]<stdout>:Wed Jun  1 10:54:24 2022[1,0]<stdout>:"
        b"iter 6, samples/s: 2022\n" * 3,
        "iter 9, samples/s: 3 █\n".encode() * 3,
    )
    text = b"".join(lines[kind] for kind in log)
    it = profile(measure)
    parser = LogParser(it, case(it))
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    parser.finish()
    assert str(got(parser)) == str(expected(it, text))


def test_a_reading_knows_its_step_value_and_time() -> None:
    it = profile(TIMED + '\ntimestamp = "%Y-%m-%d %H:%M:%S,%f"\nkind = "step_time"')
    log = (
        "2020-08-03 17:11:16,000-INFO: [Pass 0, train batch 20] loss 7, elapse 0.35 sec\n"
        "2020-08-03 17:11:16,350-INFO: [Pass 0, train batch 21] loss 7, elapse 0.34 sec\n"
    )
    first, second = parse(it, log).readings
    assert (first.index, first.step, first.value) == (0, 20, 0.35)
    assert first.t is not None
    assert second.t == pytest.approx(first.t + 0.35)


def test_the_last_line_needs_no_newline() -> None:
    it = profile()
    parser = LogParser(it, case(it))
    assert list(parser.feed(b"iter 20, samples/s: 1.5")) == []
    assert [reading.value for reading in parser.finish()] == [1.5]


def test_colours_cannot_hide_a_reading() -> None:
    log = b"\x1b[32miter 20, sam\x1b[0mples/s: \x1b[1m3.5\x1b[0m\n"
    assert [reading.value for reading in parse(profile(), log).readings] == [3.5]


def test_a_progress_bar_in_front_does_not_hide_a_reading() -> None:
    log = b"\r 10%|#  |\r 20%|## |\riter 20, samples/s: 3.5\r\n"
    assert len(parse(profile(), log).readings) == 1


def test_glued_readings_are_two() -> None:
    log = b"iter 20, samples/s: 1iter 40, samples/s: 2\n"
    it = profile(r"reading = 'iter (?P<step>\d+), samples/s: (?P<value>[\d.]+)'")
    assert [reading.value for reading in parse(it, log).readings] == [1, 2]


def test_other_ranks_are_left_out_also_in_the_middle_of_a_line() -> None:
    log = (
        b"[1,0]<stdout>:iter 20, samples/s: 1\n[1,1]<stdout>:iter 20, samples/s: 2\n"
        b"Wed Jun  1 10:54:24 2022[1,1]<stdout>:iter 40, samples/s: 3"
        b"Wed Jun  1 10:54:24 2022[1,0]<stdout>:iter 40, samples/s: 4\n"
    )
    it = profile(r"reading = 'iter (?P<step>\d+), samples/s: (?P<value>\d+)'")
    assert [reading.value for reading in parse(it, log).readings] == [1, 4]
    all_ranks = profile('ranks = "all"\n' + r"reading = 'samples/s: (?P<value>\d)'")
    assert [reading.value for reading in parse(all_ranks, log).readings] == [1, 2, 3, 4]
    second = profile("ranks = [1]\n" + r"reading = 'samples/s: (?P<value>\d)'")
    assert [reading.value for reading in parse(second, log).readings] == [2, 3]


def test_values_that_are_no_numbers_are_counted_and_left_out() -> None:
    parser = parse(profile(), readings(1, math.nan, math.inf, 2) + "iter 9, samples/s: None\n")
    assert [reading.value for reading in parser.readings] == [1, 2]
    assert parser.rejected == 3


def test_an_endless_line_loses_its_end_and_nothing_after_it() -> None:
    it = profile()
    parser = LogParser(it, case(it))
    parser.feed(b"iter 1, samples/s: 1 ")
    for _ in range(200):
        parser.feed(b"#" * 1000)
    parser.feed(b" iter 2, samples/s: 2\niter 3, samples/s: 3\n")
    assert [reading.value for reading in parser.readings] == [1, 3]


def test_memory_does_not_grow_with_what_is_no_reading() -> None:
    it = profile()
    parser = LogParser(it, case(it))
    block = b"a line of the log that says nothing of interest to anybody here\n" * 1000
    for _ in range(60):  # past what failures keep of head and tail
        parser.feed(block)
    tracemalloc.start()
    for _ in range(200):
        parser.feed(block)
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 2 * 1024 * 1024  # the tail is replaced, not added to


METRICS = (
    READING
    + r"""
summary = 'total: (?P<value>[\d.]+)'
[metrics.loss]
reading = 'loss: (?P<value>\S+)'
[metrics.peak]
reading = 'mem: (?P<value>\d+)'
statistic = "max"
scale = 2.0
[metrics.middle]
reading = 'loss: (?P<value>\S+)'
statistic = "median"
[metrics.first]
reading = 'loss: (?P<value>\S+)'
statistic = "first"
[metrics.absent]
reading = 'accuracy: (?P<value>\S+)'
"""
)


def test_metrics_and_summary_are_taken_by_their_statistic() -> None:
    it = profile(METRICS.replace("[metrics", "[measure.metrics"))
    log = "loss: 5\nmem: 10\nloss: 3, mem: 7\nloss: 4\nloss: None\ntotal: 8\ntotal: 9.5\n"
    for size in (1, 3, 1000):
        parser = LogParser(it, case(it))
        for start in range(0, len(log), size):
            parser.feed(log[start : start + size].encode())
        parser.finish()
        assert parser.metrics == {"loss": 4, "peak": 20, "middle": 4, "first": 5}
        assert parser.summary_value == 9.5


def test_the_last_of_a_large_block_is_found_before_its_end() -> None:
    it = profile(METRICS.replace("[metrics", "[measure.metrics"))
    log = b"loss: 1\nloss: 2\n" + b"nothing to see\n" * 5000
    assert parse(it, log).metrics["loss"] == 2


def test_readings_can_be_sliced_and_compared() -> None:
    taken = parse(profile(), readings(1, 2, 3)).readings
    assert [reading.value for reading in taken[1:]] == [2, 3]
    assert taken[1:][0].index == 1
    assert taken[-1] == Reading(2, 60, 3, None)
    assert list(taken[5:]) == []
    with pytest.raises(ValueError, match="one by one"):
        taken[::2]
    with pytest.raises(IndexError):
        taken[3]
