"""Lines alike but for their digits are read as any other line is, only faster."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.format.profile import Profile
from profiles.logs import log_parser
from profiles.logs.digits import NumberAt
from profiles.logs.log_parser import LogParser
from profiles.logs.metrics import MetricValues
from profiles.logs.ranks import MPI_PREFIX, RankFilter
from profiles.logs.readings import Columns, to_number
from profiles.logs.search import Search
from profiles.logs.shapes import Shapes
from profiles.logs.sinks import FigureSink, ReadingSink, TextSink
from tests.unit.profiles.builders import READING, profile

CATALOG = Catalog.load()
DENSE = (
    "megatron-lm", "torchtitan", "mlperf-training", "torch-gpt", "oneflow-resnet50", "nanogpt",
    "deepspeed", "detectron2", "modded-nanogpt", "paddle-resnet50", "nccl-tests", "mmengine",
)  # fmt: skip
PREFIXES = ("", "[rank0]:", "[1,0]<stdout>:", "Wed Jun  1 10:54:24 2022[1,0]<stdout>:", "\x1b[31m")
ODD = (
    "[1,3]<stdout>:", "[rank1]:", "nan", "1,024", "9.9.9", "é", "\x1b[0m", "\x1b", "\\", "{", "1e3",
    "-", " ", "\r", "inf",
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _from_the_first_block_on() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_parser, "DENSE", 0)
        yield


def in_lines(of: Profile, log: bytes) -> LogParser:
    """What comes in single lines is never of any shape."""
    at = expand(of, None, {})[0]
    parser = LogParser(of, at)
    for line in log.splitlines(keepends=True):
        parser.feed(line)
    parser.finish()
    return parser


def at_once(of: Profile, log: bytes, size: int = 1 << 18) -> LogParser:
    at = expand(of, None, {})[0]
    parser = LogParser(of, at)
    for start in range(0, len(log), size):
        parser.feed(log[start : start + size])
    parser.finish()
    return parser


def told(parser: LogParser) -> Sequence[str]:
    """As text: NaN equals itself there."""
    columns = parser.readings
    numbers = (columns.values, columns.steps, columns.times, parser.metrics)
    return [*map(str, numbers), str(parser.stated), str(parser.rejected), str(parser.summary_value)]


def examples(of: Profile) -> list[str]:
    readings = (of.measure, *of.measure.metrics.values(), *of.measure.stated.values())
    return [reading.example for reading in readings if reading.example]


def dense_log(of: Profile, seed: int, odd: float, prefix: str, longer: float) -> bytes:
    """The reading's line many times, with other digits, and now and then something else.

    ``longer``: how often a number has other digits than these, more or fewer.
    """
    chance = random.Random(seed)

    def other(number: re.Match[str]) -> str:
        width = len(number[0])
        if chance.random() < longer:
            width = max(1, width + chance.choice((-2, -1, 1, 2, 9)))
        return "".join(str(chance.randrange(10)) for _ in range(width))

    others = examples(of)
    lines: list[str] = []
    for _ in range(chance.choice((200, 1200))):
        line = prefix + of.measure.example
        if chance.random() < odd:
            line = chance.choice(others)
        line = re.sub("[0-9]+", other, line)
        if chance.random() < odd:
            at = chance.randrange(len(line))
            line = line[:at] + chance.choice((*ODD, line)) + line[at + chance.randrange(3) :]
        lines.append(line + "\n")
    return "".join(lines).encode()


@pytest.mark.parametrize("name", DENSE)
@given(
    seed=st.integers(0, 1 << 30),
    odd=st.sampled_from((0, 0.002, 0.02, 0.2)),
    prefix=st.sampled_from(PREFIXES),
    longer=st.sampled_from((0, 0.02)),
    size=st.sampled_from((1 << 18, 30_000, 17_011)),
)
@settings(max_examples=6, deadline=None)
def test_a_dense_log_tells_the_same_at_once_and_line_by_line(
    name: str, seed: int, odd: float, prefix: str, longer: float, size: int
) -> None:
    of = CATALOG.get(name)
    log = dense_log(of, seed, odd, prefix, longer)
    assert told(at_once(of, log, size)) == told(in_lines(of, log))


def searched(measure: str, log: str) -> tuple[Sequence[Search], Columns]:
    """The searches that were left, by which nothing was found, and the readings."""
    rule = profile(measure).measure
    ranks = RankFilter(rule.ranks, rule.rank_prefix or MPI_PREFIX)
    columns = Columns()
    searches = (
        Search(rule, ranks, ReadingSink(columns, None)),
        *(Search(stated, ranks, TextSink()) for stated in rule.stated.values()),
        *(Search(last, ranks, FigureSink(MetricValues("last"))) for last in rule.metrics.values()),
    )
    return Shapes(searches, ranks).search(log.encode()), columns


LINES = "".join(f"[1,0]<stdout>:iter {n}, samples/s: 3{n % 7}1.5\n" for n in range(1000, 3000))


TOPS = "".join(f"top_{n % 10}: {n}\n" for n in range(1000, 3000))


def test_no_line_of_a_shape_is_matched_again() -> None:
    left, columns = searched(READING, LINES)
    assert not left
    assert list(columns.steps) == list(range(1000, 3000))
    assert set(columns.values) == {301.5 + 10 * n for n in range(7)}


def test_a_fact_whose_words_are_in_no_shape_is_not_looked_for() -> None:
    stated = '\nstated = { precision = "(?P<value>bf16|fp[4-8]), see" }'
    assert not searched(READING + stated, LINES)[0]
    left, _columns = searched(READING + stated, LINES.replace("iter", "bf16, see iter"))
    assert len(left) == 1


def test_lines_that_differ_in_a_digit_of_a_word_are_of_different_shapes() -> None:
    left, columns = searched(r"reading = 'top_1: (?P<value>[\d.]+)'", TOPS)
    assert not left
    assert list(columns.values) == list(range(1001, 3000, 10))


def test_lines_of_another_rank_are_another_shape() -> None:
    left, columns = searched(READING, LINES + LINES.replace("[1,0]", "[1,3]"))
    assert not left
    assert list(columns.steps) == list(range(1000, 3000))


def test_readings_come_in_the_order_of_the_log_whatever_their_shapes() -> None:
    left, columns = searched(READING, "".join(f"iter {n}, samples/s: 2\n" for n in range(3000)))
    assert not left
    assert list(columns.steps) == list(range(3000))


def test_lines_of_too_many_kinds_are_left() -> None:
    lines = (f"iter {'x' * n}, samples/s: 3, iter 1, samples/s: 2\n" for n in range(500))
    left, columns = searched(READING, "".join(lines))
    assert left
    assert not columns.count


@pytest.mark.parametrize(
    "line",
    [
        "iter 1, samples/s: 2; iter 1, samples/s: 3\n",
        "iter 1, samples/s: 2\x1b[0m5\n",
        "é iter 1, samples/s: 2\n",
        "é [1,3]<stdout>:iter 1, samples/s: 2\n",
    ],
    ids=["two in a line", "torn by a colour", "beyond ASCII", "beyond ASCII of another rank"],
)
def test_a_line_that_its_shape_does_not_tell_leaves_the_search(line: str) -> None:
    left, columns = searched(READING, LINES + line)
    assert left
    assert not columns.count


def test_a_pattern_that_knows_digits_is_not_for_shapes() -> None:
    of = profile(r"reading = 'iter (?P<step>\d+), samples/s: (?P<value>[1-4][\d.]+)'")
    log = "".join(f"iter {n}, samples/s: {n % 9}.5\n" for n in range(3000)).encode()
    assert told(at_once(of, log)) == told(in_lines(of, log))
    assert len(at_once(of, log).readings) < 3000


def test_the_last_line_counts_though_its_value_is_none() -> None:
    metric = "\n[measure.metrics.loss]\nreading = 'loss: (?P<value>\\S+)'\n"
    of = profile(READING + metric)
    lines = [f"iter 20, samples/s: 2.5, loss: 3.{n % 10}\n" for n in range(1500)]
    log = "".join([*lines[:1409], "iter 20, samples/s: 2.5, loss: ...\n"]).encode()
    assert at_once(of, log).metrics["loss"] == 3.8


@pytest.mark.parametrize("values", [("nan",), ("nan", "3.4"), ("3.4", "nan"), ("-inf", "2.5", "")])
def test_a_last_value_without_a_digit_is_none_and_leaves_no_search(values: Sequence[str]) -> None:
    loss = "\n[measure.metrics.loss]\nreading = 'loss (?P<value>\\S*)'\n"
    lines = [f"iter {1000 + n}, samples/s: 2.5, loss {v}\n" for v in values for n in range(700)]
    log = "".join(lines)
    assert not searched(READING + loss, log)[0]
    of = profile(READING + loss)
    assert at_once(of, log.encode()).metrics == in_lines(of, log.encode()).metrics


@given(
    st.one_of(
        st.floats(-1e12, 1e12).map(str),
        st.integers(-(10**16), 10**16).map("{:,}".format),
        st.from_regex(r"[+-]?[0-9,]{0,9}\.?[0-9,]{0,20}(e[+-]?[0-9]{1,3})?", fullmatch=True),
    ),
    st.integers(0, 1 << 30),
)
def test_a_number_at_a_place_is_what_its_text_is(text: str, seed: int) -> None:
    chance = random.Random(seed)
    texts = [re.sub("[0-9]", lambda _: str(chance.randrange(10)), text) for _ in range(5)]
    rows = np.array([list(f"[{other}]".encode()) for other in [text, *texts]], np.uint8)
    told = NumberAt.of(rows[0].tobytes(), (1, 1 + len(text))).read(rows)
    assert list(map(str, told.tolist())) == [str(to_number(other)) for other in [text, *texts]]


MLLOG = (
    '{"namespace": "", "time_ms": 1700, "event_type": "POINT_IN_TIME", "key": "tracked_stats", '
    '"value": {"throughput": 2500.5, "rank 3": 7}, "metadata": {"file": "train.py", "step": 12}}'
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2500.5", "0.5"),
        ("2500.5", "02500.5"),
        ("2500.5", "2.5e1"),
        ("2500.5", "2e999"),
        ("2500.5", "-7.25"),
        ("2500.5", '"2500.5"'),
        ("2500.5", "[1, 2500]"),
        ("2500.5", "true"),
        ("2500.5", "NaN"),
        ("1700", "0"),
        ("1700", "017"),
        ('"step": 12', '"step": 2, "step": 12'),
        (', "step": 12', ""),
        ("12}", "12}} :::MLLOG " + MLLOG[:-1]),
        ("train.py", "tra\\u0069n.py"),
        ("tracked_stats", "tracked_stat5"),
        ("POINT", "tracked_stats"),
    ],
)
@given(seed=st.integers(0, 1 << 30), every=st.sampled_from((1, 2, 50)))
@settings(max_examples=5, deadline=None)
def test_objects_of_one_shape_are_read_as_each_of_them_is(
    old: str, new: str, seed: int, every: int
) -> None:
    of = CATALOG.get("mlperf-training")
    chance = random.Random(seed)
    lines = [MLLOG.replace(old, new) if n % every == 0 else MLLOG for n in range(300)]
    objects = (re.sub("[1-9]", lambda _: str(chance.randrange(10)), line) for line in lines)
    log = "".join(f":::MLLOG {line}\n" for line in objects).encode()
    assert told(at_once(of, log)) == told(in_lines(of, log))


def test_numpy_is_not_waited_for_with_a_small_log() -> None:
    code = (
        "import sys\nfrom tests.unit.profiles.builders import parse, profile, readings\n"
        "parse(profile(), readings(*[1.0] * 20000))\nassert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
