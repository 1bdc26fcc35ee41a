"""Exact figures give their model back, noisy ones a band that holds; else nothing is projected."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from backends.results.campaign_report import ReportContext, render_report
from backends.results.projection import (
    TERMS,
    UNKNOWN_ERROR,
    Fit,
    Measured,
    Projection,
    Reason,
    ScalingModel,
    banded,
    project,
    project_group,
    terms_of,
)
from backends.results.results_json import document
from backends.results.summary import summarise
from backends.results.svg_figures import draw_figures
from profiles.case_tag import parse_tag

LADDER = ("1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g")
QUIET = 1e-4
ONEFLOW = dict(
    zip(LADDER, (383.760, 747.295, 1497.618, 2942.321, 5839.054, 11548.451), strict=True)
)
"""ResNet50 V1.5, batch size 128: OneFlow's own report of August 2020."""


def cost(
    model: ScalingModel,
    coefficients: Sequence[float],
    nodes: int,
    gpus: int,
    *,
    strong: bool = False,
) -> float:
    """Device-seconds per sample, relative to one device's computing."""
    terms = terms_of(model, strong=strong)(nodes, gpus)
    return 1 + sum(value * term for value, term in zip(coefficients, terms, strict=True))


def throughput(
    model: ScalingModel, coefficients: Sequence[float], tag: str, *, strong: bool = False
) -> float:
    nodes, gpus = parse_tag(tag)
    return 384 * nodes * gpus / cost(model, coefficients, nodes, gpus, strong=strong)


def measured(figures: Mapping[str, float], error: float = UNKNOWN_ERROR) -> list[Measured]:
    return [Measured(*parse_tag(tag), value, error) for tag, value in figures.items()]


def exact(model: ScalingModel, coefficients: Sequence[float]) -> Projection:
    figures = {tag: throughput(model, coefficients, tag) for tag in LADDER}
    found = project(measured(figures, QUIET))
    assert found is not None
    return found


fractions = st.floats(0.002, 0.3)
EXACT = {
    ScalingModel.AMDAHL: st.tuples(st.floats(0.001, 0.05)),
    ScalingModel.ALPHA_BETA: st.tuples(fractions, fractions),
    ScalingModel.USL: st.tuples(st.floats(0.001, 0.05), st.floats(1e-5, 1e-3)),
    ScalingModel.TWO_LINKS: st.tuples(fractions, fractions),
}


@pytest.mark.parametrize("model", ScalingModel)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_exact_figures_give_back_their_model_and_its_coefficients(model, data):
    coefficients = data.draw(EXACT[model])
    found = exact(model, coefficients)
    assert found.model is model
    assert found.error == pytest.approx(0, abs=1e-6)
    assert found.coefficients == pytest.approx(
        dict(zip(TERMS[model][0], coefficients, strict=True)), rel=1e-4, abs=1e-7
    )
    assert (*(point.case for point in found.points), *found.withheld) == ("8n8g", "16n8g")
    for point in found.points:
        truth = throughput(model, coefficients, point.case)
        assert point.throughput == pytest.approx(truth, rel=1e-4)
        assert point.low <= truth <= point.high


def test_a_ring_under_strong_scaling_takes_more_of_every_step_that_shrinks(runs_of):
    """A step of 1024 samples: 1024/n on each device, and an all-reduce that stays as long."""
    step_s = {
        tag: 1024 / math.prod(parse_tag(tag)) / 384 + 0.004 * math.log2(math.prod(parse_tag(tag)))
        for tag in LADDER
    }
    runs = [
        run
        for tag, seconds in step_s.items()
        for run in runs_of(tag, [1024 / seconds] * 6, parameters={"global_batch": 1024})
    ]
    (group,) = summarise(runs)
    found = project_group(group)
    assert found is not None
    assert found.model is ScalingModel.ALPHA_BETA
    assert found.coefficients == pytest.approx({"alpha": 0.004 * 384 / 1024, "beta": 0}, abs=1e-6)


