"""What watching jobs of Slurm takes, on the Slurm of the tests: how late a first reading is known,
and how often the controller is asked, whatever the number of runs."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from backends.campaign.controller import CampaignController
from backends.campaign.plan.selection import Selection
from backends.engines.slurm.job_watch import LOOK_EVERY_S
from backends.inventory.host_entry import Host, Inventory
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.benchmarks.report import headline, line, middle
from tests.support.slurm import SlurmCluster, why_no_slurm
from tests.support.waiting import until

STARTS = 5
MANY = 16
LOOKS = 5
PROGRAMS = ("squeue", "scontrol", "sinfo", "sacct", "sbatch", "scancel")

PROFILE = """
name = "ticking"
framework = "sh"
model = "ticking"
source = "benchmark"
[matrix]
cases = ["1n1g"]
[launch]
launcher = "per_node"
command = "sh -c 'for i in $(seq {readings}); do echo iter $i, samples/s: 10; sleep 0.2; done'"
expected = "{seconds}s"
[measure]
reading = 'iter (?P<step>\\d+), samples/s: (?P<value>\\d+)'
statistic = "mean"
"""


def main() -> None:
    headline("Slurm: the first reading, and how often the controller is asked")
    if why := why_no_slurm():
        print(f"  skipped: {why}")
        return
    with tempfile.TemporaryDirectory() as directory:
        slurm = SlurmCluster(Path(directory) / "slurm")
        calls = _count_calls(Path(directory))
        os.environ["SLURM_CONF"] = str(slurm.conf)
        slurm.start()
        try:
            _note_begins(slurm)
            asyncio.run(_first_readings(slurm))
            per_look = [asyncio.run(_asked(slurm, calls, runs)) for runs in (1, MANY)]
        finally:
            slurm.close()
    for runs, asked in zip((1, MANY), per_look, strict=True):
        _print_asked(runs, asked)


def _print_asked(runs: int, asked: Mapping[str, int]) -> None:
    said = ", ".join(f"{count} {name}" for name, count in sorted(asked.items()))
    met = abs(sum(asked.values()) - LOOKS) <= 1 and set(asked) == {"squeue"}
    what = f"asked within {LOOKS} polls, campaign of {runs}"
    line(what, said or "nothing", target=f"{LOOKS} squeue", met=met)


def _count_calls(directory: Path) -> Path:
    """From now on each call of Slurm's programs leaves a line in the file that is returned."""
    found, programs = directory / "calls", directory / "programs"
    programs.mkdir()
    found.touch()
    for name in PROGRAMS:
        wrapper = programs / name
        real = shutil.which(name)
        wrapper.write_text(f'#!/bin/sh\necho {name} >>{found}\nexec {real} "$@"\n')
        wrapper.chmod(0o755)
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    return found


def _note_begins(slurm: SlurmCluster) -> None:
    """The prolog, which comes before the first line of a job's script, leaves its time."""
    with (slurm.directory / "prolog.sh").open("a") as prolog:
        prolog.write(f"date +%s.%N >{slurm.directory}/began.$SLURM_JOB_ID\n")


async def _first_readings(slurm: SlurmCluster) -> None:
    late = []
    for number in range(STARTS):
        workspace, controller = await _started(slurm, f"first{number}", 1, readings=20)
        run = await _with_reading(controller)
        late.append(time.time() - float((slurm.directory / f"began.{run}").read_text()))
        await controller.wait()
        await workspace.close()
    typical, worst, most = middle(late), max(late), LOOK_EVERY_S + 1.0
    line("from a job's prolog to its first reading in a snapshot", f"{typical:.2f} s")
    line("  slowest", f"{worst:.2f} s", target=f"< {most:.0f} s", met=worst < most)


async def _asked(slurm: SlurmCluster, calls: Path, runs: int) -> Counter[str]:
    """Which programs are called how often, while nothing begins or ends."""
    window_s = LOOKS * LOOK_EVERY_S
    workspace, controller = await _started(slurm, f"asked{runs}", runs, readings=500)
    await _with_reading(controller)
    await until(lambda: _settled(controller), what="what can be at work is")
    await asyncio.sleep(2 * LOOK_EVERY_S)
    before = len(calls.read_text().split())
    await asyncio.sleep(window_s)
    asked = Counter(calls.read_text().split()[before:])
    controller.cancel_all()
    await controller.wait()
    await workspace.close()
    return asked


def _settled(controller: CampaignController) -> bool:
    """One run, or one on each of the four nodes, has readings; all others are in the queue."""
    runs = controller.state.runs.values()
    read = sum(run.reading_count > 0 for run in runs)
    return read == min(4, len(runs)) and all(run.job_id for run in runs)


async def _with_reading(controller: CampaignController) -> str:
    """The job of the first run that a snapshot has a reading of."""
    found: list[str] = []

    def seen() -> bool:
        shown = [run.run_id for run in controller.snapshot().runs if run.readings]
        found.extend(controller.state.runs[run_id].job_id for run_id in shown)
        return bool(found)

    await until(seen, what="a reading")
    return found[0]


async def _started(
    slurm: SlurmCluster, name: str, runs: int, *, readings: int
) -> tuple[Workspace, CampaignController]:
    root = slurm.directory / name
    root.mkdir()
    profile = root / "ticking.toml"
    text = PROFILE.replace("{readings}", str(readings))
    profile.write_text(text.replace("{seconds}", str(readings // 5)), encoding="utf-8")
    login = Host("login", transport="local", work_dir=f"{root}/work")
    inventory = Inventory((), engine="slurm", login=login)
    workspace = Workspace(inventory, Catalog.load(), root / "campaigns")
    await workspace.cluster.learn_hosts()
    plan = workspace.plan(Selection((str(profile),), repeats=runs))
    return workspace, await workspace.start(plan)
