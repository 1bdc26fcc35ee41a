"""What sbatch is asked for, and the script it gets."""

from __future__ import annotations

import subprocess

from backends.engines.slurm.batch_script import (
    JobRequest,
    batch_script,
    sbatch_words,
)
from backends.inventory.job_options import JobOptions
from backends.remote.installation import wrapper

GPUS = JobRequest("r1", nodes=2, gpus_per_node=8, gpus=True, limit_s=3600.0)


def test_a_run_asks_for_whole_nodes_its_gpus_and_its_time() -> None:
    assert sbatch_words(GPUS, JobOptions()) == [
        "--job-name=dlperf-r1",
        "--nodes=2",
        "--ntasks-per-node=1",
        "--gpus-per-node=8",
        "--time=65",
        "--no-requeue",
        "--output=jobs/%j.out",
        "--exclusive",
    ]


def test_without_gpus_devices_are_cores() -> None:
    cores = JobRequest("r1", 1, 4, gpus=False, limit_s=59.0)
    words = sbatch_words(cores, JobOptions(exclusive=False, requeue=True))
    assert "--cpus-per-task=4" in words
    assert "--time=6" in words
    assert "--requeue" in words
    assert "--exclusive" not in words


def test_what_the_operator_asks_for_is_handed_on_and_their_own_words_come_last() -> None:
    options = JobOptions(
        partition="gpu",
        account="ml",
        qos="high",
        reservation="mon",
        constraint="[rack1|rack2]",
        nodelist="n[1-4]",
        exclude="n9",
        nice=0,
        extra=("--switches=1", "--time=10"),
    )
    words = sbatch_words(JobRequest("r1", 1, 1, True, 60.0, avoid=("n3",)), options)
    for word in (
        "--partition=gpu",
        "--account=ml",
        "--qos=high",
        "--reservation=mon",
        "--constraint='[rack1|rack2]'",
        "--nodelist='n[1-4]'",
        "--exclude=n9,n3",
        "--nice=0",
    ):
        assert word in words
    assert words[-2:] == ["--switches=1", "--time=10"]


def test_the_script_is_one_that_sh_reads() -> None:
    script = batch_script(GPUS, JobOptions(), wrapper(), "~/it's work")
    assert script.startswith("#!/bin/sh\n#SBATCH --job-name=dlperf-r1\n")
    subprocess.run(["sh", "-n"], input=script.encode(), check=True)
