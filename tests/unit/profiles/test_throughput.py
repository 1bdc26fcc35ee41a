"""From readings to samples per second: windows, statistics, scopes, variants."""

from __future__ import annotations

import math
import re
import statistics
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from profiles.errors import LogError
from profiles.format.case import Case
from profiles.format.catalog import Catalog
from profiles.format.measure_section import Window
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser
from profiles.throughput.measure_log_file import measure_file
from profiles.throughput.measure_run import Measurement, global_throughput, left_out, measure_run
from profiles.throughput.run_facts import Facts
from profiles.throughput.window import describe_window, warm_up
from tests.unit.profiles.builders import HEAD, READING, TIMED, case, measure, profile, readings


def rule(text: str) -> Profile:
    return profile(f"{READING}\n{text}")


VALUES = (100.0, 300.0, 310.0, 290.0, 320.0, 305.0)


@pytest.mark.parametrize(
    ("text", "throughput", "used", "window"),
    [
        ("statistic = 'mean'", statistics.fmean(VALUES), 6, "all readings"),
        (
            "statistic = 'mean'\nwindow = { skip = 1 }",
            statistics.fmean(VALUES[1:]),
            5,
            "readings after the first",
        ),
        (
            "statistic = 'mean'\nwindow = { skip = 2, drop = 1 }",
            statistics.fmean(VALUES[2:-1]),
            3,
            "readings after the first 2 and before the last",
        ),
        ("statistic = 'median'\nwindow = { last = 3 }", 305, 3, "last 3 readings"),
        (
            "statistic = 'mean'\nwindow = { from_step = 40, to_step = 80 }",
            300,
            3,
            "steps 40 to 80",
        ),
        ("statistic = 'mean'\nwindow = { from_step = 81 }", 312.5, 2, "steps from 81"),
        ("statistic = 'mean'\nwindow = { to_step = 40 }", 200, 2, "steps to 40"),
        ("statistic = 'last'", 305, 6, "all readings"),
        ("statistic = 'harmonic_mean'", statistics.harmonic_mean(VALUES), 6, "all readings"),
        ("statistic = 'trimmed_mean'\ntrim = { at_least = 1 }", 301.25, 6, "all readings"),
    ],
)
def test_windows_and_statistics(text: str, throughput: float, used: int, window: str) -> None:
    result = measure(rule(text), readings(*VALUES))
    assert result.throughput == pytest.approx(throughput)
    assert (result.used, result.window, result.readings) == (used, window, 6)
    assert (result.unit, result.scope, result.reason, result.warnings) == (
        "images/s", "global", "", ()
    )  # fmt: skip


def test_the_default_is_samples_by_wall_time() -> None:
    # 20 steps at 100/s, 20 at 300/s: the time adds up, not the speed.
    assert measure(rule(""), readings(100, 300)).throughput == pytest.approx(150)


def test_readings_of_unequal_length_count_by_their_steps() -> None:
    log = "iter 10, samples/s: 100\niter 40, samples/s: 300\niter 50, samples/s: 100\n"
    result = measure(rule("window = { skip = 1 }"), log)
    assert result.throughput == pytest.approx(40 / (30 / 300 + 10 / 100))


def test_a_new_epoch_does_not_make_a_reading_negative() -> None:
    log = readings(100, 100, 100) + readings(100, 100)
    assert measure(rule(""), log).throughput == pytest.approx(100)


def test_per_device_readings_are_multiplied_by_the_devices() -> None:
    it = rule("scope = 'per_device'\nstatistic = 'mean'")
    assert measure(it, readings(100, 102), case(it, 4, 8)).throughput == 101 * 32


STEP_TIME = r"reading = 'Iter (?P<step>\d+), time: (?P<value>[\d.]+)'" + "\nkind = 'step_time'\n"


