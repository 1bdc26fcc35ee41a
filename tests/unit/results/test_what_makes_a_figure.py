"""What a figure was measured over and under stands beside it, also once a table is pasted."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from statistics import median
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from backends.results.case_result import CaseResult
from backends.results.findings import Concern, Grade
from backends.results.layouts.compare_frameworks import compare_tables
from backends.results.layouts.pivot import pivot_tables
from backends.results.numbers import scatter
from backends.results.render import Column, Table, render_csv, render_markdown
from backends.results.run_result import RunResult
from backends.results.steady_words import steadiness_text, window_text
from backends.results.summary import summarise
from profiles.throughput.steady import FEWEST_READINGS, Disturbance, Shape

SCALARS = st.sampled_from(["off", "on", "ddp", "fsdp2", 1024, 2048])
PARAMETERS = st.fixed_dictionaries(
    {"batch_size": st.sampled_from([8, 32]), "precision": st.just("bf16")},
    optional=dict.fromkeys(("compile", "graphs", "size", "parallel"), SCALARS),
)


def a_run(parameters: dict[str, str | int], repeat: int = 1, **changes: object) -> RunResult:
    run = RunResult("r", "p", "PyTorch", "GPT-2", "1n1g", 1, 1, parameters, repeat)
    return replace(run, throughput=100.0 + repeat / 100, unit="tokens/s", **changes)  # type: ignore[arg-type]


@given(st.lists(PARAMETERS, min_size=1, max_size=4))
def test_every_parameter_of_a_figure_is_said_in_its_table(
    found: list[dict[str, str | int]],
) -> None:
    groups = summarise([a_run(parameters) for parameters in found])
    for tables in (pivot_tables(groups), compare_tables(groups)):
        said = render_markdown(tables)
        for parameters in found:
            for name, value in parameters.items():
                if name not in ("batch_size", "precision"):
                    assert f"{name}={value}" in said


def of_six(**changes: object) -> CaseResult:
    runs = [
        a_run({}, n, fingerprint="NVIDIA H200, driver 1", readings=30, **changes) for n in range(6)
    ]
    return summarise(runs)[0].cases[0]


@given(st.integers(1, FEWEST_READINGS - 1))
def test_a_case_that_nobody_looked_at_is_no_a_and_says_why(used: int) -> None:
    looked, unlooked = of_six(steady=(), used=used), of_six(steady=None, used=used)
    assert Concern.STEADINESS_UNKNOWN not in looked.concerns
    assert Concern.STEADINESS_UNKNOWN in unlooked.concerns
    assert unlooked.grade is not None
    assert unlooked.grade >= Grade.B
    assert f"({used} reading" in steadiness_text(unlooked.measured_runs)
    assert "it takes 10" in steadiness_text(unlooked.measured_runs)
    assert steadiness_text(looked.measured_runs) == "yes (no drift, step or stall)"


@given(st.floats(0.001, 0.9), st.sampled_from(["en", "zh"]))
def test_nobody_is_told_that_readings_are_steady_that_scatter_widely(
    swing: float, lang: Literal["en", "zh"]
) -> None:
    """What the test finds is one thing, its words another: the JSON's word stays."""
    speeds = tuple(100 * (1 + swing * (-1) ** n) for n in range(30))
    case = of_six(steady=(), used=30, speeds=speeds)
    [cv] = {run.within_cv for run in case.runs}
    assert cv is not None
    said = steadiness_text(case.measured_runs, lang)
    assert said.startswith(("yes", "是")) == (cv <= 0.05)
    assert (scatter(cv) in said) == (cv > 0.05)
    assert case.runs[0].steadiness == "steady"


def test_not_looked_at_not_steady_and_steady_are_three_things() -> None:
    step = Disturbance(Shape.STEP, -0.2, 0.1, 3)
    told = [of_six(steady=found).runs[0].steadiness for found in (None, (), (step,))]
    assert told == ["not_looked_at", "steady", "unsteady"]


@given(st.lists(st.floats(50, 150), min_size=3, max_size=30), st.floats(0.5, 1e4))
def test_the_window_says_how_many_readings_for_how_long_and_how_even(
    speeds: list[float], seconds: float
) -> None:
    text = window_text([a_run({}, used=len(speeds), window_s=seconds, speeds=speeds)])
    assert text.startswith(f"{len(speeds)} readings, arrived within ")
    assert " s, CV of speeds within a run " in text


@given(st.lists(st.floats(0.06, 0.3), min_size=1, max_size=3))
def test_two_scatters_in_a_line_are_said_to_be_the_median_and_the_most(
    swings: list[float],
) -> None:
    runs = [
        replace(run, steady=(), used=30, speeds=tuple(100 * (1 + x * (-1) ** n) for n in range(30)))
        for run, x in zip(of_six().measured_runs, swings, strict=False)
    ]
    cvs = [run.within_cv or 0.0 for run in runs]
    worst = runs[cvs.index(max(cvs))].repeat
    usual, most = scatter(median(cvs)), scatter(max(cvs))
    assert window_text(runs).endswith(f"CV of speeds within a run {usual}")
    said = f"by {most} (CV)" if usual == most else f"by up to {most} (CV, in repeat {worst})"
    assert steadiness_text(runs).endswith(said)


def test_a_window_that_not_all_repeats_have_says_of_how_many_it_is() -> None:
    with_it = a_run({}, used=30, window_s=7.64, speeds=(100.0, 101.0, 99.0) * 10)
    without = replace(with_it, window_s=None)
    assert ", arrived within 7.64 s, CV" in window_text([with_it, with_it])
    assert "7.64 s (of 1 of 2 repeats), CV of speeds within a run 0." in window_text(
        [with_it, without]
    )
    assert "，7.64 s 内到达（2 次重复中的 1 次）" in window_text([with_it, without], "zh")


@given(st.floats(1000, 1e9, allow_nan=False))
def test_a_number_is_no_text_to_a_spreadsheet(value: float) -> None:
    table = Table("", (Column("a"), Column("b")), ((f"{value:,.2f}", f"{value:,.0f}"),))
    _head, (one, two) = csv.reader(io.StringIO(render_csv([table])))
    assert float(one) == float(f"{value:.2f}")
    assert float(two) == float(f"{value:.0f}")
