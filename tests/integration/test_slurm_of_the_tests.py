"""The Slurm that the other tests use does what it is used for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes import alive, kill
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


def test_what_a_short_step_detaches_ends_with_it_where_the_machine_has_cgroups(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    """Cgroups of v1, which take no systemd; elsewhere it tracks by parents, and loses it."""
    cgroups = Path("/sys/fs/cgroup/freezer").is_dir()
    told = slurm.run("scontrol", "show", "config")
    assert ("proctrack/cgroup" in told) == cgroups
    job = slurm.submit("sleep 600")
    wait_until(lambda: "RUNNING" in slurm.run("squeue", "-h", "-j", job, "-o", "%T"))
    pid = tmp_path / "pid"
    detached = f"setsid sh -c 'echo $$ >{pid}; exec sleep 600' & while [ ! -s {pid} ]; do :; done"
    slurm.run("srun", "--overlap", f"--jobid={job}", "sh", "-c", detached)
    if cgroups:
        wait_until(lambda: not alive(int(pid.read_text())), what="it has ended")
    else:
        assert alive(int(pid.read_text()))
        kill(int(pid.read_text()))
