"""What a run is started with: its variables and its script, as text for the host's shell."""

from __future__ import annotations

import re
from shlex import quote

from backends.remote.wrapper_messages import RunSpec


def container_of(spec: RunSpec) -> str:
    """The name that its container is removed by. Raises ValueError unless it holds the run's id."""
    name = spec.container_name or ""
    # It gets removed by this name, so it must not be anybody else's.
    if name and (spec.run_id not in name or not re.fullmatch(r"[\w.-]+", name, re.ASCII)):
        raise ValueError(f"not the name of a container of {spec.run_id}: {name!r}")
    return name


def script_of(spec: RunSpec) -> bytes:
    """What the host's shell executes. Raises ValueError for a variable's name that is none."""
    exports = [_export(name, value) for name, value in spec.environment.items()]
    return "".join([*exports, spec.script.rstrip("\n"), "\n"]).encode()


def _export(name: str, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII):
        raise ValueError(f"not the name of an environment variable: {name!r}")
    return f"export {name}={quote(value)}\n"
