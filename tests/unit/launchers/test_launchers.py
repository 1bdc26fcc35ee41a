"""From a case and its hosts to the exact words that each host executes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.inventory.host_entry import Host
from backends.launchers.build import LAUNCHERS, build, needs_port
from backends.launchers.launcher import HostCommand, Launcher, LaunchRequest, LaunchSite
from profiles.errors import ProfileError
from profiles.format import launch_section
from profiles.format.case import Case
from profiles.format.catalog import load_file
from profiles.format.profile import Profile

HEAD = """
name = "tiny"
framework = "F"
model = "M"
[parameters.batch_size]
choices = [16, 32]
default = 16
[parameters.precision]
choices = ["fp32", "amp"]
default = "fp32"
arguments = { amp = ["--amp", "b={batch_size}"] }
environment = { amp = { USE_AMP = "1" } }
[settings.data]
description = "data"
default = "/d"
[matrix]
cases = ["1n1g"]
[measure]
reading = '(?P<value>\\d+)'
[launch]
"""


def profile(tmp_path: Path, launch: str) -> Profile:
    path = tmp_path / "tiny.toml"
    path.write_text(HEAD + launch)
    return load_file(path)


def commands(
    profile: Profile,
    case: Case,
    *,
    gpus: bool = False,
    data: str = "/d",
    interface: str | None = None,
) -> tuple[HostCommand, ...]:
    sites = [
        LaunchSite(Host(f"node{n}", interface=interface), f"10.0.0.{n}", has_gpus=gpus)
        for n in range(1, case.nodes + 1)
    ]
    return build(
        LaunchRequest(profile, case, sites, "run-1", repeat=3, port=29500, settings={"data": data})
    )


def case(nodes: int, gpus: int, precision: str = "fp32") -> Case:
    return Case("tiny", nodes, gpus, {"batch_size": 16, "precision": precision})


def test_per_node_gives_every_node_its_own_rank(tmp_path: Path) -> None:
    tiny = profile(
        tmp_path,
        """
launcher = "per_node"
command = "train {node_rank}/{nodes} {gpus} {node_addresses} {master_address}:{master_port}"
""",
    )
    found = commands(tiny, case(2, 8))
    assert [c.argv for c in found] == [
        ("train", "0/2", "16", "10.0.0.1,10.0.0.2", "10.0.0.1:29500"),
        ("train", "1/2", "16", "10.0.0.1,10.0.0.2", "10.0.0.1:29500"),
    ]
    assert [c.host for c in found] == ["node1", "node2"]
    assert needs_port(tiny, case(2, 8))


def test_first_node_leaves_the_others_to_the_command(tmp_path: Path) -> None:
    tiny = profile(tmp_path, 'launcher = "first_node"\ncommand = "go {host_slots} {node_names}"\n')
    first, second = commands(tiny, case(2, 4))
    assert first.argv == ("go", "10.0.0.1:4,10.0.0.2:4", "node1,node2")
    assert second.argv == ()
    assert not needs_port(tiny, case(2, 4))


def test_mpirun_starts_a_rank_per_device_and_hands_on_the_environment(tmp_path: Path) -> None:
    tiny = profile(
        tmp_path,
        """
launcher = "mpirun"
command = "python3 train.py {arguments}"
mpi_arguments = ["--mca", "btl", "tcp,self"]
environment = { OMP_NUM_THREADS = "1" }
""",
    )
    first, second = commands(tiny, case(2, 2, "amp"), gpus=True)
    line = shlex.join(first.argv)
    assert "mpirun --allow-run-as-root -np 4 --host 10.0.0.1:2,10.0.0.2:2" in line
    for name in ("OMP_NUM_THREADS", "USE_AMP", "CUDA_VISIBLE_DEVICES", "DLPERF_RUN_ID"):
        assert f"-x {name}" in line
    assert line.endswith("--mca btl tcp,self python3 train.py --amp b=16")
    assert first.environment["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert second.argv == ()


def test_what_the_cluster_needs_reaches_every_rank_over_the_profiles_own(tmp_path: Path) -> None:
    launch = """
