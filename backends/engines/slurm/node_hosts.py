"""Slurm's nodes as hosts: what it says of them, without looking at any of them ourselves."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from backends.engines.engine import QueuedJob
from backends.engines.slurm.batch_script import NAME_PREFIX
from backends.engines.slurm.commands import RefusedError, SlurmCommands
from backends.engines.slurm.jobs import Job, current_jobs
from backends.engines.slurm.nodes import WORKS, Node, all_nodes
from backends.hosts.host_facts import Concern, Gpu, GpuProcess, HostFacts, HostSnapshot, HostState
from backends.inventory.host_entry import HOST_NAME, Host
from backends.transports.transport import Transport
from profiles.cleantext import clean_text


class NodeHosts:
    """``login``: the machine that has Slurm's programs. ``clock``: seconds since the epoch."""

    def __init__(self, login: Transport, clock: Callable[[], float]) -> None:
        self._login = login
        self._commands = SlurmCommands(login)
        self._clock = clock

    async def ask(self) -> list[tuple[Host, HostSnapshot]]:
        nodes = await all_nodes(self._commands)
        now = self._clock()
        return [
            (node_host(node, self._login.host), replace(node_snapshot(node), probed_at=now))
            for node in nodes
            if HOST_NAME.fullmatch(node.name)
        ]

    async def jobs(self) -> list[QueuedJob]:
        return our_jobs((await current_jobs(self._commands, prefix=NAME_PREFIX)).values())

    async def end(self, job_id: str) -> None:
        with contextlib.suppress(RefusedError):
            await self._commands.run("scancel", job_id)


_OURS = re.compile(rf"{NAME_PREFIX}([0-9a-f]{{8}}(?:-\d{{4,}}-a\d+)?)", re.ASCII)
"""Of a campaign or of a run; what is merely called alike may be anybody's."""


def our_jobs(jobs: Iterable[Job]) -> list[QueuedJob]:
    """Those that have not ended and are of a campaign's."""
    named = ((job, _OURS.fullmatch(job.name)) for job in jobs if not job.state.ended)
    return [QueuedJob(job.job_id, name[1], job.nodes) for job, name in named if name]


def node_host(node: Node, login: Host) -> Host:
    """As an inventory would say it: its partitions are its labels. Nobody logs in to it."""
    labels = tuple(dict.fromkeys((*login.labels, *map(clean_text, node.partitions))))
    return replace(login, name=node.name, address="", train_address="", labels=labels)


def node_snapshot(node: Node) -> HostSnapshot:
    """``facts``: what Slurm knows; all else is empty."""
    state, why = _state(node)
    facts = _facts(node)
    offline = state is HostState.OFFLINE
    remedy = "whoever runs the cluster puts it back: scontrol update nodename=… state=resume"
    return HostSnapshot(
        name=node.name,
        address="",
        state=state,
        reason=why,
        facts=facts,
        slots=len(facts.gpus) or node.cpus,
        concerns=(Concern(why, remedy, degrades=True),) if offline else (),
        partitions=tuple(map(clean_text, node.partitions)),
        reservation=clean_text(node.reservation),
    )


def _state(node: Node) -> tuple[HostState, str]:
    """And why."""
    if not node.takes_jobs:
        words = [*(() if node.state in WORKS else (node.state,)), *node.flags]
        reason = f": {node.reason}" if node.reason else ""
        return HostState.OFFLINE, clean_text(", ".join(words) + reason, cap=500)
    if node.reservation:
        return HostState.BUSY, f"reserved: {clean_text(node.reservation)}"
    users = clean_text(", ".join(node.users))
    if node.state == "allocated" or 0 < node.gpu_count <= node.gpus_used:
        return HostState.BUSY, f"used by {users or 'somebody'}"
    return HostState.READY, f"used by {users}" if users else ""


def _facts(node: Node) -> HostFacts:
    names = [gpus.type or "GPU" for gpus in node.gpus for _ in range(gpus.count)]
    free_mib = node.memory_mib if node.memory_free_mib is None else node.memory_free_mib
    return HostFacts(
        os="",
        kernel="",
        boot_id="",
        cpu_model="",
        cpus=node.cpus,
        numa_nodes=1,
        memory_mib=node.memory_mib,
        memory_available_mib=min(node.memory_mib, free_mib),
        load1=node.load,
        users=(),
        python=None,
        driver_version=None,
        cuda_version=None,
        gpus=tuple(_gpu(index, clean_text(name)) for index, name in enumerate(names)),
        gpu_processes=tuple(_uses(node)),
        topology=None,
        clock_offset_s=0.0,
        hostname=node.name,
    )


def _gpu(index: int, name: str) -> Gpu:
    return Gpu(
        index=index,
        name=name,
        uuid="",
        bus_id="",
        memory_total_mib=None,
        memory_used_mib=None,
        utilization_pct=None,
        power_w=None,
        power_limit_w=None,
        temperature_c=None,
        sm_clock_mhz=None,
    )


def _uses(node: Node) -> list[GpuProcess]:
    """Devices that jobs have; where Slurm tells how many and not which, the first ones."""
    who = clean_text(", ".join(node.users)) or "somebody"
    indices = node.used or tuple(range(node.gpus_used))
    return [GpuProcess(index, 0, who, "a job", None) for index in indices]
