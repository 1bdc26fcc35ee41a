"""Results as pandas data frames. pandas is imported here only, and only when a frame is built."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backends.results.document import Cell, result_columns, result_rows
from backends.results.escaping import csv_cell
from backends.results.summary import Group

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Grid:
    """Throughputs by case (GPUs, nodes, tag) and group; None where there is no figure."""

    index: tuple[tuple[int, int, str], ...]
    rows: tuple[tuple[float | None, ...], ...]


def results_frame(groups: Sequence[Group]) -> pd.DataFrame:
    """The long table: one row per case, the columns of results.csv, missing figures as NA.

    Whole numbers stay whole (``Int64``), so that a missing GPU memory makes no 12565.0 of 12565.
    """
    import pandas as pd  # noqa: PLC0415 -- 0.4 s that the console must not pay to start

    frame = pd.DataFrame.from_records(result_rows(groups), columns=list(result_columns(groups)))
    return frame.convert_dtypes()


def results_csv(groups: Sequence[Group]) -> str:
    """One row per case: see :func:`backends.results.document.result_columns`."""
    columns = result_columns(groups)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(column) for column in columns])
    for row in result_rows(groups):
        writer.writerow([_csv_value(row.get(column)) for column in columns])
    return out.getvalue()


def _csv_value(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return csv_cell(value) if isinstance(value, str) else repr(value)


def throughput_grid(groups: Sequence[Group]) -> Grid:
    """Cases down, groups across, by number of GPUs; cases of which nothing is known are kept."""
    import pandas as pd  # noqa: PLC0415

    long = pd.DataFrame.from_records(
        [
            (case.gpus, case.nodes, case.case, column, case.throughput)
            for column, group in enumerate(groups)
            for case in group.cases
        ],
        columns=["gpus", "nodes", "case", "group", "throughput"],
    )
    wide = long.pivot(index=["gpus", "nodes", "case"], columns="group", values="throughput")
    wide = wide.reindex(columns=range(len(groups))).sort_index()
    return Grid(
        index=tuple((int(gpus), int(nodes), str(tag)) for gpus, nodes, tag in wide.index),
        rows=tuple(
            tuple(None if pd.isna(value) else float(value) for value in row)
            for row in wide.itertuples(index=False, name=None)
        ),
    )
