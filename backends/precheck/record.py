"""A precheck as it is kept: ``precheck.json``, the document that ``precheck --json`` prints."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from backends.file_modes import Share, make_directory
from backends.inventory.nodesets import ranked_nodeset
from backends.precheck.figures import Figure, Trouble
from backends.precheck.naming import Named, RankedHost, Ranking, Unequal
from backends.precheck.ranking import Measured
from profiles.errors import DlperfError

FILE_NAME = "precheck.json"
FOLDER = "precheck"
"""Of a campaign: the precheck that went before it."""
PRECHECKS = "prechecks"
"""Beside the campaigns: one directory each."""
SCHEMA = 1
MOST_BYTES = 64 * 1024 * 1024
MOST_KEPT = 50
"""So many of the latest are looked through for what hosts had before."""


class PrecheckError(DlperfError):
    """There is no such precheck, or its file is not one."""


@dataclass(frozen=True, slots=True)
class Precheck:
    """``ways``: how it was measured, in words. ``finished``: nobody stopped it. ``left``: what
    of it could not be removed from its host, and why."""

    name: str
    path: Path
    started_at: float
    seconds: float
    measured: Measured
    ranking: Ranking
    ways: tuple[str, ...] = ()
    finished: bool = True
    version: str = ""
    left: tuple[str, ...] = ()

    @property
    def ended_at(self) -> float:
        return self.started_at + self.seconds


def document(precheck: Precheck) -> dict[str, Any]:  # JSON
    """Keys: docs/precheck.md."""
    measured, ranking = precheck.measured, precheck.ranking
    return {
        "schema": SCHEMA,
        "precheck": precheck.name,
        "path": str(precheck.path),
        "version": precheck.version,
        "started_at": precheck.started_at,
        "seconds": precheck.seconds,
        "finished": precheck.finished,
        "hosts": list(measured.hosts),
        "left_out": dict(measured.left_out),
        "busy": dict(measured.busy),
        "shared": dict(measured.shared),
        "gpus": dict(measured.gpus),
        "ways": list(precheck.ways),
        "left": list(precheck.left),
        "ranking": _json(tuple[RankedHost, ...], ranking.hosts),
        "pairs": _json(tuple[Named, ...], ranking.pairs),
        "unequal": _json(tuple[Unequal, ...], ranking.unequal),
        "unexplained": _json(tuple[Trouble, ...], ranking.troubles),
        "alone": [list(one) for one in ranking.alone],
        "exclude": list(ranking.exclude),
        "keep_apart": [list(pair) for pair in ranking.keep_apart],
        "keep": ranked_nodeset(ranking.keep or ranking.proposed),
        "keep_together": ranked_nodeset(ranking.keep_together),
        "figures": _json(tuple[Figure, ...], measured.figures),
        "troubles": _json(tuple[Trouble, ...], measured.troubles),
    }


def to_text(precheck: Precheck) -> str:
    """The file's text."""
    text = json.dumps(document(precheck), indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n"


def read_precheck(path: Path) -> Precheck:
    """The precheck in a directory, or in its file.

    Raises
    ------
    PrecheckError: there is none, or somebody changed it.
    """
    file = path / FILE_NAME if path.is_dir() else path
    try:
        told = json.loads(_read(file))
        return _of_document(told, file.parent)
    except FileNotFoundError:
        raise PrecheckError(
            "no precheck is there", where=str(path), remedy="dlperf-tui precheck --list shows them"
        ) from None
    except OSError as error:
        raise PrecheckError(f"cannot be read: {error.strerror}", where=str(file)) from error
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise PrecheckError(
            f"not a precheck: {what}", where=str(file), remedy="measure again"
        ) from None


def _read(file: Path) -> bytes:
    """Of a regular file: another's pipe would have no end, a symlink may lead anywhere."""
    fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as stream:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(0, "it is no file")
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(0, "it is too large")
    return data


def _of_document(told: Mapping[str, Any], directory: Path) -> Precheck:
    if told["schema"] != SCHEMA:
        raise ValueError(f"schema {told['schema']} is of another version")
    measured = Measured(
        hosts=_value(tuple[str, ...], told["hosts"]),
        figures=_value(tuple[Figure, ...], told["figures"]),
        troubles=_value(tuple[Trouble, ...], told["troubles"]),
        left_out=_value(dict[str, str], told["left_out"]),
        busy=_value(dict[str, str], told.get("busy", {})),
        shared=_value(dict[str, str], told.get("shared", {})),
        gpus=_value(dict[str, str], told.get("gpus", {})),
    )
    ranking = Ranking(
        hosts=_value(tuple[RankedHost, ...], told["ranking"]),
        pairs=_value(tuple[Named, ...], told["pairs"]),
        unequal=_value(tuple[Unequal, ...], told["unequal"]),
        troubles=_value(tuple[Trouble, ...], told["unexplained"]),
        alone=_value(tuple[tuple[str, str], ...], told["alone"]),
    )
    return Precheck(
        name=_value(str, told["precheck"]),
        path=directory,
        started_at=_value(float, told["started_at"]),
        seconds=_value(float, told["seconds"]),
        measured=measured,
        ranking=ranking,
        ways=_value(tuple[str, ...], told["ways"]),
        finished=_value(bool, told["finished"]),
        version=_value(str, told["version"]),
        left=_value(tuple[str, ...], told["left"]),
    )


def _value(kind: Any, told: object) -> Any:  # what TypeAdapter takes and gives
    return _adapter(kind).validate_python(told)


def _json(kind: Any, value: object) -> Any:
    return _adapter(kind).dump_python(value, mode="json")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


# Where they are kept ------------------------------------------------------------------------------


def new_directory(campaigns_dir: Path, now: float, share: Share) -> Path:
    """A directory of its own, named by the time.

    Raises
    ------
    PrecheckError: it cannot be made.
    """
    name = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d-%H%M%S")
    home = campaigns_dir / PRECHECKS
    try:
        for number in range(1000):
            path = home / (f"{name}-{number + 1}" if number else name)
            try:
                make_directory(path, share, exist_ok=False)
            except FileExistsError:
                continue
            return path
    except OSError as error:
        raise PrecheckError(
            f"cannot make a directory: {error.strerror}",
            where=str(home),
            remedy="give a directory of your own with --campaigns",
        ) from error
    raise PrecheckError("too many of this second", where=str(home))


def prechecks(campaigns_dir: Path, most: int = MOST_KEPT) -> Iterator[Precheck]:
    """The latest that can be read, the newest first; what is no precheck is passed over."""
    try:
        names = sorted((p.name for p in (campaigns_dir / PRECHECKS).iterdir()), reverse=True)
    except OSError:
        return
    for name in names[:most]:
        try:
            yield read_precheck(campaigns_dir / PRECHECKS / name)
        except PrecheckError:
            continue


def figures_before(
    campaigns_dir: Path, hosts: Sequence[str], but: Path | None = None
) -> tuple[tuple[Figure, ...], ...]:
    """What these hosts had in earlier prechecks, the newest first; ``but``: which is not one."""
    return tuple(
        tuple(figure for figure in old.measured.figures if set(figure.hosts) & set(hosts))
        for old in prechecks(campaigns_dir)
        if old.path != but and old.finished
    )
