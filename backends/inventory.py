"""The hosts an operator may use: hosts.toml, ssh aliases, nodesets; without one, this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Host:
    """A machine reached by one transport.

    ``address`` is what SSH connects to (or an alias of the ssh config), ``train_address`` what the
    other hosts' ranks connect to. ``slots``: devices to use where there is no GPU; None: its CPUs.
    ``jump``: name of another inventory host or ``[user@]address[:port]``. Paths may start with ~;
    ``identity``, ``known_hosts`` and ``ssh_config`` are on this machine, ``work_dir`` on the host.
    """

    name: str
    transport: Literal["ssh", "local"] = "ssh"
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


@dataclass(frozen=True, slots=True)
class Inventory:
    """Hosts in the order of the file. ``path`` is None for the built-in inventory (this machine)."""

    hosts: tuple[Host, ...]
    path: Path | None = None
