"""From a case on its hosts to one command per host, by the launcher that the profile names."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import cast

from backends.launchers.container import in_container, seen_inside, started_elsewhere
from backends.launchers.launcher import (
    DEVICES,
    HostCommand,
    Launcher,
    LaunchRequest,
    LaunchSite,
    Node,
    Values,
    check_name,
    device_list,
    placeholders,
)
from profiles.format import launch_section
from profiles.format.case import Case
from profiles.format.choices import parameter_arguments, parameter_environment
from profiles.format.launch_section import Launch
from profiles.format.profile import Profile
from profiles.format.template import render_text, render_words

LAUNCHERS = {
    name: cast(Launcher, import_module(f"backends.launchers.{name}").LAUNCHER)
    for name in launch_section.LAUNCHERS
}
"""Every launcher that a profile can name: one file each."""
RAS_PORT = 28028
"""Where NCCL tells how a job is, unless it is told otherwise; one job of a host can."""
BINDER = "taskset"
"""Of util-linux, on every host."""


def build(request: LaunchRequest) -> tuple[HostCommand, ...]:
    """One command per host, rank 0 first.

    Raises
    ------
    ProfileError: the profile's command names a placeholder that does not exist.
    """
    launch = request.profile.launch_for(request.case)
    every_node = LAUNCHERS[launch.launcher].every_node
    values = [_values(request, launch, rank) for rank in range(len(request.sites))]
    environments = [
        _environment(request, launch, site, own)
        for site, own in zip(request.sites, values, strict=True)
    ]
    return tuple(
        _node_command(Node(request, rank, launch, values[rank], environments))
        if every_node or rank == 0
        else HostCommand(host=site.host.name, argv=())
        for rank, site in enumerate(request.sites)
    )


def needs_port(profile: Profile, case: Case) -> bool:
    """Whether a rendezvous port has to be found on the first host."""
    launch = profile.launch_for(case)
    return LAUNCHERS[launch.launcher].needs_port or _names(launch, "{master_port}")


def differs_by_repeat(profile: Profile, case: Case) -> bool:
    """Whether a command says which repeat it is."""
    return _names(profile.launch_for(case), "{repeat}")


def _names(launch: Launch, placeholder: str) -> bool:
    return any(placeholder in template.text for template in launch.templates())


def _node_command(node: Node) -> HostCommand:
    launch = node.launch
    words = render_words(launch.command, node.values)
    command = HostCommand(
        host=node.site.host.name,
        argv=LAUNCHERS[launch.launcher].command(node, tuple(words)),
        environment=node.environment,
        workdir=None if launch.workdir is None else render_text(launch.workdir, node.values),
    )
    if launch.container is not None:
        command = in_container(command, launch.container, node)
    return _bound(command, node)


def _bound(command: HostCommand, node: Node) -> HostCommand:
    """To the CPUs beside the run's devices. A container's daemon starts what is in it, and is told
    so itself; ranks that mpirun starts are bound by mpirun."""
    ours = LAUNCHERS[node.launch.launcher].every_node and not started_elsewhere(
        node.launch.container
    )
    if not node.site.cpus or not ours:
        return command
    return replace(command, argv=(BINDER, "-c", node.site.cpus, *command.argv))


def _values(request: LaunchRequest, launch: Launch, rank: int) -> Values:
    """For what runs on a node, which is in the container only where it is we who start it."""
    ours = rank == 0 or LAUNCHERS[launch.launcher].every_node
    devices = seen_inside(launch.container if ours else None, request.devices(rank))
    return {
        **placeholders(request, rank),
        "devices": device_list(devices),
        "arguments": parameter_arguments(request.profile, request.case),
    }


def _environment(
    request: LaunchRequest, launch: Launch, site: LaunchSite, values: Values
) -> dict[str, str]:
    result: dict[str, str] = {}
    if site.has_gpus:
        result[DEVICES] = str(values["devices"])
    if site.has_gpus and site.shared:  # else the first of them alone could be asked why it hangs
        result["NCCL_RAS_ADDR"] = f"localhost:{RAS_PORT + 1 + min(map(int, site.devices))}"
    if site.host.interface:
        result["NCCL_SOCKET_IFNAME"] = result["GLOO_SOCKET_IFNAME"] = site.host.interface
    if site.nics and len(request.sites) > 1:
        result["NCCL_IB_HCA"] = "=" + ",".join(site.nics)  # these and no others
    if site.node_name and not LAUNCHERS[launch.launcher].every_node:
        # An mpirun in a job starts as many ranks on a node as that has tasks, which is one here.
        case = request.case
        result["SLURM_TASKS_PER_NODE"] = f"{case.gpus_per_node}(x{case.nodes})"
    for key, template in launch.environment.items():
        result[check_name(key, request.profile)] = render_text(template, values)
    for key, value in parameter_environment(request.profile, request.case).items():
        result[check_name(key, request.profile)] = value
    if request.profiled and (explain := request.profile.explain) is not None:
        for key, value in explain.environment.items():
            result[check_name(key, request.profile)] = value
    for variable in site.host.environment:  # what the cluster needs, whoever wrote the profile
        name, _, value = variable.partition("=")
        result[name] = value
    return result
