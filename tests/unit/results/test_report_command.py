"""``report``: one document of one campaign wherever it comes from, and several side by side."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.campaign.folder.artifacts import report_context, rewrite_results
from backends.campaign.folder.export_report import Export, export
from backends.campaign.folder.paths import telemetry_path
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState
from backends.hosts.telemetry import read_telemetry
from backends.hosts.telemetry_summary import Span, summarise
from backends.precheck.record import Precheck, PrecheckError
from backends.results.campaign_report import render_report
from backends.results.layouts.pivot import pivot_tables
from backends.results.publish import publish
from backends.results.summary import summarise as summarise_runs
from tests.unit.results.conftest import Dlperf
from tui.cli import main

EXAMPLES = sorted((Path(__file__).parents[3] / "docs" / "examples").iterdir())
Figures = Callable[..., Path]


@pytest.fixture
def imported(dlperf: Dlperf, tmp_path: Path) -> Figures:
    """A campaign of one case, of which there is a log."""

    def imported(where: str, *values: float) -> Path:
        source = tmp_path / "figures.toml"
        source.write_text(
            'framework = "F"\nmodel = "M"\n'
            f'figures = [{{ case = "1n1g", throughput = {list(values)}, '
            f"log = {[f'logs/{n}.log' for n in range(len(values))]} }}]\n",
            encoding="utf-8",
        )
        dlperf("import", source, "-o", tmp_path / where)
        return tmp_path / where

    return imported


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_document_is_the_same_wherever_it_comes_from(dlperf: Dlperf, example: Path) -> None:
    """In ``results.json`` the path is ".": it lies in the campaign, wherever that is moved."""
    kept = json.loads((example / "results.json").read_text(encoding="utf-8"))
    assert kept["path"] == "."
    here = {**kept, "path": str(example)}
    assert json.loads(dlperf("report", example, "--format", "json")) == here
    assert json.loads(dlperf("status", example, "--json")) == here


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_as_they_would_be_written_now(example: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(example, tmp_path / example.name)
    rewrite_results(read_campaign(copy), copy)
    for name in ("results.json", "results.csv", "report.md"):
        assert (copy / name).read_text() == (example / name).read_text(), name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_one_empty_line_is_between_the_parts_of_a_report(example: Path) -> None:
    state = read_campaign(example)
    context, runs = report_context(state, example), run_results(state)
    assert "\n\n\n" not in render_report(context, runs, summarise_runs(runs))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_what_the_gpus_did_is_by_the_rule_of_now(example: Path) -> None:
    """Or the same quantity would be two numbers in two examples."""
    for run in read_campaign(example).runs.values():
        path = example / telemetry_path(run.run_id, "vm")
        if run.telemetry is None or not run.telemetry.gpus or run.repeat > 1:
            continue
        trained = Span(run.series.times[0], run.series.times[-1])
        with path.open("rb") as file:
            seen = summarise(read_telemetry(file), "vm", run.devices["vm"], trained, {})
        assert seen.gpus == run.telemetry.gpus


def test_a_precheck_is_read_once_for_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be long, and they are written again after each run."""
    read: list[Path] = []

    def counted(path: Path) -> Precheck:
        read.append(path)
        raise PrecheckError("damaged")

    monkeypatch.setattr("backends.campaign.folder.artifacts.read_precheck", counted)
    (tmp_path / "precheck").mkdir()
    rewrite_results(CampaignState(), tmp_path)
    assert read == [tmp_path / "precheck"]


def test_a_log_is_where_path_and_log_say(dlperf: Dlperf, imported: Figures, tmp_path: Path) -> None:
    """Also where the document is written elsewhere; of several campaigns it is absolute."""
    one, two = imported("one", 5.0), imported("two", 6.0)
    dlperf("report", one, "--format", "json", "-o", tmp_path / "out" / "one.json")
    written = json.loads((tmp_path / "out" / "one.json").read_text())
    assert (written["path"], written["runs"][0]["log"]) == (str(one), "logs/0.log")
    both = json.loads(dlperf("report", one, two, "--format", "json"))
    assert both["path"] is None
    assert [run["log"] for run in both["runs"]] == [f"{one}/logs/0.log", f"{two}/logs/0.log"]


def test_what_is_reported_together_says_which_campaign_it_is_of(
    dlperf: Dlperf, imported: Figures
) -> None:
    one, two = imported("one", 5.0), imported("two", 6.0)
    both = json.loads(dlperf("report", one, two, "--format", "json"))
    assert both["campaign"] == "one + two"
    assert [run["campaign"] for run in both["runs"]] == ["one", "two"]
    assert [(r["campaign"], r["throughput"]) for r in both["results"]] == [("one", 5), ("two", 6)]
    rows = list(csv.DictReader(io.StringIO(dlperf("report", one, two, "--format", "csv"))))
    assert [(row["campaign"], row["throughput"]) for row in rows] == [
        ("one", "5.0"),
        ("two", "6.0"),
    ]
    alone = next(csv.DictReader(io.StringIO(dlperf("report", one, "--format", "csv"))))
    assert "campaign" not in alone


