"""The software of a run on its host: what is looked at, what is found, what is unknown."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.environment import environment_document, fingerprint
from backends.hosts.host_facts import Gpu, HostFacts, HostSnapshot, HostState, Software, Sought
from backends.hosts.probe import PROBE_SCRIPT, parse_probe, probe
from backends.hosts.software import parse_software, software_by_role, sought_by, sought_for
from backends.inventory.host_entry import Host
from backends.results.environment_words import environment_section
from backends.results.translations import words
from profiles.format.catalog import Catalog
from profiles.format.site_settings import needs_value
from tests.unit.hosts.conftest import ShellTransport

CATALOG = Catalog.load()
GPU = Gpu(0, "H200", "", "", None, None, None, None, None, None, None)
DIGEST = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"


def settings_of(name: str) -> dict[str, str]:
    profile = CATALOG.get(name)
    given = {key: f"/set/{key}" for key in profile.settings if needs_value(profile, key)}
    return {**{k: s.default or "" for k, s in profile.settings.items()}, **given}


@pytest.mark.parametrize("name", CATALOG.names)
def test_something_tells_the_software_of_every_bundled_profile(name: str) -> None:
    """What runs by the operator's own command, and a compiled program, only their logs tell of."""
    profile = CATALOG.get(name)
    sought = sought_by(profile, settings_of(name))
    own_command = profile.launch.command.startswith("sh ")
    if not own_command and name != "nccl-tests":
        assert {one.kind for one in sought} & {"image", "python"}
    assert all(one.value and "{" not in one.value for one in sought)


def test_what_is_looked_at_is_what_the_profile_and_its_settings_name() -> None:
    container = CATALOG.get("ngc-pytorch-bert")
    assert sought_by(container, settings_of("ngc-pytorch-bert")) == (
        Sought("image", "docker bert", "image"),
        Sought("git", "/set/checkout", "checkout"),  # and not the directory inside the image
    )
    bare = CATALOG.get("oneflow-resnet50")
    settings = {**settings_of("oneflow-resnet50"), "python": "/opt/conda/bin/python"}
    assert Sought("python", "/opt/conda/bin/python", "python") in sought_by(bare, settings)
    assert sought_for([]) == ()


def test_the_revision_is_of_the_directory_of_the_training_script() -> None:
    profile = CATALOG.get("cpu-smoke")
    launch = profile.launch.model_copy(
        update={"command": "python3 /opt/models/train.py --gpus {gpus}", "workdir": "/scratch"}
    )
    assert sought_by(profile, settings_of("cpu-smoke"), launch)[1:] == (
        Sought("git", "/scratch", "workdir"),
        Sought("git", "/opt/models", "script"),
    )


def test_a_python_that_the_launch_changes_the_packages_of_is_not_asked() -> None:
    profile = CATALOG.get("cpu-smoke")
    settings = settings_of("cpu-smoke")
    assert sought_by(profile, settings) == (Sought("python", "python3", "python"),)
    for name, sought in (("PATH", 0), ("PYTHONPATH", 0), ("OTHER", 1)):
        launch = profile.launch.model_copy(update={"environment": {name: "/x"}})
        assert len(sought_by(profile, settings, launch)) == sought, name


async def look(environment: dict[str, str], *sought: Sought) -> tuple[HostFacts, ShellTransport]:
    transport = ShellTransport(Host("here", "local"), environment)
    async with asyncio.timeout(25):
        snapshot = await probe(transport, sought=sought)
    assert snapshot.facts is not None, snapshot.reason
    return snapshot.facts, transport


def versions(facts: HostFacts) -> list[tuple[str, str, str]]:
    return [(one.where, one.name, one.version) for one in facts.software]


@pytest.fixture
def path(tools: Callable[[str, str], Path]) -> str:
    """One in which no runtime of this machine is found before the stand-ins."""
    return f"{tools('docker', 'exit 1')}:{os.environ['PATH']}"


# What `docker image inspect` prints for an image of a registry, `podman` for the same one, and
# `apptainer sif header` for a SIF file.
DOCKER = f"""\
id={DIGEST}
digest=nvcr.io/x@sha256:{"9" * 64}
PATH=/usr/local/nvidia/bin:/usr/bin
NCCL_VERSION=2.19.3-1
PYTORCH_VERSION=2.3.0a0
_CUDA_COMPAT_TIMEOUT=5
HF_TOKEN=secret
"""
SIF = """\
Launch:          #!/usr/bin/env run-singularity
Version:         01
Primary Arch:    amd64
ID:              2f3b9c1e-7d5a-4c8e-9b1f-0a2d4c6e8f10
Created at:      2026-01-07 10:11:12 +0000 UTC
"""
FORM = (
    'image inspect --format id={{.Id}}{{"\\n"}}{{range .RepoDigests}}digest={{.}}{{"\\n"}}{{end}}'
    '{{range .Config.Env}}{{.}}{{"\\n"}}{{end}}'
)


