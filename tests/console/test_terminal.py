"""Where the console draws, and what it says where it cannot."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

DEADLINE_S = 60.0


def run(directory: Path, *, files: dict[int, Path], term: str, until: bytes) -> tuple[bytes, int]:
    """The program on a terminal, with ``files`` in place of some of its streams, until it has
    shown ``until`` or ended; what the terminal received, and the exit status (-9: still ran)."""
    pid, terminal = pty.fork()
    if pid == 0:
        for stream, path in files.items():
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), stream)
        environment = {**os.environ, "HOME": str(directory), "TERM": term}
        command = [sys.executable, "-m", "tui.cli", "--campaigns", str(directory / "campaigns")]
        os.execvpe(command[0], command, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    received, end = b"", time.monotonic() + DEADLINE_S
    try:
        while until not in received and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                received += os.read(terminal, 65536)
    except OSError:  # it has ended
        pass
    else:
        os.kill(pid, 9)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    return received, status


def test_the_console_is_drawn_where_standard_error_is_a_file(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    received, status = run(tmp_path, files={2: errors}, term="xterm-256color", until=b"Matrix")
    assert b"Matrix" in received
    assert status == -9
    assert errors.read_bytes() == b""


@pytest.mark.parametrize(
    ("stream", "term", "words"),
    [
        (1, "xterm-256color", b"needs a terminal"),
        (0, "xterm-256color", b"needs a terminal"),
        (None, "dumb", b"TERM says dumb"),
    ],
    ids=["output to a file", "input from a file", "a terminal that cannot"],
)
def test_without_a_terminal_one_line_says_so(
    tmp_path: Path, stream: int | None, term: str, words: bytes
) -> None:
    files = {} if stream is None else {stream: tmp_path / "file"}
    received, status = run(tmp_path, files=files, term=term, until=b"Matrix")
    assert words in received
    assert received.count(b"\n") == 1
    assert status == 2
