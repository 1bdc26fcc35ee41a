"""Time to the console's first paint and of ``dlperf-tui --version``.

Where harlequin is (``HARLEQUIN``, or on the PATH) it is started side by side. CPU time beside the
clock's: ratios of it hold on a machine that has other things to do.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.report import headline, line, middle

RUNS = 15
HARLEQUIN = "2.17.0"
BIN = Path(sys.executable).parent

TRIVIAL_APP = """
from textual.app import App
from textual.widgets import Static
class Trivial(App):
    def compose(self):
        yield Static("painted")
Trivial().run()
"""


def main() -> None:
    headline("start-up")
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "TERM": "xterm-256color"}
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            environment.pop(name, None)
        version = [str(BIN / "dlperf-tui"), "--version"]
        console = [str(BIN / "dlperf-tui")]
        trivial = [sys.executable, "-c", TRIVIAL_APP]
        theirs = _harlequin()
        bare, quick, plain, full, other = [], [], [], [], []
        for _ in range(RUNS):
            bare.append(_whole([sys.executable, "-c", "pass"], environment))
            quick.append(_whole(version, environment))
            plain.append(_until_painted(trivial, b"painted", environment))
            full.append(_until_painted(console, b"Matrix", environment))
            if theirs is not None:
                other.append(_until_painted(theirs, b"Data Catalog", environment))
    v, p = middle(quick), _middle(full)[0]
    line("dlperf-tui --version", f"{v * 1000:.0f} ms", target="< 200 ms", met=v < 0.2)
    line("  ratio to python -c pass", f"{v / middle(bare):.1f}×")
    if (tab := _first_tab()) is not None:
        line(
            "first Tab in bash, its script read",
            f"{tab * 1000:.0f} ms",
            target="< 150 ms",
            met=tab < 0.15,
        )
    line("first paint of the console", f"{p * 1000:.0f} ms", target="< 600 ms", met=p < 0.6)
    line("  ratio to a one-label Textual app", _ratios(full, plain))
    if other:
        ratio = p / _middle(other)[0]
        line("  ratio to harlequin", _ratios(full, other), target="≤ 0.5", met=ratio <= 0.5)
    else:
        line("  ratio to harlequin", f"harlequin {HARLEQUIN} is not installed")


def _harlequin() -> list[str] | None:
    """How it is started; None: this version is not there."""
    program = os.environ.get("HARLEQUIN") or shutil.which("harlequin")
    if program is None:
        return None
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return [program, "--locale", "C"] if HARLEQUIN in told else None


_Paints = Sequence[tuple[float, float]]


def _middle(paints: _Paints) -> tuple[float, float]:
    return middle([wall for wall, _ in paints]), middle([cpu for _, cpu in paints])


def _ratios(ours: _Paints, theirs: _Paints) -> str:
    wall, cpu = (a / b for a, b in zip(_middle(ours), _middle(theirs), strict=True))
    return f"{wall:.2f}×, of CPU {cpu:.2f}×"


TAB = """
source "$SCRIPT"
COMP_WORDS=(dlperf-tui run -p torch-)
COMP_CWORD=3
_shtab_dlperf_tui
[ ${#COMPREPLY[@]} -gt 1 ]
"""


def _first_tab() -> float | None:
    """Seconds of a shell that reads the script and completes once; None: there is no bash."""
    bash = shutil.which("bash")
    if bash is None:
        return None
    with tempfile.NamedTemporaryFile("w") as script:
        subprocess.run([str(BIN / "dlperf-tui"), "completion", "bash"], stdout=script, check=True)
        environment = {**os.environ, "SCRIPT": script.name}
        took = [_whole([bash, "--norc", "-c", TAB], environment) for _ in range(RUNS)]
    return middle(took)


def _whole(command: Sequence[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _until_painted(
    command: Sequence[str], text: bytes, environment: dict[str, str]
) -> tuple[float, float]:
    """Seconds from exec until ``text`` reaches a terminal of 120×40, and those of CPU."""
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], list(command), environment)
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        received = b""
        while text not in received or b"Traceback" in received:
            if not select.select([terminal], [], [], 20)[0]:
                raise TimeoutError(f"{command[0]} painted nothing: {received[-300:]!r}")
            received += os.read(terminal, 65536)
        return time.perf_counter() - began, _cpu_s(pid)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def _cpu_s(pid: int) -> float:
    """Of all threads that live: proc(5), schedstat."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
