"""Results as a tidy pandas frame, which tables, results.csv and scripts share.

pandas is imported here only, and only when a frame is built: it takes 0.4 s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backends.results.escaping import csv_cell
from backends.results.results_json import Cell, result_columns, result_rows
from backends.results.summary import Group

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Grid:
    """Throughputs by case (GPUs, nodes, tag) and group; None where there is no figure."""

    index: tuple[tuple[int, int, str], ...]
    rows: tuple[tuple[float | None, ...], ...]


def results_frame(groups: Sequence[Group]) -> pd.DataFrame:
    """One row per case, in the order of ``groups``; the columns are those of results.csv.

    docs/reports.md lists them. What is not known is NA, and every column has a kind that knows it:
    ``Int64``, ``Float64``, ``boolean``, ``string``, or ``object`` where a parameter has several.
    """
    import pandas as pd  # noqa: PLC0415

    rows, columns = result_rows(groups), list(result_columns(groups))
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    return frame.astype({name: _kind(row.get(name) for row in rows) for name in columns})


def results_csv(groups: Sequence[Group]) -> str:
    """:func:`results_frame` as CSV: text escaped, floats whole, true and false, NA empty."""
    frame = results_frame(groups)
    for name in frame.columns:
        if frame[name].dtype not in ("Int64", "Float64"):
            frame[name] = frame[name].astype(object).map(_csv_value, na_action="ignore")
    return frame.rename(columns=csv_cell).to_csv(index=False, lineterminator="\n")


def throughput_grid(groups: Sequence[Group]) -> Grid:
    """Cases down, groups across, by number of GPUs; cases of which nothing is known are kept."""
    import pandas as pd  # noqa: PLC0415

    frame = results_frame(groups)
    frame["group"] = [number for number, group in enumerate(groups) for _ in group.cases]
    wide = frame.pivot(index=["gpus", "nodes", "case"], columns="group", values="throughput")
    wide = wide.reindex(columns=range(len(groups))).sort_index()
    return Grid(
        index=tuple((int(gpus), int(nodes), str(tag)) for gpus, nodes, tag in wide.index),
        rows=tuple(
            tuple(None if pd.isna(value) else float(value) for value in row)
            for row in wide.itertuples(index=False, name=None)
        ),
    )


def _kind(values: Iterable[Cell]) -> str:
    """The dtype of a column; one of which nothing is known is of numbers."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return "Int64" if kinds == {int} else "Float64"
    return {bool: "boolean", str: "string"}[kinds.pop()] if len(kinds) == 1 else "object"


def _csv_value(value: str | float) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return csv_cell(value) if isinstance(value, str) else repr(value)
