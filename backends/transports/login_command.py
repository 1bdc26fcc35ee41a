"""How an operator logs in to a host by hand: the ``ssh`` command that means the host as we do."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from backends.inventory.host_entry import Host, Inventory


def login_command(host: Host, inventory: Inventory) -> tuple[str, ...]:
    """For an argument vector. Of this machine: its login shell.

    What the inventory does not say is the ssh configuration's to say, which ``ssh`` reads itself.
    """
    if host.transport == "local":
        return (os.environ.get("SHELL") or "/bin/sh", "-l")
    return ("ssh", *_options(host, inventory, 8), "--", host.address or host.name)


def _options(host: Host, inventory: Inventory, hops: int) -> list[str]:
    options: list[str] = []
    for flag, value in (
        ("-F", _path(host.ssh_config)),
        ("-p", str(host.port) if host.port else ""),
        ("-l", host.user or ""),
        ("-i", _path(host.identity)),
    ):
        if value:
            options += [flag, value]
    if host.known_hosts:
        options += ["-o", f"UserKnownHostsFile={_quoted(_path(host.known_hosts))}"]
    if host.jump is None or hops < 1:
        return options
    through = inventory.get(host.jump)
    if not host.jump:
        options += ["-o", "ProxyJump=none"]
    elif through is None:
        options += ["-J", host.jump]
    else:  # -J would not take its key or its known_hosts
        words = ["ssh", *_options(through, inventory, hops - 1), "-W"]
        command = shlex.join(words).replace("%", "%%")
        target = shlex.quote(through.address or through.name)
        options += ["-o", f"ProxyCommand={command} '[%h]:%p' -- {target}"]
    return options


def _path(path: str | None) -> str:
    return str(Path(path).expanduser()) if path else ""


def _quoted(path: str) -> str:
    """Of a configuration's value: a path with spaces is one word, and % stands for itself."""
    return '"' + path.replace("%", "%%") + '"'
