"""Prechecks without a cluster: the real plan and ranking, and what was measured is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from backends.hosts.host_facts import HostSnapshot
from backends.inventory.host_entry import Host
from backends.precheck.figures import METRICS, Figure, Stage, Trouble
from backends.precheck.judged import Judged, judgements
from backends.precheck.measure import Progress
from backends.precheck.plan_precheck import PrecheckPlan, Wishes, make_plan, usable
from backends.precheck.programs import Installed
from backends.precheck.ranking import Measured, rank
from backends.precheck.record import Precheck
from profiles.errors import DlperfError

STARTED_AT = 1_795_226_100.0


class FakePrechecks:
    """Plans of the real thing; measures what it was told, when :attr:`go` is set."""

    def __init__(self, hosts: Callable[[], Iterable[tuple[Host, HostSnapshot]]]) -> None:
        self._hosts = hosts
        self.go = asyncio.Event()
        self.measured: Measured | None = None
        self.kept: list[Precheck] = []
        self.error: DlperfError | None = None
        self.ended: list[str] = []

    async def plan(
        self, nodeset: str, wishes: Wishes | None = None, *, probe: bool = True
    ) -> PrecheckPlan:
        if self.error is not None:
            raise self.error
        targets, left_out = usable(list(self._hosts()))
        there = Installed(python=True, torch=True)
        targets = [replace(target, installed=there) for target in targets]
        return make_plan(targets, left_out, wishes or Wishes())

    async def measure(
        self, plan: PrecheckPlan, say: Callable[[Progress], None] = lambda progress: None
    ) -> Precheck:
        hosts = len(plan.hosts)
        say(Progress(Stage.HOST, 0, hosts, ", ".join(plan.hosts)))
        say(Progress(Stage.HOST, hosts, hosts, plan.hosts[-1]))
        say(Progress(Stage.GPUS, 1, hosts, plan.hosts[0]))
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.ended.append("stopped")
            raise
        measured = self.measured or Measured(plan.hosts, (), (), plan.left_out)
        path = Path("campaigns/prechecks/2020-11-20-000000")
        found = Precheck(path.name, path, STARTED_AT, 95.0, measured, rank(measured))
        self.kept.insert(0, found)
        return found

    def latest(self, most: int) -> list[Precheck]:
        return self.kept[:most]

    def judgements(self) -> dict[str, Judged]:
        return judgements(self.kept, STARTED_AT + 125.0)


def of_four_hosts() -> Measured:
    """A slow GPU on node2, a broken Python on node4, a bad link between node1 and node5."""
    figures = []
    for number in (1, 2, 5, 6):
        for gpu in range(8):
            value = 78.2 if (number, gpu) == (2, 5) else 112.0
            figures.append(
                Figure("gemm", value, "TFLOP/s", (f"node{number}",), (gpu,), "Tesla V100-SXM2-16GB")
            )
    unit = METRICS["pair"].unit
    pairs = [(1, 2), (1, 5), (1, 6), (2, 5), (2, 6), (5, 6)]
    figures += [
        Figure("pair", 2.1 if pair == (1, 5) else 11.2, unit, tuple(f"node{n}" for n in pair))
        for pair in pairs
    ]
    broken = "shared library missing: python3: error while loading shared libraries: libpython3.so"
    return Measured(
        ("node1", "node2", "node4", "node5", "node6"),
        tuple(figures),
        (Trouble(Stage.HOST, ("node4",), broken, "node4", "logs/host/node4.log"),),
        {"node3": "busy: GPU0-3 used by alice"},
    )
