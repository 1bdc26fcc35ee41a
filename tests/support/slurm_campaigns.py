"""Campaigns on the Slurm of the tests."""

from __future__ import annotations

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
