"""What was recorded comes again as it came, byte for byte, and no host is asked for it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.frozen import read_manifest, thaw
from backends.campaign.folder.paths import host_log_path
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.campaign.record.journal import read_events
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.hosts.host_facts import HostState
from backends.replay.playback import Playback
from backends.replay.recording import Recording, Track, read_recording
from backends.replay.replay_clock import SPEEDS, ReplayClock, speed_for
from backends.replay.replay_workspace import ReplayWorkspace
from profiles.errors import DlperfError
from profiles.logs.log_parser import LogParser
from tui.own_leases import OwnLeases
from tui.screens.hosts_page import summary
from tui.text import host_state
from tui.widgets.host_text import host_text

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
RECORDED = EXAMPLES / "h200-x2-resnet50-compile"
shares = st.lists(st.floats(0, 1), max_size=6).map(sorted)
RECORDINGS = {name: read_recording(EXAMPLES / name) for name in ("h200-x2-auto", RECORDED.name)}


def bring(workspace: ReplayWorkspace) -> CampaignSnapshot:
    """To its clock's moment, as the console does."""
    workspace.advance()
    snapshot = workspace.load(workspace.playback)
    workspace.reach()
    workspace.catch_up()
    return snapshot


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


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
    """The lines of the readings that came are in the log, no others, and that of an ended run is
    whole."""
    state = fold(events)
    for run in state.runs.values():
        if run.log and (copy / run.log).exists():
            setup = thaw(RECORDED, read_manifest(RECORDED, state.frozen), stage=False)[run.profile]
            parser = LogParser(setup.profile, run.case)
            parser.feed((copy / run.log).read_bytes())
            assert len(parser.readings) == run.reading_count
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
    over, recorded = bring(workspace), workspace.state(EXAMPLES / name)
    assert over.finished
    assert over.state.runs == recorded.runs
    assert {text for _, _, text in over.notes} <= {text for _, _, text in recorded.notes}
    assert workspace.remarks(workspace.playback) == ()
    await workspace.close()
    assert not workspace.playback.exists()


@pytest.mark.parametrize("simulated", [True, False])
async def test_hosts_that_were_simulated_are_so_before_the_campaign_is_read(
    tmp_path: Path, simulated: bool
):
    source = tmp_path / "recorded"
    shutil.copytree(RECORDED, source)
    journal = source / "events.jsonl"
    said = f'"simulated":{json.dumps(simulated)}'
    journal.write_text(journal.read_text().replace('"simulated":false', said, 1))
    workspace = ReplayWorkspace(source, 10.0)
    assert workspace.cluster.simulated is simulated
    await workspace.close()


acts = st.one_of(
    st.tuples(st.just("wait"), st.floats(0, 9)),
    st.tuples(st.sampled_from(["faster", "turn"]), st.sampled_from([1, -1])),
    st.tuples(st.just("seek"), st.floats(-40, 40)),
    st.tuples(st.just("toggle"), st.none()),
)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(sorted(RECORDINGS)), st.lists(acts, min_size=1, max_size=8))
async def test_whatever_was_done_before_it_is_what_a_campaign_was_at_that_moment(
    name: str, done: list[tuple[str, Any]]
):
    """Bytes of every file, states and clocks: as of one that only ever came to this moment."""
    watch = Stopwatch()
    workspace = ReplayWorkspace(EXAMPLES / name, 10.0, monotonic=watch)
    clock = workspace.replay_clock
    for act, how in done:
        if act == "wait":
            watch.now += how
        elif act == "faster":
            clock.faster(how)
        elif act == "seek":
            clock.seek(clock() + how)
        elif act == "turn":
            clock.seek(workspace.turn(how))
        else:
            clock.toggle()
        shown, moment = bring(workspace), clock()
        assert workspace.moment == workspace.cluster.now() == moment
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory) / name
            Playback(RECORDINGS[name], copy).show(moment)
            assert contents(workspace.playback) == contents(copy)
            then = take(
                read_campaign(copy),
                workspace.playback,
                now=moment,
                read_only=True,
                kept_by=shown.kept_by,
            )
        assert shown.state.runs == then.state.runs
        assert [run.elapsed_s for run in shown.runs] == [run.elapsed_s for run in then.runs]
        assert (shown.done, shown.active) == (then.done, then.active)
    first = workspace.playback
    for back in (2.0, 1.0):  # copies do not pile up
        clock.seek(clock.begin + back)
        bring(workspace)
    clock.seek(clock.begin)
    assert bring(workspace).done == 0
    assert not first.exists()
    await workspace.close()


