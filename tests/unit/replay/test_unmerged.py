"""A demo's journal has the readings of two seconds of ours as one; its replay has them as they
came."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record import events as ev
from backends.campaign.record.codec import encode, merged
from backends.campaign.record.lock import Holder, Role
from backends.campaign.record.run_record import stride_of
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import take
from backends.replay.playback import Playback
from backends.replay.recording import read_recording
from backends.replay.unmerged import unmerged
from tests.unit.campaign.strategies import planned

A, B = "r-0001-a1", "r-0002-a1"
SPEED, COMMIT_S = 10, 2.0
REPLAY = Holder("a replay", "", 0, 0, "", Role.REPLAY)

gaps = st.lists(st.floats(0.1, 40.0), min_size=1, max_size=40)
counts = st.sampled_from([1, 3, 700])


def came(run_id: str, gaps: list[float], each: int) -> list[ev.Event]:
    """As its feed notes them: ``each`` readings after every of these seconds."""
    t, first, events = 10.0, 0, list[ev.Event]()
    for gap in gaps:
        t, stride = round(t + gap, 3), stride_of(first + each)
        numbers = range(first + -first % stride, first + each, stride)
        last = (float(first + each - 1), 100.0, t)
        events.append(
            ev.ReadingsSampled(
                t=t,
                run_id=run_id,
                first=first,
                count=each,
                stride=stride,
                points=tuple((float(number), 100.0, t) for number in numbers),
                last=(last,),
                warmup=2,
                offset=1000 + 50 * (first + each),
            )
        )
        first += each
    return events


def lived(ones: list[float], others: list[float], each: int, ends_s: float) -> list[ev.Event]:
    begun = [
        ev.CampaignCreated(t=0.5, campaign="c", simulated=True),
        planned(A, t=0.6, expected_s=60.0),
        planned(B, t=0.7, expected_s=60.0),
    ]
    begun += [
        ev.RunAssigned(t=1.0, run_id=run, hosts=("node1",), commands=(), port=1, log=f"logs/{run}")
        for run in (A, B)
    ]
    begun += [ev.RunLaunched(t=2.0, run_id=run) for run in (A, B)]
    readings = sorted((*came(A, ones, each), *came(B, others, 1)), key=lambda event: event.t)
    end = readings[-1].t + ends_s
    return [*begun, *readings, ev.RunOver(t=end, run_id=A), ev.RunOver(t=end + 9.0, run_id=B)]


def journaled(events: list[ev.Event]) -> list[ev.Event]:
    """What is written every two seconds of ours."""
    batches: dict[int, list[ev.Event]] = {}
    for event in events:
        batches.setdefault(int(event.t / SPEED / COMMIT_S), []).append(event)
    return [event for batch in batches.values() for event in merged(batch)]


@settings(max_examples=40, deadline=None)
@given(gaps, gaps, counts, st.floats(0.1, 300.0), st.lists(st.floats(0, 1), min_size=5))
@example([2.5] * 30, [2.5] * 90, 1, 5.0, [0.3, 0.4, 0.5, 0.6, 0.8])  # one falls silent
def test_at_any_moment_a_run_says_in_a_demos_replay_what_it_said_live(
    ones: list[float], others: list[float], each: int, ends_s: float, shares: list[float]
) -> None:
    events = lived(ones, others, each, ends_s)
    with TemporaryDirectory() as directory:
        source = Path(directory) / "c"
        source.mkdir()
        (source / "events.jsonl").write_bytes(b"".join(map(encode, journaled(events))))
        recording = read_recording(source)
        playback = Playback(recording, Path(directory) / "again")
        for share in sorted(shares):
            now = recording.begin + share * (recording.end - recording.begin)
            playback.tell(now)
            live = fold([event for event in events if event.t <= now])
            shown = read_campaign(playback.directory)
            path = playback.directory
            then = take(live, path, now=now, read_only=True, kept_by=REPLAY)
            again = take(shown, path, now=now, read_only=True, kept_by=REPLAY)
            for was, run in zip(then.runs, again.runs, strict=True):
                assert (run.state_text, run.silent_s) == (was.state_text, was.silent_s)
                if each == 1:  # else they are thinned
                    assert run.readings == was.readings
        playback.tell(recording.end)
        assert read_campaign(playback.directory).runs == fold(events).runs


@given(gaps, gaps, counts)
def test_what_is_unmerged_comes_to_the_same_in_order(
    ones: list[float], others: list[float], each: int
) -> None:
    events = lived(ones, others, each, 1.0)
    again = list(unmerged(journaled(events)))
    assert [event.t for event in again] == sorted(event.t for event in again)
    assert fold(again) == fold(events)
    read = [event for event in again if isinstance(event, ev.ReadingsSampled)]
    for run in (A, B):
        offsets = [event.offset for event in read if event.run_id == run and event.offset]
        assert offsets == sorted(offsets)
    restarted = ev.ReadingsRestarted(t=read[-1].t, run_id=A, why="x")
    anew = replace(next(one for one in read if one.run_id == A), t=read[-1].t + 1.0)
    assert list(unmerged([*read, restarted, anew]))[-2:] == [restarted, anew]
