"""The nodes of a real Slurm are hosts: on the command line and in the console."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backends.hosts.host_facts import HostState
from backends.use_cases import Workspace
from profiles.errors import DlperfError
from tests.console.conftest import screen_text
from tests.support.slurm import SlurmCluster
from tests.support.sshd import NEEDS_SSHD, SshHosts
from tests.support.waiting import until, wait_until
from tui.app import DlperfApp
from tui.cli import main
from tui.screens.dialogs import Choice


def busy(slurm: SlurmCluster) -> None:
    """Two devices of node1 are used, all of node2, and node4 is drained."""
    slurm.run("scontrol", "update", "nodename=node4", "state=drain", "reason=bad fan")
    for node, gpus in (("node1", 2), ("node2", 8)):
        slurm.submit("sleep 600", "-w", node, f"--gres=gpu:{gpus}")
    wait_until(lambda: len(slurm.run("squeue", "-h", "-t", "running").splitlines()) == 2)


def test_hosts_lists_nodes_with_devices_partitions_states_and_who_has_them(
    slurm: SlurmCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    busy(slurm)
    assert main(["hosts", "--engine", "slurm"]) == 0
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in capsys.readouterr().out.splitlines()
    ]
    assert rows[0] == ["host", "state", "devices", "GPUs used", "load", "partitions", "remarks"]
    told = [[*row[:4], *row[5:]] for row in rows[2:]]
    everywhere = "gpu, short, urgent"
    assert told == [
        ["node1", "ready", "8 × h200", "2/8", everywhere, "used by root"],
        ["node2", "busy", "8 × h200", "8/8", everywhere, "used by root"],
        ["node3", "ready", "8 × h200", "0/8", "gpu, urgent", ""],
        ["node4", "offline", "8 × h200", "0/8", "gpu, urgent", "drain: bad fan"],
    ]


def test_only_nodes_of_the_partition_that_jobs_are_for_are_hosts(
    slurm: SlurmCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory = in_partition(tmp_path, "short")
    words = ("--inventory", str(inventory))
    assert main(["hosts", *words, "--json"]) == 0
    assert [host["name"] for host in json.loads(capsys.readouterr().out)] == ["node1", "node2"]
    assert main(["plan", *words, "-p", "cpu-smoke", "-c", "4n1g"]) == 2
    assert "cannot run here: needs 4 hosts, there are 2" in capsys.readouterr().out
    assert main(["plan", *words, "-p", "cpu-smoke", "-c", "2n1g", "--json"]) == 0
    [run, *_] = json.loads(capsys.readouterr().out)["runs"]
    assert run["hosts"] == ["node1", "node2"]
    assert "--exclude" not in run["job"]
    assert main(["hosts", *words, "--hosts", "node3"]) == 2
    assert "unknown host 'node3'" in capsys.readouterr().err


def test_a_profile_that_names_a_partition_gets_the_nodes_of_that(
    slurm: SlurmCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory = in_partition(tmp_path, "short")
    assert main(["profiles", "show", "cpu-smoke"]) == 0
    profile = tmp_path / "wide.toml"
    profile.write_text(f'{capsys.readouterr().out}\n[slurm]\npartition = "gpu"\n')
    words = ("--inventory", str(inventory), "-p", str(profile), "-c")
    assert main(["plan", *words, "4n1g", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"][0]["hosts"]) == 4
    assert main(["plan", *words, "1n1g", "--hosts", "node3", "--json"]) == 0
    job = json.loads(capsys.readouterr().out)["runs"][0]["job"]
    assert "--exclude='node[1-2,4]'" in job
    assert main(["plan", *words, "4n1g", "--sbatch=-p short"]) == 2
    assert "needs 4 hosts, there are 2" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["hosts", "plan", "run"])
def test_a_partition_that_is_not_there_is_one_line_that_names_those_that_are(
    slurm: SlurmCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    inventory = in_partition(tmp_path, "shrt")
    words = () if command == "hosts" else ("-p", "cpu-smoke", "-c", "1n1g")
    campaigns = tmp_path / "campaigns"
    asked = ("--inventory", str(inventory), "--campaigns", str(campaigns), *words)
    assert main([command, *asked]) == 2
    [told] = capsys.readouterr().err.strip().splitlines()
    assert told.endswith(
        f"{inventory}: [slurm]: there is no partition 'shrt', did you mean 'short'? "
        "There are gpu, short, urgent"
    )
    assert not campaigns.exists()


def test_a_reservation_that_is_not_there_is_told_before_anything_is_handed_in(
    slurm: SlurmCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    until_then = ("starttime=now", "duration=60", "users=root", "nodes=node4")
    slurm.run("scontrol", "create", "reservation=maint", *until_then)
    asked = ("--engine", "slurm", "--campaigns", str(tmp_path / "campaigns"))
    words = ("-p", "cpu-smoke", "-c", "1n1g", "2n1g", "--sbatch=--reservation=mant")
    assert main(["run", *asked, *words]) == 2
    [told] = capsys.readouterr().err.strip().splitlines()
    assert "--sbatch: reservation 'mant': " in told
    assert told.endswith("did you mean 'maint'? There are maint")
    assert not slurm.run("squeue", "-h")


def in_partition(directory: Path, partition: str) -> Path:
    """An inventory whose jobs are for one."""
    inventory = directory / "hosts.toml"
    work_dir = directory / "work"
    inventory.write_text(
        f'[defaults]\nengine = "slurm"\nwork_dir = "{work_dir}"\n\n'
        f'[slurm]\npartition = "{partition}"\n'
    )
    return inventory


def test_hosts_as_json_of_one_partition(
    slurm: SlurmCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hosts", "--engine", "slurm", "--json", "--hosts", "@short"]) == 0
    one, two = json.loads(capsys.readouterr().out)
    assert (one["name"], two["name"]) == ("node1", "node2")
    assert (one["partitions"], one["cpus"]) == (["gpu", "short", "urgent"], 16)
    assert [gpu["name"] for gpu in one["gpus"]] == ["h200"] * 8


@NEEDS_SSHD
def test_the_inventory_names_a_login_node_that_is_reached_over_ssh(
    slurm: SlurmCluster,
    ssh_hosts: SshHosts,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    login = ssh_hosts(1, options=[f"SetEnv SLURM_CONF={slurm.conf}"])[0].host
    monkeypatch.delenv("SLURM_CONF")
    inventory = tmp_path / "hosts.toml"
    inventory.write_text(
        '[defaults]\nengine = "slurm"\n\n[[hosts]]\nname = "login01"\n'
        f'address = "{login.address}"\nport = {login.port}\nuser = "{login.user}"\n'
        f'identity = "{login.identity}"\nknown_hosts = "{login.known_hosts}"\n'
    )
    assert main(["hosts", "--inventory", str(inventory), "--json"]) == 0
    names = [host["name"] for host in json.loads(capsys.readouterr().out)]
    assert names == ["node1", "node2", "node3", "node4"]


def test_a_controller_that_is_down_is_one_line_and_exit_code_2(
    slurm: SlurmCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.stop_controller()
    assert main(["hosts", "--engine", "slurm"]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert "Slurm's controller does not answer" in told[0]


@pytest.mark.faults
async def test_the_console_lives_on_while_the_controller_is_down(
    slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.screens.page.AGAIN_EVERY_S", 0.2)
    monkeypatch.setattr("tui.hosts_now.OLD_S", 0.2)
    workspace = Workspace.open(campaigns=tmp_path, engine="slurm")
    app = DlperfApp(workspace)
    async with app.run_test(size=(140, 40)) as pilot:

        def states() -> set[HostState]:
            return {host.state for host in workspace.cluster.snapshots()}

        await until(lambda: states() == {HostState.READY})
        await until(lambda: "gpu, short, ur" in screen_text(app))
        await pilot.pause()
        slurm.stop_controller()
        await until(lambda: "Slurm's controller does not answer" in screen_text(app))
        assert "node3" in screen_text(app)
        slurm.start_controller()
        await until(lambda: "4 ready" in screen_text(app))
        slurm.run("scontrol", "update", "nodename=node3", "state=drain", "reason=bad fan")
        await until(lambda: "drain: bad fan" in screen_text(app))


async def test_a_console_of_a_login_node_offers_the_queue(
    slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    workspace = Workspace.open(campaigns=tmp_path)
    app = DlperfApp(workspace)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(lambda: isinstance(app.screen, Choice) and app.screen.sight.seen)

        async def answered() -> bool:
            await pilot.press("y")
            return not isinstance(app.screen, Choice)

        await until(answered)
        await until(lambda: "4 ready" in screen_text(app))
        assert workspace.cluster.inventory.engine == "slurm"
        with pytest.raises(DlperfError, match="unknown host 'elsewhere'"):
            workspace.cluster.chosen("elsewhere")


async def test_a_queue_is_offered_only_where_it_answers(
    slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its programs may be installed where there is no cluster, or no way to it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    async def offered() -> str:
        workspace = Workspace.open(campaigns=tmp_path)
        try:
            await workspace.cluster.probe()
            return await workspace.cluster.offered_engine()
        finally:
            await workspace.close()

    assert await offered() == "slurm"
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "nowhere.conf"))
    assert await offered() == ""


@pytest.mark.parametrize("command", ["plan", "run"])
def test_slurm_is_not_told_which_devices_to_give(
    slurm: SlurmCluster, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("-p", "cpu-smoke", "-c", "1n1g", "--engine", "slurm", "--placement", "linked")
    assert main([command, *asked]) == 2
    assert "slurm chooses the devices of its jobs by itself" in capsys.readouterr().err
