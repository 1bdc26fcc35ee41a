"""Hosts, the inventory of those an operator may use, and how some of them are selected."""

from __future__ import annotations

import fnmatch
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from backends.file_modes import Share
from backends.inventory.job_options import JobOptions
from backends.inventory.nodesets import expand_nodeset, fold_nodeset, split_top_level
from backends.inventory.notify_settings import NotifySettings
from profiles.errors import DlperfError, SelectionError
from profiles.nearest import did_you_mean

TRANSPORTS = {"ssh": "over SSH", "local": "this machine, without SSH"}
"""How a host may be reached. A new one is an entry here and its file in
:mod:`backends.transports`."""

ENGINES = ("direct", "slurm")
"""Who may give a run its hosts: :mod:`backends.engines`. A new one is an entry here."""

QUEUES = ("slurm",)
"""Those that have hosts of their own, which they give one after another to whoever asks."""

PULLS = ("never", "missing")
"""When a container image may be fetched to a host: never, or where it is not there."""

HOST_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._-]{0,119}", re.ASCII)
"""Host names become file names and words of commands."""


class InventoryError(DlperfError):
    """The inventory file is missing, malformed, or contradicts itself."""


@dataclass(frozen=True, slots=True)
class Host:
    """A machine reached by one transport.

    ``address`` is what SSH connects to (or an alias of the ssh config), ``train_address`` what the
    other hosts' ranks connect to. ``slots``: devices to use where there is no GPU; None: its CPUs.
    ``jump``: name of another inventory host or ``[user@]address[:port]``. Paths may start with ~;
    ``identity``, ``known_hosts`` and ``ssh_config`` are on this machine, ``work_dir`` and
    ``lease_dir`` on the host; without a ``lease_dir`` the lease lies in no directory.
    ``environment``: ``NAME=value`` for every run there; ``mpi_arguments``: more words for an
    ``mpirun`` that is started there. ``price_per_hour``: of one of its devices, in the currency
    that the operator means. ``pull``: one of :data:`PULLS`.
    """

    name: str
    transport: str = "ssh"
    address: str = ""
    port: int | None = None
    user: str | None = None
    identity: str | None = None
    known_hosts: str | None = None
    ssh_config: str | None = None
    jump: str | None = None
    train_address: str = ""
    interface: str | None = None
    labels: tuple[str, ...] = ()
    slots: int | None = None
    work_dir: str = "~/.cache/dlperf-tui"
    lease_dir: str = ""
    environment: tuple[str, ...] = ()
    mpi_arguments: tuple[str, ...] = ()
    price_per_hour: float | None = None
    pull: str = "never"


def this_machine(hostname: str | None = None) -> Host:
    """Without SSH. ``hostname``: its name; None: ask the system."""
    name = (socket.gethostname() if hostname is None else hostname).split(".")[0]
    return Host(name=name if HOST_NAME.fullmatch(name) else "localhost", transport="local")


_REACHED = ("transport", "address", "port", "user", "identity", "known_hosts", "ssh_config", "jump")


def reached_as(host: Host, today: Host) -> Host:
    """The host as it was, reached as it is ``today``: keys and addresses change, but what a run
    left in its ``work_dir`` is where it was."""
    return replace(host, **{key: getattr(today, key) for key in _REACHED})


@dataclass(frozen=True, slots=True)
class Inventory:
    """Hosts in the order of the file. ``path`` is None for the built-in inventory (this machine).

    ``aliases``: names of the ssh config that the file does not list; they can be selected too.
    ``share``: who may read new campaigns. ``engine``: one of :data:`ENGINES`; where it has a queue,
    ``login`` is the machine that has its programs, ``job_options`` is what it is asked for with
    every run, or ``clusters`` by the name of each, and ``hosts`` is what it told last. ``notify``:
    whom to tell what happens in campaigns; None: nobody.
    """

    hosts: tuple[Host, ...]
    path: Path | None = None
    aliases: tuple[Host, ...] = ()
    share: Share = Share.PRIVATE
    engine: str = "direct"
    login: Host | None = None
    job_options: JobOptions = field(default_factory=JobOptions)
    clusters: Mapping[str, JobOptions] = field(default_factory=dict)
    notify: NotifySettings | None = None

    def get(self, name: str) -> Host | None:
        """The host (or ssh alias) of that name, None where there is none."""
        return next((host for host in (*self.hosts, *self.aliases) if host.name == name), None)


