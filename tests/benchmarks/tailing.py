"""Tailing 32 streams × 20 lines/s: bytes → raw file → parser → journal → snapshot.

One client process follows 32 runs on 32 real sshd. Its CPU time is taken over a steady stretch
while a reader pulls four snapshots a second, as the console does. Latency: from a line's print on
the host until its reading is in the state.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.inventory.host_entry import Inventory
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.benchmarks.report import headline, line, percentile
from tests.support.sshd import SshHosts

STREAMS = 32
LINES_PER_S = 20
STEADY_S = 12.0

SCRIPT = f"""
import sys, time
until = time.time() + 60
while time.time() < until:
    print(f"iter {{int(time.time() * 1e6)}}, loss: 1.0, samples/s: 385.1", flush=True)
    time.sleep({1 / LINES_PER_S})
"""

PROFILE = """
name = "steady"
framework = "python"
model = "steady"
source = "benchmark"
[matrix]
cases = ["1n1g"]
[launch]
launcher = "per_node"
stage = ["steady.py"]
command = "python3 steady.py"
[measure]
reading = 'iter (?P<step>\\d+), .*samples/s: (?P<value>[\\d.]+)'
statistic = "mean"
"""


def main() -> None:
    headline(f"tailing {STREAMS} streams × {LINES_PER_S} lines/s over SSH, the complete path")
    with tempfile.TemporaryDirectory() as directory:
        served = SshHosts(Path(directory) / "hosts")
        try:
            served(STREAMS)
            share, latencies, rate = asyncio.run(_measure(Path(directory), served))
        finally:
            served.close()
    line("client CPU", f"{share * 100:.1f} % of a core", target="< 15 %", met=share < 0.15)
    line("readings per second", f"{rate:.0f}")
    line("latency p50", f"{percentile(latencies, 0.5) * 1000:.0f} ms")
    line("latency p99", f"{percentile(latencies, 0.99) * 1000:.0f} ms")


async def _measure(root: Path, served: SshHosts) -> tuple[float, list[float], float]:
    (root / "steady.py").write_text(SCRIPT, encoding="utf-8")
    profile = root / "steady.toml"
    profile.write_text(PROFILE, encoding="utf-8")
    workspace = Workspace(Inventory(tuple(served.hosts())), Catalog.load(), root / "campaigns")
    await workspace.cluster.probe()
    controller = await workspace.start(workspace.plan(Selection((str(profile),), repeats=STREAMS)))
    while any(run.readings < 10 for run in controller.snapshot().runs):
        await asyncio.sleep(0.25)
    latencies: list[float] = []
    recorder = controller._recorder  # only to look at the clock
    take_note = recorder.note

    def note(event: ev.Event) -> None:
        take_note(event)
        if isinstance(event, ev.ReadingsSampled):  # all of them, as long as they are few
            now = time.time()
            latencies.extend(now - (step or 0.0) / 1e6 for step, _value, _t in event.points)

    recorder.note = note  # type: ignore[method-assign]
    began, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - began < STEADY_S:
        controller.snapshot()
        await asyncio.sleep(0.25)
    took = time.perf_counter() - began
    share = (time.process_time() - cpu) / took
    controller.cancel_all()
    await controller.wait()
    await workspace.close()
    return share, latencies, len(latencies) / took
