"""Published logs of LLM training give what was published for them, by way of the command line.

The logs are other people's: ``$DLPERF_LLM_CORPUS`` names the directory that holds them.
docs/statistics.md lists what they do not give; this holds it to that list.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import statistics
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from profiles.format.catalog import LIBRARY
from tests.conformance import published
from tui.cli import main

FORMATS = ("megatron-lm", "hf-trainer", "modded-nanogpt")
DOCUMENT = Path(__file__).parents[2] / "docs" / "statistics.md"
_ROW = re.compile(
    r"^\| (?P<id>llm-\d+) \|[^|]*\| (?P<published>[\d.]+) \| (?P<measured>[\d.]+) "
    r"\| (?P<percent>[+-][\d.]+)% \|",
    re.M,
)


def corpus() -> Path:
    return published.corpus("DLPERF_LLM_CORPUS")


@cache
def entries(*formats: str) -> tuple[dict[str, Any], ...]:
    manifest = json.loads((corpus() / "manifest.json").read_text(encoding="utf-8"))
    return tuple(entry for entry in manifest if entry["format"] in formats)


@cache
def parsed(profile: str, path: Path) -> dict[str, Any]:
    """What ``parse --json`` says of a log, by the bundled profile as it is."""
    written = io.StringIO()
    file = LIBRARY / f"{profile}.toml"
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(io.StringIO()):
        assert main(["parse", "-p", str(file), "--json", str(path)]) == 0
    (document,) = json.loads(written.getvalue())
    return dict(document)


def document_of(entry: dict[str, Any]) -> dict[str, Any]:
    return parsed(entry["format"], corpus() / entry["file"])


def as_published(entry: dict[str, Any]) -> float:
    """What was measured, in the unit of what was published."""
    found = document_of(entry)
    if entry["published_unit"] == "min":
        return float(found["metrics"]["time_to_train_s"] / 60)
    assert entry["published_unit"] == "s/step"
    if found["unit"] == "samples/s":
        return float(found["metrics"]["global_batch"] / found["throughput"])
    metrics = found["metrics"]
    return float(metrics["global_batch"] * metrics["sequence_length"] / found["throughput"])


def error_of(entry: dict[str, Any]) -> float:
    return as_published(entry) / float(entry["published"]) - 1


def test_published_figures_are_reproduced() -> None:
    errors = {
        entry["id"]: error_of(entry)
        for entry in entries(*FORMATS)
        if "negative_control" not in entry
    }
    assert len(errors) == 25
    assert {log: error for log, error in errors.items() if abs(error) > 0.01} == {}


def test_the_negative_controls_stay_wrong_and_are_listed_with_their_values() -> None:
    rows = {row["id"]: row for row in _ROW.finditer(DOCUMENT.read_text(encoding="utf-8"))}
    controls = {e["id"]: e for e in entries(*FORMATS) if "negative_control" in e}
    assert set(rows) == set(controls)
    for log, entry in controls.items():
        assert abs(error_of(entry)) > 0.01, log
        assert float(rows[log]["published"]) == entry["published"]
        assert float(rows[log]["measured"]) == pytest.approx(as_published(entry), rel=1e-3)
        assert float(rows[log]["percent"]) == pytest.approx(100 * error_of(entry), abs=0.051)


def test_the_rule_is_that_of_the_publication() -> None:
    for entry in entries(*FORMATS):
        assert as_published(entry) == pytest.approx(entry["computed"], rel=1e-9), entry["id"]


def test_megatron_says_its_devices_batch_and_sequence_itself() -> None:
    for entry in entries("megatron-lm"):
        found = document_of(entry)
        metrics = found["metrics"]
        devices = entry["nodes"] * entry["gpus_per_node"]
        assert found["gpus"] == metrics["world_size"] == devices
        assert metrics["global_batch"] == entry["global_batch_size"]
        assert metrics["sequence_length"] == entry["sequence_length"]
        layout = metrics["tensor_parallel"] * metrics["pipeline_parallel"]
        assert layout * metrics["data_parallel"] == devices
        assert metrics["step_time_s"] == pytest.approx(as_published(entry))
        assert metrics["tokens_per_s_per_gpu"] == pytest.approx(found["throughput"] / devices)
        assert not [text for text in found["warnings"] if "one of the two is wrong" in text]


def test_the_trainers_summary_tells_its_devices_and_batch() -> None:
    for entry in entries("hf-trainer"):
        found = document_of(entry)
        assert found["unit"] == "samples/s"
        assert found["gpus"] == entry["nodes"] * entry["gpus_per_node"]
        assert found["metrics"]["global_batch"] == entry["samples_per_step"]


def test_the_speed_runs_table_of_nvidia_smi_tells_the_devices() -> None:
    for entry in entries("modded-nanogpt"):
        found = document_of(entry)
        assert found["gpus"] == entry["nodes"] * entry["gpus_per_node"]
        assert not [text for text in found["warnings"] if "is assumed" in text]


def test_steps_per_second_are_those_of_the_logs_own_mean() -> None:
    for entry in entries("modded-nanogpt"):
        found = document_of(entry)
        own = 1000 / entry["step_avg_ms"]
        assert found["throughput"] == pytest.approx(own, rel=1e-9), entry["id"]


def test_the_bandwidth_is_the_median_of_all_trials() -> None:
    """A rank stands on a line of its own, before its trial: of which rank one is, no line tells."""
    logs = entries("torch-allreduce")
    assert len(logs) == 2
    for entry in logs:
        found = parsed("allreduce-bench", corpus() / entry["file"])
        text = (corpus() / entry["file"]).read_text(encoding="utf-8")
        trials = [float(value) for value in re.findall(r"busbw: ([\d.]+)", text)]
        assert found["unit"] == "GB/s"
        assert found["readings"] == len(trials)
        assert found["throughput"] == pytest.approx(statistics.median(trials) / 8)
        first = [float(value) for value in re.findall(r"^0:\n.*\n.*\n busbw: ([\d.]+)", text, re.M)]
        assert found["throughput"] == pytest.approx(statistics.median(first) / 8, rel=0.01)