@pytest.mark.parametrize(
    ("statistic", "seconds"), [("mean", 0.75), ("elapsed", 0.75), ("median", 0.75), ("last", 1.0)]
)
def test_step_times_give_batch_by_time(statistic: str, seconds: float) -> None:
    it = profile(f"{STEP_TIME}statistic = '{statistic}'")
    result = measure(it, "Iter 1, time: 0.5\nIter 2, time: 1.0\n", case(it, 1, 8))
    assert result.throughput == pytest.approx(128 * 8 / seconds)


def test_step_times_without_a_batch_size_cannot_be_measured() -> None:
    head = HEAD.replace("batch_size =", "size =")
    it = profile(STEP_TIME, head)
    result = measure(it, "Iter 1, time: 0.5\n")
    assert result.throughput is None
    assert "give it with --batch-size" in result.reason


PADDLE = (
    TIMED
    + """
timestamp = "%Y-%m-%d %H:%M:%S,%f"
kind = "step_time"
window = { from_step = 20, to_step = 119 }
statistic = "elapsed"
"""
)


def paddle_log(seconds_per_step: float, *, timestamps: bool = True) -> str:
    lines = []
    for step in range(130):
        at = 60 + step * seconds_per_step
        stamp = f"2020-08-03 17:{int(at // 60):02d}:{int(at % 60):02d},{int(at * 1000 % 1000):03d}"
        stamp = stamp if timestamps else "0-0-0 1:1:1"
        lines.append(f"{stamp}-INFO: [Pass 0, train batch {step}] loss 7.1, elapse 0.100 sec")
    return "\n".join(lines) + "\n"


def test_elapsed_goes_by_the_logs_own_timestamps() -> None:
    it = profile(PADDLE)
    result = measure(it, paddle_log(0.25), case(it, 1, 8))
    assert result.throughput == pytest.approx(128 * 8 / 0.25)
    assert (result.used, result.window) == (100, "steps 20 to 119")


def test_without_usable_timestamps_elapsed_says_so_and_takes_the_readings() -> None:
    it = profile(PADDLE)
    result = measure(it, paddle_log(0.25, timestamps=False), case(it, 1, 8))
    assert result.throughput == pytest.approx(128 * 8 / 0.1)
    assert result.warnings == (
        "the timestamps do not span the window; measured by its readings instead",
    )


def at(seconds: float) -> str:
    return f"{datetime(2020, 9, 2, 9) + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S,%f}"[:-3]


@given(
    shift=st.floats(-1e5, 1e5),
    step=st.integers(21, 119),
    every=st.sampled_from([0.25, 0.3614, 5.0]),
)
def test_a_clock_that_was_set_in_the_window_is_told(shift: float, step: int, every: float) -> None:
    it = profile(PADDLE)
    log = "".join(
        f"{at(every * n + shift * (n >= step))}-INFO: [Pass 0, train batch {n}] loss 6.8, "
        f"elapse {every:.4f} sec\n"
        for n in range(120)
    )
    result = measure(it, log, case(it, 1, 8))
    assert result.throughput is not None
    # What the shift makes of the figure is more than a quarter, or it is not worth a word.
    wrong = not 1 / 1.25 <= result.throughput / (128 * 8 / every) <= 1.25
    back = every + shift < -0.001 * (99 * every + shift)
    if 99 * every + shift <= 0:  # nothing but the readings is left
        assert result.throughput == pytest.approx(128 * 8 / every)
    else:
        assume(abs(abs(result.throughput / (128 * 8 / every)) - 1.25) > 1e-3)
        assume(abs(every + shift + 0.001 * (99 * every + shift)) > 0.002)
        assert ("clock" in result.doubts) == (wrong or back)
    assert {text for own in result.doubts.values() for text in own} <= {*result.warnings}
    if "clock" in result.doubts and back:
        told = re.search(rf"run backwards by (\S+) s at step {step}:", result.warnings[0])
        assert told is not None
        by_stamps = pytest.approx(-every - shift, rel=0.006, abs=0.0011)  # those have no more
        assert float(told[1].replace(",", "")) == by_stamps