def listed_address(host: Host) -> str:
    """The address as a table shows it: ``10.11.0.2``, ``127.0.0.1:2222``, ``local``."""
    if host.transport == "local":
        return "local"
    address = host.address or host.name
    if host.port in (None, 22):
        return address
    return f"[{address}]:{host.port}" if ":" in address else f"{address}:{host.port}"


def train_address_of(host: Host) -> str:
    """What the ranks of other hosts connect to: train_address, else address, else the name.

    A local host without either is 127.0.0.1, which only hosts of the same machine can reach.
    """
    if host.transport == "local":
        return host.train_address or host.address or "127.0.0.1"
    return host.train_address or host.address or host.name


def select(inventory: Inventory, nodeset: str | None) -> tuple[Host, ...]:
    """Hosts in the order of mention, each once; None selects all hosts of the inventory.

    ``nodeset``: names and ranges (``node[1-2],login``), labels (``@v100``; ``@*`` is every host),
    wildcards (``node*``); ``!`` takes away what follows it (``@v100!node3``).

    Raises SelectionError for unknown names and labels and for a selection that comes out empty.
    """
    if nodeset is None:
        return inventory.hosts
    chosen: dict[str, Host] = {}
    for separator, piece in split_top_level(nodeset, ",!"):
        if not piece:
            if separator == "" and nodeset.lstrip().startswith("!"):
                chosen.update((host.name, host) for host in inventory.hosts)
                continue
            raise SelectionError(
                f"empty name in {nodeset!r}",
                where="hosts",
                remedy="write names like node[1-2],login or a label like @v100",
            )
        found = _select_piece(inventory, piece)
        if separator == "!":
            for host in found:
                chosen.pop(host.name, None)
        else:
            chosen.update((host.name, host) for host in found if host.name not in chosen)
    if not chosen:
        raise SelectionError(
            f"{nodeset!r} leaves no host", where="hosts", remedy=_known_hosts(inventory)
        )
    return tuple(chosen.values())


def _select_piece(inventory: Inventory, piece: str) -> Sequence[Host]:
    if piece.startswith("@"):
        label = piece[1:]
        found = [host for host in inventory.hosts if label == "*" or label in host.labels]
        if not found:
            labels = sorted({label for host in inventory.hosts for label in host.labels})
            raise SelectionError(
                f"no host has the label {label!r}",
                where="hosts",
                remedy=f"known labels: {', '.join(labels)}" if labels else "no host has labels",
            )
        return found
    if "*" in piece or "?" in piece:
        found = [host for host in inventory.hosts if fnmatch.fnmatchcase(host.name, piece)]
        if not found:
            raise SelectionError(
                f"no host matches {piece!r}", where="hosts", remedy=_known_hosts(inventory)
            )
        return found
    try:
        names = expand_nodeset(piece)
    except ValueError as error:
        raise SelectionError(
            str(error), where="hosts", remedy="write names like node[1-2],login"
        ) from error
    return [_named(inventory, name) for name in names]


def _named(inventory: Inventory, name: str) -> Host:
    host = inventory.get(name)
    if host is None:
        known = [host.name for host in (*inventory.hosts, *inventory.aliases)]
        raise SelectionError(
            f"unknown host {name!r}{did_you_mean(name, known)}",
            where="hosts",
            remedy=_known_hosts(inventory),
        )
    return host


def _known_hosts(inventory: Inventory) -> str:
    names = [host.name for host in inventory.hosts]
    source = f" (from {inventory.path})" if inventory.path else ""
    return f"known hosts: {fold_nodeset(names)}{source}"
