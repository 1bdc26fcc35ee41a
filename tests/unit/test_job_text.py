"""What a dry-run says that a queue is asked for."""

from __future__ import annotations

from backends.campaign.plan.plan import DryRun, Plan
from backends.campaign.plan.selection import Selection
from tui.screens.dry_run import dry_run_text

SCRIPT = "#!/bin/sh\n#SBATCH --nodes=2\n#SBATCH --comment='two words'\n\nsrun …\n"
PLAN = Plan(Selection(("smoke",)), (), (), ())


def shown(*runs: DryRun) -> list[str]:
    return dry_run_text(PLAN, runs).splitlines()


def run(label: str, job: str = "", *, of_all: bool = False) -> DryRun:
    return DryRun(label, label, ("n1",), ("true",), job, of_all)


def test_every_run_has_the_options_of_its_job() -> None:
    lines = shown(run("a", SCRIPT), run("b", SCRIPT))
    assert lines.count("# sbatch --nodes=2 --comment='two words'") == 2
    first = lines.index("# 1/2  a  on n1")
    assert lines[first + 1 : first + 4] == [
        "# sbatch --nodes=2 --comment='two words'",
        "# n1",
        "true",
    ]


def test_one_job_for_all_runs_is_told_once_before_them() -> None:
    lines = shown(run("a", SCRIPT, of_all=True), run("b", SCRIPT, of_all=True))
    told = lines.index("# sbatch --nodes=2 --comment='two words'")
    assert lines[told - 1] == "# all are steps of one job:"
    assert told < lines.index("# 1/2  a  on n1")
    assert sum("sbatch" in line for line in lines) == 1


def test_hosts_of_an_inventory_are_asked_for_nothing() -> None:
    assert not any("sbatch" in line for line in shown(run("a")))
