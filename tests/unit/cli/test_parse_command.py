"""``parse``: a figure comes with the formula and the constants that it was made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiles.format.catalog import Catalog
from tui.cli import main

GPT = Catalog.load().get("torch-gpt")
TITAN = (
    "[rank0]:[titan] 2025-03-04 05:06:07,089 - root - INFO - step: 30  loss:  7.1201  "
    "grad_norm:  1.0204  memory: 61.20GiB(77.31%)  tps: 6,841  tflops: 396.20  mfu: 40.06%\n"
)


@pytest.fixture
def parse(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def call(profile: str, log: str, *words: str) -> str:
        file = tmp_path / "some.log"
        file.write_text(log, encoding="utf-8")
        main(["parse", "-p", profile, *words, str(file)])
        return capsys.readouterr().out

    return call


def test_a_log_that_is_another_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        (tmp_path / f"{name}.log").write_text(TITAN, encoding="utf-8")
    main(["parse", "-p", "torch-gpt", str(tmp_path / "a.log"), str(tmp_path / "b.log")])
    said = capsys.readouterr().err
    assert said.count("byte for byte") == 1
    assert f"the log is {tmp_path / 'a.log'} byte for byte" in said


def test_tflops_and_mfu_come_with_formula_constants_and_convention(parse) -> None:
    stated = [stated.example for stated in GPT.measure.stated.values()]
    log = "\n".join([*stated, *[GPT.measure.example] * 3]) + "\n"
    said = parse("torch-gpt", log)
    assert "6·N + 12·L·d·T" in said
    assert "GFLOP per token: N = 123,587,328, L = 12, d = 768, T = 1024" in said
    assert "MFU: of a dense peak of 989 TFLOP/s per GPU" in said


def test_a_log_that_prints_them_itself_is_said_to(parse) -> None:
    said = parse("torchtitan", TITAN)
    assert "  TFLOP/s: as the log prints it; the constants of the model are not stated\n" in said
    assert "  MFU: of a dense peak of 989 TFLOP/s per GPU\n" in said


def test_nothing_is_said_where_no_flop_was_counted(parse) -> None:
    assert "FLOP" not in parse("modded-nanogpt", "step:6/9 train_time:9ms step_avg:1.50ms\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gpus", "4"], "--gpus says 4, the path 8: one of the two is wrong"),
        (["--case", "2n4g"], "--case says 2n4g, the path 1n8g: one of the two is wrong"),
        (["--batch-size", "64"], "--batch-size says 64, the path 128: one of the two is wrong"),
        (["--gpus", "8", "--batch-size", "128"], ""),
        (["--case", "1n8g"], ""),
        ([], ""),
    ],
)
def test_options_that_contradict_the_path_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    log = tmp_path / "1n8g" / "r50_b128_fp32_1.log"
    log.parent.mkdir()
    line = "train: epoch 0, iter {}, loss: 6.5, top_1: 0.0, top_k: 0.0, samples/s: {}\n"
    log.write_text("".join(line.format(20 * n, 2600 + n) for n in range(12)))
    main(["parse", "-p", "oneflow-resnet50", *words, str(log)])
    err = " ".join(capsys.readouterr().err.split())
    assert said in err
    assert ("one of the two is wrong" in err) == bool(said)
