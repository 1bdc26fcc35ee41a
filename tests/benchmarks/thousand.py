"""An inventory of 1,000 hosts: reading it, the Hosts page with all of them, and each refresh of it.

The console runs without a terminal, over hosts that were made up; seconds are of its CPU.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from textual import events

from backends.hosts.host_facts import HostSnapshot
from tests.benchmarks.report import headline, line, middle
from tests.console.conftest import settled, tick
from tests.console.fakes import FakeWorkspace, facts, known_host
from tests.support.waiting import until
from tui.app import DlperfApp
from tui.widgets.keyed_table import KeyedTable

HOSTS = 1000
ROUNDS = 5

INVENTORY = """
[defaults]
user = "bench"
[[hosts]]
name = "node[0001-1000]"
address = "10.11.[0-3].[1-250]"
"""
LOAD = """
import sys, time, tracemalloc
from pathlib import Path
from backends.inventory.load import load_inventory
one, thousand = map(Path, sys.argv[1:])
load_inventory(one)  # and all that it imports
began = time.perf_counter()
load_inventory(thousand)
print(time.perf_counter() - began)
tracemalloc.start()
kept = load_inventory(thousand)
print(tracemalloc.get_traced_memory()[0] / 1024)
"""


def main() -> None:
    headline(f"{HOSTS:,} hosts")
    with tempfile.TemporaryDirectory() as directory:
        _inventory(Path(directory))
        asyncio.run(_page(Path(directory)))


def _inventory(directory: Path) -> None:
    (directory / "one.toml").write_text('[[hosts]]\nname = "node[1-2]"\n', encoding="utf-8")
    (directory / "thousand.toml").write_text(INVENTORY, encoding="utf-8")
    files = [str(directory / name) for name in ("one.toml", "thousand.toml")]
    told = [
        subprocess.run([sys.executable, "-c", LOAD, *files], capture_output=True, check=True)
        for _ in range(ROUNDS)
    ]
    seconds, kib = zip(*(map(float, one.stdout.split()) for one in told), strict=True)
    took = middle(seconds) * 1000
    line("the inventory is read", f"{took:.0f} ms", target="< 100 ms", met=took < 100)
    line("  more memory", f"{middle(kib) / 1024:.1f} MiB")


async def _page(directory: Path) -> None:
    few, many = [await _first_paint(directory, count) for count in (4, HOSTS)]
    more = many - few
    line("Hosts is there, more than with 4", f"{more:.2f} s", target="< 0.5 s", met=more < 0.5)
    hosts = _hosts(HOSTS)
    app = DlperfApp(workspace := FakeWorkspace(directory, hosts=hosts))
    async with app.run_test(size=(120, 40)):
        await _told(app, HOSTS)
        _line("a refresh with nothing new", [_of(app) for _ in range(ROUNDS)], 10)
        changed = []
        for number in range(ROUNDS):
            workspace.answer(*_asked_again(hosts, number))
            await workspace.probe()
            changed.append(_of(app))
            await settled(app)
        _line("a refresh with 32 new answers", changed, 50)
        for key, most in (("j", 100), ("end", 100), ("home", 100)):
            _line(f"key {key}", [await _key(app, key) for _ in range(ROUNDS)], most)
        await _key(app, "slash")
        _line("a letter of the filter", [await _key(app, key) for key in "node0"], 100)


def _hosts(count: int) -> list[HostSnapshot]:
    known = facts()
    return [
        known_host(f"node{n:04}", f"10.11.{n // 250}.{n % 250 + 1}", known) for n in range(count)
    ]


def _asked_again(hosts: Sequence[HostSnapshot], number: int) -> list[HostSnapshot]:
    new = replace(facts(), load1=float(number))
    return [replace(h, facts=new) if n % 32 == number else h for n, h in enumerate(hosts)]


async def _first_paint(directory: Path, count: int) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.process_time()
        app = DlperfApp(FakeWorkspace(directory, hosts=_hosts(count)))
        async with app.run_test(size=(120, 40)):
            await _told(app, count)
            took.append(time.process_time() - began)
    return middle(took)


async def _told(app: DlperfApp, count: int) -> None:
    await until(lambda: len(app.screen.query(KeyedTable)) == 1)
    table = app.screen.query_one(KeyedTable)
    await until(lambda: len(table.shown_keys) == count)
    await settled(app)


def _of(app: DlperfApp) -> float:
    began = time.process_time()
    tick(app)
    return time.process_time() - began


async def _key(app: DlperfApp, key: str) -> float:
    began = time.process_time()
    app.post_message(events.Key(key, key if len(key) == 1 else None))
    await settled(app)
    return time.process_time() - began


def _line(what: str, seconds: Sequence[float], most_ms: int) -> None:
    took = middle(seconds) * 1000
    line(what, f"{took:.0f} ms", target=f"< {most_ms} ms", met=took < most_ms)
