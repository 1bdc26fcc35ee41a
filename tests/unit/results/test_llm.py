"""The layout of language models, what 10^9 tokens cost, and what has no speedup."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.run.host_part import priced
from backends.hosts.telemetry_summary import GpuUse, Telemetry
from backends.results.campaign_report import ReportContext, render_report
from backends.results.findings import Concern
from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.compare_frameworks import compare_tables
from backends.results.layouts.llm import llm_tables
from backends.results.layouts.speedup import speedup_tables
from backends.results.projection import project_group
from backends.results.render import markdown_rows, render_markdown
from backends.results.results_json import document
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from backends.results.translations import Lang
from profiles.gpu_models import GPU_MODELS, nearest_peak
from profiles.throughput.measure_run import Measurement

MANUAL = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
GPT2 = {
    "model_parameters": 123_587_328.0,
    "layers": 12.0,
    "width": 768.0,
    "sequence_length": 1024.0,
}
FLOP = 6 * 123_587_328 + 12 * 12 * 768 * 1024
NO_RUN = RunResult(
    run_id="r",
    profile="p",
    framework="F",
    model="GPT",
    case_tag="1n1g",
    nodes=1,
    gpus_per_node=1,
    parameters={},
    repeat=1,
    attempt=1,
    state="succeeded",
    throughput=1000.0,
    unit="tokens/s",
)
Runs = Callable[..., list[RunResult]]


def run_of(runs_of: Runs, tag: str, speed: float, **fields: Any) -> list[RunResult]:
    common: dict[str, Any] = {"unit": "tokens/s", "model": "GPT", "parameters": {"batch_size": 32}}
    return runs_of(tag, [speed], **(common | fields))


def row(runs: list[RunResult], lang: str = "en") -> dict[str, str]:
    (table,) = llm_tables(summarise(runs), LayoutOptions(lang=lang))  # type: ignore[arg-type]
    (cells,) = table.rows
    return dict(zip(table.headings, cells, strict=True))


@given(speed=st.floats(1, 3000), mfu=st.floats(0.01, 0.99))
def test_a_printed_peak_is_one_of_the_table(speed: float, mfu: float) -> None:
    metrics = {"tflop_per_s_per_gpu": speed, "mfu": mfu}
    (table,) = llm_tables(summarise([replace(NO_RUN, metrics=metrics)]))
    said = " ".join(table.notes)
    peaks = {peak for model in GPU_MODELS for peak in model.peaks if peak is not None}
    near = {peak for peak in peaks if abs(speed / mfu - peak) <= 0.0025 * peak}
    for peak in peaks:
        assert (f"dense peak of {peak:g} TFLOP/s" in said) == (peak in near)
    assert ("is not stated" in said) == (not near)


def test_a_peak_is_known_again_from_rounded_figures() -> None:
    assert nearest_peak(209.52 / 0.2119) == 989  # an MFU of 21.19%
    assert nearest_peak(989 * 1.0024) == 989
    assert nearest_peak(989 * 1.0026) is None


def test_a_row_has_what_the_log_states_and_what_follows(runs_of: Runs) -> None:
    speed = 1_902_300.0
    tflop = speed / 4 * FLOP / 1e12
    metrics = {
        **GPT2,
        "tflop_per_s_per_gpu": tflop,
        "mfu": tflop / 989,
        "global_batch": 128.0,
        "tensor_parallel": 2.0,
        "data_parallel": 2.0,
    }
    gpus = tuple(GpuUse("n1", gpu, 60.0, power_w_mean=680.0) for gpu in range(4))
    runs = run_of(
        runs_of,
        "1n4g",
        speed,
        metrics=metrics,
        gpu_memory_mib=27915,
        telemetry=Telemetry(gpus=gpus),
    )
    assert row(runs) == {
        "GPUs": "4",
        "layout": "TP2 DP2",
        "batch": "128",
        "sequence": "1024",
        "tokens/s": "1,902,300",
        "tokens/s/GPU": "475,575",
        "TFLOP/s/GPU": "406.5",
        "MFU": "41.1%",
        "memory (MiB)": "27915",
        "J/token": "0.00143",
    }
    text = render_markdown(llm_tables(summarise(runs)))
    assert "0.8548 GFLOP per token: N = 123,587,328, L = 12, d = 768, T = 1024" in text
    assert "dense peak of 989 TFLOP/s" in text


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_report_has_the_table_of_those_whose_mfu_is_known(runs_of: Runs, lang: Lang) -> None:
    told = run_of(runs_of, "1n4g", 1000.0, metrics={"tflop_per_s_per_gpu": 300.0, "mfu": 0.25})
    untold = [replace(run, profile="other", metrics={}) for run in told]
    images = [replace(run, profile="images", unit="samples/s", metrics={}) for run in told]
    for runs, tables in ((told, 1), ([*told, *untold, *images], 1), ([*untold, *images], 0)):
        report = render_report(ReportContext("c"), runs, summarise(runs), lang)
        assert report.count("| MFU |") == report.count("25.0%") == tables


def test_what_nobody_says_is_a_dash(runs_of: Runs) -> None:
    found = row(run_of(runs_of, "2n8g", 1000.5, parameters={}))
    assert found["tokens/s"] == "1,001"
    blank = ("layout", "batch", "sequence", "TFLOP/s/GPU", "MFU", "memory (MiB)", "J/token")
    assert {found[name] for name in blank} == {"–"}


def test_the_case_says_what_the_log_does_not(runs_of: Runs) -> None:
    parameters = {"batch_size": 8, "sequence_length": 2048, "parallel": "fsdp2"}
    found = row(run_of(runs_of, "1n4g", 5, parameters=parameters))
    assert (found["batch"], found["sequence"], found["layout"]) == ("32", "2048", "fsdp2")


def test_the_layout_is_there_in_chinese_and_in_the_manual(runs_of: Runs) -> None:
    (table,) = llm_tables(summarise(run_of(runs_of, "1n1g", 5)))
    assert markdown_rows(table)[0] in MANUAL
    assert "并行方式" in row(run_of(runs_of, "1n1g", 5), "zh")


def test_other_units_have_no_such_table(runs_of: Runs) -> None:
    assert llm_tables(summarise(runs_of("1n1g", [5.0]))) == ()


def member(price: float | None) -> Any:
    class Priced:
        price_per_hour = price

    return Priced()


def measurement() -> Measurement:
    return Measurement(5.0, "tokens/s", 1, 1, "", "", "", {"loss": 1.0})


def test_an_hour_of_a_run_costs_its_devices_on_every_host() -> None:
    found = priced(measurement(), [member(2.0), member(3.0)], 4)
    assert found.metrics == {"loss": 1.0, "cost_per_hour": 20.0}
    assert priced(measurement(), [member(2.0), member(None)], 4) == measurement()
    assert priced(measurement(), [member(0.0)], 1).metrics["cost_per_hour"] == 0


def test_a_billion_tokens_cost_their_gpu_hours(runs_of: Runs) -> None:
    metrics = {"cost_per_hour": 10.0}
    runs = run_of(runs_of, "1n4g", 1e6, metrics=metrics)
    written = document("c", runs, summarise(runs))
    hours = 1e9 / 1e6 / 3600
    assert written["runs"][0]["cost_per_1e9_tokens"] == pytest.approx(10 * hours)
    assert written["results"][0]["cost_per_1e9_tokens"] == pytest.approx(10 * hours)
    assert row(runs)["cost of 10⁹ tokens"] == "2.78"
    images = run_of(runs_of, "1n4g", 1e6, metrics=metrics, unit="images/s")
    assert document("c", images, summarise(images))["runs"][0]["cost_per_1e9_tokens"] is None


BUS = {"unit": "GB/s", "framework": "NCCL", "model": "nccl-tests"}


def test_a_bandwidth_has_no_speedup_anywhere(runs_of: Runs) -> None:
    cases = {"1n2g": 344.0, "1n4g": 362.0, "1n8g": 360.0, "2n8g": 90.0}
    runs = [run for tag, speed in cases.items() for run in runs_of(tag, [speed] * 3, **BUS)]
    groups = summarise(runs)
    (group,) = groups
    written = document("c", runs, groups)
    for result in written["results"]:
        absent = ("speedup", "efficiency", "speedup_interval", "throughput_per_device", "explained")
        assert {result[name] for name in absent} == {None}
    assert written["projections"] == []
    assert project_group(group) is None
    (table,) = speedup_tables(groups)
    assert "Speedup" not in table.caption
    at = table.headings.index("speedup")
    assert {row[at] for row in table.rows} == {"–"}
    assert "Speedup" not in compare_tables(groups)[0].caption
    odd = {Concern.NEGATIVE_SCALING, Concern.SUPERLINEAR, Concern.NO_BASE}
    assert not odd.intersection(*[case.concerns for case in group.cases])
    assert json.dumps(written)
    assert not any(math.isnan(case.throughput or 0) for case in group.cases)
