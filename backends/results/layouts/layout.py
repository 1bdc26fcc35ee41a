"""What every layout is: a name, a word of help, and a writer for each format that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from backends import version
from backends.hosts.machines import NOT_RECORDED, Recorded
from backends.results.escaping import md_text
from backends.results.layouts.arrange import arranged
from backends.results.layouts.case_rows import Rows, case_rows_csv
from backends.results.layouts.common import DEFAULT, LayoutOptions
from backends.results.provenance import provenance
from backends.results.render import Column, Table, render_csv, render_markdown
from backends.results.results_json import document, to_json
from backends.results.run_result import RunResult
from backends.results.summary import Group
from backends.results.translations import Lang, words

Format = Literal["md", "csv", "json"]

NO_RUNS = ("no runs to report", "run the campaign first")


@dataclass(frozen=True, slots=True)
class Results:
    """What there is to lay out: the runs of a campaign, or of several, and their summary.

    ``path``: the campaign's directory; None: of several. ``precheck``: of its hosts before it.
    ``machines``: that their hosts were. ``notes``: of the campaign.
    """

    campaign: str
    runs: Sequence[RunResult]
    groups: Sequence[Group]
    path: Path | None = None
    precheck: Mapping[str, object] | None = None
    machines: Recorded = field(default_factory=dict)
    notes: Sequence[tuple[float, str, str]] = ()


Writer = Callable[[Results, LayoutOptions], str]
Tables = Callable[[Sequence[Group], LayoutOptions], tuple[Table, ...]]


ColumnNames = Callable[[Sequence[Group], LayoutOptions], Sequence[str]]


def _as_in_the_table(_groups: Sequence[Group], _options: LayoutOptions) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Layout:
    """``writers``: by format, the one that is taken when none is asked for first.

    A writer returns text that ends with a line break, and raises SelectionError for a column that
    does not exist. ``fits``: whether there is anything of what it lays out; ``lacks``: what is said
    where there is not, and how to mend it. ``tables``: None of one that is no tables.
    ``csv_columns``: what CSV calls each column of the table; empty: as in the table.
    """

    name: str
    help: str
    writers: Mapping[Format, Writer]
    fits: Callable[[Sequence[Group]], bool] = bool
    lacks: tuple[str, str] = NO_RUNS
    tables: Tables | None = None
    csv_columns: ColumnNames = _as_in_the_table

    @property
    def formats(self) -> tuple[Format, ...]:
        return tuple(self.writers)

    def translates(self, format: str) -> bool:
        """Whether there is a text of each language; those for programs are in English."""
        return format not in ("csv", "json")

    def writes_document(self, format: str) -> bool:
        """In that format it is the document of results.json, whichever layout it is."""
        return format == "json" and self.writers.get("json") is write_document


def layout_of_tables(
    name: str,
    help: str,
    tables: Tables,
    *,
    csv: Writer | None = None,
    json: Writer | None = None,
    rows: Rows | None = None,
    csv_columns: ColumnNames = _as_in_the_table,
    fits: Callable[[Sequence[Group]], bool] = bool,
    lacks: tuple[str, str] = NO_RUNS,
) -> Layout:
    """Tables as markdown and as CSV; as JSON the document of results.json.

    ``csv``, ``json``: what is written instead of these. ``rows``: what CSV has of a case that the
    tables have, unless another order or decimals were chosen. ``csv_columns``: of
    ``csv``, as :class:`Layout` has it.
    """

    def as_rows(options: LayoutOptions) -> bool:
        return rows is not None and options == LayoutOptions(lang=options.lang)

    def shown(groups: Sequence[Group], options: LayoutOptions) -> tuple[Table, ...]:
        return arranged(tables(groups, options), options.arrangement)

    def markdown(results: Results, options: LayoutOptions) -> str:
        text = render_markdown(shown(results.groups, options))
        below = footer(results.groups, options, results.machines)
        return f"{text}\n{md_text(below)}\n" if below else text

    def tables_csv(results: Results, options: LayoutOptions) -> str:
        if rows is not None and as_rows(options):
            return case_rows_csv([group for group in results.groups if fits([group])], rows)
        told = tables(results.groups, replace(options, exact=True))
        marked = [with_shared(table, options.lang) for table in told]
        return render_csv(arranged(marked, options.arrangement))

    writers: dict[Format, Writer] = {
        "md": markdown,
        "csv": csv or tables_csv,
        "json": json or write_document,
    }
    return Layout(name, help, writers, fits, lacks, shown, csv_columns)


def footer(
    groups: Sequence[Group], options: LayoutOptions = DEFAULT, machines: Recorded = NOT_RECORDED
) -> str:
    """What stands below the tables for people: where their figures come from. Empty in a style
    that is as somebody else's report."""
    if options.style != DEFAULT.style:
        return ""
    cases = [case for group in groups for case in group.cases]
    return provenance(cases, version(), options.lang, machines=machines)


def with_shared(table: Table, lang: Lang) -> Table:
    """CSV has no captions and no notes: each row says what is so of all, and where nobody measured
    the figures it says that too."""
    shared = list(table.shared)
    if words(lang).simulated in table.notes:
        shared.append(("measured", "SIMULATED"))
    return replace(
        table,
        columns=(*table.columns, *(Column(name, "left") for name, _ in shared)),
        rows=tuple((*row, *(value for _, value in shared)) for row in table.rows),
    )


def write_document(results: Results, _options: LayoutOptions) -> str:
    runs, groups = results.runs, results.groups
    told = document(results.campaign, runs, groups, results.path, results.precheck, results.notes)
    return to_json(told)
