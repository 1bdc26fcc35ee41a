"""Rank 0's log on its way into the journal: thinned, and never counted twice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record import run_record
from backends.campaign.record.codec import encode, merged
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import CampaignState, RunState, fold
from backends.campaign.run import reading_feed
from backends.campaign.run.reading_feed import ReadingFeed
from tests.support.waiting import until
from tests.unit.profiles.builders import profile

PROFILE = profile(
    "reading = 'iter (?P<step>\\d+), speed (?P<value>[\\d.]+)'\n"
    "scope = 'per_device'\nstatistic = 'mean'\nwindow = { skip = 3 }"
)
GPUS = 2


@dataclass
class Recorder:
    """Keeps what it is told."""

    events: list[ev.Event] = field(default_factory=list)

    def note(self, event: ev.Event) -> None:
        self.events.append(event)


def run(**known: object) -> RunRecord:
    of = RunRecord(
        run_id="r",
        profile="sample",
        framework="F",
        model="M",
        unit="images/s",
        nodes=1,
        gpus_per_node=GPUS,
        parameters={"batch_size": 128, "precision": "fp32"},
        repeat=1,
        attempt=1,
        state=RunState.RUNNING,
    )
    return replace(of, **known)  # type: ignore[arg-type]


def feed_of(of: RunRecord) -> tuple[ReadingFeed, Recorder]:
    recorder = Recorder()
    feed = ReadingFeed(of, PROFILE, recorder, lambda: 7.0, lambda: None)  # type: ignore[arg-type]
    return feed, recorder


def log_of(count: int) -> bytes:
    return b"".join(b"iter %d, speed %d.5\n" % (10 * n, n) for n in range(count)) + b"end"


def after(of: RunRecord, events: list[ev.Event]) -> RunRecord:
    state = fold([ev.Event(t=0.0) for _ in ()], CampaignState(runs={"r": of}))
    return fold(events, state).runs["r"]


@settings(max_examples=200)
@given(
    st.integers(0, 60),
    st.lists(st.tuples(st.integers(1, 90), st.booleans()), max_size=20),
    st.integers(0, 1200),
)
def test_what_the_journal_says_is_so_however_the_log_came(
    count: int, chunks: list[tuple[int, bool]], killed_at: int
) -> None:
    """Chunks, with a batch sent after some; the console is killed and another takes over."""
    log = log_of(count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_record, "SERIES_POINTS", 4)
        whole, recorder = feed_of(run())
        whole.take(log)
        whole.finish()
        expected = after(run(), recorder.events)
        first, recorder = feed_of(run())
        position = 0
        for size, sends in chunks:
            if position < killed_at:
                first.take(log[position : position + size])
                if sends:
                    first.send()
            position += size
        known = after(run(), recorder.events)
        again, recorder = feed_of(known)
        again.take(log[:position])
        again.take(log[position:])
        again.finish()
        found = after(known, recorder.events)
    assert found == expected
    assert found.reading_count == count
    assert list(found.series.values) == [
        GPUS * (n + 0.5) for n in range(0, count, found.series.stride)
    ]
    assert again.measured([]) == whole.measured([])
    assert found.warmup == min(3, count)


def test_a_batch_says_how_far_into_the_log_it_is() -> None:
    feed, recorder = feed_of(run())
    log = log_of(3)
    feed.take(log[:-10])
    feed.send()
    feed.take(log[-10:])
    feed.finish()
    two, three = recorder.events
    assert isinstance(two, ev.ReadingsSampled)
    assert isinstance(three, ev.ReadingsSampled)
    assert (two.first, two.count, two.offset) == (0, 2, log.index(b"iter 20"))
    assert (three.first, three.count, three.offset) == (2, 1, len(log))
    assert three.last == ((20, 5.0, 7.0),)


def test_a_log_that_is_read_anew_begins_again() -> None:
    feed, recorder = feed_of(run())
    feed.take(log_of(5))
    feed.send()
    feed.restart("it differed")
    feed.take(log_of(2))
    feed.finish()
    found = after(run(), recorder.events)
    assert (found.reading_count, list(found.series.values)) == (2, [1.0, 3.0])
    assert (feed.count, feed.measured([]).readings) == (2, 2)


async def test_readings_are_sent_when_they_come_and_those_that_follow_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading_feed, "EVERY_S", 0.05)
    feed, recorder = feed_of(run())
    log = log_of(40)
    first = log.index(b"\n") + 1
    feed.take(log[:first])  # before anybody follows: from the file that an earlier console left
    async with asyncio.TaskGroup() as tasks:
        pump = tasks.create_task(feed.pump())
        await until(lambda: len(recorder.events) == 1)
        for at in range(first, len(log), 7):
            feed.take(log[at : at + 7])
            await asyncio.sleep(0)
        await until(lambda: len(recorder.events) == 2)
        await asyncio.sleep(0.2)
        pump.cancel()
    assert len(recorder.events) == 2, "nothing came, and so nothing is sent"
    assert after(run(), recorder.events).reading_count == 40


def test_a_million_readings_are_some_thousand_points_in_the_journal() -> None:
    feed, recorder = feed_of(run())
    block = b"".join(b"iter %d, speed 1.5\n" % n for n in range(20_000))
    for _ in range(50):
        feed.take(block)
        feed.send()
    events = merged(recorder.events)
    size = sum(len(encode(event)) for event in recorder.events)
    found = after(run(), recorder.events)
    assert found.reading_count == 1_000_000
    assert 512 <= len(found.series) < 1024
    assert size < 300_000
    assert len(events) == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30))
def test_since_when_readings_are_not_told_is_known(batches: list[tuple[int, bool]]) -> None:
    now, untold, number = 0.0, None, 0
    feed = ReadingFeed(run(), PROFILE, Recorder(), lambda: now, lambda: None)  # type: ignore[arg-type]
    for count, sends in batches:
        now += 1.0
        feed.take(b"".join(b"iter %d, speed 9.5\n" % n for n in range(number, number + count)))
        number += count
        untold = now if untold is None and count else untold
        assert feed.untold_since == untold
        if sends:
            feed.send()
            untold = None
    assert feed.untold_since == untold
