"""What a history says of grades, of the marks of its campaigns and of environments."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from backends.hosts.fingerprint import changes_text
from backends.results.comparison import Verdict
from backends.results.history import Why, history
from backends.results.history_json import history_document
from backends.results.history_report import (
    MARKS,
    MOST_GRADES,
    history_tables,
    history_words,
)
from backends.results.run_result import RunResult
from tests.unit.results.test_history import STEADY, campaign, times
from tui.cli.shared.print_table import Rows, fitted

Runs = Callable[..., list[RunResult]]


@given(
    kinds=st.lists(st.sampled_from("BD×·"), min_size=2, max_size=12).filter(
        lambda kinds: {"B", "D"} & {*kinds}
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_each_grade_stands_in_the_table_and_a_d_in_the_line_of_blocks(
    runs_of: Runs, kinds: list[str]
) -> None:
    """Unless all have the same; of many campaigns the last and the worst."""
    other = runs_of("1n2g", STEADY)
    runs = {"B": runs_of("1n1g", times(1.0)), "D": runs_of("1n1g", [1.0]), "·": []}
    runs["×"] = runs_of("1n1g", [None])
    seen = history([campaign(at, [*runs[kind], *other]) for at, kind in enumerate(kinds)])
    table = history_tables(seen)[0]
    rows = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
    row = next(row for row in rows if row["case"] == "1n1g")
    graded = [kind for kind in kinds if kind in "BD"]
    line, grade = row["history"], row["grade"]
    if len({*graded}) == 1:
        assert (grade, "D" in line) == (graded[0], False)
        return
    places = re.findall(r"[^│D]D?", line)
    assert [place.endswith("D") for place in places] == [kind == "D" for kind in kinds]
    if len(kinds) <= MOST_GRADES:
        assert grade == "".join(kinds)
    else:
        assert grade == ("D" if graded[-1] == "D" else "B, worst D")


@given(slower=st.sets(st.sampled_from(["1n1g", "1n2g"]), min_size=1), alone=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_below_the_table_cases_are_called_as_in_it(
    runs_of: Runs, slower: set[str], alone: bool
) -> None:
    cases = sorted(slower)[:1] if alone else ["1n1g", "1n2g"]
    nights = [
        [
            run
            for case in cases
            for run in runs_of(case, times(0.8 if last and case in slower else 1.0))
        ]
        for last in (False, False, False, True)
    ]
    seen = history([campaign(at, night) for at, night in enumerate(nights)])
    table, after = history_tables(seen)[0], history_words(seen)[1]
    (said,) = [line for line in after if "stands among all cases" in line and "No" not in line]
    assert {case for case in cases if case in said} == {*slower} & {*cases}
    assert ("parameters" in table.headings) is ("=" in said)
    assert ("profile" in table.headings) is (seen.cases[0].profile in said)


@given(last=st.lists(st.sampled_from([0.8, 1.0]), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_verdicts_rest_on_stands_once_below_the_table_by_case_and_in_json_of_each(
    runs_of: Runs, last: list[float]
) -> None:
    nights = [
        [
            run
            for at, factor in enumerate(last)
            for run in runs_of(f"1n{2**at}g", times(factor if night == 3 else 1.0))
        ]
        for night in range(4)
    ]
    seen = history([campaign(at, night) for at, night in enumerate(nights)])
    table = history_tables(seen)[0]
    assert "rests on" not in table.headings
    _, *grounds = table.notes
    told = [case["reason"] for case in history_document(seen)["cases"]]
    assert len(grounds) == len({*told})
    for case, words in zip(seen.cases, told, strict=True):
        (ground,) = [one for one in grounds if one.endswith(f" rests on: {words}")]
        whose = ground.partition(" rests on: ")[0]
        named = [one.case for one in seen.cases if one.case in whose]
        alike = [one.case for one, own in zip(seen.cases, told, strict=True) if own == words]
        if not named:
            assert whose.startswith(f"The verdict {case.words}")
            assert len(alike) > 1
        else:
            assert named == alike
    by_verdict = [one for one in grounds if one.startswith("The verdict on ")]
    assert len(by_verdict) >= len(grounds) - len({case.words for case in seen.cases})
    if len(seen.cases) > 1 and len(grounds) == 1:
        assert not by_verdict, "which these are the rows tell"


@given(
    levels=st.lists(st.sampled_from([0.5, 0.9, 0.97, 1.0, 1.5]), min_size=1, max_size=7),
    repeats=st.integers(1, 4),
    scatter=st.sampled_from([0.0, 0.01, 0.3]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_change_is_told_of_none_but_a_case_that_is_the_same(
    runs_of: Runs, levels: list[float], repeats: int, scatter: float
) -> None:
    nights = [
        runs_of("1n1g", [100 * level * (1 + scatter * n) for n in range(repeats)])
        for level in levels
    ]
    seen = history([campaign(at, night) for at, night in enumerate(nights)])
    (case,) = seen.cases
    table = history_tables(seen)[0]
    cell = dict(zip(table.headings, table.rows[0], strict=True))["change"]
    if cell == "none":
        assert case.verdict is Verdict.SAME
    if not case.changes and case.why is Why.LAST:
        assert cell == ("none" if case.verdict is Verdict.SAME else "not decided")
    legend = next(note for note in table.notes if "change: " in note)
    for words in ("none", "not decided", "trend"):
        assert (f"; {words}: " in legend) is (cell == words)


@given(given=st.sets(st.sampled_from(sorted(MARKS))))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_marks_that_stand_in_the_table_are_explained_below_it(
    runs_of: Runs, given: set[str]
) -> None:
    runs = runs_of(
        "1n1g",
        [100.0, 101.0, *[None] * ("failed" in given)],
        simulated="SIMULATED" in given,
        left_out=("node3",) * ("left out" in given),
    )
    runs[0] = replace(runs[0], forced="forced" in given)  # a stop may be about one run alone
    runs[1] = replace(runs[1], log_differs="edited" * ("logs changed" in given))
    known = {
        "imported": "imported" in given,
        "finished": "unfinished" not in given,
        "simulated": "SIMULATED" in given,
    }
    seen = history([campaign(0, runs, **known), campaign(1, runs, **known)])
    table = history_tables(seen)[1]
    marks = {mark for row in table.rows for mark in row[3].split(", ") if mark}
    assert {mark.removeprefix("1 ") for mark in marks} == given
    assert [*re.findall(r"([\w ]+): ", "".join(table.notes).removeprefix("marks: "))] == [
        f"{' ' * bool(place)}{mark}"
        for place, mark in enumerate(mark for mark in MARKS if mark in given)
    ]


@pytest.mark.parametrize("mark", ["forced", "left out"])
def test_a_campaign_that_began_in_spite_of_preflight_is_marked_so(runs_of: Runs, mark: str) -> None:
    began = {"forced": True} if mark == "forced" else {"left_out": ("node3",)}
    nights = [campaign(0, runs_of("1n1g", STEADY)), campaign(1, runs_of("1n1g", STEADY, **began))]
    assert [row[3] for row in history_tables(history(nights))[1].rows] == ["", mark]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (
            "Debian 12 (bookworm), 6.1.0-1, x86_64",
            "Debian 12 (bookworm), 6.8.0-3, x86_64",
            "kernel 6.1.0-1 → 6.8.0-3",
        ),
        ("Debian 12, 6.1.0, x86_64", "Debian 13, 6.1.0, x86_64", "Debian 12 → Debian 13"),
        (
            "Debian 12, 6.1.0, x86_64",
            "Debian 13, 6.8.0, x86_64",
            "Debian 12, 6.1.0 → Debian 13, 6.8.0",
        ),
        (
            "Debian 12, 6.1; python: jax 0.1, torch 2.1",
            "Debian 12, 6.1; python: jax 0.1, torch 2.2",
            "python: torch 2.1 → torch 2.2",
        ),
        (
            "Debian 12, 6.1; python: jax 0.1",
            "Debian 12, 6.1; python: jax 0.1, torch 2.2",
            "python: – → torch 2.2",
        ),
    ],
)
def test_what_both_environments_have_is_not_told_of_the_change(
    before: str, now: str, said: str
) -> None:
    assert changes_text([f"H200, driver 1, {before}"], [f"H200, driver 1, {now}"]) == said


@pytest.mark.parametrize("number", [3, 5, 7, 8, 10])
def test_a_change_of_level_among_few_campaigns_says_that_repeats_alone_tell_it(
    runs_of: Runs, number: int
) -> None:
    factors = [1.0] * (number - 1) + [0.8]
    nights = [campaign(at, runs_of("1n1g", times(by))) for at, by in enumerate(factors)]
    _, ground = history_tables(history(nights))[0].notes
    assert "level -20.0%" in ground
    assert ("told by repeats alone" in ground) is (number < 8)


def test_what_lacks_for_a_verdict_is_what_helps(runs_of: Runs) -> None:
    """More repeats of a mixed case are of several environments, too."""

    def rests(nights: list[list[RunResult]]) -> str:
        seen = history([campaign(at, runs) for at, runs in enumerate(nights)])
        return history_tables(seen)[0].notes[1]

    runs = runs_of("1n1g", STEADY, fingerprint="8 × Tesla V100-SXM2-16GB, driver 450.80.02")
    mixed = [replace(runs[0], fingerprint="8 × NVIDIA H200, driver 550.1"), *runs[1:]]
    said = rests([mixed, mixed])
    assert "several environments" in said
    assert "--hosts of one kind" in said
    assert "scatter" not in said
    once, thrice = [runs_of("1n1g", [100.0] * n) for n in (1, 3)]
    for nights, said in (
        ([once] * 2, "3 repeats in both campaigns"),
        ([once, thrice], "3 repeats in both campaigns"),
        ([once] * 3, "2 repeats in one campaign"),
    ):
        assert rests(nights).endswith(f"a verdict takes {said}, or 5 campaigns")
    for nights in ([thrice] * 2, [once, once, runs_of("1n1g", [100.0] * 2)], [once] * 5):
        assert "a verdict takes" not in rests(nights)


@given(width=st.integers(80, 140), changes=st.sets(st.integers(1, 5), max_size=3))
@settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_every_figure_of_a_case_stands_in_one_line_with_its_campaign_on_any_terminal(
    runs_of: Runs, width: int, changes: set[int]
) -> None:
    """Also where much else changed with it."""
    told = [
        "NVIDIA H200, driver 580.1, Debian 12; ECC: on; image: nccl 2.19",
        "V100, driver 450.80",
    ]
    nights = [
        campaign(
            n,
            [
                replace(run, fingerprint=told[n in changes])
                for run in runs_of("1n1g", times(0.8 if n == 5 else 1.0))
            ],
        )
        for n in range(6)
    ]
    nights = [
        replace(one, name=f"2026-11-2{n}-h200-x4-resnet50-graphs") for n, one in enumerate(nights)
    ]
    table = history_tables(history(nights), wide=True)[-1]
    console = Console(width=width, color_system=None, file=StringIO(), record=True)
    console.print(*fitted(Rows(table.columns, table.rows), width), sep="\n")
    lines = console.export_text().splitlines()
    assert all(cell_len(line) <= width for line in lines)
    for row in table.rows:
        assert any(row[1] in line and row[2] in line for line in lines), lines


ONE = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([8, 16]), st.sampled_from(["x", "y"]))


@given(st.lists(ONE, min_size=1, max_size=5, unique=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_parameter_stands_in_its_row_or_above_where_its_profile_has_it_in_every_case(
    runs_of: Runs, asked: list[tuple[str, int, str]]
) -> None:
    """Of each profile, whatever the others have."""
    runs = [
        run
        for profile, size, kind in asked
        for run in runs_of(
            "1n1g", STEADY, profile=profile, parameters={"batch_size": size, "kind": kind}
        )
    ]
    seen = history([campaign(0, runs)])
    table = history_tables(seen)[0]
    headings = [column.heading for column in table.columns]
    above = table.caption.partition(". Last")[0].casefold()
    cases = [name for name, _, _ in asked]
    for case, row in zip(seen.cases, table.rows, strict=True):
        told, profile = dict(zip(headings, row, strict=True)), case.profile
        of_all = next((part for part in above.split("; ") if f"all of {profile}" in part), "")
        assert told.get("profile", profile) == profile
        assert ("profile" in headings) == (len(set(cases)) > 1 or len(cases) == 1)
        for at, (name, value) in enumerate(case.parameters, start=1):
            shared = len({one[at] for one in asked if one[0] == profile}) == 1
            shared &= cases.count(profile) > 1
            assert (f"{name}={value}" in of_all) == shared
            assert (f"{name}={value}" in told.get("parameters", "")) != shared
