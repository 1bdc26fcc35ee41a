"""How long a host stands idle between two runs without settle time, on the host's own clock.

Every run prints the time when its command begins and when it ends; the gap is from the end of one
command to the beginning of the next.
"""

from __future__ import annotations

import asyncio
import tempfile
from itertools import pairwise
from pathlib import Path

from backends.campaign.plan.selection import Selection
from backends.inventory.host_entry import Host, Inventory
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.benchmarks.report import headline, line, middle
from tests.support.sshd import SshHosts

RUNS = 12

PROFILE = """
name = "short"
framework = "sh"
model = "short"
source = "benchmark"
[matrix]
cases = ["1n1g"]
[launch]
launcher = "per_node"
command = "sh -c 'date +%s.%N; for i in 1 2 3; do echo iter $i, samples/s: 10$i; done; date +%s.%N'"
expected = "1s"
[measure]
reading = 'iter (?P<step>\\d+), samples/s: (?P<value>\\d+)'
statistic = "mean"
"""


def main() -> None:
    headline("idle gap between two runs on one host")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        local = Host("here", "local", slots=1, work_dir=f"{root}/w", lease_dir=f"{root}/l")
        _print("local transport", asyncio.run(_gaps(root / "local", local)))
        served = SshHosts(root / "hosts")
        try:
            _print("real sshd", asyncio.run(_gaps(root / "ssh", served(1)[0].host)))
        finally:
            served.close()


def _print(name: str, gaps: list[float]) -> None:
    typical, worst = middle(gaps), max(gaps)
    line(name, f"{typical * 1000:.0f} ms", target="< 300 ms", met=typical < 0.3)
    line("  slowest", f"{worst * 1000:.0f} ms")


async def _gaps(root: Path, host: Host) -> list[float]:
    root.mkdir()
    profile = root / "short.toml"
    profile.write_text(PROFILE, encoding="utf-8")
    workspace = Workspace(Inventory((host,)), Catalog.load(), root / "campaigns")
    await workspace.cluster.probe()
    plan = workspace.plan(Selection((str(profile),), repeats=RUNS))
    controller = await workspace.start(plan)
    await controller.wait()
    await workspace.close()
    spans = []
    for run in controller.state.runs.values():
        lines = (controller.path / run.log).read_text(encoding="utf-8").split()
        spans.append((float(lines[0]), float(lines[-1])))
    return [after[0] - before[1] for before, after in pairwise(spans)]
