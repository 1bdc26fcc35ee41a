"""A copy of a campaign's directory knows that it is one; a campaign that is moved stays itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backends.campaign.folder import adopt
from backends.campaign.folder.directory_identity import ElsewhereError, elsewhere_words
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.state import RunState
from backends.inventory.host_entry import Host
from profiles.errors import DlperfError
from tests.support.campaigns import Bench, finish, kill_hard
from tests.support.program import run_program
from tests.support.waiting import until


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in another file system."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield Path(directory)


def dlperf(
    bench: Bench, *words: object, code: int = 0, campaigns: Path | None = None
) -> subprocess.CompletedProcess[str]:
    given = bench.words(*map(str, words))
    if campaigns is not None:
        given[given.index("--campaigns") + 1] = str(campaigns)
    done = run_program(given, timeout=90)
    assert done.returncode == code, f"{done.returncode}: {done.stdout}\n{done.stderr}"
    return done


async def killed(bench: Bench, lines: int = 60) -> Path:
    """A campaign of two runs whose console was killed; the first run is alive."""
    words = [*bench.steady_words("1n1g", lines=lines), "--repeats", "2"]
    console = bench.spawn("run", *words)

    def reading() -> bool:
        assert console.poll() is None, console.communicate()
        try:
            return next(iter(read_campaign(bench.campaign).runs.values())).reading_count >= 2
        except (ValueError, FileNotFoundError, DlperfError):
            return False

    await until(reading)
    kill_hard(console)
    return bench.campaign


async def test_a_copy_reports_and_runs_nothing(bench: Bench, tmp_path: Path) -> None:
    path = await killed(bench)
    for options in ("-r", "-a", "-al"):
        other = tmp_path / f"cp {options}" / "copy"
        other.parent.mkdir()
        subprocess.run(["cp", options, path, other], check=True)
        with pytest.raises(ElsewhereError, match="this is a copy of"):
            await bench.workspace().resume(other)
    # The last of them has the very same files.
    before = (other / "events.jsonl").read_bytes()
    for command in ("resume", "cancel"):
        [line] = dlperf(bench, command, other, code=2).stderr.splitlines()
        assert f"this is a copy of {os.uname().nodename}:{path}, which may be alive" in line
        assert "resume --adopt" in line
    assert "note: this is a copy of" in dlperf(bench, "status", other).stderr
    assert "this is a copy of" in dlperf(bench, "report", other).stderr
    [listed] = json.loads(dlperf(bench, "status", "--json", campaigns=other.parent).stdout)
    assert (listed["state"], listed["path"]) == ("copy", str(other))
    swept = dlperf(bench, "sweep", "--yes", campaigns=other.parent)
    assert "for a campaign of which only a copy is here" in swept.stdout
    swept = dlperf(bench, "sweep", "--yes", "--running", code=1, campaigns=other.parent)
    assert "0 of 1 ended and removed" in swept.stdout
    assert (other / "events.jsonl").read_bytes() == before
    document = json.loads(dlperf(bench, "resume", path.name, "--json").stdout)
    assert [run["throughput"] for run in document["runs"]] == [130.5, 130.5]
    bench.nothing_is_left()


@pytest.mark.faults
async def test_a_copy_that_is_adopted_goes_on_and_the_original_does_not(
    bench: Bench, tmp_path: Path
) -> None:
    path = await killed(bench)
    other = tmp_path / "copy"
    shutil.copytree(path, other)
    document = json.loads(dlperf(bench, "resume", other, "--adopt", "--json").stdout)
    assert [run["throughput"] for run in document["runs"]] == [130.5, 130.5]
    assert bench.logs_are_exact(read_campaign(other), other) == 2
    for command in ("resume", "cancel"):
        [line] = dlperf(bench, command, path.name, code=2).stderr.splitlines()
        assert f"this campaign goes on in {os.uname().nodename}:{other}" in line
    dlperf(bench, "resume", other)
    adopted, nobody = (text for _, _, text in read_campaign(other).notes)
    assert adopted == f"this copy was adopted, {path} is told"
    assert nobody.startswith("Nobody watched it for ")  # after its console was killed
    # … and back again: a third copy finds out where the campaign has gone on meanwhile.
    third = tmp_path / "third"
    shutil.copytree(path, third)
    dlperf(bench, "resume", third, "--adopt", code=1)  # what it knows is old: its runs are gone
    assert f"goes on in {os.uname().nodename}:{third}" in elsewhere_words(read_campaign(other))
    dlperf(bench, "resume", path.name, "--adopt", code=1)
    at_home = [p for p in (path, other, third) if not elsewhere_words(read_campaign(p))]
    assert at_home == [path]
    bench.nothing_is_left()


async def test_a_copy_is_not_adopted_while_somebody_works_on_the_original(
    bench: Bench, tmp_path: Path
) -> None:
    controller = await bench.start(lines=400)
    await until(lambda: next(iter(controller.state.runs.values())).reading_count)
    other = tmp_path / "copy"
    shutil.copytree(controller.path, other)
    (other / "writer.lock").unlink()
    [line] = dlperf(bench, "resume", other, "--adopt", code=2).stderr.splitlines()
    assert line.startswith(f"dlperf-tui: {controller.path}: ")
    assert "writes the campaign" in line
    assert elsewhere_words(read_campaign(other)).startswith("this is a copy")
    assert not (other / "writer.lock").exists()
    controller.cancel_all()
    await finish(controller)


async def test_a_campaign_that_is_moved_or_seen_under_another_path_goes_on(
    bench: Bench, tmp_path: Path
) -> None:
    path = await killed(bench)
    link = tmp_path / "home-as-another-login-node-mounts-it"
    link.symlink_to(bench.campaigns)
    assert not elsewhere_words(read_campaign(link / path.name))
    moved = path.rename(tmp_path / "moved")
    document = json.loads(dlperf(bench, "resume", moved, "--json").stdout)
    assert [run["throughput"] for run in document["runs"]] == [130.5, 130.5]
    assert read_campaign(moved).place.path == str(moved)
    bench.nothing_is_left()


@pytest.mark.parametrize("far", [False, True], ids=["same file system", "another file system"])
async def test_campaigns_mv_keeps_the_campaign(bench: Bench, memory: Path, far: bool) -> None:
    path = await killed(bench)
    target = str(memory / "far") if far else "near"
    now = memory / "far" if far else bench.campaigns / "near"
    assert str(now) in dlperf(bench, "campaigns", "mv", path.name, target).stderr
    assert not path.exists()
    assert [p for p in now.parent.iterdir() if p.name != now.name] == []
    document = json.loads(dlperf(bench, "resume", now, "--json").stdout)
    assert [run["throughput"] for run in document["runs"]] == [130.5, 130.5]
    assert bench.logs_are_exact(read_campaign(now), now) == 2
    line = dlperf(bench, "campaigns", "mv", now, now, code=2).stderr
    assert "there is something already" in line
    bench.nothing_is_left()


def adopted(path: Path) -> None:
    """What `resume --adopt` does on disk before it goes on: there are many steps."""
    with adopt._locked(path, time.time):
        adopt.be_here(path, read_campaign(path), time.time)


async def test_a_move_that_is_ended_at_any_step_leaves_one_campaign_at_most(
    bench: Bench, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kill would: no step after it, no tidying up."""
    controller = await bench.start(lines=2, every=0)
    await finish(controller)
    steps = 0

    def stepping(real: Callable[..., Any], stop: int) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > stop:
                raise KeyboardInterrupt
            return real(*args, **more)

        return call

    for stop in range(60):
        steps = 0
        old, new = bench.campaigns / f"old{stop}", memory / f"new{stop}"
        shutil.copytree(controller.path, old)
        adopted(old)
        with monkeypatch.context() as patch:
            for where, name in [
                (adopt, "write_now"),
                (adopt, "_sync_tree"),
                (Path, "rename"),
                (shutil, "copytree"),
                (shutil, "rmtree"),
            ]:
                patch.setattr(where, name, stepping(getattr(where, name), stop))
            try:
                adopt.move(old, new, lambda: 1.0)
                done = True
            except KeyboardInterrupt:
                done = False
        there = [p for p in (old, new) if p.exists()]
        homes = [p for p in there if not elsewhere_words(read_campaign(p))]
        assert len(homes) <= 1, stop
        if done:
            assert (there, homes) == ([new], [new])
            left = [*bench.campaigns.iterdir(), *memory.iterdir()]
            assert [p for p in left if p.name.startswith((f".{old.name}.", f".{new.name}."))] == []
            break
        if not homes:
            adopted(there[-1])
            assert not elsewhere_words(read_campaign(there[-1]))
        shutil.rmtree(old, ignore_errors=True)
        shutil.rmtree(new, ignore_errors=True)
    assert done


async def test_a_finished_copy_is_reported_without_a_word(bench: Bench, tmp_path: Path) -> None:
    controller = await bench.start(lines=3, every=0)
    state = await finish(controller)
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    other = tmp_path / "archive" / "copy"
    shutil.copytree(controller.path, other)
    said = dlperf(bench, "report", other).stderr.splitlines()
    assert all(line.startswith("note: 1n1g") for line in said), said  # of the result
    [listed] = json.loads(dlperf(bench, "campaigns", "ls", "--json", campaigns=other.parent).stdout)
    assert listed["state"] == "finished"
    assert listed["size_bytes"] == adopt.size_of(other) > 1000
    assert "| finished | 1/1 |" in dlperf(bench, "campaigns", "ls", campaigns=other.parent).stdout
    [line] = dlperf(bench, "resume", other, code=2).stderr.splitlines()
    assert "this is a copy" in line
