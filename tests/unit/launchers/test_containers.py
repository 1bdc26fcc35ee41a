"""What each container runtime is told, word for word, and what reaches the program inside.

The options are those of docker-run(1), podman-run(1), apptainer-exec(1), ``enroot start`` and
``srun --container-…`` of pyxis.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.inventory.host_entry import Host
from backends.launchers.build import build
from backends.launchers.launcher import HostCommand, LaunchRequest, LaunchSite
from profiles.format.case import Case
from profiles.format.profile import Profile

MOUNTS = ("/my data:/data:ro", "/out:/out")
IMAGES = {"docker": "org/img:1", "podman": "org/img:1", "pyxis": "nvcr.io#nvidia/pytorch:25.01-py3"}


def launched(
    runtime: str,
    *,
    launcher: str = "per_node",
    command: str = "train.py {devices}",
    gpus: bool = True,
    host: Host | None = None,
    **container: Any,
) -> HostCommand:
    """The first of two hosts, with devices 4 and 5."""
    image = IMAGES.get(runtime, f"/images/img.{'sqsh' if runtime == 'enroot' else 'sif'}")
    described = Profile.model_validate(
        {
            "name": "tiny",
            "framework": "F",
            "model": "M",
            "matrix": {"cases": ["1n1g"]},
            "measure": {"reading": r"(?P<value>\d+)"},
            "launch": {
                "launcher": launcher,
                "command": command,
                "environment": {"A": "b c"},
                "container": {"image": image, "runtime": runtime, **container},
            },
        }
    )
    host = host or Host("node1")
    sites = [
        LaunchSite(one, one.name, has_gpus=gpus, devices=(4, 5), node_name=one.name)
        for one in (host, Host("node2"))
    ]
    request = LaunchRequest(described, Case("tiny", 2, 2, {}), sites, "r1", 1, 29500, settings={})
    return build(request)[0]


def told(command: HostCommand) -> str:
    words = [f"{key}={shlex.quote(value)}" for key, value in command.environment.items()]
    return " ".join([*words, shlex.join(command.argv)])


CREATE = (
    '\'enroot create --name "$1" "$2" >&2 || exit; shift 2; exec enroot start "$@"\' '
    "sh dlperf-r1-0 /images/img.sqsh"
)
WHOLE = {
    "docker": (
        "docker run --rm --pull=never --name dlperf-r1-0 --network=host --ipc=host"
        " --gpus '\"device=4,5\"' -v '/my data:/data:ro' -v /out:/out"
        " -e CUDA_VISIBLE_DEVICES=0,1 -e 'A=b c' -e DLPERF_RUN_ID -w /w org/img:1 train.py 0,1"
    ),
    "podman": (
        "podman run --rm --pull=never --name dlperf-r1-0 --network=host --ipc=host"
        " --device nvidia.com/gpu=4 --device nvidia.com/gpu=5 -v '/my data:/data:ro' -v /out:/out"
        " -e CUDA_VISIBLE_DEVICES=0,1 -e 'A=b c' -e DLPERF_RUN_ID -w /w org/img:1 train.py 0,1"
    ),
    "apptainer": (
        "apptainer exec --nv --bind '/my data:/data:ro' --bind /out:/out"
        " --env CUDA_VISIBLE_DEVICES=4,5 --env 'A=b c' --pwd /w /images/img.sif train.py 4,5"
    ),
    "enroot": (
        f"sh -c {CREATE} --rw --mount '/my data:/data:x-create=auto,rbind,ro'"
        " --mount /out:/out:x-create=auto,rbind"
        " --env NVIDIA_VISIBLE_DEVICES=all --env NVIDIA_DRIVER_CAPABILITIES=compute,utility"
        " --env CUDA_VISIBLE_DEVICES=4,5 --env 'A=b c' --env DLPERF_RUN_ID dlperf-r1-0"
        ' sh -c \'cd "$0" && exec "$@"\' /w train.py 4,5'
    ),
    "pyxis": (
        "NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility"
        " CUDA_VISIBLE_DEVICES=4,5 A='b c'"
        " srun --overlap --nodes=1 --ntasks=1 --nodelist=node1"
        " '--container-image=nvcr.io#nvidia/pytorch:25.01-py3'"
        " '--container-mounts=/my data:/data:ro,/out:/out' --container-workdir=/w"
        " --container-env=NVIDIA_VISIBLE_DEVICES,NVIDIA_DRIVER_CAPABILITIES,"
        "CUDA_VISIBLE_DEVICES,A,DLPERF_RUN_ID train.py 4,5"
    ),
}
WHOLE["singularity"] = WHOLE["apptainer"].replace("apptainer", "singularity")


@pytest.mark.parametrize("runtime", WHOLE)
def test_devices_mounts_environment_and_directory_are_told_as_the_runtime_has_it(
    runtime: str,
) -> None:
    assert told(launched(runtime, mounts=MOUNTS, workdir="/w")) == WHOLE[runtime]


@pytest.mark.parametrize("runtime", WHOLE)
def test_without_gpus_none_is_asked_for(runtime: str) -> None:
    text = told(launched(runtime, gpus=False, command="train.py"))
    assert not any(word in text for word in ("gpu", "--nv", "NVIDIA", "CUDA", "--device"))


@pytest.mark.parametrize("runtime", ["docker", "podman"])
def test_a_shared_memory_of_its_own_takes_the_place_of_the_hosts(runtime: str) -> None:
    argv = launched(runtime, shm_size="8g").argv
    assert "--shm-size=8g" in argv
    assert "--ipc=host" not in argv


@pytest.mark.parametrize("runtime", ["docker", "podman"])
def test_an_image_is_fetched_only_where_the_host_says_so(runtime: str) -> None:
    assert "--pull=missing" in launched(runtime, host=Host("node1", pull="missing")).argv


@pytest.mark.parametrize(
    ("runtime", "user", "word"),
    [
        ("docker", "root", "--user=0:0"),
        ("podman", "root", "--user=0:0"),
        ("apptainer", "root", "--fakeroot"),
        ("enroot", "root", "--root"),
        ("pyxis", "root", "--container-remap-root"),
        ("pyxis", "own", "--no-container-remap-root"),
    ],
)
def test_who_one_is_inside_is_told(runtime: str, user: str, word: str) -> None:
    assert word in launched(runtime, user=user).argv
    assert word not in launched(runtime).argv


def test_pyxis_joins_the_step_in_which_srun_starts_the_ranks() -> None:
    assert told(launched("pyxis", launcher="srun", command="train.py")).endswith(
        " srun '--container-image=nvcr.io#nvidia/pytorch:25.01-py3'"
        " --container-env=NVIDIA_VISIBLE_DEVICES,NVIDIA_DRIVER_CAPABILITIES,CUDA_VISIBLE_DEVICES,"
        "SLURM_TASKS_PER_NODE,A,DLPERF_RUN_ID --nodelist=node1,node2"
        " --nodes=2 --ntasks=4 --ntasks-per-node=2 --distribution=block"
        " --kill-on-bad-exit=1 --label train.py"
    )


@pytest.mark.parametrize(
    ("runtime", "named"),
    [("docker", True), ("podman", True), ("enroot", True), ("apptainer", False), ("pyxis", False)],
)
def test_what_outlives_its_command_has_a_name_to_end_it_by(runtime: str, named: bool) -> None:
    assert launched(runtime).container == ("dlperf-r1-0" if named else None)


# What the shell makes of it ----------------------------------------------------------------------

STAND_IN = f"""#!{sys.executable}
import json, os, sys
with open(os.environ["NOTES"], "a") as notes:
    notes.write(json.dumps(sys.argv[1:]) + "\\n")
