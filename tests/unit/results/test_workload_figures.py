"""Further figures of a run, as the console and the report tell them."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from backends.results.results_json import case_document, run_document
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from backends.results.workload_figures import (
    OTHER_READINGS,
    configuration,
    figure_text,
    measurements,
)
from profiles.format.run_fact_names import NUMBERS
from tui.screens.result_text import case_text
from tui.text import named_rows

NAMES = st.text(st.characters(whitelist_categories=("Ll",)), min_size=1, max_size=40)
SPEEDS = st.floats(1.0, 1e5)


@given(st.dictionaries(NAMES, st.text("0123456789", min_size=1), min_size=1, max_size=9))
def test_a_value_stands_apart_from_its_name_however_long_that_is(rows: dict[str, str]) -> None:
    lines = named_rows(rows.items()).plain.splitlines()
    assert [tuple(re.split(" {2,}", line)) for line in lines] == list(rows.items())
    begun = {cell_len(line) - len(value) for line, value in zip(lines, rows.values(), strict=True)}
    assert len(begun) == 1


@given(st.sets(st.integers(0, 40), min_size=2))
def test_sizes_of_messages_come_in_their_order_in_binary_units(powers: set[int]) -> None:
    metrics = {f"busbw_gb_per_s_at_{2**power}": float(power + 1) for power in powers}
    rows = measurements(metrics)
    assert [value.removesuffix(" GB/s") for _, value in rows] == [
        f"{power + 1}" for power in sorted(powers)
    ]
    assert all(re.fullmatch(r"busbw at \d{1,4} (B|KiB|MiB|GiB|TiB)", name) for name, _ in rows)


@given(st.sampled_from(sorted(NUMBERS)), st.integers(0, 2**40))
def test_what_a_workload_is_made_of_is_counted_in_whole_numbers_apart_from_figures(
    name: str, value: int
) -> None:
    metrics = {name: float(value), "loss": 1.5}
    assert configuration(metrics) == [(name.replace("_", " "), f"{value:,}")]
    assert measurements({**metrics, "size_bytes": 1.0}) == [("training loss", "1.50")]


def test_a_figure_has_its_unit_and_mfu_is_a_percentage() -> None:
    metrics = {"step_time_s": 0.269295, "mfu": 0.45202, "memory": 11457.0, "latency_us": 108.096}
    assert dict(measurements(metrics)) == {
        "step time": "0.269 s",
        "mfu": "45.2%",
        "memory, by its log": "11,457 MiB",
        "latency": "108.1 µs",
    }
    assert figure_text("size_bytes", 4294967296.0) == "4 GiB"


def test_what_a_collective_tells_of_one_size_says_of_which() -> None:
    metrics = {"latency_us": 79.84, "p99_us": 12522.048, "straggler_us": 5.936}
    assert [name for name, _ in measurements({**metrics, "size_bytes": 2.0**32})] == [
        "latency at the smallest size",
        "p99 at 4 GiB",
        "straggler at 4 GiB",
    ]
    assert [name for name, _ in measurements(metrics)] == ["latency", "p99", "straggler"]


@given(st.dictionaries(st.sampled_from(["compute_ips", "loss", "data_time_s"]), SPEEDS, min_size=1))
def test_a_speed_of_other_readings_than_a_figure_that_its_log_sums_up_says_so(
    metrics: dict[str, float],
) -> None:
    run = RunResult("r", "p", "F", "M", "1n1g", 1, 1, {}, 1, throughput=100.0, metrics=metrics)
    run = replace(run, statistic="summary", window="summary line")
    other = "compute_ips" in metrics
    for summed, marked in ((run, other), (replace(run, statistic="mean", window="all"), False)):
        group = summarise([summed])[0]
        (case,) = group.cases
        lines = case_text(case, group).plain.splitlines()
        (line,) = [line for line in lines if "without data loading" in line] or [""]
        assert line.endswith("‡") is marked
        assert any(OTHER_READINGS in line for line in lines) is marked
        for told in (run_document(summed), case_document(case, group)):
            assert told["metrics_of_other_readings"] == ["compute_ips"] * marked
