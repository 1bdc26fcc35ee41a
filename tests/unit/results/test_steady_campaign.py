"""A log that was not steady, through the command line: parse, import, report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.results.numbers import signed_percent
from backends.results.steady_words import disturbance_text
from backends.results.translations import Lang
from profiles.throughput.steady import Shape, disturbances
from tests.unit.results.conftest import Dlperf


def oneflow_log(path: Path, speeds: list[float]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(
            f"train: epoch 0, iter {20 * i}, loss: 1.0, top_1: 0.0, top_k: 0.0, samples/s: {speed}"
            "\n"
            for i, speed in enumerate(speeds, start=1)
        ),
        encoding="utf-8",
    )
    return path


THROTTLED = [288.0, *([385.0, 386.0] * 8), *([327.0, 328.0] * 8)]
STEADY = [288.0, *([385.0, 386.0] * 16)]


@given(
    change=st.sampled_from([0.6, 0.7, 1.4, 1.6]),
    goes_on=st.sampled_from([0.0, 0.002, -0.002]),
    lang=st.sampled_from(["en", "zh"]),
)
def test_a_change_of_speed_is_told_with_nothing_of_what_comes_after_it(
    change: float, goes_on: float, lang: Lang
) -> None:
    """The record of it does not tell whether the speed stays there."""
    speeds = [100.0] * 25 + [100 * change * (1 + goes_on * i) for i in range(25)]
    (found,) = disturbances(speeds) or ()
    assert found.shape is Shape.STEP
    size = signed_percent(found.size)
    words = {
        "en": f"the speed changes by {size} at reading 26",
        "zh": f"速度在第 26 个读数变化 {size}",
    }
    assert disturbance_text(found, lang) == words[lang]


def test_throttling_is_told_with_its_step_and_its_size(dlperf: Dlperf, tmp_path: Path):
    tree = tmp_path / "logs"
    first = oneflow_log(tree / "1n1g" / "rn50_b128_fp32_1.log", THROTTLED)
    second = oneflow_log(tree / "1n1g" / "rn50_b128_fp32_2.log", STEADY)
    words = "the speed changes by -15.0% at step 360"
    measured, calm = json.loads(dlperf("parse", "-p", "oneflow-resnet50", "--json", first, second))
    assert measured["warnings"] == [words]
    assert calm["warnings"] == []
    dlperf("import", "-p", "oneflow-resnet50", tree, "-o", tmp_path / "campaign")
    document = json.loads(dlperf("report", tmp_path / "campaign", "--format", "json"))
    throttled, healthy = document["runs"]
    (found,) = throttled["steady"]
    assert (found["shape"], found["reading"], found["step"]) == ("step", 17, 360)
    assert found["size"] == pytest.approx(-0.15, abs=0.001)
    assert healthy["steady"] is None
    # The window was not moved for it.
    assert throttled["throughput"] == pytest.approx(sum(THROTTLED[1:]) / 32)
    (result,) = document["results"]
    assert "unsteady" in result["flags"]
    assert f"repeat 1: {words}" in result["grade_reasons"]
    assert words in (tmp_path / "campaign" / "report.md").read_text(encoding="utf-8")
