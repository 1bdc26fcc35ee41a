"""Nodes as Slurm knows them: state and reason, partitions, CPUs, GPUs, and who has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from backends.engines.slurm.commands import (
    Document,
    SlurmCommands,
    columns,
    is_number,
    node_names,
    number,
    rows,
)
from backends.engines.slurm.gres import Gpus, device_indices, parse_gpus

_LOAD = re.compile(r"\d+(\.\d+)?", re.ASCII)
WORKS = frozenset({"idle", "mixed", "allocated"})
"""States of a node that takes jobs, unless a flag keeps them off."""
_KEEPS_OFF = frozenset({"drain", "fail", "maintenance", "not_responding", "invalid_reg"})


@dataclass(frozen=True, slots=True)
class Node:
    """A node at one moment.

    ``state``: idle, mixed, allocated, down … ``flags``: drain, reserved, maintenance,
    not_responding, powered_down … (sinfo(1), NODE STATE CODES, written out). ``load``: of the
    last minute; ``memory_free_mib``: None where slurmd has not told. ``reason``: why an
    operator or Slurm took it out. ``gpus``: all of them, by type; ``used``: indices of those that
    jobs have. ``users``: of the jobs on it. ``reservation``: that it is in at this time.
    """

    name: str
    partitions: tuple[str, ...]
    state: str
    flags: tuple[str, ...] = ()
    reason: str = ""
    cpus: int = 0
    load: float = 0.0
    memory_mib: int = 0
    memory_free_mib: int | None = None
    gpus: tuple[Gpus, ...] = ()
    used: tuple[int, ...] = ()
    gpus_used: int = 0
    users: tuple[str, ...] = ()
    reservation: str = ""

    @property
    def gpu_count(self) -> int:
        return sum(gpus.count for gpus in self.gpus)

    @property
    def takes_jobs(self) -> bool:
        """Now or when those that are on it have ended."""
        return self.state in WORKS and not _KEEPS_OFF.intersection(self.flags)


async def all_nodes(commands: SlurmCommands) -> tuple[Node, ...]:
    """Every node that this user may see, in Slurm's order.

    Raises
    ------
    SlurmError, HostUnreachableError.
    """
    found = await _nodes(commands)
    users = await _users(commands)
    reserved = any("reserved" in node.flags or "maintenance" in node.flags for node in found)
    reservations = await _reservations(commands) if reserved else {}
    return tuple(
        replace(
            node,
            users=tuple(sorted(users.get(node.name, ()))),
            reservation=reservations.get(node.name, ""),
        )
        for node in found
    )


async def _nodes(commands: SlurmCommands) -> list[Node]:
    """scontrol's JSON is there from 23.02 on; sinfo's had the nodes before that."""
    for program, words in (
        ("scontrol", ("--all", "--details", "show", "nodes")),
        ("sinfo", ("--all",)),
    ):
        document = await commands.document(program, *words)
        if document is not None and "nodes" in document.content:
            return nodes_in(document)
    text = await commands.run("sinfo", "--noheader", "--Node", "--all", f"--Format={_FORM}")
    return parse_sinfo(text)


def nodes_in(document: Document) -> list[Node]:
    """The nodes of a document of scontrol's, or of sinfo's v0.0.38."""
    return [_node(found) for found in document.content["nodes"]]


def _node(found: Mapping[str, Any]) -> Node:
    states = (*_words(found.get("state")), *_words(found.get("state_flags")))
    state, *flags = [word.lower() for word in states] or ["unknown"]
    return Node(
        str(found.get("name") or ""),
        tuple(sorted(_words(found.get("partitions")))),
        state,
        tuple(sorted(flags)),
        reason=str(found.get("reason") or ""),
        cpus=number(found.get("cpus")) or 0,
        load=(number(found.get("cpu_load")) or 0) / 100,
        memory_mib=number(found.get("real_memory")) or 0,
        memory_free_mib=number(found.get("free_mem", found.get("free_memory"))),
        **_gpus(str(found.get("gres") or ""), str(found.get("gres_used") or "")),
    )


def _words(value: object) -> list[str]:
    """``"idle"``, or from v0.0.39 on a list of the state and its flags."""
    words = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return [word for word in words if isinstance(word, str)]


def _gpus(gres: str, used: str) -> dict[str, Any]:
    return {
        "gpus": parse_gpus(gres),
        "used": device_indices(used),
        "gpus_used": sum(gpus.count for gpus in parse_gpus(used)),
    }


_COLUMNS = ("NodeList", "Partition", "StateComplete", "Reason", "CPUsState", "CPUsLoad")
_FORM = columns(*_COLUMNS, "Memory", "FreeMem", "Gres", "GresUsed")


def parse_sinfo(text: str) -> list[Node]:
    """The same as text: a line for each node in each of its partitions."""
    found: dict[str, Node] = {}
    partitions: dict[str, set[str]] = {}
    for row in rows(text, len(_COLUMNS) + 4):
        name, partition, state_words, reason, cpus, load, memory, free, gres, used = row
        partitions.setdefault(name, set()).add(partition.removesuffix("*"))  # of the default one
        if name in found:
            continue
        state, *flags = state_words.lower().split("+")
        found[name] = Node(
            name,
            (),
            state,
            tuple(sorted(flags)),
            reason="" if reason == "none" else reason,
            cpus=_total(cpus),
            load=float(load) if _LOAD.fullmatch(load) else 0.0,
            memory_mib=int(memory) if is_number(memory) else 0,
            memory_free_mib=int(free) if is_number(free) else None,
            **_gpus(gres, used),
        )
    return [
        replace(node, partitions=tuple(sorted(partitions[name]))) for name, node in found.items()
    ]


def _total(cpus: str) -> int:
    """Of allocated, idle, other, total: ``2/14/0/16``."""
    parts = cpus.split("/")
    return int(parts[3]) if len(parts) == 4 and is_number(parts[3]) else 0


async def _users(commands: SlurmCommands) -> dict[str, set[str]]:
    """Whose jobs are on the nodes, by node; those that Slurm keeps private are not told."""
    form = columns("UserName", "NodeList")
    words = ("--noheader", "--all", "--states=running,suspended,completing,configuring")
    text = await commands.run("squeue", *words, f"--Format={form}")
    users: dict[str, set[str]] = {}
    for user, nodes in rows(text, 2):
        for node in node_names(nodes):
            users.setdefault(node, set()).add(user)
    return users


async def _reservations(commands: SlurmCommands) -> dict[str, str]:
    """The names of those that hold now, by node."""
    text = await commands.run("scontrol", "--oneliner", "show", "reservation")
    return parse_reservations(text)


def parse_reservations(text: str) -> dict[str, str]:
    """``scontrol --oneliner show reservation``: the names of the active ones, by node."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        told = dict(word.partition("=")[::2] for word in line.split())
        if told.get("State") == "ACTIVE":
            nodes = node_names(told.get("Nodes", ""))
            found.update(dict.fromkeys(nodes, told.get("ReservationName", "")))
    return found
