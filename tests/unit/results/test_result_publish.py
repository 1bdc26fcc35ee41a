"""``report``: every layout in every format it has."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from backends.campaign.folder.export_report import Export
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.run_results import run_results
from backends.results.layouts.arrange import AS_IT_IS, Arrangement
from backends.results.layouts.cells import count_cell, cv_cell
from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.layout import Layout
from backends.results.layouts.speedup import COLUMNS, speedup_tables
from backends.results.publish import LAYOUTS, publish
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from backends.results.translations import EN, LANGUAGES
from profiles.errors import SelectionError
from tests.unit.results.test_report_command import EXAMPLES
from tui.cli import main

OF_THEIR_OWN = {"collectives", "llm", "mlperf"}
"""Layouts of certain runs alone, which have tests of their own."""


@pytest.fixture
def runs(runs_of):
    amp = {"batch_size": 64, "precision": "amp"}
    return [
        *runs_of("1n1g", [100, 102]),
        *runs_of("1n2g", [190, None]),
        *runs_of("1n1g", [200], parameters=amp),
    ]


@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - OF_THEIR_OWN - {"dlperf-json"}))
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_layout_prints_as_markdown_and_csv(runs, layout, lang):
    options = LayoutOptions(lang=lang)
    assert re.search(r"^\| :?---", publish("c", runs, layout=layout, options=options), re.M)
    text = publish("c", runs, layout=layout, format="csv", options=options)
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    assert len(rows) >= 2


def test_a_new_layout_is_a_value_in_the_mapping(runs, monkeypatch, capsys):
    """What its file would hold: a name, a word of help and a writer for each of its formats."""
    counting = Layout(
        "counting", "how many runs", {"md": lambda results, options: f"{len(results.runs)} runs\n"}
    )
    monkeypatch.setitem(LAYOUTS, counting.name, counting)
    assert publish("c", runs, layout="counting") == "5 runs\n"
    with pytest.raises(SelectionError, match="counting is no csv"):
        publish("c", runs, layout="counting", format="csv")
    assert main(["report", "--help"]) == 0
    assert "counting: how many runs (md)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - OF_THEIR_OWN - {"dlperf-json"}))
def test_json_is_the_document_whatever_the_layout(runs, layout):
    written = json.loads(publish("c", runs, layout=layout, format="json"))
    assert written["campaign"] == "c"
    assert len(written["runs"]) == 5
    assert [result["case"] for result in written["results"]] == ["1n1g", "1n1g", "1n2g"]


def test_dlperf_json_is_json_without_being_asked(runs):
    written = json.loads(publish("c", runs, layout="dlperf-json"))
    assert written["mlp_b64_fp32"]["1n2g"]["speedup"] == 1.88


def test_speedup_as_csv_is_the_long_table_of_all_groups(runs):
    rows = list(csv.DictReader(io.StringIO(publish("c", runs, format="csv"))))
    assert [(row["case"], row["precision"], row["speedup"]) for row in rows] == [
        ("1n1g", "amp", "1.0"),
        ("1n1g", "fp32", "1.0"),
        ("1n2g", "fp32", str(190 / 101)),
    ]


FIGURES = {
    EN.nodes: "nodes",
    EN.gpus_per_node: "gpus_per_node",
    EN.gpus: "gpus",
    EN.batch: "batch_size",
    EN.memory: "gpu_memory_mib",
    EN.throughput: "throughput",
    EN.speedup: "speedup",
    EN.speedup_interval: "speedup_low",
    EN.efficiency: "efficiency",
    EN.efficiency_interval: "efficiency_low",
    EN.cv: "cv",
    EN.count: "succeeded",
}
"""The layout's columns, and what they are in results.csv."""
REPEATS = st.lists(st.none() | st.floats(90.0, 110.0), min_size=1, max_size=4)


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@given(
    repeats=st.dictionaries(
        st.tuples(st.sampled_from([1, 2, 4, 16]), st.sampled_from(["fp32", "amp"])),
        REPEATS,
        min_size=1,
    ),
    memory=st.none() | st.integers(1, 9),
    column=st.integers(0, len(COLUMNS) - 1),
    descending=st.booleans(),
    lang=st.sampled_from(["en", "zh"]),
)
@example({(1, "amp"): [100.002], (2, "amp"): [100.001], (4, "amp"): [None]}, 5, 5, False, "en")
def test_speedup_as_csv_has_every_field_and_digit_in_every_order(
    repeats, memory, column, descending, lang
):
    runs = [
        RunResult(
            *(f"{gpus} {precision} {n}", "p", "F", "M", f"{gpus}", 1, gpus),
            *({"batch_size": 8, "precision": precision}, n),
            state="failed" if value is None else "succeeded",
            throughput=value,
            gpu_memory_mib=memory and memory * gpus,
        )
        for (gpus, precision), values in repeats.items()
        for n, value in enumerate(values)
    ]
    plain = publish("c", runs, format="csv")
    groups = summarise(runs)
    shown = speedup_tables(groups)
    assume(column < max(len(table.columns) for table in shown))
    order = Arrangement(column, descending)
    text = publish("c", runs, format="csv", options=LayoutOptions(lang, arrangement=order))
    assert text.splitlines()[0] == plain.splitlines()[0]
    assert sorted(text.splitlines()) == sorted(plain.splitlines())
    for group, table in zip(groups, shown, strict=True):
        own = [row for row in read(text) if row["precision"] == group.precision]
        if column >= len(table.columns):
            assert own == [row for row in read(plain) if row["precision"] == group.precision]
            continue
        name = FIGURES[table.headings[column]]
        figures = [float(row[name] or "nan") for row in own]
        told = [figure for figure in figures if not math.isnan(figure)]
        assert told == sorted(told, reverse=descending)
        assert all(map(math.isnan, figures[len(told) :]))
    turned = LayoutOptions(lang, arrangement=replace(order, transposed=True))
    columns = csv.reader(io.StringIO(publish("c", runs, format="csv", options=turned)))
    assert list(zip(*columns, strict=True)) == list(map(tuple, csv.reader(io.StringIO(text))))


