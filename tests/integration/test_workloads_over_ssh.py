"""The bundled workloads as campaigns over two hosts with a real SSH server each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import run_program
from tests.support.sshd import SshHosts
from tests.support.torch_python import torchrun_beside

SSH_KEYS = ("name", "address", "port", "user", "identity", "known_hosts", "ssh_config", "work_dir")


def run_json(
    directory: Path,
    *first: str,
    selection: Sequence[str],
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    """What ``run --json`` prints; ``first``: words before the command."""
    words = [*first, "--campaigns", directory / "campaigns", "run", "--json", *selection]
    done = run_program(words, env=environment, timeout=400)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def run_campaign(hosts: SshHosts, directory: Path, *selection: str) -> dict[str, Any]:
    """Run the selection through the command line on two hosts; returns its JSON document."""
    served = hosts(2)
    lines = []
    for host in (each.host for each in served):
        values = {key: getattr(host, key) for key in SSH_KEYS} | {"slots": 2}
        values["lease_dir"] = str(directory / "leases" / host.name)
        lines += ["[[hosts]]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    inventory = directory / "hosts.toml"
    inventory.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return run_json(directory, "--inventory", str(inventory), selection=selection)


def check(document: dict[str, Any], hosts_by_case: dict[str, int]) -> None:
    runs = {run["case"]: run for run in document["runs"]}
    assert {case: len(run["hosts"]) for case, run in runs.items()} == hosts_by_case
    for run in runs.values():
        assert (run["state"], run["reason"] or "") == ("succeeded", ""), run
        assert run["throughput"] > 0
    speedups = {result["case"]: result["speedup"] for result in document["results"]}
    assert speedups["1n1g"] == 1
    assert speedups["2n1g"] > 0


def test_cpu_smoke_runs_on_one_host_and_across_two(ssh_hosts: SshHosts, tmp_path: Path) -> None:
    document = run_campaign(
        ssh_hosts,
        tmp_path,
        *("--profile", "cpu-smoke", "--set", "seconds=2", "--case", "1n1g", "1n2g", "2n1g"),
    )
    check(document, {"1n1g": 1, "1n2g": 1, "2n1g": 2})


@pytest.mark.torch
def test_torch_resnet50_runs_on_one_host_and_across_two(
    ssh_hosts: SshHosts, tmp_path: Path
) -> None:
    document = run_campaign(
        ssh_hosts,
        tmp_path,
        *("--profile", "torch-resnet50", "--repeats", "1", "--case", "1n1g", "1n2g", "2n1g"),
        *("--set", f"torchrun={torchrun_beside()}", "image_size=32", "batch_size=4"),
        *("--set", "iterations=10", "print_every=2"),
    )
    check(document, {"1n1g": 1, "1n2g": 1, "2n1g": 2})


@pytest.mark.torch
@pytest.mark.timeout(600)
def test_torch_gpt_runs_on_one_host_and_across_two(ssh_hosts: SshHosts, tmp_path: Path) -> None:
    document = run_campaign(
        ssh_hosts,
        tmp_path,
        *("--profile", "torch-gpt", "--repeats", "1", "--case", "1n1g", "1n2g", "2n1g"),
        *("--set", f"torchrun={torchrun_beside()}", "size=10m", "precision=fp32", "compile=off"),
        *("sequence_length=16", "batch_size=2", "max_micro_batch=1", "parallel=ddp,fsdp2"),
        *("iterations=8", "print_every=2"),
    )
    assert not any(run["warnings"] for run in document["runs"]), document["runs"]
    for parallel in ("ddp", "fsdp2"):
        chosen = {
            key: [item for item in document[key] if item["parameters"]["parallel"] == parallel]
            for key in ("runs", "results")
        }
        check(chosen, {"1n1g": 1, "1n2g": 1, "2n1g": 2})
        for result in chosen["results"]:
            assert result["unit"] == "tokens/s"
            assert result["metrics"]["loss"] == pytest.approx(7.7, abs=0.3)  # ln 2048 is 7.62
            assert result["metrics"]["step_time_s"] > 0


@pytest.mark.torch
def test_torch_allreduce_runs_on_one_host_and_across_two(
    ssh_hosts: SshHosts, tmp_path: Path
) -> None:
    document = run_campaign(
        ssh_hosts,
        tmp_path,
        *("--profile", "torch-allreduce", "--repeats", "1", "--case", "1n2g", "2n1g", "2n2g"),
        *("--set", f"torchrun={torchrun_beside()}", "precision=fp32", "max_size=64K"),
    )
    runs = {run["case"]: run for run in document["runs"]}
    assert {case: len(run["hosts"]) for case, run in runs.items()} == {
        "1n2g": 1,
        "2n1g": 2,
        "2n2g": 2,
    }
    for run in runs.values():
        assert (run["state"], run["reason"], run["unit"]) == ("succeeded", "", "GB/s"), run
        assert run["throughput"] > 0
        assert run["metrics"]["size_bytes"] == 65536
    assert runs["2n2g"]["metrics"]["busbw_within_host"] > 0
    assert runs["2n2g"]["metrics"]["busbw_across_hosts"] > 0
    assert "busbw_across_hosts" not in runs["2n1g"]["metrics"]  # all ranks are just that