@given(
    speeds=st.lists(st.floats(90, 110), min_size=3, max_size=60),
    at=st.integers(0, 59),
    times=st.floats(3.7, 1e12),
    inverse=st.booleans(),
)
def test_readings_far_above_the_others_are_told(
    speeds: list[float], at: int, times: float, inverse: bool
) -> None:
    statistic = "kind = 'step_time'\n" * inverse + "statistic = 'elapsed'"

    def measured(values: list[float]) -> Measurement:
        log = readings(*(1 / value if inverse else value for value in values))
        return measure(rule(statistic), log)

    assert not measured(speeds).doubts
    at %= len(speeds)
    odd = [*speeds[:at], 100 * times, *speeds[at:]]
    (text,) = measured(odd).doubts["far_above"]
    assert text.startswith(f"1 of {len(odd)} readings is more than 3 times as fast")
    assert f"at step {20 * (at + 1)}:" in text
    assert "the others may have been disturbed, or the log tells this one otherwise" in text
    assert text in measured(odd).warnings


SUMMARY = "statistic = 'mean'\nsummary = 'throughput : (?P<value>[\\d.]+)'"


def test_a_summary_supersedes_the_readings() -> None:
    result = measure(rule(SUMMARY), readings(1, 2) + "train throughput : 12.5 images/s\n")
    assert (result.throughput, result.statistic, result.window) == (12.5, "summary", "summary line")
    assert (result.readings, result.used) == (2, 0)


def test_a_summary_of_one_device_is_multiplied() -> None:
    it = rule(SUMMARY + "\nsummary_scope = 'per_device'")
    assert measure(it, "throughput : 2\n", case(it, 2, 8)).throughput == 32


def test_a_summary_is_of_the_readings_kind_and_scale() -> None:
    it = rule(SUMMARY + "\nkind = 'step_time'\nscale = 0.001")
    of_eight = case(it, 1, 8)
    result = measure(it, "throughput : 250 ms\n", of_eight)
    assert result.throughput == of_eight.global_batch / 0.25
    assert result.metrics["step_time_s"] == 0.25


def test_a_log_without_its_summary_is_measured_with_a_warning() -> None:
    result = measure(rule(SUMMARY), readings(1, 3))
    assert result.throughput == 2
    assert result.warnings == ("the log has no summary line; measured over its readings instead",)


VARIANTS = """
statistic = "mean"
window = { skip = 1 }
[[measure.variant]]
when = "nodes > 1"
window = { last = 1 }
scope = "per_device"
[[measure.variant]]
when = "gpus == 8 and precision == 'amp'"
statistic = "median"
summary = ""
"""


def test_the_first_variant_that_holds_for_the_case_is_taken() -> None:
    it = rule(VARIANTS)
    log = readings(1, 2, 3, 10)
    assert measure(it, log).throughput == 5
    assert measure(it, log, case(it, 2, 4, precision="amp")).throughput == 80
    assert measure(it, log, case(it, 1, 8, precision="amp")).throughput == 3


@pytest.mark.parametrize(
    ("text", "log", "reason"),
    [
        ("", "nothing\n", "no line of the log matches the profile's reading"),
        (
            "window = { skip = 5 }",
            readings(1, 2),
            "the log has 2 readings, none of them in the window: readings after the first 5",
        ),
        ("statistic = 'mean'", readings(0), "the readings in the window give no positive throug"),
        ("", readings(0, 5), "the readings in the window give no positive throughput"),
    ],
)
def test_what_cannot_be_measured_is_none_with_a_reason(text: str, log: str, reason: str) -> None:
    result = measure(rule(text), log)
    assert result.throughput is None
    assert reason in result.reason


