"""Results beside published figures: in the report, in JSON, in the console, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.create import planned_runs
from backends.campaign.plan.further_runs import further_runs
from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.plan.planner import make_plan
from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.campaign.record.codec import encode
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import fold
from backends.hosts.fingerprint import devices_of
from backends.inventory.host_entry import Host
from backends.results.campaign_report import ReportContext, render_report
from backends.results.case_result import CaseResult
from backends.results.reference_comparison import held_figures
from backends.results.reference_words import held_line
from backends.results.results_json import case_document
from backends.results.run_result import RunResult
from backends.results.summary import Group, summarise
from backends.results.translations import Lang, pick
from profiles.format.catalog import Catalog
from profiles.references.arithmetic import Arithmetic
from profiles.references.matching import Difference, Subject, held_against
from profiles.references.reference_tables import Reference, bundled_references
from tui.screens.result_text import case_text

Dlperf = Callable[..., str]
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
V100 = "Tesla V100-SXM2-16GB, driver 440.33.01, CUDA 10.2, Ubuntu 16.04; ECC: on"


def one_case(
    speed: float | None = 2942.321, tag: str = "1n8g", gpus: int = 8, **fields: Any
) -> tuple[Group, CaseResult]:
    """Of OneFlow's ResNet50 on eight V100, as it would be measured here."""
    known: dict[str, Any] = {
        "parameters": {"batch_size": 128, "precision": "fp32"},
        "unit": "images/s",
        "fingerprint": V100,
        "workload": "ResNet50 V1.5",
        "arithmetic": "fp32-or-tf32",
    } | fields
    run = RunResult(
        *("r", "oneflow-resnet50", "OneFlow", "ResNet50 V1.5", tag, 1, gpus),
        repeat=1,
        throughput=speed,
        state="succeeded" if speed else "failed",
        **known,
    )
    (group,) = summarise([run])
    return group, group.cases[0]


def test_the_published_figure_itself_is_a_hundred_percent():
    group, case = one_case()
    held = case_document(case, group)["references"]
    (own,) = [one for one in held if one["value"] == 2942.321]
    assert own["percent"] == 100
    assert (own["comparable"], own["differs"]) == (True, [])
    assert (own["unit"], own["system"], own["gpus"]) == ("images/s", "DLPerf", 8)
    assert own["source"]


@given(st.floats(1, 1e6))
def test_a_percentage_is_the_result_over_the_published_figure(speed: float):
    group, case = one_case(speed)
    for held in case_document(case, group)["references"]:
        if held["comparable"]:
            assert held["percent"] == 100 * (speed / held["value"])


@pytest.mark.parametrize(
    ("fields", "differs"),
    [
        ({"fingerprint": ""}, "gpu"),
        ({"fingerprint": V100.replace("16GB", "32GB"), "arithmetic": "bf16-mixed"}, "precision"),
        ({"fingerprint": "Tesla T4 + Tesla V100-SXM2-16GB, driver 1"}, "gpu"),
        ({"arithmetic": ""}, "precision"),
        ({"arithmetic": "bf16-mixed"}, "precision"),
        ({"workload": "", "arithmetic": ""}, "precision"),
        ({"unit": "batches/s"}, "unit"),
        ({"gpus": 3, "tag": "1n3g"}, "gpus"),
    ],
)
def test_where_one_thing_differs_there_is_no_percentage(fields: dict[str, Any], differs: str):
    group, case = one_case(**fields)
    found = case_document(case, group)["references"]
    assert 0 < len(found) <= 2
    assert all(held["percent"] is None for held in found)
    assert all(differs in held["differs"] for held in found)


def test_what_was_simulated_or_not_measured_is_held_against_nothing():
    for case in (one_case(simulated=True)[1], one_case(None)[1]):
        assert held_figures(case) == ()


