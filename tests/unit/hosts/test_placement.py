"""The devices of a run by the host's links, and what lies next to them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.device_sets import best_set, graph_of
from backends.hosts.host_facts import Gpu, HostFacts, Topology
from backends.hosts.placement import Placement, Site, beside, choose, placement_of
from tests.unit.hosts.test_topology_words import LINKS, cube_mesh, printed

LINKED = Placement.LINKED


def facts(topology: Topology | None, gpus: int = 8, mig: tuple[int, ...] = ()) -> HostFacts:
    devices = tuple(
        Gpu(n, "V100", f"GPU-{n}", "", *[None] * 7, mig_enabled=n in mig) for n in range(gpus)
    )
    described = ("", "", "", "", 48, 2, 1, 1, 0.0, (), None, None, None)
    return HostFacts(*described, devices, (), topology, 0.0)


def test_two_gpus_of_a_cube_mesh_are_those_with_two_links_beside_the_nic() -> None:
    assert choose(LINKED, facts(cube_mesh()), 2) == Site((2, 3), LINKED, "0-11,24-35", ("mlx5_0",))


def test_four_gpus_of_a_cube_mesh_are_one_quad_on_its_own_socket() -> None:
    assert choose(LINKED, facts(cube_mesh()), 4) == Site(
        (0, 1, 2, 3), LINKED, "0-11,24-35", ("mlx5_0",)
    )


def test_all_gpus_of_two_sockets_are_bound_to_neither() -> None:
    assert choose(LINKED, facts(cube_mesh()), 8).cpus == ""


def test_a_quad_that_the_nic_is_not_at_gets_no_nic() -> None:
    assert beside(LINKED, facts(cube_mesh()), (4, 5)) == Site((4, 5), LINKED, "12-23,36-47")


def test_one_numa_node_is_the_whole_host_and_binds_nothing() -> None:
    flat = printed(lambda *_: "NV18", 8, cpus=lambda _: "0-63", numa=lambda _: "0")
    assert choose(LINKED, facts(flat), 2) == Site((0, 1), LINKED)


def test_the_first_ones_are_the_first_ones_whatever_the_links_are() -> None:
    assert choose(Placement.FIRST, facts(cube_mesh()), 2) == Site((0, 1))


def test_nothing_known_of_the_links_gives_the_first_ones_and_says_so() -> None:
    for known in (None, facts(None), facts(printed(lambda *_: "?", 8))):
        assert choose(LINKED, known, 2) == Site((0, 1), Placement.FIRST)


def test_partitioned_gpus_are_left_alone_where_there_are_others() -> None:
    assert not set(choose(LINKED, facts(cube_mesh(), mig=(2, 3)), 2).devices) & {2, 3}
    assert choose(LINKED, facts(cube_mesh(), mig=tuple(range(7))), 2) == Site((0, 1))


def test_what_a_host_prints_reaches_no_command_unless_it_is_a_name_or_a_list_of_cpus() -> None:
    said = printed(
        lambda *_: "NV1",
        2,
        cpus=lambda gpu: ("0-3;reboot", "4-7")[gpu],
        nics=("NIC0",),
        near=lambda *_: "PIX",
        legend=("mlx5_0 -rf",),
    )
    assert beside(LINKED, facts(said, 2), (0,)) == Site((0,), LINKED)


@given(st.lists(st.sampled_from(LINKS), min_size=28, max_size=28), st.integers(1, 8))
def test_chosen_devices_are_the_best_set_and_as_many_as_asked(links: list[str], count: int) -> None:
    matrix = printed(lambda a, b: links[a * 7 - a * (a - 1) // 2 + b - a - 1], 8)
    site = choose(LINKED, facts(matrix), count)
    assert len(set(site.devices)) == count
    if site.placement is LINKED:
        assert site.devices == best_set(graph_of(matrix), count)


def test_a_journal_that_says_something_else_means_the_first_ones() -> None:
    assert [placement_of(text) for text in ("linked", "first", "", "best")] == [
        LINKED,
        *[Placement.FIRST] * 3,
    ]
