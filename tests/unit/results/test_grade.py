"""Grades: an A for what nothing speaks against, and a reason in words for every step down."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist, fmean, median, stdev
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.hangs.diagnosis import Confidence, Diagnosis, Sign, Suspect
from backends.hangs.diagnosis import Finding as HangFinding
from backends.hosts.telemetry_summary import GpuUse, Telemetry
from backends.results.campaign_report import ReportContext, render_report, statistics_table
from backends.results.case_result import CaseResult
from backends.results.escaping import md_text
from backends.results.findings import Concern, Grade, grade_of
from backends.results.flag_lines import reasons_elsewhere
from backends.results.grade import CEILINGS
from backends.results.grade_words import (
    finding_lines,
    found_lines,
    grade_reasons,
    lettered,
    named_lines,
    rules_text,
    with_name,
    worst_case,
)
from backends.results.layouts.cells import speedup_marks, unended_notes
from backends.results.layouts.common import LayoutOptions
from backends.results.provenance import provenance
from backends.results.publish import publish
from backends.results.recorded_sentences import translated
from backends.results.result_files import results_csv
from backends.results.results_json import document
from backends.results.run_result import RunResult
from backends.results.short_flags import SHORT, short_of, short_words
from backends.results.statistics import (
    coefficient_of_variation,
    dependence,
    half_width,
    students_half_width,
)
from backends.results.steady_words import disturbance_text
from backends.results.summary import Group, summarise
from backends.results.translations import EN, LANGUAGES, Lang, words
from profiles.format.measure_section import Statistic
from profiles.throughput.steady import Disturbance, Shape
from tui.campaign_words import MARKS

STEADY = [100.0, 100.3, 99.8, 100.1, 99.9, 100.2, 99.7]


def steady(center: float = 100.0, n: int = 7, cv_percent: float = 0.2) -> list[float]:
    scale = cv_percent / 0.216
    return [center * (1 + scale * (value / 100 - 1)) for value in STEADY[:n]]


def only(runs: Sequence[RunResult], tag: str = "1n1g") -> tuple[CaseResult, Group]:
    (group,) = summarise(runs)
    return next(case for case in group.cases if case.case == tag), group


@pytest.fixture
def graded(runs_of):
    """(grade, what lowers it) of one case, in a known environment unless said otherwise."""

    def graded(values: Sequence[float | None], **fields) -> tuple[Grade | None, set[Concern]]:
        case, _ = only(runs_of("1n1g", values, **{"fingerprint": "a", **fields}))
        return case.grade, {f.concern for f in case.findings if f.ceiling > Grade.A}

    return graded


def test_enough_steady_repeats_of_a_known_environment_are_an_a(graded):
    assert graded(steady()) == (Grade.A, set())


@pytest.mark.parametrize(
    ("n", "grade"), [(1, "D"), (2, "C"), (3, "B"), (5, "B"), (6, "A"), (7, "A")]
)
def test_grade_goes_by_the_repeats(graded, n: int, grade: str):
    assert graded(steady(n=n, cv_percent=0.05)) == (
        grade,
        {Concern.FEW_REPEATS} if grade != "A" else set(),
    )


@pytest.mark.parametrize(
    ("half", "grade"),
    [(0.0099, "A"), (0.0101, "B"), (0.0249, "B"), (0.0251, "C"), (0.0499, "C"), (0.0501, "D")],
)
@pytest.mark.parametrize("of_median", [True, False])
def test_grade_goes_by_the_width_of_the_narrower_interval(
    graded, half: float, grade: str, of_median: bool
):
    """Of the median where few values are far off, of the mean where all scatter alike."""
    off = [*[1.0, -1.0] * 5, 5.0, -5.0] if of_median else [0.5, -2.5, 1.5, -1.5, 2.5, -0.5]
    scale = half if of_median else half / (2.5705818 * stdev(off) / math.sqrt(6))
    values = [100 * (1 + scale * x) for x in off]
    width, student = half_width(values), students_half_width(values)
    assert width is not None
    assert student is not None
    assert min(width, student) == pytest.approx(half)
    assert (width < student) == of_median
    case_grade, why = graded(values)
    assert (Concern.WIDE_INTERVAL in why) == (grade != "A")
    beside = {Concern.CV_RED: "C", Concern.CV_AMBER: "B", Concern.OUTLIERS: "B"}
    assert case_grade == max(grade, *(beside.get(concern, "A") for concern in why), "A")


SHAPES = {
    "normal": lambda n: [NormalDist().inv_cdf((k + 0.5) / n) for k in range(n)],
    "uniform": lambda n: [k - (n - 1) / 2 for k in range(n)],
    "skewed": lambda n: [-math.log((k + 0.5) / n) for k in range(n)],
}
OF_THE_SCATTER = (Concern.FEW_REPEATS, Concern.WIDE_INTERVAL, Concern.CV_AMBER, Concern.CV_RED)


@pytest.mark.parametrize("shape", SHAPES)
def test_fewer_repeats_of_the_same_scatter_are_never_graded_better(runs_of, shape: str):
    """The same shape and the same CV, from one that nobody minds to one that is far too large."""
    for step in range(60):
        cv, before = 0.0005 * 1.12**step, Grade.D
        for n in range(1, 13):
            off = SHAPES[shape](n)
            scale = cv / stdev(off) if n > 1 else 0.0
            values = [100 * (1 + scale * (x - fmean(off))) for x in off]
            case, _ = only(runs_of("1n1g", values, fingerprint="a"))
            found = grade_of(f for f in case.findings if f.concern in OF_THE_SCATTER)
            assert found <= before, f"{n} repeats with CV {cv:.4f}: {found}, with fewer {before}"
            before = found


@pytest.mark.parametrize(
    ("failed", "of", "grade"),
    [(0, 8, "A"), (1, 14, "B"), (2, 8, "B"), (3, 11, "C"), (7, 14, "C"), (8, 14, "D")],
)
def test_grade_goes_by_the_share_of_failures(graded, failed: int, of: int, grade: str):
    values: list[float | None] = [*(steady() * 2)[: of - failed], *([None] * failed)]
    assert graded(values)[0] == max(Grade(grade), graded((steady() * 2)[: of - failed])[0])


def test_what_never_succeeded_has_failed_and_what_is_planned_has_no_grade(runs_of, graded):
    assert graded([None, None]) == (None, {Concern.FAILED_RUNS})
    runs = [*runs_of("1n1g", steady()), *runs_of("1n2g", [None, None])]
    groups = summarise(runs)
    written = document("c", runs, groups)["results"][1]
    assert (written["case"], written["grade"]) == ("1n2g", "D")  # what programs look for
    assert [*statistics_table(groups).rows[1]][-2:] == ["failed", "failed runs"]
    assert "> **No repeat succeeded: 1n2g.**" in render_report(ReportContext("c"), runs, groups)
    assert provenance(groups[0].cases, "1").endswith("grades 1 × B · 1 case failed")
    planned = [replace(run, state="planned", throughput=None) for run in runs_of("1n1g", [1.0])]
    assert only(planned)[0].grade is None


@pytest.mark.parametrize(
    ("fields", "concern"),
    [
        ({"simulated": True}, Concern.SIMULATED),
        ({"forced": True}, Concern.FORCED),
        ({"fingerprint": ""}, Concern.UNKNOWN_ENVIRONMENT),
        ({"warnings": ("odd",)}, Concern.WARNINGS),
        ({"warnings": ("differed",), "log_changed": ("differed",)}, Concern.LOG_CHANGED),
        ({"warnings": ("set",), "doubts": {"clock": ("set",)}}, Concern.CLOCK),
        ({"warnings": ("far",), "doubts": {"far_above": ("far",)}}, Concern.FAR_ABOVE),
        ({"warnings": ("lie",), "doubts": {"other_directory": ("lie",)}}, Concern.OTHER_DIRECTORY),
        ({"warnings": ("odd",), "doubts": {"of a newer version": ()}}, Concern.WARNINGS),
    ],
)
def test_circumstances_lower_a_steady_figure(graded, fields, concern: Concern):
    assert graded(steady(), **fields) == (CEILINGS[concern], {concern})


@pytest.mark.parametrize("unknown", range(8))
@pytest.mark.parametrize("told", ["", "NVIDIA H200"])
def test_every_repeat_whose_environment_nobody_recorded_counts(runs_of, unknown: int, told: str):
    seen = Telemetry((GpuUse("node1", 0, 100.0),))
    runs = runs_of("1n1g", steady(), fingerprint="NVIDIA H200, driver 580", telemetry=seen)
    case, group = only(
        [*(replace(run, fingerprint=told) for run in runs[:unknown]), *runs[unknown:]]
    )
    whose = "its environment" if unknown == 7 else f"the environment of {unknown} of 7 repeats"
    line = f"{whose} is not recorded (driver, CUDA, image …)"
    assert grade_reasons(case, group) == ([line] if unknown else [])
    assert case.grade is (Grade.B if unknown else Grade.A)


@pytest.mark.parametrize(("copied", "grade"), [(1, "C"), (5, "C"), (6, "D")])
def test_copies_of_a_log_are_no_repeats_and_one_log_is_a_number(runs_of, copied: int, grade: str):
    runs = runs_of("1n1g", steady(), fingerprint="a")
    doubted = [replace(run, doubts={"same_log": ("copy",)}) for run in runs[7 - copied :]]
    case, group = only([*runs[: 7 - copied], *doubted])
    assert (case.grade, case.concerns) == (grade, (Concern.SAME_LOG,))
    assert grade_reasons(case, group)[0].endswith("7: copy")


def test_material_outliers_lower_the_grade_and_small_ones_are_only_told(runs_of):
    tight = [100.0, 100.001, 99.999, 100.002, 99.998, 100.0]
    case, _ = only(runs_of("1n1g", [*tight, 99.5], fingerprint="a"))
    assert (case.grade, case.concerns) == (Grade.A, (Concern.OUTLIERS,))
    for off, grade in ((98.5, Grade.B), (98.9, Grade.B), (99.1, Grade.A)):
        case, _ = only(runs_of("1n1g", [*tight, *tight, off], fingerprint="a"))
        assert (case.grade, case.concerns) == (grade, (Concern.OUTLIERS,))


def test_drift_is_named_as_drift_and_not_as_dependence(graded):
    assert graded([100 + 0.2 * k for k in range(9)]) == (Grade.C, {Concern.DRIFT})


def waves(n: int) -> list[float]:
    return [100 + 0.2 * math.sin(k / 2) for k in range(n)]


def test_repeats_that_take_after_each_other_lower_the_grade(graded):
    assert graded(waves(24)) == (Grade.C, {Concern.DEPENDENT_REPEATS})
    ramp = [100.0 + k for k in range(8)]
    assert dependence(ramp) is not None
    assert dependence(ramp[:7]) is None
    assert dependence([100.0] * 9) is None


def test_independent_repeats_are_seldom_called_dependent():
    numbers = random.Random(1)
    for n in (8, 12, 30):
        accused = [
            dependence([numbers.gauss(100, 1) for _ in range(n)]) is not None for _ in range(3000)
        ]
        assert 0.002 < sum(accused) / len(accused) < 0.015


def test_speedup_is_no_better_than_its_base(runs_of):
    runs = runs_of("1n1g", steady(n=2), fingerprint="a") + runs_of(
        "1n2g", steady(198), fingerprint="a"
    )
    case, group = only(runs, "1n2g")
    assert case.grade is Grade.C
    assert grade_reasons(case, group) == [
        "its base 1n1g is graded C, and a speedup is no better than its base"
    ]
    base, _ = only(runs)
    assert Concern.WEAK_BASE not in base.concerns


def test_scaling_and_environments_lower_the_grade(runs_of):
    runs = (
        runs_of("1n1g", steady(), fingerprint="a")
        + runs_of("1n2g", steady(230), fingerprint="a")
        + runs_of("1n4g", steady(390), fingerprint="a, Debian")
        + runs_of("1n8g", steady(380), fingerprint="a")
    )
    (group,) = summarise(runs)
    grades = {case.case: (case.grade, case.concerns) for case in group.cases}
    assert grades["1n2g"] == (Grade.C, (Concern.SUPERLINEAR,))
    assert grades["1n4g"] == (Grade.C, (Concern.OTHER_ENVIRONMENT,))
    assert grades["1n8g"] == (Grade.A, (Concern.NEGATIVE_SCALING,))
    case, _ = only(runs_of("1n1g", [None]) + runs_of("1n2g", steady(), fingerprint="a"), "1n2g")
    assert (case.grade, case.concerns) == (Grade.B, (Concern.NO_BASE,))


@pytest.mark.parametrize(("efficiency", "said"), [(1.045, False), (1.055, True)])
def test_an_efficiency_above_105_percent_is_no_miracle(runs_of, efficiency: float, said: bool):
    runs = [
        *runs_of("1n1g", steady(), fingerprint="a"),
        *runs_of("1n2g", steady(200 * efficiency), fingerprint="a"),
    ]
    assert (Concern.SUPERLINEAR in only(runs, "1n2g")[0].concerns) is said


@pytest.mark.parametrize(
    ("cv", "concern"),
    [
        (0.0199, None),
        (0.0201, Concern.CV_AMBER),
        (0.0499, Concern.CV_AMBER),
        (0.0501, Concern.CV_RED),
    ],
)
def test_the_spread_is_amber_from_two_percent_on_and_red_from_five(graded, cv, concern):
    """Half of the values at either side: their standard deviation is √(8/7) of the distance."""
    values = [100 * (1 + cv * math.sqrt(7 / 8) * (-1) ** k) for k in range(8)]
    assert coefficient_of_variation(values) == pytest.approx(cv)
    named = graded(values)[1] & {Concern.CV_AMBER, Concern.CV_RED}
    assert named == ({concern} if concern else set())


def documented_grades() -> dict[str, list[str]]:
    """Cells A to D of the table in docs/reports.md, by concern."""
    text = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
    section = text.split("\n## Grades\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| .*\(`(\w+)`\).*? \|(.*)\|$", section, re.MULTILINE)
    return {concern: [cell.strip() for cell in cells.split("|")] for concern, cells in rows}


def test_what_allows_one_grade_only_allows_the_documented_one():
    crossed = {
        concern: "ABCD"[cells.index("×")]
        for concern, cells in documented_grades().items()
        if "×" in cells
    }
    assert crossed == {str(concern): str(grade) for concern, grade in CEILINGS.items()}


def test_flags_are_explained_in_the_order_in_which_they_are_told():
    text = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`.*?) \|", text.split("\n## Flags\n")[1].split("\n## ")[0], re.M)
    flags = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert flags == [str(concern) for concern in Concern]


def test_every_concern_is_in_the_documents_table_of_grades():
    assert {*documented_grades(), "weak_base"} == {str(concern) for concern in Concern}


def test_an_environment_that_a_probe_knew_less_of_is_not_another_one(runs_of):
    runs = runs_of("1n1g", steady(), fingerprint="a") + runs_of(
        "1n2g", steady(198), fingerprint="a; ECC: on"
    )
    runs[:2] = [replace(run, fingerprint="a; ECC: on; image: sha256:1") for run in runs[:2]]
    (group,) = summarise(runs)
    assert [case.grade for case in group.cases] == [Grade.A, Grade.A]
    runs[2] = replace(runs[2], fingerprint="a; image: sha256:2")
    (group,) = summarise(runs)
    assert Concern.MIXED_ENVIRONMENT in group.cases[0].concerns


def test_reasons_come_worst_first_and_in_both_languages(runs_of):
    case, group = only(runs_of("1n1g", [100], forced=True, warnings=("odd",)))
    reasons = grade_reasons(case, group)
    assert reasons == [
        "one repeat: nothing says how far another would be off",
        "forced: started in spite of what preflight stops",
        "its environment is not recorded (driver, CUDA, image …)",
        "odd",
    ]
    chinese = grade_reasons(case, group, "zh")
    assert len(chinese) == len(reasons)
    assert chinese[0].startswith("只有一次重复")


def test_every_concern_has_words(runs_of):
    runs = [
        *runs_of("1n1g", [100, 90, 100.1, 99.9, 100, 100.05, 99.95], fingerprint="a"),
        *runs_of("1n2g", [150, 170, 200, None], forced=True, simulated=True),
        *runs_of("1n4g", waves(24), fingerprint="b", warnings=("odd",)),
    ]
    (group,) = summarise(runs)
    for case in group.cases:
        for lang in ("en", "zh"):
            lines = finding_lines(case, group, lang)
            assert len(lines) >= len(case.findings) > 0
            assert len(set(lines)) == len(lines)


def headline(runs: list[RunResult], lang: Lang = "en") -> list[str]:
    """What a report begins with, its lines without the mark of a quotation."""
    text = render_report(ReportContext("c"), runs, summarise(runs), lang)
    lines = itertools.takewhile(lambda line: line.startswith(">"), text.splitlines()[2:])
    return [line.removeprefix(">").strip() for line in lines]


def test_report_begins_with_the_worst_grade_and_why(runs_of):
    runs = runs_of("1n1g", steady(), fingerprint="a") + runs_of("1n2g", [198.0], fingerprint="a")
    assert headline(runs) == [
        "**Grade D, the worst of 1 × A, 1 × D.** What is held against 1n2g, the only D:",
        "",
        "- D: few repeats: one repeat: nothing says how far another would be off",
    ]
    assert "Nothing to distrust" not in render_report(ReportContext("c"), runs, summarise(runs))
    good = runs_of("1n1g", steady(), fingerprint="a")
    assert headline(good) == ["**Grade A: nothing to distrust was found.**"]
    text = render_report(ReportContext("c"), good, summarise(good))
    assert "Nothing to distrust was found." in text


def test_report_names_the_other_reasons_for_the_same_grade_and_their_cases(runs_of):
    few = runs_of("1n1g", [100.0], fingerprint="a")
    forced = runs_of("1n2g", [198.0], fingerprint="a", forced=True)
    wide = runs_of("1n4g", [390.0, 300.0, 420.0], fingerprint="a")
    first, *_, last = headline([*few, *forced, *wide])
    assert first == ("**All 3 cases have grade D.** What is held against 1n1g:")
    assert last == (
        "What is held against the others of grade D stands under “Flags and warnings” below. "
        "More reasons for D in other cases: wide interval (1n4g)."
    )
    alike = few + runs_of("1n2g", [198.0], fingerprint="a")
    assert headline(alike)[-1].endswith("below.")
    assert headline(alike)[0].startswith("**Both cases have grade D.**")
    assert headline(few)[0] == "**Grade D.** What is held against 1n1g:"
    assert "两个用例的评级均为 D。" in headline(alike, "zh")[0]


@pytest.mark.parametrize("lang", LANGUAGES)
@given(repeats=st.lists(st.integers(1, 4), min_size=1, max_size=4), forced=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_report_begins_with_a_finding_per_line_and_whose_they_are(
    runs_of, lang: Lang, repeats: list[int], forced: bool
):
    runs = [
        run
        for at, n in enumerate(repeats)
        for run in runs_of(f"1n{2**at}g", [100.0 * 2**at] * n, fingerprint="a", forced=forced)
    ]
    (group,) = summarise(runs)
    worst = max(case.grade for case in group.cases if case.grade)
    case = next(case for case in group.cases if case.grade == worst)
    first, _, *lines = headline(runs, lang)
    costly = [
        f"- {md_text(lettered(found, line))}"
        for found, line in named_lines(case, group, lang)
        if found.ceiling > Grade.A
    ]
    assert lines[: len(costly)] == costly
    assert case.case in first
    others = sum(one.grade == worst for one in group.cases) > 1
    assert bool(lines[len(costly) :]) is others
    assert (words(lang).flags_heading in "".join(lines[len(costly) :])) is others


def test_nothing_measured_is_not_called_free_of_doubt():
    assert "Nothing to distrust" not in render_report(ReportContext("c"), [], ())


def test_grades_are_in_the_documents(runs_of):
    runs = runs_of("1n1g", steady(n=2, cv_percent=0.05), fingerprint="a")
    groups = summarise(runs)
    (result,) = document("c", runs, groups)["results"]
    assert (result["grade"], len(result["grade_reasons"])) == ("C", 1)
    assert result["half_width"] is None
    (row,) = csv.DictReader(io.StringIO(results_csv(groups)))
    assert (row["grade"], row["grade_reasons"]) == ("C", "; ".join(result["grade_reasons"]))
    json.dumps(result, allow_nan=False)


STEP = Disturbance(Shape.STEP, size=-0.15, cost=0.088, reading=25, step=500.0, count=15)
STALLS = Disturbance(Shape.STALLS, size=-0.26, cost=0.0112, reading=17, count=4, every=9)


@pytest.mark.parametrize(("cost", "grade"), [(0.0199, "B"), (0.0201, "C"), (4.0, "C")])
def test_runs_that_were_not_steady_lower_the_grade_by_their_cost(graded, cost: float, grade: str):
    steady_since = (replace(STALLS, cost=cost),)
    assert graded(steady(), steady=steady_since) == (Grade(grade), {Concern.UNSTEADY})
    assert graded(steady(), steady=()) == (Grade.A, set())


def test_what_was_not_steady_is_told_by_the_repeat_that_it_costs_most(runs_of):
    first, second, *rest = runs_of("1n1g", steady(), fingerprint="a")
    runs = [
        replace(first, steady=(STEP,)),
        replace(second, steady=(replace(STALLS, cost=0.005), replace(STEP, cost=0.05))),
        *rest,
    ]
    case, group = only(runs)
    assert finding_lines(case, group) == [
        "2 of 7 repeats, costliest in repeat 1: the speed changes by -15.0% at step 500",
        "repeat 2: 4 readings stall, one every 9, the first at reading 18, the deepest by -26.0%; "
        "they cost the figure 0.50%",
    ]
    assert len(finding_lines(case, group, "zh")) == 2
    assert case.concerns == (Concern.UNSTEADY,)


def test_why_a_repeat_stood_still_is_told_where_its_hosts_said_so(runs_of):
    first, *rest = runs_of("1n1g", [50.0, *steady(n=5)], fingerprint="a")
    stopped = Suspect("node1", rank=0, findings=(HangFinding(Sign.STOPPED),))
    stalled = replace(first, steady=(replace(STALLS, count=1, cost=0.49),))
    found = Diagnosis((stopped,), Confidence.HIGH, ranks=1)
    for known in (None, found, Diagnosis(ranks=1)):
        case, group = only([replace(stalled, diagnosis=known), *rest])
        (line,) = (one for one in finding_lines(case, group) if "stalls" in one)
        says = "rank 0 on node1 was stopped by a signal"
        assert (says in line) is (known is found)
        (line,) = (one for one in finding_lines(case, group, "zh") if "停顿" in one)
        assert (says in line) is (known is found)


@pytest.mark.parametrize(("cost", "by_itself"), [(0.49, False), (0.26, False), (0.1, True)])
def test_a_first_repeat_that_stood_still_is_not_slow_for_being_first(
    runs_of, cost: float, by_itself: bool
):
    first, *rest = runs_of("1n1g", [50.0, *steady(n=5)], fingerprint="a")
    (group,) = summarise([replace(first, steady=(replace(STALLS, cost=cost),)), *rest])
    assert (Concern.FIRST_RUN_SLOW in group.cases[0].concerns) is by_itself
    (group,) = summarise([first, *rest])
    assert Concern.FIRST_RUN_SLOW in group.cases[0].concerns


def test_every_shape_has_words():
    for shape in Shape:
        for found in (
            replace(STEP, shape=shape),
            replace(STEP, shape=shape, size=0.1, count=1, step=None, every=None),
        ):
            for lang in ("en", "zh"):
                assert disturbance_text(found, lang)
    fast = replace(STEP, shape=Shape.WARM_UP, size=0.03, cost=0.004)
    assert disturbance_text(fast) == (
        "the window begins 3.0% fast and is not level before step 500: by the shape that fits best "
        "its mean is 0.40% above its level"
    )


@pytest.mark.parametrize(
    ("readings", "said"),
    [
        (120, "its machines were not seen while it was"),
        (0, "a figure without readings or telemetry"),
    ],
)
def test_what_nobody_could_look_at_costs_the_a(runs_of, readings: int, said: str):
    looked = () if readings else None
    runs = runs_of(
        "1n1g", steady(), fingerprint="a", telemetry=None, readings=readings, steady=looked
    )
    case, group = only(runs)
    assert (case.grade, case.concerns) == (Grade.B, (Concern.UNOBSERVED,))
    (reason,) = grade_reasons(case, group)
    assert reason.startswith(said)
    assert grade_reasons(case, group, "zh") != [reason]


def test_a_typed_in_figure_is_no_a(dlperf, tmp_path: Path):
    figures = tmp_path / "a.toml"
    figures.write_text(
        'framework = "F"\nmodel = "M"\nunit = "images/s"\nfingerprint = "abc"\n'
        f'figures = [{{ case = "1n1g", throughput = {steady()} }}]\n'
    )
    dlperf("import", figures, "-o", tmp_path / "a")
    report = (tmp_path / "a" / "report.md").read_text(encoding="utf-8")
    assert "Grade A" not in report
    assert "whether it was steady and undisturbed is not known" in report


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [100] * 8 + [30, 130, 130, 130, 200],
            "half of the 95% interval of the median is 15.00% of it",
        ),
        ([100, 110, 120], "half of the 95% interval of the mean (Student's) is 22.58% of it"),
    ],
)
def test_a_wide_interval_is_named_and_not_told_as_even(runs_of, values, said):
    """Of 100 to 130 around 100 nothing is 15% below."""
    (group,) = summarise(runs_of("1n1g", values))
    assert said in finding_lines(group.cases[0], group)
    assert not any("±" in line for line in finding_lines(group.cases[0], group))


@given(
    st.sampled_from(get_args(Statistic)),
    st.sampled_from(["readings after the first", "all readings", "steps 20 to 119"]),
    st.sampled_from(["images", "tokens", "samples"]),
)
def test_a_rule_says_what_is_over_what(statistic: str, window: str, counted: str):
    said = rules_text([(statistic, window)], f"{counted}/s")
    begins = f"{counted} over the elapsed time" if statistic == "elapsed" else statistic
    assert said == f"{begins} of {window}"


def test_a_speedup_of_figures_by_different_rules_is_flagged(runs_of):
    rules = {"1n1g": ("mean", "last 90 readings"), "1n2g": ("summary", "summary line")}
    for other, flagged in (("1n1g", False), ("1n2g", True)):
        runs = [
            replace(run, statistic=rules[rule][0], window=rules[rule][1])
            for tag, rule in (("1n1g", "1n1g"), ("1n2g", other))
            for run in runs_of(tag, steady(), fingerprint="a")
        ]
        case, group = only(runs, "1n2g")
        assert (Concern.OTHER_RULE in case.concerns) == flagged
        said = "the figure that the log sums up; there mean of last 90 readings"
        assert any(said in line for line in grade_reasons(case, group)) == flagged


@given(
    stops=st.lists(st.sampled_from(["", "node2: in use: alice", "node3: ECC errors"]), min_size=1)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_was_forced_is_told_with_its_repeats_in_one_line(runs_of, stops: list[str]):
    """An older journal does not name what was."""
    runs = [
        replace(run, forced=True, stops=(stop,) if stop else ())
        for run, stop in zip(runs_of("1n1g", [100.0] * len(stops)), stops, strict=True)
    ]
    for lang, begins in (("en", "forced: "), ("zh", "强制启动：")):
        (line,) = (one for one in finding_lines(*only(runs), lang) if one.startswith(begins))
        for stop in filter(None, stops):
            repeats = ", ".join(str(n) for n, one in enumerate(stops, 1) if one == stop)
            s = "s" * ("," in repeats)
            said = f"repeat{s} {repeats}: " if lang == "en" else f"第 {repeats} 次重复："
            assert f"{said}{translated(stop, lang)}" in line
        assert ("preflight stops" in line or "预检" in line) is not any(stops)
        assert not re.search(r"[:：]\s*(;|；|$)", line)


@given(st.lists(st.sampled_from(["few", "wide", "forced", "good"]), min_size=1, max_size=9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_reasons_elsewhere_have_the_names_of_their_cases_folded(runs_of, kinds: list[str]):
    values = {"few": [1.0], "wide": [0.9, 1.2, 1.0], "forced": steady(), "good": steady()}
    tags = [f"1n{n}g" for n in range(1, len(kinds) + 1)]
    runs = []
    for n, (tag, kind) in enumerate(zip(tags, kinds, strict=True), 1):
        more = {"forced": kind == "forced", "fingerprint": "a"}
        runs += runs_of(tag, [n * value for value in values[kind]], **more)
    groups = summarise(runs)
    told = reasons_elsewhere(groups)
    worst = worst_case(groups)
    assert worst is not None
    known = {SHORT[concern] for concern in worst[0].concerns}
    said = dict(re.findall(r"([a-zA-Z0-9% ]+) \((.*?)\)", told))
    assert not {name.strip() for name in said} & known
    for reason, names in said.items():
        listed = [name for name in names.split(", ") if not name.startswith("+")]
        assert 0 < len(listed) <= 3
        (group,) = groups
        of = [
            case.case
            for case in group.cases
            for found in case.findings
            if SHORT[found.concern] == reason.strip() and found.ceiling is worst[0].grade
        ]
        assert listed == of[:3]
        assert (f"+{len(of) - 3}" in names) is (len(of) > 3)


@pytest.mark.parametrize(("never", "cancelled"), [(1, 0), (2, 0), (9, 0), (0, 1), (2, 1), (9, 1)])
def test_what_was_never_started_is_no_failure(runs_of, never: int, cancelled: int):
    whole = runs_of("1n1g", steady())
    more = runs_of("1n1g", [*steady(), *[None] * (never + cancelled)])[len(whole) :]
    more = [
        replace(run, state="cancelled", reason="", started_at=1.0 if n < cancelled else None)
        for n, run in enumerate(more)
    ]
    [[before]], [[case]] = (
        [group.cases for group in summarise(runs)] for runs in (whole, [*whole, *more])
    )
    [group] = summarise([*whole, *more])
    [line] = [line for found, line in found_lines(case, group) if found.concern == "failed_runs"]
    assert ("never started" in line) is bool(never)
    assert ("cancelled" in line) is bool(cancelled)
    assert "did not succeed" not in line
    assert ("; it counts for nothing" in line) is (never + cancelled == 1)
    assert ("; they count for nothing" in line) is (never + cancelled > 1)
    assert short_of(Concern.FAILED_RUNS, case) == (
        "cancelled runs" if cancelled else "repeats missing"
    )
    if not cancelled:
        assert case.grade == before.grade


@pytest.mark.parametrize("again", [False, True])
def test_what_is_being_tried_again_is_not_settled_as_failed_and_is_still_to_end(runs_of, again):
    runs = runs_of("1n1g", [*steady(), None])
    retry = replace(runs[-1], run_id="again", attempt=2, state="planned", reason="")
    [group] = summarise([*runs, *[retry] * again])
    [case] = group.cases
    assert (Concern.FAILED_RUNS in case.concerns) is not again
    told = " ".join(unended_notes([case], EN))
    assert ("1 not ended yet" in told) is again


@given(
    st.lists(st.sampled_from(["failed", "cancelled", "planned", "running"]), min_size=1, max_size=4)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_case_has_failed_when_nothing_of_it_is_tried_again(runs_of, attempts):
    """Each repeat has failed once; the states of what came of it."""
    first = runs_of("1n1g", [None] * len(attempts))
    again = [
        replace(run, run_id=f"{run.run_id}-a2", attempt=2, state=state, reason="")
        for run, state in zip(first, attempts, strict=True)
    ]
    [group] = summarise([*first, *again])
    [case] = group.cases
    over = {"planned", "running"}.isdisjoint(attempts)
    assert case.failed is (over and "failed" in attempts)
    assert ("1 case failed" in provenance([case], "")) is case.failed
    assert ("not ended yet" in provenance([case], "")) is not over


def test_a_report_has_the_letter_of_each_reason(runs_of):
    runs = [replace(run, forced=True) for run in runs_of("1n1g", [100.0, 100.1, 100.2])]
    groups = summarise(runs)
    text = render_report(ReportContext("c"), runs, groups)
    [group] = groups
    flagged = text.partition("## Flags and warnings")[2].partition("## ")[0]
    for found, line in named_lines(group.cases[0], group):
        letter = f"{found.ceiling}: " * (found.ceiling > Grade.A)
        assert f"- 1n1g: {letter}{line}" in flagged
        begins = text.partition("## ")[0]
        assert (f"> - {letter}{line}\n" in begins) is bool(letter)
    assert {found.ceiling for found in group.cases[0].findings} >= {Grade.B, Grade.C}


@given(st.permutations(range(1, 7)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_repeats_are_listed_by_number_in_whatever_order_they_ran(runs_of, order: list[int]):
    """One that was paused runs last."""
    forced = runs_of("1n1g", steady(n=6), forced=True, stops=("node1: busy",))
    ran = [replace(run, started_at=100.0 * order[run.repeat - 1]) for run in forced]
    case, group = only(ran)
    assert [run.repeat for run in case.runs] == [order.index(n) + 1 for n in range(1, 7)]
    listed = [line for line in finding_lines(case, group) if "repeats " in line and "busy" in line]
    assert listed
    assert all("repeats 1, 2, 3, 4, 5, 6: " in line for line in listed)


@pytest.mark.parametrize("layout", ["speedup", "pivot", "compare"])
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("left", [0, 2])
def test_a_table_of_a_campaign_that_goes_on_says_how_much_of_it_is_left(
    runs_of, layout: str, lang: Lang, left: int
):
    runs = runs_of("1n1g", [*steady(), *[None] * left])
    runs[len(steady()) :] = [
        replace(run, state="planned", reason="", log=None) for run in runs[len(steady()) :]
    ]
    said = publish("c", runs, layout=layout, options=LayoutOptions(lang=lang)).splitlines()[-1]
    words = {"en": "2 runs not ended yet", "zh": "尚有 2 次运行未结束"}[lang]
    assert (words in said) is (left > 0)


@pytest.mark.parametrize("lang", LANGUAGES)
@given(st.sampled_from(Concern))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_each_line_for_people_begins_with_the_name_that_the_list_has(
    runs_of, lang: Lang, concern: Concern
):
    """Whatever else is said of it."""
    runs = [replace(run, steady=(STEP,)) for run in runs_of("1n1g", [100.0, 90.0], forced=True)]
    case, group = only([replace(run, warned=("node1: load 9.9 on 8 CPUs",)) for run in runs])
    for found, line in named_lines(case, group, lang):
        assert line.casefold().startswith(short_of(found.concern, case, lang).casefold())
    name = short_words(concern, lang)
    assert with_name("x", name, lang).startswith(name)
    assert with_name(f"{name}: x", name, lang) == f"{name}: x"


@given(st.lists(st.floats(0.001, 0.2), min_size=2, max_size=2))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_line_has_the_letter_of_what_it_alone_costs(runs_of, costs: list[float]):
    found = tuple(replace(one, cost=cost) for one, cost in zip((STEP, STALLS), costs, strict=True))
    first, *rest = runs_of("1n1g", steady(), fingerprint="a")
    case, group = only([replace(first, steady=found), *rest])
    told = [one.ceiling for one, _ in found_lines(case, group) if one.concern == "unsteady"]
    assert told == sorted((Grade.B if cost <= 0.02 else Grade.C for cost in costs), reverse=True)
    assert max(told) is case.grade


def test_a_report_begins_with_cases_that_are_slower_than_fewer_devices(runs_of):
    runs = runs_of("1n1g", steady(), fingerprint="a")
    said = "> **Slower than a case with fewer devices: 1n2g.**"
    assert said not in render_report(ReportContext("c"), runs, summarise(runs))
    slow = [*runs, *runs_of("1n2g", steady(90.0), fingerprint="a")]
    head = render_report(ReportContext("c"), slow, summarise(slow)).partition("## ")[0]
    assert said in head.splitlines()


@given(
    st.lists(st.floats(90, 110), min_size=1, max_size=7),
    st.lists(st.floats(80, 110), min_size=1, max_size=7),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_slower_than_fewer_devices_is_said_without_doubt_where_the_repeats_carry_it_alone(
    runs_of, fewer: list[float], more: list[float]
):
    runs = runs_of("1n1g", fewer) + runs_of("1n2g", more)
    case, group = only(runs, "1n2g")
    interval = case.speedup_interval
    slower = median(more) < median(fewer)
    carried = interval is not None and interval.high < 1
    assert (Concern.NEGATIVE_SCALING in case.concerns) is (slower and carried)
    assert (Concern.NEGATIVE_IN_DOUBT in case.concerns) is (slower and not carried)
    report = render_report(ReportContext("c"), runs, [group])
    claims = [line for line in report.splitlines() if "slower than" in line.casefold()]
    assert bool(claims) is slower
    assert all(("in doubt" in line) is not carried for line in claims)


SHARES = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=2, max_size=4)


@given(SHARES, st.sampled_from(["beside", "shared_with"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_speedup_is_marked_where_its_machines_were_not_shared_as_the_bases_were(
    runs_of, shares: list[list[bool]], by: str
):
    runs = [
        replace(run, **{by: ("other",) * own})
        for nth, repeats in enumerate(shares)
        for run, own in zip(
            runs_of(f"1n{2**nth}g", [100.0 * 2**nth] * len(repeats)), repeats, strict=True
        )
    ]
    (group,) = summarise(runs)
    base, *others = group.cases
    assert speedup_marks(base, group) == ()
    marked = []
    for case, own in zip(others, shares[1:], strict=True):
        apart = abs(sum(own) * len(shares[0]) - sum(shares[0]) * len(own))
        marked.append(2 * apart >= len(own) * len(shares[0]))
        assert ("§" in speedup_marks(case, group)) is marked[-1]
        for lang, counts in (
            ("en", f"ran beside other runs: {sum(own)} of {len(own)}"),
            ("zh", f"共用机器的重复：{len(own)} 次中的 {sum(own)} 次"),
        ):
            lines = " ".join(finding_lines(case, group, lang))
            assert (counts in lines) is marked[-1]
    report = render_report(ReportContext("c"), runs, [group])
    assert ("§ the share of repeats" in report) is any(marked)


@pytest.mark.parametrize("mark", "‡§")
def test_a_mark_of_a_speedup_is_explained_as_in_a_report(mark: str):
    legends = {"‡": EN.mark_rule, "§": EN.mark_shared}
    assert f"{mark} {MARKS[mark]}" == legends[mark].format(base="its base").split(": ")[0]


@given(warned=st.lists(st.text("abc ", min_size=3), min_size=1, max_size=4, unique=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_preflight_warned_of_is_one_sentence(runs_of, warned: list[str]):
    runs = [replace(run, warned=tuple(warned)) for run in runs_of("1n1g", [1.0, 1.0])]
    (group,) = summarise(runs)
    [line] = [one for one in finding_lines(group.cases[0], group) if "preflight" in one]
    assert all(text in line for text in warned)


REMARKS = ("node1: load 9.9 on 8 CPUs", "node2: GPU5 is hot", "drivers differ", "clocks differ")


@given(st.lists(st.sets(st.sampled_from(REMARKS)), min_size=1, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_among_the_flags_of_a_report_each_remark_of_preflight_is_once_with_its_cases(
    runs_of, warned: list[set[str]]
):
    runs = [
        replace(run, warned=tuple(sorted(own)))
        for nodes, own in enumerate(warned, start=1)
        for run in runs_of(f"{nodes}n8g", [1.0, 1.0])
    ]
    report = render_report(ReportContext("c"), runs, summarise(runs))
    for remark in {remark for own in warned for remark in own}:
        [line] = [line for line in report.splitlines() if line[:2] == "- " and remark in line]
        concerned = [f"{n}n8g" for n, own in enumerate(warned, start=1) if remark in own]
        assert re.findall(r"\dn8g", line.partition(": ")[0]) == concerned
