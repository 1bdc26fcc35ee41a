"""A comparison in words: what its cases are called, and what nobody knows of its sides."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.results.comparison import compare
from backends.results.comparison_files import comparison_document
from backends.results.comparison_report import comparison_table, comparison_words
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tui.screens.result_text import labels_of

Runs = Callable[..., list[RunResult]]
STEADY = [99.8, 100.0, 100.2, 100.1, 99.9]


@pytest.mark.parametrize(
    ("ours", "theirs", "says"),
    [
        ("", "", ["The environments are not known."]),
        ("", "H100, driver 570; ECC: on", ["The baseline's environment is not known."]),
        ("H100, driver 570", "", ["The candidate's environment is not known."]),
        (
            "H100, driver 570; ECC: on",
            "H100, driver 570; python: torch 2",
            [
                "Not known of the baseline's environment: python.",
                "Not known of the candidate's environment: ECC.",
            ],
        ),
        (
            "NVIDIA H100 NVL",
            "NVIDIA H100 NVL, driver 570",
            ["Not known of the baseline's environment: platform."],
        ),
        ("H100, driver 570; ECC: on", "H100, driver 570; ECC: on", []),
        ("H100, driver 570", "H100, driver 580", []),
    ],
)
def test_what_is_not_known_of_an_environment_is_said(
    runs_of: Runs, ours: str, theirs: str, says: list[str]
) -> None:
    sides = [runs_of("1n1g", STEADY, fingerprint=text) for text in (ours, theirs)]
    before, _after = comparison_words(compare(*sides))
    assert [line for line in before if "known" in line] == says


@pytest.mark.parametrize("across", [(), ("graphs",)])
def test_cases_are_called_what_results_call_them(runs_of: Runs, across: tuple[str, ...]) -> None:
    """Over sets of cases in which this and that differs."""
    every = [
        {"batch_size": size, "precision": kind, "compile": "on", "graphs": graphs}
        for size in (64, 128)
        for kind in ("fp32", "amp")
        for graphs in ("off", "on")
    ]
    for chosen in (every[:1], every[:2], [every[0], every[2]], every[::4], every):
        runs = [
            run
            for parameters in chosen
            for tag in ("1n1g", "1n8g")
            for run in runs_of(tag, [100, 101, 102], parameters=parameters)
        ]
        groups = summarise(runs)
        labels = labels_of(groups)
        named = {labels.label(case.as_case) for group in groups for case in group.cases}
        comparison = compare(runs, runs, across=across)
        table = comparison_table(comparison)
        if not across:
            assert {row[table.headings.index("case")] for row in table.rows} == named
        shared = labels.shared
        assert f"cpu-smoke, all {shared}." in table.caption
        assert "parameters" not in table.headings
        document = comparison_document(comparison)
        assert {str(case["parameters"]) for case in document["cases"]} == {
            str(dict(sorted(parameters.items()))) for parameters in chosen
        }


def test_both_values_of_what_differs_in_a_pair_are_named_and_no_more(runs_of: Runs) -> None:
    off, on = (
        runs_of("1n1g", [100, 101], parameters={"batch_size": 64, "graphs": value, "seed": 1})
        for value in ("off", "on")
    )
    comparison = compare(off, on, across=("graphs",))
    assert [row[0] for row in comparison_table(comparison).rows] == ["1n1g graphs=off→on"]
    assert "cpu-smoke, all b64 seed=1." in comparison_table(comparison).caption
