"""What ``plan`` prints for every bundled profile, on four hosts of eight GPUs, on both engines.

A difference is a change to look at, not always a mistake: ``pytest
tests/unit/cli/test_library_plans.py --snapshot-update`` accepts what is printed now.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from backends.engines.slurm.gres import Gpus
from backends.engines.slurm.node_hosts import node_host, node_snapshot
from backends.engines.slurm.nodes import Node
from backends.hosts.host_facts import HostSnapshot
from backends.inventory.host_entry import Host
from backends.remote.installation import Wrapper
from backends.simulated.simulated_cluster import SimulatedCluster
from backends.simulated.spec import v100_host
from backends.transports.transport import Transport
from profiles.format.catalog import Catalog
from profiles.format.profile import Profile
from profiles.format.site_settings import needs_value
from tests.unit.cli.conftest import Cli

NODES = ("node1", "node2", "node3", "node4")
CASES = ("1n1g", "1n8g", "4n8g")
CATALOG = Catalog.load()
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


class Text(SingleFileSnapshotExtension):
    """One file for each profile."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


class NodesOfSlurm:
    """What Slurm would say."""

    def __init__(self, _engine: str, login: Transport, _clock: object) -> None:
        self._login = login.host

    async def ask(self) -> Sequence[tuple[Host, HostSnapshot]]:
        h200s = (Gpus("h200", 8),)
        nodes = [Node(name, ("gpu",), "idle", cpus=96, gpus=h200s) for name in NODES]
        return [(node_host(node, self._login), node_snapshot(node)) for node in nodes]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four hosts, at rest; the wrapper's text is not what is looked at here."""

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


def plan_text(cli: Cli, profile: Profile, inventory: Path) -> str:
    """All that is printed; what goes to stderr last."""
    words = ("plan", "--inventory", inventory, "-p", profile.name, "--case", *CASES, "-r", 1)
    answer = cli(*words, *settings_of(profile))
    return answer.out + answer.err


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("name", CATALOG.names)
def test_plan_of(name: str, cli: Cli, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told = ""
    for engine, text in (("direct", DIRECT), ("slurm", SLURM)):
        inventory = tmp_path / "hosts.toml"
        inventory.write_text(text)
        told += f"=== {engine}\n{plan_text(cli, CATALOG.get(name), inventory)}"
    assert told == snapshot(extension_class=Text)