async def test_who_goes_back_copies_nothing_again(monkeypatch: pytest.MonkeyPatch):
    copied: list[object] = []
    copyfile = shutil.copyfile

    def counted(source: Path, target: Path, **how: bool) -> object:
        copied.append(source)
        return copyfile(source, target, **how)

    monkeypatch.setattr(shutil, "copyfile", counted)
    workspace = ReplayWorkspace(RECORDED, 10.0, monotonic=Stopwatch())
    clock = workspace.replay_clock
    clock.toggle()
    assert set(copied) == {RECORDED / path for path in RECORDINGS[RECORDED.name].others} != set()
    copied.clear()
    clock.seek(clock.end)
    bring(workspace)
    log = next((workspace.playback / "logs").rglob("*.log")).relative_to(workspace.playback)
    there = (workspace.playback / log).stat().st_ino
    for share in (0.9, 0.5, 0.0):
        before = workspace.playback
        clock.seek(clock.begin + share * (clock.end - clock.begin))
        bring(workspace)
        assert before.exists(), "somebody may be reading it"
        assert not workspace.advance()
        assert not before.exists()
        assert len(list(workspace.campaigns_dir.iterdir())) == 1
        if share == 0.9:
            assert (workspace.playback / log).stat().st_ino == there, "what is whole is shared"
    assert not copied
    await workspace.close()


@pytest.mark.parametrize("back", [True, False])
@pytest.mark.parametrize("links", [True, False])
async def test_where_there_was_no_room_it_goes_on_when_there_is(
    back: bool, links: bool, monkeypatch: pytest.MonkeyPatch
):
    workspace = ReplayWorkspace(RECORDED, 10.0, monotonic=Stopwatch())
    clock = workspace.replay_clock
    clock.toggle()
    middle = clock.begin + 0.5 * (clock.end - clock.begin)
    if back:
        clock.seek(clock.end)
        bring(workspace)
    before, moment = contents(workspace.playback), workspace.moment
    with monkeypatch.context() as disk:
        disk.setattr("backends.replay.playback.Playback._bytes", of_a_full_disk)
        clock.seek(middle)
        with pytest.raises(DlperfError, match="No space"):
            bring(workspace)
    if back:
        assert contents(workspace.playback) == before
        assert workspace.moment == moment
        assert len(list(workspace.campaigns_dir.iterdir())) == 1, "what there was room for is gone"
    if not links:
        monkeypatch.setattr(os, "link", of_a_full_disk)
    bring(workspace)
    with tempfile.TemporaryDirectory() as directory:
        Playback(RECORDINGS[RECORDED.name], Path(directory) / "x").show(middle)
        assert contents(workspace.playback) == contents(Path(directory) / "x")
    await workspace.close()


async def test_what_has_not_come_yet_is_not_shared():
    workspace = ReplayWorkspace(RECORDED, 10.0, monotonic=Stopwatch())
    clock = workspace.replay_clock
    clock.toggle()
    some, most = moments(RECORDINGS[RECORDED.name], (0.3, 0.9))
    clock.seek(some)
    bring(workspace)
    clock.seek(clock.end)
    workspace.advance()  # and its logs are those of the moment before
    clock.seek(most)
    bring(workspace)
    with tempfile.TemporaryDirectory() as directory:
        Playback(RECORDINGS[RECORDED.name], Path(directory) / "x").show(most)
        assert contents(workspace.playback) == contents(Path(directory) / "x")
    await workspace.close()


