"""One case's figures as cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from backends.results.case_result import CaseResult
from backends.results.findings import Concern, gravest_first
from backends.results.numbers import (
    NOTHING,
    end_text,
    fixed,
    percent,
    ratio,
    scatter,
    signed_percent,
)
from backends.results.ratios import Method, RatioInterval
from backends.results.statistics import CV_AMBER, CV_LIMITS, CV_RED
from backends.results.summary import Group
from backends.results.translations import Words

_MARKS = {
    "†": {Concern.OTHER_ENVIRONMENT, Concern.MIXED_ENVIRONMENT},
    "‡": {Concern.OTHER_RULE},
    "§": {Concern.SHARED_UNLIKE},
}


def speedup_cell(
    case: CaseResult, group: Group, *, nothing: str = NOTHING, beside: RatioInterval | None = None
) -> str:
    """``3.85``, ``1`` for the base, ``–`` without one and of one case alone; † where the
    environments differ, ‡ where the rules do, § where machines were shared unlike. ``beside``: the
    interval that stands there, whose decimals it has."""
    if group.alone:
        return nothing
    base = case.case == group.base
    text = ratio(case.speedup, ratio_decimals(beside), is_base=base, nothing=nothing)
    return " ".join([text, *speedup_marks(case, group)])


def efficiency_cell(case: CaseResult, group: Group) -> str:
    """``93.9%``, ``–`` without one and of one case alone; with the marks of the speedup, which is
    the same quotient."""
    if group.alone:
        return NOTHING
    return " ".join([percent(case.efficiency), *speedup_marks(case, group)])


def speedup_marks(case: CaseResult, group: Group) -> tuple[str, ...]:
    """None without a speedup, nor of the base, whose is 1 whatever it ran on. Each has its legend
    in :func:`.common.speedup_notes`."""
    if case.speedup is None or case.case == group.base:
        return ()
    return tuple(mark for mark, why in _MARKS.items() if why.intersection(case.concerns))


def speedup_interval_cell(case: CaseResult) -> str:
    """``1.76 … 1.84``, with a ``w`` where it is Welch's; ``–`` without one."""
    return range_cell(case.speedup_interval, ratio_decimals(case.speedup_interval))


def efficiency_interval_cell(case: CaseResult) -> str:
    """``87.9% … 92.0%``, otherwise as that of the speedup."""
    return _ends(case.efficiency_interval, percent, 1)


def range_cell(interval: RatioInterval | None, decimals: int) -> str:
    """Both ends, each told from 1; a ``w`` behind Welch's."""
    return _ends(interval, fixed, decimals)


def change_ends(interval: RatioInterval) -> tuple[str, str]:
    """As changes, each told from none: ``-1.2%``, ``-0.01%``."""
    low, high = (end_text(signed_percent, e - 1, 1, 0.0) for e in (interval.low, interval.high))
    return low, high


def ratio_decimals(interval: RatioInterval | None) -> int:
    """Of a speedup and its interval: two, and three where that is so narrow that two would leave
    fewer than five steps of it: 1.76 … 1.84, 3.859 … 3.881."""
    width = interval.high - interval.low if interval else 0.0
    return 3 if 0 < width < 0.05 else 2


def _ends(interval: RatioInterval | None, shown: Callable[[float, int], str], decimals: int) -> str:
    if interval is None:
        return NOTHING
    mark = " w" if interval.method is Method.WELCH else ""
    low, high = (end_text(shown, end, decimals, 1.0) for end in (interval.low, interval.high))
    return f"{low} … {high}{mark}"


def cv_cell(case: CaseResult) -> str:
    """``0.42%``, ``2.10% !`` above 2%, ``6.30% !!`` above 5%; ``–`` for fewer than two repeats."""
    return cv_text(case.spread.cv if case.spread else None)


def cv_text(cv: float | None) -> str:
    """The same of any figure whose repeats scatter so far."""
    if cv is None:
        return NOTHING
    return scatter(cv, beyond=CV_LIMITS) + (" !!" if cv > CV_RED else " !" if cv > CV_AMBER else "")


def cv_notes(cvs: Iterable[float | None], w: Words) -> list[str]:
    """What the marks of these mean."""
    found = {w.mark_red if cv > CV_RED else w.mark_amber for cv in cvs if cv and cv > CV_AMBER}
    return [mark for mark in (w.mark_amber, w.mark_red) if mark in found]


def count_cell(case: CaseResult) -> str:
    """``7``, or ``6/7`` where one of seven did not succeed, or not yet."""
    wanted = case.wanted
    return str(wanted) if case.succeeded == wanted else f"{case.succeeded}/{wanted}"


def flags_cell(cases: Iterable[CaseResult]) -> str:
    """As results.csv has them, the gravest first, of several cases each once."""
    found = gravest_first(finding for case in cases for finding in case.findings)
    return ";".join(dict.fromkeys(str(finding.concern) for finding in found))


def unended_notes(cases: Iterable[CaseResult], w: Words) -> tuple[str, ...]:
    """What the ``3/7`` of :func:`count_cell` means in a campaign that goes on."""
    unended = sum(len(case.unended_runs) for case in cases)
    return (w.mark_unended.format(unended=unended),) if unended else ()
