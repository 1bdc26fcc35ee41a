"""Mean, median and speedup of DLPerf's reports from the repeats that they list.

The reports are other people's: $DLPERF_LOG_CORPUS names the directory with repeat_listings.json.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from backends.results.layouts.dlperf_json import dlperf_document
from backends.results.run_result import RunResult
from backends.results.summary import Group, summarise
from profiles.case_tag import parse_tag

# OneFlow's BERT report does not say what it divided: from its own listing 4n8g at batch 32 and 96
# is 25.58 and 29.74 times 1n1g, printed are 25.59 and 29.75.
UNEXPLAINED = {("bert-base", 32, "4n8g"), ("bert-base", 96, "4n8g")}

# Seed listing of DLPerf's Paddle report: throughputs in repeat order.
PADDLE = {
    "1n1g": [353.77, 354.28, 352.5, 350.54, 350.77, 351.55],
    "1n2g": [654.9, 631.3, 638.81, 625.95, 639.43, 611.51],
    "1n4g": [1352.04, 1361.19, 1362.62, 1353.2, 1358.67, 1356.96],
    "1n8g": [2607.74, 2620.69, 2617.84, 2632.94, 2619.2, 2628.77],
    "2n8g": [4885.12, 4897.39, 4913.18, 4888.3, 4871.62, 4887.0],
    "4n8g": [9243.73, 9329.65, 9337.39, 9333.09, 9332.23, 9295.01],
}


@cache
def _reports() -> list[dict[str, Any]]:
    corpus = os.environ.get("DLPERF_LOG_CORPUS")
    if not corpus:
        pytest.skip("DLPERF_LOG_CORPUS is not set: it names a directory of published logs")
    path = Path(corpus) / "repeat_listings.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    return json.loads(path.read_text(encoding="utf-8"))


def _runs(listing: dict[str, list[float]], **fields: Any) -> list[RunResult]:
    runs = []
    for tag, values in listing.items():
        nodes, gpus = parse_tag(tag)
        for repeat, value in enumerate(values, start=1):
            runs.append(
                RunResult(
                    run_id=f"{tag}-{repeat}",
                    profile="listing",
                    case_tag=tag,
                    nodes=nodes,
                    gpus_per_node=gpus,
                    repeat=repeat,
                    throughput=value,
                    **fields,
                )
            )
    return runs


def _group(report: dict[str, Any]) -> Group:
    (group,) = summarise(
        _runs(
            report["runs"],
            framework=report["framework"],
            model=report["model"],
            parameters={"batch_size": report["batch"], "precision": report["precision"]},
        )
    )
    return group


def test_all_thirteen_reports_are_there():
    assert len(_reports()) == 13


@pytest.mark.parametrize("index", range(13))
def test_report_is_reproduced_from_its_repeats(index: int):
    report = _reports()[index]
    group = _group(report)
    (ours,) = dlperf_document([group]).values()
    compared = 0
    for tag, printed in report["printed"].items():
        # Half a hundredth of an even count's median rounds either way in binary, up with us.
        even = len(report["runs"][tag]) % 2 == 0
        rounding = 0.01 + 1e-9 if even else 1e-9
        mine = ours[tag]
        assert mine["median_speed"] == pytest.approx(printed["median_speed"], abs=rounding), tag
        if "average_speed" in printed:
            digits = len(re.sub(r"^\d*\.?", "", str(printed["average_speed"])))
            (case,) = (case for case in group.cases if case.case == tag)
            assert case.spread is not None
            limit = 0.5000001 * 10 ** -max(digits, 2)
            assert case.spread.mean == pytest.approx(printed["average_speed"], abs=limit), tag
            assert mine["batch_size_per_device"] == printed["batch_size_per_device"]
        loose = even or (report["model"], report["batch"], tag) in UNEXPLAINED
        slack = 0.01 + 1e-9 if loose else 1e-9
        assert mine["speedup"] == pytest.approx(printed["speedup"], abs=slack), tag
        compared += 1
    assert compared == len(report["printed"]) >= 4


@pytest.mark.parametrize(
    ("center", "expected"),
    [("mean", (3.85, 7.44, 26.44)), ("median", (3.86, 7.44, 26.51))],
)
def test_paddle_report_gets_the_speedups_that_its_own_listing_gives(center, expected):
    runs = _runs(
        PADDLE, framework="Paddle", model="r50", parameters={"batch_size": 128, "precision": "fp32"}
    )
    groups = summarise(runs, center=center)
    speeds = dlperf_document(groups)["r50"]
    assert (
        speeds["1n4g"]["speedup"],
        speeds["1n8g"]["speedup"],
        speeds["4n8g"]["speedup"],
    ) == expected
    assert speeds["1n1g"] == {
        "average_speed": 352.23,
        "batch_size_per_device": 128,
        "median_speed": 352.03,  # of 352.025; its script, which halves in binary, prints 352.02
        "speedup": 1.0,
    }
    assert [speeds[tag]["average_speed"] for tag in PADDLE] == [
        352.23,
        633.65,
        1357.45,
        2621.2,
        4890.44,
        9311.85,
    ]


def test_paddle_report_divided_by_a_base_that_was_not_yet_averaged():
    """Why it prints 3.87, 7.47 and 26.55: these cases are listed before 1n1g, whose entry still
    held the log that was read last (repeat 5) when they were divided; later ones had the mean."""
    last_read = PADDLE["1n1g"][4]
    means = {tag: sum(values) / len(values) for tag, values in PADDLE.items()}
    before = {tag: round(means[tag] / last_read, 2) for tag in ("1n4g", "1n8g", "4n8g")}
    after = {tag: round(means[tag] / means["1n1g"], 2) for tag in ("1n2g", "2n8g")}
    assert before == {"1n4g": 3.87, "1n8g": 7.47, "4n8g": 26.55}
    assert after == {"1n2g": 1.8, "2n8g": 13.88}