@pytest.mark.parametrize(
    ("model", "terms"),
    [
        (ScalingModel.AMDAHL, lambda m, g: {"sigma": m * g - 1}),
        (
            ScalingModel.ALPHA_BETA,
            lambda m, g: {"alpha": math.log2(m * g), "beta": (m * g - 1) / (m * g)},
        ),
        (ScalingModel.USL, lambda m, g: {"sigma": m * g - 1, "kappa": m * g * (m * g - 1)}),
        (
            ScalingModel.TWO_LINKS,
            lambda m, g: {"beta_within": (g - 1) / g, "beta_between": (m - 1) / m},
        ),
    ],
)
def test_models_are_those_of_the_documents_table(model, terms):
    """docs/reports.md, "Projections"."""
    for m, g in [(1, 1), (1, 8), (4, 8), (3, 5)]:
        expected = terms(m, g)
        found = dict(zip(TERMS[model][0], terms_of(model)(m, g), strict=True))
        assert found == pytest.approx(expected)
        times = m * g if model in (ScalingModel.ALPHA_BETA, ScalingModel.TWO_LINKS) else 1
        assert terms_of(model, strong=True)(m, g) == pytest.approx(
            [times * term for term in expected.values()]
        )


def test_fit_is_that_of_scipys_curve_fit_where_no_coefficient_is_held_at_zero():
    """A case weighs 1 / (1% ² + its standard error²)."""
    model, truth = ScalingModel.ALPHA_BETA, (0.02, 0.1)
    wobble = (1.001, 0.999, 1.002, 0.998, 1.001, 0.9995)
    figures = {
        tag: throughput(model, truth, tag) * factor
        for tag, factor in zip(LADDER, wobble, strict=True)
    }
    errors = (0.001, 0.03, 0.005, 0.01, 0.02, 0.002)
    cases = [replace(one, error=e) for one, e in zip(measured(figures), errors, strict=True)]
    found = project(cases)
    assert found is not None
    assert found.model is model
    sizes = [parse_tag(tag) for tag in figures]
    costs = [math.prod(parse_tag(tag)) / value for tag, value in figures.items()]

    def predicted(at, c, alpha, beta):
        return [c * cost(model, (alpha, beta), *sizes[int(i)]) for i in at]

    sigma = [value * math.hypot(0.01, e) for value, e in zip(costs, errors, strict=True)]
    (_, *theirs), _ = curve_fit(
        predicted, range(len(sizes)), costs, p0=(1 / 384, 0.01, 0.01), sigma=sigma
    )
    assert found.coefficients is not None
    assert list(found.coefficients.values()) == pytest.approx(theirs, rel=1e-4)


def fit(error: float, cost: float, noise: float = 0.0) -> Fit:
    return Fit(np.ones(1), error, lambda m, g: cost, lambda m, g: noise)


@pytest.mark.parametrize(("error", "heard"), [(0.0198, True), (0.0202, False)])
def test_models_that_do_twice_as_badly_have_a_say_in_the_band(error: float, heard: bool):
    fits = {ScalingModel.AMDAHL: fit(0.01, 1.0), ScalingModel.TWO_LINKS: fit(error, 1.1)}
    point = banded(fits, ScalingModel.AMDAHL, 4, 2)
    assert point is not None
    assert point.throughput == 8
    assert point.low == pytest.approx((8 / 1.1 if heard else 8) * math.exp(-0.01))
    assert point.high == pytest.approx(8 * math.exp(0.01))


def test_band_is_as_wide_as_what_is_missed_and_1_96_standard_errors():
    """USL's noise counts however badly it does."""
    fits = {ScalingModel.AMDAHL: fit(0.01, 1.0, 0.02), ScalingModel.USL: fit(0.5, 9.0, 0.03)}
    point = banded(fits, ScalingModel.AMDAHL, 4, 2)
    assert point is not None
    assert math.log(point.high / 8) == pytest.approx(math.hypot(0.01, 1.96 * 0.03))
    assert math.log(8 / point.low) == pytest.approx(math.hypot(0.01, 1.96 * 0.03))


