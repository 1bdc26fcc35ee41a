"""What was recorded comes again as it came, byte for byte, and no host is asked for it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.reader import read_campaign
from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.campaign.record.journal import read_events
from backends.campaign.record.state import fold
from backends.hosts.host_facts import HostState
from backends.replay.playback import Playback
from backends.replay.recording import Recording, Track, read_recording
from backends.replay.replay_clock import SPEEDS, ReplayClock
from backends.replay.replay_workspace import ReplayWorkspace, recorded_hosts
from profiles.errors import DlperfError

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
RECORDED = EXAMPLES / "h200-x2-resnet50-compile"
shares = st.lists(st.floats(0, 1), max_size=6).map(sorted)


class Stopwatch:
    """Seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def recording() -> Recording:
    return read_recording(RECORDED)


def moments(recording: Recording, shares: Sequence[float]) -> list[float]:
    return [recording.begin + share * (recording.end - recording.begin) for share in shares]


# How a file grew -----------------------------------------------------------------------------

points = st.lists(st.tuples(st.floats(0, 1e9), st.integers(0, 10**9)), min_size=1, max_size=8).map(
    lambda found: tuple(zip(*map(sorted, zip(*found, strict=True)), strict=True))
)


@given(points, st.lists(st.floats(-1, 2e9), min_size=2).map(sorted), st.booleans())
def test_a_file_never_shrinks_and_is_whole_at_its_end(
    known: tuple[tuple[float, int], ...], times: list[float], exact: bool
):
    track = Track(known, exact)
    sizes = [track.size_at(t) for t in times]
    assert sizes == sorted(sizes)
    assert track.size_at(known[-1][0]) == known[-1][1]
    assert all(track.size_at(t) >= size for t, size in known)
    if exact:
        assert set(sizes) <= {0, *(size for _, size in known)}


# The copy ------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(shares)
def test_at_any_moment_the_copy_is_what_was_there(
    tmp_path_factory: pytest.TempPathFactory, recording: Recording, shares: list[float]
):
    copy = tmp_path_factory.mktemp("copy") / "again"
    playback = Playback(recording, copy)
    for now in moments(recording, shares):
        playback.show(now)
        events = list(read_events(copy / "events.jsonl"))
        assert not any(isinstance(event, ev.LinesLost) for event in events)
        assert all(event.t <= now for event in events)
        for path in recording.tracks:
            there = (copy / path).read_bytes() if (copy / path).exists() else b""
            if path != "events.jsonl":
                whole = (RECORDED / path).read_bytes()
                assert whole.startswith(there)
                assert there in (b"", whole) or there.endswith(b"\n")
        _has_what_its_journal_says(copy, events)
    playback.show(recording.end)
    for path in recording.tracks:
        if path != "events.jsonl":
            assert (copy / path).read_bytes() == (RECORDED / path).read_bytes()
    shutil.rmtree(copy)


def test_at_each_reading_the_log_is_what_had_been_read(recording: Recording):
    """No line of it comes before, none later."""
    logs = {run_id: run.log for run_id, run in read_campaign(RECORDED).runs.items()}
    read = [
        event
        for event in read_events(RECORDED / "events.jsonl")
        if isinstance(event, ev.ReadingsSampled)
    ]
    assert len(read) > 20
    for event in read:
        assert recording.tracks[logs[event.run_id]].size_at(event.t) == event.offset


def _has_what_its_journal_says(copy: Path, events: list[ev.Event]) -> None:
    """The line of each reading is in the log, and the log of an ended run is whole."""
    for run in fold(events).runs.values():
        read = [
            event.offset
            for event in events
            if isinstance(event, ev.ReadingsSampled) and event.run_id == run.run_id
        ]
        if read:
            assert (copy / run.log).stat().st_size >= max(read)
        if run.state.ended:
            assert (copy / run.log).read_bytes() == (RECORDED / run.log).read_bytes()


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
async def test_every_committed_campaign_can_be_replayed(name: str, tmp_path: Path):
    watch = Stopwatch()
    workspace = ReplayWorkspace(EXAMPLES / name, 100.0, monotonic=watch)
    begun = workspace.load(workspace.playback)
    assert begun.done == 0
    assert begun.kept_by is not None
    assert not begun.deserted
    workspace.replay_clock.faster(1)
    watch.now += workspace.replay_clock.end - workspace.replay_clock.begin
    workspace.show()
    over, recorded = workspace.load(workspace.playback), workspace.state(EXAMPLES / name)
    assert over.finished
    assert over.state.runs == recorded.runs
    assert {text for _, _, text in over.notes} <= {text for _, _, text in recorded.notes}
    assert workspace.remarks(workspace.playback) == ()
    await workspace.close()
    assert not workspace.playback.exists()


