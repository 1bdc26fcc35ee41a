"""Two campaigns side by side: what became slower, what faster, what cannot be said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from backends.results.concerns import pick
from backends.results.layouts.cells import count_cell
from backends.results.numbers import NOTHING, fixed, trimmed
from backends.results.render import Column, Table
from backends.results.run_result import RunResult
from backends.results.statistics import Spread
from backends.results.summary import CaseResult, Group, parameters_text, summarise
from backends.results.translations import Lang, words
from profiles.errors import SelectionError

if TYPE_CHECKING:
    from profiles.format.profile import Scalar


class Verdict(StrEnum):
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    SAME = "same"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """One case in both campaigns; the side that does not have it is None.

    ``ratio`` is candidate median / baseline median. ``reason``: in English what the verdict rests
    on; ``reason_zh`` in Chinese.
    """

    profile: str
    case: str
    parameters: tuple[tuple[str, Scalar], ...]
    unit: str
    baseline: CaseResult | None
    candidate: CaseResult | None
    ratio: float | None
    verdict: Verdict
    reason: str
    reason_zh: str


@dataclass(frozen=True, slots=True)
class Comparison:
    threshold: float
    cases: tuple[ComparedCase, ...]

    @property
    def regressions(self) -> tuple[ComparedCase, ...]:
        return tuple(case for case in self.cases if case.verdict is Verdict.REGRESSION)


def compare(
    baseline: Iterable[RunResult], candidate: Iterable[RunResult], threshold: float = 0.02
) -> Comparison:
    """Case by case, medians over the successful repeats.

    A difference beyond ``threshold`` (0.02: 2%) is a regression or an improvement, unless both
    sides have six repeats or more and the 95% intervals of their medians overlap: then the repeats
    do not carry it and the case is the same. A case that the candidate ran without one success is a
    regression. What either side lacks is named as insufficient.

    Raises
    ------
    SelectionError: a threshold out of 0 … 1, units that differ, or not one common case.
    """
    if not 0 <= threshold < 1:
        raise SelectionError(
            f"threshold {threshold:g} is out of range", remedy="give a percentage such as 2%"
        )
    ours = _by_key(summarise(baseline))
    theirs = _by_key(summarise(candidate))
    cases = [
        _compared(key, ours.get(key), theirs.get(key), threshold)
        for key in dict.fromkeys([*ours, *theirs])
    ]
    if not any(case.baseline is not None and case.candidate is not None for case in cases):
        raise SelectionError(
            "the two campaigns have no case in common",
            remedy="compare campaigns of the same profiles, parameters and cases",
        )
    return Comparison(threshold, tuple(cases))


_Key = tuple[str, str, tuple[tuple[str, "Scalar"], ...]]


def _by_key(groups: Sequence[Group]) -> dict[_Key, CaseResult]:
    return {
        (case.profile, case.case, tuple(sorted(case.parameters.items()))): case
        for group in groups
        for case in group.cases
        if case.runs
    }


def _compared(
    key: _Key, ours: CaseResult | None, theirs: CaseResult | None, threshold: float
) -> ComparedCase:
    profile, tag, parameters = key
    known = ours or theirs
    if known is None:
        raise ValueError("a case is on one side at least")
    if ours is not None and theirs is not None and ours.unit != theirs.unit:
        raise SelectionError(
            f"baseline is in {ours.unit}, candidate in {theirs.unit}",
            where=f"{profile} {tag}",
            remedy="measure both with the same profile",
        )
    if ours and theirs and ours.spread and theirs.spread:
        judgement = _judge(ours.spread, theirs.spread, threshold)
    else:
        judgement = _insufficient(ours, theirs)
    return ComparedCase(profile, tag, parameters, known.unit, ours, theirs, *judgement)


_Judgement = tuple[float | None, Verdict, str, str]


def _insufficient(ours: CaseResult | None, theirs: CaseResult | None) -> _Judgement:
    """The verdict where at least one side has no figure."""
    verdict = Verdict.INSUFFICIENT
    if ours is None:
        said = "not in the baseline", "基线中没有"
    elif theirs is None:
        said = "not in the candidate", "候选中没有"
    elif ours.spread is None:
        said = "no successful run in the baseline", "基线没有成功的运行"
    else:
        verdict = Verdict.REGRESSION
        said = "no successful run in the candidate", "候选没有成功的运行"
    return None, verdict, *said


def _judge(ours: Spread, theirs: Spread, threshold: float) -> _Judgement:
    ratio = theirs.median / ours.median
    change, limit = f"{(ratio - 1) * 100:+.1f}%", f"{threshold * 100:g}%"
    # Exactly the threshold is still the same, whatever the last bit of the quotient says.
    if abs(ratio - 1) <= threshold + 1e-12:
        return ratio, Verdict.SAME, f"{change} is within {limit}", f"{change} 在 {limit} 以内"
    verdict = Verdict.REGRESSION if ratio < 1 else Verdict.IMPROVEMENT
    if ours.interval is None or theirs.interval is None:
        fewest = min(ours.n, theirs.n)
        said = (
            f"{change} (n = {fewest}: too few repeats for an interval)",
            f"{change}（n = {fewest}：重复太少，无置信区间）",
        )
    elif ours.interval.overlaps(theirs.interval):
        verdict = Verdict.SAME
        said = (
            f"{change}, but the 95% intervals of the medians overlap",
            f"{change}，但中位数95%置信区间重叠",
        )
    else:
        said = f"{change}, the 95% intervals are apart", f"{change}，95%置信区间不重叠"
    return ratio, verdict, *said


def comparison_table(comparison: Comparison, lang: Lang = "en") -> Table:
    """One row per case: both medians with their n, ratio, verdict and what it rests on."""
    w = words(lang)
    headings = (w.profile, w.case, w.parameters)
    figures = (w.baseline, w.count, w.candidate, w.count, w.ratio)
    rows = [
        (
            case.profile,
            case.case,
            parameters_text(dict(case.parameters)),
            *_side(case.baseline),
            *_side(case.candidate),
            fixed(case.ratio, 3),
            w.verdicts[case.verdict],
            pick(lang, case.reason, case.reason_zh),
        )
        for case in comparison.cases
    ]
    return Table(
        title="",
        columns=(
            *(Column(heading, "left") for heading in headings),
            *(Column(heading) for heading in figures),
            Column(w.verdict, "left"),
            Column(w.reason, "left"),
        ),
        rows=tuple(rows),
    )


def _side(case: CaseResult | None) -> tuple[str, str]:
    if case is None:
        return NOTHING, NOTHING
    return trimmed(case.spread.median if case.spread else None), count_cell(case)


def comparison_document(comparison: Comparison) -> dict[str, Any]:  # JSON
    """``{"threshold", "regressions", "cases": [{profile, case, …, ratio, verdict, reason}]}``"""
    return {
        "threshold": comparison.threshold,
        "regressions": len(comparison.regressions),
        "cases": [
            {
                "profile": case.profile,
                "case": case.case,
                "parameters": dict(case.parameters),
                "unit": case.unit,
                "baseline": _median(case.baseline),
                "candidate": _median(case.candidate),
                "ratio": case.ratio,
                "verdict": str(case.verdict),
                "reason": case.reason,
            }
            for case in comparison.cases
        ],
    }


def _median(case: CaseResult | None) -> float | None:
    return case.spread.median if case and case.spread else None
