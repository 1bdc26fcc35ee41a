"""Figures entered by hand: published results as a campaign that reports like any other.

A TOML or CSV file, described in docs/reports.md. Defaults stand at the top, in ``[[groups]]``, or
on the figure itself; the nearest wins, parameters and metrics are merged.
"""

from __future__ import annotations

import csv
import hashlib
import io
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from backends.results.run_result import RunResult
from profiles.case_tag import format_tag, parse_tag
from profiles.errors import DlperfError, SelectionError
from profiles.nearest import did_you_mean
from profiles.scalars import Scalar
from profiles.schema_mistakes import SchemaMistake, mistakes, read_toml

_TABLE_COLUMNS = ("profile", "framework", "model", "unit", "fingerprint")
_FIGURE_COLUMNS = ("case", "repeat", "throughput", "gpu_memory_mib", "log")
_METRIC = "metric:"
_EMPTY = frozenset({"", "-", "–"})
_LARGEST = 1 << 20  # bytes; figures are entered by hand


class FiguresError(DlperfError):
    """A file of figures cannot be read, or one of its entries is not a figure."""


Speed = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Metric = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: str = ""
    framework: str = ""
    model: str = ""
    unit: str = ""
    fingerprint: str = ""
    parameters: Mapping[str, Scalar] = Field(default_factory=dict)
    metrics: Mapping[str, Metric] = Field(default_factory=dict)


class Figure(_Entry):
    """One case, or one repeat of it. Several throughputs are as many repeats."""

    case: str
    throughput: Speed | tuple[Speed, ...] | None = None
    gpu_memory_mib: Annotated[int, Field(gt=0, strict=True)] | None = None
    log: str | tuple[str, ...] = ()
    repeat: Annotated[int, Field(ge=1, strict=True)] | None = None


class Row(Figure):
    """A figure as a row of a table, whose cells are single values."""

    throughput: Speed | None = None
    log: str | tuple[()] = ()


class Figures(_Entry):
    """A group of figures with what they have in common."""

    source: str = ""
    figures: tuple[Figure, ...] = ()


class FiguresFile(Figures):
    groups: tuple[Figures, ...] = ()


@dataclass(frozen=True, slots=True)
class _Placed:
    """A figure with what it inherits, the nearest last, and where it stands."""

    levels: tuple[_Entry, ...]
    figure: Figure
    where: str


def import_figures(path: Path) -> list[RunResult]:
    """The runs of a ``.toml`` or ``.csv`` file of figures, marked as imported, in file order.

    A figure with metrics of its own and no throughput has succeeded in those; one with neither is
    a planned run: its case is known and shows as "-".

    Raises
    ------
    FiguresError: the file is missing, malformed, or holds no figure; names file, entry and key.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
        if len(raw) > _LARGEST:
            raise FiguresError(
                "more than 1 MiB of figures", where=str(path), remedy="split the file"
            )
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise FiguresError(
            f"cannot read the figures: {reason}", where=str(path), remedy="check path and access"
        ) from error
    read = _from_csv if path.suffix.lower() == ".csv" else _from_toml
    runs = list(_runs(read(text, path)))
    if not runs:
        raise FiguresError(
            "no figures", where=str(path), remedy="add a [[figures]] table with case and throughput"
        )
    return runs


def _from_toml(text: str, path: Path) -> Iterator[_Placed]:
    try:
        document = read_toml(text)
        file = FiguresFile.model_validate(document)
    except tomllib.TOMLDecodeError as error:
        raise FiguresError(
            f"not valid TOML: {error}", where=str(path), remedy="mend the line"
        ) from None
    except ValidationError as error:
        raise _invalid(error, document, f"{path}: ") from None
    for number, figure in enumerate(file.figures, start=1):
        yield _Placed((file, figure), figure, f"{path}: figures[{number}]")
    for place, group in enumerate(file.groups, start=1):
        for number, figure in enumerate(group.figures, start=1):
            where = f"{path}: groups[{place}].figures[{number}]"
            yield _Placed((file, group, figure), figure, where)


def _from_csv(text: str, path: Path) -> Iterator[_Placed]:
    """Columns that are not known are parameters; ``metric:NAME`` is a metric. "-" is nothing."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        _check_columns([name.strip() for name in reader.fieldnames or ()], path)
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if None in row or None in row.values():
                raise FiguresError(
                    f"not {len(reader.fieldnames or ())} cells", where=where, remedy="mend the row"
                )
            cells = _csv_figure(row)
            try:
                figure = Row.model_validate(cells)
            except ValidationError as error:
                raise _invalid(error, cells, f"{where}: ") from None
            yield _Placed((figure,), figure, where)
    except csv.Error as error:
        raise FiguresError(
            f"not valid CSV: {error}", where=f"{path}:{reader.line_num}", remedy="mend the row"
        ) from None


def _check_columns(names: Sequence[str], path: Path) -> None:
    for name in names:
        if names.count(name) > 1:
            raise FiguresError(
                f"two columns are called {name!r}", where=f"{path}:1", remedy="rename one of them"
            )


