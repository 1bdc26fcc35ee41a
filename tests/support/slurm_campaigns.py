"""Campaigns on the Slurm of the tests."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from backends.campaign.controller import CampaignController
from backends.inventory.host_entry import Host, Inventory
from tests.support.campaigns import Bench, only_run, until_running
from tests.support.slurm import NODES, SlurmCluster


def slurm_bench(directory: Path) -> Bench:
    """Whose hosts are the nodes; this machine is the login node and shares all with them."""
    work_dir = str(directory / "work")
    found = Bench(directory, [Host(name, transport="local", work_dir=work_dir) for name in NODES])
    login = Host("login", transport="local", work_dir=work_dir)
    found.known = Inventory((), engine="slurm", login=login)
    return found


def ask_for(bench: Bench, **options: object) -> None:
    """Of Slurm, with every job from now on; fields of JobOptions."""
    asked = replace(bench.known.job_options, **options)  # type: ignore[arg-type]
    bench.known = replace(bench.known, job_options=asked)


async def one_run(bench: Bench, *cases: str, **values: object) -> tuple[CampaignController, str]:
    """A campaign of one run, once that has readings, and its job."""
    controller = await bench.start(*cases, lines=1000, **values)
    await until_running(controller)
    return controller, only_run(controller.state).job_id


def jobs_handed_in(slurm: SlurmCluster, controller: CampaignController) -> list[str]:
    """Names of the campaign's jobs that Slurm knows, one for each sbatch."""
    campaign = next(iter(controller.state.runs)).partition("-")[0]
    words = ("squeue", "-h", "--states=all", "--format=%j")
    names = slurm.run(*words).split()
    return sorted(name for name in names if name.startswith(f"dlperf-{campaign}-"))


def lines_of(process: subprocess.Popen[str], until_seen: str) -> str:
    """What it has said, once that holds a text."""
    assert process.stderr is not None
    said = ""
    while until_seen not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    return said


LOOPBACK = """mpi_arguments = [
    "--mca", "oob_tcp_if_include", "lo", "--mca", "btl", "tcp,self",
    "--mca", "btl_tcp_if_include", "lo",
]"""


def ranks(bench: Bench, launcher: str, prefix: str) -> None:
    """The profile becomes one whose ranks say where they are, two on each node."""
    tell = "echo $SLURMD_NODENAME rank ${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}; "
    say = "for i in 1 2 3 4; do echo iter $i, samples/s: 5; sleep 0.2; done"
    bench.profile(
        launcher=f'"{launcher}"',
        command=f"""'''sh -c "{tell}{say}" {{lines}}{{every}}{{copies}}{{after}}'''""",
        window=f"{{ skip = 1 }}\n{prefix}",
        launch=LOOPBACK if launcher == "mpirun" else "",
    )
