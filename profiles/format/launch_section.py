"""What a profile says about starting its ranks: launcher, command, container, variants by case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from profiles.format.field_types import Command, Condition, Duration, Expected, Model, Name
from profiles.format.template import fill_known
from profiles.schema_mistakes import Key

LAUNCHERS = {
    "per_node": "the command on every host",
    "first_node": "the command on the first host only",
    "mpirun": "on the first host, behind mpirun with one rank per device",
    "torchrun": "on every host, behind torchrun",
    "srun": "on the first host of a job of Slurm's, behind srun with one rank per device",
}
"""How ranks may be started. A new one is a line here and its file in :mod:`backends.launchers`."""


def _check_launcher(name: str) -> str:
    if name not in LAUNCHERS:
        raise ValueError(f"no launcher {name!r}; choose from {', '.join(LAUNCHERS)}")
    return name


LauncherName = Annotated[str, AfterValidator(_check_launcher)]


class Container(Model):
    """``image``, ``mounts``, ``options`` and ``workdir`` may hold placeholders.

    ``user``: who one is inside, oneself or root; None: as the runtime has it by itself.
    ``shm_size``: of a /dev/shm of its own; None, or where the runtime has none: the host's.
    """

    image: str = Field(min_length=1)
    runtime: Literal["docker", "podman", "singularity", "apptainer", "enroot", "pyxis"] = "docker"
    user: Literal["own", "root"] | None = None
    shm_size: str | None = Field(None, pattern=r"^[0-9]+[bkmgBKMG]?$")
    mounts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    workdir: str | None = None


class LaunchVariant(Model):
    """What is launched otherwise for the cases where ``when`` holds.

    ``environment`` is added to the launch's own; ``bare = true`` leaves the container out.
    """

    when: Condition
    launcher: LauncherName | None = None
    command: Command | None = None
    workdir: str | None = None
    environment: Mapping[str, str] | None = None
    container: Container | None = None
    mpi_arguments: tuple[str, ...] | None = None
    timeout: Duration | None = None
    stall_timeout: Duration | None = None
    expected: Expected | None = None
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Template:
    """A text that may hold placeholders, and the way to it from the launch."""

    at: Key
    text: str

    @property
    def takes_numbers(self) -> bool:
        """Whether :meth:`Launch.with_numbers` fills it."""
        own = self.at[2:] if self.at[0] == "variant" else self.at
        return own[0] in ("command", "environment", "mpi_arguments", "workdir")


class Launch(Model):
    """How ranks get started. ``command`` is split into words, then placeholders are filled.

    ``timeout``: a run is ended after it. ``stall_timeout``: a run without a reading for so long is
    diagnosed and ended. ``lost_limit``: a run whose host cannot be reached for so long has failed.
    ``settle``: idle time on a host before its next run. ``expected``: a run's usual duration, for
    estimates before one was seen; or arithmetic in seconds over the case and numeric settings.
    ``mpi_arguments``: more words for ``mpirun`` before the command.
    ``computed``: numbers for placeholders, as arithmetic over the case's parameters and size.
    ``variant``: overrides by case; the first that holds is taken, see
    :meth:`profiles.format.profile.Profile.launch_for`.
    """

    launcher: LauncherName
    command: Command
    stage: tuple[str, ...] = ()
    workdir: str | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)
    container: Container | None = None
    mpi_arguments: tuple[str, ...] = ()
    timeout: Duration = "2h"
    stall_timeout: Duration = "10m"
    lost_limit: Duration = "15m"
    settle: Duration = "0s"
    expected: Expected | None = None
    computed: Mapping[Name, Condition] = Field(default_factory=dict)
    variant: tuple[LaunchVariant, ...] = ()

    def with_variant(self, variant: LaunchVariant | None) -> Launch:
        """The complete launch: this one with what ``variant`` overrides, without variants."""
        changes: dict[str, object] = {"variant": ()}
        if variant is not None:
            for name in LaunchVariant.model_fields.keys() - {"when", "bare", "environment"}:
                value = getattr(variant, name)
                if value is not None:
                    changes[name] = value
            changes["environment"] = {**self.environment, **(variant.environment or {})}
            if variant.bare:
                changes["container"] = None
        return self.model_copy(update=changes)

    def with_numbers(self, numbers: Mapping[str, int | float]) -> Launch:
        """This launch with the placeholders that ``numbers`` names filled in."""

        def fill(text: str) -> str:
            return fill_known(text, numbers)

        changes: dict[str, object] = {
            "computed": {},
            "command": fill(self.command),
            "environment": {name: fill(text) for name, text in self.environment.items()},
            "mpi_arguments": tuple(fill(text) for text in self.mpi_arguments),
        }
        if self.workdir is not None:
            changes["workdir"] = fill(self.workdir)
        return self.model_copy(update=changes)

    def templates(self) -> tuple[Template, ...]:
        """Every text that may hold placeholders."""
        found = [Template(("command",), self.command)]
        found += [Template(("environment", k), text) for k, text in self.environment.items()]
        if self.workdir is not None:
            found.append(Template(("workdir",), self.workdir))
        found += [Template(("stage",), text) for text in self.stage]
        if self.container is not None:
            found.append(Template(("container", "image"), self.container.image))
            found += [Template(("container", "mounts"), text) for text in self.container.mounts]
            found += [Template(("container", "options"), text) for text in self.container.options]
            found.append(Template(("container", "workdir"), self.container.workdir or ""))
        found += [Template(("mpi_arguments",), text) for text in self.mpi_arguments]
        for index, variant in enumerate(self.variant):
            for own in self.with_variant(variant).templates():
                if own not in found:
                    found.append(Template(("variant", index, *own.at), own.text))
        return tuple(found)
