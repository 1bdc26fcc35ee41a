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
    """``engine``: whose queue; ``login``: the machine that has its programs; ``clusters``: by the
    name of each what its jobs are asked for, in place of ``options``."""

    engine: str
    login: Host
    options: JobOptions = field(default_factory=JobOptions)
    clusters: Mapping[str, JobOptions] = field(default_factory=dict)

    @property
    def one_job(self) -> bool:
        """All runs of a campaign are in one."""
        return self.options.allocation == "campaign"

    def options_of(self, cluster: str) -> JobOptions:
        """Of a job there; ``cluster`` may be empty where there is but one."""
        if not cluster and len(self.clusters) == 1:
            return next(iter(self.clusters.values()))
        return self.clusters.get(cluster, self.options)


def queue_table(queue: Queue) -> dict[str, Any]:
    """For a campaign's files; what differs from the defaults."""
    table = {
        "engine": queue.engine,
        "login": host_table(queue.login),
        "options": _table(queue.options),
    }
    clusters = {name: _table(options) for name, options in queue.clusters.items()}
    return {**table, "clusters": clusters} if clusters else table


def _table(options: JobOptions) -> dict[str, Any]:
    told = {key: value for key, value in asdict(options).items() if value is not None}
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in told.items()
        if value != getattr(JobOptions(), key)
    }


def queue_of(table: Mapping[str, Any]) -> Queue:
    """Raises ValueError where it is none, LookupError where something is missing."""
    clusters = {str(name): options_of(some) for name, some in table.get("clusters", {}).items()}
    login, options = host_of(table["login"]), options_of(table["options"])
    return Queue(str(table["engine"]), login, options, clusters)


def queue_of_inventory(inventory: Inventory, chosen: Sequence[Host] = ()) -> Queue | None:
    """The one that gives its hosts; None: they are its own. ``chosen``: no others; empty: any."""
    if inventory.login is None:
        return None
    others = fold_nodeset([h.name for h in inventory.hosts if chosen and h not in chosen])

    def without(options: JobOptions) -> JobOptions:
        return replace(options, exclude=",".join(filter(None, (options.exclude, others))))

    clusters = {name: without(options) for name, options in inventory.clusters.items()}
    options = without(inventory.job_options)
    return Queue(inventory.engine, inventory.login, options, clusters)


def hosts_by_cluster(inventory: Inventory) -> dict[str, tuple[str, ...]]:
    """The names of each cluster's hosts, which are those of its partitions; empty: but one."""
    if inventory.login is None:
        return {}
    wanted = {name: set(some.partition.split(",")) for name, some in inventory.clusters.items()}
    return {
        name: tuple(host.name for host in inventory.hosts if partitions & set(host.labels))
        for name, partitions in wanted.items()
    }


def chosen_clusters(inventory: Inventory, names: Sequence[str]) -> Inventory:
    """With these clusters only: its own, or partitions of the queue by their names."""
    clusters = {
        name: inventory.clusters.get(name) or inventory.job_options.over({"partition": name})
        for name in names
    }
    return replace(inventory, clusters=clusters)
