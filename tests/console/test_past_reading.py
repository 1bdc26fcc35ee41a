"""What was measured before, read while campaigns end and operators ask."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from tui.past_reading import PastReading
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
