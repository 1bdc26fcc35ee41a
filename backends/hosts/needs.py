"""What the cases of a plan need in place on their hosts: programs, data, images, interfaces."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Literal, Protocol

from backends.hosts.preflight_finding import Bearing, Level
from backends.inventory.host_entry import Host, train_address_of
from backends.launchers.build import BINDER, LAUNCHERS, build
from backends.launchers.launcher import HostCommand, LaunchRequest, LaunchSite, placeholders
from profiles.format.case import Case
from profiles.format.profile import Profile
from profiles.format.template import render_text

Kind = Literal["directory", "workdir", "file", "executable", "image", "interface", "ssh"]


FETCHING = ("docker", "podman")
"""Runtimes whose images are fetched before a run, where the host's ``pull`` says so."""


class Planned(Protocol):
    """One case to be run, as :class:`backends.campaign.plan.selection.PlannedCase`."""

    @property
    def profile(self) -> Profile: ...
    @property
    def case(self) -> Case: ...
    @property
    def repeats(self) -> int: ...
    @property
    def settings(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Need:
    """One thing to check on a host. ``owner``: what asks for it; ``mend``: how to give another."""

    kind: Kind
    value: str  # a path, a word, "RUNTIME IMAGE", an interface, an address
    owner: str
    mend: str
    profiles: tuple[str, ...] = field(default=(), compare=False)  # empty: any
    beside: str = field(default="", compare=False)  # the host that it is reached from

    def bearing(self, host: str) -> Bearing:
        """Which runs suffer where it is not in place on the host."""
        return Bearing(self.profiles, ((host,), (self.beside,)) if self.beside else ((host,),))

    @property
    def fetched(self) -> bool:
        """By the runtime itself, each time that it finds no copy of its own."""
        return self.kind == "image" and "://" in self.value

    @property
    def level(self) -> Level:
        # mpirun may be told to start ranks by other means than plain ssh.
        return Level.WARN if self.kind == "ssh" or self.fetched else Level.STOP

    def said(self, result: str) -> str:
        """The check's result in a sentence."""
        runtime, _, image = self.value.partition(" ")
        thing = image if self.kind == "image" else self.value
        if self.kind == "interface":
            state, _, there = result.partition(" ")
            state = "is down" if state == "down" else "does not exist"
            return f"network interface {thing} {state} (there: {there.strip() or 'none'})"
        if self.kind == "ssh":
            return f"cannot start ranks on {thing} with ssh: {result}"
        if result == "no-runtime":
            return f"image {thing} ({self.owner}) needs {runtime}, which is not there"
        if self.fetched:
            return f"image {thing} ({self.owner}) is fetched by {runtime} when a run begins"
        kind = "directory" if self.kind == "workdir" else self.kind
        said = {"missing": "is not there", "": "cannot be checked"}.get(result, result)
        if self.kind == "executable" and result == "missing" and "/" not in thing:
            said = "is not in the PATH of commands there"
        colon = "" if said.startswith(("is ", "cannot be ")) else ":"
        return f"{kind} {thing} ({self.owner}){colon} {said}"

    def remedy(self, result: str) -> str:
        """What to do about the result."""
        runtime, _, image = self.value.partition(" ")
        if self.fetched:
            return f"{runtime} pull FILE {shlex.quote(image)} there, and name the file"
        if self.kind != "image" or runtime not in FETCHING:
            return self.mend
        if result == "missing":
            return f"run there: {runtime} pull {shlex.quote(image)}, or set pull in the inventory"
        return f"install {runtime} there, or let this user use it: {runtime} info"


BINDING = Need("executable", BINDER, "--placement linked", "install util-linux there")
"""Of runs that keep to the CPUs beside their devices."""


def needs_of(
    cases: Sequence[Planned], hosts: Sequence[tuple[Host, bool]]
) -> dict[str, tuple[Need, ...]]:
    """Needs by host name, each once. ``hosts``: with whether they have GPUs.

    Any host may get any node of any case, so that all of them need everything.

    Raises
    ------
    ProfileError: a command names a placeholder that does not exist.
    """
    common: dict[tuple[str, str], Need] = {}
    over_ssh: dict[str, None] = {}
    for planned in cases:
        name = planned.profile.name
        for need in (*_setting_needs(planned), *_command_needs(planned, hosts)):
            known = common.get((need.kind, need.value), need)
            askers = tuple(dict.fromkeys((*known.profiles, name)))
            common[need.kind, need.value] = replace(known, profiles=askers)
        launch = planned.profile.launch_for(planned.case)
        if LAUNCHERS[launch.launcher].logs_in and planned.case.nodes > 1:
            over_ssh[name] = None
    needs = {
        host.name: [
            *(need for need in common.values() if not (need.fetched and host.pull == "missing")),
            *_interface_needs(host),
        ]
        for host, _ in hosts
    }
    if over_ssh:
        first = hosts[0][0].name if hosts else ""
        for host, _ in hosts[1:]:
            address = train_address_of(host)
            mend = "let the first host log in to the others with a key: ssh-copy-id"
            need = Need("ssh", address, "mpirun", mend, tuple(over_ssh), beside=host.name)
            needs[first].append(need)
    return {name: tuple(own) for name, own in needs.items()}


def _setting_needs(planned: Planned) -> Iterable[Need]:
    profile = planned.profile
    container = profile.launch_for(planned.case).container
    for name, setting in profile.settings.items():
        value = planned.settings.get(name, "")
        if setting.check == "none" or not value:
            continue
        if setting.check == "executable" and container is not None:
            continue  # it is inside the image
        if setting.check == "image":
            value = f"{container.runtime if container else 'docker'} {value}"
        elif name == "torchrun":  # the one setting that may be several words
            value = value.split()[0]
        what, value_of = "say where it is", "/its/path"
        if setting.check == "image":
            what, value_of = "name another", "IMAGE"
        mend = f"{what}: s on Matrix, or --set {name}={value_of}"
        yield Need(setting.check, value, f"{profile.name}'s {name}", mend)


def _command_needs(planned: Planned, hosts: Sequence[tuple[Host, bool]]) -> Iterable[Need]:
    if not hosts:
        return
    profile, case = planned.profile, planned.case
    launch = profile.launch_for(case)
    sites = [
        LaunchSite(host, train_address_of(host), has_gpus=gpus)
        for host, gpus in itertools.islice(itertools.cycle(hosts), case.nodes)
    ]
    request = LaunchRequest(profile, case, sites, "preflight", 1, 1, planned.settings)
    values = placeholders(request, 0)
    staged = {PurePosixPath(render_text(text, values)).name for text in launch.stage}
    for command in build(request):
        yield from _programs(profile, command, staged)
    if launch.container is not None:
        image = render_text(launch.container.image, values)
        if launch.container.runtime != "pyxis":  # it looks on the nodes of its job
            mend = "put it there, or name another image"
            yield Need("image", f"{launch.container.runtime} {image}", profile.name, mend)


def _programs(profile: Profile, command: HostCommand, staged: set[str]) -> Iterable[Need]:
    if not command.argv:
        return
    if command.workdir and command.workdir.startswith(("/", "~")):
        yield Need("workdir", command.workdir, profile.name, "create it there")
    program = command.argv[0]
    relative = "/" in program and not program.startswith("/")
    if relative or program in staged:
        return  # staged with the run, or inside its work directory
    mend = "install it there, or set PATH before ~/.bashrc returns for non-interactive shells"
    yield Need("executable", program, profile.name, mend)


def _interface_needs(host: Host) -> Iterable[Need]:
    if host.interface and not host.interface.startswith("^"):
        yield Need("interface", host.interface, "inventory", "set interface in the inventory")
