"""Campaigns on a real Slurm of four nodes: jobs handed in once, followed, ended, told apart."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.cause import Cause
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import RunState
from profiles.errors import SelectionError
from tests.support.campaigns import (
    STEADY,
    Bench,
    finish,
    kill_hard,
    only_run,
    until_running,
)
from tests.support.escapes import ESCAPES
from tests.support.processes import alive
from tests.support.slurm import SlurmCluster
from tests.support.slurm_campaigns import (
    ask_for,
    jobs_handed_in,
    lines_of,
    one_run,
    ranks,
    slurm_bench,
)
from tests.support.sshd import MPIRUN_NEEDS_SSH, SshHosts
from tests.support.waiting import until, wait_until


@pytest.fixture
async def bench(tmp_path: Path, slurm: SlurmCluster) -> AsyncIterator[Bench]:
    found = slurm_bench(tmp_path)
    yield found
    await found.close()


async def test_runs_of_one_and_of_two_nodes_are_jobs(bench: Bench, slurm: SlurmCluster) -> None:
    controller = await bench.start("1n1g", "2n1g", profile="cpu-smoke", seconds=2)
    state = await finish(controller)
    for run in state.runs.values():
        assert run.state is RunState.SUCCEEDED, run.reason
        assert len(run.hosts) == run.nodes
        assert run.job_id
    bench.nothing_is_left()
    await until(lambda: not slurm.run("squeue", "-h"), what="the jobs have ended")
    ended = slurm.run("squeue", "-h", "--states=all", "--format=%j %T").splitlines()
    assert {f"dlperf-{run_id} COMPLETED" for run_id in state.runs} <= set(ended)


async def test_jobs_that_pack_share_a_node_and_are_marked(bench: Bench) -> None:
    ask_for(bench, nodelist="node1")
    controller = await bench.start("1n1g", repeats=2, lines=1000, pack=True)
    await until_running(controller, count=2)
    one, other = controller.state.runs.values()
    assert one.hosts == other.hosts == ("node1",)
    shared = {run.run_id: run.shared_with for run in run_results(controller.state)}
    assert shared == {one.run_id: (other.run_id,), other.run_id: (one.run_id,)}
    controller.cancel_all()
    await finish(controller)
    ask_for(bench, allocation="campaign")
    with pytest.raises(SelectionError, match="no more devices of a node than its widest run"):
        await bench.start("1n1g", pack=True)


@pytest.mark.faults
async def test_a_cancelled_run_is_gone_whatever_its_children_did(
    bench: Bench, slurm: SlurmCluster
) -> None:
    pids = bench.directory / "pids"
    escapes = "; ".join(f"os.system({(text + ' &')!r})" for text in ESCAPES.values())
    bench.profile(launch=f'environment = {{ PIDS = "{pids}" }}')
    steady = bench.profiles / "steady.py"
    steady.write_text(STEADY.replace('say(b"\\x1b', f'{escapes}\nsay(b"\\x1b'))
    controller, job = await one_run(bench)
    await until(lambda: pids.exists() and len(pids.read_text().split()) == len(ESCAPES))
    controller.cancel_all()
    run = only_run(await finish(controller))
    assert (run.state, run.cleanup.doubts) == (RunState.CANCELLED, ())
    assert not [pid for pid in pids.read_text().split() if alive(int(pid))]
    bench.nothing_is_left()
    await until(lambda: not slurm.run("squeue", "-h", "-j", job), what="the job has ended")


async def test_a_job_that_somebody_cancels_says_so(bench: Bench, slurm: SlurmCluster) -> None:
    controller, job = await one_run(bench)
    slurm.run("scancel", job)
    run = only_run(await finish(controller))
    assert (run.state, run.category) == (RunState.FAILED, Cause.CANCELLED)
    assert run.reason == "the job was cancelled"
    bench.nothing_is_left()


@pytest.mark.faults
async def test_a_failed_node_is_named_and_the_next_attempt_avoids_it(
    bench: Bench, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.campaign.run.end_reason._RETRY_DELAYS", {"later": 0.1})
    controller, _ = await one_run(bench, "2n1g")
    first = only_run(controller.state)
    slurm.fail_node(first.hosts[1])
    await until(lambda: len(controller.state.runs) == 2, what="another attempt")
    ended = controller.state.runs[first.run_id]
    assert (ended.category, ended.failed_host) == (Cause.NODE_FAILED, first.hosts[1])
    second = list(controller.state.runs)[1]
    await until(lambda: controller.state.runs[second].reading_count, what="it runs")
    assert first.hosts[1] not in controller.state.runs[second].hosts
    controller.cancel_all()
    await finish(controller)


@pytest.mark.parametrize("requeue", [False, True])
async def test_a_node_whose_prolog_fails_is_named_and_the_run_goes_elsewhere(
    bench: Bench, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch, requeue: bool
) -> None:
    """Slurm says CANCELLED and drains the node; or queues the job again and holds it for ever."""
    monkeypatch.setattr("backends.campaign.run.end_reason._RETRY_DELAYS", {"later": 0.1})
    ask_for(bench, requeue=requeue)
    slurm.fail_prolog("node1")
    state = await finish(await bench.start("2n1g"))
    *before, last = state.runs.values()
    assert last.state is RunState.SUCCEEDED, last.reason
    assert "node1" not in last.hosts
    for run in before:
        if requeue:  # it is held, and of no node any more
            assert run.reason == "the job could not be launched"
        else:
            assert (run.category, run.failed_host) == (Cause.PROLOG_FAILED, "node1")
            assert run.reason == "node1: the job's prolog failed"
    assert len(before) == 1
    await until(lambda: not slurm.run("squeue", "-h"), what="no job is held")


@pytest.mark.faults
async def test_a_run_neither_notices_nor_needs_the_controller_and_what_waits_says_so(
    bench: Bench, slurm: SlurmCluster
) -> None:
    controller = await bench.start("4n1g", repeats=2, lines=60)
    await until_running(controller)
    slurm.stop_controller()
    first = next(run for run in controller.state.runs.values() if run.state is RunState.RUNNING)
    await until(lambda: controller.state.runs[first.run_id].reading_count > 50)
    words = "queued: Slurm's controller does not answer"
    await until(
        lambda: any(run.state_text.startswith(words) for run in controller.snapshot().runs),
        what="it says that nobody answers",
    )
    slurm.start_controller()
    state = await finish(controller)
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert bench.logs_are_exact(controller.state, controller.path) == 8


async def test_a_console_that_comes_back_finds_its_jobs_and_hands_in_none_twice(
    bench: Bench, slurm: SlurmCluster
) -> None:
    controller = await bench.start(repeats=2, lines=120)
    await until_running(controller)
    for _ in range(3):
        await controller.detach()
        controller = await bench.workspace().resume(controller.path)
        await until_running(controller)
    state = await finish(controller)
    assert [run.state for run in state.runs.values()] == [RunState.SUCCEEDED] * 2
    assert jobs_handed_in(slurm, controller) == sorted(f"dlperf-{run_id}" for run_id in state.runs)
    assert bench.logs_are_exact(state, controller.path) == 2


@pytest.mark.faults
async def test_what_ended_while_no_console_was_there_is_collected(
    bench: Bench, slurm: SlurmCluster
) -> None:
    controller = await bench.start(lines=40)
    await until_running(controller)
    await controller.detach()
    await until(lambda: not slurm.run("squeue", "-h"), what="the job has ended")
    again = await bench.workspace().resume(controller.path)
    run = only_run(await finish(again))
    assert run.state is RunState.SUCCEEDED, run.reason
    assert bench.logs_are_exact(again.state, again.path) == 1
    bench.nothing_is_left()


@pytest.mark.faults
async def test_a_drained_node_and_a_killed_slurmd_leave_a_run_alone(
    bench: Bench, slurm: SlurmCluster
) -> None:
    controller = await bench.start(lines=80)
    await until_running(controller)
    [node] = only_run(controller.state).hosts
    slurm.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=disk")
    slurm.kill_node(node)
    await asyncio.sleep(1)
    slurm.start_node(node)
    run = only_run(await finish(controller))
    assert run.state is RunState.SUCCEEDED, run.reason


async def test_what_slurm_refuses_fails_with_its_words(bench: Bench) -> None:
    ask_for(bench, reservation="nowhere")
    run = only_run(await finish(await bench.start()))
    assert (run.state, run.category) == (RunState.FAILED, Cause.REFUSED)
    assert "reservation is invalid" in run.reason


async def test_a_queued_job_says_why_and_leaves_the_queue_when_it_is_cancelled(
    bench: Bench, slurm: SlurmCluster
) -> None:
    slurm.submit("sleep 600", "--nodes=4", "--exclusive", "--time=10")
    controller = await bench.start()
    await until(lambda: controller.snapshot().runs[0].state_text.startswith("queued: Resources"))
    controller.cancel_all()
    assert only_run(await finish(controller)).state is RunState.CANCELLED
    [name] = jobs_handed_in(slurm, controller)
    assert slurm.run("squeue", "-h", "--name", name) == ""


@pytest.mark.parametrize(
    ("launcher", "prefix"),
    [
        pytest.param("mpirun", "", marks=MPIRUN_NEEDS_SSH),
        ("srun", "rank_prefix = '^(?P<rank>\\d+): '"),
    ],
)
async def test_ranks_of_all_nodes_are_started_from_the_first(
    bench: Bench, launcher: str, prefix: str
) -> None:
    """Two on each; rank 0 is on the first node, and rank 2 on the second."""
    ranks(bench, launcher, prefix)
    controller = await bench.start("2n2g")
    run = only_run(await finish(controller))
    assert run.state is RunState.SUCCEEDED, (run.reason, run.evidence)
    log = (controller.path / run.log).read_text()
    for rank, node in ((0, run.hosts[0]), (1, run.hosts[0]), (2, run.hosts[1])):
        assert f"{node} rank {rank}\n" in log
    assert run.reading_count == 4


@MPIRUN_NEEDS_SSH
async def test_a_command_that_calls_mpirun_itself_reaches_all_nodes(bench: Bench) -> None:
    """As a script does that is started on the first host alone."""
    loopback = "--mca oob_tcp_if_include lo --mca btl tcp,self --mca btl_tcp_if_include lo"
    tell = "echo rank $OMPI_COMM_WORLD_RANK on $SLURMD_NODENAME, iter 1, samples/s: 5; "
    mpirun = f"mpirun --allow-run-as-root {loopback} -np {{gpus}} --host {{host_slots}}"
    bench.profile(
        launcher='"first_node"',
        command=f"""'''{mpirun} sh -c "{tell}" {{lines}}{{every}}{{copies}}{{after}}'''""",
        window="{ skip = 1 }",
    )
    controller = await bench.start("2n2g")
    run = only_run(await finish(controller))
    log = (controller.path / run.log).read_text()
    for rank, node in ((0, 0), (1, 0), (2, 1), (3, 1)):
        assert f"rank {rank} on {run.hosts[node]}," in log, log


# Through the command line -------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path, slurm: SlurmCluster) -> Bench:
    """Whose inventory is Slurm's; nothing of the engine is replaced."""
    found = Bench(tmp_path, [])
    defaults = {"engine": "slurm", "work_dir": str(tmp_path / "work")}
    found.inventory.write_text(tomli_w.dumps({"defaults": defaults, "slurm": {"exclusive": False}}))
    return found


