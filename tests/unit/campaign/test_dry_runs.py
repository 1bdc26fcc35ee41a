"""What a plan would run: on which hosts, when, and with which commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backends.campaign.plan.plan import DryRun
from backends.campaign.plan.selection import Selection
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.host_entry import Host, Inventory, this_machine
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.unit.hosts.test_preflight import FACTS, GPU

PROFILE = """
name = "short"
framework = "sh"
model = "short"
source = "a test"
[matrix]
cases = ["1n1g", "2n1g"]
repeats = 2
[launch]
launcher = "per_node"
command = "sh -c 'echo {node_rank}'"
expected = "10s"
settle = "5s"
[measure]
reading = 'iter (?P<step>\\d+), samples/s: (?P<value>\\d+)'
statistic = "mean"
"""


def dry_runs(path: Path, profile: str) -> dict[str, DryRun]:
    """By label, in the order of starting; on two hosts."""
    (path / "short.toml").write_text(profile)
    hosts = tuple(Host(name, address=name, slots=2) for name in ("a", "b"))
    workspace = Workspace(Inventory(hosts), Catalog.load([path], None), path)
    return {run.label: run for run in workspace.dry_run(workspace.plan(Selection(("short",))))}


def test_runs_are_listed_as_they_start_on_the_hosts_that_they_have_then(tmp_path: Path) -> None:
    runs = dry_runs(tmp_path, PROFILE)
    assert {label: (run.hosts, run.start_s, run.end_s) for label, run in runs.items()} == {
        "short 2n1g #1": (("a", "b"), 0.0, 10.0),
        "short 1n1g #1": (("a",), 15.0, 25.0),
        "short 1n1g #2": (("b",), 15.0, 25.0),
        "short 2n1g #2": (("a", "b"), 30.0, 40.0),
    }
    assert next(iter(runs)) == "short 2n1g #1"
    in_the_list = ["short 1n1g #1", "short 2n1g #1", "short 1n1g #2", "short 2n1g #2"]
    assert sorted(runs, key=lambda label: runs[label].number) == in_the_list


def test_times_are_told_only_where_all_durations_are_known(tmp_path: Path) -> None:
    runs = dry_runs(tmp_path, PROFILE.replace('expected = "10s"\n', ""))
    assert [run.end_s for run in runs.values()] == [None] * 4
    assert all(run.hosts and len(run.commands) == len(run.hosts) for run in runs.values())


@pytest.mark.parametrize("place", ["command", "environment"])
def test_a_repeat_that_a_command_names_is_its_own(tmp_path: Path, place: str) -> None:
    of_run = '[launch.environment]\nN = "{repeat}"\n[measure]'
    told = {
        "command": PROFILE.replace("{node_rank}", "{node_rank} {repeat}"),
        "environment": PROFILE.replace("[measure]", of_run),
    }
    runs = dry_runs(tmp_path, told[place])
    first, again = runs["short 2n1g #1"].commands, runs["short 2n1g #2"].commands
    assert [text.replace("1", "2") for text in first] == [text.replace("1", "2") for text in again]
    assert first != again


@pytest.mark.parametrize("engine", ["direct", "slurm"])
def test_runs_that_share_a_host_have_the_ports_that_they_will_have(
    tmp_path: Path, engine: str
) -> None:
    """Jobs of Slurm have none of their own: what devices one gets, Slurm alone says."""
    (tmp_path / "short.toml").write_text(PROFILE)
    host = Host("a", address="a")
    login = this_machine("login") if engine == "slurm" else None
    workspace = Workspace(
        Inventory((host,), engine=engine, login=login), Catalog.load([tmp_path], None), tmp_path
    )
    gpus = tuple(replace(GPU, index=index) for index in range(2))
    seen = HostSnapshot("a", "a", HostState.READY, facts=replace(FACTS, gpus=gpus))
    workspace.cluster._known["a"] = seen
    selection = Selection(("short",), cases=("1n1g",), pack=True)
    runs = workspace.dry_run(workspace.plan(selection))
    ports = ["NCCL_RAS_ADDR=localhost:28" in str(run.commands) for run in runs]
    assert ports == [engine == "direct"] * 2
