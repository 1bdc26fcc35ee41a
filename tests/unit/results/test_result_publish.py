"""``report``: every layout in every format it has."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.layout import Layout
from backends.results.publish import LAYOUTS, publish
from profiles.errors import SelectionError
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


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "dlperf-json"])
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
        ("1n2g", "fp32", repr(190 / 101)),
    ]


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
    assert "| 2 | 190 | - |" in text


def test_compare_layout_tells_one_framework_from_itself(runs_of):
    runs = runs_of("1n1g", [100], campaign="old") + runs_of("1n1g", [110], campaign="new")
    text = publish("old, new", runs, layout="compare")
    assert "samples/s(Python old) | speedup | samples/s(Python new) | speedup" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layout": "cake"}, "no layout 'cake'; choose from speedup"),
        ({"format": "pdf"}, "no format 'pdf'"),
        ({"layout": "dlperf-json", "format": "csv"}, "dlperf-json is no csv"),
        ({"options": LayoutOptions(columns=("colour",))}, "unknown column 'colour'"),
    ],
)
def test_what_does_not_exist_is_told(runs, arguments, message):
    with pytest.raises(SelectionError, match=message):
        publish("c", runs, **arguments)


def test_no_runs_is_told():
    with pytest.raises(SelectionError, match="no runs to report"):
        publish("c", [])
