"""The matrix: cases that a profile offers, less its exclusions, and what the hosts can run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiles.errors import SelectionError
from profiles.format.expression import parse_expression
from profiles.scalars import Scalar, scalar_text
from profiles.tags import format_tag, parse_tag

if TYPE_CHECKING:
    from profiles.format.profile import Parameter, Profile

__all__ = ["Case", "HostCapacity", "exclusion", "expand", "infeasible", "make_case", "parse_tag"]


MOST_CASES = 50_000
"""Of one profile in one selection, before what the profile excludes."""


@dataclass(frozen=True, eq=False)
class Case:
    """One point of the matrix; equal and hashed by :attr:`key`.

    ``parameters`` are in the profile's order and hold a value for every parameter.
    """

    profile: str
    nodes: int
    gpus_per_node: int
    parameters: Mapping[str, Scalar]

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Case) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    @property
    def tag(self) -> str:
        return format_tag(self.nodes, self.gpus_per_node)

    @property
    def key(self) -> str:
        """Stable id, such as ``oneflow-resnet50/2n8g/batch_size=128,precision=fp32``."""
        pairs = ",".join(f"{name}={self.text(name)}" for name in sorted(self.parameters))
        return "/".join(part for part in (self.profile, self.tag, pairs) if part)

    @property
    def label(self) -> str:
        """Short name for people: ``2n8g b128 fp32``, then the other parameters by name."""
        parts = [self.tag]
        for name in self.parameters:
            text = self.text(name)
            parts.append(
                f"b{text}"
                if name == "batch_size"
                else text
                if name == "precision"
                else f"{name}={text}"
            )
        return " ".join(parts)

    @property
    def batch_size(self) -> int | None:
        """Samples per device and step; None where the profile has no parameter ``batch_size``."""
        value = self.parameters.get("batch_size")
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def global_batch(self) -> int | None:
        return None if self.batch_size is None else self.batch_size * self.gpus

    @property
    def precision(self) -> str | None:
        value = self.parameters.get("precision")
        return None if value is None else scalar_text(value)

    def text(self, name: str) -> str:
        """The parameter's value as text; empty when the case has none of that name."""
        return scalar_text(self.parameters[name]) if name in self.parameters else ""

    def values(self) -> dict[str, Scalar]:
        """What conditions and placeholders can read: the parameters and the case's size."""
        size: dict[str, Scalar] = {
            "nodes": self.nodes,
            "gpus_per_node": self.gpus_per_node,
            "gpus": self.gpus,
        }
        if self.global_batch is not None:
            size["global_batch"] = self.global_batch
        return {**self.parameters, **size}


@dataclass(frozen=True, slots=True)
class HostCapacity:
    """What a host can hold: its GPUs, and ``slots`` devices where there is no GPU.

    None: not known yet, so that nothing is ruled out.
    """

    name: str
    slots: int | None
    gpus: int | None

    def devices(self, *, gpu_only: bool) -> int | None:
        """GPUs where there are some or must be; slots otherwise; None: not known."""
        return self.gpus if self.gpus or gpu_only else self.slots

    def holds(self, count: int, *, gpu_only: bool) -> bool:
        devices = self.devices(gpu_only=gpu_only)
        return devices is None or devices >= count


def expand(
    profile: Profile, tags: Sequence[str] | None, overrides: Mapping[str, Sequence[str]]
) -> tuple[Case, ...]:
    """The cases of a selection, tag by tag, without those that the profile excludes.

    Parameters
    ----------
    tags: case tags; None or none: the profile's own. A tag that it does not list is allowed.
    overrides: values as text per parameter; a parameter without one stays at its default.

    Raises
    ------
    SelectionError: unknown tag form or parameter, a value that is no choice, more than
        :data:`MOST_CASES`, or nothing is left.
    """
    for name in overrides:
        if name not in profile.parameters:
            raise _no_parameter(profile, name)
    sizes = dict.fromkeys(parse_tag(tag) for tag in tags or profile.matrix.cases)
    refuse_too_many(profile.name, [len(sizes), *(len(set(v)) or 1 for v in overrides.values())])
    axes = [
        _values(name, parameter, overrides.get(name, ()))
        for name, parameter in profile.parameters.items()
    ]
    cases = [
        Case(profile.name, nodes, gpus, dict(zip(profile.parameters, point, strict=True)))
        for nodes, gpus in sizes
        for point in itertools.product(*axes)
    ]
    left = tuple(case for case in cases if exclusion(profile, case) is None)
    if not left:
        raise SelectionError(
            f"profile {profile.name} excludes every case of this selection "
            f"({exclusion(profile, cases[0])})",
            remedy="choose other cases or values",
        )
    return left


