"""A matrix read aloud: the sentences, the sets, and that they hold whatever the matrix is like."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.device_sets import DeviceGraph, best_by_size, best_set, closeness, graph_of
from backends.hosts.host_facts import Topology
from backends.hosts.topology import parse_topology
from backends.hosts.topology_words import topology_summary

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
LINKS = ("NV1", "NV2", "NV12", "NV18", "PIX", "PXB", "PHB", "NODE", "SYS", "?")


def printed(
    link: Callable[[int, int], str],
    gpus: int,
    *,
    cpus: Callable[[int], str] = lambda _: "",
    numa: Callable[[int], str] = lambda _: "",
    nics: Sequence[str] = (),
    near: Callable[[int, int], str] = lambda _nic, _gpu: "SYS",
    legend: Sequence[str] = (),
    underlined: bool = False,
) -> Topology:
    """As nvidia-smi prints it, with tabs; ``near``: link of a NIC to a GPU, by their numbers."""
    names = [*(f"GPU{n}" for n in range(gpus)), *nics]
    header = "\t".join(["", *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])
    lines = [header.replace("\t", "\t\x1b[4m", 1) + "\x1b[0m" if underlined else header]
    for n in range(gpus):
        cells = [" X " if n == m else link(min(n, m), max(n, m)) for m in range(gpus)]
        cells += [near(nic, n) for nic in range(len(nics))]
        lines.append("\t".join([f"GPU{n}", *cells, cpus(n), numa(n), "", "N/A"]))
    for nic, name in enumerate(nics):
        cells = [near(nic, n) for n in range(gpus)]
        cells += [" X " if nic == other else "SYS" for other in range(len(nics))]
        lines.append("\t".join([name, *cells, "", "", ""]))
    lines += [f"  {nic}: {name}" for nic, name in zip(nics, legend, strict=False)]
    topology = parse_topology("\n".join(lines) + "\n")
    assert topology is not None
    return topology


def cube_mesh(nic: bool = True) -> Topology:
    """Eight V100 as older reports have them: two quads, a cross link each, one named NIC."""
    inner = {(0, 1): 1, (0, 2): 1, (0, 3): 2, (1, 2): 2, (1, 3): 1, (2, 3): 2}
    cross = (2, 2, 1, 1)

    def link(a: int, b: int) -> str:
        if a // 4 == b // 4:
            return f"NV{inner[a % 4, b % 4]}"
        return f"NV{cross[a % 4]}" if a % 4 == b % 4 else "SYS"

    return printed(
        link,
        8,
        cpus=lambda gpu: "0-11,24-35" if gpu < 4 else "12-23,36-47",
        nics=("mlx5_0",) if nic else (),
        near=lambda _, gpu: ("NODE", "NODE", "PIX", "PIX", *["SYS"] * 4)[gpu],
    )


def by_pair(same: str, within: str, across: str, half: int = 4) -> Callable[[int, int], str]:
    return lambda a, b: same if a // 2 == b // 2 else within if a // half == b // half else across


def dgx_a100() -> Topology:
    nodes = "3175"
    return printed(
        lambda _a, _b: "NV12",
        8,
        cpus=lambda gpu: f"{16 * int(nodes[gpu // 2])}-{16 * int(nodes[gpu // 2]) + 15}",
        numa=lambda gpu: nodes[gpu // 2],
        nics=tuple(f"mlx5_{n}" for n in range(9)),
        near=lambda nic, gpu: (
            "PXB" if nic // 2 == gpu // 2 else "NODE" if nic == 8 and gpu > 5 else "SYS"
        ),
    )


def test_eight_h200_are_one_domain() -> None:
    topology = printed(
        lambda _a, _b: "NV18", 8, cpus=lambda _: "0-127", numa=lambda _: "0", underlined=True
    )
    assert topology_summary(topology) == "every pair NV18, one NVLink domain, one NUMA node"
    assert best_by_size(graph_of(topology)) == {2: (0, 1), 4: (0, 1, 2, 3)}


def test_the_h200_hosts_of_the_examples_are_read_as_they_are() -> None:
    found = 0
    for file in sorted(EXAMPLES.glob("h200-*/environment.json")):
        for host in json.loads(file.read_text(encoding="utf-8"))["hosts"]:
            told = host["topology"]
            topology = Topology(
                labels=tuple(told["labels"]),
                links=tuple(map(tuple, told["links"])),
                cpu_affinity=tuple(told["cpu_affinity"]),
                numa_affinity=tuple(told["numa_affinity"]),
                nic_names=told["nic_names"],
            )
            summary = topology_summary(topology)
            assert summary.startswith("every pair NV18, one NVLink domain, ")
            assert "for 1n" not in summary, "no pair is better than another"
            found += 1
    assert found


def test_the_cube_mesh_of_eight_v100() -> None:
    assert topology_summary(cube_mesh()) == (
        "two NVLink quads, GPU0…3 on socket 0 and GPU4…7 on socket 1; "
        "across them only 0–4 and 1–5 (NV2), 2–6 and 3–7 (NV1), the rest over SYS; "
        "mlx5_0 next to GPU2 and GPU3; "
        "for 1n2g 2,3: NV2 and next to the NIC (0,1, the first two, are NV1)"
    )
    assert best_by_size(graph_of(cube_mesh())) == {2: (2, 3), 4: (0, 1, 2, 3)}
    graph = graph_of(cube_mesh())
    pairs = sorted(graph.links, key=lambda pair: (graph.worth(pair), pair))
    assert pairs[:3] == [(2, 3), (0, 3), (1, 2)], "of one link and socket, the nearer to the NIC"
    assert pairs.index((5, 6)) < pairs.index((0, 4)), "a link between sockets is worth less"
    assert {*pairs[8:16]} == {(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)}
    without = topology_summary(cube_mesh(nic=False))
    assert "NIC" not in without
    assert without.endswith("for 1n2g 0,3: NV2 (0,1, the first two, are NV1)")


def test_dgx_a100_has_a_numa_node_and_two_nics_for_every_two_gpus() -> None:
    assert topology_summary(dgx_a100()) == (
        "every pair NV12, one NVLink domain, GPU0 and GPU1 on NUMA node 3, "
        "GPU2 and GPU3 on NUMA node 1, GPU4 and GPU5 on NUMA node 7 and "
        "GPU6 and GPU7 on NUMA node 5; "
        "mlx5_0 and mlx5_1 next to GPU0 and GPU1, mlx5_2 and mlx5_3 next to GPU2 and GPU3, "
        "mlx5_4 and mlx5_5 next to GPU4 and GPU5, mlx5_6 and mlx5_7 next to GPU6 and GPU7, "
        "mlx5_8 nearest to GPU6 and GPU7 (NODE)"
    )


def test_pcie_alone_is_said_from_the_closest_link_on() -> None:
    topology = printed(
        by_pair("PIX", "NODE", "SYS"),
        8,
        cpus=lambda gpu: f"{gpu // 4}0-{gpu // 4}9",
        numa=lambda gpu: str(gpu // 4),
    )
    assert topology_summary(topology) == (
        "no NVLink, four PIX pairs, GPU0–1 and GPU2–3 on NUMA node 0, "
        "GPU4–5 and GPU6–7 on NUMA node 1; across them NODE or SYS"
    )
    assert topology_summary(printed(lambda _a, _b: "SYS", 2)) == "no NVLink, every pair SYS"
    phb = printed(by_pair("PHB", "SYS", "SYS"), 4)
    assert topology_summary(phb) == "no NVLink, two PHB pairs, GPU0–1 and GPU2–3; across them SYS"


def test_the_best_pair_may_be_so_for_its_numa_node_or_its_nic_alone() -> None:
    split = printed(lambda _a, _b: "NV4", 4, numa=lambda gpu: str(min(1, gpu)))
    assert topology_summary(split).endswith(
        "for 1n2g 1,2: NV4 and on one NUMA node (0,1, the first two, are on two)"
    )
    nic = printed(
        lambda _a, _b: "NV4",
        4,
        nics=("mlx5_0",),
        near=lambda _, gpu: "PXB" if gpu > 1 else "SYS",
    )
    assert topology_summary(nic).endswith(
        "for 1n2g 2,3: NV4 and next to the NIC (0,1, the first two, are farther from it)"
    )


def test_bridged_pairs_and_those_without_a_bridge() -> None:
    def bridged(a: int, b: int) -> str:
        return "NV12" if (a, b) == (0, 1) else "PHB"

    topology = printed(bridged, 4)
    assert topology_summary(topology) == (
        "one NVLink pair, GPU0–1; GPU2 and GPU3 without NVLink; across them PHB"
    )


def test_partitioned_gpus_are_named_for_their_slices_have_no_links() -> None:
    summary = topology_summary(dgx_a100(), partitioned=(1, 2, 3, 99))
    assert summary.startswith("every pair NV12")
    assert summary.endswith("partitioned (MIG): GPU1…3, whose slices have none of these links")


def test_rates_of_nics_stand_with_them() -> None:
    ports = ("mlx5_0 100 Gb/sec (4X EDR)", "eth9 25 Gb/sec")
    assert "mlx5_0 (100 Gb/sec) next to GPU2" in topology_summary(cube_mesh(), interconnects=ports)
    down = ("mlx5_0 10 Gb/sec (4X SDR) down",)
    assert "mlx5_0 (10 Gb/sec, down)" in topology_summary(cube_mesh(), interconnects=down)


@pytest.mark.parametrize("legend", [(), ("mlx5_4",)], ids=["no legend", "legend"])
def test_a_nic_has_its_number_where_no_legend_names_it(legend: tuple[str, ...]) -> None:
    topology = printed(
        lambda _a, _b: "NV4",
        2,
        nics=("NIC0",),
        near=lambda _, gpu: ("PIX", "SYS")[gpu],
        legend=legend,
        underlined=True,
    )
    name = legend[0] if legend else "NIC0"
    assert topology_summary(topology).endswith(f"; {name} next to GPU0")


def test_sixteen_gpus_and_one() -> None:
    sixteen = printed(lambda _a, _b: "NV6", 16, numa=lambda gpu: str(gpu // 8))
    assert topology_summary(sixteen) == (
        "every pair NV6, one NVLink domain, GPU0…7 on NUMA node 0 and GPU8…15 on NUMA node 1"
    )
    assert best_by_size(graph_of(sixteen))[8] == tuple(range(8))
    one = printed(lambda _a, _b: "", 1, numa=lambda _: "1")
    assert topology_summary(one) == "one GPU, one NUMA node"
    assert best_by_size(graph_of(one)) == {}


def test_more_gpus_than_can_be_tried_in_all_sets_still_find_their_group() -> None:
    topology = printed(by_pair("NV4", "NODE", "SYS", half=8), 64, numa=lambda gpu: str(gpu // 8))
    assert best_set(graph_of(topology), 8) == tuple(range(8))
    assert best_set(graph_of(topology), 8, among=range(3, 64)) == tuple(range(8, 16))


def test_a_set_is_chosen_among_those_that_are_free() -> None:
    graph = graph_of(cube_mesh())
    assert best_set(graph, 2, among=(0, 1, 4, 5)) == (0, 4)
    assert best_set(graph, 4, among=range(1, 8)) == (4, 5, 6, 7)
    assert best_set(graph, 3, among=(0, 1)) is None
    assert best_set(graph, 0) is None
    assert best_set(graph, 2, among=(0, 1, 77)) == (0, 1)


def test_what_is_missing_is_unknown_and_not_made_up() -> None:
    torn = parse_topology("\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV4\n")
    assert torn is not None
    summary = topology_summary(torn)
    assert "NUMA" not in summary
    assert "socket" not in summary
    nothing = parse_topology("\tGPU0\tGPU1\nGPU0\t X \n")
    assert nothing is not None
    assert topology_summary(nothing) == "links unknown"


# Whatever the matrix is like ----------------------------------------------------------------------

sizes = st.integers(1, 9)


@st.composite
def topologies(draw: st.DrawFn, links: Sequence[str] = LINKS) -> Topology:
    gpus, nics = draw(sizes), draw(st.integers(0, 3))
    size = gpus + nics
    cell = st.sampled_from(links)
    drawn = {pair: draw(cell) for pair in itertools.combinations(range(size), 2)}
    return Topology(
        labels=(*(f"GPU{n}" for n in range(gpus)), *(f"NIC{n}" for n in range(nics))),
        links=tuple(
            tuple("X" if a == b else drawn[min(a, b), max(a, b)] for b in range(size))
            for a in range(size)
        ),
        cpu_affinity=tuple(draw(st.sampled_from(["0-3", "4-7", ""])) for _ in range(gpus)),
        numa_affinity=tuple(draw(st.sampled_from(["0", "1", "N/A", ""])) for _ in range(gpus)),
        nic_names={},
    )


def shuffled(topology: Topology, order: Sequence[int]) -> Topology:
    labels = [topology.labels[i] for i in order]
    gpus = [i for i in order if topology.labels[i].startswith("GPU")]
    return Topology(
        labels=tuple(labels),
        links=tuple(tuple(topology.links[i][j] for j in order) for i in order),
        cpu_affinity=tuple(topology.cpu_affinity[i] for i in gpus),
        numa_affinity=tuple(topology.numa_affinity[i] for i in gpus),
        nic_names=topology.nic_names,
    )


@given(topologies(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_says_nothing(
    topology: Topology, order: random.Random
) -> None:
    places = list(range(len(topology.labels)))
    order.shuffle(places)
    other = shuffled(topology, places)
    assert topology_summary(other) == topology_summary(topology)
    assert best_by_size(graph_of(other)) == best_by_size(graph_of(topology))


def worth_of(graph: DeviceGraph, gpus: Sequence[int]) -> tuple[object, ...]:
    """By the words of the module, over all that is in the set."""
    close = [closeness(graph.link(*pair)) for pair in itertools.combinations(gpus, 2)]
    together = [sum(values) for values in zip(*close, strict=True)]
    places = {graph.places[gpu] for gpu in gpus if gpu in graph.places}
    nics = sum(graph.nearest_nic[gpu] for gpu in gpus)
    return max(close, default=()), together, len(places), nics, gpus


@pytest.mark.parametrize("kinds", [2, len(LINKS)], ids=["alike", "all kinds"])
@given(st.data())
def test_no_set_is_better_than_the_best(kinds: int, data: st.DataObject) -> None:
    graph = graph_of(data.draw(topologies(LINKS[:kinds])))
    size, among = data.draw(sizes), data.draw(st.sets(st.integers(0, 9)) | st.none())
    free = [gpu for gpu in graph.gpus if among is None or gpu in among]
    sets = itertools.combinations(free, size)
    best = min(sets, key=lambda gpus: worth_of(graph, gpus), default=None)
    assert best_set(graph, size, among) == best


@given(topologies())
def test_only_links_that_are_there_are_spoken_of(topology: Topology) -> None:
    summary = topology_summary(topology)
    there = {link for row in topology.links for link in row}
    for link in LINKS[:-1]:
        if link not in there and not any(link in other for other in there):
            words = (
                summary.replace("no NVLink", "").replace("NUMA node", "").replace("NODE", "node")
            )
            assert f" {link}" not in (words if link != "NODE" else summary)


@given(
    st.builds(
        Topology,
        labels=st.lists(
            st.text(max_size=6) | st.sampled_from(["GPU0", "GPU1", "GPU007", "NIC0"]), max_size=6
        ).map(tuple),
        links=st.lists(st.lists(st.text(max_size=4), max_size=6).map(tuple), max_size=6).map(tuple),
        cpu_affinity=st.lists(st.text(max_size=4), max_size=4).map(tuple),
        numa_affinity=st.lists(st.text(max_size=4), max_size=4).map(tuple),
        nic_names=st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
    ),
    st.lists(st.text(max_size=20), max_size=3).map(tuple),
)
def test_no_matrix_raises(topology: Topology, ports: tuple[str, ...]) -> None:
    topology_summary(topology, interconnects=ports, partitioned=(0,))
    best_by_size(graph_of(topology))