def test_repeats_of_different_gpus_are_of_none():
    group, case = one_case()
    other = RunResult(
        *("s", "oneflow-resnet50", "OneFlow", "ResNet50 V1.5", "1n8g", 1, 8),
        parameters=case.parameters,
        repeat=2,
        throughput=3000.0,
        unit="images/s",
        fingerprint="Tesla V100-SXM2-32GB, driver 440",
        workload="ResNet50 V1.5",
        arithmetic="fp32",
    )
    (group,) = summarise([*case.runs, other])
    assert not any(held.comparable for held in held_figures(group.cases[0]))


def test_a_fingerprint_begins_with_the_gpu():
    assert devices_of(V100) == "Tesla V100-SXM2-16GB"
    assert devices_of("NVIDIA H200; ECC: on") == "NVIDIA H200"
    assert devices_of("") == ""


# What a campaign records


def measured_here(run_id: str) -> list[ev.Event]:
    """A run that was given a host of V100 and measured 2,648 images/s."""
    assigned = ev.RunAssigned(
        t=1.0, run_id=run_id, hosts=("a",), commands=("c",), port=29500, log="logs/1.log"
    )
    ended = ev.RunSucceeded(
        t=2.0,
        run_id=run_id,
        throughput=2648.0,
        readings=10,
        used=9,
        window="",
        statistic="mean",
        fingerprint=V100,
    )
    return [assigned, ended]


def plan_of(**values: tuple[str, ...]) -> list[Any]:
    selection = Selection(profiles=("torch-resnet50",), cases=("1n1g",), values=values, repeats=1)
    plan = make_plan(selection, Catalog.load(), [Host(name="a", address="local")], [])
    return planned_runs(plan, 0.0)


def test_a_planned_run_says_what_it_measures_and_a_retry_says_it_too():
    (event,) = plan_of(precision=("amp",))
    assert (event.workload, event.arithmetic) == ("ResNet50 V1.5", "bf16-mixed")
    state = fold([event])
    retried = fold([event, next_attempt(state.runs[event.run_id], 1.0)])
    assert {(run.workload, run.arithmetic) for run in run_results(retried)} == {
        ("ResNet50 V1.5", "bf16-mixed")
    }


def test_every_further_run_of_a_case_says_what_its_first_said():
    (event,) = plan_of(precision=("amp",))
    run_id = event.run_id
    created = ev.CampaignCreated(t=0.0, campaign="c", version="0", explain=("torch-resnet50",))
    begun = fold([created, event, *measured_here(run_id)])
    profiled = [one for one in further_runs(begun, 3.0) if isinstance(one, ev.RunPlanned)]
    assert [one.profiled for one in profiled] == [True]
    requeued = ev.RunRequeued(t=1.0, run_id=run_id, next_id="again", reason="a node failed")
    states = (fold([created, event, *profiled]), fold([created, event, requeued]))
    for state in states:
        assert len(state.runs) == 2
        assert {(run.workload, run.arithmetic) for run in run_results(state)} == {
            ("ResNet50 V1.5", "bf16-mixed")
        }


def test_a_smaller_image_is_not_held_against_the_usual_one():
    (event,) = plan_of(precision=("tf32",), image_size=("32",))
    assert event.workload == "ResNet50 V1.5, image_size=32"


# In words


def test_the_report_says_the_percentage_with_its_source():
    group, case = one_case(2648.0)
    text = render_report(ReportContext("c"), case.runs, [group])
    part = text.split("### Held against published figures")[1].split("\n#")[0]
    assert "90% of DLPerf, 8 × Tesla V100-SXM2-16GB, 2,942.321 images/s (OneFlow 0.1.8; " in part
    assert "source: OneFlow ResNet50-V1.5 Benchmark Test Report" in part


