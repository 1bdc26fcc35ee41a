"""Which devices of a host a run gets, and what lies next to them."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from backends.hosts.device_sets import DeviceGraph, best_set, graph_of
from backends.hosts.host_facts import HostFacts
from backends.hosts.topology import LinkClass, link_class

_CPUS = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", re.ASCII)
_NIC = re.compile(r"(?!NIC\d)[A-Za-z][A-Za-z0-9_]{0,30}", re.ASCII)  # not nvidia-smi's own label
NEXT_TO = (LinkClass.PCIE_SWITCH, LinkClass.PCIE_SWITCHES)
"""Of a NIC: not beyond a PCIe host bridge."""


LINKS_REMEDY = "look at what nvidia-smi topo -m prints there"


class Placement(StrEnum):
    """How devices are chosen. ``FIRST``: 0 … n−1, so that repeats share a topology. ``LINKED``:
    the best-connected set, and with it the CPUs and the NICs next to it."""

    FIRST = "first"
    LINKED = "linked"


def placement_of(text: str) -> Placement:
    """As a journal has it; ``FIRST`` where it has something else."""
    return Placement(text) if text in set(Placement) else Placement.FIRST


@dataclass(frozen=True, slots=True)
class Site:
    """Devices of one host, by index.

    ``placement``: how they were chosen; ``FIRST`` too where nothing is known of the links.
    ``cpus``: those of the one NUMA node that all of them are at, as ``0-19,40-59``; empty where
    they spread over several, or the host has but one. ``nics``: behind the same PCIe switches.
    """

    devices: tuple[int, ...]
    placement: Placement = Placement.FIRST
    cpus: str = ""
    nics: tuple[str, ...] = ()


def choose(
    placement: Placement, facts: HostFacts | None, count: int, free: Collection[int] | None = None
) -> Site:
    """``count`` devices of a host; the first ones where the best are not known.

    ``free``: those that there are to choose from; None: all.
    """
    if placement is Placement.LINKED and (graph := _graph(facts)) is not None and facts is not None:
        whole = [gpu.index for gpu in facts.gpus if not gpu.mig_enabled]
        whole = whole if free is None else [index for index in whole if index in free]
        if (best := best_set(graph, count, whole)) is not None:
            return beside(placement, facts, best)
    return Site(tuple(range(count)) if free is None else tuple(sorted(free)[:count]))


def links_known(facts: HostFacts) -> bool:
    """Whether one set of its devices can be better than another; of a single one, or none: yes."""
    return len(facts.gpus) < 2 or _graph(facts) is not None


def beside(placement: Placement, facts: HostFacts | None, devices: tuple[int, ...]) -> Site:
    """Devices that were chosen before, with what lies next to them."""
    graph = _graph(facts)
    if placement is Placement.FIRST or graph is None or not set(devices) <= set(graph.gpus):
        return Site(devices, placement)
    return Site(devices, placement, _cpus_of(facts, devices), _nics_of(graph, devices))


def _graph(facts: HostFacts | None) -> DeviceGraph | None:
    """None where no link is known, which makes every set as good as the next."""
    if facts is None or facts.topology is None:
        return None
    graph = graph_of(facts.topology)
    return graph if graph.known else None


def _cpus_of(facts: HostFacts | None, devices: tuple[int, ...]) -> str:
    told = facts.topology if facts is not None else None
    if told is None:
        return ""
    labels = [label for label in told.labels if label.startswith("GPU")]
    cpus = dict(zip(labels, told.cpu_affinity, strict=False))
    own = {cpus.get(f"GPU{index}", "") for index in devices}
    text = own.pop() if len(own) == 1 else ""
    return text if _CPUS.fullmatch(text) and len({*cpus.values()}) > 1 else ""


def _nics_of(graph: DeviceGraph, devices: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(
        name
        for name, links in graph.nics.items()
        if _NIC.fullmatch(name) and any(link_class(links[gpu]) in NEXT_TO for gpu in devices)
    )
