"""What becomes of jobs, by what squeue and sacct print; the programs are played."""

from __future__ import annotations

import pytest

from backends.engines.engine import EndKind, Wanted
from backends.engines.slurm.commands import SlurmCommands
from backends.engines.slurm.job_nodes import JobNodes
from backends.engines.slurm.job_watch import JobWatch
from backends.engines.slurm.run_job import RunJob
from backends.engines.slurm.submission import Submission
from backends.inventory.host_entry import this_machine
from backends.inventory.job_options import JobOptions
from backends.transports.local import LocalTransport
from backends.transports.transport import Completed

DISABLED = b"Slurm accounting storage is disabled\n"
ENDS = [
    ("CANCELLED by 1000", EndKind.CANCELLED, "1000"),
    ("OUT_OF_MEMORY", EndKind.OUT_OF_MEMORY, ""),
    ("TIMEOUT", EndKind.TIME_LIMIT, ""),
    ("DEADLINE", EndKind.DEADLINE, ""),
    ("NODE_FAIL", EndKind.NODE_FAILED, ""),
]


class Played(LocalTransport):
    """A login node whose squeue knows no job. ``told``: by sacct; None: there is no accounting."""

    def __init__(self, told: bytes | None) -> None:
        super().__init__(this_machine("login"))
        self._told = told
        self.asked: list[str] = []

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        program = command.rpartition("exec ")[2].split()[0]
        self.asked.append(program)
        if program == "sacct" and self._told is None:
            return Completed(1, b"", DISABLED)
        return Completed(0, (self._told or b"") if program == "sacct" else b"", b"")


def watched(told: bytes | None) -> tuple[JobWatch, RunJob, Played]:
    login = Played(told)
    commands = SlurmCommands(login)
    nodes = JobNodes(login, commands, (), (), lambda: 0.0)
    submission = Submission(login, commands, lambda _cluster: JobOptions())
    job = RunJob(Wanted("r", 1, 1), "7")
    return JobWatch(commands, submission, nodes, {"r": job}, lambda job: None), job, login


@pytest.mark.parametrize(("state", "kind", "by"), ENDS)
async def test_a_job_that_slurm_has_forgotten_ended_as_the_accounting_says(
    state: str, kind: EndKind, by: str
) -> None:
    row = ("7", "dlperf-r", state, "0:0", "gpu", "node1", "1795390489")
    watch, job, _ = watched("\x1f".join(row).encode() + b"\n")
    assert await watch.look()
    assert job.over
    assert job.end is not None
    assert (job.end.kind, job.end.by) == (kind, by)


@pytest.mark.parametrize("told", [None, b""])
async def test_without_an_accounting_nobody_knows_how_it_ended(told: bytes | None) -> None:
    watch, job, login = watched(told)
    assert await watch.look()
    assert job.over
    assert job.end is None
    await watch.look()
    assert login.asked == ["squeue", "sacct"]  # once
