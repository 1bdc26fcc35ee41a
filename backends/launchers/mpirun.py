"""``mpirun``: one rank per device, started from the first host over SSH, in a job of Slurm's by
Slurm; mpirun(1) of Open MPI 4.

``-x NAME`` hands a variable of the first host on to all. Where hosts differ in one (their devices,
their interface), each has a part of the command line of its own, between colons, which gives its
value: ``-x NAME=VALUE``.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from backends.launchers.launcher import RUN_MARKER, Launcher, Node
from profiles.format.template import render_text


def _command(node: Node, words: tuple[str, ...]) -> tuple[str, ...]:
    start = ("mpirun", "--allow-run-as-root")
    output = ("--bind-to", "none", "--tag-output")  # tagged by rank
    per_host = node.request.case.gpus_per_node
    own = tuple(render_text(word, node.values) for word in node.launch.mpi_arguments)
    own += node.site.host.mpi_arguments
    same = _same_everywhere(node)
    if all(environment.keys() == same for environment in node.environments):
        ranks = ("-np", str(node.values["gpus"]), "--host", str(node.values["host_slots"]))
        return (*start, *ranks, *output, *_exported(node.environment, same), *own, *words)
    parts: list[str] = []
    for site, environment in zip(node.request.sites, node.environments, strict=True):
        parts += [":"] if parts else output
        parts += ["-np", str(per_host), "--host", site.slots(per_host)]
        parts += [*_exported(environment, same), *own, *words]
    return (*start, *parts)


def _same_everywhere(node: Node) -> Set[str]:
    """Names of the variables that every host has with the same value."""
    common = set.intersection(*(set(environment.items()) for environment in node.environments))
    return {name for name, _value in common}


def _exported(environment: Mapping[str, str], same: Set[str]) -> list[str]:
    told = [name if name in same else f"{name}={value}" for name, value in environment.items()]
    return [word for name in (*told, RUN_MARKER) for word in ("-x", name)]


LAUNCHER = Launcher(_command, every_node=False, logs_in=True)
