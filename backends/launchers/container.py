"""The command of one host inside a container of docker, podman, singularity or apptainer.

Docker and podman show a container the GPUs that it was given and nothing else, and number them from
0 (NVIDIA Container Toolkit, ``--gpus`` and CDI). ``--nv`` of singularity and apptainer shows all of
the host's, under the host's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backends.launchers.launcher import RUN_MARKER, HostCommand, Node, device_list, placeholders
from profiles.format.launch_section import Container
from profiles.format.template import render_text, render_words


def seen_inside(container: Container | None, devices: Sequence[int]) -> tuple[int, ...]:
    """Devices of a host as what runs there counts them: with or without a container."""
    renumbered = container is not None and _is_daemons(container)
    return tuple(range(len(devices))) if renumbered else tuple(devices)


def in_container(command: HostCommand, container: Container, node: Node) -> HostCommand:
    """``command`` inside. Image, mounts and options are the host's, and so are the devices that
    their placeholders name."""
    outside = {**node.values, "devices": placeholders(node.request, node.rank)["devices"]}
    options = [word for option in container.options for word in render_words(option, outside)]
    image = render_text(container.image, outside)
    mounts = [render_text(mount, outside) for mount in container.mounts]
    workdir = render_text(container.workdir, node.values) if container.workdir else None
    name = f"dlperf-{node.request.run_id}-{node.rank}" if _is_daemons(container) else None
    if name is not None:
        argv = _run(container, command, node, name, mounts, workdir)
    else:
        argv = _exec(container, command, node, mounts, workdir)
    return replace(
        command, argv=(*argv, *options, image, *command.argv), environment={}, container=name
    )


def _is_daemons(container: Container) -> bool:
    return container.runtime in ("docker", "podman")


def _run(
    container: Container,
    command: HostCommand,
    node: Node,
    name: str,
    mounts: Sequence[str],
    workdir: str | None,
) -> list[str]:
    """``docker run`` and ``podman run``."""
    argv = [container.runtime, "run", "--rm", "--name", name, "--network=host", "--ipc=host"]
    devices = node.request.devices(node.rank)
    if node.site.has_gpus and container.runtime == "docker":
        argv += ["--gpus", f'"device={device_list(devices)}"']
    elif node.site.has_gpus:
        argv += [word for index in devices for word in ("--device", f"nvidia.com/gpu={index}")]
    argv += [f"--cpuset-cpus={node.site.cpus}"] if node.site.cpus else []
    argv += [word for mount in mounts for word in ("-v", mount)]
    for key, value in command.environment.items():
        argv += ["-e", f"{key}={value}"]
    argv += ["-e", RUN_MARKER]
    return argv + (["-w", workdir] if workdir else [])


def _exec(
    container: Container,
    command: HostCommand,
    node: Node,
    mounts: Sequence[str],
    workdir: str | None,
) -> list[str]:
    """``singularity exec`` and ``apptainer exec``."""
    argv = [container.runtime, "exec"]
    argv += ["--nv"] if node.site.has_gpus else []
    argv += [word for mount in mounts for word in ("--bind", mount)]
    for key, value in command.environment.items():
        argv += ["--env", f"{key}={value}"]
    return argv + (["--pwd", workdir] if workdir else [])
