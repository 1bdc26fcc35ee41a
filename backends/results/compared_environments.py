"""Which cases of a comparison were measured in environments that differ, and in what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backends.hosts.fingerprint import field_text, fields_apart, unlike
from backends.results.compared_labels import compared_label, compared_labels
from backends.results.comparison import ComparedCase, Comparison

MOST_NAMED = 6
"""Cases; of more their number is told."""


@dataclass(frozen=True, slots=True)
class Apart:
    """``baseline``, ``candidate``: what differs, as each side has it. ``cases``: of which that is
    so; ``which``: ``2 of 6 cases: 1n1g, 1n2g``, empty where that is all that both sides have."""

    baseline: str
    candidate: str
    cases: tuple[ComparedCase, ...]
    which: str


def environments_apart(comparison: Comparison) -> tuple[Apart, ...]:
    """One for each difference, in the order of the cases."""
    found: dict[tuple[str, str], list[ComparedCase]] = {}
    for case in comparison.cases:
        if case.environments:
            found.setdefault(_words(case), []).append(case)
    both = sum(bool(case.baseline and case.candidate) for case in comparison.cases)
    return tuple(
        Apart(
            *words,
            tuple(cases),
            ""
            if len(cases) == both
            else f"{len(cases)} of {both} cases: {_names(cases, comparison)}",
        )
        for words, cases in found.items()
    )


def _words(case: ComparedCase) -> tuple[str, str]:
    sides = (case.baseline, case.candidate)
    found = fields_apart(*(sorted(side.fingerprints) if side else () for side in sides))
    apart = unlike(found)
    ours, theirs = (
        ", ".join(field_text(key, own[place]) for key, own in apart.items()) for place in (0, 1)
    )
    return ours, theirs


def _names(cases: Sequence[ComparedCase], comparison: Comparison) -> str:
    """By size alone where that tells them apart."""
    every = comparison.cases
    several, labels = len({case.profile for case in every}) > 1, compared_labels(every)
    names = [f"{f'{case.profile} ' * several}{compared_label(case, labels)}" for case in cases]
    if len({case.case for case in every}) == len(every):
        names = [case.case for case in cases]
    more = len(names) - MOST_NAMED
    return ", ".join([*names[:MOST_NAMED], *([f"+{more}"] if more > 0 else [])])
