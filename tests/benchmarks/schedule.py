"""How well campaigns fill their hosts, and what planning and scheduling many runs costs.

The seed matrix is DLPerf's: 1n1g, 1n4g, 1n8g, 2n8g, 4n8g, each several times, on four hosts. How
long its runs took is not published; under weak scaling all take about the same, a little more with
every host, and more in fp32 than with amp. DLPerf runs them one after the other.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from pathlib import Path

from backends.campaign.plan.selection import Selection
from backends.engines.engine import Wanted
from backends.engines.filling import Offer
from backends.engines.hosts_schedule import schedule_on, timeline
from backends.inventory.host_entry import Host, Inventory
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from profiles.format.host_capacity import HostCapacity
from tests.benchmarks.report import headline, line, middle
from tests.support.played_schedule import lower_bound_s, play

CASES = ((1, 1), (1, 4), (1, 8), (2, 8), (4, 8))
REPEATS = 7
SETTLE_S = 10.0
HOSTS = 4
SEEDS = 20
MANY_RUNS, MANY_HOSTS = 10_000, 512


def seed_matrix() -> list[Wanted]:
    return [
        Wanted(
            f"{precision}-{nodes}n{gpus}g-{repeat}",
            nodes,
            gpus,
            repeat=repeat,
            expected_s=seconds * (1 + 0.02 * math.log2(nodes * gpus)),
            settle_s=SETTLE_S,
        )
        for repeat in range(1, REPEATS + 1)
        for precision, seconds in (("fp32", 75.0), ("amp", 55.0))
        for nodes, gpus in CASES
    ]


def many() -> list[Wanted]:
    """Ten times a hundred cases on one to 64 hosts, in ten rounds."""
    return [
        Wanted(
            f"r-{repeat}-{case}",
            2 ** (case % 7),
            8,
            repeat=repeat,
            expected_s=60.0 + case,
            settle_s=SETTLE_S,
        )
        for repeat in range(1, 11)
        for case in range(MANY_RUNS // 10)
    ]


def capacities(count: int) -> list[HostCapacity]:
    return [HostCapacity(f"node{number:03d}", 8, 8) for number in range(count)]


def makespans(wanted: Sequence[Wanted], seed: int) -> tuple[float, float, float]:
    """As scheduled, at the least, and one after the other; runs vary by 3%."""
    chance = random.Random(seed)
    takes = {want.run_id: want.expected_s * chance.uniform(0.97, 1.03) for want in wanted}
    runs = play(wanted, capacities(HOSTS), takes)
    serial = sum(takes.values()) + SETTLE_S * (len(wanted) - 1)
    return max(run.end for run in runs), lower_bound_s(wanted, HOSTS, takes), serial


def main() -> None:
    headline("Schedule")
    matrix = seed_matrix()
    spans = [makespans(matrix, seed) for seed in range(SEEDS)]
    ratio = middle([span / bound for span, bound, _ in spans])
    what = "seed matrix on four hosts, of the lower bound"
    line(what, f"{ratio:.3f}", target="1.05", met=ratio <= 1.05)
    line(f"… at most, of {SEEDS} campaigns", f"{max(span / bound for span, bound, _ in spans):.3f}")
    serial = middle([serial / span for span, _, serial in spans])
    line("… one run after the other, as DLPerf does, of it", f"{serial:.2f}")
    wanted, offers = many(), [Offer(host) for host in capacities(MANY_HOSTS)]
    began = time.perf_counter()
    slots = timeline(offers, wanted)
    took = time.perf_counter() - began
    assert len(slots) == MANY_RUNS
    line("timeline of 10,000 runs on 512 hosts", f"{took:.2f} s", target="1 s", met=took <= 1)
    began = time.perf_counter()
    schedule_on(offers, wanted, 0.0)
    took = time.perf_counter() - began
    line("one look what can start, of 10,000 runs on 512 hosts", f"{took * 1e3:.0f} ms")
    plan_many()


def plan_many() -> None:
    """As plan does, with every run's hosts, times and exact commands; once before, for imports."""
    names = (f"node{number:03d}" for number in range(MANY_HOSTS))
    inventory = Inventory(tuple(Host(name, address=name, slots=8) for name in names))
    workspace = Workspace(inventory, Catalog.load(), Path("/nonexistent"))
    cases = tuple(f"{nodes}n{gpus}g" for nodes, gpus in CASES)
    for repeats in (1, MANY_RUNS // len(CASES) // 2):
        selection = Selection(("cpu-smoke",), cases, {"batch_size": ("16", "32")}, repeats=repeats)
        began = time.perf_counter()
        plan = workspace.plan(selection)
        runs = workspace.dry_run(plan)
        took = time.perf_counter() - began
    assert len(runs) == MANY_RUNS
    line("plan of 10,000 runs on 512 hosts", f"{took:.2f} s", target="1 s", met=took <= 1)
