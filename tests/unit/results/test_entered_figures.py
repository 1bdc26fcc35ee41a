"""Figures entered by hand: a wrong file is told in one line with file, entry and remedy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.results.entered_figures import FiguresError, import_figures
from tui.cli import main

HEAD = 'framework = "F"\nmodel = "M"\n'


def write(tmp_path: Path, text: str, name: str = "figures.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_are_merged_from_file_group_and_figure(tmp_path: Path):
    path = write(
        tmp_path,
        HEAD
        + """
unit = "images/s"
source = "a report"
parameters = { precision = "fp32" }
metrics = { top1 = 76.0 }
[[groups]]
unit = "samples/s"
parameters = { batch_size = 8 }
[[groups.figures]]
case = "2n8g"
throughput = [10, 11.5]
log = ["a.log", "b.log"]
metrics = { top1 = 76.6 }
""",
    )
    first, second = import_figures(path)
    assert first.parameters == {"precision": "fp32", "batch_size": 8}
    assert (first.unit, first.nodes, first.gpus_per_node) == ("samples/s", 2, 8)
    assert (first.throughput, second.throughput) == (10.0, 11.5)
    assert (first.repeat, second.repeat) == (1, 2)
    assert (first.log, second.log) == ("a.log", "b.log")
    assert first.metrics == {"top1": 76.6}
    assert first.profile == "f-m"
    assert first.window == "a report"
    assert first.imported
    assert first.run_id != second.run_id
    assert import_figures(path) == [first, second]


def test_figure_without_throughput_is_a_case_that_was_not_run(tmp_path: Path):
    (run,) = import_figures(write(tmp_path, HEAD + '[[figures]]\ncase = "4n8g"\n'))
    assert (run.state, run.throughput) == ("planned", None)


def test_lines_of_the_same_case_are_repeats(tmp_path: Path):
    text = "framework,model,case,throughput,metric:top1\nF,M,1n1g,10,\nF,M,1n1g,11,76.5\n"
    first, second = import_figures(write(tmp_path, text, "figures.csv"))
    assert (first.repeat, second.repeat) == (1, 2)
    assert second.metrics == {"top1": 76.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "not valid TOML"),
        (HEAD, "no figures"),
        ('[[figures]]\ncase = "1n1g"\n', "no framework"),
        (HEAD + '[[figures]]\ncase = "1x1g"\n', "figures[1]: '1x1g' is not a case"),
        (HEAD + "[[figures]]\nthroughput = 1\n", "figures[1].case: is missing; write nodes"),
        (HEAD + '[[figures]]\ncase = "1n1g"\nspeed = 1\n', "figures[1].speed"),
        (HEAD + '[[figures]]\ncase = "1n1g"\nthroughput = 0\n', "greater than 0"),
        (HEAD + '[[figures]]\ncase = "1n1g"\nthroughput = nan\n', "figures[1].throughput"),
        (HEAD + '[[figures]]\ncase = "1n1g"\nthroughput = "9"\n', "figures[1].throughput"),
        (HEAD + '[[figures]]\ncase = "1n1g"\nthroughput = 1\nlog = "../x"\n', "leads out"),
        (HEAD + '[[figures]]\ncase = "1n1g"\nthroughput = [1, 2]\nlog = "x"\n', "1 logs for 2"),
    ],
)
def test_wrong_toml_is_told_in_one_line(tmp_path: Path, text: str, message: str):
    path = write(tmp_path, text)
    with pytest.raises(FiguresError) as raised:
        import_figures(path)
    line = str(raised.value)
    assert line.startswith(str(path))
    assert message in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("framework,model,case\nF,M\n", "figures.csv:2: not 3 cells"),
        ("framework,model,case\nF,M,1n1g,9\n", "figures.csv:2: not 3 cells"),
        ("framework,model,case,throughput\nF,M,1n1g,fast\n", "figures.csv:2: throughput"),
        ('framework,model,case\nF,"M,1n1g\n', "not valid CSV"),
        ("", "no figures"),
    ],
)
def test_wrong_csv_is_told_in_one_line(tmp_path: Path, text: str, message: str):
    with pytest.raises(FiguresError) as raised:
        import_figures(write(tmp_path, text, "figures.csv"))
    assert message in str(raised.value)


def test_file_that_cannot_be_read_is_told(tmp_path: Path):
    with pytest.raises(FiguresError, match="No such file"):
        import_figures(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FiguresError, match="not UTF-8"):
        import_figures(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    ("number", "shown"),
    [("-1", "-1"), ("0", "0"), ('"abc"', "'abc'"), ("nan", "nan"), ("inf", "inf")],
)
def test_figure_that_is_no_speed_is_told_with_what_to_write(
    tmp_path: Path, number: str, shown: str
):
    text = f'{HEAD}figures = [{{ case = "1n1g", throughput = {number} }}]\n'
    with pytest.raises(FiguresError) as raised:
        import_figures(write(tmp_path, text))
    line = str(raised.value)
    assert "figures[1].throughput: must be " in line
    assert f", not {shown}; write digits alone, such as 1234.5" in line


@pytest.mark.parametrize("cell", ["abc", '"1,234.5"', "-3", "0", "nan", "1e999"])
def test_cell_that_is_no_speed_is_told_with_what_to_write(tmp_path: Path, cell: str):
    text = f"framework,model,case,throughput\nF,M,1n1g,{cell}\n"
    with pytest.raises(FiguresError, match=r"figures\.csv:2: throughput: must be .*write digits"):
        import_figures(write(tmp_path, text, "figures.csv"))


def test_columns_of_one_name_are_refused(tmp_path: Path):
    text = "framework,model,case,throughput, throughput\nF,M,1n1g,1,2\n"
    with pytest.raises(FiguresError, match=r"csv:1: two columns are called 'throughput'"):
        import_figures(write(tmp_path, text, "figures.csv"))


SPEEDS = st.none() | st.floats(1, 1e6) | st.lists(st.floats(1, 1e6), min_size=1, max_size=3)
ENTERED = st.tuples(
    st.sampled_from(["1n1g", "1n2g"]),
    st.none() | st.integers(1, 4),
    SPEEDS,
    st.sampled_from([{}, {"batch_size": 8}]),
    st.booleans(),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(ENTERED, min_size=1, max_size=6))
def test_every_figure_is_a_run_of_its_own_or_refused(tmp_path: Path, entered: list[Any]):
    figures: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    for case, repeat, speed, parameters, grouped in entered:
        figure = {"case": case, "repeat": repeat, "throughput": speed, "parameters": parameters}
        figure = {key: value for key, value in figure.items() if value is not None}
        (groups.append({"figures": [figure]}) if grouped else figures.append(figure))
    document = {"framework": "F", "model": "M", "figures": figures, "groups": groups}
    path = write(tmp_path, tomli_w.dumps(document))
    try:
        runs = import_figures(path)
    except FiguresError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert re.search(
            r"figures\[\d\]: is repeat \d of 1n.g, .*figures\[\d\] is as well", refused
        )
        return
    told = sum(len(speed) if isinstance(speed, list) else 1 for _c, _r, speed, _p, _g in entered)
    same = {(run.case_tag, str(run.parameters), run.repeat) for run in runs}
    assert len(same) == len({run.run_id for run in runs}) == told


def test_rows_of_the_same_repeat_are_refused_by_their_lines_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = "framework,model,case,repeat,throughput\nF,M,1n1g,1,100\nF,M,1n1g,1,110\n"
    path = write(tmp_path, text, "figures.csv")
    assert main(["import", str(path), "-o", str(tmp_path / "campaign")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path}:3: is repeat 1 of 1n1g, and {path}:2 is as well" in line
    assert not (tmp_path / "campaign").exists()
