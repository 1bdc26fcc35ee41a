"""What was measured before, read while campaigns end and operators ask."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.past_index import PastIndex
from backends.campaign.record.status_view import CampaignSnapshot
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from tests.support.past_campaigns import past_campaign
from tui.past_reading import AGAIN_S, LEAST_S, PastReading
from tui.session import Session

SOURCE = Catalog.load((), None).source("torch-resnet50")
(CASE,) = expand(SOURCE.profile, ["1n1g"], {})


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
    disk = SimpleNamespace(looks=0, read=lambda _: None, complete=True)
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


@settings(deadline=None, max_examples=12)
@given(before=st.integers(0, 4), after=st.integers(0, 4), changed=st.sets(st.integers(0, 3)))
def test_no_figure_is_told_that_is_older_than_its_journal_while_all_are_read_first(
    before: int, after: int, changed: set[int]
) -> None:
    """By a console that has read them earlier."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)

        def measure(number: int, throughput: float) -> None:
            shutil.rmtree(directory / str(number), ignore_errors=True)
            past_campaign(directory / str(number), SOURCE, {CASE: [throughput]}, at=5000.0)

        for number in range(before):
            measure(number, 100.0)
        index = PastIndex(directory)
        index.read()
        for number in range(before + after):
            if number in changed or number >= before:
                measure(number, 200.0)
        true = PastIndex(directory)
        true.read()
        session = SimpleNamespace(workspace=SimpleNamespace(past=index))
        reading, told = PastReading(cast("Session", session)), []
        read_one = index._read_one

        def looked(one: Any) -> Any:
            told.append(dict(reading.by_campaign))
            return read_one(one)

        index._read_one = looked  # type: ignore[method-assign]
        assert not reading.by_campaign
        asyncio.run(reading.read())
        for shown in told:
            assert shown.items() <= true.by_campaign.items()
            assert {directory / str(n) for n in range(before) if n not in changed} <= shown.keys()
        assert reading.by_campaign == true.by_campaign
