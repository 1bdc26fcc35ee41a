"""A run that has no figure yet says what it is at, step by step."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from backends.campaign.record.state import RunState
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.lease import Lease
from backends.remote.wrapper_messages import LeaseHeldError
from profiles.errors import DlperfError
from tests.support.campaigns import Bench, finish, only_run, until_running
from tests.support.waiting import until


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


def gated(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, when: Callable[..., bool]
) -> asyncio.Event:
    """No call of the method goes on before this is set."""
    gate, method = asyncio.Event(), getattr(owner, name)

    async def waits(self: object, *given: Any, **named: Any) -> Awaitable[object]:
        if when(*given):
            await gate.wait()
        return await method(self, *given, **named)  # type: ignore[no-any-return]

    monkeypatch.setattr(owner, name, waits)
    return gate


async def test_a_start_says_what_it_is_at_and_a_run_without_figures_that_it_has_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = gated(monkeypatch, RemoteHost, "_run", lambda verb, *_: verb == "start")
    copies = gated(monkeypatch, RemoteHost, "stage", lambda *_: True)
    follows = gated(monkeypatch, RemoteHost, "follow", lambda *_: True)
    bench.profile(expected='"60s"')
    controller = await bench.start(lines=3, every=0.5)
    name, shown = bench.hosts[0].name, ["planned"]

    async def says(text: str) -> None:
        def now() -> str:
            return controller.snapshot().runs[0].state_text

        await until(lambda: now() == text, what=text)
        assert controller.snapshot().runs[0].doing == text.partition(", ")[2]
        shown.append(text)

    await says(f"starting, connecting to {name}")
    asks.set()
    await says(f"starting, copying files to {name}")
    asks.clear()
    copies.set()
    await says(f"starting, launching it on {name}")
    asks.set()
    await says("running, no reading yet")
    follows.set()
    await says("running, warming up")
    await says("running")
    assert all(before != after for before, after in pairwise(shown))
    await finish(controller)


async def test_nothing_begins_on_any_host_of_a_run_before_all_of_them_can_be_had(
    tmp_path: Path, local_host: Host
) -> None:
    va, hb = (
        replace(
            local_host,
            name=f"{local_host.name}{name}",
            work_dir=str(tmp_path / name),
            lease_dir=str(tmp_path / f"{name} leases"),
        )
        for name in ("va", "hb")
    )
    bench = Bench(tmp_path, [va, hb])
    bench.profile(cases='["1n1g", "2n1g"]')
    try:
        over = tmp_path / "over"
        other = await bench.start("1n1g", hosts=hb.name, after=bench.until_there(over))
        await until_running(other)
        controller = await bench.start("2n1g")
        [run_id] = controller.state.runs

        def waits() -> bool:
            return f"waiting for {hb.name}: held by" in controller.snapshot().runs[0].state_text

        await until(waits)
        assert not [*bench.copies.glob(f"{run_id}.*")]
        assert not [*controller.path.glob("logs/**/*.log")]
        over.touch()
        await finish(other)
        state = await finish(controller)
        assert only_run(state).state is RunState.SUCCEEDED
        assert bench.logs_are_exact(state, controller.path) == 2
        assert not [note for note in state.notes if "something else lay" in str(note)]
    finally:
        await bench.close()


async def test_a_start_that_lost_a_race_leaves_no_log_and_is_nobody_elses(
    tmp_path: Path, local_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one took the second host between the look at it and the start."""
    hosts = [
        replace(
            local_host,
            name=f"{local_host.name}{name}",
            work_dir=str(tmp_path / name),
            lease_dir=str(tmp_path / f"{name} leases"),
        )
        for name in ("va", "hb")
    ]
    bench = Bench(tmp_path, hosts)
    bench.profile(cases='["2n1g"]')
    start, lost = RemoteHost.start, []

    async def races(self: RemoteHost, *given: Any) -> Any:
        if self.transport.host.name == hosts[1].name and not lost:
            await until(lambda: [*bench.copies.glob("*")])  # the other rank began
            lost.append(self)
            raise LeaseHeldError(hosts[1].name, Lease("bob"))
        return await start(self, *given)

    monkeypatch.setattr(RemoteHost, "start", races)
    try:
        controller = await bench.start("2n1g", every=0.2)
        await until(lambda: only_run(controller.state).state is RunState.PLANNED and lost)
        assert not [*controller.path.glob("logs/**/*.log*")]
        state = await finish(controller)
        assert only_run(state).state is RunState.SUCCEEDED
        assert not [*controller.path.glob("logs/**/*kept*")]
    finally:
        await bench.close()


async def test_a_command_that_is_at_work_is_called_one(bench: Bench) -> None:
    over = bench.directory / "over"
    words = bench.steady_words("1n1g", lines=2, after=bench.until_there(over))
    process = bench.spawn("run", *words)
    try:
        view = bench.workspace()

        def role() -> str:
            with contextlib.suppress(DlperfError, ValueError, OSError):  # it is just being made
                kept_by = view.load(bench.campaign).kept_by
                return "" if kept_by is None else kept_by.role
            return ""

        await until(role)
        assert role() == "command"
    finally:
        over.touch()
        await asyncio.to_thread(process.communicate, timeout=60)
