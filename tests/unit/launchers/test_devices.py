"""The devices that a run was given are the devices that its commands see, on every host."""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from backends.launchers.build import LAUNCHERS, build
from backends.launchers.launcher import HostCommand, LaunchRequest, LaunchSite
from profiles.format import launch_section
from profiles.format.case import Case
from profiles.format.profile import Profile

SCATTERED = ((4, 5), (1, 6))
HERE = ("node1", "node2")


def profile(launcher: str, command: str = "train {devices}", **launch: object) -> Profile:
    return Profile.model_validate(
        {
            "name": "tiny",
            "framework": "F",
            "model": "M",
            "matrix": {"cases": ["1n1g"]},
            "measure": {"reading": r"(?P<value>\d+)"},
            "launch": {"launcher": launcher, "command": command, **launch},
        }
    )


def commands(
    described: Profile,
    devices: Sequence[tuple[int, ...]] = SCATTERED,
    *,
    interfaces: Sequence[str | None] = (None, None),
) -> tuple[HostCommand, ...]:
    sites = [
        LaunchSite(Host(name, interface=interface), name, has_gpus=True, devices=own)
        for name, interface, own in zip(HERE, interfaces, devices, strict=True)
    ]
    case = Case("tiny", 2, 2, {})
    return build(LaunchRequest(described, case, sites, "run-1", repeat=1, port=1, settings={}))


def option_values(words: Sequence[str], option: str) -> list[str]:
    return [after for word, after in itertools.pairwise(words) if word == option]


def test_every_launcher_that_a_profile_can_name_has_its_file() -> None:
    room = Path(launch_section.__file__).parents[2] / "backends" / "launchers"
    helpers = {"__init__", "launcher", "build", "container", "symbols"}
    assert {file.stem for file in room.glob("*.py")} - helpers == set(LAUNCHERS)
    assert tuple(LAUNCHERS) == tuple(launch_section.LAUNCHERS)


@pytest.mark.parametrize("launcher", ["per_node", "torchrun"])
def test_a_command_on_every_host_sees_the_devices_of_its_host(launcher: str) -> None:
    first, second = commands(profile(launcher))
    assert first.environment["CUDA_VISIBLE_DEVICES"] == "4,5"
    assert second.environment["CUDA_VISIBLE_DEVICES"] == "1,6"
    assert (first.argv[-1], second.argv[-1]) == ("4,5", "1,6")