def test_cpu_smoke_from_one_to_four_nodes_from_the_command_line(
    shell: Bench, slurm: SlurmCluster
) -> None:
    words = ("run", "-p", "cpu-smoke", "--case", "1n1g", "2n1g", "4n1g", "--set", "seconds=2")
    done = shell.spawn(*words, "--json", "--sbatch=--comment=mine")
    out, err = done.communicate(timeout=180)
    assert done.returncode == 0, err
    runs = json.loads(out)["runs"]
    assert [(run["case"], run["state"], len(run["hosts"])) for run in runs] == [
        ("1n1g", "succeeded", 1),
        ("2n1g", "succeeded", 2),
        ("4n1g", "succeeded", 4),
    ]
    for run in runs:
        told = slurm.run("scontrol", "show", "job", run["job_id"])
        assert "Comment=mine" in told
        assert f"JobName=dlperf-{run['run_id']}" in told


def test_jobs_beside_each_other_have_their_gpus_share_of_the_cpus(
    shell: Bench, slurm: SlurmCluster
) -> None:
    run = shell.spawn("run", *shell.steady_words("2n4g", lines=2), "--json")
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    job = slurm.run("scontrol", "show", "job", json.loads(out)["runs"][0]["job_id"])
    assert "NumCPUs=16 " in job
    planned = shell.spawn("plan", *shell.steady_words("2n4g", lines=2))
    assert "--cpus-per-gpu=2" in planned.communicate(timeout=60)[0]


