"""Which names are of one machine, by what its kernel calls this boot."""

from __future__ import annotations

from collections.abc import Iterable


def by_machine(boot_ids: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The names of each machine, each once, in their order. ``boot_ids``: a name and its boot id;
    one whose id is empty, since nobody knows it, is a machine of its own."""
    machines: dict[tuple[bool, str], dict[str, None]] = {}
    for name, boot_id in boot_ids:
        machine = (True, boot_id) if boot_id else (False, name)
        machines.setdefault(machine, {})[name] = None
    return [[*names] for names in machines.values()]
