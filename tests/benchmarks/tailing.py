"""Tailing 32 streams × 20 lines/s: bytes → raw file → parser → journal → snapshot.

One client process follows 32 runs on 32 real sshd. Its CPU time is taken over a steady stretch
while a reader pulls four snapshots a second, as the console does. Latency: from a line's print on
the host until its reading is in the state.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backends.campaign.controller import CampaignController
from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.campaign.record.run_view import RunView
from backends.inventory.host_entry import Inventory
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.benchmarks.report import headline, line, percentile
from tests.support.sshd import SshHosts

STREAMS = 32
LINES_PER_S = 20
STEADY_S = 12.0
START_LIMIT_S = 120.0

SCRIPT = f"""
import time
while True:
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
command = "python3 -u steady.py"
timeout = "30m"
[measure]
reading = 'iter (?P<step>\\d+), .*samples/s: (?P<value>[\\d.]+)'
statistic = "mean"
"""


@dataclass(frozen=True)
class Measured:
    """``cpu``: of a core. ``latencies_s``: of the readings that the journal got."""

    cpu: float
    latencies_s: Sequence[float]
    readings_per_s: float


class NothingMeasuredError(Exception):
    """Why there is no figure."""


def main() -> None:
    headline(f"tailing {STREAMS} streams × {LINES_PER_S} lines/s over SSH, the complete path")
    with tempfile.TemporaryDirectory() as directory:
        served = SshHosts(Path(directory) / "hosts")
        try:
            served(STREAMS)
            found = asyncio.run(_measure(Path(directory), served))
        except NothingMeasuredError as error:
            line(f"nothing was measured: {error}", "", met=False)
            return
        finally:
            served.close()
    line("client CPU", f"{found.cpu * 100:.1f} % of a core", target="< 15 %", met=found.cpu < 0.15)
    line("readings per second", f"{found.readings_per_s:.0f}")
    line("latency p50", f"{percentile(found.latencies_s, 0.5) * 1000:.0f} ms")
    line("latency p99", f"{percentile(found.latencies_s, 0.99) * 1000:.0f} ms")


async def _measure(root: Path, served: SshHosts) -> Measured:
    (root / "steady.py").write_text(SCRIPT, encoding="utf-8")
    profile = root / "steady.toml"
    profile.write_text(PROFILE, encoding="utf-8")
    workspace = Workspace(Inventory(tuple(served.hosts())), Catalog.load(), root / "campaigns")
    try:
        await workspace.cluster.probe()
        plan = workspace.plan(Selection((str(profile),), repeats=STREAMS))
        controller = await workspace.start(plan)
        try:
            return await _watch(controller)
        finally:
            controller.cancel_all()
            await controller.wait()
    finally:
        await workspace.close()


async def _watch(controller: CampaignController) -> Measured:
    until = time.perf_counter() + START_LIMIT_S
    while any(run.readings < 10 for run in _all_at_work(controller)):
        if time.perf_counter() > until:
            raise NothingMeasuredError(f"not all runs print within {START_LIMIT_S:g} s")
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
    before = sum(run.readings for run in _all_at_work(controller))
    began, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - began < STEADY_S:
        controller.snapshot()
        await asyncio.sleep(0.25)
    took = time.perf_counter() - began
    cpu = time.process_time() - cpu
    came = sum(run.readings for run in _all_at_work(controller)) - before
    if not latencies:
        raise NothingMeasuredError(f"{came} readings came, and none was noted where it looks")
    return Measured(cpu / took, latencies, came / took)


def _all_at_work(controller: CampaignController) -> Sequence[RunView]:
    runs = controller.snapshot().runs
    for run in runs:
        if run.state.ended:
            raise NothingMeasuredError(f"{run.label} on {run.hosts} {run.state}: {run.reason}")
    return runs