async def test_images_are_told_by_each_runtime(
    tmp_path: Path, tools: Callable[[str, str], Path], path: str
) -> None:
    tools("docker", f"[ \"$*\" = '{FORM} nvcr.io/x:1' ] || exit 1\ncat <<'E'\n{DOCKER}\nE")
    podman = DOCKER.replace("id=sha256:", "id=").splitlines()
    tools("podman", f"[ \"$*\" = '{FORM} x' ] && printf '%s\\n' {' '.join(podman[:2])}")
    file = tmp_path / "x.sif"
    file.touch()
    tools("apptainer", f"[ \"$*\" = 'sif header {file}' ] || exit 1\ncat <<'E'\n{SIF}E")
    sought = (
        Sought("image", "docker nvcr.io/x:1", "image"),
        Sought("image", "docker nvcr.io/other", "image"),
        Sought("image", "podman x", "image"),
        Sought("image", f"apptainer {file}", "image"),
        Sought("image", "apptainer docker://x", "image"),
        Sought("image", "no-such-runtime y", "image"),
    )
    facts, _ = await look({"PATH": path}, *sought)
    of_registry = [("digest", f"nvcr.io/x@sha256:{'9' * 64}")]
    own = [("NCCL_VERSION", "2.19.3-1"), ("PYTORCH_VERSION", "2.3.0a0"), *of_registry]
    assert versions(facts) == [
        ("docker nvcr.io/x:1", "id", DIGEST),
        *(("docker nvcr.io/x:1", *one) for one in own),
        ("docker nvcr.io/other", "id", "unknown"),
        ("podman x", "id", DIGEST),
        *(("podman x", *one) for one in of_registry),
        (f"apptainer {file}", "id", "sif:2f3b9c1e-7d5a-4c8e-9b1f-0a2d4c6e8f10"),
        ("apptainer docker://x", "id", "unknown"),
        ("no-such-runtime y", "id", "unknown"),
    ]
    assert software_by_role(facts.software, sought[:1]) == {
        "image": "sha256:0123456789ab, NCCL_VERSION 2.19.3-1, PYTORCH_VERSION 2.3.0a0"
    }
    assert software_by_role(facts.software, sought[1:2]) == {"image": "unknown"}


