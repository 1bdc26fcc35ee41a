"""The matrix: cases that a profile offers, less its exclusions, and what the hosts can run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from profiles.case_tag import parse_tag
from profiles.counted import counted
from profiles.errors import SelectionError
from profiles.format.case import GLOBAL_BATCH, Case
from profiles.format.expression import parse_expression
from profiles.format.host_capacity import HostCapacity
from profiles.scalars import Scalar, scalar_text

if TYPE_CHECKING:
    from profiles.format.profile import Parameter, Profile

MOST_CASES = 50_000
"""Of one profile in one selection, before what the profile excludes."""


def expand(
    profile: Profile,
    tags: Sequence[str] | None,
    overrides: Mapping[str, Sequence[str]],
    picked: Container[str] | None = None,
) -> tuple[Case, ...]:
    """The cases of a selection, tag by tag, without those that the profile excludes.

    Parameters
    ----------
    tags: case tags; None or none: the profile's own. A tag that it does not list is allowed.
    overrides: values as text per parameter; a parameter without one stays at its default. Of
        :data:`GLOBAL_BATCH` each device gets its share as ``batch_size``; one of the profile's own
        cases among which it cannot be shared out is left out.
    picked: only the cases with these keys, which may be none; a value that the profile does not
        take, or a tag cannot share out, was then meant for others.

    Raises
    ------
    SelectionError: unknown tag form or parameter, a value that is no choice, more than
        :data:`MOST_CASES`, or nothing is left.
    """
    for name in overrides:
        if not can_vary(profile, name):
            raise _no_parameter(profile, name)
    if picked is not None:
        overrides = {name: _taken(profile, name, given) for name, given in overrides.items()}
    sizes = dict.fromkeys(parse_tag(tag) for tag in tags or profile.matrix.cases)
    refuse_too_many(profile.name, [len(sizes), *(len(set(v)) or 1 for v in overrides.values())])
    cases = [
        Case(profile.name, nodes, gpus, values)
        for nodes, gpus in sizes
        for values in (
            *_weak(profile, overrides),
            *_strong(profile, overrides, nodes * gpus, named=bool(tags) and picked is None),
        )
    ]
    if picked is not None:
        cases = [case for case in cases if case.key in picked]
    left = tuple(case for case in cases if exclusion(profile, case) is None)
    if not left and picked is None:
        why = f" ({exclusion(profile, cases[0])})" if cases else ""
        raise SelectionError(
            f"profile {profile.name} excludes every case of this selection{why}",
            remedy="choose other cases or values",
        )
    return left


def can_vary(profile: Profile, name: str) -> bool:
    """Whether a matrix can have values of that name: a parameter, or :data:`GLOBAL_BATCH`."""
    return name in profile.parameters or (
        name == GLOBAL_BATCH and "batch_size" in profile.parameters
    )


def _weak(profile: Profile, given: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Scalar]]:
    """Every combination of values; none where the batch size is told by the global batch alone."""
    if GLOBAL_BATCH in given and "batch_size" not in given:
        return
    parameters = profile.parameters.items()
    axes = [_values(name, parameter, given.get(name, ())) for name, parameter in parameters]
    for point in itertools.product(*axes):
        yield dict(zip(profile.parameters, point, strict=True))


def _strong(
    profile: Profile, given: Mapping[str, Sequence[str]], gpus: int, *, named: bool
) -> Iterator[dict[str, Scalar]]:
    """The same with each global batch shared out; ``named``: say where that cannot be."""
    for total in global_batches(given.get(GLOBAL_BATCH, ())):
        try:
            batch = shared_out(profile, total, gpus)
        except SelectionError:
            if named:
                raise
            continue
        others = {name: values for name, values in given.items() if name != GLOBAL_BATCH}
        for values in _weak(profile, {**others, "batch_size": (scalar_text(batch),)}):
            yield {**values, GLOBAL_BATCH: total}


def global_batches(texts: Sequence[str]) -> tuple[int, ...]:
    """Each of them once; raises SelectionError for what is no whole number above 0."""
    return tuple(dict.fromkeys(map(_whole, texts)))


def _whole(text: str) -> int:
    try:
        total = int(text)
    except ValueError:
        total = 0
    if total < 1:
        raise SelectionError(
            f"{GLOBAL_BATCH}={text} is no number of samples", remedy="give a whole number above 0"
        )
    return total


def shared_out(profile: Profile, total: int, gpus: int) -> Scalar:
    """The ``batch_size`` of each of so many devices under a global batch.

    Raises
    ------
    SelectionError: there is none, or it is no choice of the profile.
    """
    share = total // gpus
    if not share or share * gpus != total:
        raise SelectionError(
            f"{GLOBAL_BATCH}={total} cannot be shared out evenly among {counted(gpus, 'device')}",
            remedy="give a multiple of the devices of every case",
        )
    try:
        return _parsed("batch_size", profile.parameters["batch_size"], str(share))
    except SelectionError as error:
        where = f"{GLOBAL_BATCH}={total} among {counted(gpus, 'device')}"
        raise SelectionError(error.what, where=where, remedy=error.remedy) from None


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
    """Why these hosts cannot run it (``needs 8 hosts, there are 4``); None when they can:
    also hosts that preflight will stop count, for that can be overridden."""
    reason = _too_few(profile, case, hosts)
    unknown = [] if profile.on_cpus else [host for host in hosts if host.gpu_problem]
    if reason is None or not unknown:
        return reason
    told = "; ".join(f"{host.name}: GPUs unknown, {host.gpu_problem}" for host in unknown[:3])
    return f"{reason} ({told})"


def _too_few(profile: Profile, case: Case, hosts: Sequence[HostCapacity]) -> str | None:
    if len(hosts) < case.nodes:
        there = f"there {'is' if len(hosts) == 1 else 'are'} {len(hosts)}"
        return f"needs {counted(case.nodes, 'host')}, {there}"
    gpu_only = profile.devices == "gpu"
    noun = "GPU" if gpu_only else "device"
    able = (host for host in hosts if host.holds(case.gpus_per_node, gpu_only=gpu_only))
    enough = len(list(itertools.islice(able, case.nodes)))  # a cluster has many more
    if not enough:
        most = max((host.devices(gpu_only=gpu_only) or 0 for host in hosts), default=0)
        return f"needs {counted(case.gpus_per_node, noun)} per host, {most} at most"
    if enough < case.nodes:
        needed = f"{counted(case.nodes, 'host')} with {counted(case.gpus_per_node, noun)}"
        return f"needs {needed}, {enough} {'has' if enough == 1 else 'have'} them"
    return None


def _no_parameter(profile: Profile, name: str) -> SelectionError:
    return SelectionError(
        f"profile {profile.name} has no parameter {name!r}",
        remedy="it has " + (", ".join(profile.parameters) or "none"),
    )


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


def _taken(profile: Profile, name: str, given: Sequence[str]) -> tuple[str, ...]:
    """Those of the values that the profile's parameter can have."""
    if name == GLOBAL_BATCH:
        return tuple(given)
    return tuple(text for text in given if _takes(name, profile.parameters[name], text))


def _takes(name: str, parameter: Parameter, text: str) -> bool:
    try:
        _parsed(name, parameter, text.strip())
    except SelectionError:
        return False
    return True


def _not_a_choice(name: str, parameter: Parameter, text: str) -> Scalar:
    known = ", ".join(parameter.choice_texts)
    raise SelectionError(
        f"{name}={text} is not a choice", remedy=f"choose from {known}" if known else ""
    )
