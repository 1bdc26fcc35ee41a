"""An MFU that cannot be one is shown nowhere: not of a log, not of a journal, not of a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.run_results import run_results
from profiles.format.case import Case
from profiles.format.catalog import Catalog
from profiles.logs.log_parser import LogParser
from profiles.throughput.measure_run import Measurement, measure_run
from profiles.throughput.mfu import credible, is_fp8
from tui.cli import main

CATALOG = Catalog.load()
TITAN = "[titan] step: {}  loss:  7.1  memory: 61.20GiB(77.31%)  tps: 6,841  tflops: {}  mfu: {}%"
LINES = {
    "torchtitan": lambda step, share: TITAN.format(step, 989 * share, 100 * share),
    "llm-c": lambda step, share: (
        f"step {step:>4}/99 | loss 8.12 (+0.11z)| norm 1.9 (-0.2z)| lr 1.2e-05 | 318.55 ms | "
        f"{100 * share:.1f}% bf16 MFU | 1645804 tok/s"
    ),
    "composer": lambda step, share: (
        f"[batch={step}/99]:\n\t Train throughput/device/tokens_per_sec: 1255.1\n"
        f"\t Train throughput/device/mfu: {share:.4f}"
    ),
    "nanochat": lambda step, share: (
        f"step {step:05}/09000 (1.44%) | loss: 5.3 | lrm: 1.00 | dt: 611.20ms | tok/sec: 857,801 | "
        f"mfu: {100 * share:.2f} | total time: 1.22m"
    ),
}
IN_FP8 = (
    "[titan] - root - INFO - Float8 tensorwise scaled training active",
    "[titan] - root - INFO - Swapped to Float8Linear layers with fsdp_all_gather=True",
    "[titan] - root - INFO - MXFP8 training active with recipe mxfp8_cublas",
    "Config param quantization: fp8",
    '{"precision": "amp_fp8"}',
    "mixed_precision: bf16_with_fp8_hybrid",
    "  fp8 ............................................. hybrid",
    "fp8 enabled with tensorwise scaling",
    "python train.py --bf16 --fp8-format hybrid",
    'model.converters = ["float8"]',
    "use_fp8: true",
)
NOT_IN_FP8 = (
    "  fp8 ............................................. None",
    "  fp8_margin ...................................... 0",
    "  fp8_wgrad ....................................... True",
    "  fp8_recipe ...................................... delayed",
    '"float8": {"enable_fsdp_float8_all_gather": false, "recipe_name": null}',
    "use_fp8: false",
    "fp8 enabled: False",
    "FP8 training is not supported by this GPU",
    "FP8 is not enabled",
    "training without FP8 precision",
)


def measured(profile: str, *lines: str) -> Measurement:
    found = CATALOG.get(profile)
    case = Case(profile, 1, 8, {})
    parser = LogParser(found, case)
    parser.feed("".join(f"{line}\n" for line in lines).encode())
    parser.finish()
    return measure_run(found, case, parser)


def log_of(profile: str, share: float) -> list[str]:
    return [LINES[profile](step, share) for step in (1, 10, 20, 30)]


@given(profile=st.sampled_from(sorted(LINES)), share=st.floats(0.01, 12))
def test_what_a_log_prints_is_an_mfu_only_below_1(profile: str, share: float) -> None:
    found = measured(profile, *log_of(profile, share)).metrics.get("mfu")
    if share >= 1:
        assert found is None
    elif share <= 0.99:
        assert found == pytest.approx(share, abs=0.001)


@pytest.mark.parametrize("profile", sorted(LINES))
@pytest.mark.parametrize("line", IN_FP8)
def test_a_log_that_says_fp8_has_no_mfu(profile: str, line: str) -> None:
    found = measured(profile, "torchrun", line, *log_of(profile, 0.6))
    assert "mfu" not in found.metrics
    assert found.throughput


@pytest.mark.parametrize("line", NOT_IN_FP8)
def test_that_fp8_is_off_costs_no_mfu(line: str) -> None:
    assert measured("torchtitan", line, *log_of("torchtitan", 0.4)).metrics["mfu"] == 0.4


def test_none_is_reckoned_from_what_is_beyond_the_peak_or_in_fp8() -> None:
    gpu = "- root - INFO - GPU capacity: NVIDIA H100 80GB HBM3 (0) with 79GiB memory"
    assert "mfu" not in measured("torchtitan", gpu, *log_of("torchtitan", 1.2)).metrics


@given(profile=st.sampled_from(sorted(LINES)), share=st.floats(1.01, 12), fp8=st.booleans())
def test_one_of_100_percent_or_more_is_left_out_with_the_reason(
    profile: str, share: float, fp8: bool
) -> None:
    found = measured(profile, *IN_FP8[:fp8], *log_of(profile, share))
    assert "mfu" not in found.metrics
    (told,) = (text for text in found.warnings if "mfu" in text)
    percent = float(told.removeprefix("the log's mfu of ").split("%")[0])
    assert percent == pytest.approx(100 * share, abs=0.2)
    assert ("no agreed peak" if fp8 else "the peak of the device") in told


@pytest.mark.parametrize("precision", ["fp8", "FP8", "fp8-mixed", "amp_fp8", "mxfp8", "float8"])
def test_fp8_has_many_names(precision: str) -> None:
    assert is_fp8(precision)
    assert credible({"mfu": 0.4, "loss": 2.0}, fp8=is_fp8(precision)) == {"loss": 2.0}


def test_the_whole_of_the_peak_is_no_mfu_either() -> None:
    assert credible({"mfu": 1.0, "mfu_at_8": 1.5, "tflop": 1500.0}, fp8=False) == {"tflop": 1500.0}


def test_an_entered_one_is_shown_by_no_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures.toml"
    figures.write_text(
        'framework = "F"\nmodel = "M"\nunit = "tokens/s"\nfigures = [\n'
        '{ case = "1n1g", throughput = 1000.0, metrics = { mfu = 1.21 } },\n'
        '{ case = "1n2g", throughput = 2000.0, metrics = { mfu = 0.41 } },\n'
        '{ case = "1n4g", throughput = 4000.0, metrics = { mfu = 0.42 }, '
        'parameters = { precision = "fp8" } },\n]\n'
    )
    campaign = tmp_path / "campaign"
    assert main(["import", str(figures), "-o", str(campaign)]) == 0
    assert [run.metrics.get("mfu") for run in run_results(read_campaign(campaign))] == [
        None,
        0.41,
        None,
    ]
    assert [
        any("the entered mfu of 121.0% is left out" in text for text in run.warnings)
        for run in run_results(read_campaign(campaign))
    ] == [True, False, False]
    capsys.readouterr()
    assert main(["report", str(campaign), "--format", "json"]) == 0
    shown = capsys.readouterr().out
    assert "mfu" in shown
    assert all(
        run["metrics"].get("mfu") != 1.21 and (run["case"] == "1n2g" or "mfu" not in run["metrics"])
        for run in json.loads(shown)["runs"]
    )
