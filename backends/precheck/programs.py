"""What is executed on the hosts: our own programs, PyTorch's all-reduce, NVIDIA's nccl-tests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

import profiles
from backends.hosts.host_facts import HostFacts, HostSnapshot
from backends.inventory.host_entry import Host, train_address_of
from backends.launchers.build import build
from backends.launchers.launcher import HostCommand, LaunchRequest, LaunchSite
from backends.remote.wrapper_messages import StagedTree
from profiles.format.case import Case
from profiles.format.catalog import LIBRARY, load_file
from profiles.format.profile import Profile
from profiles.format.site_settings import resolve_settings

WORKLOADS = Path(profiles.__file__).parent / "workloads"
HOST_PROGRAM, GPU_PROGRAM, TCP_PROGRAM = (
    "precheck_host.py",
    "precheck_gpus.py",
    "precheck_exchange.py",
)
TORCH_FILES = ("torch_allreduce.py", "torch_common.py")


class Way(StrEnum):
    """How hosts are measured together."""

    TORCH = "torch"  # torch-allreduce: NCCL on GPUs, gloo on CPUs
    NCCL_TESTS = "nccl-tests"
    TCP = "tcp"  # all that python3 can do by itself


@dataclass(frozen=True, slots=True)
class Installed:
    """What a look at a host found. ``torch``: in the Python that is used; ``nccl_tests``: where
    all_reduce_perf is."""

    python: bool = False
    torch: bool = False
    nccl_tests: str = ""
    mpirun: bool = False


LOOK = """\
python=$1
command -v "${python%% *}" >/dev/null 2>&1 && echo python
limit() { if command -v timeout >/dev/null; then timeout 10 "$@"; else "$@"; fi; }
limit $python -c '
import importlib.util as util
if util.find_spec("torch"):
    print("torch")
