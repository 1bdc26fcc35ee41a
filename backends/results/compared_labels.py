"""What compared cases are called beside one another: as results name them, with both values of what
differs within a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from backends.results.case_result import CaseResult
from backends.results.comparison import ComparedCase
from backends.results.numbers import NOTHING
from profiles.format.case import Case
from profiles.format.case_labels import CaseLabels, case_labels
from profiles.scalars import scalar_text

if TYPE_CHECKING:
    from profiles.scalars import Scalar


def compared_labels(cases: Iterable[ComparedCase]) -> CaseLabels:
    """Named is what differs between any two of them, on either side."""
    sides = (side for case in cases for side in (case.baseline, case.candidate))
    return case_labels(_case(side, side.parameters) for side in sides if side is not None)


def compared_label(case: ComparedCase, labels: CaseLabels) -> str:
    """``1n8g b256 graphs=off→on``"""
    return labels.label(_paired(case))


def whole_label(case: ComparedCase) -> str:
    """The same with all parameters, as it is called alone."""
    return _paired(case).label


def _paired(case: ComparedCase) -> Case:
    known = case.candidate or case.baseline
    if known is None:
        raise ValueError("a case is on one side at least")
    both = {
        name: f"{value_text(was)}→{value_text(known.parameters.get(name))}"
        for name, was in case.differs
    }
    return _case(known, {**known.parameters, **both})


def _case(side: CaseResult, parameters: Mapping[str, Scalar]) -> Case:
    return Case(side.profile, side.nodes, side.gpus_per_node, parameters)


def value_text(value: Scalar | None) -> str:
    """Of a parameter; None: there is none."""
    return NOTHING if value is None else scalar_text(value)
