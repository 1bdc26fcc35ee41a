"""What a profile says of its workload: the name that published figures have for it, and which
arithmetic its precisions are, so that a result is held only against what is the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import Field

from profiles.format.case import Case
from profiles.format.field_types import Model, Name
from profiles.references.arithmetic import Arithmetic
from profiles.scalars import Scalar, scalar_text

PRECISION = "precision"
"""The parameter whose choices ``arithmetic`` explains."""
OTHERS = "*"
"""In their place: whatever is not listed, or everything where there is no such parameter."""


class Workload(Model):
    """``arithmetic``: of each choice of the parameter ``precision``, or of :data:`OTHERS`. What it
    does not tell is unstated.

    ``where``: parameters and settings with the values under which the workload is the named one.
    """

    name: str = Field(min_length=1)
    arithmetic: Mapping[str, Arithmetic] = Field(default_factory=dict)
    where: Mapping[Name, Scalar] = Field(default_factory=dict)


class StatedWorkload(NamedTuple):
    """``name``: empty where the profile says nothing. ``arithmetic``: see
    :class:`profiles.references.arithmetic.Arithmetic`."""

    name: str
    arithmetic: Arithmetic


def workload_of(stated: Workload | None, case: Case, settings: Mapping[str, str]) -> StatedWorkload:
    """The workload of a case under these settings, by what its profile says.

    Where one of ``where`` has another value, or none is known, the name says so: it is another
    workload then, and equal to no published one.
    """
    if stated is None:
        return StatedWorkload("", Arithmetic.UNSTATED)
    values = {**settings, **{name: case.text(name) for name in case.parameters}}
    other = [
        f"{name}={values.get(name, 'unknown')}"
        for name, value in stated.where.items()
        if values.get(name) != scalar_text(value)
    ]
    kinds = stated.arithmetic
    kind = kinds.get(case.text(PRECISION), kinds.get(OTHERS, Arithmetic.UNSTATED))
    return StatedWorkload(", ".join([stated.name, *other]), kind)