def test_chosen_columns_are_what_csv_has(runs):
    options = LayoutOptions(columns=("gpus", "throughput", "speedup"))
    text = publish("c", runs, format="csv", options=options)
    assert text.splitlines()[0] == "table,gpu num,throughput,speedup"


def test_mean_is_named_in_the_document(runs):
    written = json.loads(publish("c", runs, format="json", center="mean"))
    assert written["results"][1]["center"] == "mean"
    assert written["results"][1]["throughput"] == 101


def test_pivot_shows_a_dash_for_the_case_that_one_column_lacks(runs):
    text = publish("c", runs, layout="pivot")
    assert "| 2 | 190.00 | - |" in text


def test_compare_layout_tells_one_framework_from_itself(runs_of):
    runs = runs_of("1n1g", [100], campaign="old") + runs_of("1n1g", [110], campaign="new")
    text = publish("old, new", runs, layout="compare")
    assert "samples/s(Python old) | speedup | samples/s(Python new) | speedup" in text
    sure = "1n1g n 1, CV –, D"
    assert f"- Python old: {sure}\n- Python new: {sure}\n" in text


@pytest.mark.parametrize("frameworks", [("Python",), ("Python", "Other")])
@given(
    values=st.lists(
        st.lists(st.floats(50, 200) | st.none(), min_size=1, max_size=6), min_size=1, max_size=4
    )
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_compare_layout_tells_n_cv_and_grade_of_every_case(runs_of, frameworks, values):
    runs = [
        run
        for framework in frameworks
        for size, own in enumerate(values)
        for run in runs_of(f"1n{2**size}g", own, framework=framework, profile=framework)
    ]
    text = publish("c", runs, layout="compare")
    cases = [case for group in summarise(runs) for case in group.cases]
    for case in cases:
        told = f"{case.case} n {count_cell(case)}, CV {cv_cell(case)}, {case.grade or '-'}"
        (line,) = [line for line in text.splitlines() if line.startswith(f"- {case.framework}: ")]
        assert told in re.split("; |: ", line)
    assert ("- !! CV above 5%" in text) == any("!!" in cv_cell(case) for case in cases)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layout": "cake"}, "no layout 'cake'; choose from speedup"),
        ({"format": "pdf"}, "no format 'pdf'"),
        ({"layout": "dlperf-json", "format": "csv"}, "dlperf-json is no csv"),
        ({"options": LayoutOptions(columns=("colour",))}, "unknown column 'colour'"),
        (
            {"options": LayoutOptions(arrangement=Arrangement(99))},
            r"--sort: there are \d+ columns, not 100; give one of them",
        ),
        (
            {"format": "json", "options": LayoutOptions(arrangement=Arrangement(transposed=True))},
            "JSON has no rows to put in order",
        ),
    ],
)
def test_what_does_not_exist_is_told(runs, arguments, message):
    with pytest.raises(SelectionError, match=message):
        publish("c", runs, **arguments)


@pytest.mark.parametrize(
    "changed",
    [
        LayoutOptions(decimals=1),
        LayoutOptions(arrangement=Arrangement(0)),
        LayoutOptions(arrangement=Arrangement(transposed=True)),
    ],
    ids=["decimals", "sort", "transpose"],
)
@pytest.mark.parametrize(
    ("layout", "unit"), [("airank", "samples/s"), ("llm", "tokens/s"), ("collectives", "GB/s")]
)
def test_csv_in_another_order_or_rounded_says_of_what_it_is_and_in_what_unit(
    runs_of, layout, unit, changed
):
    runs = runs_of("1n1g", [100.0] * 3, unit=unit) + runs_of("1n2g", [190.0] * 3, unit=unit)
    text = publish("c", runs, layout=layout, format="csv", options=changed)
    rows = list(csv.reader(io.StringIO(text)))
    if changed.arrangement.transposed:
        rows = list(zip(*rows, strict=True))
    head, *told = rows
    assert told
    for row in told:
        known = dict(zip(head, row, strict=True))
        assert known["unit"] == unit
        assert known["profile"] == runs[0].profile


