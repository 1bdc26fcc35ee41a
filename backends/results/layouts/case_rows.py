"""A layout's figures for programs: CSV whose every row says by itself what it is of."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence

from backends.results.case_result import CaseResult
from backends.results.escaping import csv_cell
from backends.results.results_json import Cell, result_columns, result_rows
from backends.results.summary import Group

Rows = Callable[[CaseResult], Iterable[Mapping[str, Cell]]]
"""Of a case what the layout has of it, by name, the same names in every row."""


def case_rows_csv(groups: Sequence[Group], rows: Rows) -> str:
    """Before them the campaign, the columns of results.csv up to the parameters, and the unit;
    behind them how many repeats there are of it, its grade and flags, and whether nobody measured
    it."""
    names = [name for name in result_columns(groups) if name != "campaign"]
    identity = ("campaign", *names[: names.index("throughput")])
    cases = [case for group in groups for case in group.cases]
    told = []
    for case, known in zip(cases, result_rows(groups), strict=True):
        first = {name: known.get(name) for name in (*identity, "unit")}
        last = {name: known[name] for name in ("succeeded", "repeats", "grade", "flags")}
        told += [{**first, **own, **last, "simulated": case.simulated} for own in rows(case)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(csv_cell, told[0] if told else identity))
    writer.writerows([_text(value) for value in row.values()] for row in told)
    return out.getvalue()


def _text(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return csv_cell(value) if isinstance(value, str) else repr(value)
