"""What a line says and how it becomes a figure: JSON objects, scales, cumulative values, facts."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.format.case import Case
from profiles.format.profile import Profile
from profiles.logs.examples import ExampleFlaw, Flaw, example_flaws
from profiles.logs.log_parser import LogParser
from profiles.throughput.all_node_logs import with_all_logs
from profiles.throughput.measure_run import ONE_NODE, measure_run
from tests.unit.profiles.builders import case, measure, parse, profile

TRACKED = r"""
reading = ':::STATS (?P<json>\{.*)'
paths = { value = "value.throughput", step = "metadata.step" }
where = { key = "tracked" }
statistic = "mean"
"""
SPEEDS = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=40)


def line(value: float, step: int, key: str = "tracked") -> str:
    told = {"key": key, "value": {"throughput": value}, "metadata": {"file": "a.py", "step": step}}
    return f":::STATS {json.dumps(told)}"


@given(values=SPEEDS, order=st.randoms(use_true_random=False))
def test_objects_are_read_by_their_keys_whatever_their_order(
    values: list[float], order: object
) -> None:
    lines = []
    for step, value in enumerate(values):
        told = json.loads(line(value, step).removeprefix(":::STATS "))
        keys = list(told)
        order.shuffle(keys)  # type: ignore[attr-defined]
        lines.append(f"0: \x1b[1m:::STATS {json.dumps({key: told[key] for key in keys})}\x1b[0m x")
        lines.append(line(7.0, step, key="another"))
    log = "\n".join(lines)
    parser = parse(profile(TRACKED), log)
    assert list(parser.readings.values) == values
    assert list(parser.readings.steps) == list(map(float, range(len(values))))


@pytest.mark.parametrize(
    "broken",
    [
        ':::STATS {"key": "tracked", "value": {"throughput": ',
        ":::STATS " + '{"key": "tracked", "value": ' + "[" * 60_000,
        ':::STATS {"key": "tracked", "value": {"throughput": null}}',
        ':::STATS {"key": "tracked", "value": {"throughput": {"a": 1}}}',
        ':::STATS {"key": "tracked", "value": 3}',
        ":::STATS {tracked}",
    ],
)
def test_what_is_no_such_object_is_no_reading(broken: str) -> None:
    log = f"{broken}\n{line(5.0, 1)}\n"
    assert list(parse(profile(TRACKED), log).readings.values) == [5.0]


def test_an_escaped_text_is_the_same_text() -> None:
    escaped = line(5.0, 1).replace('"tracked"', '"\\u0074racked"')
    assert list(parse(profile(TRACKED), escaped).readings.values) == [5.0]


@pytest.mark.parametrize("pattern", [r"\{.*)", r"\{.*?\}\})", r"\{.*tracked.*)", r"\{[^:].*)"])
def test_a_glued_line_has_all_its_objects(pattern: str) -> None:
    glued = profile(TRACKED.replace(r"\{.*)", pattern))
    log = line(1.0, 1) + line(9.0, 2, "another") + line(2.0, 2) + "0: " + line(3.0, 3) + "x\n"
    assert list(parse(glued, log).readings.values) == [1.0, 2.0, 3.0]
    assert list(parse(glued, log.replace("x", "é")).readings.values) == [1.0, 2.0, 3.0]


def test_a_path_that_may_be_missing() -> None:
    of = profile(
        TRACKED
        + r"""
[measure.metrics.time_to_train_s]
reading = ':::STATS (?P<json>\{.*)'
paths = { value = "ms", end = "metadata.status" }
where = { key = ["start", "stop"], "metadata.status" = ["", "success"] }
statistic = "span"
scale = 0.001
"""
    )
    start = ':::STATS {"key": "start", "ms": 1000}\n'
    stop = ':::STATS {"key": "stop", "ms": 61500, "metadata": {"status": "%s"}}\n'
    assert measure(of, start + stop % "success").metrics["time_to_train_s"] == 60.5
    for log in (start + stop % "aborted", start * 2, stop % "success", stop % "success" + start):
        assert "time_to_train_s" not in measure(of, log).metrics
    late = start.replace("1000", "2000")
    assert measure(of, start + late + stop % "success").metrics["time_to_train_s"] == 60.5


@given(
    steps=st.lists(st.integers(1, 50), min_size=2, max_size=30),
    data=st.data(),
    kind=st.sampled_from(["mean", "total"]),
)
def test_cumulative_values_are_turned_back(
    steps: list[int], data: st.DataObject, kind: str
) -> None:
    times = data.draw(
        st.lists(st.floats(0.01, 100), min_size=len(steps), max_size=len(steps)), label="s per step"
    )
    lines, step, total = [], 0, 0.0
    for more, seconds in zip(steps, times, strict=True):
        step += more
        total += more * seconds
        lines.append(f"iter {step} time {total if kind == 'total' else total / step!r}")
    of = profile(
        rf"""
