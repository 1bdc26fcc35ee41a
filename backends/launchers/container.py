"""The command of one host inside a container, by the runtime that the profile names.

Docker and podman show a container the GPUs that it was given and nothing else, and number them
from 0 (NVIDIA Container Toolkit, ``--gpus`` and CDI). The others show all of the host's, or of the
job's, under the host's numbers: ``--nv`` of singularity and apptainer, ``NVIDIA_VISIBLE_DEVICES``
of enroot (its hook 98-nvidia.sh), which pyxis starts as a step of a Slurm job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from backends.launchers.launcher import RUN_MARKER, HostCommand, Node, device_list, placeholders
from profiles.format.launch_section import Container
from profiles.format.template import render_text, render_words

_CREATED = 'enroot create --name "$1" "$2" >&2 || exit; shift 2; exec enroot start "$@"'
_AS_ONESELF = {
    "docker": 'exec docker run --user "$(id -u):$(id -g)" "$@"',
    # Its root is oneself already where oneself is root; elsewhere others are mapped to other ids.
    "podman": 'o=; [ "$(id -u)" = 0 ] || o=--userns=keep-id; exec podman run $o "$@"',
}
_ALL_GPUS = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}


@dataclass(frozen=True, slots=True)
class _Inside:
    """A command and all that its container is told, with placeholders filled; ``name``: to end it
    by."""

    container: Container
    command: HostCommand
    node: Node
    image: str
    mounts: Sequence[str]
    options: Sequence[str]
    workdir: str | None
    name: str

    @property
    def gpus(self) -> bool:
        return self.node.site.has_gpus


@dataclass(frozen=True, slots=True)
class _Runtime:
    """``started``: the same command in its container. ``named``: it is ended by its name.
    ``renumbers``: devices count from 0 inside. ``daemon``: what is inside is no child of ours."""

    started: Callable[[_Inside], HostCommand]
    named: bool = False
    renumbers: bool = False
    daemon: bool = False


def seen_inside(container: Container | None, devices: Sequence[int | str]) -> tuple[int | str, ...]:
    """Devices of a host as what runs there counts them: with or without a container."""
    renumbered = container is not None and _RUNTIMES[container.runtime].renumbers
    return tuple(range(len(devices))) if renumbered else tuple(devices)


def started_elsewhere(container: Container | None) -> bool:
    """Whether a daemon starts what is inside, so that it inherits nothing of the command."""
    return container is not None and _RUNTIMES[container.runtime].daemon


def removal(container: Container | None) -> str:
    """The words of sh that remove a container of ours, whose name follows; empty: none is left."""
    named = container is not None and _RUNTIMES[container.runtime].named
    if container is None or not named:
        return ""
    return (
        "enroot remove --force" if container.runtime == "enroot" else f"{container.runtime} rm -f"
    )


def in_container(command: HostCommand, container: Container, node: Node) -> HostCommand:
    """``command`` inside. Image, mounts and options are the host's, and so are the devices that
    their placeholders name."""
    outside = {**node.values, "devices": placeholders(node.request, node.rank)["devices"]}
    inside = _Inside(
        container,
        command,
        node,
        image=render_text(container.image, outside),
        mounts=[render_text(mount, outside) for mount in container.mounts],
        options=[word for option in container.options for word in render_words(option, outside)],
        workdir=render_text(container.workdir, node.values) if container.workdir else None,
        name=f"dlperf-{node.request.run_id}-{node.rank}",
    )
    runtime = _RUNTIMES[container.runtime]
    return replace(runtime.started(inside), container=inside.name if runtime.named else None)


def _run(it: _Inside) -> HostCommand:
    """``docker run`` and ``podman run``, which fetch an image only where the host's ``pull`` says
    so. Both refuse or ignore a size of /dev/shm where that is the host's."""
    runtime, site = it.container.runtime, it.node.site
    if it.container.user == "own":
        argv = ["sh", "-c", _AS_ONESELF[runtime], "sh"]
    else:
        argv = [runtime, "run", *(["--user=0:0"] if it.container.user == "root" else [])]
    argv += ["--rm", f"--pull={site.host.pull}", "--name", it.name, "--network=host"]
    shared = it.container.shm_size
    argv += [f"--shm-size={shared}"] if shared else ["--ipc=host"]
    devices = it.node.request.devices(it.node.rank)
    if it.gpus and runtime == "docker":
        argv += ["--gpus", f'"device={device_list(devices)}"']
    elif it.gpus:
        argv += [word for index in devices for word in ("--device", f"nvidia.com/gpu={index}")]
    argv += [f"--cpuset-cpus={site.cpus}"] if site.cpus else []
    argv += [word for mount in it.mounts for word in ("-v", mount)]
    argv += _told("-e", it.command.environment)
    argv += ["-e", RUN_MARKER, *(["-w", it.workdir] if it.workdir else [])]
    return _only(it, [*argv, *it.options, it.image, *it.command.argv])


