"""The console in a real pseudo-terminal, as its operator has it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 120.0
BYTES = {"escape": b"\x1b", "enter": b"\r", "tab": b"\t", "ctrl+p": b"\x10", "space": b" "}


class Terminal:
    """The receiving end of a pseudo-terminal, and a keyboard.

    The program is told a pipe to write a byte to when it has dealt with a key: the next one is
    pressed then, and not after some time that is enough on a quiet machine.
    """

    def __init__(
        self, command: list[str], size: tuple[int, int], directory: Path, **variables: str
    ) -> None:
        self._fd, inside = pty.openpty()
        columns, rows = size
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._done, done = os.pipe()
        told_by_another = ("COLUMNS", "LINES")  # they would win over the size of this one
        environment = {
            **{key: value for key, value in os.environ.items() if key not in told_by_another},
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
            **variables,
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
        self.received = bytearray()

    def type(self, text: str) -> None:
        """Without waiting for what becomes of it."""
        os.write(self._fd, text.encode())

    def press(self, keys: Sequence[str]) -> None:
        """One key after the other, each when the one before it was dealt with."""
        for key in keys:
            os.write(self._fd, BYTES.get(key, key.encode()))
            done = self.told()
            assert done or key == keys[-1], f"ended after {key}: {self.received[-3000:]!r}"

    def time_of(self, key: str, mark: bytes) -> tuple[float, float, int]:
        """Press a key; the program writes ``mark`` behind the last that it paints for it, then the
        acknowledgement.

        Seconds until the last byte before the mark came, those of CPU, and how many bytes: all
        that came. Where none did, the time is that of the mark.
        """
        self.drain()
        start, cpu, began = len(self.received), self.cpu_seconds(), time.perf_counter()
        last, end, done = None, -1, None
        os.write(self._fd, BYTES.get(key, key.encode()))
        while end < 0 or done is None:
            came = len(self.received)
            done = self._receive(time.monotonic() + DEADLINE_S) or done
            assert done != b"", f"ended after {key}: {self.received[-3000:]!r}"
            if end < 0 and not mark.startswith(self.received[came:][: len(mark)]):
                last = time.perf_counter()
            end = self.received.find(mark, start)
        return (last or time.perf_counter()) - began, self.cpu_seconds() - cpu, end - start

    def told(self) -> bool:
        """Receive until the program takes keys; whether it goes on."""
        end = time.monotonic() + DEADLINE_S
        while (done := self._receive(end)) is None:
            pass
        return bool(done)

    def shows(self, text: bytes) -> bool:
        """Whether it comes: a thread of the program's writes what another has painted."""
        end = time.monotonic() + DEADLINE_S
        while text not in self.received and time.monotonic() < end:
            self.drain()
            time.sleep(0.01)
        return text in self.received

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

    def drain(self) -> None:
        """Receive what is there."""
        while select.select([self._fd], [], [], 0.0)[0]:
            if self._receive(time.monotonic() + DEADLINE_S) == b"":
                break  # it has gone

    def cpu_seconds(self) -> float:
        """Of all threads that live: proc(5), schedstat."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def memory_mib(self) -> float:
        """Resident, now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._fd)
        os.close(self._done)
