"""The program that tests fork off one that has imported everything is the program."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import COMMAND, ROOT, Program, run_program

PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
Start = Callable[..., subprocess.Popen[str]]


def cold(words: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([*COMMAND, *words], text=True, **options)


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["profiles", "show", "cpu-smoke"],
        ["status", "--campaigns", "none/such"],
        ["run", "--profile", "cpu-smok"],
        ["--nonsense"],
    ],
)
def test_it_says_what_the_program_says(words: Sequence[str], tmp_path: Path) -> None:
    theirs = cold(words, cwd=tmp_path, **PIPES)
    said = theirs.communicate(timeout=60)
    done = run_program(words, cwd=tmp_path, timeout=60)
    assert (done.returncode, (done.stdout, done.stderr)) == (theirs.returncode, said)
    assert any(said)


@pytest.mark.parametrize("start", [cold, Program])
def test_it_ends_as_the_program_ends(start: Start, tmp_path: Path) -> None:
    begin = partial(start, ["logs", "c", "-f", "--campaigns", str(tmp_path)], cwd=ROOT, **PIPES)
    (tmp_path / "c").mkdir()
    created = '{"kind":"CampaignCreated","t":1.0,"campaign":"c","schema":1}\n'
    (tmp_path / "c" / "events.jsonl").write_text(created)
    for number, status in ((signal.SIGKILL, -9), (signal.SIGTERM, -15), (signal.SIGINT, 3)):
        process = begin()
        assert process.stderr is not None
        assert "nobody is at work on it" in process.stderr.readline()
        assert "waiting for a run" in process.stderr.readline()
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        os.kill(process.pid, number)
        _, said = process.communicate(timeout=30)
        assert (process.wait(1), "Traceback" in said) == (status, False)