reading = 'iter (?P<step>\d+) time (?P<value>\S+)'
kind = "step_time"
cumulative = "{kind}"
"""
    )
    expected = times if kind == "mean" else times[1:]
    assert list(parse(of, "\n".join(lines)).readings.values) == pytest.approx(expected, rel=1e-6)


def test_a_count_that_begins_anew_is_not_a_negative_time() -> None:
    of = profile(
        r"""
reading = 'iter (?P<step>\d+) (?P<value>\d+)ms'
kind = "step_time"
cumulative = "total"
scale = 0.001
"""
    )
    log = "iter 1 5000ms\niter 2 5100ms\niter 3 100ms\niter 5 300ms\n"
    assert list(parse(of, log).readings.values) == pytest.approx([0.1, 0.1])


@pytest.mark.parametrize("count", [3, 40])  # few are taken one by one, many at once
def test_a_scale_makes_seconds_of_milliseconds(count: int) -> None:
    of = profile(
        r"""
reading = 'took (?P<value>[\d.,]+) ms'
kind = "step_time"
scale = 0.001
work = "global_batch * 1024"
"""
    )
    at = case(of, 1, 8, batch_size=160)
    found = measure(of, "took 2,000.0 ms\n" * count, at)
    assert found.throughput == pytest.approx(160 * 8 * 1024 / 2)
    assert found.metrics == pytest.approx({"step_time_s": 2.0})


GPT = r"""
name = "gpt"
framework = "F"
model = "GPT"
unit = "tokens/s"
[parameters]
precision = { choices = ["bf16", "fp8"], default = "bf16" }
[matrix]
cases = ["1n1g", "1n8g", "2n8g"]
[launch]
launcher = "per_node"
command = "train"
"""
STATED = r"""
reading = 'step (?P<step>\d+) (?P<value>[\d.]+) ms'
kind = "step_time"
scale = 0.001
work = "global_batch * sequence_length"
[measure.stated]
global_batch = 'batch (?P<value>\d+)'
sequence_length = 'length (?P<value>\d+)'
micro_batch = 'micro (?P<value>\d+)'
world_size = 'world (?P<value>\d+)'
model_parameters = 'N (?P<value>\d+)'
layers = 'L (?P<value>\d+)'
width = 'd (?P<value>\d+)'
gpu = 'on (?P<value>.+)'
[measure.computed]
data_parallel = "world_size // 2"
global_batch = "micro_batch * data_parallel"
"""


def gpt() -> Profile:
    return profile(STATED, head=GPT)


def at_8(**values: str) -> Case:
    return case(gpt(), 1, 8, **values)


def test_step_times_become_tokens_by_what_the_log_states() -> None:
    found = measure(gpt(), "batch 64\nlength 1024\nstep 1 500 ms\n", at_8())
    assert found.throughput == 64 * 1024 / 0.5
    assert found.metrics["tokens_per_s_per_gpu"] == 64 * 1024 / 0.5 / 8
    assert found.metrics["step_time_s"] == 0.5
    assert found.metrics["global_batch"] == 64


def test_what_is_not_stated_may_follow_from_what_is() -> None:
    log = "micro 3\nworld 8\nlength 10\nstep 1 1000 ms\n"
    assert measure(gpt(), log, at_8()).throughput == 3 * 4 * 10
    assert measure(gpt(), f"batch 100\n{log}", at_8()).throughput == 1000


def test_what_nobody_says_is_named() -> None:
    found = measure(gpt(), "batch 64\nstep 1 1000 ms\n", at_8())
    assert found.throughput is None
    assert "sequence_length" in found.reason
    assert "global_batch" not in found.reason


def test_another_number_of_processes_than_the_case_is_said() -> None:
    log = "batch 1\nworld 16\nlength 1\nstep 1 1000 ms\n"
    assert any("world_size 16" in text for text in measure(gpt(), log, at_8()).warnings)
    assert not measure(gpt(), log.replace("16", "8"), at_8()).warnings


MODEL = "batch 8\nlength 2048\nN 1000000000\nL 24\nd 1536\n"


def test_mfu_is_model_flop_over_the_dense_peak() -> None:
    found = measure(gpt(), f"{MODEL}on NVIDIA H200\nstep 1 100 ms\n", at_8()).metrics
    flop = (6 * 1e9 + 12 * 24 * 1536 * 2048) * 8 * 2048 / 0.1 / 8 / 1e12
    assert found["tflop_per_s_per_gpu"] == pytest.approx(flop)
    assert found["mfu"] == pytest.approx(flop / 989)


@pytest.mark.parametrize(
    ("gpu", "precision", "ms"),
    [
        ("NVIDIA H200", "fp8", 100),  # no agreed peak
        ("GeForce 9999", "bf16", 100),  # unknown
        ("NVIDIA H100 PCIe", "bf16", 100),  # not the SXM part
        ("NVIDIA H200", "bf16", 0.01),  # more than there is: some figure is wrong
    ],
)
def test_no_mfu_where_it_is_not_known(gpu: str, precision: str, ms: float) -> None:
    log = f"{MODEL}on {gpu}\nstep 1 {ms} ms\n"
    assert "mfu" not in measure(gpt(), log, at_8(precision=precision)).metrics


@given(ms=st.floats(0.001, 1e6), width=st.integers(1, 10**5), n=st.integers(1, 10**13))
def test_mfu_is_never_over_one(ms: float, width: int, n: int) -> None:
    log = f"batch 8\nlength 2048\nN {n}\nL 24\nd {width}\non NVIDIA B200\nstep 1 {ms:.6f} ms\n"
    assert 0 < measure(gpt(), log, at_8()).metrics.get("mfu", 1) <= 1


def test_a_duration_is_a_rate_of_runs() -> None:
    of = profile("reading = 'took (?P<value>\\d+) s'\nkind = 'duration'\nstatistic = 'last'")
    assert measure(of, "took 1800 s\n").throughput == 2


def test_a_bandwidth_is_not_multiplied() -> None:
    of = profile("reading = 'bus (?P<value>\\d+)'\nkind = 'bandwidth'")
    assert measure(of, "bus 344\n", case(of, 2, 8)).throughput == 344


REQUIRED = r"""
reading = 'speed (?P<value>\d+)'
required = "time_to_train_s"
[measure.metrics.time_to_train_s]
reading = 'done in (?P<value>\d+) s'
"""


def test_a_required_metric_tells_success() -> None:
    of = profile(REQUIRED)
    without = measure(of, "done in 30 s\n")
    assert (without.throughput, without.reason) == (None, "")
    assert measure(of, "speed 3\n").reason == "the log has no time_to_train_s"


PER_NODE = "reading = 'speed (?P<value>\\d+)'\nscope = 'per_node'"


def test_logs_of_nodes_are_added_up(tmp_path: Path) -> None:
    of = profile(PER_NODE)
    at = case(of, 2, 8)
    logs = [tmp_path / "a.log", tmp_path / "b.log"]
    for log, text in zip(logs, ("speed 30\n", "speed 50\n"), strict=True):
        log.write_text(text, encoding="utf-8")
    first = measure_run(of, at, parse(of, "speed 30\n", at))
    assert first.throughput == 60
    assert ONE_NODE in first.warnings
    both = with_all_logs(of, at, first, logs, profiled=False)
    assert both.throughput == 80
    assert ONE_NODE not in both.warnings
    assert with_all_logs(of, at, first, logs[:1], profiled=False) == first
    assert with_all_logs(of, at, first, [logs[0], tmp_path / "gone"], profiled=False) == first


EXAMPLES = r"""
reading = 'iter (?P<step>\d+) (?P<value>[\d.]+)/s'
example = "{reading}"
[measure.metrics.loss]
reading = 'loss (?P<value>\S+)'
example = "{metric}"
[[measure.failure]]
pattern = 'BOOM'
reason = "it burst"
"""


def flaws(reading: str, metric: str) -> list[ExampleFlaw]:
    text = EXAMPLES.replace("{reading}", reading).replace("{metric}", metric)
    return list(example_flaws(profile(text)))


def test_examples_are_read_as_a_log_would_be() -> None:
    missing = ExampleFlaw("measure.failure[0].example", Flaw.MISSING)
    good = "[1,0]<stdout>:\\u001b[1miter 3 4.5/s"
    assert flaws(good, "loss 3") == [missing]
    assert flaws("iter 3", "loss 3")[0] == ExampleFlaw("measure.example", Flaw.NOT_FOUND)
    assert flaws(good, "loss high")[0] == ExampleFlaw(
        "measure.metrics.loss.example", Flaw.NO_NUMBER
    )


def test_values_stay_finite() -> None:
    of = profile(TRACKED)
    log = ':::STATS {"key": "tracked", "value": {"throughput": NaN}}\n' + line(2.0, 1)
    found = parse(of, log).readings.values
    assert list(found) == [2.0]
    assert all(map(math.isfinite, found))


@given(
    rows=st.lists(st.tuples(st.integers(0, 80), st.floats(0.1, 1e4)), min_size=1, max_size=90),
    cuts=st.lists(st.integers(0, 3000), max_size=4),
)
def test_a_metric_with_steps_is_a_curve(rows: list[tuple[int, float]], cuts: list[int]) -> None:
    of = profile(
        r"""
