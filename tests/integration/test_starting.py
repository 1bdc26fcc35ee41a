"""A run that has no figure yet says what it is at, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from tests.support.campaigns import Bench, finish
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


async def test_a_start_says_what_it_waits_for_and_a_run_without_figures_that_it_has_none(
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
    await says(f"starting, waiting for {name}")
    asks.set()
    await says("running, no reading yet")
    follows.set()
    await says("running, warming up")
    await says("running")
    assert all(before != after for before, after in pairwise(shown))
    await finish(controller)
