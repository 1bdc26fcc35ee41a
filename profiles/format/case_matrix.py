"""The matrix: cases that a profile offers, less its exclusions, and what the hosts can run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiles.errors import SelectionError
from profiles.format.case import Case
from profiles.format.expression import parse_expression
from profiles.scalars import Scalar, scalar_text
from profiles.tags import parse_tag

if TYPE_CHECKING:
    from profiles.format.profile import Parameter, Profile

MOST_CASES = 50_000
"""Of one profile in one selection, before what the profile excludes."""


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
