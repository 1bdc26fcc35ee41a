"""Published figures: what a row of a table says, and the reading of the tables.

A table is UTF-8 with a heading line and one tab between cells; lines that are empty or begin with
``#`` say nothing. docs/reports.md describes the columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TypeVar

from profiles.errors import DlperfError
from profiles.gpu_models import GpuModel, gpu_model
from profiles.references.arithmetic import Arithmetic

TABLES = Path(__file__).parent
"""Where the bundled tables are."""


class TableError(DlperfError):
    """A table of published figures cannot be read, or one of its rows is not a figure."""


class Measured(StrEnum):
    """What a figure is of: ``throughput`` of all GPUs together; ``time_to_train`` to the quality
    that the workload names."""

    THROUGHPUT = "throughput"
    TIME_TO_TRAIN = "time_to_train"


UNITS = {
    Measured.THROUGHPUT: ("images/s", "sequences/s", "tokens/s", "words/s", "samples/s", "GB/s"),
    Measured.TIME_TO_TRAIN: ("min",),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """One published figure.

    Parameters
    ----------
    value: in ``unit``, one of :data:`UNITS`; above 0.
    system: what was measured, short, with the name of who published it.
    gpus: of all ``nodes`` together.
    batch_size: samples per GPU and step; None where the source does not say.
    source: where it stands; an address, or a document. date: YYYY, YYYY-MM or
        YYYY-MM-DD; empty where it does not say.
    caveat: what to know before quoting it.
    """

    workload: str
    metric: Measured
    value: float
    unit: str
    precision: Arithmetic
    system: str
    gpu: GpuModel
    gpus: int
    nodes: int
    batch_size: int | None
    framework: str
    source: str
    date: str
    caveat: str


COLUMNS = (
    *("workload", "metric", "value", "unit", "precision", "system", "gpu", "gpus", "nodes"),
    *("batch_size", "framework", "source", "date", "caveat"),
)
T = TypeVar("T")
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")


@cache
def bundled_references() -> tuple[Reference, ...]:
    """Every figure of every bundled table; raises like :func:`read_table`."""
    return tuple(row for path in sorted(TABLES.glob("*.tsv")) for row in read_table(path))


def read_table(path: Path) -> tuple[Reference, ...]:
    """The figures of one table, in its order.

    Raises
    ------
    TableError: the file cannot be read, or a row is wrong; names file, line and column.
    """
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise TableError(f"cannot read the table: {reason}", where=str(path)) from error
    return parse_table(text, str(path))


def parse_table(text: str, name: str) -> tuple[Reference, ...]:
    """The same of a table's text; ``name`` is what errors call it."""
    lines = _lines(text)
    number, heading = next(lines, (1, ""))
    if tuple(heading.split("\t")) != COLUMNS:
        raise TableError(
            "the first line does not name the columns",
            where=f"{name}:{number}",
            remedy=f"it is, with tabs between: {' '.join(COLUMNS)}",
        )
    rows: dict[Reference, int] = {}
    for number, line in lines:
        where = f"{name}:{number}"
        row = _row(line.split("\t"), where)
        if row in rows:
            raise TableError(f"the same as line {rows[row]}", where=where, remedy="remove it")
        rows[row] = number
    return tuple(rows)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.removesuffix("\r")


def _row(cells: Sequence[str], where: str) -> Reference:
    if len(cells) != len(COLUMNS):
        raise TableError(
            f"{len(cells)} cells for {len(COLUMNS)} columns", where=where, remedy="mend the row"
        )
    row = _Cells(dict(zip(COLUMNS, cells, strict=True)), where)
    metric = row.one_of("metric", {str(kind): kind for kind in Measured})
    gpus, nodes = row.count("gpus"), row.count("nodes")
    if gpus % nodes:
        raise row.mistake("nodes", f"{gpus} GPUs do not divide among them")
    return Reference(
        workload=row.text("workload"),
        metric=metric,
        value=row.read("value", _value, "a number above 0, without thousands"),
        unit=row.one_of("unit", {unit: unit for unit in UNITS[metric]}),
        precision=row.one_of(
            "precision", {str(a): a for a in Arithmetic if a != Arithmetic.SINGLE}
        ),
        system=row.text("system"),
        gpu=row.read("gpu", gpu_model, "no model of profiles/gpu_models.py"),
        gpus=gpus,
        nodes=nodes,
        batch_size=row.count("batch_size") if row.cells["batch_size"] else None,
        framework=row.text("framework"),
        source=row.text("source"),
        date=row.read("date", _date, "YYYY, YYYY-MM, YYYY-MM-DD, or nothing"),
        caveat=row.text("caveat", empty=True),
    )


@dataclass(frozen=True, slots=True)
class _Cells:
    """One row's cells by column, and where it stands."""

    cells: dict[str, str]
    where: str

    def mistake(self, column: str, what: str) -> TableError:
        found = self.cells[column]
        return TableError(f"{column} {found!r}: {what}", where=self.where)

    def text(self, column: str, *, empty: bool = False) -> str:
        text = self.cells[column]
        if text != text.strip() or not text.isprintable():
            raise self.mistake(column, "space around it, or a character that does not print")
        if not text and not empty:
            raise self.mistake(column, "is empty")
        return text

    def read(self, column: str, reader: Callable[[str], T | None], what: str) -> T:
        found = reader(self.cells[column])
        if found is None:
            raise self.mistake(column, what)
        return found

    def one_of(self, column: str, choices: dict[str, T]) -> T:
        return self.read(column, choices.get, f"none of {', '.join(choices)}")

    def count(self, column: str) -> int:
        return self.read(column, _count, "a whole number from 1 on")


def _value(text: str) -> float | None:
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return None
    value = float(text)
    return value if math.isfinite(value) and value > 0 else None


def _count(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[1-9]\d{0,6}", text, re.ASCII) else None


def _date(text: str) -> str | None:
    return text if not text or _DATE.fullmatch(text) else None
