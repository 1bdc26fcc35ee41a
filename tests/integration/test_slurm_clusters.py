"""Several partitions of a real Slurm in one matrix: every case on each, and never mixed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli_w

from backends.campaign.folder.reader import read_campaign
from tests.support.campaigns import Bench
from tests.support.slurm import SlurmCluster


@pytest.fixture
def shell(tmp_path: Path, slurm: SlurmCluster) -> Bench:
    """Two clusters: one has the partition's name, the other a name of its own."""
    found = Bench(tmp_path, [])
    defaults = {"engine": "slurm", "work_dir": str(tmp_path / "work")}
    clusters = {"short": {"extra": ["--comment=two"]}, "all": {"partition": "gpu"}}
    slurm_keys = {"exclusive": False, "extra": ["--nice=3"], "clusters": clusters}
    found.inventory.write_text(tomli_w.dumps({"defaults": defaults, "slurm": slurm_keys}))
    return found


def run_json(shell: Bench, *words: str) -> dict[str, list[dict[str, object]]]:
    done = shell.spawn(*words, "--json")
    out, err = done.communicate(timeout=180)
    assert done.returncode == 0, err
    found: dict[str, list[dict[str, object]]] = json.loads(out)
    return found


def test_every_case_runs_on_each_cluster_and_results_are_kept_apart(
    shell: Bench, slurm: SlurmCluster
) -> None:
    told = run_json(shell, "run", *shell.steady_words("1n1g", "2n1g", lines=8))
    runs = {(run["case"], run["parameters"]["cluster"]): run for run in told["runs"]}  # type: ignore[index]
    assert sorted(runs) == [(case, name) for case in ("1n1g", "2n1g") for name in ("all", "short")]
    for (_, cluster), run in runs.items():
        assert run["state"] == "succeeded"
        job = slurm.run("scontrol", "show", "job", str(run["job_id"]))
        assert f"Partition={'gpu' if cluster == 'all' else 'short'}" in job
        assert ("Comment=two" in job) == (cluster == "short")
        assert "Nice=3" in job
    results = [(r["case"], r["parameters"]["cluster"], r["repeats"]) for r in told["results"]]  # type: ignore[index]
    assert sorted(results) == [(case, name, 1) for case, name in sorted(runs)]
    speedups = {r["parameters"]["cluster"]: r["speedup"] for r in told["results"]}  # type: ignore[index]
    assert all(speedups.values())
    assert shell.logs_are_exact(read_campaign(shell.campaign), shell.campaign) == 6
    printed = shell.spawn("report", str(shell.campaign), "--layout", "pivot")
    out, err = printed.communicate(timeout=60)
    assert printed.returncode == 0, err
    assert "short" in out


def test_a_case_that_one_cluster_is_too_small_for_runs_on_the_other(
    shell: Bench, slurm: SlurmCluster
) -> None:
    """Partition short has two of the four nodes."""
    told = run_json(shell, "plan", "-p", "cpu-smoke", "--case", "4n1g")
    assert [run["label"] for run in told["runs"]] == ["cpu-smoke 4n1g b32 cluster=all #1"]
    [refused] = told["refused"]
    assert "needs 4" in str(refused["reason"])
    words = ("run", "-p", "cpu-smoke", "--case", "4n1g", "--set", "seconds=1")
    [result] = run_json(shell, *words)["results"]
    assert result["parameters"]["cluster"] == "all"  # type: ignore[index]
    alone = shell.spawn(*words, "--clusters", "short")
    _, err = alone.communicate(timeout=60)
    assert alone.returncode == 2
    assert "case 4n1g of cpu-smoke cannot run: needs 4" in err


def test_clusters_may_be_named_for_one_command(shell: Bench, slurm: SlurmCluster) -> None:
    words = ("plan", "-p", "cpu-smoke", "--case", "1n1g", "--repeats", "1")
    told = run_json(shell, *words, "--clusters", "urgent,short")
    jobs = [str(run["job"]) for run in told["runs"]]
    assert ["--partition=urgent\n" in job for job in jobs] == [True, False]
    assert ["--partition=short\n" in job for job in jobs] == [False, True]
    refused = shell.spawn(*words, "--allocation", "campaign")
    _, err = refused.communicate(timeout=60)
    assert refused.returncode == 2
    assert "one job is of one cluster" in err
    told = run_json(shell, *words, "--allocation", "campaign", "--clusters", "short")
    assert "--partition=short\n" in str(told["runs"][0]["job"])
