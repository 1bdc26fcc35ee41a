"""OneFlow's and DLPerf's own table: node num | gpus/node | … | throughput | speedup | …"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from backends.results.case_result import CaseResult
from backends.results.dataframe import results_csv
from backends.results.device_words import words_of
from backends.results.layouts.arrange import arranged
from backends.results.layouts.cells import (
    count_cell,
    cv_cell,
    cv_notes,
    efficiency_cell,
    efficiency_interval_cell,
    speedup_cell,
    speedup_interval_cell,
    unended_notes,
)
from backends.results.layouts.common import (
    DEFAULT,
    LayoutOptions,
    base_caption,
    group_title,
    speedup_notes,
    throughput_caption,
)
from backends.results.layouts.layout import Results, layout_of_tables, with_shared
from backends.results.numbers import NOTHING, fixed
from backends.results.ratios import Method
from backends.results.render import Column, Table, render_csv, transposed_csv
from backends.results.summary import Group
from backends.results.translations import Words
from profiles.errors import SelectionError

COLUMNS = (
    "nodes",
    "gpus_per_node",
    "gpus",
    "batch",
    "memory",
    "throughput",
    "speedup",
    "speedup_interval",
    "efficiency",
    "efficiency_interval",
    "cv",
    "n",
)
"""What ``columns`` may name. Left to itself the table has all that are known of any case."""

_RANKS = {
    "efficiency_interval": 6,
    "memory": 5,
    "gpus_per_node": 4,
    "batch": 3,
    "speedup_interval": 2,
    "cv": 1,
}
"""What a narrow terminal does without: what stands elsewhere or follows from others first."""

ONEFLOW_COLUMNS = COLUMNS[:7]


def speedup_tables(groups: Sequence[Group], options: LayoutOptions = DEFAULT) -> tuple[Table, ...]:
    """One table per group.

    The style ``oneflow`` has the columns, headings and three decimals of OneFlow's report.

    Raises
    ------
    SelectionError: for a column that does not exist.
    """
    return tuple(_table(group, groups, options) for group in groups)


def _table(group: Group, groups: Sequence[Group], options: LayoutOptions) -> Table:
    w = words_of([group], options.lang)
    oneflow = options.style == "oneflow"
    names = _columns(group, options)
    decimals = options.throughput_decimals(3 if oneflow else 2)
    headings = _oneflow_headings(w) if oneflow else _headings(w, stated=group.memory_is_stated)
    cells = _cells(group, decimals, beside="speedup_interval" in names)
    title = group_title(group, groups)
    if oneflow and group.batch_size is not None:
        title = f"{w.oneflow_title.format(batch=group.batch_size)} ({title})"
    marked = not {"speedup", "efficiency"}.isdisjoint(names)
    notes = speedup_notes([group], w, marked=marked)
    if "cv" in names:
        notes += cv_notes((case.spread.cv for case in group.cases if case.spread), w)
    if {"speedup_interval", "efficiency_interval"}.intersection(names):
        methods = {case.speedup_interval.method for case in group.cases if case.speedup_interval}
        welch = w.mark_welch_of_means if group.center == "mean" else w.mark_welch
        notes += [welch] if Method.WELCH in methods else []
    notes += unended_notes(group.cases, w) if "n" in names else ()
    if "memory" in names and any(case.gpu_memory_mib is not None for case in group.cases):
        whose = w.stated_memory_note if group.memory_is_stated else w.memory_note
        notes.append(whose.format(memory=headings["memory"]))
    return Table(
        title=title,
        columns=tuple(Column(headings[name], rank=_RANKS.get(name, 0)) for name in names),
        rows=tuple(tuple(cells[name](case) for name in names) for case in group.cases),
        caption=w.gap.join(filter(None, [throughput_caption(group, w), base_caption(group, w)])),
        notes=tuple(notes),
    )


def _columns(group: Group, options: LayoutOptions) -> tuple[str, ...]:
    if options.columns is not None:
        for name in options.columns:
            if name not in COLUMNS:
                raise SelectionError(
                    f"unknown column {name!r}", remedy=f"choose from {', '.join(COLUMNS)}"
                )
        return options.columns
    names = ONEFLOW_COLUMNS if options.style == "oneflow" else COLUMNS
    known = {
        "memory": any(case.gpu_memory_mib is not None for case in group.cases),
        "speedup_interval": any(case.speedup_interval for case in group.cases),
        "efficiency_interval": any(case.efficiency_interval for case in group.cases),
    }
    return tuple(name for name in names if known.get(name, True))


def _headings(w: Words, *, stated: bool = False) -> dict[str, str]:
    return {
        "nodes": w.nodes,
        "gpus_per_node": w.gpus_per_node,
        "gpus": w.gpus,
        "batch": w.batch,
        "memory": w.stated_memory if stated else w.memory,
        "throughput": w.throughput,
        "speedup": w.speedup,
        "speedup_interval": w.speedup_interval,
        "efficiency": w.efficiency,
        "efficiency_interval": w.efficiency_interval,
        "cv": w.cv,
        "n": w.count,
    }


def _oneflow_headings(w: Words) -> dict[str, str]:
    return {
        **_headings(w),
        "gpus_per_node": w.oneflow_gpus_per_node,
        "memory": w.oneflow_memory,
        "throughput": w.oneflow_throughput,
        "speedup": w.oneflow_speedup,
    }


def _cells(
    group: Group, decimals: int, *, beside: bool
) -> Mapping[str, Callable[[CaseResult], str]]:
    """``beside``: the interval of the speedup stands there, too."""
    return {
        "nodes": lambda case: str(case.nodes),
        "gpus_per_node": lambda case: str(case.gpus_per_node),
        "gpus": lambda case: str(case.gpus),
        "batch": lambda c: NOTHING if c.batch_size is None else str(c.batch_size),
        "memory": lambda c: NOTHING if c.gpu_memory_mib is None else str(c.gpu_memory_mib),
        "throughput": lambda case: fixed(case.throughput, decimals),
        "speedup": lambda case: speedup_cell(
            case, group, beside=case.speedup_interval if beside else None
        ),
        "speedup_interval": speedup_interval_cell,
        "efficiency": lambda case: efficiency_cell(case, group),
        "efficiency_interval": efficiency_interval_cell,
        "cv": cv_cell,
        "n": count_cell,
    }


_FIGURES: Mapping[str, Callable[[CaseResult], float | None]] = {
    "nodes": lambda case: case.nodes,
    "gpus_per_node": lambda case: case.gpus_per_node,
    "gpus": lambda case: case.gpus,
    "batch": lambda case: case.batch_size,
    "memory": lambda case: case.gpu_memory_mib,
    "throughput": lambda case: case.throughput,
    "speedup": lambda case: case.speedup,
    "speedup_interval": lambda c: c.speedup_interval.low if c.speedup_interval else None,
    "efficiency": lambda case: case.efficiency,
    "efficiency_interval": lambda c: c.efficiency_interval.low if c.efficiency_interval else None,
    "cv": lambda case: case.spread.cv if case.spread else None,
    "n": lambda case: case.succeeded,
}


def _csv(results: Results, options: LayoutOptions) -> str:
    """The long table of results.csv, unless columns, a style or decimals were chosen."""
    how = options.arrangement
    if _long(options):
        written = results_csv([_in_order(group, options) for group in results.groups])
        return transposed_csv(written) if how.transposed else written
    tables = [with_shared(t, options.lang) for t in speedup_tables(results.groups, options)]
    return render_csv(arranged(tables, how))


def _long(options: LayoutOptions) -> bool:
    return options == LayoutOptions(lang=options.lang, arrangement=options.arrangement)


_IN_CSV = {
    "batch": "batch_size",
    "memory": "gpu_memory_mib",
    "speedup_interval": "speedup_low",
    "efficiency_interval": "efficiency_low",
    "n": "succeeded",
}
"""What results.csv calls a column otherwise."""


def _names_in_csv(groups: Sequence[Group], options: LayoutOptions) -> tuple[str, ...]:
    names = _columns(groups[0], options) if groups and _long(options) else ()
    return tuple(_IN_CSV.get(name, name) for name in names)


def _in_order(group: Group, options: LayoutOptions) -> Group:
    """By a column of the table, and all digits of its figures."""
    column, names = options.arrangement.column, _columns(group, options)
    if column is None or column >= len(names):
        return group
    figure = _FIGURES[names[column]]
    told = [(value, case) for case in group.cases if (value := figure(case)) is not None]
    told.sort(key=lambda pair: pair[0], reverse=options.arrangement.descending)
    rest = [case for case in group.cases if figure(case) is None]
    return replace(group, cases=(*(case for _, case in told), *rest))


LAYOUT = layout_of_tables(
    "speedup",
    "tables as DLPerf prints them",
    speedup_tables,
    csv=_csv,
    csv_columns=_names_in_csv,
)
