"""Whether two campaigns were measured on the same machines, whatever their software is."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.hosts.machines import (
    Machines,
    machines_apart,
    machines_of,
    machines_text,
    nothing_shared,
    same_machines,
    setup_apart,
    told_apart,
)
from backends.inventory.nodesets import fold_nodeset
from tui.screens.compare_panels import machines_shown
from tui.widgets.header import cluster_words

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"

gpus = st.frozensets(st.sampled_from("abcdef"), min_size=1)
machines = st.builds(
    Machines,
    hosts=st.integers(1, 4),
    gpus=st.integers(1, 32),
    cpus=st.integers(1, 512),
    memory_gib=st.integers(8, 4096),
    uuids=gpus,
)


def example(name: str) -> Machines:
    found = machines_of(recorded_hosts(EXAMPLES / name, 0.0), {"vm"})
    assert found is not None
    return found


def test_what_differs_between_two_machines_with_the_same_software_is_told() -> None:
    four, two = example("h200-x4-resnet50-graphs"), example("h200-x2-resnet50-graphs")
    said = machines_apart(four, two)
    assert said == "4 → 2 GPUs, 64 → 32 CPUs, 504 → 252 GiB, no GPU in common"
    assert machines_text(two) == "1 host, 2 GPUs, 32 CPUs, 252 GiB"


@given(machines)
def test_a_machine_is_no_other_than_itself(one: Machines) -> None:
    assert machines_apart(one, one) == ""


@given(machines, st.sampled_from(["hosts", "gpus", "cpus", "memory_gib"]), st.integers(1, 100))
def test_whatever_is_larger_is_told_both_ways_round(one: Machines, name: str, more: int) -> None:
    by = more + (getattr(one, name) // 50 if name == "memory_gib" else 0)
    larger = replace(one, **{name: getattr(one, name) + by})
    before, after = getattr(one, name), getattr(larger, name)
    assert f"{before} → {after} " in machines_apart(one, larger)
    assert f"{after} → {before} " in machines_apart(larger, one)


@given(machines, gpus)
def test_they_are_other_machines_only_where_no_gpu_is_in_both(
    one: Machines, theirs: frozenset[str]
) -> None:
    other = replace(one, uuids=theirs)
    assert ("no GPU in common" in machines_apart(one, other)) == one.uuids.isdisjoint(theirs)
    unknown = replace(one, uuids=frozenset())
    assert machines_apart(one, unknown) == machines_apart(unknown, one) == ""


def test_memory_that_another_kernel_keeps_to_itself_is_no_other_machine() -> None:
    one = example("h200-x4")
    assert machines_apart(one, replace(one, memory_gib=one.memory_gib - 3)) == ""


@pytest.mark.parametrize("names", [set(), {"vm", "node7"}])
def test_nothing_is_said_of_hosts_of_which_one_is_not_recorded(names: set[str]) -> None:
    assert machines_of(recorded_hosts(EXAMPLES / "h200-x4", 0.0), names) is None


@given(st.lists(machines, max_size=6))
def test_as_many_are_told_apart_as_share_nothing_by_way_of_others_either(
    several: list[Machines],
) -> None:
    found = told_apart(several)
    assert found == told_apart(several[::-1]) == told_apart([*several, *several])
    assert found <= len(several)
    assert (found == len(several)) == all(
        nothing_shared(one, other) for one, other in combinations(several, 2)
    )


CPUS = Machines(1, 0, 8, 30, names=frozenset({"vm"}), models=frozenset({"EPYC 7742"}))


@pytest.mark.parametrize(
    ("other", "apart"),
    [
        (CPUS, False),
        (replace(CPUS, cpus=4), False),  # a run may be given some of them
        (replace(CPUS, models=frozenset({"Xeon"})), True),
        (replace(CPUS, models=frozenset()), False),
        (replace(CPUS, ids=frozenset("b")), True),
        (replace(CPUS, ids=frozenset("a")), False),
        (replace(CPUS, ids=frozenset()), False),  # recorded when ids were not
    ],
)
def test_hosts_without_gpus_that_have_one_name_are_told_apart(other: Machines, apart: bool) -> None:
    one = replace(CPUS, ids=frozenset("a"))
    assert told_apart([one, other]) == 1 + apart
    assert nothing_shared(one, other) == "no host in common" * apart


@given(machines, gpus)
def test_a_host_of_which_nothing_is_known_is_no_further_machine(
    one: Machines, theirs: frozenset[str]
) -> None:
    other, unknown = replace(one, uuids=theirs), replace(one, uuids=frozenset())
    assert told_apart([unknown, one, other, unknown]) == told_apart([one, other])
    assert told_apart([unknown, unknown]) == 0


NAMES = ["a", "b", "c", "d", "e"]


@given(st.lists(st.sampled_from(["", "1", "2", "3"]), min_size=1, max_size=5), st.data())
def test_a_machine_of_several_names_counts_once(boots: list[str], data: st.DataObject) -> None:
    """One kernel has one boot id, whatever containers or addresses call it."""
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    seen = {}
    for name, boot in zip(NAMES, boots, strict=False):
        gpus = tuple(replace(gpu, uuid=f"{boot or name} {gpu.index}") for gpu in vm.facts.gpus)
        facts = replace(vm.facts, boot_id=boot, gpus=gpus)
        seen[name] = replace(vm, name=name, facts=facts)
    used = data.draw(st.sets(st.sampled_from([*seen]), min_size=1))
    found = machines_of(seen.values(), used)
    assert found is not None
    own: dict[str, list[str]] = {}
    for name in sorted(used):
        own.setdefault(boots[NAMES.index(name)] or name, []).append(name)
    one = machines_of([vm], {"vm"})
    assert one is not None
    sizes = (found.hosts, found.gpus, found.cpus)
    assert sizes == tuple(len(own) * size for size in (1, one.gpus, one.cpus))
    assert found.memory_gib == pytest.approx(len(own) * one.memory_gib, abs=len(own))
    several = [tuple(names) for names in own.values() if len(names) > 1]
    assert [*found.by_names] == several
    for names in several:
        assert f"{fold_nodeset(names)} are the same" in machines_text(found)


def probed(name: str, index: int, **changes: object) -> Machines:
    """A host of the example with other GPUs, and its own kernel."""
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    gpus = tuple(replace(gpu, uuid=f"{name} {gpu.index}") for gpu in vm.facts.gpus)
    facts = replace(vm.facts, gpus=gpus, boot_id=str(index))
    found = machines_of([replace(vm, name=name, facts=replace(facts, **changes))], {name})
    assert found is not None
    return found


@given(st.lists(st.integers(0, 2), min_size=2, max_size=5))
def test_one_kernel_is_one_machine_whatever_its_gpus_call_themselves(kernels: list[int]) -> None:
    seen = [probed(f"h{at}", kernel) for at, kernel in enumerate(kernels)]
    for (one, ours), (other, theirs) in combinations(zip(kernels, seen, strict=True), 2):
        assert bool(nothing_shared(ours, theirs)) == (one != other)
    assert told_apart(seen) == len({*kernels})


def test_models_and_settings_of_gpus_are_told_but_of_runs_that_use_none() -> None:
    h200 = probed("hb", 1)
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    gpus = tuple(
        replace(gpu, name="Tesla V100-SXM2-16GB", uuid=f"va {gpu.index}", power_limit_w=300.0)
        for gpu in vm.facts.gpus
    )
    v100 = probed("va", 1, gpus=gpus, driver_version="470.57.02", cuda_version="11.4")
    assert machines_apart(h200, v100) == "H200 → V100-SXM2-16GB"
    told = machines_apart(h200, v100, setup=True)
    for part in ("→ 470.57.02", "→ 11.4", "power limit 700 W → 300 W"):
        assert part in told
    assert setup_apart(h200, h200) == ""
    assert machines_apart(h200.of_cpus(), v100.of_cpus(), setup=True) == "", "runs on CPUs use none"
    apart = replace(v100, boots=frozenset({"another"}))
    assert machines_apart(h200.of_cpus(), apart.of_cpus(), setup=True) == "no host in common"
    assert setup_apart(h200, replace(v100, setup=())) == ""  # it does not tell


@given(
    *[st.lists(st.sampled_from("xyz"), min_size=1, max_size=4)] * 2,
    st.sampled_from(["boot", "GPUs"]),
)
def test_the_same_machines_are_said_to_be_so_by_whatever_names_and_their_gpus_count_once(
    ours: list[str], theirs: list[str], by: str
) -> None:
    """``by`` GPUs: each machine was restarted between the campaigns."""
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    sides = []
    for side, on in enumerate((ours, theirs)):
        hosts = []
        for at, machine in enumerate(on):
            gpus = tuple(replace(gpu, uuid=f"{machine} {gpu.index}") for gpu in vm.facts.gpus)
            boot = machine if by == "boot" else f"{machine}{side}"
            facts = replace(vm.facts, boot_id=boot, gpus=gpus)
            hosts.append(replace(vm, name=f"{machine}{at}", facts=facts))
        found = machines_of(hosts, {host.name for host in hosts})
        assert found is not None
        assert found.gpus == 4 * len({*on})
        twice = f" ({found.gpus} distinct)" * (len({*on}) < len(on))
        assert cluster_words(hosts).endswith(f" {4 * len(on)} GPUs{twice}")
        sides.append(found)
    same = {*ours} == {*theirs}
    assert same_machines(*sides) is same
    shown = machines_shown(sides).plain
    assert not (same and "not the same" in shown)
    if same and sides[0].by_names != sides[1].by_names:
        assert shown.startswith("Hosts  the same, by other names\n")
        assert all(machines_text(side) in shown for side in sides)
