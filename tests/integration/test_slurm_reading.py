"""A real Slurm is read: as JSON where its programs offer it, and the same as text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from backends.engines.slurm.commands import (
    ControllerDownError,
    RefusedError,
    SlurmCommands,
    SlurmMissingError,
)
from backends.engines.slurm.jobs import (
    Job,
    JobState,
    accounted_jobs,
    current_jobs,
)
from backends.engines.slurm.nodes import all_nodes
from backends.inventory.host_entry import Host
from backends.transports.local import LocalTransport
from backends.transports.pool import TransportPool
from tests.support.slurm import SlurmCluster
from tests.support.sshd import NEEDS_SSHD, SshHosts
from tests.support.waiting import until

LOGIN = Host("login", transport="local")
BOTH = pytest.mark.parametrize("offers_json", [True, False], ids=["JSON", "text"])


def commands(*, offers_json: bool = True) -> SlurmCommands:
    return SlurmCommands(LocalTransport(LOGIN), offers_json=offers_json)


async def until_state(job_id: str, state: JobState) -> Job:
    async def there() -> bool:
        return (await current_jobs(commands()))[job_id].state is state

    await until(there, what=f"{job_id} is {state}")
    return (await current_jobs(commands()))[job_id]


@BOTH
async def test_nodes_are_told_with_states_reasons_devices_and_who_has_them(
    slurm: SlurmCluster, offers_json: bool
) -> None:
    slurm.run("scontrol", "update", "nodename=node4", "state=drain", "reason=fan | tray=3")
    slurm.run(
        *("scontrol", "create", "reservation=maintenance", "nodes=node3"),
        *("start=now", "duration=10", "users=root"),
    )
    await until(lambda: "reserved" in slurm.run("sinfo", "-h", "-n", "node3", "-o", "%T"))
    first = slurm.submit("sleep 600", "-w", "node1", "-N1", "--gres=gpu:2")
    second = slurm.submit("sleep 600", "-w", "node1", "-N1", "--gres=gpu:h200:3")
    for job_id in (first, second):
        await until_state(job_id, JobState.RUNNING)
    programs = commands(offers_json=offers_json)
    document = await programs.document("sinfo", "--all")
    assert (document is not None) == offers_json  # which is how all that follows is read
    one, two, three, four = await all_nodes(programs)
    assert (one.state, one.gpu_count, one.used, one.gpus_used) == ("mixed", 8, (0, 1, 2, 3, 4), 5)
    assert (one.cpus, one.users) == (16, ("root",))
    assert one.partitions == ("gpu", "short", "urgent")
    assert (two.state, two.used, two.users) == ("idle", (), ())
    assert (three.flags, three.reservation) == (("reserved",), "maintenance")
    assert (four.state, four.flags, four.reason) == ("idle", ("drain",), "fan | tray=3")
    assert [node.takes_jobs for node in (one, two, three, four)] == [True, True, True, False]


async def test_one_call_has_all_jobs_of_a_prefix_and_how_they_ended(slurm: SlurmCluster) -> None:
    failed = slurm.submit("exit 3", "-Jours-1")
    waiting = slurm.submit("sleep 600", "-Jours-2", "--hold")
    other = slurm.submit("sleep 600", "-Jtheirs")
    job = await until_state(failed, JobState.FAILED)
    assert (job.exit_code, job.reason) == (3, "NonZeroExitCode")
    jobs = await current_jobs(commands(), prefix="ours-", ids=["123"])
    assert {job_id for job_id in jobs if int(job_id) >= int(failed)} == {failed, waiting}
    assert jobs[waiting].reason == "JobHeldUser"
    assert list(await current_jobs(commands(), ids=[other])) == [other]
    slurm.run("scancel", waiting)
    assert (await until_state(waiting, JobState.CANCELLED)).state.ended


async def test_a_requeue_is_counted(slurm: SlurmCluster) -> None:
    job_id = slurm.submit("sleep 600", "--requeue")
    await until_state(job_id, JobState.RUNNING)
    slurm.run("scontrol", "requeue", job_id)
    await until_state(job_id, JobState.PENDING)
    job = (await current_jobs(commands()))[job_id]
    assert (job.restarts, job.nodes) == (1, ())


async def test_what_the_operators_environment_says_does_not_count(
    slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = slurm.submit("sleep 600", "-Jours x=1")
    before = await until_state(job_id, JobState.RUNNING)
    monkeypatch.setenv("SQUEUE_FORMAT2", "JobID")
    monkeypatch.setenv("SQUEUE_STATES", "PD")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("SLURM_CLUSTERS", "elsewhere")
    monkeypatch.setenv("SBATCH_PARTITION", "nowhere")
    assert (await current_jobs(commands()))[job_id] == before
    words = ("--parsable", "--hold", "--wrap", "true", "--output=/dev/null")
    second = (await commands().run("sbatch", *words)).strip()
    assert (await current_jobs(commands()))[second].partition == "gpu"


async def test_slurm_says_in_its_own_words_why_not(slurm: SlurmCluster) -> None:
    with pytest.raises(RefusedError) as caught:
        await commands().run("sbatch", "--partition=nope", "--wrap", "true")
    assert str(caught.value) == (
        "login: sbatch: invalid partition specified: nope; "
        "Batch job submission failed: Invalid partition name specified"
    )
    assert await accounted_jobs(commands(), ["1"]) == {}  # there is none here


async def test_a_controller_that_is_down_is_told_and_comes_back(slurm: SlurmCluster) -> None:
    slurm.stop_controller()
    with pytest.raises(ControllerDownError, match="does not answer: squeue got no answer within"):
        await commands().run("squeue", timeout_s=0.5)
    with pytest.raises(ControllerDownError, match="try again when slurmctld is back"):
        await current_jobs(commands())
    slurm.start_controller()

    async def back() -> bool:
        try:
            return len(await all_nodes(commands())) == 4
        except ControllerDownError:
            return False

    await until(back)


async def test_a_login_node_without_slurm_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"PATH": "/usr/bin:/bin", "SLURM_CONF": str(tmp_path / "slurm.conf")}
    transport = LocalTransport(LOGIN, environment=environment)
    with pytest.raises(SlurmMissingError, match="login: has no sinformation; name a login node"):
        await SlurmCommands(transport).run("sinformation")


@NEEDS_SSHD
async def test_the_login_node_is_reached_over_ssh(
    slurm: SlurmCluster, ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    login = ssh_hosts(1, options=[f"SetEnv SLURM_CONF={slurm.conf} SINFO_FORMAT=%n"])[0]
    over_ssh = SlurmCommands(pool.get(login.host))
    assert await all_nodes(over_ssh) == await all_nodes(commands())
    job_id = slurm.submit("sleep 600", "--gres=gpu:1")
    await until_state(job_id, JobState.RUNNING)
    there, here = await asyncio.gather(current_jobs(over_ssh), current_jobs(commands()))
    assert there == here
