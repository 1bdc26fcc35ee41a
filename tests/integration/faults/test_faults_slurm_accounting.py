"""What only the accounting knows: how a job ended that Slurm has forgotten, who cancelled it, which
accounts there are. With slurmdbd and a database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from backends.campaign.record.cause import Cause
from backends.campaign.record.state import RunState
from tests.support.campaigns import Bench, finish, only_run
from tests.support.slurm_campaigns import ask_for, one_run, slurm_bench
from tests.support.slurmdbd import AccountedSlurm, why_no_accounting
from tests.support.waiting import until
from tui.cli import main

pytestmark = [pytest.mark.faults, pytest.mark.optional]


@pytest.fixture(scope="module")
def slurm_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AccountedSlurm]:
    """What ``slurm`` is here."""
    if why := why_no_accounting():
        pytest.skip(why)
    with closing(AccountedSlurm(tmp_path_factory.mktemp("slurm") / "cluster")) as cluster:
        cluster.start()
        yield cluster


@pytest.fixture
async def bench(tmp_path: Path, slurm: AccountedSlurm) -> AsyncIterator[Bench]:
    found = slurm_bench(tmp_path)
    yield found
    await found.close()


@pytest.mark.parametrize("allocation", ["run", "campaign"])
async def test_who_cancelled_a_job_is_named(
    bench: Bench, slurm: AccountedSlurm, allocation: str
) -> None:
    ask_for(bench, allocation=allocation)
    controller, job = await one_run(bench)
    slurm.run("scancel", job)
    run = only_run(await finish(controller))
    assert (run.state, run.category) == (RunState.FAILED, Cause.CANCELLED)
    assert run.reason.endswith("job was cancelled by root")
    bench.nothing_is_left()


@pytest.mark.parametrize("allocation", ["run", "campaign"])
async def test_a_job_that_slurm_has_forgotten_was_cancelled_by_whoever_did(
    bench: Bench, slurm: AccountedSlurm, allocation: str
) -> None:
    ask_for(bench, allocation=allocation)
    controller, job = await one_run(bench)
    await until(lambda: slurm.knows(job), what="its start is accounted for")
    await controller.detach()
    slurm.run("scancel", job)
    await until(lambda: "CANCELLED" in slurm.ended_as(job), what="it is accounted for")
    slurm.forget_everything()
    again = await bench.workspace().resume(controller.path)
    run = only_run(await finish(again))
    assert (run.state, run.category) == (RunState.FAILED, Cause.CANCELLED)
    assert run.reason.endswith("job was cancelled by root")
    bench.nothing_is_left()


@pytest.mark.parametrize("allocation", ["run", "campaign"])
async def test_a_node_that_failed_while_nobody_looked_is_named_when_slurm_has_forgotten_the_job(
    bench: Bench, slurm: AccountedSlurm, monkeypatch: pytest.MonkeyPatch, allocation: str
) -> None:
    monkeypatch.setattr("backends.campaign.run.end_reason._RETRY_DELAYS", {"later": 0.1})
    ask_for(bench, allocation=allocation)
    controller, job = await one_run(bench, "2n1g")
    first = only_run(controller.state)
    await until(lambda: slurm.knows(job), what="its start is accounted for")
    await controller.detach()
    slurm.fail_node(first.hosts[1])
    await until(lambda: "NODE_FAIL" in slurm.ended_as(job), what="it is accounted for")
    slurm.forget_everything()
    again = await bench.workspace().resume(controller.path)
    await until(lambda: len(again.state.runs) == 2, what="another attempt")
    ended, second = again.state.runs.values()
    assert (ended.category, ended.failed_host) == (Cause.NODE_FAILED, first.hosts[1])
    await until(lambda: again.state.runs[second.run_id].reading_count, within_s=120)
    assert first.hosts[1] not in again.state.runs[second.run_id].hosts
    again.cancel_all()
    await finish(again)


@pytest.mark.parametrize(
    ("key", "words", "known"),
    [("account", "Invalid account", "ml, root"), ("qos", "Invalid qos", "normal")],
)
@pytest.mark.parametrize("said", ["inventory", "--sbatch"])
def test_an_account_or_a_qos_that_is_not_there_is_one_line_with_those_that_are(
    slurm: AccountedSlurm,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    key: str,
    words: str,
    known: str,
    said: str,
) -> None:
    inventory = tmp_path / "hosts.toml"
    inventory.write_text('[defaults]\nengine = "slurm"\n')
    asked = ["-p", "cpu-smoke", "-c", "1n1g", "2n1g", "--campaigns", str(tmp_path / "campaigns")]
    if said == "inventory":
        inventory.write_text(f'{inventory.read_text()}\n[slurm]\n{key} = "nobody"\n')
    else:
        asked.append(f"--sbatch=--{key}=nobody")
    assert main(["run", "--inventory", str(inventory), *asked]) == 2
    [told] = capsys.readouterr().err.strip().splitlines()
    where = f"{inventory}: [slurm]" if said == "inventory" else "--sbatch"
    assert f"{where}: {key} 'nobody': " in told
    assert words in told
    assert told.endswith(f"; there are {known}")
    assert not (tmp_path / "campaigns").exists()
    assert not slurm.run("squeue", "-h")
