"""The whole console at work in a real terminal: key to last byte, bytes of a key, CPU and memory.

64 runs over 64 real sshd, each printing 20 lines a second, on a terminal of 120 × 40. A key counts
from its write until the screen that it asked for is complete: it was dealt with by the widgets and
the application, the page or dialog that it opened was drawn, what it had read from disk is shown,
and nothing waits to be painted. Then the console writes a mark behind its output, so that the last
byte before the mark is the last one of the key. What the live campaign paints until then counts as
well, and what it paints later does not: with 64 runs at work something is always painted. Painting
is left to Textual's own clock, and keys come at any time between two refreshes.

The console starts as ``dlperf-tui`` starts it. The hosts, which are other machines in truth, give
way to it (``nice``). CPU time beside the clock's holds on a machine that has other things to do.

Side by side with it, and with nothing at work: :mod:`tests.benchmarks.bare_textual`, the same kinds
of keys in the least that an app of Textual's own widgets is.

Then a run of a hundred thousand lines and one of a million, each with its log in sight: memory when
it has ended.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from backends.campaign.plan.selection import Selection
from backends.inventory.host_entry import Host, Inventory
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.benchmarks import bare_textual
from tests.benchmarks.bare_textual import PAINTED, all_painted, until
from tests.benchmarks.report import headline, line, middle, percentile
from tests.benchmarks.tailing import LINES_PER_S, PROFILE, SCRIPT
from tests.console.hostile_program import ToldApp
from tests.support.console_terminal import Terminal
from tests.support.sshd import SshHosts
from tui.garbage import imports_left_out
from tui.messages import CampaignStarted

STREAMS = 64
SIZE = (120, 40)
PRESSES = 60
APART_S = (0.05, 0.3)
GIVES_WAY = ("nice", "-n", "10")
STEADY_S = 20.0
FEW_LINES, MANY_LINES = 100_000, 1_000_000
ENDED = "ended"

MANY = """
import time
time.sleep(8)
for number in range({lines}):
    print(f"iter {{number}}, loss: 1.0, samples/s: 385.1")