def test_a_profile_asks_over_the_inventory_and_the_command_line_over_both(
    shell: Bench, slurm: SlurmCluster
) -> None:
    keys = {"exclusive": False, "time": "7m", "nice": 7, "extra": ["--comment=inventory"]}
    defaults = {"engine": "slurm", "work_dir": str(shell.directory / "work")}
    shell.inventory.write_text(tomli_w.dumps({"defaults": defaults, "slurm": keys}))
    profile = shell.profiles / "steady.toml"
    profile.write_text(
        f'{profile.read_text()}\n[slurm]\ntime = "9m"\nextra = ["--comment=profile"]\n'
    )
    for words, limit, comment in (((), 9, "profile"), (("--sbatch=--time=11",), 11, "profile")):
        run = shell.spawn("run", *shell.steady_words("1n1g", lines=2), *words, "--json")
        out, err = run.communicate(timeout=120)
        assert run.returncode == 0, err
        job = slurm.run("scontrol", "show", "job", json.loads(out)["runs"][0]["job_id"])
        assert f"TimeLimit=00:{limit:02}:00" in job
        assert f"Comment={comment}" in job
        assert "Nice=7" in job


@pytest.mark.faults
def test_a_console_that_is_killed_again_and_again_hands_in_each_run_once(
    shell: Bench, slurm: SlurmCluster
) -> None:
    words = shell.steady_words("1n1g", "2n1g", lines=80, every=0.1)
    process = shell.spawn("run", *words, "--repeats", "2")
    lines_of(process, "campaign ")
    for wait_s in (0.1, 0.3, 0.6, 1.2, 2.4, 3.6, 1.0, 2.0, 0.5, 1.5):
        time.sleep(wait_s)
        kill_hard(process)
        process = shell.spawn("resume", str(shell.campaign))
    _, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    state = read_campaign(shell.campaign)
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert len(state.runs) == 4
    assert shell.logs_are_exact(state, shell.campaign) == 6
    wait_until(lambda: not slurm.run("squeue", "-h"), what="the jobs have ended")
    campaign = next(iter(state.runs)).partition("-")[0]
    names = slurm.run("squeue", "-h", "--states=all", "--format=%j").split()
    assert sorted(name for name in names if campaign in name) == sorted(
        f"dlperf-{run_id}" for run_id in state.runs
    )


