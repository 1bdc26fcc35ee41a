"""Which names are of one machine, by what its kernel calls this boot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from backends.hosts.host_facts import Concern, HostSnapshot
from backends.inventory.nodesets import fold_nodeset

KEEP_ONE = (
    "runs on them at the same time share its devices, and have grade C at best: use one alone"
    " (o on Matrix, --hosts, or the inventory), unless you mean it"
)


def are_one(names: Sequence[str]) -> str:
    """ "node[1-2] are the same machine"."""
    return f"{fold_nodeset(names)} are the same machine"


def with_same_machines(hosts: Sequence[HostSnapshot]) -> tuple[HostSnapshot, ...]:
    """The same, with a concern of each that is one machine with others of them."""
    machines = by_machine((host.name, host.facts.boot_id) for host in hosts if host.facts)
    said = {
        name: Concern(are_one(names), KEEP_ONE)
        for names in machines
        if len(names) > 1
        for name in names
    }
    return tuple(
        replace(host, concerns=(*host.concerns, said[host.name])) if host.name in said else host
        for host in hosts
    )


def by_machine(boot_ids: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The names of each machine, each once, in their order. ``boot_ids``: a name and its boot id;
    one whose id is empty, since nobody knows it, is a machine of its own."""
    machines: dict[tuple[bool, str], dict[str, None]] = {}
    for name, boot_id in boot_ids:
        machine = (True, boot_id) if boot_id else (False, name)
        machines.setdefault(machine, {})[name] = None
    return [[*names] for names in machines.values()]


def one_name_each(boot_ids: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By every name one of its machine's, the same for all of them. A machine that was restarted
    has several boot ids, and its names."""
    machines = by_machine(boot_ids)
    several = joined_sets(frozenset(names) for names in machines if len(names) > 1)
    alone = {name: name for names in machines for name in names}
    return alone | {name: min(names) for names in several for name in names}


def joined_sets(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Those that have anything in common are one."""
    apart: list[frozenset[str]] = []
    for one in filter(None, sets):
        joined = one.union(*(other for other in apart if other & one))
        apart = [*(other for other in apart if not other & one), joined]
    return apart