sizes = st.tuples(st.integers(1, 64), st.sampled_from([1, 2, 3, 4, 8, 16]))
speeds = st.floats(1e-300, 1e300) | st.floats(10, 1e5)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.builds(
            lambda size, speed, error: Measured(*size, speed, error),
            sizes,
            speeds,
            st.floats(0, 1),
        ),
        max_size=9,
    )
)
def test_any_figures_give_bands_around_projections_no_farther_than_four_times(figures):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = project(figures)
    if len({one.gpus for one in figures}) < 4:
        assert found is None
        return
    assert found is not None
    assert bool(found.points) is (found.reason is None)
    largest = max(one.gpus for one in figures)
    for point in found.points:
        assert largest < point.gpus <= 4 * largest
        assert 0.7 * point.throughput <= point.low <= point.throughput
        assert point.throughput <= point.high <= 1.3 * point.throughput
    json.dumps([point.throughput for point in found.points], allow_nan=False)


def reason(figures: Mapping[str, float], error: float = UNKNOWN_ERROR) -> Reason | None:
    found = project(measured(figures, error))
    assert found is not None
    return found.reason


def test_nothing_is_projected_across_a_link_that_nobody_measured():
    assert reason({"1n1g": 100, "1n2g": 196, "1n4g": 380, "1n8g": 745}) is Reason.ONE_NODE


def test_nothing_is_projected_where_a_straight_line_does_as_well():
    assert reason({tag: 100 * math.prod(parse_tag(tag)) for tag in LADDER}) is Reason.NO_BETTER
    faster = {tag: 100 * math.prod(parse_tag(tag)) ** 1.05 for tag in LADDER}
    assert reason(faster) is Reason.NO_BETTER
    assert reason(dict.fromkeys(LADDER, 100.0)) is Reason.NO_BETTER


def test_nothing_is_projected_where_the_figures_jump_or_scatter_too_much():
    jumping = dict(zip(LADDER, (100, 150, 390, 500, 1500, 1600), strict=True))
    assert reason(jumping) in (Reason.WIDE, Reason.NO_BETTER)
    assert reason(ONEFLOW) is None
    assert reason(ONEFLOW, error=0.05) is Reason.WIDE


@pytest.mark.parametrize("error", [0.011, 0.012, 0.013, 0.014])
def test_band_that_reaches_beyond_thirty_percent_is_withheld(error: float):
    unlimited = project(measured(ONEFLOW, error), widest=math.inf)
    assert unlimited is not None
    (near, *_) = unlimited.points
    reach = near.high / near.throughput - 1  # and below it is less
    assert 0.25 < reach < 0.37
    assert (reason(ONEFLOW, error) is Reason.WIDE) == (reach > 0.30)


def test_two_layouts_of_one_scale_are_one_scale():
    three = {"1n1g": 100.0, "1n4g": 380.0, "1n8g": 745.0, "2n4g": 700.0}
    assert project(measured(three)) is None
    found = project(measured({**three, "4n4g": 1350.0, "8n4g": 2650.0}))
    assert found is not None
    assert found.model is ScalingModel.TWO_LINKS


@pytest.fixture
def oneflow(runs_of):
    """Three repeats of each case that agree within 0.2%."""
    return [
        run
        for tag, value in ONEFLOW.items()
        for run in runs_of(tag, [value * factor for factor in (0.999, 1, 1.001)])
    ]


