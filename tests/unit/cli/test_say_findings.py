"""What is to be known of results is said once, whatever it is so of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.run_results import run_results
from backends.results.campaign_report import ReportContext, render_report
from backends.results.findings import Grade
from backends.results.grade_words import named_lines
from backends.results.run_result import RunResult
from backends.results.summary import Group, summarise
from tests.unit.hosts.test_machines import EXAMPLES
from tui.cli import report
from tui.cli.program import main
from tui.cli.shared.say_findings import MOST, say_findings

TAGS = ("1n1g", "1n2g", "1n4g", "1n8g")


def measured(repeats: list[int]) -> list[Group]:
    return summarise(
        RunResult(
            *(f"{tag}{n}", "cpu-smoke", "Python", "MLP"),
            *(tag, int(tag[0]), int(tag[2])),
            repeat=n + 1,
            throughput=100.0 * int(tag[2]) + n,
            state="succeeded",
            parameters={"batch_size": 64},
            unit="samples/s",
        )
        for tag, count in zip(TAGS, repeats, strict=True)
        for n in range(count)
    )


@given(st.lists(st.integers(1, 7), min_size=4, max_size=4))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_line_for_what_is_so_of_several_cases(
    capsys: pytest.CaptureFixture[str], repeats: list[int]
) -> None:
    (group,) = groups = measured(repeats)
    known = {(case.case, line) for case in group.cases for _, line in named_lines(case, group)}
    capsys.readouterr()
    say_findings(groups)
    notes = capsys.readouterr().err.splitlines()
    report = render_report(ReportContext("c"), [run for c in group.cases for run in c.runs], groups)
    for said in (notes, report.splitlines()):
        for tag, line in known:
            telling = [one for one in said if line in one and tag in one.partition(line)[0]]
            assert telling, (tag, line)
    assert len(notes) == len(set(notes))
    grades = {case.case: case.grade for case in group.cases}
    told = {(line, grades[tag]) for tag, line in known}
    assert len(notes) <= len(told)


@given(st.lists(st.integers(1, 7), min_size=4, max_size=4), st.integers(0, 9))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_of_many_findings_the_gravest_are_said_and_how_many_more_the_report_has(
    capsys: pytest.CaptureFixture[str], repeats: list[int], most: int
) -> None:
    groups = measured(repeats)
    capsys.readouterr()
    say_findings(groups)
    every = capsys.readouterr().err.splitlines()
    say_findings(groups, "en", most)
    said = capsys.readouterr().err.splitlines()
    assert said[:most] == every[:most]
    left = len(every) - most
    assert said[most:] == [f"note: … and {left} more: report.md"] * (left > 0)


@pytest.mark.parametrize("example", sorted(EXAMPLES.iterdir()), ids=lambda path: path.name)
def test_report_says_five_findings_at_most(
    capsys: pytest.CaptureFixture[str], example: Path
) -> None:
    assert main(["report", str(example)]) == 0
    said = capsys.readouterr().err.splitlines()
    say_findings(summarise(run_results(read_campaign(example))))
    every = capsys.readouterr().err.splitlines()
    assert [line for line in said if line in every] == every[:MOST]


def test_what_is_so_of_all_of_many_cases_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [
        RunResult(
            *(f"r{n}", "cpu-smoke", "Python", "MLP"),
            *(f"{n}n1g", n, 1),
            repeat=1,
            parameters={},
            throughput=100.0 * n,
            state="succeeded",
            unit="samples/s",
        )
        for n in range(1, 10)
    ]
    say_findings(summarise(runs))
    said = capsys.readouterr().err.splitlines()
    assert any(line.startswith("note: all 9 cases, grade D: ") for line in said)
    assert not any("9n1g" in line for line in said if "all 9 cases" in line)


def test_what_is_said_is_in_the_language_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    say_findings(measured([1, 1, 1, 1]), "zh")
    said = capsys.readouterr().err
    assert "只有一次重复" in said
    assert "note: " not in said
    assert "grade" not in said


@pytest.mark.parametrize("repeats", [[1, 2, 3, 3], [5, 1, 7, 6]])
def test_what_costs_a_grade_has_its_letter(
    capsys: pytest.CaptureFixture[str], repeats: list[int]
) -> None:
    (group,) = groups = measured(repeats)
    say_findings(groups)
    notes = capsys.readouterr().err.splitlines()
    for case in group.cases:
        for found, line in named_lines(case, group):
            before = (note.partition(line)[0] for note in notes if line in note)
            (told,) = {words for words in before if case.case in words}
            assert told.endswith((f", {found.ceiling}: ", f", grade {found.ceiling}: ")) == (
                found.ceiling is not Grade.A
            )


@pytest.mark.parametrize("on_terminal", [True, False])
def test_a_terminal_has_the_table_last(monkeypatch: pytest.MonkeyPatch, on_terminal: bool) -> None:
    told: list[str] = []
    monkeypatch.setattr("sys.stdout.isatty", lambda: on_terminal)
    monkeypatch.setattr(report, "print_tables", lambda *_: told.append("table"))
    monkeypatch.setattr(report, "say_findings", lambda *_: told.append("notes"))
    assert main(["report", str(EXAMPLES / "h200-x4")]) == 0
    assert told == (["notes", "table"] if on_terminal else ["table", "notes"])
