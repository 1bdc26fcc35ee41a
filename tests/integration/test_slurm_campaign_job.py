"""One job of a real Slurm for all runs of a campaign: each a step in it; it goes with the last."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import tomli_w

from backends.campaign.controller import CampaignController
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.cause import Cause
from backends.campaign.record.state import RunState, campaign_of
from tests.support.campaigns import Bench, finish, kill_hard, until_running
from tests.support.slurm import SlurmCluster
from tests.support.slurm_campaigns import ask_for, lines_of, ranks, slurm_bench
from tests.support.sshd import MPIRUN_NEEDS_SSH
from tests.support.waiting import until, wait_until


@pytest.fixture
async def bench(tmp_path: Path, slurm: SlurmCluster) -> AsyncIterator[Bench]:
    found = slurm_bench(tmp_path)
    ask_for(found, allocation="campaign")
    yield found
    await found.close()


def jobs_of(slurm: SlurmCluster, run_id: str) -> list[tuple[str, str]]:
    """Number and state of the campaign's jobs, oldest first."""
    name = f"dlperf-{campaign_of(run_id)}"
    told = slurm.run("squeue", "-h", "--states=all", "--format=%i %T %j").splitlines()
    found = [line.split() for line in told]
    assert all(words[2] == name for words in found if words[2].startswith(name))
    return sorted((words[0], words[1]) for words in found if words[2] == name)


def jobs(slurm: SlurmCluster, controller: CampaignController) -> list[tuple[str, str]]:
    return jobs_of(slurm, next(iter(controller.state.runs)))


async def test_all_runs_are_steps_of_one_job_which_goes_back_with_the_last(
    bench: Bench, slurm: SlurmCluster
) -> None:
    controller = await bench.start("1n1g", "2n1g", "4n1g", repeats=2, lines=10)
    state = await finish(controller)
    assert [(run.state, run.reason) for run in state.runs.values()] == [("succeeded", "")] * 6
    [(job, _)] = jobs(slurm, controller)
    assert {run.job_id for run in state.runs.values()} == {job}
    assert state.held is None
    assert bench.logs_are_exact(state, controller.path) == 14
    wait_until(lambda: jobs(slurm, controller) == [(job, "COMPLETED")], what="it has ended well")
    assert "NumNodes=4" in slurm.run("scontrol", "show", "job", job)
    bench.nothing_is_left()
    left = [path.name for path in (bench.directory / "work" / "jobs").iterdir()]
    assert not left


async def test_a_run_that_is_cancelled_ends_and_the_others_go_on_in_the_same_job(
    bench: Bench, slurm: SlurmCluster
) -> None:
    ask_for(bench, nodes=2)
    controller = await bench.start(repeats=2, lines=80, every=0.1)
    await until_running(controller, 2)
    first, second = controller.state.runs.values()
    assert first.hosts != second.hosts
    controller.cancel_run(first.run_id)
    state = await finish(controller)
    assert [run.state for run in state.runs.values()] == ["cancelled", "succeeded"]
    assert state.runs[first.run_id].cleanup.doubts == ()
    assert len(jobs(slurm, controller)) == 1
    bench.nothing_is_left()


@pytest.mark.faults
async def test_a_job_that_somebody_cancels_fails_what_ran_in_it_and_another_has_the_rest(
    bench: Bench, slurm: SlurmCluster
) -> None:
    controller = await bench.start("4n1g", repeats=2, lines=60, every=0.1)
    await until_running(controller)
    [(job, _)] = jobs(slurm, controller)
    slurm.run("scancel", job)
    state = await finish(controller)
    first, second = state.runs.values()
    assert (first.state, first.category, first.job_id) == ("failed", Cause.CANCELLED, job)
    assert first.reason == "the campaign's job was cancelled"
    assert (second.state, second.reason) == ("succeeded", "")
    assert [number for number, _ in jobs(slurm, controller)] == [job, second.job_id]
    bench.nothing_is_left()


@pytest.mark.faults
async def test_a_failed_node_is_not_in_the_next_job(
    bench: Bench, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.campaign.run.end_reason._RETRY_DELAYS", {"later": 0.1})
    controller = await bench.start("2n1g", lines=100, every=0.1)
    await until_running(controller)
    [first] = controller.state.runs.values()
    slurm.fail_node(first.hosts[1])
    state = await finish(controller)
    ended, second = state.runs.values()
    assert (ended.category, ended.failed_host) == (Cause.NODE_FAILED, first.hosts[1])
    assert second.state is RunState.SUCCEEDED, second.reason
    assert first.hosts[1] not in second.hosts
    assert len(jobs(slurm, controller)) == 2


@pytest.mark.faults
async def test_a_node_whose_prolog_fails_costs_no_run_an_attempt(
    bench: Bench, slurm: SlurmCluster
) -> None:
    slurm.fail_prolog("node1")
    controller = await bench.start("1n1g", "2n1g")
    state = await finish(controller)
    for run in state.runs.values():
        assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1), run.reason
        assert "node1" not in run.hosts
    assert len(jobs(slurm, controller)) == 2