def test_what_is_odd_is_said() -> None:
    few = measure(rule("statistic = 'mean'\nwindow = { last = 9 }"), readings(1, 2))
    assert few.warnings == ("the window asks for the last 9 readings, the log has 2",)
    nan = measure(rule("statistic = 'mean'"), readings(1) + "iter 2, samples/s: nan\n")
    assert nan.warnings == (left_out(1),)
    trim = measure(rule("statistic = 'trimmed_mean'"), readings(*range(1, 11)))
    assert trim.throughput == 5.5
    assert trim.warnings == ("10 readings are too few to trim; plain mean",)


def test_the_rule_of_paddles_tipc_drops_the_larger_of_five_and_a_twentieth() -> None:
    values = [float(value**2) for value in range(1, 201)]  # no two ranges have the same mean
    trimmed = rule("statistic = 'trimmed_mean'")
    of_many = measure(trimmed, readings(*values))
    assert of_many.throughput == statistics.fmean(values[10:190])  # a twentieth from each end
    one_off = measure(trimmed, readings(*values[:50], 1e9))
    assert one_off.throughput == statistics.fmean(values[5:46])  # five


@pytest.mark.parametrize(
    "statistic", ["mean", "median", "trimmed_mean", "harmonic_mean", "last", "elapsed"]
)
def test_readings_whose_sum_is_beyond_all_numbers_break_nothing(statistic: str) -> None:
    asked = rule(f"statistic = '{statistic}'\ntrim = {{ at_least = 1 }}")
    found = measure(asked, readings(1, *[1.797e308] * 6, 2))
    assert found.readings == 8
    assert found.throughput is None or math.isfinite(found.throughput)


def test_less_than_half_is_trimmed_from_each_end() -> None:
    almost = rule("statistic = 'trimmed_mean'\ntrim = { fraction = 0.49 }")
    assert measure(almost, readings(*range(1, 102))).throughput == 51
    with pytest.raises(ValidationError, match=r"less than 0\.5"):
        rule("statistic = 'trimmed_mean'\ntrim = { fraction = 0.5 }")


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40))
def test_every_statistic_lies_between_the_extremes(values: list[float]) -> None:
    for statistic in ("mean", "median", "trimmed_mean", "harmonic_mean", "last", "elapsed"):
        result = measure(rule(f"statistic = '{statistic}'"), readings(*values))
        assert result.throughput is not None
        assert min(values) * (1 - 1e-9) <= result.throughput <= max(values) * (1 + 1e-9)


@given(st.lists(st.sampled_from([20.0, 30.0, 40.0, 50.0, 60.0]), max_size=12))
def test_a_window_by_step_is_one_stretch_of_the_log(steps: list[float]) -> None:
    log = "".join(f"iter {step:g}, samples/s: {n + 1}\n" for n, step in enumerate(steps))
    it = rule("statistic = 'mean'\nwindow = { from_step = 30, to_step = 50 }")
    result = measure(it, log)
    inside = [30 <= step <= 50 for step in steps]
    assert (result.throughput is None) == (not any(inside))
    if any(inside):
        start = inside.index(True)
        end = inside.index(False, start) if False in inside[start:] else len(steps)
        assert result.used == end - start


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_steps_of_a_window_are_told_exactly(one: int, other: int) -> None:
    first, last = sorted((one, other))
    assert describe_window(Window(from_step=first, to_step=last)) == f"steps {first} to {last}"


@given(st.integers(1, 10**9))
def test_a_large_number_of_the_case_does_not_contradict_the_same_number_of_the_log(
    length: int,
) -> None:
    run = Case("demo", 1, 8, {"length": length})
    facts = Facts(run, {"sequence_length": str(length)}, {}, {"length": "sequence_length"})
    assert facts.contradictions == []


