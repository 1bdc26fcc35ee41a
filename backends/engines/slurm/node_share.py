"""What a job may count on of every node that it can get: GPUs, and CPUs for each of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from backends.engines.engine import Wanted
from backends.hosts.host_facts import HostSnapshot
from backends.inventory.job_options import JobOptions


@dataclass(frozen=True, slots=True)
class NodeShare:
    """``gpus``: whether devices are GPUs of Slurm's; else they are CPU cores. ``cpus_per_gpu``: a
    GPU's part of the CPUs of its node, the smallest of all nodes; 0: nobody knows."""

    gpus: bool
    cpus_per_gpu: int = 0


def share_of(nodes: Iterable[tuple[int, int]]) -> NodeShare:
    """``nodes``: CPUs and GPUs of each."""
    parts = [cpus // gpus for cpus, gpus in nodes if gpus]
    return NodeShare(bool(parts), min(parts, default=0))


def share_told(nodes: Iterable[HostSnapshot], partition: str) -> NodeShare:
    """By what Slurm tells of its nodes; those of ``partition``, or several (``a,b``), where one is
    named and has any."""
    known = [node for node in nodes if node.facts is not None]
    wanted = set(partition.split(","))
    those = [node for node in known if wanted.intersection(node.partitions)] or known
    return share_of((node.facts.cpus, len(node.facts.gpus)) for node in those if node.facts)


def partition_of(want: Wanted, options: JobOptions) -> str:
    """The partition that its job is for, or several; empty: nobody names one."""
    return options.over(dict(want.asks)).partition
