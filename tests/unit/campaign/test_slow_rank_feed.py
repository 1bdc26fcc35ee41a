"""From the lines of several hosts' logs to what the journal says of slow ranks."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.codec import decode, encode
from backends.campaign.record.run_changes import RUN_CHANGES, record_of
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import fold
from backends.campaign.run.slow_rank_feed import EVERY_S, SlowRankFeed
from backends.hangs.slow_rank import SlowRank
from backends.hangs.slow_rank_words import slow_rank_line, still_slow
from profiles.format.catalog import Catalog
from profiles.format.measure_section import OwnTimes
from profiles.throughput.own_times import OwnTimeReader
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned, succeeded


def with_steps(section: OwnTimes) -> OwnTimes:
    """Whose lines say the step, whatever the bundled profiles capture."""
    told = section.reading.replace(r"step \d+", r"step (?P<step>\d+)")
    return section.model_copy(update={"reading": told})


_BUNDLED = Catalog.load((), None).get("torch-resnet50")
assert _BUNDLED.ranks is not None
PROFILE = _BUNDLED.model_copy(update={"ranks": with_steps(_BUNDLED.ranks)})


@dataclass
class Recorder:
    events: list[ev.SlowRanksTold] = field(default_factory=list)

    def note(self, event: ev.SlowRanksTold) -> None:
        self.events.append(event)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def feed_of_two_hosts() -> tuple[SlowRankFeed, Recorder, Clock]:
    planned = ev.RunPlanned(
        t=1.0,
        run_id="a-1",
        profile=PROFILE.name,
        framework="f",
        model="m",
        unit="u",
        nodes=2,
        gpus_per_node=2,
        parameters={},
        repeat=1,
    )
    run = replace(record_of(planned), devices={"node1": (4, 6), "node2": (0, 1)})
    recorder, clock = Recorder(), Clock()
    feed = SlowRankFeed(run, PROFILE, recorder, clock, on_gpus=True)  # type: ignore[arg-type]
    return feed, recorder, clock


def told(
    feed: SlowRankFeed, clock: Clock, steps: range, slow: float = 1.0, every_s: float = EVERY_S
) -> None:
    for step in steps:
        clock.now += every_s
        for host, ranks in (("node1", (0, 1)), ("node2", (2, 3))):
            for rank in ranks:
                ms = 100.0 * (slow if rank == 1 else 1.0)
                line = b"own: rank %d, step %d, ms: %.3f\n" % (rank, step + 1, ms)
                feed.take(host, line[:9])
                feed.take(host, line[9:])


def test_a_rank_is_told_with_its_host_and_device_once_and_again_when_it_is_over() -> None:
    feed, recorder, clock = feed_of_two_hosts()
    told(feed, clock, range(10))
    assert [event.slow_ranks for event in recorder.events] == [()]
    told(feed, clock, range(10, 30), slow=1.2)
    [_, named] = recorder.events
    [slow] = named.slow_ranks
    assert (slow.rank, slow.host, slow.device, slow.until) == (1, "node1", 6, None)
    assert slow.excess == pytest.approx(0.2)
    assert slow.since == 1000.0 + 11 * EVERY_S
    told(feed, clock, range(30, 50))
    [over] = recorder.events[2].slow_ranks
    assert (over.rank, over.since) == (1, slow.since)
    assert over.until is not None
    feed.finish()
    assert len(recorder.events) == 3


def running(feed: SlowRankFeed) -> RunRecord:
    return replace(feed._run, state=RunState.RUNNING)


@given(st.lists(st.tuples(st.integers(20, 60), st.integers(20, 60)), min_size=1, max_size=4))
def test_all_spans_of_a_slow_rank_are_told_and_not_the_last_alone(
    blocks: list[tuple[int, int]],
) -> None:
    feed, recorder, clock = feed_of_two_hosts()
    step, slow_s, began = 0, 0.0, None
    for calm, slow in blocks:
        told(feed, clock, range(step, step + calm))
        began = clock.now + EVERY_S if began is None else began
        told(feed, clock, range(step + calm, step + calm + slow), slow=1.2)
        slow_s += slow * EVERY_S
        step += calm + slow
    told(feed, clock, range(step, step + 20))
    feed.finish()
    run = running(feed)
    for event in recorder.events:
        run = RUN_CHANGES[ev.SlowRanksTold](run, event)
    for told_of in (recorder.events[-1].slow_ranks, run.slow_ranks):
        [one] = told_of or ()
        assert one.until is not None
        assert one.since == began
        assert one.until - one.since - one.between_s == pytest.approx(
            slow_s, abs=4 * EVERY_S * len(blocks)
        )


@given(st.lists(st.tuples(st.integers(6, 40), st.integers(10, 40)), min_size=1, max_size=6))
def test_of_a_rank_that_tells_faster_than_it_is_looked_at_no_calm_time_is_told_as_slow(
    blocks: list[tuple[int, int]],
) -> None:
    feed, recorder, clock = feed_of_two_hosts()
    step, slow_s, every_s = 0, 0.0, EVERY_S / 10
    for calm, slow in blocks:
        told(feed, clock, range(step, step + calm), every_s=every_s)
        told(feed, clock, range(step + calm, step + calm + slow), 1.2, every_s)
        slow_s += slow * every_s
        step += calm + slow
    told(feed, clock, range(step, step + 6), every_s=every_s)
    feed.finish()
    for one in recorder.events[-1].slow_ranks if recorder.events else ():
        until = clock.now if one.until is None else one.until
        assert until - one.since - one.between_s <= slow_s + every_s


@given(
    st.lists(st.tuples(st.floats(0.001, 500.0), st.floats(0.1, 500.0)), min_size=1, max_size=6),
    st.floats(0.0, 100.0),
)
def test_spans_that_an_older_version_told_one_by_one_add_up_and_those_that_touch_are_one(
    spans: list[tuple[float, float]], touching_s: float
) -> None:
    assume(all(abs(gap_s - touching_s) > 1e-3 for gap_s, _ in spans))
    feed, _, _ = feed_of_two_hosts()
    run, in_all, at, joined = running(feed), 0.0, SLOW.since, None
    for number, (gap_s, lasted) in enumerate(spans):
        at += gap_s if number else 0.0
        one = replace(SLOW, since=at, until=at + lasted)
        joined = one.after(joined, touching_s)
        for told_of in (replace(one, until=None), one):
            event = ev.SlowRanksTold(t=at, run_id="a-1", slow_ranks=(told_of,))
            run = RUN_CHANGES[ev.SlowRanksTold](run, event)
        at += lasted
        in_all += lasted
    [one] = run.slow_ranks or ()
    assert (one.since, one.until) == (SLOW.since, at)
    assert at - one.since - one.between_s == pytest.approx(in_all, abs=1e-3)
    gaps = sum(gap_s for gap_s, _ in spans[1:] if gap_s > touching_s)
    assert joined is not None
    assert joined.between_s == pytest.approx(gaps, abs=0.01 + 6 * 2e-3)


def test_a_rank_that_is_slow_again_within_one_reading_was_slow_all_the_time() -> None:
    feed, recorder, clock = feed_of_two_hosts()
    told(feed, clock, range(10))
    told(feed, clock, range(10, 30), slow=1.2)
    [slow] = recorder.events[-1].slow_ranks
    feed._earlier = {1: replace(slow, until=clock.now)}
    told(feed, clock, range(30, 40), slow=1.3)
    feed.finish()
    [still] = recorder.events[-1].slow_ranks
    assert (still.since, still.until, still.between_s) == (slow.since, None, 0.0)


def feed_of_three_ranks() -> tuple[SlowRankFeed, Recorder, Clock]:
    feed, recorder, clock = feed_of_two_hosts()
    run = replace(feed._run, nodes=3, gpus_per_node=1, devices={})
    return SlowRankFeed(run, PROFILE, recorder, clock, on_gpus=True), recorder, clock  # type: ignore[arg-type]


def verdict(recorder: Recorder) -> set[tuple[object, ...]]:
    last = recorder.events[-1].slow_ranks if recorder.events else ()
    return {(s.rank, s.excess, s.own_s, s.usual_s, s.until is None, s.steps) for s in last}


MS = st.sampled_from([3.98, 4.0, 4.59, 5.3, 5.9])


@given(st.lists(st.tuples(MS, MS, MS), min_size=7, max_size=60), st.data())
def test_ranks_whose_logs_come_late_change_no_verdict_and_nobody_is_accused_meanwhile(
    laps: list[tuple[float, float, float]], data: st.DataObject
) -> None:
    # each rank tells by its own clock, of a step or two fewer or more than the others
    ends = [[20 * (lap + 1) + rank for lap in range(len(laps))] for rank in range(3)]
    feed, at_once, clock = feed_of_three_ranks()
    lines = [
        [b"own: rank %d, step %d, ms: %.3f\n" % (rank, ends[rank][lap], times[rank])
         for lap, times in enumerate(laps)]
        for rank in range(3)
    ]  # fmt: skip
    for lap in range(len(laps)):
        clock.now += EVERY_S
        for rank in range(3):
            feed.take(f"node{rank}", lines[rank][lap])
    feed.finish()
    late_feed, late, clock = feed_of_three_ranks()
    came = [0, 0, 0]
    while any(count < len(laps) for count in came):
        rank = data.draw(st.sampled_from([r for r in range(3) if came[r] < len(laps)]))
        count = data.draw(st.integers(1, len(laps)))
        clock.now += data.draw(st.sampled_from([0.0, 1.0, EVERY_S]))
        told_before = len(late.events)
        late_feed.take(f"node{rank}", b"".join(lines[rank][came[rank] : came[rank] + count]))
        came[rank] = min(len(laps), came[rank] + count)
        for event in late.events[told_before:]:
            assert min(came) >= 7
            for slow in event.slow_ranks:
                assert slow.steps is not None
                assert slow.steps[1] <= min(ends[r][came[r] - 1] for r in range(3))
                assert slow.own_s > slow.usual_s
    late_feed.finish()
    assert verdict(late) == verdict(at_once)
    run = running(late_feed)
    for event in late.events:
        run = RUN_CHANGES[ev.SlowRanksTold](run, event)
    assert run.slow_ranks == (late.events[-1].slow_ranks if late.events else None)


def test_by_how_much_above_which_others_over_which_steps_is_the_last_word() -> None:
    feed, recorder, clock = feed_of_three_ranks()
    for rank in (0, 1, 2):  # the log of the last one comes last
        for lap in range(1, 21):
            clock.now += 1.0
            first = lap <= 8 and rank == 0
            ms = (5.3, 3.98, 4.59)[rank] * (0.9 if first else 1.0)
            feed.take(f"node{rank}", b"own: rank %d, step %d, ms: %.3f\n" % (rank, 20 * lap, ms))
        assert bool(recorder.events) == (rank == 2)
    feed.finish()
    [slow] = recorder.events[-1].slow_ranks
    assert " on node0: own time 24% above the median of the other 2 ranks, steps 161 to 400, " in (
        slow_rank_line(slow)
    )


def test_a_console_that_reads_the_logs_again_tells_when_the_first_saw_it() -> None:
    feed, recorder, clock = feed_of_two_hosts()
    told(feed, clock, range(10))
    told(feed, clock, range(10, 30), slow=1.2)
    told(feed, clock, range(30, 40))
    [over] = recorder.events[-1].slow_ranks
    for known in (over, replace(over, steps=None, others=None)):
        run = replace(feed._run, slow_ranks=(known,))
        again = SlowRankFeed(run, PROFILE, recorder, clock, on_gpus=True)  # type: ignore[arg-type]
        told(again, clock, range(10), every_s=0.0)
        told(again, clock, range(10, 30), slow=1.2, every_s=0.0)
        told(again, clock, range(30, 40), every_s=0.0)
        again.finish()
        assert recorder.events[-1].slow_ranks == (over,)


def test_a_run_of_one_rank_or_a_profile_that_does_not_tell_says_nothing() -> None:
    feed, recorder, clock = feed_of_two_hosts()
    silent = PROFILE.model_copy(update={"ranks": None})
    other = SlowRankFeed(feed._run, silent, recorder, clock, on_gpus=True)  # type: ignore[arg-type]
    told(other, clock, range(20), slow=2.0)
    other.finish()
    assert recorder.events == []


@pytest.mark.parametrize("name", ["torch-resnet50", "torch-gpt", "cpu-smoke"])
def test_lines_are_read_whatever_is_around_them(name: str) -> None:
    bundled = Catalog.load((), None).get(name).ranks
    assert bundled is not None
    section = with_steps(bundled)
    reader = OwnTimeReader(section)
    line = section.example.encode()
    [(rank, step, seconds)] = OwnTimeReader(section).feed(b"\x1b[31m" + line + b"\x1b[0m\n")
    assert seconds < 1.0
    assert reader.feed(b"own: rank 99999999999, x\xff\n" + line[:10]) == []
    assert reader.feed(line[10:] + b"\r" + line) == [(rank, step, seconds)]
    assert reader.feed(b"\n") == [(rank, step, seconds)]
    uncounted = section.model_copy(update={"reading": section.reading.replace("?P<step>", "?:")})
    counting = OwnTimeReader(uncounted)
    assert counting.feed((line + b"\n") * 2) == [(rank, 1, seconds), (rank, 2, seconds)]
    assert (reader.has_steps, counting.has_steps) == (True, False)


SLOW = SlowRank(5, "node3", 5, 0.14, 0.114, 0.1, 1_795_400_000.0)


def test_slow_ranks_survive_the_journal_and_what_cannot_be_does_not() -> None:
    with_steps = replace(SLOW, others=7, steps=(133, 400))
    event = ev.SlowRanksTold(t=1.0, run_id="a-1", slow_ranks=(with_steps, SLOW))
    line = encode(event)
    assert decode(line) == event
    old = json.loads(line)
    del old["slow_ranks"][1]["others"], old["slow_ranks"][1]["steps"]
    assert decode(json.dumps(old).encode()) == event
    for key, value in (
        ("rank", -1),
        ("since", -1.0),
        ("excess", "much"),
        ("host", None),
        ("between_s", -1.0),
        ("others", 0),
        ("steps", [20, 10]),
    ):
        record = json.loads(line)
        record["slow_ranks"][0][key] = value
        assert decode(json.dumps(record).encode()) is None


def test_words_say_who_where_by_how_much_and_since_when() -> None:
    said = slow_rank_line(SLOW)
    assert said.startswith("rank 5 on node3 GPU5: own time 14% above the others since ")
    over = replace(SLOW, until=SLOW.since + 600)
    assert " from " in slow_rank_line(over)
    for ended in (replace(SLOW, until=SLOW.since + 1.5), SLOW):
        brief = slow_rank_line(ended, ranks=2, ended_at=SLOW.since + 1.5)
        assert " above the other for 1.5 s from " in brief
    assert " above the others for 42 s " in slow_rank_line(SLOW, ended_at=SLOW.since + 42)
    assert " since " in slow_rank_line(SLOW, ended_at=SLOW.since + 60)
    for lasted in (0.4, 59.0, 61.0, 299.0, 301.0, 3600.0):
        for told in (replace(SLOW, until=SLOW.since + lasted), SLOW):
            line = slow_rank_line(told, ended_at=SLOW.since + lasted)
            assert bool(re.search(r"\d\d:\d\d:\d\d", line)) == (lasted < 300), line
        line = slow_rank_line(SLOW, now=SLOW.since + lasted)
        clock = r"\d\d:\d\d:\d\d" if lasted < 300 else r"\d\d:\d\d"
        assert re.search(rf" above the others since {clock}$", line), line
    several = replace(SLOW, until=SLOW.since + 3600, between_s=2900.0)
    assert re.search(
        r" above the others for 11m40s in all from [\d:]+ to ", slow_rank_line(several)
    )
    to_the_end = replace(several, until=None)
    line = slow_rank_line(to_the_end, ended_at=SLOW.since + 2930)
    assert " for 30 s in all since " in line
    assert " for 11m40s in all since " in slow_rank_line(to_the_end, now=SLOW.since + 3600)
    assert " on and off since " in slow_rank_line(to_the_end)
    touching = replace(SLOW, until=SLOW.since + 8.1, between_s=0.001)
    assert " for 8.1 s from " in slow_rank_line(touching)
    assert still_slow((over,)) == still_slow(None) == ""
    assert (
        still_slow((SLOW, replace(SLOW, rank=6), over)) == "rank 5 14% slow on node3 GPU5, 1 more"
    )


TIMES = st.floats(3.0, 90.0)


@given(TIMES, st.none() | TIMES, st.floats(0.5, 80.0), st.booleans(), st.booleans())
def test_no_rank_is_slow_for_longer_than_its_run_ran_nor_after_its_end(
    since: float, until: float | None, ran_s: float, over_first: bool, failed: bool
) -> None:
    """What it printed while nobody looked comes at once, and is told when it came."""
    run_id = "r-0001-a1"
    slow = replace(SLOW, since=since, until=None if until is None else max(since, until))
    told = ev.SlowRanksTold(t=91.0, run_id=run_id, slow_ranks=(slow,))
    over = ev.RunOver(t=91.0, run_id=run_id, ran_s=ran_s)
    end = succeeded(run_id, t=92.0, ran_s=ran_s)
    lost = ev.RunFailed(t=92.0, run_id=run_id, reason="x", ran_s=ran_s)
    launched = [planned(run_id), assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
    told_late = [over, told] if over_first else [told]
    run = fold([*launched, *told_late, lost if failed else end]).runs[run_id]
    assert run.ended_at == pytest.approx(2.0 + ran_s)
    [found] = run.slow_ranks or ()
    assert found.since <= run.ended_at
    assert (found.until is None) is (until is None), "whether it was slow to its end"
    assert found.until is None or found.since <= found.until <= run.ended_at
    line = slow_rank_line(found, ended_at=run.ended_at)
    assert ("at a time that is not known" in line) is (
        found.since == (run.ended_at if found.until is None else found.until)
    )
    if lasted := re.search(r"for ([\d.]+) s", line):
        assert float(lasted[1]) <= ran_s + 0.5
