"""The bundled workloads as campaigns over two hosts with a real SSH server each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.sshd import ROOT, SshHosts
from tests.support.torch_python import torchrun_beside

SSH_KEYS = ("name", "address", "port", "user", "identity", "known_hosts", "ssh_config", "work_dir")


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
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tui.cli"),
            *("--inventory", str(inventory), "--campaigns", str(directory / "campaigns")),
            *("run", "--json", *selection),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


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
