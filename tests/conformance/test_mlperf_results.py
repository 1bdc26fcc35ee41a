"""Published results of MLPerf Training come out of their own files, by way of the command line.

The files are other people's: ``$DLPERF_LLM_CORPUS`` names the directory that holds them, with
``manifest.json``: each file's time in minutes and its system's score.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import published
from tui.cli import main


def corpus() -> Path:
    """The directory; skips the test without one."""
    return published.corpus("DLPERF_LLM_CORPUS")


def entries() -> list[dict[str, Any]]:
    manifest = json.loads((corpus() / "manifest.json").read_text(encoding="utf-8"))
    return [entry for entry in manifest if entry["format"] == "mlperf"]


def name_of(entry: dict[str, Any]) -> str:
    number = Path(entry["path"]).name
    return f"{entry['system']}/{entry['benchmark']}/{number}"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What ``report`` says of all of them, put where MLPerf's repositories have them."""
    tree = tmp_path_factory.mktemp("mlperf") / "results"
    for entry in entries():
        path = tree / name_of(entry)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(corpus() / entry["file"], path)
        if entry.get("scaling", 1.0) != 1.0:
            factor = json.dumps({"scaling_factor": entry["scaling"]})
            (path.parent / "scaling.json").write_text(factor, encoding="utf-8")
    campaign, written = tree.with_name("campaign"), tree.with_name("report.json")
    assert main(["import", "-p", "mlperf-training", str(tree), "-o", str(campaign)]) == 0
    words = ["report", str(campaign), "--layout", "mlperf", "--format", "json", "-o", str(written)]
    assert main(words) == 0
    return dict(json.loads(written.read_text(encoding="utf-8")))


def test_every_file_has_its_time_to_train(report: dict[str, Any]) -> None:
    runs = {
        run["log"].removeprefix("campaign/").removeprefix("logs/"): run for run in report["runs"]
    }
    for entry in entries():
        run = runs.pop(name_of(entry))
        if entry["status"] == "success":
            seconds = run["metrics"]["time_to_train_s"]
            assert seconds / 60 == pytest.approx(entry["minutes"], rel=0.0005), entry["id"]
        else:
            assert (run["state"], run["throughput"]) == ("failed", None), entry["id"]
    assert not runs


def test_every_system_has_its_score(report: dict[str, Any]) -> None:
    published = {(e["system"], e["benchmark"]): e["system_minutes"] for e in entries()}
    found = {(s["system"], s["benchmark"]): s["score_minutes"] for s in report["scores"]}
    assert found.keys() == published.keys()
    for system, minutes in published.items():
        assert found[system] == pytest.approx(minutes, abs=0.01), system


def test_every_file_has_its_throughput_and_its_devices(report: dict[str, Any]) -> None:
    runs = {
        run["log"].removeprefix("campaign/").removeprefix("logs/"): run for run in report["runs"]
    }
    for entry in entries():
        run, told = runs[name_of(entry)], entry.get("throughput") or []
        if entry["status"] != "success" or not told:
            assert run["throughput"] is None, entry["id"]
            continue
        usual = sorted(told[1:] or told)
        assert usual[0] <= run["throughput"] <= usual[-1], entry["id"]
        assert run["case"] == f"{entry['nodes']}n{entry['accelerators_per_node']}g", entry["id"]