def of_a_full_disk(*_: object) -> bytes:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_was_cut_short_by_a_full_disk_is_not_there_twice(recording: Recording, tmp_path: Path):
    (middle,) = moments(recording, (0.5,))
    playback, usual = Playback(recording, tmp_path / "a"), Playback(recording, tmp_path / "b")
    usual.show(middle)
    for path, data in contents(tmp_path / "b").items():
        if path in recording.tracks:
            (tmp_path / "a" / path).parent.mkdir(exist_ok=True, parents=True)
            (tmp_path / "a" / path).write_bytes(data[: len(data) // 2])
    playback.show(middle)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


async def test_the_log_waits_until_the_readings_are_shown():
    watch = Stopwatch()
    workspace = ReplayWorkspace(RECORDED, 10.0, monotonic=watch)
    for _ in range(20):
        before = contents(workspace.playback)
        watch.now += 0.5
        assert workspace.advance()
        changed = {
            path for path, data in contents(workspace.playback).items() if before.get(path) != data
        }
        assert changed <= {"events.jsonl"}
        assert workspace.cluster.now() < workspace.replay_clock(), "nor does its clock run ahead"
        workspace.reach()
        workspace.catch_up()
    assert not workspace.advance(), "nothing is read again while it stands still"
    await workspace.close()


async def test_one_goes_from_turn_to_turn():
    watch = Stopwatch()
    workspace = ReplayWorkspace(RECORDED, 10.0, monotonic=watch)
    clock, recording = workspace.replay_clock, read_recording(RECORDED)
    runs = read_campaign(RECORDED).runs.values()
    assert len(recording.turns) >= 2 * len(runs) - 1
    seen = []
    while not clock.over:
        clock.seek(workspace.turn(1))
        watch.now += 0.01
        seen.append(sum(view.state.ended for view in bring(workspace).runs))
    assert seen[-1] == len(runs)
    assert max(after - before for before, after in pairwise(seen)) <= 2
    for _ in recording.turns:  # back again, though time goes on
        before = clock()
        clock.seek(workspace.turn(-1))
        assert clock() < before - 0.05
        watch.now += 0.01
    assert clock() < recording.turns[1]
    await workspace.close()


def with_turns(
    monkeypatch: pytest.MonkeyPatch, speed: float, watch: Stopwatch
) -> tuple[ReplayWorkspace, list[float]]:
    """A replay in which a run begins or ends every ten seconds."""
    workspace = ReplayWorkspace(RECORDED, speed, monotonic=watch)
    begin, end = workspace.replay_clock.begin, workspace.replay_clock.end
    turns = [begin + after for after in range(10, int(end - begin), 10)]
    monkeypatch.setattr(workspace, "_recording", replace(workspace._recording, turns=tuple(turns)))
    return workspace, turns


@pytest.mark.parametrize("speed", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("apart_s", [0.0, 0.3, 0.9])
async def test_however_fast_it_plays_one_goes_back_turn_by_turn(
    speed: float, apart_s: float, monkeypatch: pytest.MonkeyPatch
):
    watch = Stopwatch()
    workspace, turns = with_turns(monkeypatch, speed, watch)
    clock = workspace.replay_clock
    clock.seek(clock.end)
    came = []
    while not came or came[-1] > clock.begin:
        came.append(workspace.turn(-1))
        clock.seek(came[-1])
        watch.now += apart_s
        assert len(came) <= len(turns) + 1
    assert came == [*reversed(turns), clock.begin]
    await workspace.close()


async def test_who_watched_for_a_while_goes_back_to_the_last_turn(monkeypatch: pytest.MonkeyPatch):
    watch = Stopwatch()
    workspace, turns = with_turns(monkeypatch, 10.0, watch)
    clock = workspace.replay_clock
    clock.seek(turns[1])
    watch.now += 1.6
    assert workspace.turn(-1) == turns[2]
    clock.toggle()
    assert workspace.turn(-1) == turns[2], "where it stands still, too"
    await workspace.close()


async def test_a_log_comes_before_its_first_reading():
    """What a run says while it makes ready is not held back until then."""
    run = next(iter(read_campaign(RECORDED).runs.values()))
    track = read_recording(RECORDED).tracks[run.log]
    first = run.series.times[0]
    assert run.started_at is not None
    sizes = {track.size_at(run.started_at + part * (first - run.started_at)) for part in (0.5, 0.9)}
    assert 0 not in sizes
    assert len(sizes) == 2


def test_the_logs_of_other_hosts_grow_as_that_of_rank_0(tmp_path: Path):
    """A copy of the campaign in which every run had two hosts."""
    source = tmp_path / "recorded"
    shutil.copytree(RECORDED, source)
    journal = source / "events.jsonl"
    (host,) = (host.name for host in recorded_hosts(RECORDED, 0.0))
    text = journal.read_text()
    journal.write_text(text.replace(f'"hosts":["{host}"]', f'"hosts":["{host}","other"]'))
    runs = read_campaign(source).runs.values()
    for run in runs:
        (source / host_log_path(run.log, "other")).write_bytes((source / run.log).read_bytes() * 3)
    recording = read_recording(source)
    for run in runs:
        assert run.hosts == (host, "other")
        rank_0 = recording.tracks[run.log]
        other = recording.tracks[str(host_log_path(run.log, "other"))]
        for t, size in rank_0.points:
            assert other.size_at(t) == pytest.approx(3 * rank_0.size_at(t), abs=3), size


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


def with_log(source: Path, name: str) -> Path:
    """A copy of the campaign whose journal calls the first run's log so."""
    shutil.copytree(RECORDED, source)
    log = next(iter(read_campaign(source).runs.values())).log
    journal = source / "events.jsonl"
    text = journal.read_text().replace(json.dumps(log), json.dumps(name))
    journal.write_text(text)
    return source


def test_a_directory_that_leads_out_of_the_campaign_is_not_followed(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "id_rsa").write_text("not of the campaign")
    source = with_log(tmp_path / "recorded", "elsewhere/id_rsa")
    (source / "elsewhere").symlink_to(outside)
    shutil.rmtree(source / "telemetry")
    (source / "telemetry").symlink_to(outside)
    recording = read_recording(source)
    Playback(recording, tmp_path / "copy").show(recording.end)
    copied = [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert copied
    assert not any(b"not of the campaign" in path.read_bytes() for path in copied)


@pytest.mark.parametrize(
    "name", ["logs/./x.log", "events.jsonl", "./events.jsonl", "a\ud800.log", "logs", "x" * 5000]
)
def test_whatever_a_journal_calls_a_log_the_copy_is_a_campaign(tmp_path: Path, name: str):
    recording = read_recording(with_log(tmp_path / "recorded", name))
    playback = Playback(recording, tmp_path / "copy")
    playback.show(recording.end)
    assert (tmp_path / "copy" / "events.jsonl").read_bytes() == recording.lines


@pytest.mark.parametrize("time", ["inf", "nan", "-inf", "1e300", "0", "99999999999", "x"])
def test_no_line_of_telemetry_says_how_long_it_lasts(tmp_path: Path, time: str):
    source = tmp_path / "recorded"
    shutil.copytree(RECORDED, source)
    for path in (source / "telemetry").iterdir():
        path.write_bytes(path.read_bytes() + f"host, {time}, 1, 1, 1, 1, 0\nmore\n".encode())
    recording, usual = read_recording(source), read_recording(RECORDED)
    assert recording.end == usual.end
    playback = Playback(recording, tmp_path / "copy")
    for now in moments(recording, (0.1, 0.5, 1.0)):
        playback.show(now)
    for path in (source / "telemetry").iterdir():
        assert (tmp_path / "copy/telemetry" / path.name).read_bytes() == path.read_bytes()


async def test_it_is_called_what_the_campaign_is_wherever_it_is_named_from(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(RECORDED)
    for named in (Path(), Path("../h200-x2-resnet50-compile/.")):
        workspace = ReplayWorkspace(named, 10.0)
        assert workspace.playback.name == RECORDED.name
        await workspace.close()


async def test_what_is_closed_is_written_no_more(tmp_path: Path):
    workspace = ReplayWorkspace(RECORDED, 10.0)
    await workspace.close()
    workspace.replay_clock.seek(workspace.replay_clock.end)
    assert not workspace.advance()
    workspace.catch_up()
    assert not workspace.campaigns_dir.exists()


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


def test_a_stray_file_counts(tmp_path: Path):
    source = tmp_path / "recorded"
    shutil.copytree(RECORDED, source)
    with (source / "stray.bin").open("wb") as file:
        file.truncate(1 << 40)  # takes no room here, and all there is in a copy
    with pytest.raises(DlperfError, match="MiB"):
        read_recording(source)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes of logs were looked at, piece by piece."""
    pieces: list[int] = []
    feed = LogParser.feed

    def counted(parser: LogParser, data: bytes) -> object:
        pieces.append(len(data))
        return feed(parser, data)

    monkeypatch.setattr(LogParser, "feed", counted)
    return pieces


def with_one_log(source: Path, size: int, line: bytes = b"") -> Path:
    """A copy of the campaign whose runs all name one log without a reading, whose first reading
    is said to be at its end."""
    shutil.copytree(RECORDED, source)
    journal, named = source / "events.jsonl", []
    for event in map(json.loads, journal.read_text().splitlines()):
        named.append(event | {key: "one.log" for key in ("log",) if key in event})
        if "offset" in event:
            named[-1]["offset"] = size
    journal.write_text("".join(json.dumps(event) + "\n" for event in named))
    assert {run.log for run in read_campaign(source).runs.values()} == {"one.log"}
    with (source / "one.log").open("wb") as file:
        file.write(line * (size // len(line)) if line else b"")
        file.truncate(size)
    return source


@pytest.mark.parametrize("line", [b"", b"\n", b"x" * 200 + b"\n"], ids=["none", "short", "long"])
def test_only_so_much_is_looked_at_for_where_the_first_reading_is(
    tmp_path: Path, line: bytes, looked_at: list[int], monkeypatch: pytest.MonkeyPatch
):
    """However large a log, however many runs have it, however short its lines."""
    monkeypatch.setattr("backends.replay.recording._MOST_LOOKED_AT", 400_000)
    monkeypatch.setattr("backends.replay.recording._MOST_OF_A_LOG", 150_000)
    source = with_one_log(tmp_path / "recorded", 2_000_000, line)
    assert len(read_campaign(source).runs) > 4
    recording = read_recording(source)
    assert 100_000 < sum(max(piece, 64) for piece in looked_at) < 600_000
    assert recording.tracks["one.log"].size_at(recording.end) == 2_000_000


def test_what_is_too_large_is_refused_unread(tmp_path: Path, looked_at: list[int]):
    source = with_one_log(tmp_path / "recorded", 100 << 30)  # takes no room here
    with pytest.raises(DlperfError, match="MiB"):
        read_recording(source)
    assert not looked_at


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


async def test_a_host_that_was_degraded_when_it_was_recorded_is_so_in_a_replay_as_it_was_live(
    tmp_path: Path,
):
    """Before its campaign's run is on it, meanwhile and afterwards; and not another host."""
    for errors, fit in ((3, False), (0, True)):
        source = tmp_path / f"recorded-{errors}"
        shutil.copytree(RECORDED, source)
        environment = json.loads((source / "environment.json").read_text())
        environment["hosts"][0]["gpus"][0]["ecc_uncorrected"] = errors
        (source / "environment.json").write_text(json.dumps(environment))
        workspace = ReplayWorkspace(source, 10.0)
        clock = workspace.replay_clock
        seen = set()
        for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
            clock.seek(clock.begin + share * (clock.end - clock.begin))
            live = bring(workspace)
            (host,) = OwnLeases().of(workspace.cluster.snapshots(), [live])
            seen.add(host_state(host).plain)
            assert ("degraded" in summary([host])) is not fit
            assert "its facts as of the campaign's begin" in host_text(host).plain
        assert seen == ({"○ recorded", "◐ in use"} if fit else {"▲ degraded"})
        await workspace.close()


async def test_what_preflight_found_of_a_host_is_its_concern_in_a_replay(tmp_path: Path):
    source = tmp_path / "recorded"
    shutil.copytree(RECORDED, source)
    (host,) = (host.name for host in recorded_hosts(RECORDED, 0.0))
    said = f'"warned":["{host}: GPU1 is hot: 88 °C","of all hosts","other: in use"]'
    journal = source / "events.jsonl"
    first, rest = journal.read_text().split("\n", 1)
    assert '"warned":[]' in first
    stopped = f'"overridden":["{host}: someone uses it"]'
    first = first.replace('"warned":[]', said).replace('"overridden":[]', stopped)
    journal.write_text(f"{first}\n{rest}")
    workspace = ReplayWorkspace(source, 10.0)
    (shown,) = workspace.cluster.snapshots()
    found = [concern.what for concern in shown.concerns]
    assert found == ["someone uses it", "GPU1 is hot: 88 °C"]
    assert "GPU1 is hot: 88 °C" in host_text(shown).plain
    await workspace.close()


odd = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.integers() | st.just(10**4000),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "gpus", "x", "since"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = [
    *("gpus", "topology", "lease", "memory_mib", "cpus", "clock_offset_s", "users", "reason"),
    "name",
]
INNER = ["links", "labels", "cpu_affinity", "numa_affinity", "nic_names"]


@settings(max_examples=150, deadline=None)
@given(st.binary() | st.dictionaries(st.sampled_from(KEYS + INNER), odd, max_size=3))
def test_any_bytes_that_are_recorded_of_hosts_are_some_or_none_and_can_be_shown(
    tmp_path_factory: pytest.TempPathFactory, told: bytes | dict[str, object]
):
    content = told if isinstance(told, bytes) else changed_host(told)
    source = tmp_path_factory.mktemp("source")
    (source / "environment.json").write_bytes(content)
    for host in recorded_hosts(source, 0.0):
        assert isinstance(host.name, str)
        host_text(host, width=100, now=2e9)


def changed_host(told: dict[str, object]) -> bytes:
    """environment.json of the example, and of its host all of this is otherwise."""
    document = json.loads((RECORDED / "environment.json").read_text())
    (host,) = document["hosts"]
    host |= {key: value for key, value in told.items() if key in KEYS}
    if isinstance(host["topology"], dict):
        host["topology"] |= {key: value for key, value in told.items() if key in INNER}
    sys.set_int_max_str_digits(0)
    return json.dumps(document).encode()


def test_a_pipe_in_place_of_what_is_recorded_of_hosts_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "environment.json")
    assert recorded_hosts(tmp_path, 0.0) == ()


# The time ------------------------------------------------------------------------------------

of_time = st.lists(
    st.tuples(st.sampled_from(["toggle", "faster", "slower", "wait"]), st.floats(0, 50))
)


@given(st.sampled_from(SPEEDS), of_time, st.floats(0, 9000))
def test_its_time_never_goes_back_and_never_jumps(
    speed: float, done: list[tuple[str, float]], sought: float
):
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
    plays = clock.plays
    clock.seek(sought)
    assert clock() == min(max(sought, 1000.0), 5000.0)
    assert clock.plays is plays, "what stands still does so there"


@pytest.mark.parametrize("speed", [1.0, 3.0, 100.0])
def test_every_speed_leads_to_the_others(speed: float):
    clock = ReplayClock(0.0, 1.0, speed, Stopwatch())
    for _ in SPEEDS:
        clock.faster(1)
    assert clock.speed == SPEEDS[-1]
    for _ in SPEEDS:
        clock.faster(-1)
    assert clock.speed == SPEEDS[0]


@given(st.floats(0.0, 1e6))
def test_a_short_campaign_is_replayed_no_faster_than_it_can_be_followed(recorded_s: float) -> None:
    speed = speed_for(recorded_s)
    assert speed in SPEEDS
    assert speed <= 10.0
    assert speed == 1.0 or recorded_s / speed >= 30.0
    assert speed == 10.0 or recorded_s < 300.0
