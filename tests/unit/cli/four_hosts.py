"""Four hosts of eight GPUs each, as an inventory and as the nodes of a Slurm; none of them real."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from backends.engines.slurm.gres import Gpus
from backends.engines.slurm.node_hosts import node_host, node_snapshot
from backends.engines.slurm.nodes import Node
from backends.hosts.host_facts import HostSnapshot
from backends.inventory.host_entry import Host
from backends.remote.installation import Wrapper
from backends.simulated.simulated_cluster import SimulatedCluster
from backends.simulated.spec import v100_host
from backends.transports.transport import Transport
from profiles.format.profile import Profile
from profiles.format.site_settings import needs_value

NODES = ("node1", "node2", "node3", "node4")
DIRECT = """
[[hosts]]
name = "node[1-4]"
address = "10.11.0.[1-4]"
train_address = "192.168.9.[1-4]"
interface = "ib0"
"""
SLURM = """
[defaults]
engine = "slurm"
work_dir = "/shared/dlperf-tui"
interface = "ib0"
[slurm]
partition = "gpu"
account = "ml"
[[hosts]]
name = "login01"
"""
GIVEN = {"command": "python3 train.py", "image": "registry.site/image:1"}
"""Values for settings that are no path."""


class NodesOfSlurm:
    """What Slurm would say."""

    def __init__(self, _engine: str, login: Transport, _clock: object) -> None:
        self._login = login.host

    async def ask(self) -> Sequence[tuple[Host, HostSnapshot]]:
        h200s = (Gpus("h200", 8),)
        nodes = [Node(name, ("gpu",), "idle", cpus=96, gpus=h200s) for name in NODES]
        return [(node_host(node, self._login), node_snapshot(node)) for node in nodes]


def four_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """At rest, from now on; the wrapper's text is not what is looked at here."""

    def pool(*_: object, **__: object) -> SimulatedCluster:
        return SimulatedCluster({name: v100_host() for name in (*NODES, "login01")}, lambda _: None)  # type: ignore[arg-type, return-value]

    monkeypatch.setattr("backends.transports.pool.TransportPool", pool)
    monkeypatch.setattr("backends.engines.queue_hosts.queue_hosts", NodesOfSlurm)
    monkeypatch.setattr("backends.remote.installation.wrapper", lambda: Wrapper("0" * 64, b""))


def settings_of(profile: Profile) -> list[str]:
    """A value for what has none: a path of its name."""
    names = [name for name in profile.settings if needs_value(profile, name)]
    return [
        word for name in names for word in ("--set", f"{name}={GIVEN.get(name, f'/site/{name}')}")
    ]