def checkout_at(directory: Path) -> str:
    """A repository with one committed file; its revision."""
    git = ["git", "-C", str(directory), "-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run(["git", "init", "-q", directory], check=True)
    (directory / "file").write_text("1")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


async def test_one_exec_reads_packages_and_revisions(tmp_path: Path, path: str) -> None:
    packages = tmp_path / "packages"
    names = ("torch-2.11.0+cu130", "nvidia_nccl_cu13-2.28.9", "torchvision-0.26.0", "numpy-2.0")
    for name in names:
        (packages / f"{name}.dist-info").mkdir(parents=True)
    (packages / "mxnet_cu112-1.9.1-py3.10.egg-info").mkdir()
    checkout = tmp_path / "a checkout"
    revision = checkout_at(checkout)
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    script = tmp_path / "torchrun"
    script.write_text(f"#!{python}\n")
    script.chmod(0o755)
    sought = (
        Sought("python", python, "python"),
        Sought("python", str(script), "launcher"),
        Sought("python", "/bin/cat", "a"),
        Sought("python", "no-such-python", "b"),
        Sought("git", str(checkout), "checkout"),
        Sought("git", str(packages), "c"),
        Sought("git", "$(touch /tmp/harm)", "d"),
    )
    facts, transport = await look({"PATH": path, "PYTHONPATH": str(packages)}, *sought)
    assert len(transport.commands) == 1
    found = [
        ("mxnet_cu112", "1.9.1"),
        ("nvidia_nccl_cu13", "2.28.9"),
        ("torch", "2.11.0+cu130"),
    ]
    assert versions(facts) == [
        *((where, *one) for where in (python, str(script)) for one in found),
        ("/bin/cat", "packages", "unknown"),
        ("no-such-python", "packages", "unknown"),
        (str(checkout), "revision", revision),
        (str(checkout), "changes", "none"),
        (str(packages), "revision", "unknown"),
        ("$(touch /tmp/harm)", "revision", "unknown"),
    ]
    assert facts.sought == sought


async def test_what_was_changed_in_a_checkout_is_told_apart(tmp_path: Path, path: str) -> None:
    checkout = tmp_path / "checkout"
    revision = checkout_at(checkout)
    sought = Sought("git", str(checkout), "checkout")

    async def told() -> dict[str, str]:
        facts, _ = await look({"PATH": path}, sought)
        return dict(software_by_role(facts.software, [sought]))

    clean = await told()
    assert clean == {"checkout": revision[:12], "checkout changes": "none"}
    seen = []
    for text in ("2", "3", "2"):
        (checkout / "file").write_text(text)
        seen.append((await told())["checkout changes"])
    assert seen[0] == seen[2]
    assert len({*seen, "none"}) == 3
    (checkout / "file").write_text("1")
    assert await told() == clean


async def test_a_python_without_a_framework_is_not_an_unknown_one(path: str) -> None:
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        pytest.skip("no python3 of the system")
    environment = {"PATH": path, "PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
    facts, _ = await look(environment, Sought("python", python, "python"))
    assert all(version != "unknown" for _, _, version in versions(facts))


async def test_tools_that_hang_are_unknown_and_hold_up_nobody(
    tmp_path: Path, tools: Callable[[str, str], Path], path: str
) -> None:
    checkout = tmp_path / "checkout"
    checkout_at(checkout)
    deaf = "trap '' TERM; sleep 60"
    directory = tools("docker", deaf)
    for name in ("podman", "git", "python3.99"):
        tools(name, deaf)
    sought = (
        *(Sought("image", f"{runtime} x{n}", "image") for n in range(4) for runtime in RUNTIMES),
        Sought("git", str(checkout), "checkout"),
        Sought("python", f"{directory}/python3.99", "python"),
    )
    before = time.monotonic()
    facts, _ = await look({"PATH": path}, *sought)  # one after the other it would take a minute
    assert time.monotonic() - before < 20
    assert {version for _, _, version in versions(facts)} == {"unknown"}
    assert len(facts.software) == len(sought)
    assert facts.missing == ()
    assert facts.gpu_problem == ""


RUNTIMES = ("docker", "podman")


async def test_they_are_asked_at_once(
    tmp_path: Path, tools: Callable[[str, str], Path], path: str
) -> None:
    """Each answers when the others have been asked, too."""
    asked = tmp_path / "asked"
    asked.mkdir()
    wait = f"touch {asked}/$0-$5; while [ $(ls {asked} | wc -l) -lt 3 ]; do sleep 0.05; done"
    tools("docker", f"{wait.replace('$0', 'docker')}; echo id={DIGEST}")
    facts, _ = await look(
        {"PATH": path}, *(Sought("image", f"docker {name}", name) for name in "abc")
    )
    assert {version for _, _, version in versions(facts)} == {DIGEST}


async def test_without_a_limit_for_a_tool_no_tool_is_asked(
    tmp_path: Path, tools: Callable[[str, str], Path]
) -> None:
    bare = tmp_path / "bare"  # a host without timeout(1)
    bare.mkdir()
    for name in ("sh", "sed", "cat", "uname", "date", "head", "ls", "wc", "grep", "awk", "tr"):
        if found := shutil.which(name):
            (bare / name).symlink_to(found)
    asked = tmp_path / "asked"
    directory = tools("docker", f"touch {asked}; echo id={DIGEST}")
    tools("timeout", "exit 127")
    (directory / "timeout").chmod(0o644)
    transport = ShellTransport(Host("here", "local"))
    script = f"PATH={directory}:{bare}; "
    software = transport_script("software image 'docker x'")
    done = await transport.run(f"{script} . /dev/stdin", stdin=software)
    assert b"@@dlperf:software" in done.stdout
    assert not asked.exists()


def transport_script(call: str) -> bytes:
    """The probe's functions, and one call of them."""
    functions = PROBE_SCRIPT[: PROBE_SCRIPT.rindex(b"\n{\n")].replace(b"PATH=$PATH:", b"unused=")
    return functions + f"\n{call}\n".encode()


# --- nothing of somebody else's is run -----------------------------------------------------------


def test_a_login_that_begins_in_somebodys_directory_imports_nothing_from_it(
    tmp_path: Path,
) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("re", "os", "sitecustomize"):
        (trap / f"{name}.py").write_text(f"open({str(trap / 'sprung')!r}, 'w')\n")
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    words = ["sh", "-s", "--", "~/x", "", "nogpu", "python", python]
    done = subprocess.run(words, cwd=trap, input=PROBE_SCRIPT, capture_output=True, check=True)
    assert f"python\t{python}\t".encode() in done.stdout
    assert not (trap / "sprung").exists()


NOBODY = 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a directory away")
@pytest.mark.parametrize("trusting", [False, True], ids=["", "git trusts every directory"])
async def test_a_strangers_repository_runs_nothing(
    tmp_path: Path, path: str, trusting: bool
) -> None:
    checkout = tmp_path / "checkout"
    revision = checkout_at(checkout)
    sprung = tmp_path / "sprung"
    configuration = checkout / ".git" / "config"
    configuration.write_text(
        configuration.read_text() + f'[core]\n\tfsmonitor = "touch {sprung}"\n'
        f'[filter "x"]\n\tclean = "touch {sprung}; cat"\n[diff]\n\texternal = "touch {sprung}"\n'
    )
    (checkout / ".git" / "info").mkdir(exist_ok=True)
    (checkout / ".git" / "info" / "attributes").write_text("* filter=x\n")
    (checkout / "file").write_text("2")
    for one in (checkout, *checkout.rglob("*")):
        os.chown(one, NOBODY, NOBODY)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n" if trusting else "")
    sought = Sought("git", str(checkout), "checkout")
    facts, _ = await look({"PATH": path, "HOME": str(home)}, sought)
    assert not sprung.exists()
    if trusting:
        assert versions(facts)[0] == (str(checkout), "revision", revision)
        assert versions(facts)[1][2].startswith("unknown, ")
        assert "belongs to" in versions(facts)[1][2]
    else:
        assert versions(facts) == [(str(checkout), "revision", "unknown")]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a directory away")
@pytest.mark.parametrize("through_a_link", [False, True])
async def test_a_strangers_python_is_not_run(
    tmp_path: Path, path: str, through_a_link: bool
) -> None:
    sprung = tmp_path / "sprung"
    theirs = tmp_path / "theirs" / "bin"
    theirs.mkdir(parents=True)
    program = theirs / "python3"
    program.write_text(f"#!/bin/sh\ntouch {sprung}\necho torch 2.0\n")
    program.chmod(0o755)
    os.chown(theirs, NOBODY, NOBODY)
    used = program
    if through_a_link:
        used = tmp_path / "python3"
        used.symlink_to(program)
    facts, _ = await look({"PATH": path}, Sought("python", str(used), "python"))
    assert not sprung.exists()
    [(where, name, version)] = versions(facts)
    assert (where, name) == (str(used), "packages")
    assert version.startswith(f"unknown, {theirs} belongs to ")


# --- in words ------------------------------------------------------------------------------------


@given(st.text(max_size=200))
def test_any_answer_is_software_or_nothing(text: str) -> None:
    for one in parse_software(text):
        assert all((one.kind, one.where, one.name, one.version))
        assert "\x1b" not in one.version
    parse_probe(f"@@dlperf:software\n{text}".encode(), 0.0, 0.0)


def test_the_fingerprint_has_the_software_of_the_runs_that_it_is_of() -> None:
    facts = parse_probe(b"@@dlperf:os\nDebian\n@@dlperf:software\n", 0.0, 0.0)
    image = Software("image", "docker x", "id", DIGEST)
    torch = Software("python", "python3", "torch", "2.3")
    facts = dataclasses.replace(facts, software=(image, torch), nccl_library="2.28.3", gpus=(GPU,))
    in_image = [Sought("image", "docker x", "image")]
    bare = [Sought("python", "python3", "python")]
    mine = fingerprint(facts, in_image)
    assert mine == "H200, Debian; image: sha256:0123456789ab"
    assert fingerprint(facts, bare) == "H200, Debian; python: torch 2.3; system NCCL: 2.28.3"
    other = dataclasses.replace(facts, software=(dataclasses.replace(image, version="sha256:f"),))
    assert fingerprint(other, in_image) != mine
    bundled = Software("python", "python3", "nvidia_nccl_cu13", "2.28.9")
    facts = dataclasses.replace(facts, software=(torch, bundled))
    assert fingerprint(facts, bare) == "H200, Debian; python: nvidia_nccl_cu13 2.28.9, torch 2.3"


def test_the_report_says_what_was_found_and_what_is_unknown() -> None:
    facts = dataclasses.replace(
        parse_probe(b"@@dlperf:os\nDebian\n", 0.0, 0.0),
        gpus=(dataclasses.replace(GPU, power_limit_w=700.0, ecc_enabled=True),),
        software=(
            Software("python", "python3", "torch", "2.3"),
            Software("git", "/opt/models", "revision", "unknown"),
        ),
    )
    snapshot = HostSnapshot("n1", "10.0.0.1", HostState.READY, facts=facts)
    document = environment_document([snapshot], version="1", recorded_at=0.0)
    [block] = environment_section(document, words("en"))[:1]
    assert "1970-01-01T00:00:00+00:00" in block.replace("\\", "")
    assert "simulated" not in block
    assert "in simulated time" in environment_section(document, words("en"), simulated=True)[0]
    assert "power limit 700 W, application clocks unknown, persistence unknown, ECC on" in block
    assert "python3: torch 2.3, /opt/models: revision unknown" in block.replace("\\", "")