reading = 'never (?P<value>x)'
[measure.metrics.busbw]
reading = 'bytes (?P<step>[\d.]+) busbw (?P<value>\S+)'
scale = 2
"""
    )
    log = "".join(f"bytes {size} busbw {value!r}\n" for size, value in rows)
    log += "bytes 3 busbw nan\nbytes 7.5 busbw 1\n"
    parser = LogParser(of, case(of))
    edges = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    for start, end in pairwise(edges):
        parser.feed(log[start:end].encode())
    parser.finish()
    kept = list(dict.fromkeys(size for size, _value in rows))[:64]
    last = {size: value for size, value in rows if size in kept}
    assert parser.metrics == {f"busbw_at_{size}": 2 * last[size] for size in sorted(kept)}


OF_UNITS = r"""
reading = 'iter (?P<step>\d+) \((?P<unit>[a-z]+)\): (?P<value>[\d.]+)'
kind = "step_time"
"""
IN_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


@given(times=st.lists(st.tuples(st.integers(1, 10**9), st.sampled_from(["s", "ms", "us"]))))
def test_a_duration_is_in_the_unit_that_its_line_names(times: list[tuple[int, str]]) -> None:
    log = "".join(f"iter {n} ({unit}): {value}\n" for n, (value, unit) in enumerate(times))
    parser = parse(profile(OF_UNITS), log)
    expected = [value * IN_SECONDS[unit] for value, unit in times]
    assert list(parser.readings.values) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("lines", [1, 100])
def test_a_unit_that_nobody_knows_is_no_reading(lines: int) -> None:
    parser = parse(profile(OF_UNITS), "iter 1 (fortnight): 2\n" * lines)
    assert (len(parser.readings), parser.rejected) == (0, lines)


@pytest.mark.parametrize(
    "more",
    [
        'kind = "throughput"',
        'kind = "step_time"\ntimestamp = "%H"',
        'kind = "step_time"\npaths = { value = "value", unit = "unit" }',
    ],
)
def test_a_unit_is_that_of_a_duration(more: str) -> None:
    group = "json" if "paths" in more else "value"
    time = "(?P<time>x)" if "timestamp" in more else ""
    unit = "" if "paths" in more else r"(?P<unit>m?s)"
    with pytest.raises(ValueError, match="a 'unit' is"):
        profile(f"reading = '{time}{unit} (?P<{group}>.*)'\n{more}")