def _exec(it: _Inside) -> HostCommand:
    """``singularity exec`` and ``apptainer exec``: as oneself, with the host's /dev/shm."""
    argv = [it.container.runtime, "exec", *(["--nv"] if it.gpus else [])]
    argv += ["--fakeroot"] if it.container.user == "root" else []
    argv += [word for mount in it.mounts for word in ("--bind", mount)]
    argv += _told("--env", it.command.environment)
    argv += ["--pwd", it.workdir] if it.workdir else []
    return _only(it, [*argv, *it.options, it.image, *it.command.argv])


def _start(it: _Inside) -> HostCommand:
    """``enroot create``, then ``enroot start``: as oneself, with the host's /dev/shm.

    It starts in the image's own directory and has no option for another.
    """
    argv = ["sh", "-c", _CREATED, "sh", it.name, it.image, "--rw"]
    argv += ["--root"] if it.container.user == "root" else []
    argv += [word for mount in it.mounts for word in ("--mount", _fstab(mount))]
    argv += _told("--env", {**(_ALL_GPUS if it.gpus else {}), **it.command.environment})
    argv += ["--env", RUN_MARKER, *it.options, it.name]
    argv += ["sh", "-c", 'cd "$0" && exec "$@"', it.workdir] if it.workdir else []
    return _only(it, [*argv, *it.command.argv])


def _step(it: _Inside) -> HostCommand:
    """``srun --container-image`` of pyxis: a step of the job on this node, or where srun starts the
    ranks that very step. Variables that the image has as well are ours."""
    environment = {**(_ALL_GPUS if it.gpus else {}), **it.command.environment}
    remap = {"own": ["--no-container-remap-root"], "root": ["--container-remap-root"], None: []}
    mounts = [mount.replace(",", "+") for mount in it.mounts]
    options = [
        f"--container-image={it.image}",
        *([f"--container-mounts={','.join(mounts)}"] if mounts else []),
        *([f"--container-workdir={it.workdir}"] if it.workdir else []),
        *remap[it.container.user],
        f"--container-env={','.join((*environment, RUN_MARKER))}",
        *it.options,
    ]
    if it.node.launch.launcher == "srun":
        srun, *words = it.command.argv
        argv = [srun, *options, *words]
    else:
        node = it.node.site.node_name or it.node.site.host.name
        here = ["srun", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={node}"]
        argv = [*here, *options, *it.command.argv]
    return replace(it.command, argv=tuple(argv), environment=environment)


def _only(it: _Inside, argv: Sequence[str]) -> HostCommand:
    """The environment stands in ``argv``."""
    return replace(it.command, argv=tuple(argv), environment={})


def _told(option: str, environment: Mapping[str, str]) -> list[str]:
    return [word for key, value in environment.items() for word in (option, f"{key}={value}")]


def _fstab(mount: str) -> str:
    """``host:container[:flags]`` as a line of fstab(5) with colons."""
    source, _, rest = mount.partition(":")
    target, _, flags = rest.partition(":")
    return ":".join(
        [source, target or source, ",".join(filter(None, ("x-create=auto,rbind", flags)))]
    )


_RUNTIMES = {
    "docker": _Runtime(_run, named=True, renumbers=True, daemon=True),
    "podman": _Runtime(_run, named=True, renumbers=True, daemon=True),
    "singularity": _Runtime(_exec),
    "apptainer": _Runtime(_exec),
    "enroot": _Runtime(_start, named=True),
    "pyxis": _Runtime(_step),
}
