"""What the torch-gpt profile makes of a log and of a selection."""

from __future__ import annotations

import pytest

from profiles.errors import SelectionError
from profiles.format.case import Case
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.logs.log_parser import LogParser
from profiles.throughput.measure_run import Measurement, measure_run

PROFILE = Catalog.load().get("torch-gpt")
STATED = (
    "environment: size 124m, model parameters 123587328, position parameters 786432, layers 12, "
    "width 768, heads 12, vocabulary 50304, sequence length 1024, FLOP per token 854770944, "
    "batch size 32, global batch 64, micro batch 32, accumulation 1, parallel ddp, precision bf16, "
    "compile blocks, checkpointing off, attention auto, python 3.12.3, torch 2.11.0+cu128, "
    "backend nccl, world size 2, cuda 12.8, cudnn 91002, nccl 2.28.9, gpu NVIDIA H200\n"
)


def readings(*tokens_per_s: float) -> str:
    return "".join(
        f"train: step {20 * number}, loss: 10.8{number}0000, tokens/s: {value:.3f}, "
        f"step time ms: {65_536 / value * 1e3:.3f}, mem: 27915\n"
        for number, value in enumerate(tokens_per_s, 1)
    )


def measured(log: str, **parameters: str) -> Measurement:
    given = {name: [value] for name, value in parameters.items()}
    (case,) = expand(PROFILE, ["1n2g"], given)
    parser = LogParser(PROFILE, case)
    parser.feed(log.encode())
    parser.finish()
    return measure_run(PROFILE, case, parser)


def cases(*tags: str, **parameters: list[str]) -> list[Case]:
    return list(expand(PROFILE, tags, parameters))


def test_compiling_never_counts() -> None:
    """The first reading holds it; in the second steps are as long as they will be."""
    run = measured(STATED + readings(9_000.0, 955_000.0, 960_000.0, 960_000.0))
    assert run.throughput == pytest.approx(960_000)


def test_the_figures_that_follow_are_those_of_the_whole_model() -> None:
    """962,000 tokens/s on two GPUs of 989 TFLOP/s: 41.6% MFU."""
    run = measured(STATED + readings(9_000.0, 960_000.0, 962_000.0))
    assert not run.warnings
    assert run.metrics["tokens_per_s_per_gpu"] == pytest.approx(481_000)
    assert run.metrics["mfu"] == pytest.approx(0.416, abs=5e-4)
    assert run.metrics["memory"] == 27915
    assert run.metrics["step_time_s"] == pytest.approx(65_536 / 962_000, rel=1e-3)


@pytest.mark.parametrize("tokens_per_s", [962_000.0, 2_310_000.0, 2_320_000.0, 9_000_000.0])
def test_an_mfu_beyond_the_peak_is_left_out_and_said_why(tokens_per_s: float) -> None:
    """At 2,314,122 tokens/s two GPUs would do 989 TFLOP/s each, all that they can."""
    run = measured(STATED + readings(9_000.0, tokens_per_s, tokens_per_s))
    told = [text for text in run.warnings if text.startswith("the reckoned mfu of ")]
    assert ("mfu" in run.metrics) is (tokens_per_s < 2_314_122)
    assert bool(told) is ("mfu" not in run.metrics)


def test_passes_of_a_step_leave_the_global_batch_as_it_was_asked_for() -> None:
    found = cases("1n1g", "1n2g", "2n8g", global_batch=["512"], max_micro_batch=["32"])
    assert [case.batch_size for case in found] == [512, 256, 32]
    assert {case.global_batch for case in found} == {512}


@pytest.mark.parametrize(
    ("parameters", "offered"),
    [
        ({"batch_size": "48", "max_micro_batch": "32"}, False),  # no equal passes
        ({"batch_size": "16", "max_micro_batch": "32"}, True),  # all at once
        ({"batch_size": "64", "max_micro_batch": "32"}, True),
        ({"parallel": "fsdp2", "compile": "model"}, False),
        ({"parallel": "fsdp2", "compile": "blocks"}, True),
    ],
)
def test_what_the_workload_refuses_is_no_case(parameters: dict[str, str], offered: bool) -> None:
    given = {name: [value] for name, value in parameters.items()}
    if offered:
        assert cases("1n1g", **given)
    else:
        with pytest.raises(SelectionError, match="excludes"):
            cases("1n1g", **given)
