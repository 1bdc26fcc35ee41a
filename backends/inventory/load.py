"""The operator's inventory: the file that was named, their own, or this machine alone."""

from __future__ import annotations

import socket
from pathlib import Path

from backends.inventory.aliases import aliased_hosts
from backends.inventory.host_entry import HOST_NAME, Host, Inventory


def default_inventory_path() -> Path:
    """``$XDG_CONFIG_HOME/dlperf-tui/hosts.toml``, by default below ``~/.config``."""
    from platformdirs.unix import Unix  # noqa: PLC0415 (the XDG rule on every system)

    return Unix("dlperf-tui").user_config_path / "hosts.toml"


def load_inventory(
    path: Path | None = None,
    *,
    default_path: Path | None = None,
    ssh_config: Path | None = None,
    hostname: str | None = None,
) -> Inventory:
    """Read the inventory, or make up the one of this machine alone.

    Parameters
    ----------
    path: what ``--inventory`` names; it must exist.
    default_path: read when ``path`` is None and it exists; None: :func:`default_inventory_path`.
    ssh_config: where the operator's ssh aliases stand; None: ``~/.ssh/config``.
    hostname: this machine's name; None: ask the system.

    Raises InventoryError, which names the file, the entry, the key and the remedy.
    """
    default_path = default_path or default_inventory_path()
    ssh_config = ssh_config or Path("~/.ssh/config").expanduser()
    if path is None and not default_path.exists():
        this_machine = Host(name=_short_name(hostname), transport="local")
        return Inventory((this_machine,), None, aliased_hosts(ssh_config, {}, (this_machine,)))
    from backends.inventory.hosts_toml import read_hosts_file  # noqa: PLC0415 (builds models)

    return read_hosts_file(path or default_path, ssh_config)


def _short_name(hostname: str | None) -> str:
    name = (socket.gethostname() if hostname is None else hostname).split(".")[0]
    return name if HOST_NAME.fullmatch(name) else "localhost"
