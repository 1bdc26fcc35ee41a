"""A figure has one text, wherever people read it."""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from backends.results.findings import Concern
from backends.results.grade import MOST_DISTURBED, WIDEST_INTERVAL, known_within
from backends.results.grade_words import found_lines, half_text
from backends.results.layouts.cells import cv_text
from backends.results.layouts.common import LayoutOptions
from backends.results.numbers import fixed, percent, scatter, signed_percent, significant, trimmed
from backends.results.past_result import PastResult
from backends.results.publish import LAYOUTS, publish
from backends.results.statistics import CV_LIMITS, describe
from backends.results.summary import summarise
from backends.results.telemetry_figures import THROTTLED
from tui.matrix_past import INTERVAL, past_cells
from tui.text import number

ROOT = Path(__file__).parents[3]
OF_A_THROUGHPUT = sorted(set(LAYOUTS) - {"mlperf"})
"""Every layout that has one: MLPerf's has minutes."""
UNITS = {"llm": "tokens/s", "collectives": "GB/s"}
HALVES = st.builds(
    lambda whole, digits: (whole * 10 + 5) / 10**digits, st.integers(0, 10**7), st.integers(1, 9)
)
THROUGHPUTS = st.one_of(HALVES, st.floats(min_value=1e-9, max_value=1e15))


def texts(layout: str, value: float, decimals: int, runs_of) -> set[str]:
    """What a layout prints of the only throughput, in every format for people."""
    unit = UNITS.get(layout, "samples/s")
    metrics = {"size_bytes": 4096.0} if layout == "collectives" else {}
    runs = runs_of("1n1g", [value], unit=unit, parameters={}, metrics=metrics)
    options = LayoutOptions(decimals=decimals)
    if layout == "dlperf-json":
        found = json.loads(publish("c", runs, layout=layout, options=options))["mlp"]["1n1g"]
        return {trimmed(found["median_speed"], 30), trimmed(found["average_speed"], 30)}
    columns = {"collectives": 2, "pivot": 1, "speedup": 4, "compare": 2, "airank": 2, "llm": 4}
    at = columns[layout]
    markdown = publish("c", runs, layout=layout, options=options)
    row = re.findall(r"^\| .* \|$", markdown, re.M)[-1].strip("| ").split(" | ")
    table = [
        r
        for r in csv.reader(
            io.StringIO(publish("c", runs, layout=layout, format="csv", options=options))
        )
        if r
    ]
    return {plain(row[at]), plain(table[-1][at])}


def plain(text: str) -> str:
    text = text.replace(",", "")
    return text.rstrip("0").rstrip(".") if "." in text else text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=THROUGHPUTS, decimals=st.integers(0, 9))
def test_all_layouts_have_the_same_text_for_the_same_figure(value, decimals, runs_of):
    for layout in OF_A_THROUGHPUT:
        assert texts(layout, value, decimals, runs_of) == {trimmed(value, decimals)}, layout


@given(value=THROUGHPUTS, decimals=st.integers(0, 9))
def test_the_rule_is_halves_up_of_the_digits_that_the_document_has(value, decimals):
    exact = Decimal(json.dumps(value))
    if value >= 1:
        assert Decimal(fixed(value, decimals)) == round_half_up(exact, decimals)
    assert fixed(value, decimals, thousands=True).replace(",", "") == fixed(value, decimals)
    assert plain(fixed(value, decimals)) == trimmed(value, decimals)
    assert percent(value) == f"{round_half_up(exact * 100, 1)}%"
    assert plain(number(value, decimals)) == trimmed(value, decimals)


def round_half_up(exact: Decimal, decimals: int) -> Decimal:
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


@given(value=st.floats(min_value=5e-324, max_value=1.7e308), decimals=st.integers(0, 9))
def test_what_was_measured_is_never_told_as_nothing(value, decimals):
    for text in (fixed(value, decimals), trimmed(value, decimals), significant(value)):
        assert float(text) == pytest.approx(value, rel=0.5)
        assert "e" not in text
        assert float(text) > 0


@given(st.floats(min_value=1e-9, max_value=0.999999))
def test_a_figure_below_1_has_three_digits_unless_it_has_no_more(value):
    text = fixed(value)
    digits = text.replace(".", "").lstrip("0")
    assert len(digits) >= 3 or Decimal(text) == Decimal(repr(value)), text
    assert fixed(0.059955) == "0.0600"
    assert fixed(0.06) == "0.06"


@given(st.floats(min_value=1e-12, max_value=2))
def test_a_cv_that_was_measured_is_never_told_as_none(cv):
    assert float(scatter(cv).removesuffix("%")) > 0
    assert scatter(0.0) == "0.00%"
    assert scatter(0.000012) == "0.001%"


@pytest.mark.parametrize(
    ("change", "text"),
    [(-0.021, "-2.1%"), (0.0025, "+0.3%"), (-0.0004, "0.0%"), (0.0, "0.0%"), (1.0, "+100.0%")],
)
def test_a_change_of_nothing_has_no_sign(change, text):
    assert signed_percent(change) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_told_as_that(value):
    assert fixed(value) == trimmed(value) == significant(value) == str(value)


