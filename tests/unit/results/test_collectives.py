"""The bus bandwidth of a collective over its sizes: from a log to the table and the figure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from backends.results.busbw_curve import curve, size_text
from backends.results.layouts.collectives import collectives_tables
from backends.results.layouts.common import LayoutOptions
from backends.results.render import markdown_rows
from backends.results.summary import summarise
from backends.results.svg_figures import draw_figures
from tests.unit.results.conftest import Dlperf

MANUAL = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
NCCL = {"unit": "GB/s", "framework": "NCCL", "model": "nccl-tests", "parameters": {}}


def nccl_log(speeds: dict[int, float]) -> str:
    return "".join(
        f"  {size:>12}  {size // 4:>12}     float     sum      -1    21.50  {busbw:>6}  {busbw:>6}"
        f"      0    20.90  {busbw:>6}  {busbw:>6}      0\n"
        for size, busbw in speeds.items()
    )


def torch_log(speeds: dict[int, float]) -> str:
    """Of the ranks of a host too, which are another curve."""
    lines = [
        f"all-reduce: group {group}, ranks 4, bytes {size}, trials 20, median 21.5 us, p99 30 us, "
        f"algbw {busbw} GB/s, busbw {busbw * (group == 'all')} GB/s, straggler rank 1 host 0, "
        "late 2.912 us, last in 11\n"
        for size, busbw in speeds.items()
        for group in ("all", "host0")
    ]
    size, busbw = list(speeds.items())[-1]
    trial = f"trial: group all, bytes {size}, trial 1, time 21.500 us, busbw {busbw} GB/s\n"
    return "".join([*lines, trial])


@pytest.mark.parametrize(
    ("profile", "log"), [("nccl-tests", nccl_log), ("torch-allreduce", torch_log)]
)
def test_a_log_keeps_its_curve(dlperf: Dlperf, tmp_path: Path, profile: str, log: object) -> None:
    speeds = {1024: 0.07, 1 << 20: 32.56, 1 << 32: 361.73}
    path = tmp_path / "x.log"
    path.write_text(log(speeds), encoding="utf-8")  # type: ignore[operator]
    (found,) = json.loads(dlperf("parse", "-p", profile, "--gpus", "4", "--json", path))
    assert {name: value for name, value in found["metrics"].items() if "_at_" in name} == {
        f"busbw_gb_per_s_at_{size}": busbw for size, busbw in speeds.items()
    }


def test_imported_logs_become_the_table(dlperf: Dlperf, tmp_path: Path) -> None:
    for repeat, busbw in enumerate((340.0, 344.0, 361.0), start=1):
        path = tmp_path / "logs" / "1n4g" / f"all_reduce_b1_fp32_{repeat}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nccl_log({1 << 20: 30.0, 1 << 32: busbw}), encoding="utf-8")
    campaign = tmp_path / "campaign"
    dlperf("import", "-p", "nccl-tests", tmp_path / "logs", "-o", campaign)
    text = dlperf("report", campaign, "--layout", "collectives")
    assert "| 4 GiB | 4294967296 | 344.00 |" in text
    assert "1n4g: latency 21.5 µs" in text


def runs(runs_of, tag: str, *factors: float):
    points = {1 << 20: 30.0, 1 << 30: 300.0}
    made = runs_of(tag, [300.0 * factor for factor in factors], **NCCL)
    return [
        replace(run, metrics={f"busbw_gb_per_s_at_{n}": b * f for n, b in points.items()})
        for run, f in zip(made, factors, strict=True)
    ]


def test_sizes_go_down_and_cases_across_with_the_median_of_the_repeats(runs_of) -> None:
    groups = summarise([*runs(runs_of, "1n2g", 1, 1.1, 5), *runs(runs_of, "1n4g", 2)])
    (table,) = collectives_tables(groups)
    assert table.headings == ("size", "bytes", "1n2g", "1n4g", "CV 1n2g")
    assert table.rows == (
        ("1 MiB", "1048576", "33.00", "60.00", "96.38% !!"),
        ("1 GiB", "1073741824", "330.00", "600.00", "96.38% !!"),
    )
    assert table.notes == ("!! CV above 5%",)
    assert markdown_rows(table)[0] in MANUAL
    zh = collectives_tables(groups, LayoutOptions(lang="zh"))[0]
    assert zh.headings[:2] == ("大小", "字节")


def test_without_a_curve_there_is_the_reported_point(runs_of) -> None:
    made = runs_of("1n2g", [344.14], **NCCL, metrics={"size_bytes": 4.0 * (1 << 30)})
    ((case,),) = [group.cases for group in summarise(made)]
    assert curve(case) == {1 << 32: 344.14}


def test_what_has_no_size_is_shown_all_the_same(runs_of) -> None:
    made = [*runs_of("1n2g", [344.14], **NCCL), *runs(runs_of, "1n4g", 1)]
    (table,) = collectives_tables(summarise(made))
    assert table.rows[-1] == ("–", "–", "344.14", "–")
    assert len(table.rows) == 3


def test_the_reported_size_has_the_reported_figure(runs_of) -> None:
    """A log may sum the same trials up twice: a median of bandwidths, and of the median time."""
    metrics = {"size_bytes": 1024.0, "busbw_gb_per_s_at_512": 9.0, "busbw_gb_per_s_at_1024": 9.996}
    groups = summarise(runs_of("1n2g", [10.0, 10.005, 10.2], **NCCL, metrics=metrics), "mean")
    assert curve(groups[0].cases[0]) == {512: 9.0, 1024: 10.005}
    (table,) = collectives_tables(groups)
    assert table.rows[-1][2:] == ("10.01", "1.13%")


def test_other_units_have_no_such_table(runs_of) -> None:
    assert collectives_tables(summarise(runs_of("1n1g", [5.0]))) == ()


def test_sizes_are_called_as_they_are() -> None:
    assert [size_text(n) for n in (0, 8, 1000, 1024, 3 << 19, 1 << 32)] == [
        "0 B",
        "8 B",
        "1000 B",
        "1 KiB",
        "1536 KiB",
        "4 GiB",
    ]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_figure_has_its_sizes_on_a_logarithmic_axis(runs_of, lang) -> None:
    pytest.importorskip("matplotlib")
    groups = summarise([*runs(runs_of, "1n2g", 1), *runs(runs_of, "1n4g", 2)])
    (drawing,) = draw_figures(groups, lang)
    assert drawing.name == "bandwidth-nccl-tests.svg"
    assert re.search(r">1 MiB<.*>1 GiB<", drawing.svg, re.S)
    assert "1n4g" in drawing.svg
    assert "ideal" not in drawing.svg
    assert draw_figures(groups, lang) == (drawing,)
