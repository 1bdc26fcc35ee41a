"""Cases that differ in some parameters alone are compared where that is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.results.comparison import compare
from backends.results.comparison_files import comparison_document
from backends.results.comparison_report import comparison_footer, comparison_markdown
from backends.results.paired_cases import (
    Key,
    NoCommonCaseError,
    key_of,
    nearest,
    pairs,
    varying,
)
from backends.results.run_result import RunResult
from profiles.errors import SelectionError
from tests.unit.results.conftest import Dlperf
from tui.cli import main

Runs = Callable[..., list[RunResult]]
STEADY = [99.8, 100.0, 100.2, 100.1, 99.9]
EXAMPLES = Path(__file__).parents[3] / "docs/examples"
COMPILE, GRAPHS = EXAMPLES / "h200-x2-resnet50-compile", EXAMPLES / "h200-x2-resnet50-graphs"

names = ("compile", "graphs", "precision")
keys = st.builds(
    lambda tag, values: key_of("p", tag, dict(zip(names, values, strict=True))),
    st.sampled_from(["1n1g", "1n2g"]),
    st.tuples(*[st.sampled_from(["off", "on"])] * 3),
)
sides = st.lists(keys, unique=True, min_size=1, max_size=8)
some = st.lists(st.sampled_from(names), unique=True)


def apart(one: Key, other: Key) -> set[str]:
    ours, theirs = dict(one[2]), dict(other[2])
    return {name for name in names if ours[name] != theirs[name]}


def test_a_case_of_several_pairs_counts_once_below_the_table(runs_of: Runs) -> None:
    before = runs_of("1n1g", STEADY, parameters={"precision": "fp32"})
    after = [
        run
        for precision in ("amp", "fp16")
        for run in runs_of("1n1g", STEADY, parameters={"precision": precision})
    ]
    comparison = compare(before, after, across=("precision",))
    assert len(comparison.cases) == 2
    ours, theirs, _ = comparison_footer(comparison)
    assert ours.endswith("grades 1 × B")
    assert theirs.endswith("grades 2 × B")


@given(sides, sides, some)
def test_a_pair_differs_in_what_may_differ_alone_and_no_case_is_left_out(
    ours: list[Key], theirs: list[Key], across: list[str]
) -> None:
    found = pairs(ours, theirs, across)
    assert len(found) == len(set(found))
    assert {one for one, _ in found if one} == set(ours)
    assert {other for _, other in found if other} == set(theirs)
    for one, other in found:
        assert one or other
        if one and other:
            assert one[:2] == other[:2]
            assert apart(one, other) <= set(across)
    both = set(ours) & set(theirs)
    assert all((key, key) in found for key in both)
    for one, other in product(ours, theirs):  # two that both sides have are each held to its own
        if one != other and one in both and other in both:
            assert (one, other) not in found
        elif one[:2] == other[:2] and apart(one, other) <= set(across):
            assert (one, other) in found
    alone = {one or other for one, other in found if not (one and other)}
    paired = {key for one, other in found if one and other for key in (one, other)}
    assert not alone & paired


@given(sides, sides)
def test_the_nearest_parameters_give_a_common_case_and_no_fewer_do(
    ours: list[Key], theirs: list[Key]
) -> None:
    across = nearest(ours, theirs)
    common = {key[:2] for key in ours} & {key[:2] for key in theirs}
    assert any(one and other for one, other in pairs(ours, theirs, across)) == bool(common)
    for dropped in across:
        fewer = [name for name in across if name != dropped]
        assert not any(one and other for one, other in pairs(ours, theirs, fewer))


@given(sides)
def test_what_varies_in_one_campaign_is_what_its_cases_of_a_size_differ_in(own: list[Key]) -> None:
    differ = [apart(a, b) for a, b in product(own, own) if a[:2] == b[:2]]
    assert set(varying(own)) == set().union(*differ)


def test_across_a_parameter_the_verdict_is_that_of_the_same_figures(runs_of: Runs) -> None:
    off, on = ({"graphs": value, "batch_size": 64} for value in ("off", "on"))
    faster = [1.1 * value for value in STEADY]
    with pytest.raises(NoCommonCaseError, match="graphs is off in the baseline, on in the"):
        compare(runs_of("1n1g", STEADY, parameters=off), runs_of("1n1g", faster, parameters=on))
    found = compare(
        runs_of("1n1g", STEADY, parameters=off),
        runs_of("1n1g", faster, parameters=on),
        across=["graphs"],
    )
    same = compare(runs_of("1n1g", STEADY), runs_of("1n1g", faster))
    (case,), (plain,) = found.cases, same.cases
    assert (case.verdict, case.interval, case.evidence) == (
        plain.verdict,
        plain.interval,
        plain.evidence,
    )
    (told,) = comparison_document(found)["cases"]
    assert told["parameters"] == on
    assert told["differs"] == {"graphs": "off"}
    text = comparison_markdown(found)
    assert "graphs=off→on" in text
    assert "Not the same cases are compared: graphs is off in the baseline" in text
    assert "Not the same cases" not in comparison_markdown(same)


def test_no_common_case_says_which_profiles_and_sizes_there_are(runs_of: Runs) -> None:
    with pytest.raises(SelectionError, match="1n1g in the baseline, 1n2g in the candidate"):
        compare(runs_of("1n1g", STEADY), runs_of("1n2g", STEADY))
    with pytest.raises(SelectionError, match="other in the baseline, cpu-smoke in the candidate"):
        compare(runs_of("1n1g", STEADY, profile="other"), runs_of("1n1g", STEADY))


def test_what_is_no_parameter_is_refused_with_those_that_are(runs_of: Runs) -> None:
    with pytest.raises(SelectionError, match=r"'precison'.*did you mean 'precision'"):
        compare(runs_of("1n1g", STEADY), runs_of("1n1g", STEADY), across=["precison"])


def called(campaign: Path) -> str:
    return str(json.loads((campaign / "results.json").read_text())["campaign"])


def test_compiled_against_not_inside_one_campaign(dlperf: Dlperf) -> None:
    found = json.loads(dlperf("compare", COMPILE, "--across", "compile", "--json"))
    (case,) = found["cases"]
    assert case["differs"] == {"compile": "off"}
    assert case["parameters"]["compile"] == "on"
    assert case["verdict"] == "improvement"
    assert case["ratio"] == pytest.approx(6767.06 / 4643.15, rel=1e-4)
    name = called(COMPILE)
    assert found["baseline_campaign"] == found["candidate_campaign"] == name
    assert found["baseline_path"] == found["candidate_path"] == str(COMPILE)
    assert found["baseline_settings"] == [{"compile": "off"}]
    assert found["candidate_settings"] == [{"compile": "on"}]
    text = dlperf("compare", COMPILE, "--across", "compile")
    assert f"Baseline: {COMPILE.name}, compile=off. Candidate: {COMPILE.name}, compile=on." in text


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert main([*map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    return err


def test_graphs_against_none_between_two_campaigns(
    dlperf: Dlperf, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "compare", COMPILE, GRAPHS)
    assert "graphs is off in the baseline, on in the candidate" in said
    assert "--across graphs" in said
    text = dlperf("compare", COMPILE, GRAPHS, "--across", "graphs")
    assert "graphs=off→on" in text
    assert f"Baseline: {COMPILE.name}. Candidate: {GRAPHS.name}. Medians in images/s; " in text
    assert "a change counts beyond 2%, where Welch's interval excludes 1." in text
    for side, campaign in (("Baseline", COMPILE), ("Candidate", GRAPHS)):  # and so below the table
        (line,) = re.findall(rf"^{side}: (.*?) · ", text, re.MULTILINE)
        assert line == campaign.name


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ((), "comparing takes two"),
        (("--across", "precision"), "precision does not vary in it"),
        (("--across", "precision", "batch_size"), "precision and batch_size do not vary in it"),
    ],
)
@pytest.mark.usefixtures("dlperf")
def test_one_campaign_alone_names_what_varies_in_it(
    capsys: pytest.CaptureFixture[str], asked: tuple[str], why: str
) -> None:
    said = refused(capsys, "compare", COMPILE, *asked)
    assert "'--across compile' compares what varies" in said
    assert f"is one campaign, and {why}; " in said


def test_the_same_campaign_twice_is_said(dlperf: Dlperf, tmp_path: Path) -> None:
    assert "runs are on both sides" in dlperf("compare", COMPILE, COMPILE)
    bundle = tmp_path / "b.tar.zst"
    dlperf("report", COMPILE, "--bundle", bundle)
    assert "runs are on both sides" in dlperf("compare", COMPILE, bundle)
    assert "on both sides" not in dlperf("compare", COMPILE, GRAPHS, "--across", "graphs")


@given(
    ratio=st.floats(0.05, 20),
    n=st.integers(1, 7),
    apart=st.sampled_from(["workload", "model", "parameters"]),
    strict=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_another_model_has_a_ratio_and_no_verdict(
    runs_of: Runs, ratio: float, n: int, apart: str, strict: bool
) -> None:
    fields: dict[str, tuple[dict[str, object], dict[str, object]]] = {
        "workload": ({"workload": "GPT-2 124M"}, {"workload": "GPT-2 1.3B, sequence_length=2"}),
        "model": ({"model": "GPT-2"}, {"model": "GPT-3"}),
        "parameters": (
            {"metrics": {"model_parameters": 124e6}},
            {"metrics": {"model_parameters": 1.3e9}},
        ),
    }
    values = [100.0 + repeat / 100 for repeat in range(n)]
    ours, theirs = fields[apart]
    comparison = compare(
        runs_of("1n1g", values, **ours),
        runs_of("1n1g", [ratio * value for value in values], **theirs),
    )
    (case,) = comparison.cases
    assert case.verdict == "different model"
    assert case.ratio == pytest.approx(ratio)
    assert comparison.fails(strict=strict) == ()
    assert comparison.judged == 0
    text = comparison_markdown(comparison)
    assert "the speed of another model is no change" in text
    assert "slower" not in text


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"workload": "GPT-2 124M"}, {"workload": "GPT2 124m, sequence_length=512"}),
        ({"workload": "GPT-2 124M"}, {"workload": ""}),
        ({"metrics": {"model_parameters": 124e6}}, {"metrics": {"model_parameters": 124.4e6}}),
        ({"model": "ResNet50 V1.5"}, {"model": "resnet50_v1.5"}),
    ],
)
def test_one_model_by_two_names_is_judged(
    runs_of: Runs, ours: dict[str, object], theirs: dict[str, object]
) -> None:
    slower = [value * 0.9 for value in STEADY]
    comparison = compare(runs_of("1n1g", STEADY, **ours), runs_of("1n1g", slower, **theirs))
    assert [case.verdict for case in comparison.cases] == ["regression"]
    assert comparison.fails()


def test_two_sizes_of_a_model_do_not_fail_a_pipeline(dlperf: Dlperf) -> None:
    across = ("batch_size", "parallel", "sequence_length", "size")
    small, large = EXAMPLES / "h200-x2-gpt-124m", EXAMPLES / "h200-x2-gpt-1.3b"
    told = json.loads(dlperf("compare", small, large, "--json", "--strict", "--across", *across))
    assert {case["verdict"] for case in told["cases"]} == {"insufficient"}
    assert told["regressions"] == 0
    assert "GPT-2 124M in the baseline, GPT-2 1.3B in the candidate" in told["cases"][0]["reason"]


def test_nothing_is_called_the_same_beside_settings_that_are_not(dlperf: Dlperf) -> None:
    compiled, tf32 = (GRAPHS.parent / f"h200-x4-resnet50-{name}" for name in ("compiled", "tf32"))
    text = dlperf("compare", compiled, tf32, "--across", "compile", "precision", code=1)
    assert "iterations is 160 in the baseline, 72 in the candidate" in text
    assert "the same." not in text
