"""The whole console in a real terminal, over hosts, logs and campaigns that mean harm.

What the terminal receives is looked at byte by byte: nothing of the harm may come through.
"""

from __future__ import annotations

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
QUIET_S, LONGEST_S, START_S, END_S = 0.05, 0.2, 30.0, 20.0
# Esc and the next key in one go would be one key, with alt.
WAITS_S = {"escape": (0.5, 0.25), "wait": (0.5, 0.5)}

# "o" opens the campaign that was left before its end, read-only.
RUNS = ("o", "wait", "j", "j", "v", "v", "v", "L", "enter", "G", "g", "escape", "z", "z", "/", "e")
PAST = ("enter", "escape", "N", "escape", "?", "escape", "4", "j", "j", "enter", "escape", "v", "e")
# "r" probes again, and the login asks two questions.
ANSWER = ("wait", "escape", "wait", "escape", "wait")
HOSTS = ("escape", "1", "j", "enter", "l", "j", "escape", "j", "r", *ANSWER)
MATRIX = ("2", "d", "j", "escape", "o", "escape", "p", "escape", "tab", "j", "s", "escape", "k")
LOOK = (*RUNS, *PAST, *HOSTS, *MATRIX)
START = ("enter", "wait", "F", "wait", "escape")
LIVE = ("wait", "O", "escape", "v", "v", "f", "c", "escape", "C", "escape", "N", "escape", "wait")
LEAVE = ("4", "wait", "3", "ctrl+p", "escape", "escape", "escape", "q", "d")

BYTES = {"escape": b"\x1b", "enter": b"\r", "tab": b"\t", "ctrl+p": b"\x10", "wait": b""}


class Terminal:
    """The receiving end of a pseudo-terminal, and a keyboard."""

    def __init__(self, command: list[str], size: tuple[int, int], directory: Path) -> None:
        self._fd, inside = pty.openpty()
        columns, rows = size
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
        }
        self.process = subprocess.Popen(
            command,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            cwd=directory,
            env=environment,
        )
        os.close(inside)
        self.received = b""

    def read(self, within_s: float, *, quiet_s: float) -> None:
        """Receive until nothing came for ``quiet_s``, or ``within_s`` are over."""
        end = time.monotonic() + within_s
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._fd], [], [], min(left, quiet_s))[0]:
                return
            try:
                data = os.read(self._fd, 65536)
            except OSError:  # the other end has gone
                return
            if not data:
                return
            self.received += data

    def read_until(self, words: bytes, within_s: float) -> None:
        end = time.monotonic() + within_s
        while words not in self.received:
            assert time.monotonic() < end, self.received[-2000:]
            assert self.process.poll() is None, self.received[-3000:]
            self.read(0.2, quiet_s=0.05)

    def press(self, key: str) -> None:
        os.write(self._fd, BYTES.get(key, key.encode()))
        within_s, quiet_s = WAITS_S.get(key, (LONGEST_S, QUIET_S))
        self.read(within_s, quiet_s=quiet_s)

    def press_all(self, keys: Sequence[str]) -> None:
        for key in keys:
            assert self.process.poll() is None, f"ended before {key}: {self.received[-3000:]!r}"
            self.press(key)

    def ends(self, within_s: float) -> int | None:
        end = time.monotonic() + within_s
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.2, quiet_s=0.1)
        self.read(0.2, quiet_s=0.1)
        return self.process.poll()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._fd)


@pytest.mark.parametrize(("seed", "size"), [(3, (120, 40)), (2, (80, 24))])
def test_nothing_that_means_harm_reaches_the_terminal(
    tmp_path: Path, seed: int, size: tuple[int, int]
) -> None:
    seed = int(os.environ.get("DLPERF_FUZZ_SEED", seed))
    program = [sys.executable, "-m", "tests.console.hostile_program", str(seed), str(tmp_path)]
    terminal = Terminal(program, size, tmp_path)
    try:
        terminal.read_until(b"Left before their end", START_S)
        terminal.press_all(LOOK)
        for _ in range(6):  # the first start fails, with a hostile error
            terminal.press_all(START)
            if (tmp_path / "live").exists():
                break
        terminal.press_all((*LIVE, *LEAVE))
        code = terminal.ends(END_S)
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