async def test_again_is_from_the_beginning():
    watch = Stopwatch()
    workspace = ReplayWorkspace(RECORDED, 100.0, monotonic=watch)
    watch.now += 1e6
    workspace.show()
    first = workspace.playback
    workspace.restart()
    assert workspace.playback != first
    assert workspace.load(workspace.playback).done == 0
    assert not workspace.replay_clock.over
    await workspace.close()


def test_nothing_of_the_recorded_campaign_is_changed(tmp_path: Path):
    source = tmp_path / "recorded"
    shutil.copytree(RECORDED, source)
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    recording = read_recording(source)
    Playback(recording, tmp_path / "copy").show(recording.end)
    assert {path: path.read_bytes() for path in source.rglob("*") if path.is_file()} == before


def test_what_lies_in_the_way_is_not_followed(tmp_path: Path):
    source, secret = tmp_path / "recorded", tmp_path / "secret"
    shutil.copytree(RECORDED, source)
    secret.write_text("not of the campaign")
    log = next(iter(read_recording(source).tracks.keys() - {"events.jsonl"}))
    (source / log).unlink()
    (source / log).symlink_to(secret)
    (source / "linked").symlink_to(secret)
    (source / "logs" / "pipe").parent.mkdir(exist_ok=True)
    os.mkfifo(source / "logs" / "pipe")
    recording = read_recording(source)
    Playback(recording, tmp_path / "copy").show(recording.end)
    copied = [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert copied
    assert not any(b"not of the campaign" in path.read_bytes() for path in copied)


def test_what_nobody_knows_the_times_of_is_not_replayed(tmp_path: Path):
    source = tmp_path / "imported"
    shutil.copytree(RECORDED, source)
    journal = source / "events.jsonl"
    journal.write_text(journal.read_text().replace('"imported":false', '"imported":true'))
    with pytest.raises(DlperfError, match="imported"):
        read_recording(source)


def test_what_would_fill_the_disk_is_refused_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("backends.replay.recording.MOST_BYTES", 1000)
    with pytest.raises(DlperfError, match="MiB"):
        read_recording(RECORDED)


# Hosts ---------------------------------------------------------------------------------------


async def test_no_host_is_asked():
    workspace = ReplayWorkspace(RECORDED, 10.0)
    (host,) = workspace.cluster.snapshots()
    await workspace.cluster.probe()
    await workspace.cluster.refresh(0.0)
    await workspace.cluster.watch(host.name, lambda data: None)
    assert workspace.cluster.snapshots() == (host,)
    plan = workspace.plan(Selection(("torch-resnet50",), ("1n1g",)))
    with pytest.raises(DlperfError, match="asks no host"):
        await workspace.preflight(plan)
    with pytest.raises(DlperfError, match="asks no host"):
        await workspace.start(plan)
    await workspace.close()


def test_hosts_are_as_they_were_recorded():
    (host,) = recorded_hosts(RECORDED, 0.0)
    assert host.facts is not None
    assert host.state is HostState.READY
    assert len(host.facts.gpus) == host.slots == 2
    assert not host.facts.of_a_moment
    assert host.probed_at == pytest.approx(1795376493, abs=2)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["name", "gpus", "x"]), inner),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.binary() | json_values.map(lambda v: json.dumps({"hosts": v}).encode()))
def test_any_bytes_that_are_recorded_of_hosts_are_some_or_none(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
):
    source = tmp_path_factory.mktemp("source")
    (source / "environment.json").write_bytes(content)
    assert all(isinstance(host.name, str) for host in recorded_hosts(source, 0.0))


# The time ------------------------------------------------------------------------------------

acts = st.lists(
    st.tuples(st.sampled_from(["toggle", "faster", "slower", "wait"]), st.floats(0, 50))
)


@given(st.sampled_from(SPEEDS), acts)
def test_its_time_never_goes_back_and_never_jumps(speed: float, done: list[tuple[str, float]]):
    watch = Stopwatch()
    clock = ReplayClock(1000.0, 5000.0, speed, watch)
    for act, waited in done:
        before, at_speed, plays = clock(), clock.speed, clock.plays
        if act == "toggle":
            clock.toggle()
        elif act in ("faster", "slower"):
            clock.faster(1 if act == "faster" else -1)
        else:
            watch.now += waited
            passed = waited * at_speed if plays else 0.0
            assert clock() == pytest.approx(min(before + passed, 5000.0))
            continue
        assert clock() == pytest.approx(before)
    assert 1000.0 <= clock() <= 5000.0
    clock.restart()
    assert clock() == 1000.0
    assert clock.plays


@pytest.mark.parametrize("speed", [1.0, 3.0, 100.0])
def test_every_speed_leads_to_the_others(speed: float):
    clock = ReplayClock(0.0, 1.0, speed, Stopwatch())
    for _ in SPEEDS:
        clock.faster(1)
    assert clock.speed == SPEEDS[-1]
    for _ in SPEEDS:
        clock.faster(-1)
    assert clock.speed == SPEEDS[0]
