"""What a profile says of its workload: the name that published figures have for it, and which
arithmetic its precisions are, so that a result is held only against what is the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import Field

from profiles.format.case import Case
from profiles.format.expression import parse_expression
from profiles.format.field_types import Condition, Model, Name
from profiles.references.arithmetic import Arithmetic
from profiles.scalars import Scalar, scalar_text

PRECISION = "precision"
"""The parameter whose choices ``arithmetic`` explains."""
OTHERS = "*"
"""In their place: whatever is not listed, or everything where there is no such parameter."""


class WorkloadVariant(Model):
    """What it is called, and under what, in the cases where ``when`` holds."""

    when: Condition
    name: str = Field(min_length=1)
    where: Mapping[Name, Scalar] = Field(default_factory=dict)


class Workload(Model):
    """``arithmetic``: of each choice of the parameter ``precision``, or of :data:`OTHERS`. What it
    does not tell is unstated.

    ``where``: parameters and settings with the values under which the workload is the named one.
    ``variant``: of these the first that holds has a name and a ``where`` of its own.
    """

    name: str = Field(min_length=1)
    arithmetic: Mapping[str, Arithmetic] = Field(default_factory=dict)
    where: Mapping[Name, Scalar] = Field(default_factory=dict)
    variant: tuple[WorkloadVariant, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All that it may be called."""
        return (self.name, *(variant.name for variant in self.variant))

    def of(self, case: Case) -> Workload | WorkloadVariant:
        """What says the case's name.

        Raises
        ------
        ProfileError: a condition does not fit the case's values.
        """
        values = case.values()
        held = (one for one in self.variant if parse_expression(one.when).holds(values))
        return next(held, self)


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
    named = stated.of(case)
    other = [
        f"{name}={values.get(name, 'unknown')}"
        for name, value in named.where.items()
        if values.get(name) != scalar_text(value)
    ]
    kinds = stated.arithmetic
    kind = kinds.get(case.text(PRECISION), kinds.get(OTHERS, Arithmetic.UNSTATED))
    return StatedWorkload(", ".join([named.name, *other]), kind)
