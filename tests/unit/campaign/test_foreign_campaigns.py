"""Campaigns that came from somebody else: nothing outside of them is read, followed or written."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.campaign.folder.index import list_campaigns
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.refuse_foreign_files import ForeignFileError, refuse_ways_out
from backends.campaign.record import events as ev
from backends.campaign.record.codec import encode
from backends.campaign.record.lock import CampaignLock, CampaignLockedError
from backends.campaign.record.status_view import take
from tui.widgets.log_tail import LogTail

OUTSIDE = ("../../secret", "logs/../../secret", "/etc/passwd", "//etc/passwd", "a/../..", "a\0b")


def planned(run_id: str) -> ev.RunPlanned:
    return ev.RunPlanned(
        t=1.0,
        run_id=run_id,
        profile="p",
        framework="F",
        model="M",
        unit="u",
        nodes=1,
        gpus_per_node=1,
        parameters={},
        repeat=1,
    )


def campaign(path: Path, *events: ev.Event) -> Path:
    path.mkdir()
    begun = ev.CampaignCreated(t=1.0, campaign=path.name)
    lines = b"".join(map(encode, (begun, *events)))
    (path / "events.jsonl").write_bytes(lines)
    return path


@pytest.mark.parametrize("log", OUTSIDE)
def test_a_log_outside_of_the_campaign_is_a_damaged_line(tmp_path: Path, log: str) -> None:
    path = campaign(
        tmp_path / "theirs",
        *map(planned, ("a", "b", "c")),
        ev.RunAssigned(t=2.0, run_id="a", hosts=("n",), commands=("x",), port=1, log=log),
        ev.RunFailed(t=2.0, run_id="b", reason="r", log=log),
        ev.RunSucceeded(
            t=2.0,
            run_id="c",
            throughput=1.0,
            readings=1,
            used=1,
            window="all",
            statistic="mean",
            log=log,
        ),
    )
    state = read_campaign(path)
    assert "3" in state.damage
    assert [run.log for run in state.runs.values()] == ["", "", ""]
    shown = take(state, path, now=3.0, waiting={}, revision=1)
    assert [run.log for run in shown.runs] == [None, None, None]


@pytest.mark.parametrize("name", ["logs", "telemetry", "logs/deep", "results.json"])
def test_a_link_out_of_the_campaign_is_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    path = campaign(tmp_path / "theirs", planned("a"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).symlink_to(outside)
    with pytest.raises(ForeignFileError, match=f"{name} is a link out of the campaign"):
        refuse_ways_out(path)


@pytest.mark.parametrize("name", ["spool", "spool/requests", "spool/taken", "spool/answers"])
def test_a_link_in_place_of_a_part_of_the_spool_is_one_out_of_the_campaign(
    tmp_path: Path, name: str
) -> None:
    path = campaign(tmp_path / "own", planned("a"))
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).symlink_to(tmp_path)
    with pytest.raises(ForeignFileError, match=f"{name} is a link out of the campaign"):
        refuse_ways_out(path)


def test_a_link_within_the_campaign_is_fine(tmp_path: Path) -> None:
    path = campaign(tmp_path / "own", planned("a"))
    (path / "logs").mkdir()
    (path / "latest").symlink_to("logs")
    refuse_ways_out(path)
    (tmp_path / "alias").symlink_to(path)
    refuse_ways_out(tmp_path / "alias")


@pytest.mark.parametrize(
    "name", ["events.jsonl", "writer.lock", "environment.json", "frozen/manifest.json"]
)
def test_a_pipe_in_a_campaign_is_told_and_not_waited_for(tmp_path: Path, name: str) -> None:
    path = campaign(tmp_path / "theirs", planned("a"))
    campaign(tmp_path / "own", planned("a"))
    (path / name).unlink(missing_ok=True)
    (path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(path / name)
    with pytest.raises(ForeignFileError, match="neither a file nor a directory"):
        read_campaign(path)
    found = {summary.name: summary.problem for summary in list_campaigns(tmp_path, lambda: 1.0)}
    assert found["own"] == ""
    assert found["theirs"] == f"{name} is neither a file nor a directory"


def holder(**changes: object) -> bytes:
    told = {"user": "eve", "host": os.uname().nodename, "pid": 1, "start_ticks": 1, "nonce": "x"}
    return json.dumps(told | changes).encode()


def a_long_one(path: Path) -> None:
    with path.open("wb") as file:
        file.write(holder())
        file.truncate(1 << 40)


LOCKS: dict[str, bytes | Callable[[Path], object]] = {
    "no text": b"\xff",
    "deep": b"[" * 4000,
    "no object": b"[1, 2]",
    "a pid that is a path": holder(pid="1/../../{there}"),
    "a pid that is too large": holder(pid=10**3000),
    "a pid that is no whole number": holder(pid=1.5),
    "a pid that is true": holder(pid=True),
    "no ticks": holder(start_ticks=None),
    "a user that is a list": holder(user=["a"]),
    "a user that is no text": holder(user="\ud800"),
    "a role that is a number": holder(role=3),
    "a time that is none": holder(since=float("nan")),
    "a time without end": holder(since=float("inf")),
    "a time of no calendar": holder(since=1e300),
    "a time that is a word": holder(since="now"),
    "a directory": Path.mkdir,
    "a long one": a_long_one,
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to what has no end": lambda path: path.symlink_to("/proc/kmsg"),
}


@pytest.mark.parametrize("lies", LOCKS)
@pytest.mark.timeout(20)
def test_whatever_lies_in_place_of_the_lock_the_campaigns_are_listed(
    tmp_path: Path, lies: str
) -> None:
    path = campaign(tmp_path / "theirs", planned("a"))
    campaign(tmp_path / "own", planned("a"))
    os.mkfifo(tmp_path / "stat")
    lock = LOCKS[lies]
    if isinstance(lock, bytes):
        there = os.path.relpath(tmp_path, "/")
        (path / "writer.lock").write_bytes(lock.replace(b"{there}", there.encode()))
    else:
        lock(path / "writer.lock")
    found = {summary.name: summary for summary in list_campaigns(tmp_path, time.time)}
    assert found["own"].state == "unfinished"
    told = found["theirs"]
    mine = lies == "a pid that is too large"  # of this machine, where no such process is
    assert told.state == ("unfinished" if mine else "live") or told.problem
    held = CampaignLock(path).holder()
    assert held is not None
    assert (held[0] is not None) == mine


@pytest.mark.parametrize("lies", LOCKS)
@pytest.mark.timeout(20)
def test_whatever_lies_in_place_of_the_lock_is_somebodys_until_it_is_taken_over(
    tmp_path: Path, lies: str
) -> None:
    path = campaign(tmp_path / "theirs", planned("a"))
    lock = LOCKS[lies]
    if isinstance(lock, bytes):
        (path / "writer.lock").write_bytes(lock)
    else:
        lock(path / "writer.lock")
    now = time.time()
    if lies != "a pid that is too large":
        with pytest.raises(CampaignLockedError):
            CampaignLock(path, lambda: now).acquire(take_over=True)
    mine = CampaignLock(path, lambda: now + 60)
    mine.acquire(take_over=True)
    assert mine.owned()


def test_a_log_that_is_a_pipe_or_a_device_shows_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert LogTail(tmp_path / "pipe").read() == []
    assert LogTail(tmp_path / "zero").read() == []
