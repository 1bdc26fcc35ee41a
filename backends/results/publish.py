"""What ``report`` prints: runs, a layout and a format in, text out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

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
from backends.results.layouts.common import DEFAULT, LayoutOptions
from backends.results.layouts.layout import Format, Results
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
) -> str:
    """The text of one layout in the format asked for, else in its own; ends with a line break.

    ``path``: the campaign's directory, for JSON; None: of several.

    Raises
    ------
    SelectionError: an unknown layout or format, a combination that does not exist, or no result.
    """
    if layout not in LAYOUTS:
        raise SelectionError(f"no layout {layout!r}", remedy=f"choose from {', '.join(LAYOUTS)}")
    if format is not None and format not in FORMATS:
        raise SelectionError(f"no format {format!r}", remedy=f"choose from {', '.join(FORMATS)}")
    chosen = LAYOUTS[layout]
    written_as = format or chosen.formats[0]
    if written_as not in chosen.formats:
        raise SelectionError(f"{layout} is no {format}", remedy="leave --format out")
    results = Results(campaign, runs, summarise(runs, center), path)
    if written_as != "json" and not results.groups:
        raise SelectionError("no runs to report", where=campaign, remedy="run the campaign first")
    return chosen.writers[written_as](results, options)