launcher = "{launcher}"
command = "train"
mpi_arguments = ["--profile"]
environment = {{ NCCL_IB_GID_INDEX = "0", KEPT = "1" }}
"""
    sites = [
        LaunchSite(
            Host(f"node{n}", environment=("NCCL_IB_GID_INDEX=3",), mpi_arguments=("--site",)),
            f"10.0.0.{n}",
        )
        for n in (1, 2)
    ]

    def launched(launcher: str) -> tuple[HostCommand, ...]:
        tiny = profile(tmp_path, launch.format(launcher=launcher))
        return build(LaunchRequest(tiny, case(2, 2), sites, "run-1", 1, 29500, {"data": "/d"}))

    for command in launched("per_node"):
        assert command.environment == {"NCCL_IB_GID_INDEX": "3", "KEPT": "1"}
        assert "--site" not in command.argv
    first, _ = launched("mpirun")
    assert first.environment["NCCL_IB_GID_INDEX"] == "3"
    assert shlex.join(first.argv).endswith("--profile --site train")
    assert "-x NCCL_IB_GID_INDEX" in shlex.join(first.argv)


def test_srun_starts_a_rank_per_device_on_all_nodes(tmp_path: Path) -> None:
    tiny = profile(tmp_path, 'launcher = "srun"\ncommand = "train.py {arguments}"\n')
    first, second = commands(tiny, case(2, 8))
    assert shlex.join(first.argv) == (
        "srun --nodes=2 --ntasks=16 --ntasks-per-node=8 --distribution=block"
        " --kill-on-bad-exit=1 --label train.py"
    )
    assert second.argv == ()


def test_mpirun_calls_hosts_what_slurm_calls_them(tmp_path: Path) -> None:
    tiny = profile(tmp_path, 'launcher = "mpirun"\ncommand = "train.py"\n')
    sites = [LaunchSite(Host(n), f"10.0.0.{i}", node_name=n) for i, n in enumerate(("a1", "a2"))]
    first, _ = build(LaunchRequest(tiny, case(2, 4), sites, "run-1", 1, 29500, {"data": "/d"}))
    assert first.environment["SLURM_TASKS_PER_NODE"] == "4(x2)"
    assert "--host a1:4,a2:4" in shlex.join(first.argv)


def test_torchrun_meets_on_the_first_node(tmp_path: Path) -> None:
    tiny = profile(tmp_path, 'launcher = "torchrun"\ncommand = "train.py"\n')
    _, second = commands(tiny, case(2, 8))
    assert second.argv == (
        "torchrun",
        "--nnodes=2",
        "--node-rank=1",
        "--nproc-per-node=8",
        "--master-addr=10.0.0.1",
        "--master-port=29500",
        "--local-addr=10.0.0.2",
        "train.py",
    )
    assert needs_port(tiny, case(1, 1))


@pytest.mark.parametrize("runtime", ["docker", "podman", "singularity", "apptainer"])
def test_a_container_gets_the_environment_the_devices_and_a_name_to_end_it_by(
    tmp_path: Path, runtime: str
) -> None:
    tiny = profile(
        tmp_path,
        f"""
