"""What becomes of jobs, by what squeue and sacct print; the programs are played."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

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
from tests.support.waiting import until

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
    return *watched_on(login), login


def watched_on(login: LocalTransport) -> tuple[JobWatch, RunJob]:
    commands = SlurmCommands(login)
    nodes = JobNodes(login, commands, (), (), lambda: 0.0)
    submission = Submission(login, commands, lambda _cluster: JobOptions())
    job = RunJob(Wanted("r", 1, 1), "7")
    return JobWatch(commands, submission, nodes, {"r": job}, lambda job: None), job


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


class Queue(LocalTransport):
    """A login node whose squeue says that the job is in this state; all else is done for real."""

    def __init__(self, work_dir: Path) -> None:
        super().__init__(replace(this_machine("login"), work_dir=str(work_dir)))
        self.state = "PENDING"
        self.asked = 0

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        if "exec squeue" not in command:
            return await super().run(command, stdin=stdin, timeout_s=timeout_s)
        self.asked += 1
        row = ("7", "dlperf-r", self.state, "None", "gpu", "node1", "", "", "0", "")
        return Completed(0, "\x1f".join(row).encode() + b"\n", b"")


async def test_a_job_that_begins_is_seen_at_once_and_with_one_more_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.engines.slurm.job_watch.LOOK_EVERY_S", 60.0)
    (tmp_path / "jobs").mkdir()
    login = Queue(tmp_path)
    watch, job = watched_on(login)
    looks: list[bool] = []

    async def looked(news: bool) -> None:
        looks.append(news)

    watch.soon()
    keeping = asyncio.create_task(watch.keep(looked))
    try:
        await until(lambda: job.seen is not None)
        assert job.waits
        login.state = "RUNNING"
        (tmp_path / "jobs" / "7.out").touch()
        await until(lambda: not job.waits, within_s=10, what="it is seen to run")
        assert login.asked == 2
        login.state = "PENDING"  # Slurm queues it again; what it wrote is there still
        watch.soon()
        monkeypatch.setattr("backends.engines.slurm.job_watch.LOOK_EVERY_S", 1.0)
        await until(lambda: job.waits)
        before, began = login.asked, asyncio.get_running_loop().time()
        await until(lambda: login.asked >= before + 2, within_s=20)
        assert asyncio.get_running_loop().time() - began > 1.9
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def test_where_nothing_can_be_seen_of_jobs_that_begin_the_controller_is_asked_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.engines.slurm.job_watch.LOOK_EVERY_S", 0.3)
    login = Queue(tmp_path)  # there is no directory of jobs
    watch, _ = watched_on(login)

    async def looked(news: bool) -> None:
        pass

    keeping = asyncio.create_task(watch.keep(looked))
    try:
        began = asyncio.get_running_loop().time()
        await until(lambda: login.asked >= 4, within_s=20)
        assert asyncio.get_running_loop().time() - began > 4 * 0.3 - 0.05
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
