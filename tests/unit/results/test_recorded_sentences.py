"""What a campaign has recorded in English, and what sets grades, in a Chinese report."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder import raw_logs
from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.campaign.run.factory import _differences
from backends.hosts.foreseen import same_machines
from backends.hosts.host_condition import host_findings
from backends.precheck.figures import FAULTS, METRICS, SLOWED, About, Figure, Stage
from backends.precheck.judged import Judged
from backends.precheck.naming import Named, RankedHost, Verdict, Why
from backends.precheck.ranking import _faulty
from backends.precheck.slower import Slower
from backends.results.campaign_report import ReportContext, render_report
from backends.results.findings import Concern, Finding, Grade
from backends.results.grade_words import logs_differ
from backends.results.provenance import how_sure
from backends.results.recorded_sentences import translated
from backends.results.short_flags import SHORT, short_words
from backends.results.summary import summarise
from profiles.logs.same_content import same_text
from profiles.throughput.doubts import clock_texts, far_above_text
from profiles.throughput.tally import Span
from profiles.throughput.window_speeds import FarAbove
from tests.unit.hosts.test_machines import EXAMPLES

HAN = re.compile("[\u4e00-\u9fff]")


def test_sentences_of_ours_are_of_the_language_of_the_report(runs_of) -> None:
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    (one,) = same_machines(dict.fromkeys(("h200a", "v100a"), vm.facts))
    (other,) = _differences({"H200, driver 1": ["node1"], "V100, driver 2": ["node2"]})
    runs = [
        replace(run, warned=(one.what,), warnings=(other,)) for run in runs_of("2n8g", [100.0] * 3)
    ]
    groups = summarise(runs)
    english, chinese = (
        render_report(ReportContext("c"), runs, groups, lang) for lang in ("en", "zh")
    )
    for english_words in ("are the same machine", "the hosts of this run differ"):
        assert english_words in english
        assert english_words not in chinese
    assert "预检警告：h200a,v100a 是同一台机器" in chinese
    assert "该运行的各主机不同：node1: " in chinese


@pytest.mark.parametrize("concern", Concern)
def test_what_sets_a_grade_is_of_the_language_of_the_report(runs_of, concern: Concern) -> None:
    assert HAN.search(short_words(concern, "zh"))
    (group,) = summarise(runs_of("1n1g", [100.0] * 6))
    case = replace(group.cases[0], findings=(Finding(concern, Grade.D),))
    english, chinese = (how_sure([case], lang)[-1] for lang in ("en", "zh"))
    assert SHORT[concern] in english
    assert short_words(concern, "zh") in chinese
    assert not re.search("[a-z]{3}", chinese)


@pytest.mark.parametrize(
    "worse",
    [
        {"load1": 900.0, "users": ()},
        {"load1": 900.0, "users": ("alice",)},
        {"disk_free_mib": None},
        {"disk_free_mib": 10},
        {"clock_offset_s": 99.0},
        {"clock_offset_s": -99.0},
    ],
    ids=str,
)
def test_what_preflight_says_of_a_host_is_of_the_language_of_the_report(worse) -> None:
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    slowed = ("hardware slowdown",)
    worn = {"ecc_uncorrected": 3, "temperature_c": 99, "throttle_reasons": slowed}
    gpus = (replace(vm.facts.gpus[0], **worn),)
    for facts in (replace(vm.facts, **worse), replace(vm.facts, gpus=gpus)):
        found = host_findings("v100a", facts, gpus_needed=True)
        assert found
        for one in found:
            said = translated(f"v100a: {one.what}", "zh")
            assert said.startswith("v100a：")
            assert HAN.search(said)
            assert not re.search(
                "(?<!dis)[a-z]{4}", re.sub("alice|hardware slowdown|work_dir", "", said)
            )
            assert translated(one.what, "en") == one.what


def test_devices_that_differ_are_told_in_chinese() -> None:
    text = "GPU model differs: Tesla V100-SXM2-16GB on v100a, NVIDIA H200 on h200a"
    said = translated(text, "zh")
    assert said == "GPU型号不同：Tesla V100-SXM2-16GB：v100a，NVIDIA H200：h200a"


def test_shares_of_several_models_are_told_in_chinese(runs_of) -> None:
    kinds = ("NVIDIA H200, driver 550.1", "Tesla V100-SXM2-16GB, driver 450.80.02")
    runs = [
        replace(run, fingerprint=kinds[at % 2])
        for at, run in enumerate([*runs_of("1n1g", [100.0] * 3), *runs_of("1n2g", [200.0] * 3)])
    ]
    chinese = render_report(ReportContext("c"), runs, summarise(runs), "zh")
    assert "（基准的重复：H200 上 2 次，V100-SXM2-16GB 上 1 次；此处：" in chinese
    assert "repeats of the base" not in chinese


WHY = ("gives 7127.26", "gives nothing (no window)", "cannot be measured again (no log (yet))")
RULES = ("its rule", "the profile's rule of today")
HAS = "the campaign has 6858.20 images/s"
OF_LOGS = (
    *(f"{why} by {rule}, and {HAS}" for why in WHY for rule in RULES),
    f"missing; {HAS} of it",
    f"2 logs of its other hosts missing; {HAS}",
    "not what it was, and not measured again: no profile cpu-smoke",
    "not measured again: no profile cpu-smoke",
)


@pytest.mark.parametrize("first", OF_LOGS)
@pytest.mark.parametrize("other", ["", *OF_LOGS])
def test_why_a_log_does_not_give_its_figure_is_of_the_language_of_the_report(
    runs_of, first: str, other: str
) -> None:
    (run,) = runs_of("1n1g", [100.0])
    both = first + f"; a.node2.log: {other}" * bool(other)
    assert logs_differ(replace(run, log_differs=both)).endswith(f": {both}")
    said = logs_differ(replace(run, log_differs=both), "zh")
    for part in set(re.findall(r"[0-9][0-9.]+|images/s|cpu-smoke|no window|no log", both)):
        assert both.count(part) == said.count(part)
    known = r"images/s|cpu-smoke|profile|no window|no log \(yet\)|a\.node2\.log"
    assert not re.search("[a-z]{2}", re.sub(known, "", said))


def test_these_are_the_sentences_that_are_recorded_of_logs() -> None:
    source = inspect.getsource(raw_logs)
    for words in (
        " by {rule}, and the campaign has {figure}",
        'rule = "its rule" if frozen else "the profile\'s rule of today"',
        'f"{MISSING}the campaign has {figure} of {',
        "{MISSING_BESIDE}the campaign has {figure}",
        "not measured again: no profile {run.profile}",
        'return f"cannot be measured again ({error.what})"',
        'return f"gives nothing ({measured.reason})"',
    ):
        assert words in source


@given(
    by=st.floats(1.0, 1e6),
    step=st.integers(1, 10**6),
    figures=st.tuples(st.floats(1.0, 1e6), st.floats(1e7, 1e9)),
    far=st.builds(
        FarAbove, st.integers(1, 9), st.integers(10, 99), st.floats(3.01, 900.0),
        st.integers(0, 9), st.floats(1.0, 99.0) | st.just(math.nan),
    ),
)  # fmt: skip
def test_why_a_log_is_doubted_is_of_the_language_of_the_report(
    by: float, step: int, figures: tuple[float, float], far: FarAbove
) -> None:
    span = Span()
    span.first, span.last, span.set_back = (0.0, 0.0), (1.0, 1.0), (step, by)
    for text in (
        *clock_texts(span, *figures, "images/s"),
        far_above_text(far),
        same_text("a/b.log"),
    ):
        said = translated(text, "zh")
        assert said != text
        kept = re.sub(r"images/s|a/b\.log|reading \d+|step [\d.]+", "", said)
        assert not re.search("[a-z]{4,}", kept), kept


NAMED = st.one_of(
    st.builds(
        lambda metric, why, devices, slowed: Named(
            why, METRICS[metric].about, ("n1",), devices, metric, METRICS[metric].unit,
            Slower(1234.5, 2000.0, 4), slowed,
        ),
        st.sampled_from([name for name, metric in METRICS.items() if metric.judged]),
        st.sampled_from([Why.SLOW, Why.CHANGED]),
        st.sampled_from([(), (0,), (0, 1)]),
        st.sampled_from(["", "slowed by 12 °C"]),
    ),
    st.builds(
        lambda found: next(
            iter(_faulty([Figure(found[0], 3.0, "", ("n1",), (1,), details={"of": found[1]})]))
        ),
        st.sampled_from([*((fault, of) for fault in FAULTS for of in ("", "12")), (SLOWED, "12")]),
    ),
    st.builds(
        lambda stage: Named(Why.BROKEN, About.HOST, ("n1",), metric=str(stage), reason="12"),
        st.sampled_from(Stage),
    ),
    st.just(Named(Why.IN_RUNS, About.HOST, ("n1",), metric="runs", than=Slower(1.0, 2.0, 5))),
    st.just(Named(Why.IN_RUNS, About.HOST, ("n1",), metric="runs", reason="3 × 12 in 4 real runs")),
)  # fmt: skip


@given(
    st.sampled_from(Verdict),
    st.lists(NAMED, max_size=3),
    st.sampled_from(["", "load 15.8 on 2 CPUs"]),
    st.sampled_from(["", "n2"]),
)
def test_what_a_precheck_said_of_a_host_is_of_the_language_of_the_report(
    verdict: Verdict, reasons: list[Named], busy: str, shared: str
) -> None:
    ranked = RankedHost("n1", verdict, tuple(reasons), busy=busy, shared=shared)
    text = f"n1: {Judged(ranked, 0.0, 60.0).lasting}"
    assert translated(text, "en") == text
    said = translated(text, "zh")
    known = "precheck|SHA-256|all-reduce|TFLOP/s|[MG]B/s"
    assert not re.search("[a-z]{2}", re.sub(known, "", said)), said
    figures = re.findall(r"[\d.,]*\d", text)
    assert sorted(re.findall(r"[\d.,]*\d", said)) == sorted(figures)
