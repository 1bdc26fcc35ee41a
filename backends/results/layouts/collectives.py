"""A collective's bus bandwidth: sizes down, cases across."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from backends.results.busbw_curve import curve, curve_scatter, is_collective, size_text
from backends.results.case_result import CaseResult
from backends.results.layouts.cells import cv_notes, cv_text
from backends.results.layouts.common import (
    DEFAULT,
    LayoutOptions,
    group_title,
    of_group,
    simulated,
)
from backends.results.layouts.layout import layout_of_tables
from backends.results.numbers import NOTHING, fixed, trimmed
from backends.results.render import Column, Table
from backends.results.results_json import Cell
from backends.results.summary import Group
from backends.results.translations import Lang, pick, words


def collectives_tables(
    groups: Sequence[Group], options: LayoutOptions = DEFAULT
) -> tuple[Table, ...]:
    """One table per group that is measured in GB/s."""
    own = [group for group in groups if is_collective(group)]
    return tuple(_table(group, own, options) for group in own)


def _table(group: Group, groups: Sequence[Group], options: LayoutOptions) -> Table:
    lang, decimals = options.lang, options.throughput_decimals()
    curves = [curve(case) for case in group.cases]
    scattered = {case.case: own for case in group.cases if (own := curve_scatter(case))}
    sizes = sorted({size for points in curves for size in points})
    headings = (pick(lang, "size", "大小"), pick(lang, "bytes", "字节"))
    w = words(lang)
    return Table(
        title=group_title(group, groups),
        columns=(
            *(Column(heading) for heading in headings),
            *(Column(case.case, rank=1) for case in group.cases),
            *(Column(f"CV {case}", rank=2) for case in scattered),
        ),
        rows=(
            *(
                (
                    size_text(n),
                    str(n),
                    *(fixed(points.get(n), decimals) for points in curves),
                    *(cv_text(own.get(n)) for own in scattered.values()),
                )
                for n in sizes
            ),
            *_of_unknown_size(group, scattered, decimals),
        ),
        caption=_caption(group, w.centers["median"], lang),
        shared=of_group(group),
        notes=(
            *((w.simulated,) if simulated([group]) else ()),
            *cv_notes((cv for own in scattered.values() for cv in own.values()), w),
            *(note for case in group.cases if (note := _latency(case, lang))),
        ),
    )


def _of_unknown_size(
    group: Group, scattered: Collection[str], decimals: int
) -> list[tuple[str, ...]]:
    """A row of what was measured without a word of its size. ``scattered``: cases whose scatter has
    a column."""
    values = [
        case.spread.median if case.spread and not curve(case) else None for case in group.cases
    ]
    if values.count(None) == len(values):
        return []
    figures = (fixed(value, decimals) for value in values)
    return [(NOTHING, NOTHING, *figures, *(NOTHING for _ in scattered))]


def _caption(group: Group, center: str, lang: Lang) -> str:
    return pick(
        lang,
        f"Bus bandwidth in {group.unit} of 10⁹ bytes by nccl-tests' definition, which the number "
        f"of ranks does not change: {center} of the successful repeats.",
        f"总线带宽，单位 {group.unit}（10⁹字节），按nccl-tests的定义，与rank数无关；"
        f"取成功重复的{center}。",
    )


def _latency(case: CaseResult, lang: Lang) -> str:
    """Of the smallest size."""
    value = case.metrics.get("latency_us")
    if value is None:
        return ""
    text = trimmed(value, 1)
    each = [run.metrics["latency_us"] for run in case.measured_runs if "latency_us" in run.metrics]
    low, high = trimmed(min(each, default=value), 1), trimmed(max(each, default=value), 1)
    if low != high:
        text = pick(lang, f"{text} ({low} to {high})", f"{text}（{low} 至 {high}）")
    return pick(
        lang,
        f"{case.case}: latency {text} µs at the smallest size",
        f"{case.case}：最小规模的时延 {text} µs",
    )


def _rows(case: CaseResult) -> list[dict[str, Cell]]:
    """One for each size, ascending; one of unknown size where no figure says of which it is."""
    points, scattered = curve(case), curve_scatter(case)
    if not points:
        median = case.spread.median if case.spread else None
        return [_row(None, median, None, case.metrics.get("latency_us"))]
    smallest = min(points)
    latency = case.metrics.get("latency_us")
    return [
        _row(size, busbw, scattered.get(size), latency if size == smallest else None)
        for size, busbw in points.items()
    ]


def _row(
    size: int | None, busbw: float | None, cv: float | None, latency: float | None
) -> dict[str, Cell]:
    return {"size_bytes": size, "busbw_gb_per_s": busbw, "busbw_cv": cv, "latency_us": latency}


LAYOUT = layout_of_tables(
    "collectives",
    "bus bandwidth over sizes, cases side by side",
    collectives_tables,
    rows=_rows,
    fits=lambda groups: any(map(is_collective, groups)),
    lacks=(
        "no result is a bandwidth in GB/s",
        "leave --layout out; nccl-tests and torch-allreduce have them",
    ),
)
