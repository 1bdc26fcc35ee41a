"""The bundled torch profiles as jobs of a real Slurm, on one node and across two."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.test_workloads_over_ssh import check, run_json
from tests.support.slurm import SlurmCluster
from tests.support.torch_python import torchrun_beside

SMALL_GPT = ("size=10m", "precision=fp32", "compile=off", "sequence_length=16", "batch_size=2")


@pytest.mark.torch
@pytest.mark.timeout(600)
@pytest.mark.parametrize("allocation", ["run", "campaign"])
def test_torch_gpt_trains_on_one_node_and_across_two(
    slurm: SlurmCluster, tmp_path: Path, allocation: str
) -> None:
    inventory = tmp_path / "hosts.toml"
    inventory.write_text(f'[defaults]\nengine = "slurm"\nwork_dir = "{tmp_path / "work"}"\n')
    document = run_json(
        tmp_path,
        *("--inventory", str(inventory)),
        environment=slurm.environment,
        selection=(
            *("--profile", "torch-gpt", "--repeats", "1", "--case", "1n1g", "2n1g", "2n2g"),
            *("--allocation", allocation, "--set", f"torchrun={torchrun_beside()}", *SMALL_GPT),
            *("max_micro_batch=1", "iterations=8", "print_every=2"),
        ),
    )
    check(document, {"1n1g": 1, "2n1g": 2, "2n2g": 2})
    for result in document["results"]:
        assert result["unit"] == "tokens/s"
        assert result["metrics"]["loss"] == pytest.approx(7.7, abs=0.3)  # ln 2048 is 7.62
    for run in document["runs"]:
        nodes, devices = map(int, re.findall(r"\d+", run["case"]))
        [campaign] = (tmp_path / "campaigns").iterdir()
        log = (campaign / run["log"]).read_text("utf-8")
        assert f"world size {nodes * devices}," in log  # every rank found the others
