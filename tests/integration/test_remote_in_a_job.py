"""Runs in a batch job: a step that lives as long as the run has it, and another machine reads."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.installation import command_of, wrapper
from backends.remote.wrapper_messages import RemoteError, RunPhase, RunSpec, RunStatus
from backends.transports.local import LocalTransport
from tests.support.waiting import until

JOB = "77"


class Job:
    """A step of job 77 on this machine, and the ways to it."""

    def __init__(self, host: Host) -> None:
        environment = {**os.environ, "SLURM_JOB_ID": JOB}
        login = LocalTransport(host)
        self.host = host
        self.remote = RemoteHost(LocalTransport(host, environment=environment), files=login)
        self.post = Path(host.work_dir) / "jobs" / f"{JOB}.{host.name}"
        self.step: asyncio.subprocess.Process | None = None

    def directory(self, run_id: str) -> Path:
        return Path(self.host.work_dir) / "runs" / f"{run_id}.{self.host.name}"

    async def begin(self, patience_s: int = 20) -> asyncio.subprocess.Process:
        await self.remote.status("none")  # installs the wrapper
        words = ("serve", self.host.name, JOB, str(patience_s))
        command = command_of(wrapper(), self.host.work_dir, words)
        self.step = await asyncio.create_subprocess_exec(
            "sh", "-c", command, start_new_session=True
        )
        await until(self.post.is_dir)
        return self.step

    async def start(self, run_id: str, script: str) -> RunStatus:
        return await self.remote.start(RunSpec(run_id, script, lease="", grace_s=1.0))


@pytest.fixture
async def job(local_host: Host) -> AsyncIterator[Job]:
    found = Job(local_host)
    yield found
    for path in Path(local_host.work_dir).glob("runs/*"):
        await found.remote.cancel(path.name.removesuffix(f".{local_host.name}"), grace_s=0.2)
    if found.step is not None and found.step.returncode is None:
        os.killpg(found.step.pid, signal.SIGKILL)
        await found.step.wait()


async def test_the_step_has_the_run_and_ends_with_it(job: Job) -> None:
    step = await job.begin()
    status = await job.start("one", "cat /proc/$PPID/stat | cut -d' ' -f6; sleep 0.3; echo done")
    assert status.phase is RunPhase.RUNNING
    log = bytearray()
    ended = await job.remote.follow("one", 0, log.extend)
    assert ended.exit_code == 0
    assert log.decode().split() == [str(step.pid), "done"]  # of the step's session
    digest = await job.remote.digest("one")
    await job.remote.remove("one", digest)
    async with asyncio.timeout(5):
        assert await step.wait() == 0
    assert not job.post.exists()


async def test_a_step_to_which_nothing_is_handed_ends(job: Job) -> None:
    step = await job.begin(patience_s=1)
    async with asyncio.timeout(10):
        assert await step.wait() == 75
    assert not job.post.exists()


async def test_a_job_that_is_ended_ends_its_run_with_a_record(job: Job) -> None:
    """TERM goes to every process of the step, and KILL follows."""
    step = await job.begin()
    await job.start("two", "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; done")
    log = bytearray()
    following = asyncio.create_task(job.remote.follow("two", 0, log.extend))
    await until(lambda: b"up" in log)
    os.killpg(step.pid, signal.SIGTERM)
    async with asyncio.timeout(10):
        ended = await following
    assert (ended.phase, ended.cancelled, ended.exit_code) == (RunPhase.EXITED, True, 5)
    assert log.endswith(b"bye\n")


async def test_a_second_start_of_a_requeued_job_is_another_run(job: Job) -> None:
    step = await job.begin()
    await job.start("three", "sleep 60")
    os.killpg(step.pid, signal.SIGKILL)
    await step.wait()
    await job.remote.cancel("three", grace_s=0.1)
    await job.begin()
    await job.start("four", "echo again")
    log = bytearray()
    assert (await job.remote.follow("four", 0, log.extend)).exit_code == 0
    assert log == b"again\n"


async def test_another_machine_reads_what_it_cannot_see(job: Job) -> None:
    """As far as the shared directory tells: the supervisor's boot is not this machine's."""
    step = await job.begin()
    await job.start("five", "echo up; sleep 1.5; echo more; exit 4")
    supervisor = job.directory("five") / "supervisor"
    pid, ticks, _boot, started = supervisor.read_text().split()
    supervisor.write_text(f"{pid} {ticks} another-boot {started}\n")
    status = await job.remote.status("five")
    assert (status.phase, status.boot_id) == (RunPhase.RUNNING, "another-boot")
    log = bytearray()
    async with asyncio.timeout(10):
        ended = await job.remote.follow("five", 0, log.extend)
    assert (ended.phase, ended.exit_code) == (RunPhase.EXITED, 4)
    assert log.decode() == "up\nmore\n"
    await job.remote.remove("five", await job.remote.digest("five"))
    async with asyncio.timeout(5):
        await step.wait()


async def test_a_supervisor_that_was_killed_in_a_job_is_lost_to_other_machines_too(
    job: Job,
) -> None:
    await job.begin()
    status = await job.start("six", "sleep 60")
    supervisor = job.directory("six") / "supervisor"
    pid, ticks, _boot, started = supervisor.read_text().split()
    supervisor.write_text(f"{pid} {ticks} another-boot {started}\n")
    assert status.pid is not None
    os.kill(status.pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        ended = await job.remote.follow("six", 0, lambda data: None)
    assert (ended.phase, ended.same_boot) == (RunPhase.LOST, True)


@pytest.mark.parametrize("variable", ["DLPERF_JOB_OVER", "DLPERF_POST"])
async def test_where_no_step_waits_for_it_a_run_of_a_job_is_not_started(
    local_host: Host, variable: str
) -> None:
    """The job ended a moment ago, and the login node answers in its place; or its step did."""
    there = LocalTransport(local_host, environment={**os.environ, variable: "77_seven"})
    mark = Path(local_host.work_dir) / "executed"
    with pytest.raises(RemoteError, match="the step that waited for the run has ended"):
        await RemoteHost(there).start(RunSpec("seven", f"touch {mark}", lease="", grace_s=1.0))
    assert (await RemoteHost(there).status("seven")).phase is RunPhase.ABSENT
    assert not mark.exists()


async def test_a_step_of_a_campaigns_job_waits_by_a_name_of_its_own(job: Job) -> None:
    """Several runs are in the job; what waits ends when it is told that nothing will come."""
    await job.remote.status("none")
    posts = [Path(job.host.work_dir) / "jobs" / f"{JOB}_{n}.{job.host.name}" for n in (1, 2)]
    steps = []
    for number, post in enumerate(posts, 1):
        words = ("serve", job.host.name, f"{JOB}_{number}", "20")
        command = command_of(wrapper(), job.host.work_dir, words)
        steps.append(await asyncio.create_subprocess_exec("sh", "-c", command))
        await until(post.is_dir)
    here = LocalTransport(job.host, environment={**os.environ, "DLPERF_POST": f"{JOB}_2"})
    await RemoteHost(here).start(RunSpec("eight", "echo here", lease="", grace_s=1.0))
    log = bytearray()
    assert (await job.remote.follow("eight", 0, log.extend)).exit_code == 0
    posts[0].rmdir()
    async with asyncio.timeout(5):
        assert await steps[0].wait() == 0
    await job.remote.remove("eight", await job.remote.digest("eight"))
    async with asyncio.timeout(5):
        assert await steps[1].wait() == 0
    assert not posts[1].exists()
