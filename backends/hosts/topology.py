"""``nvidia-smi topo -m``: which device reaches which over what.

Read from the tool (tabs, an ANSI-underlined header, empty cells) and from documents that show its
output (columns aligned with spaces, NICs by name). Source: nvidia-smi(1), "topo"; its legend.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from enum import IntEnum

from backends.hosts.host_facts import Topology
from profiles.cleantext import clean_text

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LABEL = re.compile(r"(?:GPU\d+|NIC\d+|[A-Za-z][\w.-]*)", re.ASCII)
_LEGEND_NIC = re.compile(r"\s*(NIC\d+)\s*:\s*(\S+)")
_MAX_DEVICES = 128


class LinkClass(IntEnum):
    """How close two devices are; a smaller value is closer."""

    SELF = 0
    NVLINK = 1
    PCIE_SWITCH = 2  # PIX: at most one bridge
    PCIE_SWITCHES = 3  # PXB: several bridges, not the host bridge
    HOST_BRIDGE = 4  # PHB
    NUMA_NODE = 5  # NODE: between host bridges of a NUMA node
    SYSTEM = 6  # SYS: between NUMA nodes
    UNKNOWN = 7


_CLASSES = {
    "X": LinkClass.SELF,
    "PIX": LinkClass.PCIE_SWITCH,
    "PXB": LinkClass.PCIE_SWITCHES,
    "PHB": LinkClass.HOST_BRIDGE,
    "NODE": LinkClass.NUMA_NODE,
    "SYS": LinkClass.SYSTEM,
    "SOC": LinkClass.SYSTEM,  # its name before driver 390
}
_MEANINGS = {
    LinkClass.SELF: "itself",
    LinkClass.PCIE_SWITCH: "one PCIe bridge",
    LinkClass.PCIE_SWITCHES: "several PCIe bridges",
    LinkClass.HOST_BRIDGE: "PCIe host bridge (CPU)",
    LinkClass.NUMA_NODE: "between host bridges, one NUMA node",
    LinkClass.SYSTEM: "between NUMA nodes",
    LinkClass.UNKNOWN: "unknown",
}


def link_class(link: str) -> LinkClass:
    """The class of a link as printed: ``NV18`` → NVLINK, ``PHB`` → HOST_BRIDGE."""
    if re.fullmatch(r"NV\d*", link):
        return LinkClass.NVLINK
    return _CLASSES.get(link, LinkClass.UNKNOWN)


def describe_link(link: str) -> str:
    """A link in words: ``NV2`` → "2 NVLinks bonded", ``SYS`` → "between NUMA nodes"."""
    if link_class(link) is LinkClass.NVLINK:
        count = link.removeprefix("NV")
        return "one NVLink" if count == "1" else f"{count or '?'} NVLinks bonded"
    return _MEANINGS[link_class(link)]


def legend(topology: Topology) -> tuple[tuple[str, str], ...]:
    """The links that occur between devices, the closest first, each with what it means."""
    used = {link for row in topology.links for link in row} - {"X"}
    return tuple(
        (link, describe_link(link))
        for link in sorted(used, key=lambda link: (link_class(link), len(link), link))
    )


def parse_topology(text: str) -> Topology | None:
    """The matrix in ``text``; None where there is none. Never raises; missing cells are "?"."""
    lines = iter(_ANSI.sub("", text).splitlines())
    for line in lines:
        labels = _header_labels(line)
        if labels:
            return _read_matrix(labels, "\t" in line, lines)
    return None


def topology_block(topology: Topology) -> str:
    """The matrix as aligned text for a report, with a legend of the links that occur in it."""
    columns = [["", *topology.labels]]
    for index, label in enumerate(topology.labels):
        columns.append([label, *(row[index] for row in topology.links)])
    for title, cells in (
        ("CPU affinity", topology.cpu_affinity),
        ("NUMA", topology.numa_affinity),
    ):
        if any(cells):
            padding = [""] * (len(topology.labels) - len(cells))
            columns.append([title, *cells, *padding])
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]
    lines += [f"{label}: {name}" for label, name in topology.nic_names.items()]
    explained = legend(topology)
    if explained:
        lines += ["", *(f"{link} = {words}" for link, words in explained)]
    return "\n".join(lines)


def _header_labels(line: str) -> tuple[str, ...]:
    """Device names of a header line, which begins with a gap above the row names."""
    if not line[:1].isspace():
        return ()
    words = line.split()
    labels = tuple(
        itertools.takewhile(lambda word: word not in ("CPU", "NUMA", "GPU"), words[:_MAX_DEVICES])
    )
    if not labels or not re.fullmatch(r"GPU\d+", labels[0]):
        return ()
    distinct = len(set(labels)) == len(labels)
    return labels if distinct and all(map(_LABEL.fullmatch, labels)) else ()


def _read_matrix(labels: tuple[str, ...], tabs: bool, lines: Iterable[str]) -> Topology:
    rows: dict[str, list[str]] = {}
    nic_names: dict[str, str] = {}
    for line in lines:
        cells = [cell.strip() for cell in line.split("\t")] if tabs else line.split()
        legend = _LEGEND_NIC.fullmatch(line)
        if legend and legend[1] in labels:
            nic_names[legend[1]] = clean_text(legend[2])
        elif cells and cells[0] in labels:
            rows.setdefault(cells[0], [clean_text(cell) for cell in cells[1:]])
    size = len(labels)
    gpus = [label for label in labels if re.fullmatch(r"GPU\d+", label)]
    after = {label: [*rows.get(label, [])[size:], "", ""] for label in gpus}
    return Topology(
        labels=labels,
        links=tuple(
            tuple(cell or "?" for cell in [*rows.get(label, [])[:size], *[""] * size][:size])
            for label in labels
        ),
        cpu_affinity=tuple(after[label][0] for label in gpus),
        numa_affinity=tuple(after[label][1] for label in gpus),
        nic_names=nic_names,
    )
