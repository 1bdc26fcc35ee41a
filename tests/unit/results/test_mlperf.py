"""MLPerf's result files: from a tree of them to the score of a system, out of the journal alone."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.mlperf import mlperf_tables
from backends.results.mlperf_score import NoScore, scores
from backends.results.render import render_markdown
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tests.unit.results.conftest import Dlperf
from tui.cli import main

MANUAL = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
SYSJSON = {"number_of_nodes": "2", "accelerators_per_node": "4", "accelerator_model_name": "G1"}


def event(key: str, at_ms: int, value: object = None, **metadata: object) -> str:
    told = {"namespace": "", "time_ms": at_ms, "event_type": "POINT_IN_TIME", "key": key}
    return f":::MLLOG {json.dumps({**told, 'value': value, 'metadata': metadata})}"


def result_file(
    seconds: float | None,
    *,
    speeds: Sequence[float] = (),
    status: str = "success",
    platform: str = "2x Acme",
    benchmark: str = "resnet",
    system: Mapping[str, str] | None = SYSJSON,
) -> list[str]:
    """The lines of a file; ``seconds``: None: it never stopped."""
    lines = [] if system is None else [f":::SYSJSON {json.dumps(system)}"]
    lines += [
        event("submission_benchmark", 10, benchmark),
        event("submission_platform", 11, platform),
        event("global_batch_size", 20, 256),
        event("run_start", 1000),
    ]
    lines += [event("tracked_stats", 2000, {"throughput": v}, step=n) for n, v in enumerate(speeds)]
    lines.append(event("eval_accuracy", 3000, 0.5, epoch_num=1))
    lines.append(event("eval_accuracy", 4000, 0.76, epoch_num=2))
    if seconds is not None:
        lines.append(event("run_stop", 1000 + round(seconds * 1000), status=status))
    return lines


def write(path: Path, lines: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def parsed(dlperf: Dlperf, path: Path, code: int = 0) -> dict[str, Any]:
    (found,) = json.loads(dlperf("parse", "-p", "mlperf-training", "--json", path, code=code))
    assert isinstance(found, dict)
    return found


def imported(dlperf: Dlperf, tree: Path, *words: str) -> dict[str, Any]:
    """The document of the layout, after the tree that it came from is gone."""
    campaign = tree.parent / "campaign"
    dlperf("import", "-p", "mlperf-training", tree, "-o", campaign)
    tree.rename(tree.with_name("gone"))
    for log in (campaign / "logs").rglob("*.txt"):
        log.unlink()
    text = dlperf("report", campaign, "--layout", "mlperf", *words)
    return dict(json.loads(text)) if "json" in words else {"text": text}


def dressed(lines: Sequence[str], how: str) -> list[str]:
    match how:
        case "plain":
            return list(lines)
        case "ranks":  # what other ranks print does not count
            other = event("run_stop", 999_999_999, status="success")
            return [f" 0: {line}" for line in lines] + [f"11: {other}"]
        case "colours":
            return [f"\x1b[1m{line[:9]}\x1b[0m{line[9:]}\x1b[32m" for line in lines]
        case "glued":
            return ["".join(f"noise é{line}x" for line in lines)]
    raise AssertionError(how)


@pytest.mark.parametrize("how", ["plain", "ranks", "colours", "glued"])
def test_a_result_file_is_read(dlperf: Dlperf, tmp_path: Path, how: str) -> None:
    lines = dressed(result_file(798.372, speeds=(10, 100, 102, 110)), how)
    found = parsed(dlperf, write(tmp_path / "some_result_0.txt", lines))
    assert found["throughput"] == 102
    assert (found["gpus"], found["scope"]) == (8, "global")
    assert found["metrics"] == {
        "global_batch": 256,
        "hosts": 2,
        "devices_per_host": 4,
        "world_size": 8,
        "time_to_train_s": pytest.approx(798.372, abs=1e-9),
        "eval_accuracy": 0.76,
    }
    assert found["warnings"] == []


@pytest.mark.parametrize(
    ("lines", "throughput", "seconds"),
    [
        (result_file(60, speeds=(7,)), 7, 60),  # the only one is no warm-up
        (result_file(60), None, 60),  # a time to train alone is a success
        (result_file(60, speeds=(5, 7), status="aborted"), 7, None),
        (result_file(None, speeds=(5, 7)), 7, None),
        ([], None, None),
    ],
)
def test_a_file_counts_by_its_time_to_train(
    dlperf: Dlperf,
    tmp_path: Path,
    lines: list[str],
    throughput: float | None,
    seconds: float | None,
) -> None:
    path = write(tmp_path / "x_result_0.txt", lines)
    found = parsed(dlperf, path, code=0 if seconds else 1)
    assert found["throughput"] == throughput
    assert found["metrics"].get("time_to_train_s") == seconds
    assert ("the log has no time_to_train_s" in found["warnings"]) == (seconds is None)


def test_a_status_that_is_missing_is_no_success(dlperf: Dlperf, tmp_path: Path) -> None:
    lines = [*result_file(None), event("run_stop", 61_000)]
    found = parsed(dlperf, write(tmp_path / "x_result_0.txt", lines), code=1)
    assert "time_to_train_s" not in found["metrics"]


def test_trees_become_scores_from_the_journal_alone(dlperf: Dlperf, tmp_path: Path) -> None:
    tree = tmp_path / "results"
    for number, seconds in enumerate((600, 660, 720, 1200)):
        write(tree / "one" / "resnet" / f"result_{number}.txt", result_file(seconds))
    write(tree / "one" / "resnet" / "result_4.txt", result_file(60, status="aborted", system=None))
    (tree / "one" / "resnet" / "scaling.json").write_text('{"scaling_factor": 1.5}')
    for number, seconds in enumerate((60, 120, 1800)):
        write(tree / "two" / "resnet" / f"result_{number}.txt", result_file(seconds))
        write(tree / "two" / "bert" / f"result_{number}.txt", result_file(2 * seconds))
    found = {
        (score["system"], score["benchmark"]): score
        for score in imported(dlperf, tree, "--format", "json")["scores"]
    }
    one = found["one", "resnet"]  # 60 min was no success: it counts as the slowest
    assert one["score_minutes"] == pytest.approx((11 + 12 + 20) / 3 * 1.5)
    assert (one["runs"], one["failed"], one["accelerators"]) == (5, 1, 8)
    assert one["scaling_factor"] == 1.5
    assert found["two", "resnet"]["score_minutes"] == pytest.approx(2)
    assert found["two", "bert"]["score_minutes"] == pytest.approx(4)


def test_files_in_one_folder_are_told_apart_by_what_they_say(
    dlperf: Dlperf, tmp_path: Path
) -> None:
    tree = tmp_path / "flat"
    for number in range(3):
        for platform, benchmark in (("1x A", "resnet"), ("2x A", "resnet"), ("1x A", "bert")):
            name = f"{platform[0]}{benchmark}-result_{number}.txt"
            write(tree / name, result_file(60, platform=platform, benchmark=benchmark))
    text = imported(dlperf, tree)["text"]
    assert "| 1x A | resnet | 8 | 1.000 | 3 |" in text
    assert "| 2x A | resnet | 8 | 1.000 | 3 |" in text
    assert "| 1x A | bert | 8 | 1.000 | 3 |" in text


def test_devices_that_nothing_tells_are_not_made_up(
    dlperf: Dlperf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "results"
    for number in range(3):
        write(tree / "s" / "resnet" / f"result_{number}.txt", result_file(60, system=None))
    assert "| s | resnet | – | 1.000 | 3 |" in imported(dlperf, tree)["text"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"scaling_factor": "1"}', '{"scaling_factor": 0}', "[" * 9999]
)
def test_a_broken_factor_stops_the_import(
    dlperf: Dlperf, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    folder = tmp_path / "s" / "resnet"
    write(folder / "result_0.txt", result_file(60))
    (folder / "scaling.json").write_text(text)
    words = ["import", "-p", "mlperf-training", str(tmp_path / "s"), "-o", str(tmp_path / "c")]
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "scaling.json" in line
    assert "'scaling_factor'" in line
    assert not (tmp_path / "c").exists()


def of(
    times: Sequence[float | None], benchmark: str = "resnet", **fields: Any
) -> Iterator[RunResult]:
    for repeat, minutes in enumerate(times, start=1):
        good = minutes is not None
        yield RunResult(
            run_id=f"r{repeat}",
            profile="mlperf-training",
            framework="MLPerf Training",
            model="M",
            case_tag="1n8g",
            nodes=1,
            gpus_per_node=8,
            parameters={"system": "s", "benchmark": benchmark},
            repeat=repeat,
            state="succeeded" if good else "failed",
            metrics={"time_to_train_s": 60 * minutes, **fields} if minutes is not None else {},
        )


@given(
    st.lists(st.floats(0.1, 1e4), min_size=3, max_size=12),
    st.booleans(),
    st.floats(0.5, 2),
    st.randoms(use_true_random=False),
)
def test_the_score_is_the_mean_of_what_lies_between(
    times: list[float], one_failed: bool, factor: float, order: random.Random
) -> None:
    kept = sorted(times)[1:] if one_failed else sorted(times)[1:-1]
    mixed: list[float | None] = [*times, *([None] if one_failed else [])]
    order.shuffle(mixed)
    (score,) = scores(summarise(of(mixed, scaling_factor=factor)))
    assert score.minutes == pytest.approx(sum(kept) / len(kept) * factor)
    assert score.runs == len(mixed)


@pytest.mark.parametrize(
    ("times", "benchmark", "why"),
    [
        ([1, 2, 3, None, None], "resnet", NoScore.TOO_MANY_FAILED),
        ([1, 2], "resnet", NoScore.TOO_FEW_RUNS),
        ([1, None], "resnet", NoScore.TOO_FEW_RUNS),
        ([None], "resnet", NoScore.TOO_FEW_RUNS),
        ([float(n) for n in range(8)], "unet3d", NoScore.TOO_FEW_RUNS),
        ([1.0] * 30 + [None] * 5, "unet3d", NoScore.TOO_MANY_FAILED),
    ],
)
def test_without_a_score_it_says_why(
    times: list[float | None], benchmark: str, why: NoScore
) -> None:
    groups = summarise(of(times, benchmark))
    (score,) = scores(groups)
    assert (score.minutes, score.why) == (None, why)
    text = render_markdown(mlperf_tables(groups))
    assert "| – |" in text
    assert "no score: " in text


def test_unet3d_leaves_out_four_at_each_end() -> None:
    times: list[float | None] = [1, 1, 1, 1, 5, 7, 99, None, None, None, None]
    (score,) = scores(summarise(of(times, "unet3d")))
    assert score.minutes == pytest.approx((5 + 7 + 99) / 3)


def test_runs_of_different_factors_or_sizes_have_no_score() -> None:
    runs = [*of([1, 2, 3], scaling_factor=1.1), *of([1, 2, 3])]
    (score,) = scores(summarise(renumbered(runs)))
    assert score.why is NoScore.FACTORS_DIFFER
    larger = [replace(run, nodes=2, case_tag="2n8g") for run in of([1, 2, 3])]
    (score,) = scores(summarise(renumbered([*of([1, 2, 3]), *larger])))
    assert score.why is NoScore.SIZES_DIFFER


def renumbered(runs: Sequence[RunResult]) -> list[RunResult]:
    return [replace(run, repeat=number) for number, run in enumerate(runs, start=1)]


def test_the_manual_shows_the_columns_that_are_printed() -> None:
    (table,) = mlperf_tables(summarise(of([1, 2, 3])))
    assert f"| {' | '.join(table.headings)} |" in MANUAL


def test_a_campaign_of_something_else_has_no_such_table(dlperf: Dlperf, tmp_path: Path) -> None:
    figures = tmp_path / "figures.csv"
    figures.write_text("framework,model,unit,case,throughput\nF,M,images/s,1n1g,5\n")
    dlperf("import", figures, "-o", tmp_path / "campaign")
    dlperf("report", tmp_path / "campaign", "--layout", "mlperf", code=2)


def test_the_table_is_there_in_chinese() -> None:
    text = render_markdown(
        mlperf_tables(summarise(of([1, 2, None, None])), LayoutOptions(lang="zh"))
    )
    assert "得分" in text
    assert "无得分：4 次运行中有 2 次失败，至多允许 1 次" in text


def test_an_imported_result_is_held_against_the_published_ones(
    dlperf: Dlperf, tmp_path: Path
) -> None:
    """All but the precision, which is in no line of a result file, is equal to one of them."""
    dgx = {
        "number_of_nodes": "1",
        "accelerators_per_node": "8",
        "accelerator_model_name": "NVIDIA H100-SXM5-80GB",
    }
    for number, seconds in enumerate((1690, 1700, 1720)):
        lines = result_file(seconds, speeds=(2, 2.1, 2.1), benchmark="llama2_70b_lora", system=dgx)
        write(tmp_path / "tree" / "own" / "llama2_70b_lora" / f"result_{number}.txt", lines)
    campaign = tmp_path / "campaign"
    dlperf("import", "-p", "mlperf-training", tmp_path / "tree", "-o", campaign)
    (result,) = json.loads(dlperf("report", campaign, "--format", "json"))["results"]
    near = [one for one in result["references"] if one["system"] == "MLPerf v4.0 DGX H100"]
    assert {one["metric"] for one in near} == {"throughput", "time_to_train"}
    assert {tuple(one["differs"]) for one in near} == {("precision",)}
    assert any("environment is not recorded" in text for text in result["grade_reasons"])
    report = (campaign / "report.md").read_text(encoding="utf-8")
    figure = "MLPerf v4.0 DGX H100, 8 × NVIDIA H100 80GB HBM3, 28.163 min"
    assert f"not comparable: {figure}: its profile has no precision" in report
