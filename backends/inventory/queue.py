"""A queue that gives hosts one after another to whoever asks, and what it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any  # the kinds of TOML and JSON

from backends.inventory.host_entry import Host, Inventory
from backends.inventory.host_to_toml import host_of, host_table
from backends.inventory.job_options import JobOptions, options_of
from backends.inventory.nodesets import fold_nodeset


@dataclass(frozen=True, slots=True)
class Queue:
    """``engine``: whose queue; ``login``: the machine that has its programs."""

    engine: str
    login: Host
    options: JobOptions = field(default_factory=JobOptions)

    @property
    def one_job(self) -> bool:
        """All runs of a campaign are in one."""
        return self.options.allocation == "campaign"


def queue_table(queue: Queue) -> dict[str, Any]:
    """For a campaign's files; what differs from the defaults."""
    told = {key: value for key, value in asdict(queue.options).items() if value is not None}
    options = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in told.items()
        if value != getattr(JobOptions(), key)
    }
    return {"engine": queue.engine, "login": host_table(queue.login), "options": options}


def queue_of(table: Mapping[str, Any]) -> Queue:
    """Raises ValueError where it is none, LookupError where something is missing."""
    return Queue(str(table["engine"]), host_of(table["login"]), options_of(table["options"]))


def queue_of_inventory(inventory: Inventory, chosen: Sequence[Host] = ()) -> Queue | None:
    """The one that gives its hosts; None: they are its own. ``chosen``: no others; empty: any."""
    if inventory.login is None:
        return None
    others = [host.name for host in inventory.hosts if chosen and host not in chosen]
    options = inventory.job_options
    exclude = ",".join(filter(None, (options.exclude, fold_nodeset(others))))
    return Queue(inventory.engine, inventory.login, replace(options, exclude=exclude))