"""
hostile = st.text(st.sampled_from("'\"$`\\;&|<>(){}*? \n\t#=-a"), min_size=1, max_size=12)


def said_to(runtime: str, command: HostCommand, tools: Path, user: str) -> list[list[str]]:
    """What a stand-in for the runtime is called with; ``id -u`` says ``user``."""
    tools.mkdir(exist_ok=True)
    for name, text in ((runtime, STAND_IN), ("id", f"#!/bin/sh\necho {user}\n")):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    notes = tools / "notes"
    notes.unlink(missing_ok=True)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "NOTES": str(notes)}
    subprocess.run(["/bin/sh", "-c", command.script], env=environment, check=True)
    return [json.loads(line) for line in notes.read_text().splitlines()]


@given(hostile)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_nothing_of_a_mount_becomes_shell(tmp_path: Path, text: str) -> None:
    mount = f"/{text.replace(':', '')}:/in"
    for runtime, option in (("docker", "-v"), ("podman", "-v"), ("enroot", "--mount")):
        command = launched(
            runtime, user="own", mounts=[mount.replace("{", "{{").replace("}", "}}")]
        )
        *_, argv = said_to(runtime, command, tmp_path / runtime, "1000")
        given_as = argv[argv.index(option) + 1]
        assert given_as.removesuffix(":x-create=auto,rbind") == mount
        assert argv[-2:][0] == "train.py"


def test_enroot_unpacks_under_the_name_that_it_starts(tmp_path: Path) -> None:
    created, started = said_to("enroot", launched("enroot"), tmp_path / "tools", "1000")
    assert created == ["create", "--name", "dlperf-r1-0", "/images/img.sqsh"]
    assert started[:2] == ["start", "--rw"]
    assert started[-3:] == ["dlperf-r1-0", "train.py", "4,5"]


@pytest.mark.parametrize(
    ("runtime", "user", "words"),
    [
        ("docker", "1000", ["--user", "1000:1000"]),
        ("podman", "1000", ["--userns=keep-id"]),
        ("podman", "0", []),
    ],
)
def test_files_that_a_run_writes_are_ones_own(
    tmp_path: Path, runtime: str, user: str, words: list[str]
) -> None:
    own, root = launched(runtime, user="own"), launched(runtime)
    [argv] = said_to(runtime, own, tmp_path / "tools", user)
    assert argv == ["run", *words, *root.argv[2:]]
