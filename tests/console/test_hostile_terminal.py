"""The whole console in a real terminal, over hosts, logs and campaigns that mean harm.

What the terminal receives is looked at byte by byte: nothing of the harm may come through.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.console.hostile_text import PIECES, WORD, hostile_log, leaks

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 120.0

# "o" opens the campaign that was left before its end, read-only.
RUNS = ("o", "j", "j", "v", "v", "v", "L", "enter", "G", "g", "escape", "z", "z", "/", "e")
PAST = ("enter", "escape", "N", "escape", "?", "escape", "4", "j", "j", "enter", "escape", "v", "e")
# "r" probes again, and the login asks two questions.
HOSTS = ("escape", "1", "j", "enter", "l", "j", "escape", "j", "r", "escape", "escape")
MATRIX = ("2", "d", "j", "escape", "o", "escape", "p", "escape", "tab", "j", "s", "escape", "k")
LOOK = (*RUNS, *PAST, *HOSTS, *MATRIX)
START = ("enter", "F", "escape")
LIVE = ("O", "escape", "v", "v", "f", "c", "escape", "C", "escape", "N", "escape")
LEAVE = ("4", "3", "ctrl+p", "escape", "escape", "escape", "q", "d")

BYTES = {"escape": b"\x1b", "enter": b"\r", "tab": b"\t", "ctrl+p": b"\x10"}


class Terminal:
    """The receiving end of a pseudo-terminal, and a keyboard.

    The program is told a pipe to write a byte to when it has dealt with a key: the next one is
    pressed then, and not after some time that is enough on a quiet machine.
    """

    def __init__(self, command: list[str], size: tuple[int, int], directory: Path) -> None:
        self._fd, inside = pty.openpty()
        columns, rows = size
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._done, done = os.pipe()
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
        }
        self.process = subprocess.Popen(
            [*command, str(done)],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            cwd=directory,
            env=environment,
            pass_fds=[done],
        )
        os.close(inside)
        os.close(done)
        self.received = b""

    def press(self, keys: Sequence[str]) -> None:
        """One key after the other, each when the one before it was dealt with."""
        for key in keys:
            os.write(self._fd, BYTES.get(key, key.encode()))
            done = self.told()
            assert done or key == keys[-1], f"ended after {key}: {self.received[-3000:]!r}"

    def told(self) -> bool:
        """Receive until the program takes keys; whether it goes on."""
        end = time.monotonic() + DEADLINE_S
        while (done := self._receive(end)) is None:
            pass
        return bool(done)

    def ends(self) -> int:
        """Receive the rest; the exit code."""
        end = time.monotonic() + DEADLINE_S
        while self._receive(end) != b"":
            pass
        return self.process.wait(DEADLINE_S)

    def _receive(self, end: float) -> bytes | None:
        """What comes next: output (None), a key's acknowledgement, or the program's end (empty)."""
        left = end - time.monotonic()
        ready = select.select([self._fd, self._done], [], [], max(0.0, left))[0]
        assert ready, f"nothing came within {DEADLINE_S:g} s: {self.received[-3000:]!r}"
        if self._fd in ready:
            with contextlib.suppress(OSError):  # the other end has gone; the pipe says so, too
                if data := os.read(self._fd, 65536):
                    self.received += data
                    return None
        return os.read(self._done, 1)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._fd)
        os.close(self._done)


@pytest.mark.parametrize(("seed", "size"), [(3, (120, 40)), (2, (80, 24))])
def test_nothing_that_means_harm_reaches_the_terminal(
    tmp_path: Path, seed: int, size: tuple[int, int]
) -> None:
    seed = int(os.environ.get("DLPERF_FUZZ_SEED", seed))
    program = [sys.executable, "-m", "tests.console.hostile_program", str(seed), str(tmp_path)]
    terminal = Terminal(program, size, tmp_path)
    try:
        assert terminal.told()
        assert b"Left before their end" in terminal.received
        terminal.press(LOOK)
        terminal.press(START)  # fails, with a hostile error
        assert not (tmp_path / "live").exists()
        terminal.press(START)
        terminal.press((*LIVE, *LEAVE))
        code = terminal.ends()
    finally:
        terminal.close()
    found = leaks(terminal.received)
    assert not found, found[:10]
    assert b"Traceback" not in terminal.received
    assert code == 0, terminal.received[-3000:]
    assert (tmp_path / "live").exists(), "no campaign was started"
    assert terminal.received.count(WORD.encode()) > 300, "the harm was not even shown"


def test_the_test_sees_what_would_do_harm() -> None:
    assert not leaks("\x1b[31;1mfine\x1b[0m\x1b[2;3H漢字 → \r\n".encode())
    harmless = ("[", "\\", "$", "EVIL", "\t", "\n", "\r", "e", "漢", "👩", "=", ".", "|")
    for piece in PIECES:
        if not piece.startswith(harmless):
            assert leaks(piece.encode("utf-8", "surrogatepass")), repr(piece)


def test_hostile_logs_hold_every_kind_of_byte() -> None:
    from random import Random  # noqa: PLC0415

    assert len(set(hostile_log(Random(0)))) == 256
