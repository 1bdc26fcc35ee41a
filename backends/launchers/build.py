"""The four launchers: ``per_node``, ``first_node``, ``mpirun``, ``torchrun``; and containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from backends.launchers.base import (
    HostCommand,
    LaunchRequest,
    check_name,
    placeholders,
)
from profiles.format.matrix import Case
from profiles.format.profile import Container, Launch, Profile, Scalar
from profiles.format.template import (
    parameter_arguments,
    parameter_environment,
    render_text,
    render_words,
)

Values = Mapping[str, Scalar | Sequence[str]]

RUN_MARKER = "DLPERF_RUN_ID"


def build(request: LaunchRequest) -> tuple[HostCommand, ...]:
    """One command per host, rank 0 first.

    Raises
    ------
    ProfileError: the profile's command names a placeholder that does not exist.
    """
    launch = request.profile.launch_for(request.case)
    every_node = launch.launcher in ("per_node", "torchrun")
    return tuple(
        _node_command(request, launch, rank)
        if every_node or rank == 0
        else HostCommand(host=site.host.name, argv=())
        for rank, site in enumerate(request.sites)
    )


def needs_port(profile: Profile, case: Case) -> bool:
    """Whether a rendezvous port has to be found on the first host."""
    launch = profile.launch_for(case)
    return launch.launcher == "torchrun" or any(
        "{master_port}" in template for _key, template in launch.templates()
    )


def _node_command(request: LaunchRequest, launch: Launch, rank: int) -> HostCommand:
    values = dict(placeholders(request, rank))
    values["arguments"] = parameter_arguments(request.profile, request.case)
    environment = _environment(request, launch, rank, values)
    words = render_words(launch.command, values)
    starter: tuple[str, ...] = ()
    if launch.launcher == "mpirun":
        starter = _mpirun(launch, values, environment)
    elif launch.launcher == "torchrun":
        starter = _torchrun(request, rank)
    command = HostCommand(
        host=request.sites[rank].host.name,
        argv=(*starter, *words),
        environment=environment,
        workdir=_optional(launch.workdir, values),
    )
    if launch.container is None:
        return command
    return _in_container(command, launch.container, request, rank, values)


def _environment(
    request: LaunchRequest, launch: Launch, rank: int, values: Values
) -> dict[str, str]:
    site = request.sites[rank]
    result: dict[str, str] = {}
    if site.has_gpus:
        result["CUDA_VISIBLE_DEVICES"] = str(values["devices"])
    if site.host.interface:
        result["NCCL_SOCKET_IFNAME"] = result["GLOO_SOCKET_IFNAME"] = site.host.interface
    for key, template in launch.environment.items():
        result[check_name(key, request.profile)] = render_text(template, values)
    for key, value in parameter_environment(request.profile, request.case).items():
        result[check_name(key, request.profile)] = value
    return result


def _optional(template: str | None, values: Values) -> str | None:
    return None if template is None else render_text(template, values)


def _mpirun(launch: Launch, values: Values, environment: Mapping[str, str]) -> tuple[str, ...]:
    """mpirun(1) of Open MPI 4: one rank per device, by slots per host; output tagged by rank."""
    exported = [word for key in (*environment, RUN_MARKER) for word in ("-x", key)]
    return (
        *("mpirun", "--allow-run-as-root", "-np", str(values["gpus"])),
        *("--host", str(values["host_slots"])),
        *("--bind-to", "none", "--tag-output"),
        *exported,
        *(render_text(word, values) for word in launch.mpi_arguments),
    )


def _torchrun(request: LaunchRequest, rank: int) -> tuple[str, ...]:
    """torchrun with a static rendezvous on the first node."""
    case = request.case
    executable = request.settings.get("torchrun", "torchrun").split()
    return (
        *executable,
        f"--nnodes={case.nodes}",
        f"--node-rank={rank}",
        f"--nproc-per-node={case.gpus_per_node}",
        f"--master-addr={request.sites[0].address}",
        f"--master-port={request.port}",
        f"--local-addr={request.sites[rank].address}",
    )


def _in_container(
    command: HostCommand,
    container: Container,
    request: LaunchRequest,
    rank: int,
    values: Values,
) -> HostCommand:
    name = f"dlperf-{request.run_id}-{rank}"
    image = render_text(container.image, values)
    mounts = [render_text(mount, values) for mount in container.mounts]
    workdir = _optional(container.workdir, values)
    environment = command.environment
    if container.runtime in ("docker", "podman"):
        gpus = f'"device={values["devices"]}"'
        argv = [container.runtime, "run", "--rm", "--name", name, "--network=host", "--ipc=host"]
        if request.sites[rank].has_gpus:
            argv += (
                ["--gpus", gpus]
                if container.runtime == "docker"
                else ["--device", "nvidia.com/gpu=all"]
            )
        argv += [word for mount in mounts for word in ("-v", mount)]
        argv += [word for key, value in environment.items() for word in ("-e", f"{key}={value}")]
        argv += ["-e", RUN_MARKER]
        argv += ["-w", workdir] if workdir else []
    else:
        argv = [container.runtime, "exec"]
        argv += ["--nv"] if request.sites[rank].has_gpus else []
        argv += [word for mount in mounts for word in ("--bind", mount)]
        argv += [word for key, value in environment.items() for word in ("--env", f"{key}={value}")]
        argv += ["--pwd", workdir] if workdir else []
    argv += [word for option in container.options for word in render_words(option, values)]
    return replace(
        command,
        argv=(*argv, image, *command.argv),
        environment={},
        container=name if container.runtime in ("docker", "podman") else None,
    )
