"""What ``report`` prints: runs, a layout and a format in, text out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

from backends.results.document import document, to_json
from backends.results.files import results_csv
from backends.results.layouts.airank import airank_tables
from backends.results.layouts.common import DEFAULT, LayoutOptions
from backends.results.layouts.dlperf_json import dlperf_document
from backends.results.layouts.pivot import pivot_tables
from backends.results.layouts.side_by_side import compare_tables
from backends.results.layouts.speedup import speedup_tables
from backends.results.render import Table, render_csv, render_markdown
from backends.results.run_result import RunResult
from backends.results.summary import Center, Group, summarise
from profiles.errors import SelectionError

Layout = Literal["speedup", "pivot", "compare", "airank", "dlperf-json"]
Format = Literal["md", "csv", "json"]

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
FORMATS: tuple[Format, ...] = get_args(Format)

_TABLES: Mapping[str, Callable[[Sequence[Group], LayoutOptions], tuple[Table, ...]]] = {
    "speedup": speedup_tables,
    "pivot": pivot_tables,
    "compare": compare_tables,
    "airank": airank_tables,
}


def publish(
    campaign: str,
    runs: Sequence[RunResult],
    *,
    layout: Layout = "speedup",
    format: Format | None = None,
    center: Center = "median",
    options: LayoutOptions = DEFAULT,
) -> str:
    """The text of one layout; ends with a line break.

    ``md`` (the default) gives the layout's tables. ``csv`` gives them as CSV; the speedup layout
    gives the long table of results.csv unless ``options`` choose columns. ``json`` is the document
    of results.json whatever the layout; ``dlperf-json`` is always JSON.

    Raises
    ------
    SelectionError: an unknown layout or format, a combination that does not exist, or no result.
    """
    if layout not in LAYOUTS:
        raise SelectionError(f"no layout {layout!r}", remedy=f"choose from {', '.join(LAYOUTS)}")
    if format is not None and format not in FORMATS:
        raise SelectionError(f"no format {format!r}", remedy=f"choose from {', '.join(FORMATS)}")
    groups = summarise(runs, center)
    if layout == "dlperf-json":
        if format not in (None, "json"):
            raise SelectionError(f"dlperf-json is no {format}", remedy="leave --format out")
        return to_json(dlperf_document(groups))
    if format == "json":
        return to_json(document(campaign, runs, groups))
    if not groups:
        raise SelectionError("no runs to report", where=campaign, remedy="run the campaign first")
    if format == "csv" and layout == "speedup" and options == LayoutOptions(lang=options.lang):
        return results_csv(groups)
    tables = _TABLES[layout](groups, options)
    return render_csv(tables) if format == "csv" else render_markdown(tables)