' 2>/dev/null
perf=$(command -v all_reduce_perf 2>/dev/null) && echo "nccl-tests ${perf%/*}"
command -v mpirun >/dev/null 2>&1 && echo mpirun
exit 0
"""
"""Run by ``sh -s -- PYTHON``; nothing is imported, which would take seconds."""


def parse_look(stdout: bytes) -> Installed:
    lines = stdout[:10_000].decode("utf-8", "replace").splitlines()
    directory = next((line[11:] for line in lines if line.startswith("nccl-tests /")), "")
    return Installed(
        python="python" in lines,
        torch="torch" in lines,
        nccl_tests=directory if re.fullmatch(r"[\w./+@-]{1,300}", directory, re.ASCII) else "",
        mpirun="mpirun" in lines,
    )


@dataclass(frozen=True, slots=True)
class Target:
    """A host that is measured."""

    host: Host
    snapshot: HostSnapshot
    installed: Installed = field(default_factory=Installed)

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def facts(self) -> HostFacts | None:
        return self.snapshot.facts

    @property
    def gpus(self) -> tuple[int, ...]:
        """Those that can be used as a whole."""
        known = self.facts.gpus if self.facts is not None else ()
        return tuple(gpu.index for gpu in known if not gpu.mig_enabled)

    @property
    def kind(self) -> str:
        """What its CPU figures are compared within."""
        if self.facts is None:
            return ""
        return f"{self.facts.cpu_model or self.facts.architecture}, {self.facts.cpus} CPUs"

    @property
    def gpu_model(self) -> str:
        """The name that all have; else all names."""
        known = self.facts.gpus if self.facts is not None else ()
        return ", ".join(dict.fromkeys(gpu.name for gpu in known))

    @property
    def gpu_kind(self) -> str:
        return f"{len(self.gpus)} × {self.gpu_model}" if self.gpus else ""

    def link(self, first: int, second: int) -> str:
        """How two of its GPUs are linked, as ``nvidia-smi topo -m`` has it; empty: not known."""
        topology = self.facts.topology if self.facts is not None else None
        if topology is None:
            return ""
        labels = [f"GPU{index}" for index in (first, second)]
        if not set(labels) <= set(topology.labels):
            return ""
        row, column = (topology.labels.index(label) for label in labels)
        links = topology.links
        return links[row][column] if row < len(links) and column < len(links[row]) else ""


@dataclass(frozen=True, slots=True)
class Collective:
    """An all-reduce by a bundled profile, as a run of it would do. ``kind``: of its figures."""

    way: Way
    profile: Profile
    case: Case
    commands: tuple[HostCommand, ...]
    kind: str


def own_command(target: Target, python: str, program: str, *words: str) -> HostCommand:
    """A program of ours on one host."""
    environment = {"PYTHONUNBUFFERED": "1", **_environment(target.host)}
    return HostCommand(target.name, (*python.split(), program, *words), environment)


def _environment(host: Host) -> dict[str, str]:
    return dict(variable.partition("=")[::2] for variable in host.environment)


def tcp_commands(
    targets: Sequence[Target], python: str, port: int, token: str, seconds: float
) -> tuple[HostCommand, ...]:
    """The exchange, on every host."""
    addresses = ",".join(train_address_of(target.host) for target in targets)
    return tuple(
        own_command(
            target,
            python,
            TCP_PROGRAM,
            *("--rank", str(rank), "--addresses", addresses),
            *("--master-port", str(port), "--token", token, "--seconds", f"{seconds:g}"),
        )
        for rank, target in enumerate(targets)
    )


def collective(
    way: Way,
    targets: Sequence[Target],
    *,
    python: str,
    port: int,
    run_id: str,
    size: str,
) -> Collective:
    """All-reduce of ``size`` bytes, of as many GPUs of each host as all of them have.

    Raises
    ------
    ProfileError: the profile and its settings do not fit together.
    """
    per_host = min((len(target.gpus) for target in targets), default=0)
    on_gpus = per_host > 0
    profile = _profile("nccl-tests" if way is Way.NCCL_TESTS else "torch-allreduce")
    precision = "bf16" if on_gpus else "fp32"
    case = Case(
        profile.name,
        len(targets),
        per_host or 1,
        {**profile.defaults, "precision": precision},
    )
    given = {"min_size": size, "max_size": size}
    if way is Way.NCCL_TESTS:
        given["binary_dir"] = targets[0].installed.nccl_tests
    else:
        given["torchrun"] = f"{python} -m torch.distributed.run"
    alone = len(targets) == 1
    sites = [
        LaunchSite(
            target.host,
            "127.0.0.1" if alone else train_address_of(target.host),
            has_gpus=on_gpus,
            devices=target.gpus[:per_host],
        )
        for target in targets
    ]
    settings = resolve_settings(profile, given)
    request = LaunchRequest(profile, case, sites, run_id, 1, port, settings)
    library = "NCCL" if on_gpus else "gloo"
    models = sorted({target.gpu_kind if on_gpus else target.kind for target in targets})
    kind = f"{way}, {library}, {size}, {' + '.join(models)}"
    return Collective(way, profile, case, build(request), kind)


@cache
def _profile(name: str) -> Profile:
    return load_file(LIBRARY / f"{name}.toml")


@cache
def staged(*names: str) -> tuple[StagedTree, ...]:
    """Our programs, for the hosts. Raises OSError where they are not installed with us."""
    return tuple(StagedTree.of({name: WORKLOADS / name}) for name in names)


def ways(targets: Sequence[Target], nccl_tests: str = "") -> Mapping[int, Way]:
    """How groups are measured, by how many hosts they have: 1 or 2 (and more).

    ``nccl_tests``: where it is built, as somebody said. It needs mpirun between hosts.
    """
    several = _way(targets, nccl_tests, several=True)
    return {1: _way(targets, nccl_tests, several=False), 2: several}


def _way(targets: Sequence[Target], nccl_tests: str, *, several: bool) -> Way:
    on_gpus = [target for target in targets if target.gpus]
    if on_gpus and len(on_gpus) == len(targets):
        there = [t for t in targets if (nccl_tests or t.installed.nccl_tests)]
        if len(there) == len(targets) and (not several or targets[0].installed.mpirun):
            return Way.NCCL_TESTS
    with_torch = [target for target in targets if target.installed.torch]
    return Way.TORCH if 2 * len(with_torch) > len(targets) else Way.TCP
