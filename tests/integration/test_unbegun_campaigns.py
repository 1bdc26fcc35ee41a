"""Killed before the journal, or while files are written: told as it is, and tidied up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from backends.results.result_files import write_atomically
from tests.support.campaigns import ROOT, Bench

KILLING = """
import os, sys
import backends.campaign.folder.create as create
name, after = {name!r}, {after!r}
real = getattr(create, name)
def last(*args, **more):
    result = real(*args, **more) if after else None
    os.kill(os.getpid(), 9)
setattr(create, name, last)
from tui.cli import main
sys.exit(main())
"""
STEPS = [
    ("write_request", False),
    ("write_request", True),
    ("freeze", True),
    ("Journal", True),
]


@pytest.fixture
def bench(tmp_path: Path, local_host: Host) -> Bench:
    return Bench(tmp_path, [local_host])


def dlperf(bench: Bench, *words: str, code: int) -> subprocess.CompletedProcess[str]:
    process = bench.spawn(*words)
    out, err = process.communicate(timeout=90)
    assert process.returncode == code, f"{process.returncode}: {out}\n{err}"
    return subprocess.CompletedProcess(words, process.returncode, out, err)


@pytest.mark.parametrize(("name", "after"), STEPS)
def test_a_campaign_that_was_killed_before_its_journal_says_that_nothing_was_started(
    bench: Bench, name: str, after: bool
) -> None:
    words = bench.command("run", *bench.steady_words("1n1g", lines=3))
    code = KILLING.format(name=name, after=after)
    done = subprocess.run(
        [sys.executable, "-c", code, *words[3:]], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    [path] = bench.campaigns.iterdir()
    for command in ("status", "resume", "cancel", "report"):
        for given in (path.name, str(path)):
            [line] = dlperf(bench, command, given, code=2).stderr.splitlines()
            assert "nothing was started: it was ended before its journal began" in line
            assert ("run --from" in line) == (path / "campaign.toml").exists()
    [listed] = json.loads(dlperf(bench, "status", "--json", code=0).stdout)
    assert (listed["state"], listed["total"]) == ("not started", 0)
    if (path / "campaign.toml").exists():
        dlperf(bench, "run", "--from", str(path / "campaign.toml"), code=0)
    bench.nothing_is_left()


def test_an_empty_journal_says_the_same(bench: Bench) -> None:
    path = bench.campaigns / "torn"
    path.mkdir(parents=True)
    for data in (b"", b'{"kind":"CampaignCr'):
        (path / "events.jsonl").write_bytes(data)
        [line] = dlperf(bench, "resume", "torn", code=2).stderr.splitlines()
        assert "nothing was started" in line
        assert (path / "events.jsonl").read_bytes() == data


def test_what_is_no_campaign_is_not_called_one(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    [line] = dlperf(bench, "status", str(tmp_path / "other"), code=2).stderr.splitlines()
    assert "this is not a campaign" in line


def test_files_that_a_kill_left_half_written_are_removed_by_the_next_writing(
    bench: Bench,
) -> None:
    dlperf(bench, "run", *bench.steady_words("1n1g", lines=3, every=0), code=0)
    path = bench.campaign
    dying = (
        "import os, backends.results.result_files as f;"
        "os.fsync = lambda fd: os.kill(os.getpid(), 9);"
        "f.write_atomically(f.Path('{path}'), 'half')"
    )
    for name in ("results.json", "report.md", "environment.json"):
        code = dying.format(path=path / name)
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    draft = path / ".writer.lock.0badcafe"
    draft.write_text("")
    os.utime(draft, (time.time() - 60, time.time() - 60))
    left = sorted(p.name for p in path.iterdir() if p.name.startswith("."))
    assert len(left) == 4, left
    dlperf(bench, "resume", path.name, code=0)
    assert [p.name for p in path.iterdir() if p.name.startswith(".")] == []


def test_what_another_process_is_writing_is_let_be(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    host = os.uname().nodename
    other = tmp_path / f".report.md.{host}.{os.getppid()}.tmp"
    elsewhere = tmp_path / ".report.md.some.other.host.4711.tmp"
    old = tmp_path / ".report.md.some.other.host.4712.tmp"
    for name in (other, elsewhere, old):
        name.write_text("x")
    os.utime(old, (1.0, 1.0))
    write_atomically(path, "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [other.name, elsewhere.name, "report.md"]
    )
