"""Figures entered by hand: a wrong file is told in one line with file, entry and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.results.entered_figures import FiguresError, import_figures

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
        (HEAD + "[[figures]]\nthroughput = 1\n", "figures[1].case: field required"),
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