def test_campaigns_of_one_name_are_kept_apart(
    dlperf: Dlperf, imported: Figures, tmp_path: Path
) -> None:
    """A copy of a campaign has its name: its repeats are not further attempts of the other's."""
    one = imported("one", 5.0, 5.1)
    copy = shutil.copytree(one, tmp_path / "copy")
    other = shutil.copytree(one, tmp_path / "elsewhere" / "one")
    both = json.loads(dlperf("report", one, copy, "--format", "json"))
    assert both["campaign"] == "one + copy"
    assert [result["repeats"] for result in both["results"]] == [2, 2]
    both = json.loads(dlperf("report", one, other, "--format", "json"))
    assert both["campaign"] == f"{one} + {other}"
    assert [result["repeats"] for result in both["results"]] == [2, 2]
    text = dlperf("report", one, copy)
    assert "### F M · one" in text
    assert "### F M · copy" in text


def test_a_campaign_beside_itself_is_refused(
    imported: Figures, capsys: pytest.CaptureFixture[str]
) -> None:
    one = imported("one", 5.0)
    assert main(["report", str(one), f"{one}/"]) == 2
    assert "is named twice; name it once" in capsys.readouterr().err


def test_an_exported_layout_links_to_the_logs_from_where_it_lies(
    imported: Figures, tmp_path: Path
) -> None:
    one = imported("one", 5.0)
    log = one / "logs" / "0.log"
    log.parent.mkdir(exist_ok=True)
    log.touch()
    for name, layout in (("pivot.md", "pivot"), ("report.md", None)):
        export(read_campaign(one), one, tmp_path / name, Export(layout))
        assert "](./one/logs/0.log)" in (tmp_path / name).read_text()
        export(read_campaign(one), one, tmp_path / "out" / name, Export(layout))
        assert "](" not in (tmp_path / "out" / name).read_text()  # none leads out of its directory
    export(read_campaign(one), one, one / "pivot.md", Export("pivot"))
    assert "](./logs/0.log)" in (one / "pivot.md").read_text()