def test_the_report_in_chinese():
    group, case = one_case(2648.0)
    text = render_report(ReportContext("c"), case.runs, [group], "zh")
    part = text.split("### 与公开数据对照")[1].split("\n#")[0]
    assert "DLPerf，8 × Tesla V100-SXM2-16GB，2,942.321 images/s 的 90%（OneFlow 0.1.8；" in part
    assert "不可比：" in part


def test_a_near_miss_says_what_differs():
    group, case = one_case(arithmetic="bf16-mixed", fingerprint="NVIDIA H200, driver 580")
    text = render_report(ReportContext("c"), case.runs, [group])
    part = text.split("### Held against published figures")[1].split("\n#")[0]
    assert (
        "not comparable: MLPerf v4.0 DGX H100, 8 × NVIDIA H100 80GB HBM3, 57,281.5 images/s" in part
    )
    assert "GPU NVIDIA H200, there NVIDIA H100 80GB HBM3; precision bf16-mixed, there fp16" in part
    assert "MLPerf v4.0 8 × H200, 63,612.8 images/s: precision bf16-mixed, there not known" in part
    assert "%" not in part.replace("%20", "")


def test_where_neither_precision_is_known_that_is_said_once():
    group, case = one_case(arithmetic="", fingerprint="NVIDIA H200, driver 580")
    text = render_report(ReportContext("c"), case.runs, [group])
    assert "63,612.8 images/s: the precision of neither is known" in text


EVERY = Arithmetic.SINGLE, Arithmetic.UNSTATED, Arithmetic.FP32, Arithmetic.BF16_MIXED


@given(
    st.sampled_from(bundled_references()),
    st.sampled_from(EVERY),
    st.sampled_from(["", "half"]),
    st.sampled_from(["", V100.partition(",")[0], "NVIDIA H200"]),
    st.sampled_from(["en", "zh"]),
)
def test_of_a_profile_without_a_precision_none_is_missing(
    there: Reference, stated: Arithmetic, called: str, gpu: str, lang: Lang
):
    figures = {there.metric: (1.0, there.unit)}
    subject = Subject(there.workload, stated, gpu, there.gpus, figures, called=called)
    (held,) = held_against(subject, [there])
    line = held_line(held, lang)
    words = {"en": ("precision", "not known"), "zh": ("精度", "未知")}[lang]
    told = [part for part in line.split(pick(lang, "; ", "；")) if words[0] in part]
    if called == "" and stated is Arithmetic.UNSTATED:
        assert bool(told) == (held.differs == (Difference.PRECISION,))
        assert not any(words[1] in part for part in told)
    else:
        assert bool(told) == (Difference.PRECISION in held.differs)
    if called and told and there.precision is not Arithmetic.UNSTATED:
        assert (called in told[0]) == (subject.precision is Arithmetic.UNSTATED)


def test_a_report_of_a_profile_without_a_precision_says_what_differs_and_none():
    group, case = one_case(
        *(2000.0, "1n3g", 3), arithmetic="", parameters={"batch_size": 8}, fingerprint="NVIDIA H200"
    )
    report = render_report(ReportContext("c"), case.runs, [group])
    for text in (report, case_text(case, group).plain):
        assert "not comparable: " in text
        assert "GPUs 3, there " in text
        assert "precision" not in text


def test_the_console_shows_it_with_the_case():
    group, case = one_case(2648.0)
    text = " ".join(case_text(case, group, None).plain.split())
    assert "published 90% of DLPerf, 8 × Tesla V100-SXM2-16GB, 2,942.321 images/s" in text
    assert "OneFlow ResNet50-V1.5 Benchmark Test Report" in text
    group, case = one_case(fingerprint="")
    text = " ".join(case_text(case, group, None).plain.split())
    assert "published not comparable: " in text
    assert "GPU not known" in text