async def test_what_slurm_refuses_fails_every_run_with_its_words(bench: Bench) -> None:
    ask_for(bench, reservation="nowhere")
    state = await finish(await bench.start("1n1g", "2n1g"))
    for run in state.runs.values():
        assert (run.state, run.category) == (RunState.FAILED, Cause.REFUSED)
        assert "reservation is invalid" in run.reason
    assert state.held is None


async def test_a_queued_job_says_why_and_leaves_the_queue_with_its_campaign(
    bench: Bench, slurm: SlurmCluster
) -> None:
    slurm.submit("sleep 600", "--nodes=4", "--exclusive", "--time=10")
    controller = await bench.start()
    await until(lambda: "Resources" in controller.snapshot().runs[0].state_text)
    await controller.detach()
    again = await bench.workspace().resume(controller.path)
    await until(lambda: "Resources" in again.snapshot().runs[0].state_text)
    again.cancel_all()
    await finish(again)
    [(_, state)] = jobs(slurm, again)
    assert state == "CANCELLED"


@pytest.mark.parametrize(
    ("launcher", "prefix"),
    [
        pytest.param("mpirun", "", marks=MPIRUN_NEEDS_SSH),
        ("srun", "rank_prefix = '^(?P<rank>\\d+): '"),
    ],
)
async def test_ranks_of_a_run_stay_on_its_nodes(bench: Bench, launcher: str, prefix: str) -> None:
    """Two runs beside each other on two of four nodes each."""
    ranks(bench, launcher, prefix)
    ask_for(bench, nodes=4)
    controller = await bench.start("2n2g", repeats=2)
    state = await finish(controller)
    nodes = set()
    for run in state.runs.values():
        assert run.state is RunState.SUCCEEDED, (run.reason, run.evidence)
        nodes |= set(run.hosts)
        log = (controller.path / run.log).read_text()
        for rank, node in ((0, run.hosts[0]), (1, run.hosts[0]), (2, run.hosts[1])):
            assert f"{node} rank {rank}\n" in log
        assert run.reading_count == 4
    assert len(nodes) == 4


async def test_a_command_that_calls_srun_itself_stays_on_its_runs_nodes(bench: Bench) -> None:
    """With no word of which nodes, and on one of them; runs are beside each other."""
    tell = 'sh -c "echo here is \\$SLURMD_NODENAME"'
    say = "for i in 1 2 3 4; do echo iter $i, samples/s: 5; sleep 0.2; done"
    srun = f"srun --overlap {tell}; srun --overlap -N1 -n1 {tell}; {say}"
    unused = "{lines}{every}{copies}{after}"
    script = bench.profiles / "theirs.sh"
    script.write_text(f"{srun}\n")
    bench.profile(
        launcher='"first_node"',
        command=f"'sh {script} {unused}'",
        window="{ skip = 1 }",
    )
    ask_for(bench, nodes=4)
    controller = await bench.start("2n1g", repeats=2)
    state = await finish(controller)
    for run in state.runs.values():
        assert run.state is RunState.SUCCEEDED, (run.reason, run.evidence)
        log = (controller.path / run.log).read_text()
        said = [line.split()[-1] for line in log.splitlines() if line.startswith("here is")]
        assert sorted(said[:2]) == sorted(run.hosts)
        assert len(said) == 3
        assert said[2] in run.hosts
    assert len({host for run in state.runs.values() for host in run.hosts}) == 4
    bench.nothing_is_left()
    assert not list((bench.directory / "work" / "jobs").iterdir())


# Through the command line -------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path, slurm: SlurmCluster) -> Bench:
    """Whose inventory is Slurm's; nothing of the engine is replaced."""
    found = Bench(tmp_path, [])
    defaults = {"engine": "slurm", "work_dir": str(tmp_path / "work")}
    found.inventory.write_text(tomli_w.dumps({"defaults": defaults}))
    return found


@pytest.mark.faults
def test_a_console_that_is_killed_again_and_again_has_one_job_and_its_steps(
    shell: Bench, slurm: SlurmCluster
) -> None:
    words = shell.steady_words("1n1g", "2n1g", lines=80, every=0.1)
    process = shell.spawn("run", *words, "--repeats", "2", "--allocation", "campaign")
    lines_of(process, "campaign ")
    for wait_s in (0.1, 0.3, 0.6, 1.2, 2.4, 3.6, 1.0, 2.0, 0.5, 1.5):
        time.sleep(wait_s)
        kill_hard(process)
        process = shell.spawn("resume", str(shell.campaign))
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    state = read_campaign(shell.campaign)
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert {run.attempt for run in state.runs.values()} == {1}
    assert shell.logs_are_exact(state, shell.campaign) == 6
    run_id = next(iter(state.runs))
    [(job, _)] = jobs_of(slurm, run_id)
    wait_until(lambda: jobs_of(slurm, run_id) == [(job, "COMPLETED")], what="it has ended well")
    shell.nothing_is_left()
