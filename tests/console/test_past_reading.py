"""What was measured before, read while campaigns end and operators ask."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.record.status_view import CampaignSnapshot
from tui.past_reading import AGAIN_S, LEAST_S, PastReading
from tui.session import Session


class Written:
    """An index of numbers: each look sees those that were written before it began, once it is let
    go on."""

    def __init__(self) -> None:
        self.written = self.found = 0
        self.complete = False
        self.go_on = threading.Semaphore(0)
        self.looks = 0

    def read(self, _: Callable[[], bool]) -> None:
        self.looks += 1
        seen = self.written
        self.go_on.acquire()
        self.found, self.complete = seen, True


@given(st.lists(st.sampled_from(["write", "ask", "look", "answer", "leave"]), max_size=12))
def test_who_waits_for_past_results_has_all_that_was_written_before(steps: Sequence[str]) -> None:
    async def played() -> None:
        disk = Written()
        session = SimpleNamespace(workspace=SimpleNamespace(past=disk))
        reading = PastReading(cast("Session", session))
        asked: list[tuple[int, asyncio.Task[None]]] = []

        async def ask(written: int) -> None:
            await reading.up_to_date()
            assert disk.found >= written

        looks = []
        for step in steps:
            if step == "write":
                disk.written += 1
            elif step == "ask":
                asked.append((disk.written, asyncio.create_task(ask(disk.written))))
            elif step == "look":
                looks.append(asyncio.create_task(reading.read()))
            elif step == "answer":
                disk.go_on.release()
            elif asked:
                asked[-1][1].cancel()
            for _ in range(3):
                await asyncio.sleep(0)
        disk.go_on.release(len(steps) + 1)
        for _, task in asked:
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled() or task.exception() is None
        await asyncio.gather(*looks)
        assert disk.looks <= len(asked) + len(looks)

    asyncio.run(played())


@given(st.lists(st.tuples(st.floats(0, 2 * AGAIN_S), st.integers(0, 1), st.booleans())))
def test_past_results_are_read_again_when_a_run_has_ended_and_else_after_a_while(
    steps: Sequence[tuple[float, int, bool]],
) -> None:
    now, ended, read_at, known = 0.0, 0, 0.0, None
    disk = SimpleNamespace(read=lambda _: None, complete=True)
    session = SimpleNamespace(workspace=SimpleNamespace(past=disk))
    reading = PastReading(cast("Session", session), lambda: now)
    asyncio.run(reading.read())
    for passed, more, another in steps:
        now, ended = now + passed, ended + more
        viewed = SimpleNamespace(identity=another, ended=ended)
        news = known != (another, ended)
        due = reading.is_due(cast("CampaignSnapshot", viewed))
        assert due == (now - read_at >= (LEAST_S if news else AGAIN_S))
        if due:
            known, read_at = (another, ended), now
            asyncio.run(reading.read())