@pytest.mark.parametrize("allocation", ["run", "campaign"])
def test_cancel_ends_the_jobs_of_a_campaign_that_nobody_follows(
    shell: Bench, slurm: SlurmCluster, allocation: str
) -> None:
    words = shell.steady_words("1n1g", "4n1g", lines=1000)
    process = shell.spawn("run", *words, "--allocation", allocation)
    lines_of(process, " running ")
    kill_hard(process)
    cancelling = shell.spawn("cancel", str(shell.campaign), "--json")
    out, err = cancelling.communicate(timeout=120)
    assert cancelling.returncode == 0, err
    assert len(json.loads(out)["cancelled"]) == 2
    wait_until(lambda: not slurm.run("squeue", "-h"), what="the jobs have ended")
    shell.nothing_is_left()


def queued_and_nobody_there(shell: Bench, slurm: SlurmCluster, allocation: str) -> None:
    """A campaign of one run whose job waits, after its console and the controller went."""
    slurm.submit("sleep 600", "--nodes=4", "--exclusive", "--time=10")
    words = shell.steady_words("4n1g", lines=1000)
    process = shell.spawn("run", *words, "--allocation", allocation)
    lines_of(process, "campaign ")
    wait_until(lambda: "dlperf-" in slurm.run("squeue", "-h", "--format=%j"), what="it is queued")
    kill_hard(process)
    slurm.stop_controller()


