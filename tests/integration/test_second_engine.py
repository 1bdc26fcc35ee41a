"""A campaign is the same whoever gives the hosts: here a queue, with hosts that nobody knew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.campaign.controller import CampaignController
from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import UNKNOWN, Why
from backends.campaign.record.journal import read_events
from backends.campaign.record.state import RunRecord, RunState
from backends.campaign_start import Starter
from backends.engines.engine import EndKind, Engine
from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench, finish, only_run, until_running
from tests.support.queue_engine import Queue, QueueEngine
from tests.support.waiting import until

LAUNCH = 'environment = { USED = "{devices}" }'


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    found.profile(launch=LAUNCH)
    yield found
    await found.close()


@pytest.fixture
def queue(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Queue:
    """The campaigns' engine is a view of this queue."""
    found = Queue(bench.directory)

    def engine(self: Starter, *_: object, **__: object) -> Engine:
        return QueueEngine(found)

    monkeypatch.setattr(Starter, "_engine", engine)
    return found


async def queued(controller: CampaignController, queue: Queue, count: int = 1) -> RunRecord:
    """The newest run, once so many requests are in the queue."""

    def there() -> bool:
        newest = list(controller.state.runs.values())[-1]
        return len(queue.submissions) >= count and bool(newest.job_id)

    await until(there, what=f"{count} submissions")
    return list(controller.state.runs.values())[-1]


async def at_work(
    bench: Bench, queue: Queue, *, lines: int, readings: int = 1
) -> tuple[CampaignController, RunRecord]:
    """A campaign of one run, which was given its hosts and has readings."""
    controller = await bench.start(lines=lines)
    run = await queued(controller, queue)
    queue.give(run.run_id)
    await until_running(controller, readings=readings)
    return controller, run


def kinds(controller: CampaignController) -> list[str]:
    shown = (ev.RunQueued, ev.RunRequeued, ev.RunAssigned, ev.RunSucceeded, ev.RunFailed)
    events = read_events(controller.path / "events.jsonl")
    return [type(event).__name__ for event in events if isinstance(event, shown)]


async def test_runs_wait_in_the_queue_and_use_the_hosts_and_devices_they_get(
    bench: Bench, queue: Queue
) -> None:
    controller = await bench.start(repeats=2, lines=5)
    await queued(controller, queue, 2)
    first, second = controller.state.runs
    assert controller.state.runs[first].state is RunState.QUEUED
    await until(lambda: controller.snapshot().runs[0].state_text == "queued: Priority")
    queue.give(second)
    queue.give(first)
    state = await finish(controller)
    for run in state.runs.values():
        assert run.state is RunState.SUCCEEDED
        assert run.hosts == ("gpu1",)
        assert run.devices == {"gpu1": (4, 5)}
        assert run.commands[0].startswith("USED=4,5 ")
        assert run.job_id == queue.of(run.run_id).job_id
    assert sorted(queue.submissions) == sorted([first, second])


async def test_a_run_that_dies_in_the_queue_fails_with_the_reason_and_its_retry_rule(
    bench: Bench, queue: Queue
) -> None:
    controller = await bench.start()
    run = await queued(controller, queue)
    queue.die(run.run_id, EndKind.TIME_LIMIT)
    ended = only_run(await finish(controller))
    assert (ended.state, ended.reason) == (RunState.FAILED, "the job reached its time limit")
    assert (ended.cleanup, ended.hosts) == (UNKNOWN, ())


async def test_a_requeue_is_a_new_attempt_in_the_journal(bench: Bench, queue: Queue) -> None:
    controller, run = await at_work(bench, queue, lines=1000, readings=3)
    again = f"{run.run_id.removesuffix('1')}2"
    await queue.take_back(run.run_id, EndKind.REQUEUED, next_id=again)
    await until(lambda: again in controller.state.runs)
    before = controller.state.runs[run.run_id]
    assert (before.state, before.reason) == (RunState.FAILED, "the job was requeued")
    assert controller.state.runs[again].state is RunState.QUEUED
    assert controller.state.runs[again].attempt == 2
    controller.cancel_run(again)
    state = await finish(controller)
    assert state.runs[again].state is RunState.CANCELLED
    assert queue.of(again).withdrawn
    assert queue.submissions == [run.run_id]
    assert kinds(controller)[:4] == ["RunQueued", "RunQueued", "RunAssigned", "RunRequeued"]


