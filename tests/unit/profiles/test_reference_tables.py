"""The tables of published figures, and what profiles say to be found in them."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import ProfileError
from profiles.format.case_matrix import expand, make_case
from profiles.format.catalog import Catalog, load_file
from profiles.format.site_settings import resolve_settings
from profiles.format.workload_section import OTHERS, PRECISION, workload_of
from profiles.references.arithmetic import Arithmetic
from profiles.references.reference_tables import (
    COLUMNS,
    TABLES,
    UNITS,
    TableError,
    bundled_references,
    parse_table,
    read_table,
)

ROOT = Path(__file__).parents[3]
ROW = "\t".join(
    [
        *("ResNet50 V1.5", "throughput", "383.76", "images/s", "fp32", "DLPerf"),
        *("Tesla V100-SXM2-16GB", "8", "2", "128", "OneFlow", "a report", "2020-08-08", ""),
    ]
)


# Tables


def test_every_bundled_row_parses_and_has_a_source():
    found = bundled_references()
    assert len(found) > 100
    assert all(one.source and one.workload and one.framework and one.system for one in found)
    assert {path.name for path in TABLES.glob("*.tsv")} >= {
        "dlperf.tsv",
        "mlperf-training-4.0.tsv",
        "ngc.tsv",
        "paddle-perf.tsv",
    }


def test_no_two_tables_have_the_same_row():
    assert len(set(bundled_references())) == len(bundled_references())


def mistaken(column: str, cell: str) -> str:
    cells = ROW.split("\t")
    cells[COLUMNS.index(column)] = cell
    return "\t".join(cells)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (ROW + "\tmore", "15 cells for 14 columns"),
        (mistaken("value", "57,300"), "value '57,300'"),
        (mistaken("value", "0"), "value '0'"),
        (mistaken("value", "nan"), "value 'nan'"),
        (mistaken("value", "1e400"), "value '1e400'"),
        (mistaken("unit", "min"), "unit 'min'"),
        (mistaken("metric", "speed"), "metric 'speed'"),
        (mistaken("precision", "amp"), "precision 'amp'"),
        (mistaken("precision", "fp32-or-tf32"), "precision 'fp32-or-tf32'"),
        (mistaken("gpu", "V100"), "gpu 'V100'"),
        (mistaken("gpus", "-8"), "gpus '-8'"),
        (mistaken("nodes", "3"), "nodes '3'"),
        (mistaken("batch_size", "x"), "batch_size 'x'"),
        (mistaken("source", ""), "source ''"),
        (mistaken("date", "June 2024"), "date 'June 2024'"),
        (mistaken("caveat", "a\x1b[31m"), "caveat"),
        (ROW.replace("DLPerf", "DLPerf ") + "", "system 'DLPerf '"),
    ],
)
def test_a_wrong_row_is_one_line_that_names_file_line_and_column(
    tmp_path: Path, row: str, said: str
):
    path = tmp_path / "mine.tsv"
    path.write_text("# a comment\n" + "\t".join(COLUMNS) + f"\n{ROW}\n\n{row}\n", encoding="utf-8")
    with pytest.raises(TableError) as raised:
        read_table(path)
    line = str(raised.value)
    assert line.startswith(f"{path}:5: {said}")
    assert "\n" not in line


def test_a_row_that_is_there_twice_and_a_wrong_heading_are_told():
    heading = "\t".join(COLUMNS)
    with pytest.raises(TableError, match="t:3: the same as line 2"):
        parse_table(f"{heading}\n{ROW}\n{ROW}\n", "t")
    with pytest.raises(TableError, match="t:1: the first line does not name the columns"):
        parse_table(ROW, "t")
    with pytest.raises(TableError, match="t:1"):
        parse_table("", "t")


@given(st.text(max_size=200))
def test_no_text_breaks_the_reading(text: str):
    with contextlib.suppress(TableError):
        parse_table("\t".join(COLUMNS) + f"\n{text}", "t")


def test_a_table_that_cannot_be_read_is_told(tmp_path: Path):
    with pytest.raises(TableError, match="cannot read the table"):
        read_table(tmp_path / "none.tsv")
    (tmp_path / "bad.tsv").write_bytes(b"\xff")
    with pytest.raises(TableError, match="not UTF-8"):
        read_table(tmp_path / "bad.tsv")


def test_the_wheel_has_the_tables(tmp_path: Path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
    assert {f"profiles/references/{path.name}" for path in TABLES.glob("*.tsv")} <= shipped


# What profiles say of their workload


def test_every_bundled_profile_that_names_its_workload_explains_its_precisions():
    catalog = Catalog.load()
    named = [catalog.get(name) for name in catalog.names]
    named = [profile for profile in named if profile.workload is not None]
    assert len(named) > 15
    for profile in named:
        assert profile.workload is not None
        precisions = profile.parameters.get(PRECISION)
        choices = precisions.choice_texts if precisions else (OTHERS,)
        assert set(profile.workload.arithmetic) >= set(choices), profile.name


def test_every_workload_of_a_table_that_a_bundled_profile_measures_is_found_by_it():
    """No table spells a workload in a way of its own."""
    catalog = Catalog.load()
    stated = {
        workload
        for name in catalog.names
        if (profile := catalog.get(name)).workload is not None
        for workload in profile.workload.names
    }
    tables = {one.workload for one in bundled_references()}
    assert stated & tables >= {
        "ResNet50 V1.5",
        "BERT base pre-training, sequence length 128",
        "Transformer big",
        "Mask R-CNN",
        "HRNetW18",
        "DeepLabV3+",
        "ResNet50 V1.5, MLPerf",
        "Llama 2 70B LoRA, MLPerf",
        "BERT large, MLPerf",
    }


def test_a_setting_that_changes_what_is_trained_makes_another_workload():
    profile = Catalog.load().get("torch-resnet50")
    (case,) = expand(profile, ["1n1g"], {PRECISION: ("amp",)})
    own = resolve_settings(profile, {})
    assert workload_of(profile.workload, case, own) == ("ResNet50 V1.5", Arithmetic.BF16_MIXED)
    small = resolve_settings(profile, {"image_size": "32"})
    assert workload_of(profile.workload, case, small).name == "ResNet50 V1.5, image_size=32"
    assert workload_of(profile.workload, case, {}).name == "ResNet50 V1.5, image_size=unknown"


@pytest.mark.parametrize(
    ("profile", "parameters", "settings", "name"),
    [
        ("torch-gpt", {}, {}, "GPT-2 124M"),
        ("torch-gpt", {"sequence_length": "2048"}, {}, "GPT-2 124M, sequence_length=2048"),
        ("torch-gpt", {"size": "1.3b", "sequence_length": "2048"}, {}, "GPT-2 1.3B"),
        ("torch-gpt", {"size": "1.3b"}, {}, "GPT-2 1.3B, sequence_length=1024"),
        ("torch-allreduce", {}, {}, "all-reduce, bus bandwidth"),
        ("torch-allreduce", {}, {"max_size": "1M"}, "all-reduce, bus bandwidth, max_size=1M"),
        ("nccl-tests", {"collective": "alltoall"}, {}, "all-to-all, bus bandwidth"),
        ("mlperf-training", {"benchmark": "bert"}, {}, "BERT large, MLPerf"),
        ("mlperf-training", {"benchmark": "gnn"}, {}, "MLPerf Training"),
    ],
)
def test_a_workload_may_depend_on_the_case(
    profile: str, parameters: dict[str, str], settings: dict[str, str], name: str
):
    found = Catalog.load().get(profile)
    case = make_case(found, 1, 8, parameters)
    defaults = {name: one.default for name, one in found.settings.items() if one.default}
    assert workload_of(found.workload, case, {**defaults, **settings}).name == name


def test_amp_is_not_the_same_in_every_profile():
    catalog = Catalog.load()
    names = ("torch-resnet50", "ngc-pytorch-resnet50")
    stated = [catalog.get(name).workload for name in names]
    assert [workload.arithmetic["amp"] for workload in stated if workload] == [
        Arithmetic.BF16_MIXED,
        Arithmetic.FP16_MIXED,
    ]


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ('arithmetic = { amp = "bf16-mixed" }', "workload.arithmetic.amp"),
        ("where = { speed = 1 }", "workload.where.speed"),
        (
            "[[workload.variant]]\nwhen = 'batch_size == 128'\nname = 'Y'\nwhere = { speed = 1 }",
            "workload.variant[0].where.speed",
        ),
        (
            "[[workload.variant]]\nwhen = 'speed == 1'\nname = 'Y'",
            "workload.variant[0].when",
        ),
        ('arithmetic = { fp32 = "single" }', "workload.arithmetic"),
    ],
)
def test_a_profile_with_a_wrong_workload_is_told_where(tmp_path: Path, workload: str, said: str):
    text = (ROOT / "profiles/library/oneflow-resnet50.toml").read_text()
    head, _, rest = text.partition("[workload]")
    _, _, tail = rest.partition("\n\n")
    path = tmp_path / "mine.toml"
    path.write_text(f'{head}[workload]\nname = "X"\n{workload}\n\n{tail}')
    with pytest.raises(ProfileError, match=re.escape(said)):
        load_file(path)


def test_the_units_are_those_that_the_columns_may_have():
    assert {one.unit for one in bundled_references()} <= {u for of in UNITS.values() for u in of}