@given(
    st.sampled_from(bundled_references()),
    st.sampled_from(["", V100.partition(",")[0], "NVIDIA H200"]),
    st.sampled_from(["en", "zh"]),
)
def test_no_published_figure_is_told_without_what_it_was_on_and_another_gpu_comes_first(
    there: Reference, gpu: str, lang: Lang
):
    figures = {there.metric: (1.0, there.unit)}
    subject = Subject(there.workload, Arithmetic.BF16_MIXED, gpu, 3 * there.gpus, figures)
    (held,) = held_against(subject, [there])
    line = held_line(held, lang)
    before, _, behind = line.partition(f" {there.unit}")
    model = next(word for word in there.gpu.name.split() if word not in ("NVIDIA", "Tesla"))
    assert f"{there.gpus} × " in before
    assert model.partition("-")[0] in before
    if Difference.GPU in held.differs:
        assert behind.lstrip(":： ").startswith(("GPU ", "GPU型号"))


# On the command line


@pytest.mark.parametrize("example", ["h200-x4", "h200-x2-auto"])
def test_a_journal_of_before_is_comparable_with_nothing(dlperf: Dlperf, example: str):
    document = json.loads(dlperf("report", EXAMPLES / example, "--format", "json"))
    found = [held for result in document["results"] for held in result["references"]]
    assert found
    assert all(held["comparable"] is False and held["percent"] is None for held in found)
    assert all({"precision", "gpu"} <= set(held["differs"]) for held in found)


def test_a_campaign_on_disk_reports_its_percentage(dlperf: Dlperf, tmp_path: Path):
    planned = ev.RunPlanned(
        t=0.0,
        run_id="r-0001-a1",
        profile="oneflow-resnet50",
        framework="OneFlow",
        model="ResNet50 V1.5",
        unit="images/s",
        nodes=1,
        gpus_per_node=8,
        parameters={"batch_size": 128, "precision": "fp32"},
        repeat=1,
        workload="ResNet50 V1.5",
        arithmetic="fp32-or-tf32",
    )
    created = ev.CampaignCreated(t=0.0, campaign="c", version="0.1.0")
    campaign = tmp_path / "c"
    campaign.mkdir()
    lines = [encode(event) for event in (created, planned, *measured_here("r-0001-a1"))]
    (campaign / "events.jsonl").write_bytes(b"".join(lines))
    document = json.loads(dlperf("report", campaign, "--format", "json"))
    (result,) = document["results"]
    percents = {held["value"]: held["percent"] for held in result["references"]}
    assert percents[2942.321] == 100 * (2648.0 / 2942.321)
    assert any(not held["comparable"] for held in result["references"])


def test_references_are_listed_within_eighty_columns(dlperf: Dlperf):
    listed = dlperf("references")
    lines = [line for line in listed.splitlines() if not line.startswith("    http")]
    assert max(map(len, lines)) <= 80
    values = [line for line in lines if "×" in line and line.endswith("]")]
    assert len(values) == len(bundled_references())


def test_references_are_searched_by_all_words_and_in_any_case(dlperf: Dlperf):
    found = json.loads(dlperf("references", "RESNET50", "h100 mlperf", "--json"))
    assert found
    assert all("H100" in one["gpu"] and "MLPerf" in one["system"] for one in found)
    assert {one["metric"] for one in found} == {"throughput", "time_to_train"}
    assert all(one["source"].startswith("https://") for one in found)


def test_references_of_nothing_are_one_line(dlperf: Dlperf, capsys: pytest.CaptureFixture[str]):
    from tui.cli import main  # noqa: PLC0415 (its stderr, which the fixture swallows)

    for words, remedy in (
        (["gpt-17", "abacus"], "'dlperf-tui references' lists all that there are"),
        (["resnt50"], "did you mean 'resnet50'?"),
        (["resnet50", "h900"], "resnet50 has some of "),
        (["resnet51", "h100"], "did you mean 'resnet50'?"),
    ):
        assert main(["references", *words]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"dlperf-tui: no published figure has {' '.join(words)}; {remedy}")
    assert json.loads(dlperf("references", "gpt-17", "--json")) == []
