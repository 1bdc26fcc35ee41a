"""A plan exported as batch scripts, handed in by hand to a real Slurm, and imported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import tomli_w

from tests.support.campaigns import Bench
from tests.support.slurm import SlurmCluster
from tests.support.sshd import MPIRUN_NEEDS_SSH
from tests.support.waiting import wait_until

LOOPBACK = """mpi_arguments = [
    "--mca", "oob_tcp_if_include", "lo", "--mca", "btl", "tcp,self",
    "--mca", "btl_tcp_if_include", "lo",
]"""


@pytest.fixture
def bench(tmp_path: Path, slurm: SlurmCluster) -> Bench:
    """Whose inventory is Slurm's."""
    found = Bench(tmp_path, [])
    defaults = {"engine": "slurm", "work_dir": str(tmp_path / "work")}
    found.inventory.write_text(tomli_w.dumps({"defaults": defaults}))
    return found


def said(bench: Bench, *words: str) -> str:
    done = bench.spawn(*words)
    out, err = done.communicate(timeout=180)
    assert done.returncode == 0, err
    return out


def exported(bench: Bench, *words: str) -> Path:
    """A directory that has been moved since."""
    first, moved = bench.directory / "scripts", bench.directory / "else where"
    told = json.loads(said(bench, "plan", *words, "--export", str(first), "--json"))
    for path in (*told["scripts"], told["submit"]):
        subprocess.run(["bash", "-n", path], check=True)
    first.rename(moved)
    return moved