def test_without_devices_a_host_gives_its_first() -> None:
    first, second = commands(profile("per_node"), [(), ()])
    assert first.environment["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert second.argv[-1] == "0,1"


@pytest.mark.parametrize("runtime", ["docker", "podman"])
def test_in_a_container_that_numbers_its_devices_anew_they_are_the_first(runtime: str) -> None:
    described = profile(
        "per_node",
        container={
            "image": "img",
            "runtime": runtime,
            "options": ["--label gpus={devices}"],
            "mounts": ["/logs/{devices}:/logs"],
        },
    )
    for command, own in zip(commands(described), SCATTERED, strict=True):
        shown = ",".join(map(str, own))
        assert option_values(command.argv, "-e")[0] == "CUDA_VISIBLE_DEVICES=0,1"
        assert command.argv[-1] == "0,1"
        assert option_values(command.argv, "--label") == [f"gpus={shown}"]
        assert option_values(command.argv, "-v") == [f"/logs/{shown}:/logs"]
        if runtime == "docker":
            assert option_values(command.argv, "--gpus") == [f'"device={shown}"']
        else:
            assert option_values(command.argv, "--device") == [f"nvidia.com/gpu={n}" for n in own]


@pytest.mark.parametrize("runtime", ["singularity", "apptainer", "enroot"])
def test_in_a_container_that_shows_all_devices_they_keep_their_numbers(runtime: str) -> None:
    described = profile("per_node", container={"image": "img", "runtime": runtime})
    for command, own in zip(commands(described), SCATTERED, strict=True):
        shown = ",".join(map(str, own))
        assert f"CUDA_VISIBLE_DEVICES={shown}" in option_values(command.argv, "--env")
        assert command.argv[-1] == shown


def test_mpirun_with_the_same_devices_everywhere_has_one_part() -> None:
    first, _ = commands(profile("mpirun"), [(2, 3), (2, 3)])
    assert first.environment["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert ":" not in first.argv
    assert option_values(first.argv, "-x") == ["CUDA_VISIBLE_DEVICES", "DLPERF_RUN_ID"]


def test_mpirun_in_a_container_numbers_anew_only_where_the_container_is() -> None:
    first, _ = commands(profile("mpirun", container={"image": "img"}), [(4, 5), (4, 5)])
    told = [x for x in option_values(first.argv, "-x") if x.startswith("CUDA")]
    assert told == ["CUDA_VISIBLE_DEVICES=0,1", "CUDA_VISIBLE_DEVICES=4,5"]


SAY = 'echo "$LIKE_SSH $CUDA_VISIBLE_DEVICES $NCCL_SOCKET_IFNAME $A" > rank$OMPI_COMM_WORLD_RANK'

AGENT = """#!/bin/sh
# In the place of ssh: the host, then what sshd runs there, without the caller's variables.
host=$1; shift
TMPDIR=$(mktemp -d -p "${0%/*}")  # each host has its own
export TMPDIR
exec env -u CUDA_VISIBLE_DEVICES -u NCCL_SOCKET_IFNAME -u A LIKE_SSH=$host sh -c "$*"
"""


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
@pytest.mark.parametrize("devices", [SCATTERED, ((2, 3), (2, 3))])
def test_mpirun_gives_every_rank_the_devices_and_the_interface_of_its_host(
    tmp_path: Path, devices: Sequence[tuple[int, ...]]
) -> None:
    agent = tmp_path / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    described = profile(
        "mpirun",
        f"sh -c {shlex.quote(SAY)}",
        workdir=str(tmp_path),
        environment={"A": "same"},
        mpi_arguments=[
            *("--mca", "plm_rsh_agent", str(agent)),
            *("--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"),
            *("--mca", "oob_tcp_if_include", "lo"),
        ],
    )
    first, second = commands(described, devices, interfaces=("ib0", "ib1"))
    assert second.argv == ()
    done = subprocess.run(
        ["/bin/sh", "-c", first.script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "DLPERF_RUN_ID": "run-1"},
    )
    assert done.returncode == 0, done.stderr
    for rank, host in enumerate(["node1", "node1", "node2", "node2"]):
        own = ",".join(map(str, devices[rank // 2]))
        seen = (tmp_path / f"rank{rank}").read_text(encoding="utf-8").strip()
        assert seen == f"{host} {own} ib{rank // 2} same"


def placed(described: Profile, count: int = 2) -> tuple[HostCommand, ...]:
    sites = [
        LaunchSite(Host(name), name, True, (2, 3), cpus, nics)
        for name, cpus, nics in (
            ("node1", "0-11", ("mlx5_0",)),
            ("node2", "", ("mlx5_1", "mlx5_2")),
        )
    ][:count]
    case = Case("tiny", count, 2, {})
    return build(LaunchRequest(described, case, sites, "run-1", repeat=1, port=1, settings={}))


@pytest.mark.parametrize("launcher", ["per_node", "torchrun"])
def test_ranks_keep_to_the_cpus_and_the_nics_beside_their_devices(launcher: str) -> None:
    first, second = placed(profile(launcher))
    assert first.argv[:3] == ("taskset", "-c", "0-11")
    assert "taskset" not in second.argv
    assert first.environment["NCCL_IB_HCA"] == "=mlx5_0"
    assert second.environment["NCCL_IB_HCA"] == "=mlx5_1,mlx5_2"


def test_a_run_on_one_host_needs_no_nic() -> None:
    [only] = placed(profile("torchrun"), count=1)
    assert only.argv[0] == "taskset"
    assert "NCCL_IB_HCA" not in only.environment


def test_what_the_profile_says_of_the_nics_stands() -> None:
    described = profile("torchrun", environment={"NCCL_IB_HCA": "mlx5_7"})
    assert {command.environment["NCCL_IB_HCA"] for command in placed(described)} == {"mlx5_7"}


@pytest.mark.parametrize("runtime", ["docker", "podman", "apptainer", "singularity", "enroot"])
def test_a_container_keeps_to_the_cpus_as_its_runtime_has_it(runtime: str) -> None:
    first, second = placed(profile("per_node", container={"image": "i", "runtime": runtime}))
    if runtime in ("docker", "podman"):
        assert "--cpuset-cpus=0-11" in first.argv
        assert first.argv[0] == runtime
    else:
        assert first.argv[:3] == ("taskset", "-c", "0-11")
    assert not any("cpuset" in word or word == "taskset" for word in second.argv)


def test_runs_that_share_a_host_tell_nccls_state_at_ports_of_their_own() -> None:
    asked = []
    for own in ((0, 1), (2,), (5, 3)):
        site = LaunchSite(Host("node1"), "node1", has_gpus=True, devices=own, shared=True)
        case = Case("tiny", 1, len(own), {})
        request = LaunchRequest(profile("per_node"), case, [site], "r", 1, 1, settings={})
        [command] = build(request)
        asked.append(command.environment["NCCL_RAS_ADDR"])
    assert asked == ["localhost:28029", "localhost:28031", "localhost:28032"]
    assert all("NCCL_RAS_ADDR" not in one.environment for one in commands(profile("per_node")))