def test_charts_get_global_throughput_and_warm_up() -> None:
    it = profile(f"{STEP_TIME}window = {{ skip = 1 }}")
    at = case(it, 1, 2)
    assert global_throughput(it.measure, at, 0.5, Facts(at)) == 512
    log = readings(1, 2, 3, 4, 5)  # iterations 20, 40 …
    by_reading = (("skip = 2", 2), ("skip = 9", 5), ("last = 2", 3), ("last = 9", 0))
    for text, count in (*by_reading, ("from_step = 60", 2)):
        by = rule(f"window = {{ {text} }}")
        parser = LogParser(by, case(by))
        parser.feed(log.encode())
        assert warm_up(parser.rule.window, parser.readings) == count
        assert warm_up(parser.rule.window, parser.readings[4:], 3) == max(3, count)


# The listing that the OneFlow report of 8 Aug 2020 prints as its example.
ONEFLOW = """\
train: epoch 0, iter 20, loss: 6.505637, top_1: 0.000000, top_k: 0.000000, samples/s: 288.088
train: epoch 0, iter 40, loss: 5.736447, top_1: 0.020313, top_k: 0.117578, samples/s: 385.628
train: epoch 0, iter 60, loss: 4.274485, top_1: 0.817969, top_k: 0.991797, samples/s: 386.264
train: epoch 0, iter 80, loss: 2.331075, top_1: 1.000000, top_k: 1.000000, samples/s: 385.723
train: epoch 0, iter 100, loss: 1.236110, top_1: 1.000000, top_k: 1.000000, samples/s: 384.622
train: epoch 0, iter 120, loss: 1.078446, top_1: 1.000000, top_k: 1.000000, samples/s: 385.367
train: epoch 0, iter 140, loss: 1.054016, top_1: 1.000000, top_k: 1.000000, samples/s: 384.704
train: epoch 0, iter 160, loss: 1.048110, top_1: 1.000000, top_k: 1.000000, samples/s: 384.927
train: epoch 0, iter 180, loss: 1.050786, top_1: 1.000000, top_k: 1.000000, samples/s: 384.109
train: epoch 0, iter 200, loss: 1.047857, top_1: 1.000000, top_k: 1.000000, samples/s: 384.517
"""


def test_oneflows_example_is_the_mean_of_all_readings_but_the_first(tmp_path: Path) -> None:
    it = Catalog.load().get("oneflow-resnet50")
    path = tmp_path / "oneflow.log"
    path.write_text(ONEFLOW)
    result, parser = measure_file(it, path, case(it))
    assert result.throughput == pytest.approx(385.0956667)
    assert (result.readings, result.used) == (10, 9)
    assert result.metrics["loss"] == 1.047857
    assert parser.failures == ()


def test_paddles_own_log_is_measured_from_batch_20_to_119() -> None:
    it = Catalog.load().get("paddle-resnet50")
    result = measure(it, paddle_log(0.5), case(it, 1, 4))
    assert result.throughput == pytest.approx(128 * 4 / 0.5)


def test_a_log_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    it = profile()
    with pytest.raises(LogError, match=r"none\.log: cannot read the log: No such file"):
        measure_file(it, tmp_path / "none.log", case(it))
    with pytest.raises(LogError, match="Is a directory"):
        measure_file(it, tmp_path, case(it))


def test_measuring_a_file_equals_feeding_it(tmp_path: Path) -> None:
    it = rule("statistic = 'mean'")
    log = (readings(*VALUES) + "noise\n" * 500) * 300  # several blocks
    path = tmp_path / "a.log"
    path.write_text(log)
    result, _parser = measure_file(it, path, case(it))
    assert result == measure(it, log)
    assert result.readings == 1800


def test_an_empty_log_has_no_reading(tmp_path: Path) -> None:
    path = tmp_path / "empty.log"
    path.touch()
    it = profile()
    assert measure_file(it, path, case(it))[0].reason.startswith("no line of the log")


def test_measure_run_takes_what_was_read_so_far() -> None:
    it = rule("statistic = 'mean'")
    at: Case = case(it)
    parser = LogParser(it, at)
    parser.feed(readings(5).encode())
    assert measure_run(it, at, parser).throughput == 5