def hand_in(slurm: SlurmCluster, directory: Path, *options: str) -> list[str]:
    """By hand, in a shell that finds nothing of ours; their states once all have ended."""
    environment = {
        **slurm.environment,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(directory),
    }
    assert shutil.which("dlperf-tui", path=environment["PATH"]) is None
    done = subprocess.run(
        ["sh", str(directory / "submit.sh"), *options],
        env={name: value for name, value in environment.items() if name != "PYTHONPATH"},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    ids = [line.split()[-1] for line in done.stdout.splitlines()]
    wait_until(
        lambda: not slurm.run("squeue", "-h", "-j", ",".join(ids)), within_s=120, what="they end"
    )
    told = slurm.run("squeue", "-h", "--states=all", "--format=%i %T", "-j", ",".join(ids))
    states = dict(line.split() for line in told.splitlines())
    return [states[job] for job in ids]


def imported(bench: Bench, directory: Path, profile: str) -> list[dict[str, object]]:
    words = ("-p", str(directory / profile / "profile.toml"), str(directory / profile / "logs"))
    said(bench, "import", *words, "-o", str(bench.directory / "imported"))
    text = said(bench, "report", str(bench.directory / "imported"), "--format", "json")
    return list(json.loads(text)["runs"])


def test_every_run_of_the_plan_is_in_what_import_makes_of_the_logs(
    bench: Bench, slurm: SlurmCluster
) -> None:
    words = ("-p", "cpu-smoke", "--case", "1n1g", "2n2g", "--set", "seconds=2", "--repeats", "2")
    planned = json.loads(said(bench, "plan", *words, "--json"))["runs"]
    directory = exported(bench, *words)
    order = [line.split()[-1] for line in (directory / "submit.sh").read_text().splitlines()[4:]]
    assert [Path(path).stem.split("-", 1)[1] for path in order] == [
        "1n1g-1",
        "2n2g-1",
        "1n1g-2",
        "2n2g-2",
    ]
    assert hand_in(slurm, directory) == ["COMPLETED"] * 4
    runs = imported(bench, directory, "cpu-smoke")
    assert len(runs) == len(planned) == 4
    assert sorted((run["case"], run["repeat"]) for run in runs) == [
        ("1n1g", 1),
        ("1n1g", 2),
        ("2n2g", 1),
        ("2n2g", 2),
    ]
    logs = directory / "cpu-smoke" / "logs" / "python" / "mlp"
    for run in runs:
        assert run["state"] == "succeeded", run
        log = logs / str(run["case"]) / f"mlp_b32_fp32_{run['repeat']}.log"
        gpus = str(int(str(run["case"])[0]) * int(str(run["case"])[2]))
        [parsed] = json.loads(
            said(bench, "parse", "-p", "cpu-smoke", "--gpus", gpus, str(log), "--json")
        )
        assert run["throughput"] == parsed["throughput"]
    assert len(list(logs.rglob("*.node?.log"))) == 2
    assert list((directory / "cpu-smoke" / "work").iterdir()) == []


def test_logs_hold_what_was_printed_to_the_last_byte(bench: Bench, slurm: SlurmCluster) -> None:
    directory = exported(bench, *bench.steady_words("1n1g", "2n1g", lines=5, every=0.05))
    assert hand_in(slurm, directory, "--comment=mine") == ["COMPLETED"] * 2
    printed = sorted(path.read_bytes() for path in bench.copies.iterdir())
    logs = sorted(path.read_bytes() for path in (directory / "steady" / "logs").rglob("*.log"))
    assert len(logs) == 3
    assert logs == printed


def test_a_run_that_fails_is_a_failed_job_and_its_log_tells_why(
    bench: Bench, slurm: SlurmCluster
) -> None:
    words = bench.steady_words("1n1g", lines=5, every=0.01)
    directory = exported(bench, *words, "--set", "after=sys.exit(7)")
    [state] = hand_in(slurm, directory)
    assert state == "FAILED"
    [log] = (directory / "steady" / "logs").rglob("*.log")
    assert log.read_bytes().endswith(b"end without a newline")


@pytest.mark.parametrize(
    ("launcher", "prefix", "allocation"),
    [
        pytest.param("mpirun", "", "campaign", marks=MPIRUN_NEEDS_SSH),
        ("srun", "rank_prefix = '^(?P<rank>\\d+): '", "run"),
    ],
)
def test_ranks_of_all_nodes_are_started_from_the_first(
    bench: Bench, slurm: SlurmCluster, launcher: str, prefix: str, allocation: str
) -> None:
    """In one job of all runs as well, which has more nodes."""
    tell = "echo $SLURMD_NODENAME rank ${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}; "
    say = "for i in 1 2 3 4; do echo iter $i, samples/s: 5; sleep 0.2; done"
    bench.profile(
        launcher=f'"{launcher}"',
        command=f"""'''sh -c "{tell}{say}" {{lines}}{{every}}{{copies}}{{after}}'''""",
        window=f"{{ skip = 1 }}\n{prefix}",
        launch=LOOPBACK if launcher == "mpirun" else "",
    )
    cases = ("2n2g",) if allocation == "run" else ("2n2g", "4n1g")
    directory = exported(bench, *bench.steady_words(*cases), "--allocation", allocation)
    assert hand_in(slurm, directory) == ["COMPLETED"]
    [log] = (directory / "steady" / "logs").rglob("2n2g/*.log")
    for rank, node in ((0, "node1"), (1, "node1"), (2, "node2"), (3, "node2")):
        assert f"{node} rank {rank}\n" in log.read_text()
    runs = imported(bench, directory, "steady")
    assert all(run["throughput"] for run in runs)
    assert [run["case"] for run in runs] == list(cases)


def test_all_runs_in_one_job_go_one_after_another_and_none_stops_the_others(
    bench: Bench, slurm: SlurmCluster
) -> None:
    """A command that calls srun by itself gets its run's nodes and no more."""
    tell = 'srun --overlap sh -c "echo here is \\$SLURMD_NODENAME"'
    script = bench.profiles / "theirs.sh"
    script.write_text(
        f"{tell}\nfor i in 1 2 3 4; do echo iter $i, samples/s: 5; done\n"
        '[ "$SLURM_JOB_NUM_NODES" != 2 ]\n'
    )
    bench.profile(
        launcher='"first_node"',
        command=f"'sh {script} {{lines}}{{every}}{{copies}}{{after}}'",
        window="{ skip = 1 }",
    )
    words = bench.steady_words("1n1g", "2n1g", "4n1g")
    directory = exported(bench, *words, "--repeats", "2", "--allocation", "campaign")
    assert (directory / "submit.sh").read_text().splitlines()[4:] == ['sbatch "$@" campaign.sh']
    assert hand_in(slurm, directory) == ["FAILED"]
    runs = imported(bench, directory, "steady")
    assert sorted(run["case"] for run in runs) == ["1n1g"] * 2 + ["2n1g"] * 2 + ["4n1g"] * 2
    for log in (directory / "steady" / "logs").rglob("*.log"):
        nodes = int(log.parent.name[0])
        here = [line.split()[-1] for line in log.read_text().splitlines() if "here is" in line]
        assert sorted(here) == [f"node{number}" for number in range(1, nodes + 1)]
    [said_of_all] = directory.glob("campaign.*.out")
    assert said_of_all.read_text().count("exit status 1") == 2


def test_a_job_that_is_cancelled_leaves_no_directory(bench: Bench, slurm: SlurmCluster) -> None:
    directory = exported(bench, *bench.steady_words("1n1g", lines=1000))
    environment = {**slurm.environment, "PATH": os.environ["PATH"]}
    subprocess.run(["sh", str(directory / "submit.sh")], env=environment, check=True)
    work = directory / "steady" / "work"
    wait_until(lambda: work.exists() and any(work.iterdir()), what="it runs")
    slurm.run("scancel", "--user", "root", "--signal=TERM", "--full")
    wait_until(lambda: not slurm.run("squeue", "-h"), what="it ends")
    assert list(work.iterdir()) == []
