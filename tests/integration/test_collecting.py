"""A run whose program has ended, while its log is fetched, compared and measured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.campaign.record.cleanup_doubts import Cleanup
from backends.campaign.record.state import RunState
from backends.campaign.run.end_and_fetch import Ending
from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench, finish, only_run, read_json
from tests.support.waiting import until


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


@pytest.fixture
def may_end(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """No log is fetched to its end before this is set."""
    gate, collect = asyncio.Event(), Ending.collect

    async def gated(self: Ending, cleanup: Cleanup) -> Cleanup:
        await gate.wait()
        return await collect(self, cleanup)

    monkeypatch.setattr(Ending, "collect", gated)
    return gate


async def answer(bench: Bench, *words: str) -> str:
    process = await asyncio.to_thread(bench.spawn, *words)
    return (await asyncio.to_thread(process.communicate, timeout=60))[0]


@pytest.mark.parametrize(
    ("after", "end"), [("pass", RunState.SUCCEEDED), ("sys.exit(3)", RunState.FAILED)]
)
async def test_it_is_said_to_be_collecting_and_its_clock_stands(
    bench: Bench, may_end: asyncio.Event, after: str, end: RunState
) -> None:
    controller = await bench.start(lines=3, after=after)
    await until(lambda: controller.snapshot().runs[0].collecting, what="a run over")
    [shown] = controller.snapshot().runs
    assert (shown.state, shown.state_text) == (RunState.RUNNING, "collecting")
    assert (shown.progress, shown.eta_s) == (1.0, None)
    assert shown.throughput_now, "its last reading, until the figure is there"
    [later] = controller.snapshot().runs
    assert later.elapsed_s == shown.elapsed_s

    async def told() -> bool:
        return "| collecting |" in await answer(bench, "status", controller.path.name)

    await until(told, what="the word in another process")
    document = read_json(await answer(bench, "status", controller.path.name, "--json"))
    assert [run["state"] for run in document["runs"]] == ["running"]  # type: ignore[attr-defined]
    may_end.set()
    assert only_run(await finish(controller)).state is end
    assert not controller.snapshot().runs[0].collecting