def test_figures_are_rounded_in_one_place():
    """No format of its own in results and command line: ``f"{x:.2f}"`` rounds in binary."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("backends/results", "tui/cli", "tui/screens", "tui/widgets")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if _rounds(node)
    ]
    assert [place for place in found if place.rpartition(":")[0] not in OF_THE_MACHINES] == []


OF_THE_MACHINES = {
    "backends/results/environment_words.py",
    *("tui/cli/shared/host_rows.py", "tui/cli/precheck.py"),
    *("tui/screens/hosts_page.py", "tui/widgets/device_text.py", "tui/widgets/host_text.py"),
    *("tui/screens/run_text.py", "tui/widgets/meters.py"),
    *("tui/widgets/chart.py", "tui/widgets/chart_scale.py"),
}
"""Where memory, load, clocks and progress are told, and an axis: no results."""


def _rounds(node: ast.AST) -> bool:
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        return bool(re.search(r"\.\w*[fge%]|%$", ast.unparse(node.format_spec)))
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "round"
        and len(node.args) > 1
    )


@given(
    speeds=st.lists(
        st.one_of(st.integers(8, 10**6).map(float), st.floats(8, 1e6)), min_size=2, max_size=4
    ),  # a figure below 1, as that of one of 8 GPUs may be, has three digits of its own
    layout=st.sampled_from(["speedup", "pivot", "compare", "airank", "llm"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_all_figures_of_a_column_have_as_many_decimals(runs_of, speeds, layout):
    sizes = ("1n1g", "1n2g", "1n4g", "1n8g")
    runs = [
        run
        for size, speed in zip(sizes, speeds, strict=False)
        for run in runs_of(size, [speed], unit="tokens/s")
    ]
    tables = LAYOUTS[layout].tables
    assert tables is not None
    (table,) = tables(summarise(runs), LayoutOptions())
    columns = [
        [row[at] for row in table.rows]
        for at, heading in enumerate(table.headings)
        if re.search(r"throughput|tokens/s|FP32", heading)
    ]
    assert columns
    for cells in columns:
        assert len({len(cell.partition(".")[2]) for cell in cells}) == 1, cells


LIMITS = sorted({*WIDEST_INTERVAL.values(), *CV_LIMITS, *MOST_DISTURBED.values(), THROTTLED, 0.1})
NEAR = st.sampled_from([limit for limit in LIMITS if limit < math.inf]).flatmap(
    lambda limit: st.tuples(
        st.just(limit),
        st.one_of(
            st.floats(1e-9, 0.01).map(lambda more: limit * (1 + more)),
            st.just(math.nextafter(limit, 1)),
        ).filter(lambda value: value > limit),
    )
)


@given(near=NEAR, decimals=st.integers(0, 3), sign=st.sampled_from([1, -1]))
def test_what_is_beyond_a_limit_is_printed_beyond_it(near, decimals, sign):
    limit, value = near
    printed = Decimal(f"{limit * 100:g}")
    texts = [percent(value, decimals, beyond=LIMITS), scatter(value, beyond=LIMITS)]
    texts += [half_text(value, *LIMITS), cv_text(value) if limit in CV_LIMITS else texts[0]]
    texts.append(signed_percent(sign * value, decimals, beyond=LIMITS).lstrip("+-"))
    for text in texts:
        assert Decimal(text.partition("%")[0]) > printed
    usual = percent(value, decimals)
    assert texts[0] == usual or Decimal(usual[:-1]) <= printed, "no more digits than it takes"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    repeats=st.lists(st.floats(90, 110), min_size=3, max_size=8),
    limit=st.sampled_from([*WIDEST_INTERVAL.values(), *CV_LIMITS]),
    of_the_cv=st.booleans(),
)
def test_a_finding_of_the_spread_names_a_figure_above_its_limit(repeats, limit, of_the_cv, runs_of):
    """Repeats that scatter as far as the limit allows, and a little more."""
    spread = describe(repeats)
    assume(min(repeats) < max(repeats))
    is_now = spread.cv if of_the_cv else known_within(spread)
    center, factor = sum(repeats) / len(repeats), limit * 1.0004 / is_now
    (group,) = summarise(runs_of("1n1g", [center + factor * (v - center) for v in repeats]))
    case = group.cases[0]
    for finding, line in found_lines(case, group):
        limits = CV_LIMITS if finding.concern.startswith("cv_") else WIDEST_INTERVAL.values()
        if finding.concern in (Concern.WIDE_INTERVAL, Concern.CV_AMBER, Concern.CV_RED):
            wide = finding.concern is Concern.WIDE_INTERVAL
            figure = known_within(case.spread) if wide else case.spread.cv
            told = Decimal(re.findall(r"([\d.]+)%", line)[-1])
            for one in limits:
                assert (told > Decimal(f"{one * 100:g}")) >= (figure > one)


@given(st.floats(1e-9, 1e6))
def test_half_of_an_interval_is_written_without_a_power_of_ten(half: float) -> None:
    found = PastResult(
        profile="p",
        tag="1n1g",
        parameters={},
        settings=None,
        devices="",
        campaign="c",
        path=ROOT,
        at=0.0,
        simulated=False,
        imported=False,
        throughput=1.0,
        unit="images/s",
        repeats=3,
        half_width=half,
        grade=None,
        run_s=None,
    )
    written = past_cells(found, 0.0)[INTERVAL]
    digits = re.fullmatch(r"±(\d+(?:\.\d+)?)%", written)
    assert digits, written
    assert float(digits[1]) == pytest.approx(100 * half, rel=0.051, abs=0.0051)
