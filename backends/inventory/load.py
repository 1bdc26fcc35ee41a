"""The operator's inventory: the file that was named, their own, or this machine alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from backends.inventory.aliases import aliased_hosts
from backends.inventory.host_entry import QUEUES, Inventory, this_machine
from backends.inventory.job_options import JobsAsked

NOTHING_ASKED = JobsAsked()


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
    engine: str | None = None,
    jobs: JobsAsked = NOTHING_ASKED,
) -> Inventory:
    """Read the inventory, or make up the one of this machine alone.

    Parameters
    ----------
    path: what ``--inventory`` names; it must exist.
    default_path: read when ``path`` is None and it exists; None: :func:`default_inventory_path`.
    ssh_config: where the operator's ssh aliases stand; None: ``~/.ssh/config``.
    hostname: this machine's name; None: ask the system.
    engine: who gives the hosts, whatever the file says; None: as it says.
    jobs: what is asked of its queue besides.

    Raises InventoryError, which names the file, the entry, the key and the remedy.
    """
    found = _read(path, default_path, ssh_config, hostname)
    of_each = {name: jobs.over(options) for name, options in found.clusters.items()}
    found = replace(found, job_options=jobs.over(found.job_options), clusters=of_each)
    if jobs.clusters:
        from backends.inventory.queue import chosen_clusters  # noqa: PLC0415 (when asked for)

        found = chosen_clusters(found, jobs.clusters)
    return found if engine is None else by_engine(found, engine, hostname)


def by_engine(inventory: Inventory, engine: str, hostname: str | None = None) -> Inventory:
    """The same with another engine; where that has a queue, this machine has its programs."""
    if engine == inventory.engine:
        return inventory
    if engine in QUEUES:
        login = inventory.login or this_machine(hostname)
        return replace(inventory, hosts=(), aliases=(), engine=engine, login=login)
    here = inventory.login or this_machine(hostname)
    return replace(inventory, hosts=(here,), engine=engine, login=None)


def _read(
    path: Path | None, default_path: Path | None, ssh_config: Path | None, hostname: str | None
) -> Inventory:
    default_path = default_path or default_inventory_path()
    ssh_config = ssh_config or Path("~/.ssh/config").expanduser()
    if path is None and not default_path.exists():
        here = (this_machine(hostname),)
        return Inventory(here, None, aliased_hosts(ssh_config, {}, here))
    from backends.inventory.hosts_toml import read_hosts_file  # noqa: PLC0415 (builds models)

    return read_hosts_file(path or default_path, ssh_config)
