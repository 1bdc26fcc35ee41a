"""A comparison for programs: JSON, CSV, and JUnit XML for continuous integration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from backends.results.case_result import CaseResult
from backends.results.comparison import ComparedCase, Comparison, Verdict
from backends.results.comparison_report import (
    SIDES,
    comparison_words,
    is_simulated,
    median_of,
    parameters_compared,
    reason,
)
from backends.results.escaping import one_line
from backends.results.junit_document import junit_document
from backends.results.mixed_environments import environments_with_repeats
from backends.results.render import Column, Table, render_csv
from backends.results.statistics import low_high


def _name(case: ComparedCase) -> str:
    """For programs: the same whatever else is compared."""
    return " ".join(filter(None, [case.profile, case.case, parameters_compared(case)]))


def comparison_document(comparison: Comparison) -> dict[str, Any]:  # JSON
    """The keys are a contract with other programs: docs/reports.md lists them."""
    return {
        "threshold": comparison.threshold,
        "baseline_campaign": comparison.names[0] or None,
        "candidate_campaign": comparison.names[1] or None,
        "baseline_path": _path(comparison.paths[0]),
        "candidate_path": _path(comparison.paths[1]),
        "baseline_settings": [dict(one) for one in comparison.settings[0]],
        "candidate_settings": [dict(one) for one in comparison.settings[1]],
        "across": list(comparison.across),
        "simulated": is_simulated(comparison),
        "regressions": len(comparison.regressions),
        "inconclusive": len(comparison.of(Verdict.INCONCLUSIVE)),
        "decisive": [_name(case) for case in comparison.decisive],
        "environments": [
            {
                "baseline": ours,
                "candidate": theirs,
                "cases": [_name(c) for c in comparison.cases if (ours, theirs) in c.environments],
            }
            for ours, theirs in comparison.environments
        ],
        "notes": list(comparison_words(comparison)[0]),
        "unlike": [asdict(unlike) for unlike in comparison.unlike],
        "assumed": [
            {
                "side": SIDES[assumed.campaign],
                "profile": assumed.profile,
                "parameters": dict(assumed.parameters),
            }
            for assumed in comparison.assumed
        ],
        "cases": [
            {
                "profile": case.profile,
                "case": case.case,
                "parameters": dict(case.parameters),
                "differs": dict(case.differs),
                "unit": case.unit,
                "baseline": median_of(case.baseline),
                "candidate": median_of(case.candidate),
                "ratio": case.ratio,
                "ratio_interval": low_high(case.interval),
                "ratio_method": str(case.interval.method) if case.interval else None,
                "estimate": case.evidence.ratio if case.evidence else None,
                "estimate_interval": low_high(case.evidence.interval() if case.evidence else None),
                "verdict": str(_json_verdict(case)),
                "doubts": [str(doubt) for doubt in case.doubts],
                "reason": reason(case, comparison.threshold),
                "repeats_needed": case.repeats_needed,
                **_trust("baseline", case.baseline),
                **_trust("candidate", case.candidate),
            }
            for case in comparison.cases
        ],
    }


def _trust(name: str, side: CaseResult | None) -> dict[str, Any]:  # JSON
    """How far a side's figure can be trusted, and where it is from; null and nothing where it has
    none."""
    return {
        f"{name}_grade": str(side.grade) if side and side.grade else None,
        f"{name}_flags": [str(concern) for concern in side.concerns] if side else [],
        f"{name}_environments": [
            {"environment": text, "repeats": repeats}
            for text, repeats in (environments_with_repeats(side) if side else ())
        ],
    }


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def _json_verdict(case: ComparedCase) -> Verdict:
    """One of the five that programs know; which two models they are is in the reason."""
    other = case.verdict is Verdict.DIFFERENT_MODEL
    return Verdict.INSUFFICIENT if other else case.verdict


def comparisons_csv(comparisons: Iterable[Comparison]) -> str:
    """A row per case with every digit, and of which two campaigns it is."""
    names = ("unit", "baseline", "candidate", "ratio")
    last = ("verdict", "reason", "repeats_needed")
    headings = (
        *("baseline_campaign", "candidate_campaign", "profile", "case", "parameters", *names),
        *("ratio_low", "ratio_high", "ratio_method"),
        *("estimate", "estimate_low", "estimate_high", *last),
        *(f"{side}_{name}" for side in SIDES for name in ("grade", "flags")),
        "doubts",
    )
    rows = []
    for comparison in comparisons:
        documents = comparison_document(comparison)["cases"]
        for case, told in zip(comparison.cases, documents, strict=True):
            values = (
                *(told[name] for name in names),
                *(told["ratio_interval"] or (None, None)),
                told["ratio_method"],
                told["estimate"],
                *(told["estimate_interval"] or (None, None)),
                *(told[name] for name in last),
                *(told[name] for side in SIDES for name in (f"{side}_grade", f"{side}_flags")),
                told["doubts"],
            )
            first = (*comparison.names, case.profile, case.case, parameters_compared(case))
            rows.append((*first, *map(_csv_text, values)))
    return render_csv([Table("", tuple(map(Column, headings)), tuple(rows))])


def _csv_text(value: object) -> str:
    if isinstance(value, list):
        return ";".join(value)
    return "" if value is None else str(value)


def comparison_junit(comparison: Comparison, *, strict: bool = False) -> str:
    """JUnit XML as CI servers read it: a test per case, failed where the exit code rests on it.

    What is not decided, and a regression that may be chance among so many cases, is skipped with
    its reason: it must not turn a pipeline red that ``compare`` leaves green.
    """
    failing = comparison.fails(strict=strict)
    undecided = [
        case
        for case in comparison.cases
        if case not in failing and case.verdict not in (Verdict.SAME, Verdict.IMPROVEMENT)
    ]
    suite = ET.Element(
        "testsuite",
        name="dlperf-tui compare" + " SIMULATED" * is_simulated(comparison),
        tests=str(len(comparison.cases)),
        failures=str(len(failing)),
        errors="0",
        skipped=str(len(undecided)),
    )
    for case in comparison.cases:
        name = " ".join(filter(None, [case.case, parameters_compared(case)]))
        test = ET.SubElement(
            suite, "testcase", classname=one_line(case.profile), name=one_line(name)
        )
        said = one_line(f"{case.words}: {reason(case, comparison.threshold)}")
        if case in failing:
            ET.SubElement(test, "failure", message=said, type=str(case.verdict)).text = said
        elif case in undecided:
            ET.SubElement(test, "skipped", message=said)
        else:
            ET.SubElement(test, "system-out").text = said
    before, after = comparison_words(comparison)
    return junit_document(suite, (*before, *after))