@pytest.mark.parametrize(
    ("factors", "error"),
    [
        ((1.0,), 0.005),  # nothing tells
        ((0.997, 0.999, 1.0, 1.0, 1.001, 1.003), 0.003 / 1.96),  # 95% are ±0.3%
    ],
)
def test_standard_error_is_that_of_the_repeats_or_half_a_percent(runs_of, factors, error: float):
    runs = [
        run for tag, value in ONEFLOW.items() for run in runs_of(tag, [value * f for f in factors])
    ]
    (group,) = summarise(runs)
    expected, found = project(measured(ONEFLOW, error)), project_group(group)
    assert expected is not None
    assert found is not None
    assert [point.high for point in found.points] == pytest.approx(
        [point.high for point in expected.points], rel=1e-6
    )
    assert found.points


def test_repeats_that_scatter_widen_the_band(runs_of, oneflow):
    wild = [
        run
        for tag, value in ONEFLOW.items()
        for run in runs_of(tag, [value * factor for factor in (0.997, 1, 1.003)])
    ]
    bands = []
    for runs in (oneflow, wild):
        (group,) = summarise(runs)
        found = project_group(group)
        assert found is not None
        bands.append(found.points[0].high / found.points[0].low)
    assert bands[0] < bands[1]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_report_has_projections_apart_from_what_was_measured(oneflow, lang):
    text = render_report(ReportContext("c"), oneflow, summarise(oneflow), lang)
    before, section, after = (
        text[: text.index("## PROJECTED" if lang == "en" else "## 推算")],
        *text[text.index("PROJECTED") :].split("\n## ", 1),
    )
    assert "| 8n8g |" in section
    assert "8n8g" not in before
    assert "8n8g" not in after
    assert "PROJECTED |" in section or "（PROJECTED） |" in section


def test_report_of_few_scales_has_no_empty_section_and_of_one_node_says_why(runs_of, oneflow):
    few = [run for run in oneflow if run.case_tag in LADDER[:3]]
    assert "PROJECTED" not in render_report(ReportContext("c"), few, summarise(few))
    one_node = [run for run in oneflow if run.nodes == 1]
    text = render_report(ReportContext("c"), one_node, summarise(one_node))
    assert "## PROJECTED\n" in text
    assert "One case on two nodes would tell" in text


def test_document_has_projections_under_a_key_of_their_own(oneflow):
    written = document("c", oneflow, summarise(oneflow))
    assert {row["case"] for row in written["results"]} == set(LADDER)
    (found,) = written["projections"]
    (point, *_) = found["points"]
    base = written["results"][0]["throughput"]
    assert (point["case"], point["gpus"]) == ("8n8g", 64)
    assert point["speedup"] == pytest.approx(point["throughput"] / base)
    assert point["efficiency"] == pytest.approx(point["speedup"] / 64)
    assert point["speedup_band"] == pytest.approx([edge / base for edge in point["band"]])


def test_without_a_base_there_are_no_projected_speedups(oneflow, runs_of):
    failed = [
        replace(run, throughput=None, state="failed") if run.case_tag == "1n1g" else run
        for run in oneflow
    ]
    groups = summarise(failed)
    (found,) = document("c", failed, groups)["projections"]
    assert found["points"][0]["speedup"] is None
    assert "8n8g | 64 |" in render_report(ReportContext("c"), failed, groups)


def test_figure_draws_projections_dashed_with_a_band(oneflow):
    few = [run for run in oneflow if run.case_tag in LADDER[:3]]
    (_, speedup), (_, plain) = draw_figures(summarise(oneflow)), draw_figures(summarise(few))
    assert speedup.svg.count("stroke-dasharray") > plain.svg.count("stroke-dasharray")
    assert "PROJECTED" in speedup.svg
    assert "FillBetween" in speedup.svg or "PolyCollection" in speedup.svg
    assert "PROJECTED" not in plain.svg


def test_scipy_is_not_imported_before_a_projection_needs_it():
    program = (
        "import sys, backends.results.campaign_report, backends.results.result_files, tui.app;"
        "from backends.results.projection import Measured, project;"
        "project([Measured(1, 1, 100.0)]);"
        "sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
