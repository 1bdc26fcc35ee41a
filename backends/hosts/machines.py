"""How large the hosts of a campaign were, and whether they were the same machines.

No part of a fingerprint: a figure of two GPUs may stand beside one of a host that has four. Who
compares them must know it all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from backends.hosts.environment import gpu_settings
from backends.hosts.fingerprint import UNKNOWN
from backends.hosts.host_facts import Gpu, HostFacts, HostSnapshot
from backends.hosts.same_machine import by_machine, joined_sets
from backends.inventory.nodesets import fold_nodeset
from profiles.counted import counted

SAME_MEMORY = 0.01
"""Another kernel keeps a little more of it to itself."""


@dataclass(frozen=True, slots=True)
class Machines:
    """The hosts together. ``uuids``: of the GPUs; of machines without GPUs ``names``, what they
    call themselves, ``ids``, the digests of their own ids, and ``models``, of their CPUs. Each is
    empty where one of the hosts does not tell. ``boots``: of their kernels, as far as they tell.
    ``by_names``: what those are called that have several names and count once. ``gpu_models``,
    and ``setup``: their driver, CUDA and how their GPUs are set, by name, as far as all tell."""

    hosts: int
    gpus: int
    cpus: int
    memory_gib: int
    uuids: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    boots: frozenset[str] = frozenset()
    by_names: tuple[tuple[str, ...], ...] = ()
    gpu_models: frozenset[str] = frozenset()
    setup: tuple[tuple[str, str], ...] = ()

    def of_cpus(self) -> Machines:
        """What matters of them to runs that leave their GPUs alone; which machines these are is
        told by the GPUs all the same."""
        return replace(self, gpus=0, gpu_models=frozenset(), setup=())


Recorded = Mapping[tuple[str, str], Machines]
"""Of single hosts, by the names of a campaign and of the host."""
NOT_RECORDED: Recorded = MappingProxyType({})


def machines_of(hosts: Iterable[HostSnapshot], took_part: Collection[str]) -> Machines | None:
    """Of those that ``took_part``, by their names; None where not all of these were recorded."""
    facts = {host.name: host.facts for host in hosts if host.facts is not None}
    named = {name: facts[name] for name in sorted({*took_part} & {*facts})}
    if not named or {*took_part} - {*facts}:
        return None
    used = [*named.values()]
    called = _called(named)
    machines = [[named[name] for name in names] for names in called]
    gpus = _gpus(machines)
    without_gpus = [] if gpus else used
    memory_mib = sum(max(one.memory_mib for one in own) for own in machines)
    return Machines(
        hosts=len(machines),
        gpus=len(gpus),
        cpus=sum(max(one.cpus for one in own) for own in machines),
        memory_gib=round(memory_mib / 1024),
        uuids=_all_told(gpu.uuid for gpu in gpus),
        names=_all_told(one.hostname for one in without_gpus),
        ids=_all_told(one.machine for one in without_gpus),
        models=_all_told(one.cpu_model for one in without_gpus),
        boots=frozenset(filter(None, (one.boot_id for one in used))),
        by_names=tuple(tuple(names) for names in called if len(names) > 1),
        gpu_models=frozenset(gpu.model for gpu in gpus),
        setup=tuple(_setup(used)),
    )


def _called(named: Mapping[str, HostFacts]) -> list[list[str]]:
    return by_machine((name, one.boot_id) for name, one in named.items())


def count_gpus(hosts: Iterable[HostSnapshot]) -> int:
    """Of all whose facts are known, each once, whatever names its machine has."""
    named = {host.name: host.facts for host in hosts if host.facts is not None}
    return len(_gpus([[named[name] for name in names] for names in _called(named)]))


def _gpus(machines: Iterable[Iterable[HostFacts]]) -> Collection[Gpu]:
    found = {
        (gpu.uuid or f"{at} {gpu.index}", gpu.model): gpu
        for at, own in enumerate(machines)
        for one in own
        for gpu in one.gpus
    }
    return found.values()


def _setup(used: Sequence[HostFacts]) -> Iterator[tuple[str, str]]:
    told = {
        "driver": [one.driver_version or "" for one in used],
        "CUDA": [one.cuda_version or "" for one in used],
    }
    for name, versions in told.items():
        if all(versions):
            yield name, " + ".join(sorted(set(versions)))
    settings = gpu_settings([gpu for one in used for gpu in one.gpus])
    yield from ((name, value) for name, value in settings.items() if value != UNKNOWN)


def _all_told(values: Iterable[str]) -> frozenset[str]:
    told = frozenset(values)
    return frozenset() if "" in told else told


def machines_text(machines: Machines) -> str:
    """``1 host, 4 GPUs, 64 CPUs, 504 GiB``; ``1 machine (node[1-3] are the same) …`` of several
    names, ``8 GPUs (H200 + V100) …`` of several models."""
    models = sorted(machines.gpu_models)
    several = f" ({' + '.join(models)})" * (len(models) > 1)
    gpus = [counted(machines.gpus, "GPU") + several] * bool(machines.gpus)
    names = ", ".join(names_of_one(machines))
    sizes = [
        counted(machines.hosts, "machine") + f" ({names})"
        if names
        else counted(machines.hosts, "host"),
        *gpus,
        counted(machines.cpus, "CPU"),
    ]
    return ", ".join([*sizes, f"{machines.memory_gib} GiB"])


def names_of_one(machines: Machines) -> list[str]:
    """``node[1-3] are the same``, of each that has several names."""
    return [f"{fold_nodeset(names)} are the same" for names in machines.by_names]


def machines_apart(ours: Machines, theirs: Machines, *, setup: bool = False) -> str:
    """``4 → 2 GPUs, 64 → 32 CPUs, 504 → 252 GiB, V100 → H200, no GPU in common``; empty where
    nothing is known to differ: not how many of the same hosts were used, of one size all of them.
    ``setup``: with what :func:`setup_apart` says."""
    said = [] if _of_one_pool(ours, theirs) else _sizes_apart(ours, theirs)
    for models in ((ours.gpu_models, theirs.gpu_models), (ours.models, theirs.models)):
        if all(models) and models[0] != models[1]:
            said.append(" → ".join(" + ".join(sorted(own)) for own in models))
    told = [nothing_shared(ours, theirs), *([setup_apart(ours, theirs)] if setup else [])]
    return ", ".join([*said, *filter(None, told)])


def _of_one_pool(ours: Machines, theirs: Machines) -> bool:
    """They have a machine in common, and each as much as any other."""
    kept = ((ours.boots, theirs.boots), (ours.uuids, theirs.uuids), (ours.ids, theirs.ids))
    if all(own.isdisjoint(other) for own, other in kept):
        return False
    each, other = ((m.gpus / m.hosts, m.cpus / m.hosts) for m in (ours, theirs))
    memory, another = (m.memory_gib / m.hosts for m in (ours, theirs))
    return each == other and abs(memory - another) <= SAME_MEMORY * max(memory, another)


def _sizes_apart(ours: Machines, theirs: Machines) -> list[str]:
    sizes = (
        ("hosts", ours.hosts, theirs.hosts),
        ("GPUs", ours.gpus, theirs.gpus),
        ("CPUs", ours.cpus, theirs.cpus),
    )
    said = [f"{one} → {other} {unit}" for unit, one, other in sizes if one != other]
    one, other = ours.memory_gib, theirs.memory_gib
    if abs(one - other) > SAME_MEMORY * max(one, other):
        said.append(f"{one} → {other} GiB")
    return said


def setup_apart(ours: Machines, theirs: Machines) -> str:
    """``driver 470.57.02 → 580.159.04, power limit 300 W → 700 W``: of what both tell."""
    there = dict(theirs.setup)
    return ", ".join(
        f"{name} {value} → {there[name]}"
        for name, value in ours.setup
        if there.get(name, value) != value
    )


def same_machines(ours: Machines, theirs: Machines) -> bool:
    """They are known to be the same, all of them, by whatever names."""
    if ours.hosts != theirs.hosts:
        return False
    if len(ours.boots) == ours.hosts and ours.boots == theirs.boots:
        return True
    kept = ((ours.uuids, theirs.uuids), (ours.ids, theirs.ids))
    return any(len(own) >= ours.hosts and own == other for own, other in kept)


def nothing_shared(ours: Machines, theirs: Machines) -> str:
    """Why they are known to be other machines; empty where they are not. One kernel in common is
    one machine, whatever else is told; another one may be a restart of the same, and a machine's
    own id may be that of the image it was made from."""
    if not ours.boots.isdisjoint(theirs.boots):
        return ""
    if _apart(ours.uuids, theirs.uuids):
        return "no GPU in common" if ours.gpus and theirs.gpus else "no host in common"
    of_hosts = ((ours.names, theirs.names), (ours.ids, theirs.ids), (ours.models, theirs.models))
    return "no host in common" if any(_apart(*both) for both in of_hosts) else ""


def _apart(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    return bool(ours and theirs) and ours.isdisjoint(theirs)


def told_apart(machines: Iterable[Machines]) -> int:
    """How many of them are known to be other machines than one another. Who shares a GPU, or a
    kernel, with two others makes one of all three: a run sees those that it is given."""
    told = [*machines]
    ways = (
        [m.uuids for m in told],
        [m.names for m in told],
        [m.ids for m in told],
        [m.models for m in told],
    )
    kernels = [frozenset(f"kernel {boot}" for boot in m.boots) for m in told]
    return max(
        len(joined_sets(own and own | boots for own, boots in zip(sets, kernels, strict=True)))
        for sets in ways
    )
