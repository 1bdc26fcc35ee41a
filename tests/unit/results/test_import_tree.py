"""A tree of existing logs becomes runs; nothing outside of it is touched, nothing is guessed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backends.results.log_import import copy_logs, import_tree
from backends.results.summary import summarise
from profiles.errors import LogError
from profiles.format.catalog import Catalog

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
    assert imported.runs[0].readings == 3


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
    write_log(tmp_path, "A100/1n1g/r50_b128_fp32_2.log", 1, 2, 3)
    write_log(tmp_path, "V100/1n1g/r50_b128_fp32_1.log", 1, 2, 3)
    imported = import_tree(oneflow, tmp_path)
    assert [run.repeat for run in imported.runs] == [1, 2, 3]
    assert len({run.run_id for run in imported.runs}) == 3
    doubt, moved = imported.warnings
    assert "lie in A100/1n1g, V100/1n1g" in doubt
    assert "counted as repeat 3" in moved


def test_progress_is_told_file_by_file(oneflow, tmp_path: Path):
    for repeat in (1, 2):
        write_log(tmp_path, f"1n1g/r50_b128_fp32_{repeat}.log", 1, 2)
    seen: list[tuple[int, int]] = []
    import_tree(oneflow, tmp_path, on_file=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_tree_without_a_log_or_that_does_not_exist_is_told(oneflow, tmp_path: Path):
    with pytest.raises(LogError, match="no log of profile oneflow-resnet50 is recognised"):
        import_tree(oneflow, tmp_path)
    with pytest.raises(LogError, match="no such file or directory"):
        import_tree(oneflow, tmp_path / "none")