ALL = [(layout.name, format) for layout in LAYOUTS.values() for format in (None, *layout.formats)]


@pytest.mark.parametrize(("layout", "format"), ALL)
def test_no_runs_is_told(layout, format):
    with pytest.raises(SelectionError, match="no runs to report; run the campaign first"):
        publish("c", [], layout=layout, format=format)


@pytest.mark.parametrize(("layout", "format"), [both for both in ALL if both[0] in OF_THEIR_OWN])
def test_a_layout_of_something_else_says_so_in_every_format(runs, layout, format):
    with pytest.raises(SelectionError) as told:
        publish("c", runs, layout=layout, format=format)
    what, remedy = LAYOUTS[layout].lacks
    assert str(told.value) == f"c: {what}; {remedy}"


@pytest.mark.parametrize(("layout", "format"), ALL)
def test_options_are_followed_or_refused(runs_of, layout, format):
    """Never left out in silence."""
    unit = {"llm": "tokens/s", "collectives": "GB/s"}.get(layout, "samples/s")
    parameters = {"system": "s", "benchmark": "b"} if layout == "mlperf" else {}
    metrics = {"time_to_train_s": 1234.5678}
    runs = runs_of("1n1g", [1234.5678] * 3, unit=unit, parameters=parameters, metrics=metrics)
    written = publish("c", runs, layout=layout, format=format)
    for changed in (
        LayoutOptions(decimals=1),
        LayoutOptions(columns=("gpus",)),
        LayoutOptions(style="oneflow"),
    ):
        with suppress(SelectionError):
            assert publish("c", runs, layout=layout, format=format, options=changed) != written


@pytest.mark.parametrize(
    "arrangement", [Arrangement(), Arrangement(0), Arrangement(transposed=True)]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_name_of_an_export_differs_between_languages_where_its_text_does(
    runs_of, layout, arrangement
):
    unit = {"llm": "tokens/s", "collectives": "GB/s"}.get(layout, "samples/s")
    parameters = {"system": "s", "benchmark": "b"} if layout == "mlperf" else {"batch_size": 64}
    metrics = {"time_to_train_s": 1234.5678}
    told = {"unit": unit, "parameters": parameters, "metrics": metrics}
    runs = [*runs_of("1n1g", [100.0] * 3, **told), *runs_of("1n2g", [190.0] * 3, **told)]
    for format in LAYOUTS[layout].formats:
        how = AS_IT_IS if format == "json" else arrangement
        exports = [Export(layout, format, LayoutOptions(one, arrangement=how)) for one in LANGUAGES]
        texts = {
            publish("c", runs, layout=layout, format=format, options=one.options) for one in exports
        }
        assert len({one.file_name for one in exports}) == len(texts), format
        assert {one.translated for one in exports} == {len(texts) > 1}, format


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--decimals 12", "argument --decimals: must be 0 to 9, not 12"),
        ("--decimals -1", "argument --decimals: must be 0 to 9, not -1"),
        ("--decimals 3 --format json", "--decimals: figures in JSON have every digit; leave it"),
        ("--columns n --layout pivot", "--columns: only the layout speedup as md or csv has it"),
        ("--style oneflow --format json", "--style: only the layout speedup as md or csv has it"),
        ("--columns ''", "unknown column ''; choose from nodes, "),
    ],
)
def test_what_cannot_be_done_is_told_with_what_can(dlperf, capsys, words, message):
    assert main(["report", "docs/examples/h200-x4", *shlex.split(words)]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert (told.out, told.err.count("\n")) == ("", 1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("decimals", [None, 2])
def test_csv_is_of_one_language(layout: str, decimals: int | None) -> None:
    """Its names of parameters, flags and profiles are English in any."""
    if "csv" not in LAYOUTS[layout].formats:
        return
    for recorded in EXAMPLES:
        runs = run_results(read_campaign(recorded))
        if LAYOUTS[layout].fits(summarise(runs)):
            english, chinese = (
                publish(
                    "c",
                    runs,
                    layout=layout,
                    format="csv",
                    options=LayoutOptions(lang=lang, decimals=decimals),
                )
                for lang in LANGUAGES
            )
            assert chinese == english
            assert not re.search("[\u4e00-\u9fff]", english)


def test_no_note_says_where_the_figures_stand_that_it_is_of(runs) -> None:
    """Below its table it is no word of what is below."""
    simulated = [replace(run, simulated=True) for run in runs]
    text = publish("c", simulated, options=LayoutOptions(lang="zh"))
    assert "SIMULATED" in text
    assert not re.search("以[上下]数字", text)