def test_printed_links_lead_to_the_logs_from_the_current_directory(
    dlperf: Dlperf, imported: Figures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = imported("one", 5.0)
    log = one / "logs" / "0.log"
    log.parent.mkdir(exist_ok=True)
    log.touch()
    for here, link in ((tmp_path, "](./one/logs/0.log)"), (one, "](./logs/0.log)")):
        monkeypatch.chdir(here)
        assert link in dlperf("report", one, "--layout", "pivot")


def test_links_of_as_many_gpus_on_other_nodes_are_told_apart_as_their_rows(runs_of) -> None:
    runs = [
        replace(run, log=f"logs/{tag}-{n}.log", gpus_per_node=2 // nodes, nodes=nodes)
        for tag, nodes in (("1n2g", 1), ("2n1g", 2))
        for n, run in enumerate(runs_of(tag, [5.0, 5.1]))
    ]
    (table,) = pivot_tables(summarise_runs(runs))
    words = [link.text for link in table.links]
    assert len({*words}) == len(words) == 4
    for (row, *_), link in zip(table.rows, table.links[::2], strict=True):
        assert row.partition(" ")[2] in link.text


def test_figures_without_logs_are_not_said_never_to_have_run(
    dlperf: Dlperf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "figures.csv"
    source.write_text("framework,model,unit,case,throughput\nF,M,images/s,1n1g,5\n")
    dlperf("import", source, "-o", tmp_path / "one")
    assert main(["logs", str(tmp_path / "one")]) == 2
    assert "figures without logs: there is no log" in capsys.readouterr().err


def test_a_report_without_figures_says_how_to_have_them(
    dlperf: Dlperf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    html = ("report", EXAMPLES[0], "--format", "html", "-o", tmp_path / "report.html")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main([*map(str, html)]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "no figures" in line]
    assert len(notes) == 1
    assert "pip install 'dlperf-tui[figures]'" in notes[0]


def test_a_torn_last_line_is_said_as_a_run_that_has_not_ended(
    dlperf: Dlperf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(EXAMPLES[0], tmp_path / "c")
    lines = (copy / "events.jsonl").read_bytes().splitlines(keepends=True)
    ends = [at for at, line in enumerate(lines) if b'"kind":"RunSucceeded"' in line]
    (copy / "events.jsonl").write_bytes(b"".join(lines[: ends[-1]]) + lines[ends[-1]][:100])
    assert main(["report", str(copy)]) == 0
    said = " ".join(capsys.readouterr().err.split())
    runs = len(json.loads((EXAMPLES[0] / "results.json").read_text())["runs"])
    assert f"it has not finished: {runs - 1} of {runs} runs ended" in said
    assert main(["report", str(copy), "--bundle", str(tmp_path / "b.tar.zst")]) == 0
    bundled = " ".join(capsys.readouterr().err.split())
    assert f"{runs - 1} of {runs} runs ended; it is bundled as it is now" in bundled
    assert main(["report", str(EXAMPLES[0])]) == 0
    assert "has not finished" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("layout", "example", "figures"),
    [
        ("airank", "h200-x2-resnet50-graphs", {"throughput": None, "speedup": None}),
        ("llm", "h200-x4-gpt-124m", {"tokens_per_s": "throughput", "mfu": "metric:mfu"}),
        ("collectives", "h200-x4-allreduce", {"busbw_gb_per_s": "throughput", "busbw_cv": "cv"}),
    ],
)
def test_rows_of_a_layouts_csv_say_what_they_are_of_with_every_digit(
    dlperf: Dlperf, layout: str, example: str, figures: dict[str, str | None]
) -> None:
    def rows(*words: str) -> list[dict[str, str]]:
        written = dlperf("report", EXAMPLES[0].parent / example, "--format", "csv", *words)
        heading = next(csv.reader(io.StringIO(written)))
        assert len({*heading}) == len(heading)
        assert all(heading)
        return list(csv.DictReader(io.StringIO(written)))

    whole = {row["case"]: row for row in rows()}
    found = rows("--layout", layout)
    assert {row["case"] for row in found} == {*whole}
    for row in found:
        known = whole[row["case"]]
        for name in ("profile", "framework", "model", "nodes", "gpus_per_node", "unit", "grade"):
            assert row[name] == known[name]
        assert row["campaign"] == example
        if row.get("size_bytes") in (None, known.get("metric:size_bytes", "").removesuffix(".0")):
            for name, theirs in figures.items():
                assert float(row[name]) == pytest.approx(float(known[theirs or name]))
    assert found[0].keys() >= set(figures)


def test_csv_of_frameworks_side_by_side_has_no_name_twice(dlperf: Dlperf) -> None:
    both = [EXAMPLES[0].parent / f"h200-{hosts}-resnet50-graphs" for hosts in ("x2", "x4")]
    written = dlperf("report", *both, "--layout", "compare", "--format", "csv")
    heading, first, *_ = csv.reader(io.StringIO(written))
    assert len({*heading}) == len(heading)
    row = dict(zip(heading, first, strict=True))
    for hosts in ("x2", "x4"):
        of = f"(PyTorch h200-{hosts}-resnet50-graphs)"
        assert len(row[f"images/s{of}"].partition(".")[2]) > 3
        assert (row[f"speedup{of}"], row[f"n{of}"], row[f"grade{of}"]) == ("1.0", "3", "B")
    assert row["profile"] == "torch-resnet50"


@given(
    large=st.lists(st.sampled_from([None, 190.0, 230.0, 300.0]), min_size=2, max_size=7),
    other=st.lists(st.sampled_from([None, 80.0, 95.0]), min_size=1, max_size=7),
    forced=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_csv_of_pivot_and_compare_says_what_is_doubtful_as_that_of_speedup_does(
    runs_of, large: list[float | None], other: list[float | None], forced: bool
):
    wide = {"parameters": {"batch_size": 128, "precision": "fp32"}}
    runs = [
        *runs_of("1n1g", [100.0, 100.1, 99.9]),
        *runs_of("1n2g", large, forced=forced),
        *runs_of("1n1g", other, **wide),
    ]

    def rows_of(layout: str) -> list[dict[str, str]]:
        tables = publish("c", runs, layout=layout, format="csv").split("\n\n")
        return [row for table in tables for row in csv.DictReader(io.StringIO(table))]

    known = rows_of("speedup")
    pivot = {row["GPUs"]: row for row in rows_of("pivot")}
    for gpus in ("1", "2"):
        alike = [row for row in known if row["gpus"] == gpus]
        flags = {flag for row in alike for flag in row["flags"].split(";")} - {""}
        assert {*pivot[gpus]["flags"].split(";")} - {""} == flags
        graded = [row["grade"] for row in alike if row["throughput"]]
        assert pivot[gpus]["grade"] == max(graded, default="-")
    compared = [row for row in rows_of("compare") if row["flags(Python)"] != "-"]
    assert sorted(row["flags(Python)"] for row in compared) == sorted(row["flags"] for row in known)
