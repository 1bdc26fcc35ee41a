"""What takes Slurm a minute or two: a job's time limit, jobs that are queued again, preemption."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.campaign.record.cause import Cause
from backends.campaign.record.state import RunState
from tests.support.campaigns import Bench, finish, only_run
from tests.support.slurm import SlurmCluster
from tests.support.slurm_campaigns import ask_for, jobs_handed_in, one_run, slurm_bench
from tests.support.waiting import until

pytestmark = pytest.mark.faults


@pytest.fixture
async def bench(tmp_path: Path, slurm: SlurmCluster) -> AsyncIterator[Bench]:
    found = slurm_bench(tmp_path)
    yield found
    await found.close()


async def test_a_requeued_job_is_another_attempt_and_not_another_job(
    bench: Bench, slurm: SlurmCluster
) -> None:
    ask_for(bench, requeue=True)
    controller, job = await one_run(bench)
    before = jobs_handed_in(slurm, controller)
    slurm.run("scontrol", "requeue", job)
    await until(lambda: len(controller.state.runs) == 2, what="another attempt")
    first, second = controller.state.runs.values()
    assert (first.state, first.reason) == (RunState.FAILED, "the job was requeued")
    assert (second.attempt, second.job_id) == (2, job)
    slurm.run("scontrol", "update", f"jobid={job}", "starttime=now")
    await until(lambda: controller.state.runs[second.run_id].reading_count, within_s=180)
    assert jobs_handed_in(slurm, controller) == before
    controller.cancel_all()
    state = await finish(controller)
    assert state.runs[second.run_id].state is RunState.CANCELLED
    bench.nothing_is_left()


async def test_a_job_over_its_time_says_so(bench: Bench) -> None:
    ask_for(bench, extra=("--time=1",))
    controller, _ = await one_run(bench, every=0.5)
    shown: set[str] = set()

    def over() -> bool:
        [view] = controller.snapshot().runs
        shown.add(view.state_text)
        return view.state.ended

    await until(over, within_s=240, what="it ends")
    assert not [text for text in shown if "step" in text or "retrying" in text]
    run = only_run(await finish(controller))
    assert (run.state, run.category) == (RunState.FAILED, Cause.TIME_LIMIT)
    assert run.reason == "the job reached its time limit"
    bench.nothing_is_left()


async def test_a_preempted_job_gives_way_and_is_tried_again(
    bench: Bench, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.campaign.run.end_reason._RETRY_DELAYS", {"later": 0.1})
    controller, _ = await one_run(bench)
    first = only_run(controller.state)
    slurm.submit("sleep 20", "--partition=urgent", "--nodes=4", "--exclusive", "--time=5")
    await until(lambda: len(controller.state.runs) == 2, within_s=120, what="another attempt")
    assert controller.state.runs[first.run_id].category == Cause.PREEMPTED
    second = list(controller.state.runs)[1]
    await until(lambda: controller.state.runs[second].reading_count, within_s=180)
    controller.cancel_all()
    await finish(controller)
    bench.nothing_is_left()
