"""A tree of existing logs becomes runs; nothing outside of it is touched, nothing is guessed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.paths import host_log_path
from backends.results.log_import import copy_logs, import_tree
from backends.results.summary import summarise
from profiles.errors import LogError
from profiles.format.case_matrix import make_case
from profiles.format.catalog import Catalog
from profiles.logs.log_paths import recognise
from profiles.logs.own_log_names import log_path
from profiles.logs.same_content import copies
from tui.cli import main

LINE = "train: epoch 0, iter {}, loss: 6.5, top_1: 0.0, top_k: 0.0, samples/s: {}\n"


@pytest.fixture(scope="module")
def oneflow():
    return Catalog.load().get("oneflow-resnet50")


def write_log(tree: Path, name: str, *speeds: float) -> Path:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (LINE.format(20 * i, speed) for i, speed in enumerate(speeds, start=1))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_dlperf_tree_becomes_cases_with_their_repeats(oneflow, tmp_path: Path):
    for repeat, speed in enumerate((380, 384, 382), start=1):
        write_log(tmp_path, f"oneflow/resnet50/1n1g/r50_b128_fp32_{repeat}.log", 288, speed, speed)
    write_log(tmp_path, "oneflow/resnet50/2n8g/r50_b160_fp32_1.log", 4000, 5800, 5900)
    imported = import_tree(oneflow, tmp_path)
    small, large = summarise(imported.runs)
    assert small.parameters["batch_size"] == 128
    assert (small.cases[0].case, small.cases[0].throughput) == ("1n1g", 382)
    assert [run.repeat for run in small.cases[0].runs] == [1, 2, 3]
    assert (large.cases[0].case, large.cases[0].throughput) == ("2n8g", 5850)
    assert large.cases[0].imported
    assert imported.warnings == ()
    assert imported.runs[0].log == "logs/oneflow/resnet50/1n1g/r50_b128_fp32_1.log"
    assert (imported.runs[0].readings, imported.runs[0].used) == (3, 2)


def test_importing_twice_gives_the_same_runs(oneflow, tmp_path: Path):
    for tag in ("4n8g", "1n1g", "1n8g"):
        write_log(tmp_path, f"{tag}/r50_b128_fp32_1.log", 1, 2, 3)
    first, second = import_tree(oneflow, tmp_path), import_tree(oneflow, tmp_path)
    assert first == second
    assert [run.case_tag for run in first.runs] == ["1n1g", "1n8g", "4n8g"]


def test_copied_logs_are_the_same_bytes(oneflow, tmp_path: Path):
    path = write_log(tmp_path / "tree", "1n1g/r50_b128_fp32_1.log", 1, 2, 3)
    path.write_bytes(path.read_bytes() + b"\xff\x00 no newline")
    imported = import_tree(oneflow, tmp_path / "tree")
    copy_logs(imported, tmp_path / "campaign")
    copied = tmp_path / "campaign" / str(imported.runs[0].log)
    assert copied.read_bytes() == path.read_bytes()
    assert [p.name for p in copied.parent.iterdir()] == [path.name]


def test_part_of_a_tree_and_a_single_log_keep_their_case(oneflow, tmp_path: Path):
    path = write_log(tmp_path, "oneflow/4n8g/r50_b128_fp32_2.log", 1, 2, 3)
    for part in (path.parent, path):
        (run,) = import_tree(oneflow, part).runs
        assert (run.case_tag, run.repeat) == ("4n8g", 2)
        assert run.log == "logs/r50_b128_fp32_2.log"


def test_what_is_not_recognised_is_named(oneflow, tmp_path: Path):
    write_log(tmp_path, "1n1g/r50_b128_fp32_1.log", 1, 2, 3)
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "b\x1b[31mad").write_text("x")
    (tmp_path / ".hidden").write_text("x")
    imported = import_tree(oneflow, tmp_path)
    assert imported.warnings == (
        "bad: not recognised; left out",
        "notes.txt: not recognised; left out",
    )


def test_links_out_of_the_tree_and_odd_files_are_left_out(oneflow, tmp_path: Path):
    outside = write_log(tmp_path / "outside", "1n1g/r50_b128_fp32_1.log", 1, 2, 3)
    tree = tmp_path / "tree" / "1n1g"
    write_log(tmp_path / "tree", "1n1g/r50_b128_fp32_5.log", 1, 2, 3)
    (tree / "r50_b128_fp32_1.log").symlink_to(outside)
    (tree / "r50_b128_fp32_2.log").symlink_to(tree / "none")
    (tree / "r50_b128_fp32_3.log").symlink_to(tree / "r50_b128_fp32_3.log")
    (tree / "loop").symlink_to(tmp_path / "tree")
    os.mkfifo(tree / "r50_b128_fp32_4.log")
    imported = import_tree(oneflow, tmp_path / "tree")
    assert [run.repeat for run in imported.runs] == [5]
    text = "\n".join(imported.warnings)
    assert "r50_b128_fp32_1.log: a link that leads out of the tree" in text
    assert "r50_b128_fp32_2.log: a link that leads nowhere" in text
    assert "r50_b128_fp32_3.log: a link that leads nowhere" in text
    assert "r50_b128_fp32_4.log: not a regular file" in text
    assert "loop: a link to a directory; not followed" in text


def test_link_inside_the_tree_is_a_log(oneflow, tmp_path: Path):
    path = write_log(tmp_path, "1n1g/r50_b128_fp32_1.log", 1, 2, 3)
    (tmp_path / "1n1g" / "r50_b128_fp32_2.log").symlink_to(path)
    assert len(import_tree(oneflow, tmp_path).runs) == 2


def test_log_without_a_reading_is_a_failed_run_with_its_reason(oneflow, tmp_path: Path):
    path = write_log(tmp_path, "1n1g/r50_b128_fp32_1.log", 1, 2, 3)
    failed = path.with_name("r50_b128_fp32_2.log")
    failed.write_text("RuntimeError: CUDA out of memory. Tried to allocate\n")
    runs = import_tree(oneflow, tmp_path).runs
    assert [run.state for run in runs] == ["succeeded", "failed"]
    assert "memory" in runs[1].reason
    (group,) = summarise(runs)
    assert (group.cases[0].succeeded, group.cases[0].repeats) == (1, 2)


def test_failure_named_in_a_measured_log_is_a_warning(oneflow, tmp_path: Path):
    path = write_log(tmp_path, "1n1g/r50_b128_fp32_1.log", 1, 2, 3)
    with path.open("a") as log:
        log.write("RuntimeError: CUDA out of memory. Tried to allocate\n")
    (run,) = import_tree(oneflow, tmp_path).runs
    assert run.state == "succeeded"
    assert any("memory" in warning for warning in run.warnings)


def test_same_repeat_in_two_directories_is_numbered_on_and_doubted(oneflow, tmp_path: Path):
    write_log(tmp_path, "A100/1n1g/r50_b128_fp32_1.log", 1, 2, 3)
    write_log(tmp_path, "A100/1n1g/r50_b128_fp32_2.log", 1, 2, 4)
    write_log(tmp_path, "V100/1n1g/r50_b128_fp32_1.log", 1, 2, 5)
    imported = import_tree(oneflow, tmp_path)
    assert [run.repeat for run in imported.runs] == [1, 2, 3]
    assert len({run.run_id for run in imported.runs}) == 3
    doubt, moved = imported.warnings
    assert "lie in A100/1n1g, V100/1n1g" in doubt
    assert "counted as repeat 3" in moved
    assert all(run.doubts == {"other_directory": (doubt,)} for run in imported.runs)


@given(contents=st.lists(st.sampled_from(["a", "b", "cc", ""]), min_size=1, max_size=6))
def test_a_copy_of_a_log_is_told_with_the_first_of_its_content(tmp_path_factory, contents):
    directory = tmp_path_factory.mktemp("logs")
    paths = [directory / str(at) for at in range(len(contents))]
    for path, text in zip(paths, contents, strict=True):
        path.write_text(text)
    assert copies(paths) == {
        at: contents.index(text)
        for at, text in enumerate(contents)
        if text and contents.index(text) < at
    }
    assert copies([*paths, directory / "none"]) == copies(paths)


def test_one_log_copied_six_times_is_no_six_repeats_also_in_the_report(dlperf, tmp_path: Path):
    for repeat in range(1, 7):
        speeds = [100.0] * 12
        write_log(tmp_path / "tree", f"1n1g/r50_b128_fp32_{repeat}.log", *speeds)
    campaign = tmp_path / "campaign"
    dlperf("import", "-p", "oneflow-resnet50", tmp_path / "tree", "-o", campaign)
    (case,) = json.loads(dlperf("report", campaign, "--format", "json"))["results"]
    assert (case["grade"], case["repeats"]) == ("D", 6)
    assert "same_log" in case["flags"]
    assert "r50_b128_fp32_1.log byte for byte" in case["grade_reasons"][0]
    assert "byte for byte" in (campaign / "report.md").read_text()


def test_hardware_that_may_differ_stays_with_the_campaign(dlperf, tmp_path: Path):
    write_log(tmp_path / "tree", "A100/1n1g/r50_b128_fp32_1.log", 1, 2, 4)
    write_log(tmp_path / "tree", "V100/1n1g/r50_b128_fp32_1.log", 1, 2, 5)
    campaign = tmp_path / "campaign"
    dlperf("import", "-p", "oneflow-resnet50", tmp_path / "tree", "-o", campaign)
    document = json.loads(dlperf("report", campaign, "--format", "json"))
    assert "other_directory" in document["results"][0]["flags"]
    assert any("lie in A100/1n1g" in text for text in document["runs"][0]["warnings"])
    assert "lie in A100/1n1g, V100/1n1g" in (campaign / "report.md").read_text()


def test_tree_without_a_log_or_that_does_not_exist_is_told(oneflow, tmp_path: Path):
    with pytest.raises(LogError, match="no log of profile oneflow-resnet50 is recognised"):
        import_tree(oneflow, tmp_path)
    with pytest.raises(LogError, match="no such file or directory"):
        import_tree(oneflow, tmp_path / "none")


PER_NODE = """
name = "per-node"
framework = "F"
model = "M"
parameters.batch_size = { choices = [8], default = 8, free = true }
matrix.cases = ["1n1g", "2n1g"]
launch = { launcher = "per_node", command = "x" }
[measure]
reading = 'ips: (?P<value>[0-9.]+)'
scope = "per_node"
statistic = "mean"
"""


@pytest.mark.parametrize("hosts", [["b"], ["b", "z.example.com"], ["0", "zz", "node-3"]])
def test_logs_of_a_runs_other_hosts_are_added_up_and_kept(
    tmp_path: Path, hosts: list[str], capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "per-node.toml"
    file.write_text(PER_NODE, encoding="utf-8")
    profile = Catalog.load().get(str(file))
    case = make_case(profile, len(hosts) + 1, 1, {"batch_size": 16})
    first = log_path(profile, case, 2, 1)
    names = [first, *(host_log_path(first, host) for host in hosts)]
    for number, name in enumerate(names, start=1):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"ips: {50 * number}\n", encoding="utf-8")
    campaign = tmp_path / "campaign"
    command = ["import", "-p", str(file), str(tmp_path / "tree" / "logs"), "-o", str(campaign)]
    assert main(command) == 0
    assert "warning" not in capsys.readouterr().err
    assert main(["report", str(campaign), "--format", "json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["throughput"] == sum(50 * number for number in range(1, len(names) + 1))
    assert run["repeat"] == 2
    assert not [text for text in run["warnings"] if "one node" in text]
    kept = {path.name: path.read_bytes() for path in (campaign / "logs").rglob("*.log")}
    tree = {path.name: path.read_bytes() for path in (tmp_path / "tree").rglob("*.log")}
    assert kept == tree


def test_log_of_a_host_without_its_run_is_not_recognised(oneflow, tmp_path: Path):
    write_log(tmp_path, "1n1g/r50_b128_fp32_1.log", 1, 2, 3)
    write_log(tmp_path, "1n1g/r50_b128_fp32_1.b.log", 1, 2, 3)  # a run of one host has no other
    write_log(tmp_path, "2n1g/r50_b128_fp32_1.b.log", 1, 2, 3)
    imported = import_tree(oneflow, tmp_path)
    assert len(imported.runs) == 1
    assert [text.split(": ")[1] for text in imported.warnings] == ["not recognised; left out"] * 2


def test_attempts_are_attempts_again_and_a_profiled_run_is_no_repeat(oneflow, tmp_path: Path):
    case = make_case(oneflow, 1, 1, {})
    write_log(tmp_path, log_path(oneflow, case, 1, 1), 1)
    write_log(tmp_path, log_path(oneflow, case, 1, 2), 9, 5, 5)
    write_log(tmp_path, log_path(oneflow, case, 2, 1), 9, 7, 7)
    write_log(tmp_path, log_path(oneflow, case, 1, 1, profiled=True), 9, 1, 1)
    imported = import_tree(oneflow, tmp_path)
    assert [(run.repeat, run.attempt) for run in imported.runs] == [(1, 2), (1, 1), (2, 1)]
    (group,) = summarise(imported.runs)
    assert (group.cases[0].throughput, group.cases[0].repeats) == (6, 2)
    (warning,) = imported.warnings
    assert "of a profiled run" in warning


@pytest.mark.parametrize("name", Catalog.load().names)
def test_name_that_is_offered_is_recognised(name: str, tmp_path: Path):
    profile = Catalog.load().get(name)
    with pytest.raises(LogError) as raised:
        import_tree(profile, tmp_path)
    offered = re.search(r"name a log as in ([^ ,]+)", str(raised.value))
    assert offered is not None
    assert recognise(profile, offered[1]) is not None


def test_tree_of_a_campaign_is_imported_as_the_same_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    example = Path(__file__).parents[3] / "docs/examples/h200-x4-gpt-1.3b"
    command = ["import", "-p", "torch-gpt", str(example / "logs"), "-o", str(tmp_path / "x")]
    assert main(command) == 0
    told = []
    for campaign in (example, tmp_path / "x"):
        capsys.readouterr()
        assert main(["report", str(campaign), "--format", "json"]) == 0
        runs = json.loads(capsys.readouterr().out)["runs"]
        told.append(
            sorted(
                (
                    run["case"],
                    run["repeat"],
                    run["throughput"],
                    str(sorted(run["parameters"].items())),
                    run["window_readings"],
                )
                for run in runs
            )
        )
    assert [case[:-1] for case in told[0]] == [case[:-1] for case in told[1]]
    for (*_, counted), (*_, of_the_logs) in zip(*told, strict=True):
        assert of_the_logs in (None, counted), "the warm-up is not counted"
