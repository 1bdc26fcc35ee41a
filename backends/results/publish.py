"""What ``report`` prints: runs, a layout and a format in, text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from backends.hosts.machines import NOT_RECORDED, Recorded
from backends.results.layouts import (
    airank,
    collectives,
    compare_frameworks,
    dlperf_json,
    llm,
    mlperf,
    pivot,
    speedup,
)
from backends.results.layouts.arrange import AS_IT_IS
from backends.results.layouts.common import DEFAULT, LayoutOptions
from backends.results.layouts.layout import NO_RUNS, Format, Layout, Results
from backends.results.run_result import RunResult
from backends.results.summary import Center, summarise
from profiles.errors import SelectionError

LAYOUTS = {
    layout.name: layout
    for layout in (
        speedup.LAYOUT,
        pivot.LAYOUT,
        compare_frameworks.LAYOUT,
        airank.LAYOUT,
        llm.LAYOUT,
        mlperf.LAYOUT,
        collectives.LAYOUT,
        dlperf_json.LAYOUT,
    )
}
"""Every layout by its name, the usual one first. A new one is a file and a line here."""

FORMATS: tuple[Format, ...] = get_args(Format)


def publish(
    campaign: str,
    runs: Sequence[RunResult],
    *,
    path: Path | None = None,
    layout: str = "speedup",
    format: Format | None = None,
    center: Center = "median",
    options: LayoutOptions = DEFAULT,
    precheck: Mapping[str, object] | None = None,
    machines: Recorded = NOT_RECORDED,
    notes: Sequence[tuple[float, str, str]] = (),
) -> str:
    """The text of one layout in the format asked for, else in its own; ends with a line break.

    ``path``: the campaign's directory, for JSON; None: of several. ``precheck``: of its hosts.
    ``machines``: that the hosts were, to tell apart those of one name. ``notes``: of the
    campaign, for JSON, as times, levels and texts.

    Raises
    ------
    SelectionError: an unknown layout or format, a combination that does not exist, an option that
        it does not have, or nothing of what the layout lays out: the same in every format.
    """
    results = Results(campaign, runs, summarise(runs, center), path, precheck, machines, notes)
    return published(results, layout, format, options)


def published(
    results: Results, layout: str, format: Format | None, options: LayoutOptions = DEFAULT
) -> str:
    """The same of what is summarised."""
    if layout not in LAYOUTS:
        raise SelectionError(f"no layout {layout!r}", remedy=f"choose from {', '.join(LAYOUTS)}")
    if format is not None and format not in FORMATS:
        raise SelectionError(f"no format {format!r}", remedy=f"choose from {', '.join(FORMATS)}")
    chosen = LAYOUTS[layout]
    written_as = format or chosen.formats[0]
    if written_as not in chosen.formats:
        raise SelectionError(f"{layout} is no {format}", remedy="leave --format out")
    _refuse_options(layout, written_as, options)
    if not chosen.fits(results.groups):
        what, remedy = chosen.lacks if results.groups else NO_RUNS
        called = results.path.name if results.path else results.campaign
        raise SelectionError(what, where=called, remedy=remedy)
    _refuse_column(chosen, results, options)
    if not chosen.translates(written_as):
        options = replace(options, lang="en")
    return chosen.writers[written_as](results, options)


def _refuse_column(layout: Layout, results: Results, options: LayoutOptions) -> None:
    """One that none of the tables has."""
    column = options.arrangement.column
    if column is None or layout.tables is None:
        return
    tables = layout.tables(results.groups, replace(options, arrangement=AS_IT_IS))
    most = max(len(table.columns) for table in tables)
    if column >= most:
        raise SelectionError(
            f"there are {most} columns, not {column + 1}", where="--sort", remedy="give one of them"
        )


def _refuse_options(layout: str, format: Format, options: LayoutOptions) -> None:
    """Those that would change nothing."""
    if layout != speedup.LAYOUT.name or format == "json":
        for name, chosen in (
            ("--columns", options.columns is not None),
            ("--style", options.style != DEFAULT.style),
        ):
            if chosen:
                raise SelectionError(
                    f"only the layout {speedup.LAYOUT.name} as md or csv has it",
                    where=name,
                    remedy="leave it out",
                )
    if options.arrangement != DEFAULT.arrangement and format == "json":
        raise SelectionError(
            "JSON has no rows to put in order",
            where="--sort, --transpose",
            remedy="leave them out",
        )
    if options.decimals is not None and format == "json" and layout != dlperf_json.LAYOUT.name:
        raise SelectionError(
            "figures in JSON have every digit", where="--decimals", remedy="leave it out"
        )
