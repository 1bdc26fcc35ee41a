"""The Slurm that the other tests use does what it is used for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.slurm import SlurmCluster
from tests.support.waiting import wait_until


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_job_gets_its_nodes_and_their_gpus(
    slurm: SlurmCluster, tmp_path: Path, nodes: int
) -> None:
    out = tmp_path / "out"
    script = "srun sh -c 'echo $SLURMD_NODENAME $(hostname)'; while :; do sleep 0.1; done"
    job = slurm.submit(script, f"-N{nodes}", "--gres=gpu:2", f"--output={out}")
    wait_until(lambda: out.exists() and len(out.read_text().splitlines()) == nodes)
    names = sorted(line.split()[0] for line in out.read_text().splitlines())
    assert names == ["node1", "node2"][:nodes]
    shown = slurm.run("scontrol", "show", "job", "-d", job)
    assert "GRES=gpu:h200:2(IDX:0-1)" in shown
    assert f"JOB_GRES=gpu:h200:{2 * nodes}" in shown


def test_a_controller_comes_back_with_its_jobs_and_a_failed_node_ends_them(
    slurm: SlurmCluster,
) -> None:
    job = slurm.submit("sleep 600", "-N1", "-w", "node3", "--no-requeue")
    state = ("squeue", "-h", "-t", "all", "-j", job, "-o", "%T")
    wait_until(lambda: slurm.run(*state).strip() == "RUNNING")
    slurm.stop_controller()
    slurm.start_controller()
    wait_until(lambda: slurm.run(*state, check=False).strip() == "RUNNING")
    slurm.fail_node("node3")
    wait_until(lambda: slurm.run(*state).strip() == "NODE_FAIL")