launcher = "per_node"
command = "train"
environment = {{ A = "b c" }}
[launch.container]
image = "img:1"
runtime = "{runtime}"
mounts = ["{{data}}:/data:ro"]
options = ["--shm-size 8g"]
workdir = "/w"
""",
    )
    [command] = commands(tiny, case(1, 2), gpus=True, data="/my data")
    words = command.argv
    assert words[0] == runtime
    assert words[-2:] == ("img:1", "train")
    assert "/my data:/data:ro" in words
    assert "A=b c" in words
    assert words.index("--shm-size") + 1 == words.index("8g")
    assert not command.environment
    if runtime in ("docker", "podman"):
        assert command.container == "dlperf-run-1-0"
        assert words[words.index("--name") + 1] == command.container
        assert "DLPERF_RUN_ID" in words
    else:
        assert command.container is None
        assert "--nv" in words


def test_the_training_interface_is_told_to_nccl_and_gloo(tmp_path: Path) -> None:
    tiny = profile(tmp_path, 'launcher = "per_node"\ncommand = "train"\n')
    [command] = commands(tiny, case(1, 1), interface="ib0")
    assert command.environment == {"NCCL_SOCKET_IFNAME": "ib0", "GLOO_SOCKET_IFNAME": "ib0"}


def test_an_environment_name_that_is_none_is_refused(tmp_path: Path) -> None:
    tiny = profile(
        tmp_path, 'launcher = "per_node"\ncommand = "train"\nenvironment = { "A-B" = "1" }\n'
    )
    with pytest.raises(ProfileError, match="A-B"):
        commands(tiny, case(1, 1))


PRINT = (
    "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('VALUE'), os.getcwd()]))"
)

hostile = st.text(
    alphabet=st.one_of(
        st.sampled_from("'\"$`\\;&|<>(){}*?~! \n\t#=%-"), st.characters(codec="utf-8")
    ),
    max_size=30,
).filter(lambda text: "\0" not in text)


@given(hostile)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_value_becomes_shell(tmp_path: Path, text: str) -> None:
    work = tmp_path / "it's a $(dir)"
    work.mkdir(exist_ok=True)
    tiny = profile(
        tmp_path,
        f"""
launcher = "per_node"
command = "{sys.executable} -c PROGRAM {{data}} x{{data}}x"
workdir = "{work}"
environment = {{ VALUE = "{{data}}" }}
""",
    )
    [command] = commands(tiny, case(1, 1), data=text)
    argv = tuple(PRINT if word == "PROGRAM" else word for word in command.argv)
    command = HostCommand(command.host, argv, command.environment, command.workdir)
    for script in (command.script, command.text):
        done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)
        assert json.loads(done.stdout) == [[text, f"x{text}x"], text, str(work)]


def test_a_workdir_in_the_home_is_the_hosts_to_expand(tmp_path: Path) -> None:
    command = HostCommand("a", ("pwd",), workdir="~/a b")
    (tmp_path / "a b").mkdir()
    done = subprocess.run(
        ["/bin/sh", "-c", command.script],
        capture_output=True,
        check=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout.decode().strip() == str(tmp_path / "a b")


def test_a_new_launcher_is_a_name_in_the_format_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its file would hold: the words before the command, and where they are run."""
    announced = Launcher(lambda node, words: ("announce", str(node.rank), *words), every_node=True)
    monkeypatch.setitem(launch_section.LAUNCHERS, "announced", "on every host, announced")
    monkeypatch.setitem(LAUNCHERS, "announced", announced)
    tiny = profile(tmp_path, 'launcher = "announced"\ncommand = "train {gpus}"\n')
    first, second = commands(tiny, case(2, 4))
    assert first.argv == ("announce", "0", "train", "8")
    assert second.argv == ("announce", "1", "train", "8")


def test_a_missing_workdir_ends_the_script_before_the_command(tmp_path: Path) -> None:
    command = HostCommand("a", ("touch", str(tmp_path / "ran")), workdir=str(tmp_path / "no"))
    done = subprocess.run(["/bin/sh", "-c", command.script], capture_output=True, check=False)
    assert done.returncode != 0
    assert not (tmp_path / "ran").exists()


def test_a_profiled_run_alone_is_told_so(tmp_path: Path) -> None:
    explain = "\n[explain]\nenvironment = { PROFILE_ME = '1' }\nreading = '''"
    explain += " ".join(f"(?P<{name}>.)" for name in ("rank", "step", "compute")) + " "
    explain += "(?P<communication>.) (?P<input>.)'''\n"
    launch = 'launcher = "per_node"\ncommand = "train"\n'
    it = profile(tmp_path, launch + explain)
    case = Case("tiny", 1, 1, {"batch_size": 16, "precision": "fp32"})
    request = LaunchRequest(it, case, [LaunchSite(Host("a"), "a")], "r", 1, 0, {"data": "/d"})
    (plain,), (profiled,) = build(request), build(replace(request, profiled=True))
    assert "PROFILE_ME" not in plain.environment
    assert profiled.environment == {**plain.environment, "PROFILE_ME": "1"}
