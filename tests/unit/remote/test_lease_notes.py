"""The notes that tell who has a host, of announcers that were killed or stopped half-way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from backends.remote.installation import part
from tests.support.waiting import wait_until

# mktemp has made the note, and nothing is written to it yet.
SIGNALLED = 'mktemp() { command mktemp "$@"; kill -%s $$; }\n'
ANNOUNCING = 'run_id=%s\nfind_lease "$1"\ninspect $$\nannounce "$$:$ticks" us || exit\n'


@pytest.fixture(params=["dash", "bash", "busybox"])
def shell(request: pytest.FixtureRequest) -> list[str]:
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    return [program, "sh"] if request.param == "busybox" else [program]


def started(shell: list[str], more: str, *arguments: str) -> subprocess.Popen[str]:
    script = (part("trust.sh") + part("lease.sh")).decode() + more
    command = [*shell, "-c", script, "sh", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def notes_in(leases: Path) -> list[Path]:
    return sorted(leases.glob("*.note.*"))


def announced(shell: list[str], leases: Path) -> str:
    """What is left when one has announced after the others and still lives."""
    told = ANNOUNCING % "later" + 'for each in "$notes".note.*; do cat "$each"; echo .; done'
    return started(shell, told, str(leases)).communicate(timeout=20)[0]


def test_the_empty_note_of_a_killed_announcer_is_removed_by_the_next(
    shell: list[str], tmp_path: Path
) -> None:
    killed = started(shell, SIGNALLED % "KILL" + ANNOUNCING % "killed", str(tmp_path))
    assert killed.wait(20) == -signal.SIGKILL
    [empty] = notes_in(tmp_path)
    assert empty.read_bytes() == b""
    left = announced(shell, tmp_path)
    assert left.count(".\n") == 1, "its own"
    assert " later " in left
    assert not empty.exists()


def test_an_announcer_that_was_stopped_keeps_its_note_and_goes_on(
    shell: list[str], tmp_path: Path
) -> None:
    stopped = started(shell, SIGNALLED % "STOP" + ANNOUNCING % "stopped", str(tmp_path))
    stat = Path(f"/proc/{stopped.pid}/stat")
    try:
        wait_until(
            lambda: stat.read_text().rpartition(")")[2].split()[0] == "T" and notes_in(tmp_path),
            what="the note of one who is stopped",
        )
        [mine] = notes_in(tmp_path)
        number = mine.stat().st_ino
        os.utime(mine, (0, 0))  # for as long as you like
        assert announced(shell, tmp_path).count(".\n") == 2
        assert mine.stat().st_ino == number
    finally:
        stopped.send_signal(signal.SIGCONT)
        stopped.wait(20)
    assert " stopped " in mine.read_text()
    assert mine.stat().st_ino == number


def test_what_is_empty_and_no_note_of_ours_stays(shell: list[str], tmp_path: Path) -> None:
    """A symlink, or what has no process in its name."""
    notes = started(shell, 'find_lease "$1"; echo "$notes"', str(tmp_path)).communicate()[0].strip()
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / "target").touch()
    link = Path(f"{notes}.note.{dead.pid}.abcdefghij")
    link.symlink_to(tmp_path / "target")
    strange = [Path(f"{notes}.note.{name}") for name in ("0123456789", ".x", "1 2.x", "x")]
    for one in (*strange, gone := Path(f"{notes}.note.{dead.pid}.ABCDEFGHIJ")):
        one.touch()
    announced(shell, tmp_path)
    assert not gone.exists()
    assert link.is_symlink()
    assert (tmp_path / "target").exists()
    assert all(one.exists() for one in strange)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_empty_notes_cost_who_looks_no_process(shell: list[str], tmp_path: Path) -> None:
    notes = started(shell, 'find_lease "$1"; echo "$notes"', str(tmp_path)).communicate()[0].strip()
    for number in range(5):
        Path(f"{notes}.note.{number + 1}.abcdefghij").touch()
    trace = tmp_path / "trace"
    run = ["strace", "-f", "-qq", "-e", "trace=execve", "-o", str(trace), *shell]
    looked = started(run, 'look_at_lease "$1" ""', str(tmp_path)).communicate(timeout=60)[0]
    assert looked == "@lease free\n"
    assert "/head" not in trace.read_text()
