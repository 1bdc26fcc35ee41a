"""Figures entered by hand, through the command line: import, report, compare."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.results.conftest import Dlperf

MANUAL = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")


def examples() -> list[tuple[str, str]]:
    """(language, text) of every documented file of figures."""
    found = re.findall(r"^```(toml|csv)\n(.*?)^```", MANUAL, re.M | re.S)
    assert {language for language, _ in found} == {"toml", "csv"}
    return found


def entered(text: str) -> list[float]:
    """The throughputs that a documented example names, in any order."""
    named = re.findall(r"throughput = (\[[^]]*\]|[\d.]+)", text)
    if named:
        return sorted(float(n) for group in named for n in re.findall(r"[\d.]+", group))
    rows = [line.split(",") for line in text.strip().splitlines()]
    column = rows[0].index("throughput")
    return sorted(float(row[column]) for row in rows[1:] if row[column] not in ("", "-"))


def medians(document: dict[str, Any]) -> dict[str, float | None]:
    return {result["case"]: result["throughput"] for result in document["results"]}


@pytest.mark.parametrize("example", examples(), ids=lambda example: example[0])
def test_documented_examples_import_report_and_compare(
    dlperf: Dlperf, tmp_path: Path, example: tuple[str, str]
):
    language, text = example
    figures = tmp_path / f"figures.{language}"
    figures.write_text(text, encoding="utf-8")
    campaign = tmp_path / "published"
    said = dlperf("import", figures, "-o", campaign)
    document = json.loads(dlperf("report", campaign, "--format", "json"))
    reported = [run["throughput"] for run in document["runs"] if run["throughput"] is not None]
    assert sorted(reported) == entered(text)
    succeeded = sum(run["state"] == "succeeded" for run in document["runs"])
    assert f"{succeeded} measured" in said  # those with a metric alone as well
    assert sum(result["succeeded"] for result in document["results"]) >= len(reported)
    table = dlperf("report", campaign)
    assert all(f"{value:.2f}" in table for value in medians(document).values() if value)
    compared = json.loads(dlperf("compare", campaign, campaign, "--json"))
    assert {case["ratio"] for case in compared["cases"] if case["ratio"] is not None} == {1.0}


def test_figure_without_a_log_keeps_its_metrics_memory_source_and_unit(
    dlperf: Dlperf, tmp_path: Path
):
    figures = tmp_path / "figures.toml"
    figures.write_text(
        'framework = "F"\nmodel = "M"\nunit = "images/s"\nsource = "a report"\n'
        "[[figures]]\n"
        'case = "1n1g"\nthroughput = [10, 11, 12]\ngpu_memory_mib = 900\n'
        "metrics = { top1 = 76.5 }\n",
        encoding="utf-8",
    )
    dlperf("import", figures, "-o", tmp_path / "published")
    (result,) = json.loads(dlperf("report", tmp_path / "published", "--format", "json"))["results"]
    assert (result["throughput"], result["unit"], result["succeeded"]) == (11, "images/s", 3)
    assert (result["gpu_memory_mib"], result["metrics"]) == (900, {"top1": 76.5})
    assert "a report" in (tmp_path / "published" / "report.md").read_text(encoding="utf-8")


def test_figure_that_has_metrics_only_keeps_them(dlperf: Dlperf, tmp_path: Path):
    """An accuracy, or a time to train, is published without a throughput too."""
    figures = tmp_path / "figures.csv"
    figures.write_text(
        "framework,model,case,throughput,metric:top1,metric:time_to_train_s\n"
        "F,M,1n1g,859.24,,137335\n"
        "F,M,1n8g,-,76.63,\n"
        "F,M,4n8g,-,,\n",
        encoding="utf-8",
    )
    dlperf("import", figures, "-o", tmp_path / "published")
    document = json.loads(dlperf("report", tmp_path / "published", "--format", "json"))
    eight, nothing = (
        next(result for result in document["results"] if result["case"] == tag)
        for tag in ("1n8g", "4n8g")
    )
    assert (eight["metrics"], eight["throughput"], eight["speedup"]) == (
        {"top1": 76.63},
        None,
        None,
    )
    assert (eight["succeeded"], eight["repeats"], eight["flags"]) == (1, 1, [])
    assert (nothing["succeeded"], nothing["repeats"]) == (0, 0)
    rows = dlperf("report", tmp_path / "published", "--layout", "airank").splitlines()
    assert "| 8 GPUs | - | - | 76.63 | - |" in rows
    assert dlperf("compare", tmp_path / "published", tmp_path / "published")


def test_campaign_imported_before_shows_its_figures(dlperf: Dlperf, tmp_path: Path):
    """Journals of entered figures hold them all; an older program did not show them."""
    campaign = tmp_path / "old"
    campaign.mkdir()
    run = {"t": 1.0, "run_id": "r1"}
    events = [
        {"kind": "CampaignCreated", "t": 1.0, "campaign": "old", "imported": True},
        {
            "kind": "RunPlanned",
            **run,
            "profile": "p",
            "framework": "F",
            "model": "M",
            "unit": "images/s",
            "nodes": 1,
            "gpus_per_node": 1,
            "parameters": {},
            "repeat": 1,
        },
        {
            "kind": "RunSucceeded",
            **run,
            "throughput": 5.3,
            "readings": 0,
            "used": 0,
            "window": "",
            "statistic": "as published",
            "log": "",
        },
        {"kind": "CampaignFinished", "t": 1.0},
    ]
    text = "".join(f"{json.dumps(event)}\n" for event in events)
    (campaign / "events.jsonl").write_text(text, encoding="utf-8")
    assert medians(json.loads(dlperf("report", campaign, "--format", "json"))) == {"1n1g": 5.3}
