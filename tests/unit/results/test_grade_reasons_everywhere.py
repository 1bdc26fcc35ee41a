"""What sets a case's grade is told wherever the grade is, in one order: what sets it first."""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path

import pytest

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.run_results import run_results
from backends.results.campaign_report import statistics_table
from backends.results.case_result import CaseResult
from backends.results.comparison import compare
from backends.results.comparison_files import comparison_document, comparisons_csv
from backends.results.findings import Concern, Finding, Grade, gravest_first
from backends.results.grade_words import found_lines, grade_reasons
from backends.results.render import render_markdown
from backends.results.short_flags import SHORT, short_of
from backends.results.summary import Group, summarise
from tests.unit.results.conftest import Dlperf
from tests.unit.results.test_report_command import EXAMPLES
from tui.screens.result_text import case_text, flags


def cases_of(example: Path) -> list[tuple[CaseResult, Group]]:
    groups = summarise(run_results(read_campaign(example)))
    return [(case, group) for group in groups for case in group.cases]


def lowering(case: CaseResult) -> list[Concern]:
    return [found.concern for found in case.findings if found.ceiling > Grade.A]


def in_order(parts: list[str], text: str) -> bool:
    """Each is in the text, after the one before."""
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_reasons_of_every_grade_are_in_json_csv_report_and_on_the_page(
    dlperf: Dlperf, example: Path
) -> None:
    document = json.loads(dlperf("report", example, "--format", "json"))["results"]
    rows = list(csv.DictReader(io.StringIO(dlperf("report", example, "--format", "csv"))))
    history = json.loads(dlperf("history", example, "--json"))["cases"]
    points = {(case["case"], str(case["parameters"])): case["points"][0] for case in history}
    cases = cases_of(example)
    table = render_markdown([statistics_table([group for _, group in cases])])
    assert len(cases) == len(document) == len(rows)
    for (case, group), told, row in zip(cases, document, rows, strict=True):
        names = [str(concern) for concern in case.concerns]
        reasons = lowering(case)
        assert bool(reasons) == (case.grade is not Grade.A)
        assert told["flags"] == row["flags"].split(";") * bool(names) == names
        assert [found["words"] for found in told["findings"]] == [
            line for _, line in found_lines(case, group)
        ]
        assert list(dict.fromkeys(found["kind"] for found in told["findings"])) == names
        costly = [found["words"] for found in told["findings"] if found["grade"] > "A"]
        assert costly == told["grade_reasons"] == grade_reasons(case, group)
        if costly:
            assert told["findings"][0]["grade"] == told["grade"] == row["grade"]
        short = [short_of(concern, case) for concern in case.concerns]
        assert f"| {', '.join(short) or '–'} |" in table
        point = points[case.case, str(dict(case.parameters))]
        assert (point["grade"], point["flags"]) == (told["grade"], names)
        assert in_order([SHORT[concern] for concern in reasons], flags(case).plain)
        assert in_order(costly, case_text(case, group).plain)


def test_a_comparison_tells_programs_the_grades_and_flags_of_both_sides() -> None:
    runs = run_results(read_campaign(EXAMPLES[0]))
    comparison = compare(runs, runs)
    (row, *_) = csv.DictReader(io.StringIO(comparisons_csv([comparison])))
    told = comparison_document(comparison)["cases"][0]
    case = comparison.cases[0].candidate
    assert case is not None
    assert case.findings
    for side in ("baseline", "candidate"):
        assert told[f"{side}_grade"] == row[f"{side}_grade"] == case.grade
        assert told[f"{side}_flags"] == row[f"{side}_flags"].split(";") == [*case.concerns]


def test_of_what_costs_the_same_the_graver_comes_first() -> None:
    found = [
        Finding(Concern.PREFLIGHT, Grade.B),
        Finding(Concern.POWER_CAPPED, Grade.A),
        Finding(Concern.OTHER_RULE, Grade.B),
        Finding(Concern.FEW_REPEATS, Grade.C),
    ]
    for order in itertools.permutations(found):
        assert [one.concern for one in gravest_first(order)] == [
            Concern.FEW_REPEATS,
            Concern.OTHER_RULE,
            Concern.PREFLIGHT,
            Concern.POWER_CAPPED,
        ]
