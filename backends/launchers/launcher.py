"""From a case and its hosts to one command per host: pure builders, no I/O.

A launcher decides what each node executes so that all ranks come up; the profile says which. The
result is a POSIX ``sh`` script per host that the remote wrapper runs detached.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from backends.inventory.host_entry import Host
from profiles.errors import ProfileError
from profiles.format.case import Case
from profiles.format.launch_section import Launch
from profiles.format.profile import Profile
from profiles.scalars import Scalar

RUN_MARKER = "DLPERF_RUN_ID"
"""Marks every process of a run, so that it can be found and ended."""

DEVICES = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """One host of a run: where its ranks run and how the other hosts reach it.

    ``address``: what the other hosts' ranks connect to. ``has_gpus``: devices are GPUs, not slots.
    ``devices``: their indices on this host, or what stands for them; none: the first ones.
    ``cpus``, ``nics``: those that the ranks are to keep to; empty: any. ``node_name``: by which
    mpirun has to name the host, where that is not its address. ``shared``: other runs have other
    devices of it.
    """

    host: Host
    address: str
    has_gpus: bool = False
    devices: tuple[int | str, ...] = ()
    cpus: str = ""
    nics: tuple[str, ...] = ()
    node_name: str = ""
    shared: bool = False

    def slots(self, count: int) -> str:
        """A host of mpirun's list."""
        return f"{self.node_name or self.address}:{count}"


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """Everything a launcher needs. ``sites`` is in rank order; ``port`` is free on the first, or
    stands for one that is.

    ``profiled``: it is to tell where its time goes.
    """

    profile: Profile
    case: Case
    sites: Sequence[LaunchSite]
    run_id: str
    repeat: int
    port: int | str
    settings: Mapping[str, str]
    profiled: bool = False

    def devices(self, node_rank: int) -> tuple[int | str, ...]:
        """The device indices on that node."""
        return self.sites[node_rank].devices or tuple(range(self.case.gpus_per_node))


@dataclass(frozen=True, slots=True)
class HostCommand:
    """What one host executes. ``argv`` empty: the host takes part, but the launcher starts its
    ranks from the first node (mpirun over SSH), so nothing of ours runs there."""

    host: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    container: str | None = None  # the container's name, to end it by

    @property
    def text(self) -> str:
        """The exact command for a person: environment first, words quoted."""
        words = [f"{key}={shlex.quote(value)}" for key, value in self.environment.items()]
        words += [shlex.quote(word) for word in self.argv]
        line = " ".join(words)
        return f"cd {_quote_home(self.workdir)} && {line}" if self.workdir else line

    @property
    def script(self) -> str:
        """The ``sh`` text for the wrapper, ending in ``exec`` so that the workload is the child."""
        lines = ["set -e"] if self.workdir else []
        if self.workdir:
            lines.append(f"cd {_quote_home(self.workdir)}")
        lines += [f"export {key}={shlex.quote(value)}" for key, value in self.environment.items()]
        lines.append("exec " + shlex.join(self.argv))
        return "\n".join(lines) + "\n"


def _quote_home(path: str) -> str:
    """Quote a path for sh but let a leading ~ mean the user's home on the host."""
    if path == "~":
        return '"$HOME"'
    if path.startswith("~/"):
        return '"$HOME"/' + shlex.quote(path[2:])
    return shlex.quote(path)


Values = Mapping[str, Scalar | Sequence[str]]
"""What placeholders are filled with."""


@dataclass(frozen=True, slots=True)
class Node:
    """One host of a run on which the launcher starts something.

    Parameters
    ----------
    rank: among the run's hosts.
    launch: what the profile says for this case.
    values: for the placeholders of what runs here; its ``devices`` are those that it can see.
    environments: what a command gets, for every node of the run.
    """

    request: LaunchRequest
    rank: int
    launch: Launch
    values: Values
    environments: Sequence[Mapping[str, str]]

    @property
    def environment(self) -> Mapping[str, str]:
        return self.environments[self.rank]

    @property
    def site(self) -> LaunchSite:
        return self.request.sites[self.rank]


@dataclass(frozen=True, slots=True)
class Launcher:
    """How ranks get started; its file in this room has it as ``LAUNCHER``.

    Parameters
    ----------
    command: from a node and the words of the profile's command to what is executed there.
    every_node: on every host; else on the first, which reaches the others by itself.
    needs_port: of the first host, for the ranks to meet at, whatever the profile's command says.
    logs_in: the first host has to log in to the others by SSH.
    """

    command: Callable[[Node, tuple[str, ...]], tuple[str, ...]]
    every_node: bool
    needs_port: bool = False
    logs_in: bool = False


def device_list(devices: Sequence[int | str]) -> str:
    return ",".join(map(str, devices))


def placeholders(request: LaunchRequest, node_rank: int) -> dict[str, Scalar | Sequence[str]]:
    """Values for a command's placeholders on the node with ``node_rank``."""
    case = request.case
    addresses = [site.address for site in request.sites]
    values: dict[str, Scalar | Sequence[str]] = {
        "nodes": case.nodes,
        "gpus_per_node": case.gpus_per_node,
        "gpus": case.gpus,
        "node_rank": node_rank,
        "node_address": addresses[node_rank],
        "node_addresses": ",".join(addresses),
        "master_address": addresses[0],
        "master_port": request.port,
        "devices": device_list(request.devices(node_rank)),
        "run_id": request.run_id,
        "repeat": request.repeat,
        "host_slots": ",".join(site.slots(case.gpus_per_node) for site in request.sites),
        "node_names": ",".join(site.host.name for site in request.sites),
        "interface": request.sites[node_rank].host.interface or "",
    }
    if case.global_batch is not None:
        values["global_batch"] = case.global_batch
    values.update(case.parameters)
    values.update(request.settings)
    return values


def check_name(name: str, profile: Profile) -> str:
    """An environment variable's name, as POSIX allows it."""
    if name.replace("_", "a").isalnum() and not name[0].isdigit():
        return name
    raise ProfileError(
        f"'{name}' is not a name of an environment variable",
        where=f"profile {profile.name}",
        remedy="use letters, digits and _",
    )