def refuse_too_many(profile: str, axes: Sequence[int]) -> None:
    """Raise SelectionError when axes of these lengths have too many points; builds none of them."""
    count = math.prod(axes)
    if count > MOST_CASES:
        raise SelectionError(
            f"{count:,} cases of {profile} are more than one campaign takes ({MOST_CASES:,})",
            remedy="give fewer cases or values",
        )


def make_case(
    profile: Profile, nodes: int, gpus_per_node: int, values: Mapping[str, Scalar]
) -> Case:
    """One case of known size, for logs that exist already.

    Values may be texts; parameters without one stay at their default. Numbers need not be among the
    choices, since what was run was run; other values must be.

    Raises
    ------
    SelectionError: unknown parameter, or a value that the parameter cannot have.
    """
    if nodes < 1 or gpus_per_node < 1:
        raise SelectionError(
            f"{nodes} nodes with {gpus_per_node} devices is not a case", remedy="both are 1 or more"
        )
    for name in values:
        if name not in profile.parameters:
            raise _no_parameter(profile, name)
    parameters: dict[str, Scalar] = {}
    for name, parameter in profile.parameters.items():
        text = scalar_text(values[name]) if name in values else ""
        number = isinstance(parameter.default, int | float) and parameter.default is not True
        open_ended = parameter.model_copy(update={"free": True}) if number else parameter
        parameters[name] = _parsed(name, open_ended, text) if name in values else parameter.default
    return Case(profile.name, nodes, gpus_per_node, parameters)


def exclusion(profile: Profile, case: Case) -> str | None:
    """The condition of the profile that excludes the case, or None."""
    for condition in profile.matrix.exclude:
        if parse_expression(condition).holds(case.values()):
            return condition
    return None


def infeasible(profile: Profile, case: Case, hosts: Sequence[HostCapacity]) -> str | None:
    """Why these hosts cannot run the case (``needs 8 hosts, 4 known``); None when they can."""
    if len(hosts) < case.nodes:
        return f"needs {_count(case.nodes, 'host')}, {len(hosts)} known"
    gpu_only = profile.devices == "gpu"
    noun = "GPU" if gpu_only else "device"
    enough = sum(host.holds(case.gpus_per_node, gpu_only=gpu_only) for host in hosts)
    if not enough:
        most = max((host.devices(gpu_only=gpu_only) or 0 for host in hosts), default=0)
        return f"needs {_count(case.gpus_per_node, noun)} per host, {most} at most"
    if enough < case.nodes:
        needed = f"{_count(case.nodes, 'host')} with {_count(case.gpus_per_node, noun)}"
        return f"needs {needed}, {enough} known"
    return None


def _no_parameter(profile: Profile, name: str) -> SelectionError:
    return SelectionError(
        f"profile {profile.name} has no parameter {name!r}",
        remedy="it has " + (", ".join(profile.parameters) or "none"),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _values(name: str, parameter: Parameter, given: Sequence[str]) -> tuple[Scalar, ...]:
    if not given:
        return (parameter.default,)
    return tuple(dict.fromkeys(_parsed(name, parameter, text.strip()) for text in given))


def _parsed(name: str, parameter: Parameter, text: str) -> Scalar:
    if text in parameter.by_text:
        return parameter.by_text[text]
    if parameter.free:
        kind = type(parameter.default)
        try:
            return kind(text) if kind is not bool else _not_a_choice(name, parameter, text)
        except ValueError:
            pass
    return _not_a_choice(name, parameter, text)


def _not_a_choice(name: str, parameter: Parameter, text: str) -> Scalar:
    known = ", ".join(parameter.choice_texts)
    raise SelectionError(
        f"{name}={text} is not a choice", remedy=f"choose from {known}" if known else ""
    )