async def test_a_job_that_loses_its_node_is_tried_again_later(
    bench: Bench, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.campaign.run.end_reason._RETRY_DELAYS", {"later": 0.1})
    controller, run = await at_work(bench, queue, lines=30)
    await queue.take_back(run.run_id, EndKind.NODE_FAILED)
    second = await queued(controller, queue, 2)
    assert (second.attempt, second.retry_of) == (2, run.run_id)
    queue.give(second.run_id)
    state = await finish(controller)
    assert state.runs[run.run_id].reason == "the node failed"
    assert state.runs[second.run_id].state is RunState.SUCCEEDED


async def test_an_engine_that_tells_of_no_end_is_asked_before_a_run_is_judged(
    bench: Bench, queue: Queue
) -> None:
    """What ends a job ends its processes first, and those say no more than that they were."""
    controller, run = await at_work(bench, queue, lines=30)
    await queue.take_back(run.run_id, EndKind.TIME_LIMIT, tell=False)
    await until(lambda: controller.state.runs[run.run_id].state.ended)
    ended = controller.state.runs[run.run_id]
    assert (ended.category, ended.reason) == (
        EndKind.TIME_LIMIT,
        "the job reached its time limit",
    )


@pytest.mark.parametrize("given_meanwhile", [False, True])
async def test_a_request_is_found_again_after_a_restart_and_not_made_twice(
    bench: Bench, queue: Queue, given_meanwhile: bool
) -> None:
    controller = await bench.start(lines=5)
    run = await queued(controller, queue)
    await controller.detach()
    if given_meanwhile:
        queue.give(run.run_id)
    again = await bench.workspace().resume(controller.path)
    if not given_meanwhile:
        await until(lambda: bool(again.snapshot().runs))
        queue.give(run.run_id)
    assert only_run(await finish(again)).state is RunState.SUCCEEDED
    assert queue.submissions == [run.run_id]


async def test_a_request_whose_answer_was_lost_is_found_by_the_runs_name(
    bench: Bench, queue: Queue
) -> None:
    queue.lose_answers = True
    controller = await bench.start(lines=5)
    await until(lambda: bool(queue.submissions))
    await controller.detach()
    assert only_run(controller.state).job_id == ""
    queue.lose_answers = False
    again = await bench.workspace().resume(controller.path)
    queue.give(only_run(again.state).run_id)
    assert only_run(await finish(again)).state is RunState.SUCCEEDED
    assert len(queue.submissions) == 1


async def test_a_request_that_never_arrived_is_made_again(bench: Bench, queue: Queue) -> None:
    queue.lose_answers = True
    controller = await bench.start(lines=5)
    await until(lambda: bool(queue.submissions))
    await controller.detach()
    queue.lose_answers = False
    queue.jobs.clear()
    again = await bench.workspace().resume(controller.path)
    run = await queued(again, queue, 2)
    queue.give(run.run_id)
    assert only_run(await finish(again)).state is RunState.SUCCEEDED


async def test_a_live_run_is_taken_up_with_the_same_hosts_devices_and_command(
    bench: Bench, queue: Queue
) -> None:
    controller, _ = await at_work(bench, queue, lines=60, readings=3)
    await controller.detach()
    before = only_run(controller.state)
    again = await bench.workspace().resume(controller.path)
    after = only_run(await finish(again))
    assert after.state is RunState.SUCCEEDED
    assert (after.hosts, after.devices, after.commands) == (
        before.hosts,
        before.devices,
        before.commands,
    )
    assert bench.logs_are_exact(again.state, again.path) == 1


async def test_a_job_that_vanished_while_nobody_looked_is_not_called_clean(
    bench: Bench, queue: Queue
) -> None:
    controller, run = await at_work(bench, queue, lines=60)
    await controller.detach()
    await queue.take_back(run.run_id, EndKind.VANISHED)
    again = await bench.workspace().resume(controller.path)
    await until(lambda: again.state.runs[run.run_id].state is RunState.FAILED)
    ended = again.state.runs[run.run_id]
    assert ended.reason == "the job is gone, and nobody knows why"
    assert [doubt.why for doubt in ended.cleanup.doubts] == [Why.NOT_LOOKED]
    again.cancel_all()
    await finish(again)


async def test_a_cancelled_request_leaves_the_queue(bench: Bench, queue: Queue) -> None:
    controller = await bench.start()
    run = await queued(controller, queue)
    controller.cancel_all()
    assert only_run(await finish(controller)).state is RunState.CANCELLED
    assert queue.of(run.run_id).withdrawn


async def test_a_paused_request_leaves_the_queue_and_comes_back(bench: Bench, queue: Queue) -> None:
    controller = await bench.start(lines=3, every=0)
    run = await queued(controller, queue)
    await until(lambda: controller.pause(run.run_id), what="it waits")
    await until(
        lambda: controller.state.runs[run.run_id].state is RunState.PLANNED, what="it is planned"
    )
    assert queue.of(run.run_id).withdrawn
    assert controller.unpause(run.run_id)
    await queued(controller, queue, 2)
    list(queue.jobs.values())[-1].given.set()
    assert only_run(await finish(controller)).state is RunState.SUCCEEDED


async def test_a_request_that_was_given_to_a_paused_run_goes_back(
    bench: Bench, queue: Queue
) -> None:
    """While no console was there: the next one does not start it."""
    controller = await bench.start(lines=3, every=0)
    run = await queued(controller, queue)
    await controller.detach()
    workspace = bench.workspace()
    assert await workspace.changes.pause(controller.path, None, pause=True) == (run.run_id,)
    queue.give(run.run_id)
    again = await workspace.resume(controller.path)
    await until(
        lambda: again.state.runs[run.run_id].state is RunState.PLANNED, what="it is planned"
    )
    assert again.state.runs[run.run_id].paused
    assert queue.of(run.run_id).withdrawn
    again.cancel_all()
    assert "RunAssigned" not in kinds(again)
    assert only_run(await finish(again)).state is RunState.CANCELLED


async def test_a_run_that_is_paused_as_its_hosts_are_given_does_not_start(
    bench: Bench, queue: Queue
) -> None:
    controller = await bench.start(lines=3, every=0)
    run = await queued(controller, queue)
    pending = controller._dispatcher._queued
    await until(lambda: run.run_id in pending)
    waiting = pending[run.run_id]
    queue.give(run.run_id)
    while not waiting.done():
        await asyncio.sleep(0)
    assert controller.pause(run.run_id)
    await until(lambda: queue.of(run.run_id).withdrawn, within_s=5)
    assert "RunAssigned" not in kinds(controller)
    controller.cancel_all()
    await finish(controller)


async def test_a_pause_that_is_taken_back_at_once_loses_no_run(bench: Bench, queue: Queue) -> None:
    controller = await bench.start(lines=3, every=0)
    run = await queued(controller, queue)
    await until(
        lambda: controller.pause(run.run_id) and controller.unpause(run.run_id), what="it waits"
    )
    await queued(controller, queue, 2)
    list(queue.jobs.values())[-1].given.set()
    assert only_run(await finish(controller)).state is RunState.SUCCEEDED