"""


@dataclass(frozen=True)
class Kind:
    """Keys of one kind, and what they may take. ``before``: keys that lead there, not counted."""

    name: str
    keys: Sequence[str]
    milliseconds: int
    bytes: int | None = None
    before: Sequence[str] = ()


KINDS = (
    Kind("cursor on Runs", ("j", "j", "k", "k"), 50, 2_000),
    Kind("page switch", ("1", "2", "3"), 100),
    Kind("dialog", ("?", "escape"), 100, 12_000),
    Kind("cursor on Matrix", ("j", "k"), 50, 2_000, before=("2",)),
    Kind("mark on Matrix", ("space",), 50),
    Kind("Tab", ("tab",), 100),
    Kind("dialog on Matrix", ("p", "escape"), 100, 12_000),
)


def main() -> None:
    headline(f"the console with {STREAMS} runs × {LINES_PER_S} lines/s, {SIZE[0]}×{SIZE[1]}")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        served = SshHosts(root / "hosts")
        try:
            for _ in range(STREAMS):
                served.add(prefix=GIVES_WAY)
            _at_work(root, served.hosts())
        finally:
            served.close()
        _bare(root)
    ended = []
    for lines in (FEW_LINES, MANY_LINES):
        with tempfile.TemporaryDirectory() as directory:
            ended.append(_after_lines(Path(directory), lines))
    few, many = ended
    line(f"memory after {FEW_LINES:,} lines with the log in sight", f"{few:.0f} MiB")
    _line(f"  more after {MANY_LINES:,}", many - few, 16, "MiB")


def _at_work(root: Path, hosts: Sequence[Host]) -> None:
    terminal = _console(root, hosts, SCRIPT)
    try:
        for kind in KINDS:
            _press(terminal, kind, Random(kind.name))
        terminal.press(["3"])
        cpu, mib = _steady(terminal)
        line("CPU of the console", f"{cpu * 100:.1f} % of a core", target="< 30 %", met=cpu < 0.3)
        line("memory", f"{mib:.0f} MiB")
        terminal.press(["C", "y"])
        _await_end(terminal, root)
    finally:
        terminal.close()


def _bare(root: Path) -> None:
    command = [sys.executable, "-m", "tests.benchmarks.bare_textual"]
    terminal = Terminal(command, SIZE, root)
    try:
        assert terminal.told()
        for name, keys in bare_textual.KEYS.items():
            seconds, cpu, _ = _taken(terminal, keys, Random(name))
            p95 = f"{percentile(seconds, 0.95) * 1000:.0f} ms"
            line(f"a bare Textual table, {name}: key to last byte, p95", p95)
            line("  median, and of CPU", _medians(seconds, cpu))
    finally:
        terminal.close()


Taken = tuple[tuple[float, ...], tuple[float, ...], tuple[int, ...]]
"""Of each key: seconds, those of CPU, bytes."""


def _taken(terminal: Terminal, keys: Sequence[str], random: Random) -> Taken:
    taken = []
    for number in range(PRESSES):
        _receive(terminal, random.uniform(*APART_S))
        taken.append(terminal.time_of(keys[number % len(keys)], PAINTED))
    seconds, cpu, sizes = zip(*taken, strict=True)
    return seconds, cpu, sizes


def _medians(seconds: Sequence[float], cpu: Sequence[float]) -> str:
    return f"{middle(seconds) * 1000:.0f} ms, {middle(cpu) * 1000:.0f} ms"


def _press(terminal: Terminal, kind: Kind, random: Random) -> None:
    for key in kind.before:
        terminal.time_of(key, PAINTED)
    seconds, cpu, sizes = _taken(terminal, kind.keys, random)
    p95 = percentile(seconds, 0.95) * 1000
    _line(f"{kind.name}: key to last byte, p95", p95, kind.milliseconds, "ms")
    line("  median, and of CPU", _medians(seconds, cpu))
    _line("  bytes, median", middle(sizes), kind.bytes, "bytes")


def _line(what: str, figure: float, target: int | None, unit: str) -> None:
    told = f"{figure:.0f} {unit}"
    if target is None:
        line(what, told)
    else:
        line(what, told, target=f"< {target} {unit}", met=figure < target)


def _steady(terminal: Terminal) -> tuple[float, float]:
    """Of a core, and MiB, while nobody types."""
    before, began = terminal.cpu_seconds(), time.perf_counter()
    _receive(terminal, STEADY_S)
    cpu = (terminal.cpu_seconds() - before) / (time.perf_counter() - began)
    return cpu, terminal.memory_mib()


def _receive(terminal: Terminal, seconds: float) -> None:
    """What comes by itself."""
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        time.sleep(min(left, 0.02))
        terminal.drain()


def _await_end(terminal: Terminal, root: Path) -> None:
    while not (root / ENDED).exists():
        _receive(terminal, 0.05)


def _after_lines(root: Path, lines: int) -> float:
    """MiB of the console when a run that printed so many has ended, its log in sight."""
    here = Host("here", transport="local", work_dir=str(root / "work"))
    terminal = _console(root, [here], MANY.format(lines=lines))
    try:
        terminal.press(["enter"])
        _await_end(terminal, root)
        return terminal.memory_mib()
    finally:
        terminal.close()


# The console, in a process of its own ------------------------------------------------------------


def _console(root: Path, hosts: Sequence[Host], script: str) -> Terminal:
    """With the campaign at work, and its keys awaited."""
    (root / "steady.py").write_text(script, encoding="utf-8")
    (root / "steady.toml").write_text(PROFILE, encoding="utf-8")
    (root / "hosts.pickle").write_bytes(pickle.dumps(tuple(hosts)))
    command = [sys.executable, "-m", "tests.benchmarks.console", str(root)]
    terminal = Terminal(command, SIZE, root)
    if not terminal.told():
        raise SystemExit(f"the console ended: {bytes(terminal.received[-3000:])!r}")
    return terminal


class WorkingApp(ToldApp):
    """Starts the campaign by itself; ready when each of its runs is at work. Says behind its output
    when what a key asked for is on the screen."""

    def __init__(self, root: Path, *, done: int) -> None:
        hosts: tuple[Host, ...] = pickle.loads((root / "hosts.pickle").read_bytes())
        # As of a file: without one, on a machine with Slurm, the console asks whose hosts it means.
        inventory = Inventory(hosts, root / "hosts.toml")
        workspace = Workspace(inventory, Catalog.load(), root / "campaigns")
        super().__init__(workspace, done=done)
        self._root = root
        self._runs = len(hosts)

    async def on_mount(self) -> None:  # type: ignore[override]
        self._campaign = asyncio.create_task(self._measure())

    async def _measure(self) -> None:
        workspace = self.session.workspace
        await workspace.cluster.probe()
        plan = workspace.plan(Selection((str(self._root / "steady.toml"),), repeats=self._runs))
        await self.session.start(plan)
        self.post_message(CampaignStarted())
        assert self.session.controller is not None
        await self.session.controller.wait()
        (self._root / ENDED).touch()

    def _begun(self) -> bool:
        live = self.session.live
        return live is not None and all(run.readings for run in live.runs)

    async def _tell_terminal(self, *, first: bool) -> None:
        if first:
            await super()._tell_terminal(first=True)
            return
        await until(lambda: self.typed.idle)
        asked = [w for w in self.workers if w.group not in ("watch", "follow")]
        await until(lambda: all(w.is_finished for w in asked))
        await until(lambda: all_painted(self))
        assert self._driver is not None
        self._driver.write(PAINTED.decode())
        os.write(self._done, b".")


if __name__ == "__main__":
    with imports_left_out():  # they are above
        pass
    WorkingApp(Path(sys.argv[1]), done=int(sys.argv[2])).run()
