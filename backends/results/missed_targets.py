"""Repeats until it is known that ended before it was: asked, reached, and what it would take."""

from __future__ import annotations

from collections.abc import Iterator

from backends.results.auto_repeats import (
    CONFIRMING,
    LOOKS,
    AutoRepeats,
    Quantity,
    Stop,
    expected_repeats,
    width_of,
)
from backends.results.case_result import CaseResult
from backends.results.grade_words import half_text
from backends.results.summary import Group
from backends.results.translations import EN
from profiles.counted import counted

_NOT_MISSED = (None, Stop.ASKED, Stop.REACHED)


def missed_targets(rule: AutoRepeats, group: Group) -> Iterator[tuple[CaseResult, str]]:
    """Of each case that stopped short of the target, in one line."""
    for case in group.cases:
        if case.stopped not in _NOT_MISSED:
            yield case, _missed(rule, case, group)


def _missed(rule: AutoRepeats, case: CaseResult, group: Group) -> str:
    of_speedup = rule.quantity is Quantity.SPEEDUP and case.case != group.base
    base = group.base_case.throughputs if of_speedup else None
    what = "its speedup" if of_speedup else "its throughput"
    asked = f"asked for ±{rule.target * 100:g}% of {what}"
    why = EN.stopped.get(case.stopped or "", case.stopped)
    n = len(case.throughputs)
    width = width_of(case.throughputs, base)
    if width is None:
        return (
            f"{asked}, not known from {counted(n, 'repeat')}, an interval takes {LOOKS[0]}: {why}"
        )
    reached = (
        f"{asked}, reached ±{half_text(width, rule.target)} with {counted(n, 'repeat')}: {why}"
    )
    expected = expected_repeats(rule, case.throughputs, base)
    if case.stopped == Stop.PLATEAU or expected is None:
        return reached
    more = max(CONFIRMING, expected - n)
    sides = " of it and of its base" if of_speedup else ""
    return f"{reached}; about {more} more{sides} would likely do"
