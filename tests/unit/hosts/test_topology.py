"""The link matrix of nvidia-smi topo -m, in every shape it comes in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.topology import (
    LinkClass,
    describe_link,
    link_class,
    parse_topology,
    topology_block,
)

# Two NVLink pairs and a named NIC, as reports print it: columns aligned with spaces.
SPACES = """
        GPU0    GPU1    GPU2    GPU3    mlx5_0  CPU Affinity
GPU0     X      NV2     SYS     SYS     NODE    0-11,24-35
GPU1    NV2      X      SYS     SYS     PIX     0-11,24-35
GPU2    SYS     SYS      X      NV1     SYS     12-23,36-47
GPU3    SYS     SYS     NV1      X      SYS     12-23,36-47
mlx5_0  NODE    PIX     SYS     SYS      X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  PIX  = Connection traversing at most a single PCIe bridge
"""

# What a recent driver prints: tabs, underlined header, NICs by number, empty cells.
TABS = (
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tPXB\tSYS\t0-63\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tSYS\tPXB\t64-127\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\t X \tSYS\t\t\t\n"
    "NIC1\tSYS\tPXB\tSYS\t X \t\t\t\n"
    "\n"
    "Legend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_1\n"
)


def test_a_matrix_from_a_document_has_its_nic_by_name() -> None:
    topology = parse_topology(SPACES)
    assert topology is not None
    assert topology.labels == ("GPU0", "GPU1", "GPU2", "GPU3", "mlx5_0")
    assert topology.links[1] == ("NV2", "X", "SYS", "SYS", "PIX")
    assert topology.links[4] == ("NODE", "PIX", "SYS", "SYS", "X")
    assert topology.cpu_affinity == ("0-11,24-35",) * 2 + ("12-23,36-47",) * 2
    assert topology.numa_affinity == ("", "", "", "")
    assert topology.nic_names == {}


def test_a_matrix_from_the_tool_has_tabs_ansi_codes_and_a_nic_legend() -> None:
    topology = parse_topology(TABS)
    assert topology is not None
    assert topology.labels == ("GPU0", "GPU1", "NIC0", "NIC1")
    assert topology.links == (
        ("X", "NV18", "PXB", "SYS"),
        ("NV18", "X", "SYS", "PXB"),
        ("PXB", "SYS", "X", "SYS"),
        ("SYS", "PXB", "SYS", "X"),
    )
    assert topology.cpu_affinity == ("0-63", "64-127")
    assert topology.numa_affinity == ("0", "1")
    assert topology.nic_names == {"NIC0": "mlx5_0", "NIC1": "mlx5_bond_1"}


def test_an_empty_cpu_affinity_does_not_shift_the_numa_column() -> None:
    topology = parse_topology(
        "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t3\t\tN/A\n"
    )
    assert topology is not None
    assert topology.cpu_affinity == ("",)
    assert topology.numa_affinity == ("3",)


def test_the_h200_capture(captures: Path) -> None:
    topology = parse_topology((captures / "topo.txt").read_text())
    assert topology is not None
    assert topology.labels == tuple(f"GPU{index}" for index in range(8))
    assert {link for row in topology.links for link in row} == {"X", "NV18"}
    assert topology.cpu_affinity == ("0-127",) * 8
    assert topology.numa_affinity == ("0",) * 8
    # the peer-to-peer status matrix is no link matrix, but must not be taken apart wrongly
    peers = parse_topology((captures / "links.txt").read_text())
    assert peers is None or len(peers.links) == 8


def test_a_torn_matrix_keeps_what_is_there() -> None:
    topology = parse_topology("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV")
    assert topology is not None
    assert topology.links == (("X", "NV"), ("?", "?"))


@pytest.mark.parametrize("text", ["", "Failed to create topology matrix", "GPU0 GPU1\n", "\tGPU0x"])
def test_no_matrix_is_none(text: str) -> None:
    assert parse_topology(text) is None


@given(
    st.text(max_size=200)
    | st.text(alphabet="GPUNIC0123 \t\nXVS:CPAfinty\x1b[4m", max_size=300)
    | st.tuples(st.integers(0, len(TABS)), st.text(max_size=20)).map(
        lambda cut: TABS[: cut[0]] + cut[1] + TABS[cut[0] :]
    )
)
def test_any_text_gives_a_square_matrix_or_none(text: str) -> None:
    topology = parse_topology(text)
    if topology is not None:
        size = len(topology.labels)
        assert [len(row) for row in topology.links] == [size] * size
        assert "\x1b" not in topology_block(topology)


def test_links_have_classes_and_words() -> None:
    assert link_class("NV18") is LinkClass.NVLINK
    assert link_class("PIX") < link_class("PHB") < link_class("NODE") < link_class("SYS")
    assert link_class("?") is LinkClass.UNKNOWN
    assert describe_link("NV1") == "one NVLink"
    assert describe_link("NV18") == "18 NVLinks bonded"
    assert describe_link("SYS") == "between NUMA nodes"


def test_a_report_shows_the_matrix_aligned_with_a_legend() -> None:
    topology = parse_topology(TABS)
    assert topology is not None
    assert topology_block(topology) == (
        "      GPU0  GPU1  NIC0  NIC1  CPU affinity  NUMA\n"
        "GPU0  X     NV18  PXB   SYS   0-63          0\n"
        "GPU1  NV18  X     SYS   PXB   64-127        1\n"
        "NIC0  PXB   SYS   X     SYS\n"
        "NIC1  SYS   PXB   SYS   X\n"
        "NIC0: mlx5_0\n"
        "NIC1: mlx5_bond_1\n"
        "\n"
        "NV18 = 18 NVLinks bonded\n"
        "PXB = several PCIe bridges\n"
        "SYS = between NUMA nodes"
    )
    again = parse_topology(topology_block(topology))
    assert again is not None
    assert again.links == topology.links
