"""Runs of campaigns that are shown elsewhere than in their own directories, alone or together."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from backends.results.run_result import RunResult
from profiles.errors import SelectionError


def named_apart(
    paths: Sequence[Path], campaigns: Sequence[Sequence[RunResult]]
) -> list[list[RunResult]]:
    """Each campaign's runs with a name that no other has: a copy keeps the name of the original.

    Raises
    ------
    SelectionError: the same directory twice.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        twice = next(p for n, p in enumerate(paths) if p.resolve() in map(Path.resolve, paths[:n]))
        raise SelectionError("is named twice", where=str(twice), remedy="name it once")
    return [
        [replace(run, campaign=name) for run in runs]
        for name, runs in zip(names_apart(paths, campaigns), campaigns, strict=True)
    ]


def names_apart(paths: Sequence[Path], campaigns: Sequence[Sequence[RunResult]]) -> list[str]:
    """What each campaign's runs call it; of several alike by their directories."""
    own = [next((r.campaign for r in runs if r.campaign), "") for runs in campaigns]
    names = [name or path.name for name, path in zip(own, paths, strict=True)]
    for further in ([path.name for path in paths], [str(path) for path in paths]):
        names = _told_apart(names, further)
    return names


def called_each(names: Sequence[str], paths: Sequence[Path | None]) -> list[str]:
    """How each is called where people read of it: by its directory, as commands take it and lists
    have it, and by the path where others have one of that name. Of a bundle by its own name, with
    which that begins."""
    called = [*map(_called, names, paths)]
    alike = Counter(name for name, _ in {*zip(called, paths, strict=True)})
    return [
        name if path is None or alike[name] == 1 else str(path)
        for name, path in zip(called, paths, strict=True)
    ]


def _called(name: str, path: Path | None) -> str:
    if path is None or (name and path.name.startswith(f"{name}.")):
        return name
    return path.name or name


def begun_as(name: str, called: str) -> str:
    """``begun as NAME``; "" where a campaign is still ``called`` by its journal's ``name``, but for
    the day."""
    return "" if name.endswith(called) else f"begun as {name}"


def shown_name(name: str, path: Path) -> str:
    """How a text calls the campaign ``name`` of this directory: ``again (begun as first)``."""
    called = path.name or name
    begun = begun_as(name, called) if name else ""
    return f"{called} ({begun})" if begun else called


def shown_names(
    paths: Sequence[Path], campaigns: Sequence[Sequence[RunResult]], *, begun: bool = True
) -> tuple[tuple[RunResult, ...], ...]:
    """Each campaign's runs, with the name that a text has of it; of several alike their paths.
    ``begun``: with what it began as, where that is another; a column of CSV has one name."""
    began = (next((run.campaign for run in runs), "") for runs in campaigns)
    own = [
        shown_name(name if begun else "", path) or name
        for name, path in zip(began, paths, strict=True)
    ]
    names = _told_apart(own, [*map(str, paths)])
    return tuple(
        tuple(replace(run, campaign=name) for run in runs)
        for name, runs in zip(names, campaigns, strict=True)
    )


def _told_apart(names: Sequence[str], further: Sequence[str]) -> list[str]:
    """Those that several have replaced by their ``further`` ones."""
    return [b if names.count(a) > 1 else a for a, b in zip(names, further, strict=True)]


def logs_from(
    runs: Sequence[RunResult], campaign: Path, base: Path | None
) -> tuple[RunResult, ...]:
    """With paths of logs as they are found from the directory ``base``; absolute without one."""
    if base is not None and campaign.resolve() == base.resolve():
        return tuple(runs)

    def seen(log: str) -> str:
        path = (campaign / log).absolute()
        return str(path) if base is None else os.path.relpath(path, base.absolute())

    return tuple(replace(run, log=seen(run.log)) if run.log else run for run in runs)
