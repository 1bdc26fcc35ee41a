"""A mean or median of what a log prints at each reading is of the readings that count."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.format.case import Case
from profiles.format.measure_section import Window
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser
from tests.unit.profiles.builders import profile
from tui.cli import main

WINDOWS = st.one_of(
    st.builds(Window, skip=st.integers(0, 4), drop=st.integers(0, 2)),
    st.integers(1, 3).map(lambda skip: Window(skip=skip, keep_only=True)),
    st.integers(1, 5).map(lambda last: Window(last=last)),
    st.builds(
        lambda low, length: Window(from_step=low, to_step=None if length is None else low + length),
        st.integers(0, 6),
        st.none() | st.integers(0, 6),
    ),
)
SIDES = ("on the line", "after it", "before it")


def inside(window: Window, count: int) -> list[int]:
    """Which of so many readings count, whose steps are their numbers."""
    numbers = list(range(count))
    if window.by_step:
        high = count if window.to_step is None else window.to_step
        return [number for number in numbers if (window.from_step or 0) <= number <= high]
    if window.last is not None:
        return numbers[-window.last :]
    if window.keep_only and count == 1:
        return numbers
    return numbers[window.skip : count - window.drop]


def profile_with(window: Window, statistic: str) -> Profile:
    edges = ", ".join(
        f"{k} = {str(v).lower()}" for k, v in window.model_dump().items() if v is not None
    )
    return profile(
        "reading = 'step (?P<step>\\d+): (?P<value>[\\d.]+) samples/s'\n"
        f'statistic = "mean"\nwindow = {{ {edges} }}\n'
        "[measure.metrics.share]\nreading = 'share (?P<value>[\\d.]+)'\n"
        f'statistic = "{statistic}"'
    )


def lines_of(values: list[float], side: str) -> list[str]:
    lines = ["starting", "step by step"]
    for step, value in enumerate(values):
        reading, metric = f"step {step}: 100.0 samples/s", f"share {value}"
        match side:
            case "on the line":
                lines.append(f"\x1b[32m{reading}\x1b[0m, {metric}")
            case "after it":
                lines += [reading, "garbage collection", metric]
            case _:
                lines += [metric, reading]
    return [*lines, "done"]


def share_of(of: Profile, text: str, sizes: list[int]) -> float | None:
    parser = LogParser(of, Case(of.name, 1, 1, {}), keep=False)
    data, at, turn = text.encode(), 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        parser.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    parser.finish()
    return parser.metrics.get("share")


@given(
    values=st.lists(st.integers(1, 999).map(float), min_size=1, max_size=12),
    window=WINDOWS,
    side=st.sampled_from(SIDES),
    statistic=st.sampled_from(["mean", "median"]),
    sizes=st.lists(st.integers(1, 200), min_size=1, max_size=4),
)
def test_a_metric_is_of_the_window_of_the_readings(
    values: list[float], window: Window, side: str, statistic: str, sizes: list[int]
) -> None:
    if window.by_step and side == "before it":  # its reading's step is not known yet
        return
    found = share_of(profile_with(window, statistic), "\n".join(lines_of(values, side)), sizes)
    counted = [values[number] for number in inside(window, len(values))]
    if not counted:
        return  # nothing was measured
    made = statistics.fmean(counted) if statistic == "mean" else statistics.median(counted)
    assert found == pytest.approx(made)


def test_what_the_readings_that_count_do_not_have_is_not_taken_from_the_others() -> None:
    of = profile_with(Window(skip=1, keep_only=True), "median")
    text = "step 0: 5 samples/s, share 7\nstep 1: 9 samples/s, share N/A\nstep 2: 9 samples/s\n"
    assert share_of(of, text, [4096]) is None


def test_what_is_printed_once_counts_wherever_it_stands() -> None:
    of = profile_with(Window(skip=1), "median")
    text = "share 7\n" + "".join(f"step {step}: 9 samples/s\n" for step in range(4))
    assert share_of(of, text, [4096]) == 7


@pytest.mark.parametrize("count", [3, 40_000])  # few, and dense
def test_time_per_step_and_throughput_tell_of_the_same_steps(
    count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    line = "step {:>5}/99999 | loss 7.5 (+0.1z)| lr 1e-4 | {} ms | 40.3% bf16 MFU | {} tok/s\n"
    first = line.format(1, "9999.0", 52000)
    log.write_text(first + "".join(line.format(n, "500.0", 1000) for n in range(2, count)))
    assert main(["parse", "-p", "llm-c", "--gpus", "8", str(log)]) == 0
    assert "step_time_s: 0.5\n" in capsys.readouterr().out
    log.write_text(first)
    assert main(["parse", "-p", "llm-c", "--gpus", "8", str(log)]) == 0
    assert "step_time_s: 9.999\n" in capsys.readouterr().out