@pytest.mark.faults
def test_a_cancellation_says_that_it_waits_for_the_controller(
    shell: Bench, slurm: SlurmCluster
) -> None:
    queued_and_nobody_there(shell, slurm, "run")
    cancelling = shell.spawn("cancel", str(shell.campaign))
    lines_of(cancelling, "waiting: to be cancelled, queued: Slurm's controller does not answer")
    slurm.start_controller()
    _, err = cancelling.communicate(timeout=120)
    assert cancelling.returncode == 0, err
    assert "1 run skipped: never started" in err
    assert "dlperf-" not in slurm.run("squeue", "-h", "--format=%j")


@pytest.mark.faults
def test_a_campaigns_job_that_could_not_be_given_back_is_told_and_given_back_later(
    shell: Bench, slurm: SlurmCluster
) -> None:
    queued_and_nobody_there(shell, slurm, "campaign")
    cancelling = shell.spawn("cancel", str(shell.campaign))
    _, err = cancelling.communicate(timeout=120)
    assert cancelling.returncode == 1, err
    assert "may still hold nodes: Slurm's controller does not answer" in err
    slurm.start_controller()
    wait_until(lambda: "dlperf-" in slurm.run("squeue", "-h", "--format=%j", check=False))
    again = shell.spawn("cancel", str(shell.campaign))
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert "dlperf-" not in slurm.run("squeue", "-h", "--format=%j")


@pytest.mark.parametrize("allocation", ["run", pytest.param("campaign", marks=pytest.mark.faults)])
def test_sweep_shows_the_jobs_of_all_and_ends_those_whose_campaign_is_gone(
    shell: Bench, slurm: SlurmCluster, allocation: str
) -> None:
    process = shell.spawn(
        "run", *shell.steady_words("1n1g", lines=1000), "--allocation", allocation
    )
    lines_of(process, " running ")

    def swept(*words: str) -> tuple[int, str, str]:
        done = shell.spawn("sweep", *words)
        out, err = done.communicate(timeout=60)
        return done.returncode, out, err

    status, out, err = swept("--yes")
    assert (status, "a console follows it" in out) == (0, True)
    kill_hard(process)
    status, out, err = swept("--yes")
    assert (status, "'cancel' ends it" in out, "let be" in err) == (0, True, True)
    assert slurm.run("squeue", "-h")
    shutil.rmtree(shell.campaign)
    status, out, err = swept()
    assert (status, "no campaign here knows it" in out) == (1, True)
    assert "dlperf-tui sweep --yes" in err
    status, out, err = swept("--yes")
    assert (status, out.splitlines()[-1]) == (0, "1 of 1 ended")
    assert not slurm.run("squeue", "-h", "--states=pending,running")
    assert swept() == (0, "no job of ours is left\n", "")


def test_what_can_never_start_is_refused_before_anything_is_handed_in(
    shell: Bench, slurm: SlurmCluster
) -> None:
    words = ("run", "-p", "cpu-smoke", "--case", "1n1g", "4n1g", "--sbatch=--nodelist=node1")
    done = shell.spawn(*words)
    _, err = done.communicate(timeout=120)
    assert done.returncode == 2, err
    assert "4n1g would never start: " in err
    assert "1n1g would" not in err
    assert not shell.campaigns.exists()
    assert not slurm.run("squeue", "-h")


@pytest.mark.faults
async def test_the_login_node_may_be_another_one(
    bench: Bench, slurm: SlurmCluster, ssh_hosts: SshHosts
) -> None:
    """Reached over SSH; what Slurm's programs are fed and say goes that way, and so do the logs."""
    login = ssh_hosts(1, options=[f"SetEnv SLURM_CONF={slurm.conf}"])[0].host
    work_dir = bench.hosts[0].work_dir
    bench.known = replace(bench.known, login=replace(login, name="login", work_dir=work_dir))
    controller = await bench.start("2n1g", lines=30)
    state = await finish(controller)
    run = only_run(state)
    assert run.state is RunState.SUCCEEDED, run.reason
    assert bench.logs_are_exact(state, controller.path) == 2
    bench.nothing_is_left()