def _csv_figure(row: Mapping[str, str]) -> dict[str, Any]:  # not validated yet
    figure: dict[str, Any] = {"parameters": {}, "metrics": {}}
    for column, text in row.items():
        name, value = column.strip(), text.strip()
        if value in _EMPTY:
            continue
        if name.startswith(_METRIC):
            figure["metrics"][name.removeprefix(_METRIC)] = _number(value)
        elif name in _TABLE_COLUMNS or name in ("case", "log"):
            figure[name] = value
        elif name in _FIGURE_COLUMNS:
            figure[name] = _number(value)
        else:
            figure["parameters"][name] = _number(value)
    return figure


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _invalid(error: ValidationError, document: object, where: str) -> FiguresError:
    found = mistakes(error.errors(include_url=False), document)
    first = found[0]
    if first.kind == "extra_forbidden":
        known = [name for name in Figure.model_fields if name not in _TABLE_COLUMNS]
        what = f"unknown key{did_you_mean(str(first.at[-1]), known)}"
        remedy = "what is no key of a figure belongs to its parameters or metrics"
    else:
        what, remedy = first.what, _remedy(first)
    key = "".join(f"[{p + 1}]" if isinstance(p, int) else f".{p}" for p in first.at)
    more = f"; {len(found) - 1} more to mend after that" if len(found) > 1 else ""
    return FiguresError(what, where=where + key.lstrip("."), remedy=remedy + more)


def _remedy(mistake: SchemaMistake) -> str:
    return next((_WRITE[key] for key in mistake.at if key in _WRITE), _MANUAL)


_MANUAL = "docs/reports.md describes the file"
_WRITE: Mapping[int | str, str] = {
    "case": "write nodes and GPUs per node, such as 1n1g or 2n8g",
    "throughput": "write digits alone, such as 1234.5, or leave it out",
    "metrics": "write digits alone, such as 76.6",
    "gpu_memory_mib": "write MiB, such as 12565",
    "repeat": "count from 1, or leave it out",
}


def _runs(entered: Iterable[_Placed]) -> Iterator[RunResult]:
    """Raises FiguresError where two figures are the same repeat of a case."""
    places: dict[str, dict[int, str]] = {}
    for placed in entered:
        yield from _figure_runs(placed, places)


def _figure_runs(placed: _Placed, places: dict[str, dict[int, str]]) -> Iterator[RunResult]:
    """``places``: where each repeat stands that there is already, by case and number."""
    outer, figure, where = placed.levels, placed.figure, placed.where
    common = {name: _nearest(outer, name) for name in _TABLE_COLUMNS}
    for name in ("framework", "model"):
        if not common[name]:
            raise FiguresError(f"no {name}", where=where, remedy=f'add {name} = "…"')
    try:
        nodes, gpus_per_node = parse_tag(figure.case)
    except SelectionError as error:
        raise FiguresError(error.what, where=where, remedy=error.remedy) from None
    parameters = {name: value for level in outer for name, value in level.parameters.items()}
    metrics = {name: float(value) for level in outer for name, value in level.metrics.items()}
    profile = common["profile"] or _slug(f"{common['framework']}-{common['model']}")
    tag = format_tag(nodes, gpus_per_node)
    key = "/".join([profile, tag, *(f"{k}={v}" for k, v in sorted(parameters.items()))])
    speeds = figure.throughput if isinstance(figure.throughput, tuple) else (figure.throughput,)
    logs = figure.log if isinstance(figure.log, tuple) else (figure.log,)
    if logs and len(logs) != len(speeds):
        raise FiguresError(
            f"{len(logs)} logs for {len(speeds)} throughputs", where=where, remedy="give one each"
        )
    for index, speed in enumerate(speeds or (None,)):
        first = figure.repeat if figure.repeat is not None and index == 0 else None
        taken = places.setdefault(key, {})
        repeat = first or next(reversed(taken), 0) + 1
        if repeat in taken:
            raise FiguresError(
                f"is repeat {repeat} of {tag}, and {taken[repeat]} is as well",
                where=where,
                remedy="give each repeat a number of its own, or none a number",
            )
        taken[repeat] = where
        yield RunResult(
            run_id=_run_id(profile, tag, key, repeat),
            profile=profile,
            framework=common["framework"],
            model=common["model"],
            case_tag=tag,
            nodes=nodes,
            gpus_per_node=gpus_per_node,
            parameters=parameters,
            repeat=repeat,
            state="planned" if speed is None and not figure.metrics else "succeeded",
            throughput=None if speed is None else float(speed),
            unit=common["unit"] or "samples/s",
            log=_relative(logs[index], where) if logs else None,
            metrics=metrics,
            gpu_memory_mib=figure.gpu_memory_mib,
            window=_source(outer),
            statistic="as published",
            fingerprint=common["fingerprint"],
            imported=True,
        )


def _source(levels: tuple[_Entry, ...]) -> str:
    groups = (level for level in reversed(levels) if isinstance(level, Figures))
    return next((group.source for group in groups if group.source), "")


def _nearest(levels: tuple[_Entry, ...], name: str) -> str:
    return next((value for level in reversed(levels) if (value := getattr(level, name))), "")


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def _run_id(profile: str, tag: str, key: str, repeat: int) -> str:
    digest = hashlib.sha256(f"{key}#{repeat}".encode()).hexdigest()[:10]
    return f"{profile}-{tag}-r{repeat}-{digest}"


def _relative(log: str, where: str) -> str:
    path = PurePosixPath(log)
    if path.is_absolute() or ".." in path.parts:
        raise FiguresError(
            f"log {log!r} leads out of the campaign", where=where, remedy="give a relative path"
        )
    return str(path)
