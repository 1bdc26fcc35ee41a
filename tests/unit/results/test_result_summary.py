"""Runs become cases with a median, a speedup against a named base, and what to distrust."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.results.dataframe import results_csv, results_frame
from backends.results.findings import Concern
from backends.results.grade_words import finding_lines
from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.dlperf_json import dlperf_document
from backends.results.layouts.speedup import speedup_tables
from backends.results.publish import LAYOUTS
from backends.results.results_json import document, to_json
from backends.results.summary import summarise

# The contract of the command line; more keys may come, none may go.
RUN_KEYS = {
    "run_id",
    "profile",
    "case",
    "parameters",
    "repeat",
    "state",
    "throughput",
    "unit",
    "reason",
    "hosts",
    "log",
}
RESULT_KEYS = {
    "profile",
    "framework",
    "model",
    "case",
    "nodes",
    "gpus_per_node",
    "gpus",
    "parameters",
    "throughput",
    "mean",
    "min",
    "max",
    "cv",
    "speedup",
    "efficiency",
    "repeats",
    "succeeded",
    "flags",
}


def case(group, tag):
    return next(case for case in group.cases if case.case == tag)


def test_speedup_divides_medians_by_the_median_of_1n1g(runs_of):
    (group,) = summarise(runs_of("1n1g", [99, 100, 110]) + runs_of("1n4g", [380, 390, 100]))
    assert group.base == "1n1g"
    four = case(group, "1n4g")
    assert four.throughput == 380
    assert four.speedup == 3.8
    assert four.efficiency == 0.95


def test_speedup_can_divide_means_as_some_reports_do(runs_of):
    runs = runs_of("1n1g", [90, 100, 110]) + runs_of("1n2g", [180, 180, 240])
    (group,) = summarise(runs, center="mean")
    assert case(group, "1n2g").speedup == 2
    (table,) = speedup_tables([group])
    assert "mean of the successful repeats" in table.caption


def test_smallest_case_is_the_base_where_1n1g_was_not_asked_for(runs_of):
    (group,) = summarise(runs_of("2n8g", [1600]) + runs_of("1n8g", [800]))
    assert group.base == "1n8g"
    assert case(group, "2n8g").speedup == 2
    assert case(group, "2n8g").efficiency == 1
    (table,) = speedup_tables([group])
    assert "relative to 1n8g" in table.caption


def test_one_node_is_smaller_than_two_with_as_many_gpus(runs_of):
    (group,) = summarise(runs_of("2n1g", [150]) + runs_of("1n2g", [190]))
    assert group.base == "1n2g"
    assert [c.case for c in group.cases] == ["1n2g", "2n1g"]


def test_without_a_base_speedup_is_a_dash_and_said_so(runs_of):
    (group,) = summarise(runs_of("1n1g", [None]) + runs_of("1n2g", [190.0]))
    two = case(group, "1n2g")
    assert (two.speedup, two.efficiency) == (None, None)
    assert Concern.NO_BASE in two.concerns
    (table,) = speedup_tables([group])
    rows = {row[2]: dict(zip(table.headings, row, strict=True)) for row in table.rows}
    assert rows["2"]["speedup"] == rows["2"]["efficiency"] == "–"
    assert rows["1"]["throughput"] == rows["1"]["speedup"] == "–"
    assert rows["1"]["n"] == "0/1"
    assert any("1n1g has no successful run" in note for note in table.notes)


def test_base_that_has_not_ended_yet_is_still_the_base(runs_of):
    waiting = [replace(run, state="running", throughput=None) for run in runs_of("1n1g", [1])]
    (group,) = summarise(waiting + runs_of("1n2g", [190]))
    assert group.base == "1n1g"
    assert case(group, "1n2g").speedup is None
    assert case(group, "1n1g").repeats == 0


def test_failed_runs_are_no_zeros(runs_of):
    (group,) = summarise(runs_of("1n1g", [100, None, 102]))
    one = case(group, "1n1g")
    assert one.throughput == 101
    assert (one.succeeded, one.repeats) == (2, 3)
    assert Concern.FAILED_RUNS in one.concerns


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0, -1.0])
def test_throughput_that_is_none_counts_as_not_measured(runs_of, value):
    (group,) = summarise(runs_of("1n1g", [100.0, value]))
    assert case(group, "1n1g").succeeded == 1
    assert "NaN" not in to_json(document("c", runs_of("1n1g", [100.0, value]), [group]))


def test_metric_that_diverged_is_null_in_the_document(runs_of):
    runs = runs_of("1n1g", [100.0], metrics={"loss": float("nan"), "top1": 76.5})
    written = json.loads(to_json(document("c", runs, summarise(runs))))
    assert written["runs"][0]["metrics"] == {"loss": None, "top1": 76.5}
    assert written["results"][0]["metrics"] == {"loss": None, "top1": 76.5}


def test_retry_replaces_the_attempt_that_failed(runs_of):
    failed, second = runs_of("1n1g", [None, 100])
    retried = replace(failed, attempt=2, state="succeeded", throughput=98.0, run_id="again")
    (group,) = summarise([failed, second, retried])
    one = case(group, "1n1g")
    assert (one.succeeded, one.repeats) == (2, 2)
    assert [run.run_id for run in one.superseded] == [failed.run_id]


def test_retry_that_is_still_running_does_not_hide_the_last_result(runs_of):
    (first,) = runs_of("1n1g", [100])
    (group,) = summarise([first, replace(first, attempt=2, state="running", throughput=None)])
    assert case(group, "1n1g").throughput == 100


def test_repeats_are_judged_in_the_order_in_which_they_were_run(runs_of):
    runs = runs_of("1n1g", [100.1, 100, 100.2, 99.9, 80])
    late_first = [replace(run, started_at=10.0 - run.repeat) for run in runs]
    assert not case(summarise(runs)[0], "1n1g").spread.first_run_slow
    assert case(summarise(late_first)[0], "1n1g").spread.first_run_slow


def test_groups_differ_by_parameters_and_sort_by_them(runs_of):
    runs = [
        *runs_of("1n1g", [1], parameters={"batch_size": 128, "precision": "fp32"}),
        *runs_of("1n1g", [2], parameters={"batch_size": 64, "precision": "fp32"}),
        *runs_of("1n2g", [3], parameters={"precision": "fp32", "batch_size": 64}),
    ]
    groups = summarise(runs)
    assert [group.batch_size for group in groups] == [64, 128]
    assert [c.case for c in groups[0].cases] == ["1n1g", "1n2g"]


def test_same_profile_in_two_campaigns_keeps_its_repeats_apart(runs_of):
    old, new = runs_of("1n1g", [1], campaign="old"), runs_of("1n1g", [2], campaign="new")
    groups = summarise(old + new)
    assert [(group.campaign, group.cases[0].throughput) for group in groups] == [
        ("old", 1),
        ("new", 2),
    ]
    assert [table.title.rsplit(" · ")[-1] for table in speedup_tables(groups)] == ["old", "new"]


def test_concerns_are_named_in_words_with_their_figures(runs_of):
    runs = [
        *runs_of("1n1g", [100, 100.1, 99.9, 100, 100.05, 99.95], fingerprint="a"),
        *runs_of("1n2g", [150, 190, 190.5, 189.5, 190.2, 190.1], fingerprint="a"),
        *runs_of("1n4g", [180, 178, 176, 174, 172, None], fingerprint="b", simulated=True),
        *runs_of("1n8g", [700, 690, 680, 670, 660, 650], fingerprint="a", warnings=("odd",)),
        *runs_of("2n8g", [2000], fingerprint="a"),
    ]
    runs[-2] = replace(runs[-2], fingerprint="a, driver 2")
    (group,) = summarise(runs)
    lacking = {Concern.FEW_REPEATS, Concern.UNOBSERVED, Concern.WIDE_INTERVAL, Concern.WEAK_BASE}
    flags = {c.case: set(c.concerns) - lacking for c in group.cases}
    assert flags == {
        "1n1g": set(),
        "1n2g": {Concern.CV_RED, Concern.OUTLIERS, Concern.FIRST_RUN_SLOW},
        "1n4g": {
            Concern.SIMULATED,
            Concern.FAILED_RUNS,
            Concern.NEGATIVE_IN_DOUBT,
            Concern.OTHER_ENVIRONMENT,
        },
        "1n8g": {
            Concern.CV_AMBER,
            Concern.DRIFT,
            Concern.MIXED_ENVIRONMENT,
            Concern.WARNINGS,
        },
        "2n8g": {Concern.SUPERLINEAR},
    }
    text = "\n".join(line for c in group.cases for line in finding_lines(c, group))
    for words in (
        "outlier: repeat 1, 150.00, -21.1% from the median",
        "first run slow: repeat 1",
        "1 of 6 repeats did not succeed",
        "176.00 is less than the 190.05 of 1n2g",
        "another environment than the base 1n1g",
        "drift: -7.4% of the median over the repeats (Kendall τ = -1.00",
        "different environments",
        "odd",
        "efficiency 125.0% is more than linear",
    ):
        assert words in text
    chinese = [finding_lines(c, group, "zh") for c in group.cases]
    assert [len(lines) for lines in chinese] == [len(finding_lines(c, group)) for c in group.cases]


def test_speedup_across_environments_is_marked_in_the_table(runs_of):
    runs = runs_of("1n1g", [100], fingerprint="a") + runs_of("1n2g", [190], fingerprint="b")
    (table,) = speedup_tables(summarise(runs))
    assert "1.90 †" in table.rows[1]
    assert "1" in table.rows[0]
    assert any(note.startswith("†") for note in table.notes)


MARKS = {"†": "†", "‡": "‡", "!": "! ", "!!": "!! ", "w": "w:"}


@given(
    environments=st.lists(st.sampled_from(["a", "b", ""]), min_size=8, max_size=8),
    windows=st.lists(st.sampled_from(["all", "the last"]), min_size=2, max_size=2),
    values=st.lists(st.sampled_from([None, 100.0, 103.0, 130.0]), min_size=8, max_size=8),
    layout=st.sampled_from(["speedup", "compare", "airank"]),
    columns=st.sampled_from(
        [None, ("gpus", "cv"), ("gpus", "speedup", "n"), ("gpus", "efficiency")]
    ),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_mark_is_in_a_table_exactly_where_its_legend_is(
    runs_of, environments, windows, values, layout, columns
):
    runs = [
        replace(run, fingerprint=environment, window=window)
        for tag, window, at in zip(("1n1g", "1n2g"), windows, (0, 4), strict=True)
        for run, environment in zip(
            runs_of(tag, values[at : at + 4]), environments[at : at + 4], strict=True
        )
    ]
    tables = LAYOUTS[layout].tables
    assert tables is not None
    for table in tables(summarise(runs), LayoutOptions(columns=columns)):
        words = {word for row in table.rows for cell in row for word in cell.split()}
        beside = [note for note in table.notes if not note.startswith(tuple(MARKS.values()))]
        words |= {word.strip(",;") for note in beside for word in note.split()}
        assert {mark for mark in MARKS if mark in words} == {
            mark
            for mark, begin in MARKS.items()
            if any(note.startswith(begin) for note in table.notes)
        }


def test_the_dagger_is_where_not_all_of_case_and_base_is_one_environment(runs_of):
    for base, case in (("aa", "aa"), ("aa", "ab"), ("ab", "aa"), ("aa", "bb"), ("ab", "ab")):
        runs = [
            replace(run, fingerprint=environment)
            for tag, of in (("1n1g", base), ("1n2g", case))
            for run, environment in zip(runs_of(tag, [100.0, 101.0]), of, strict=True)
        ]
        (table,) = speedup_tables(summarise(runs))
        cells = dict(zip(table.headings, table.rows[1], strict=True))
        for quotient in ("speedup", "efficiency"):
            assert ("†" in cells[quotient]) is (len({*base, *case}) > 1)


def test_unknown_environments_are_not_called_different(runs_of):
    runs = runs_of("1n1g", [100], fingerprint="a") + runs_of("1n2g", [190], fingerprint="")
    (group,) = summarise(runs)
    assert not any(Concern.OTHER_ENVIRONMENT in c.concerns for c in group.cases)


def test_table_has_the_issue_columns_and_memory_only_where_known(runs_of):
    runs = runs_of("1n1g", [100, 100])
    (table,) = speedup_tables(summarise(runs))
    assert table.headings == (
        "node num",
        "gpus/node",
        "gpu num",
        "bsz/gpu",
        "throughput",
        "speedup",
        "efficiency",
        "CV",
        "n",
    )
    (table,) = speedup_tables(summarise([replace(run, gpu_memory_mib=12565) for run in runs]))
    assert table.rows == (("1", "1", "1", "64", "12565", "100.00", "1", "100.0%", "0.00%", "2"),)


def test_document_has_the_keys_that_programs_rely_on(runs_of):
    runs = runs_of("1n1g", [100, 102, None]) + runs_of("1n2g", [190])
    written = json.loads(to_json(document("camp", runs, summarise(runs))))
    assert set(written) == {"campaign", "gpu_hours", "path", "runs", "results", "projections"}
    run = written["runs"][0]
    assert set(run) >= RUN_KEYS
    assert run["case"] == "1n1g"
    result = written["results"][1]
    assert set(result) >= RESULT_KEYS
    assert result["gpus"] == 2
    assert result["speedup"] == pytest.approx(190 / 101)
    assert result["cv"] is None
    assert written["results"][0]["flags"] == [
        "wide_interval",
        "failed_runs",
        "few_repeats",
        "unknown_environment",
    ]
    assert written["results"][0]["succeeded"] == 2


def test_dlperf_json_names_groups_like_their_logs(runs_of):
    one = runs_of("1n1g", [100.004])
    assert dlperf_document(summarise(one)) == {
        "mlp": {
            "1n1g": {
                "average_speed": 100.0,
                "batch_size_per_device": 64,
                "median_speed": 100.0,
                "speedup": 1.0,
            }
        }
    }
    two = one + runs_of("1n1g", [7], parameters={"batch_size": 128, "precision": "amp"})
    assert list(dlperf_document(summarise(two))) == ["mlp_b64_fp32", "mlp_b128_amp"]
    three = two + runs_of("1n1g", [7], profile="other")
    names = list(dlperf_document(summarise(three)))
    assert len(set(names)) == 3


def test_frame_keeps_whole_numbers_and_missing_figures(runs_of):
    runs = runs_of("1n1g", [100], metrics={"loss": 0.5}) + runs_of("1n2g", [None])
    runs[0] = replace(runs[0], gpu_memory_mib=12565)
    frame = results_frame(summarise(runs))
    assert list(frame["case"]) == ["1n1g", "1n2g"]
    assert str(frame["gpu_memory_mib"].dtype) == "Int64"
    assert frame["gpu_memory_mib"].isna().tolist() == [False, True]
    assert frame["metric:loss"][0] == 0.5
    assert frame["batch_size"].tolist() == [64, 64]
    assert frame["throughput"].isna().tolist() == [False, True]
    assert str(frame["speedup"].dtype) == "Float64"  # 1.0 of the base stays a float
    assert str(frame["case"].dtype) == "string"


def test_results_csv_is_the_frame_as_pandas_reads_it_again(runs_of):
    runs = [
        *runs_of("1n1g", [100, 102], parameters={"batch_size": 64, "xla": True, "mode": "a,b"}),
        *runs_of("1n2g", [190.5], parameters={"batch_size": 64, "xla": True, "mode": "a,b"}),
        *runs_of("1n1g", [None], parameters={"batch_size": 32, "xla": False, "mode": "=1+1"}),
    ]
    groups = summarise(runs)
    frame = results_frame(groups)
    text = results_csv(groups)
    again = pd.read_csv(io.StringIO(text)).astype(dict(frame.dtypes))
    expected = frame.assign(mode=frame["mode"].str.replace("=1+1", "'=1+1")).replace("", pd.NA)
    pd.testing.assert_frame_equal(again, expected)
    assert ",true," in text
    assert "\r" not in text


@pytest.mark.parametrize("ended", [1, 3, 5, 7])
@pytest.mark.parametrize("failed", [0, 1])
def test_a_case_shows_how_many_of_all_planned_repeats_its_figure_is_of(runs_of, ended, failed):
    values = [100.0] * (7 - failed) + [None] * failed
    going = [
        run if at < ended else replace(run, state="running", throughput=None, reason="")
        for at, run in enumerate(reversed(runs_of("1n1g", values)))
    ]
    (group,) = summarise(going)
    (table,) = speedup_tables([group])
    shown = table.rows[0][table.headings.index("n")]
    assert shown == ("7" if ended - failed == 7 else f"{ended - failed}/7")
    told = f"n: repeats that succeeded, of all that are planned; {7 - ended} not ended yet"
    assert (told in table.notes) is (ended < 7)
