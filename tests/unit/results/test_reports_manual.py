"""docs/reports.md says what the program does: its examples load, its keys are the keys."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from backends.hangs.diagnosis import Diagnosis, Finding, Lacking, Suspect
from backends.hangs.slow_rank import SlowRank
from backends.hosts.telemetry_summary import GpuUse, HostUse, Meanwhile
from backends.results.comparison import Verdict, compare
from backends.results.comparison_files import comparison_document
from backends.results.entered_figures import import_figures
from backends.results.findings import Concern, Grade
from backends.results.grade import (
    CEILINGS,
    FEWEST_REPEATS,
    MOST_DISTURBED,
    MOST_FAILED,
    MOST_THROTTLED,
    WIDEST_INTERVAL,
)
from backends.results.history import Campaign, history
from backends.results.history_json import history_document
from backends.results.layouts.dlperf_json import dlperf_document
from backends.results.layouts.speedup import COLUMNS, speedup_tables
from backends.results.render import markdown_rows
from backends.results.results_json import FIGURE_COLUMNS, RESULT_COLUMNS, document
from backends.results.summary import summarise
from profiles.throughput.steady import Disturbance

MANUAL = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```", MANUAL, re.M | re.S)
    assert len(found) == 1, language
    return found[0]


def section(title: str) -> str:
    return MANUAL.split(f"\n## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("language", ["toml", "csv"])
def test_examples_of_entered_figures_load(tmp_path: Path, language: str):
    path = tmp_path / f"figures.{language}"
    path.write_text(block(language), encoding="utf-8")
    assert [run.state for run in import_figures(path)][-1] == "planned"


def test_the_script_that_is_shown_runs(capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
    exec(compile(block("python"), "docs/reports.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.split()[:3] == ["precision", "amp", "tf32"]
    assert [line.split()[0] for line in printed.splitlines()[2:]] == ["1", "2", "4"]


def test_keys_of_the_document_are_listed(runs_of):
    measured = {"1n1g": 100.0, "1n2g": 196.0, "1n4g": 377.0, "2n4g": 701.0}
    runs = [run for tag, value in measured.items() for run in runs_of(tag, [value])]
    written = document("c", runs, summarise(runs))
    listed = re.search(r"```\n(\{\"campaign.*?)```", section("The JSON document"), re.S)
    assert listed is not None
    run_part, rest = listed[1].split('"runs":')[1].split('"results"')
    result_part, projection_part = rest.split('"projections"')
    keys = set(re.findall(r'"(\w+)"', run_part))
    values = (Disturbance, GpuUse, HostUse, Meanwhile)
    hangs = (SlowRank, Diagnosis, Suspect, Finding, Lacking)
    inner = {field.name for value in (*values, *hangs) for field in fields(value)}
    assert keys == {*written["runs"][0], *inner, "verdict", "at"}
    result = written["results"][0]
    assert set(re.findall(r'"(\w+)"', result_part)) == {*result, *result["findings"][0]}
    (projection,) = written["projections"]
    assert set(re.findall(r'"(\w+)"', projection_part)) == {*projection, *projection["points"][0]}


def test_keys_of_a_comparison_are_listed(runs_of):
    runs = runs_of("1n1g", [1])
    written = comparison_document(compare(runs, runs))
    listed = re.search(r"```\n(.*?)```", section("Comparing two campaigns"), re.S)
    assert listed is not None
    top, cases = listed[1].split('\n "cases"')
    of_pairs = {"baseline", "candidate", "cases"}
    assert set(re.findall(r'"(\w+)"', top)) - of_pairs == set(written) - {"cases"}
    in_list = {"environment", "repeats"}
    assert set(re.findall(r'"(\w+)"', cases)) - in_list == set(written["cases"][0])


def test_keys_of_a_history_are_listed(runs_of):
    levels = (*[1.0] * 6, *[0.9] * 6)
    written = history_document(
        history(
            [
                Campaign(
                    f"c{n}", Path(f"c{n}"), n, True, False, False, tuple(runs_of("1n1g", values))
                )
                for n, level in enumerate(levels)
                for values in [[level, 1.001 * level, 0.999 * level]]
            ]
        )
    )
    listed = re.search(r"```\n(.*?)```", section("A history of campaigns"), re.S)
    assert listed is not None
    (case,) = written["cases"]
    parts = [written, written["campaigns"][0], case, case["points"][0], case["changes"][0]]
    keys = {key for part in parts for key in part}
    assert set(re.findall(r'"(\w+)"', listed[1])) == keys


def test_flags_verdicts_and_columns_are_listed():
    names = re.findall(r"`(\w+)`", section("Flags"))
    assert set(names) - {"flags", "findings"} == {str(concern) for concern in Concern}
    table = section("Comparing two campaigns")
    assert set(re.findall(r"^\| `([\w ]+)`", table, re.M)) == {str(v) for v in Verdict}
    for column in COLUMNS:
        assert f"`{column}`" in section("Layouts")
    for column in (*RESULT_COLUMNS, *FIGURE_COLUMNS):
        assert f"`{column}`" in section("results.csv")


def test_table_of_grades_has_the_thresholds_of_the_program():
    grades = {}
    for line in section("Grades").splitlines():
        finding, *cells = line.strip("|").split("|") if line.startswith("|") else [""]
        named = re.search(r"\(`(\w+)`\)", finding)
        if named is not None:
            grades[Concern(named[1])] = [cell.strip() for cell in cells]
    assert set(grades) == set(Concern) - {Concern.WEAK_BASE}
    numbers = {
        Concern.FEW_REPEATS: [str(n) for n in FEWEST_REPEATS.values()],
        Concern.WIDE_INTERVAL: [f"≤ {limit * 100:g}%" for limit in WIDEST_INTERVAL.values()],
        Concern.UNSTEADY: ["", f"≤ {MOST_DISTURBED[Grade.B] * 100:g}%", "more"],
        Concern.THROTTLED: [f"≤ {x * 100:g}%" for x in list(MOST_THROTTLED.values())[:2]]
        + ["more"],
        Concern.FAILED_RUNS: ["0%", *(f"≤ {x * 100:g}%" for x in list(MOST_FAILED.values())[1:])],
    }
    for concern, cells in grades.items():
        if concern in numbers:
            assert cells[:3] == numbers[concern]
        else:
            assert cells == ["×" if CEILINGS[concern] is grade else "" for grade in Grade]


def test_dlperf_example_has_the_keys_that_are_written(runs_of):
    example = json.loads(block("json"))
    ours = dlperf_document(summarise(runs_of("1n1g", [1])))
    assert set(example["r50"]["1n1g"]) == set(ours["mlp"]["1n1g"])


def test_table_of_the_manual_has_the_columns_that_are_printed(tmp_path: Path):
    path = tmp_path / "figures.toml"
    path.write_text(block("toml"), encoding="utf-8")
    (table,) = speedup_tables(summarise(import_figures(path)))
    assert markdown_rows(table)[0] in MANUAL
