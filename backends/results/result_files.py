"""results.csv, results.json, report.md and the figures of a campaign, replaced as a whole or not
at all."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from backends.file_modes import make_directory, make_file
from backends.results.campaign_report import ReportContext, render_report
from backends.results.dataframe import results_csv
from backends.results.results_json import document, to_json
from backends.results.run_result import RunResult
from backends.results.summary import Group, summarise
from backends.results.translations import Lang

ABANDONED_AFTER_S = 86400.0


def write_results(
    directory: Path,
    context: ReportContext,
    runs: Sequence[RunResult],
    *,
    lang: Lang = "en",
    figures: bool = False,
    precheck: Mapping[str, object] | None = None,
    notes: Sequence[tuple[float, str, str]] = (),
) -> tuple[Group, ...]:
    """Rewrite the results of a campaign from all that is known of its runs.

    Call it from a thread where a screen must not wait. ``figures`` takes matplotlib; ``precheck``:
    what the results say of it; ``notes``: of the campaign, for JSON, as times, levels and texts.

    Returns
    -------
    The summary that was written.

    Raises
    ------
    OSError: the disk is full or the directory not writable; files that could not be written whole
        are left as they were.
    DlperfError: ``figures`` without matplotlib.
    """
    groups = summarise(runs)
    if figures:
        context = replace(context, figures=write_figures(directory, groups, lang))
    told = document(context.campaign, runs, groups, precheck=precheck, notes=notes)
    results = to_json(told)
    write_in_campaign(directory / "results.json", results)
    write_in_campaign(directory / "results.csv", results_csv(groups))
    write_in_campaign(directory / "report.md", render_report(context, runs, groups, lang))
    return groups


def write_atomically(path: Path, text: str) -> None:
    """Replace ``path`` by a file with ``text`` in UTF-8, synced before it takes the name.

    Raises
    ------
    OSError: nothing was replaced, and nothing half-written is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, text, lambda temporary: None)


def write_in_campaign(path: Path, content: str | bytes) -> None:
    """The same, to be read by whom the campaign's directory says; bytes as they are."""
    make_directory(path.parent)
    _replace(path, content, make_file)


def _replace(path: Path, content: str | bytes, make: Callable[[Path], None]) -> None:
    _remove_abandoned(path)
    # Of its own for each writing: two of one process, too, may be under way at once.
    writing = f"{os.getpid()}-{secrets.token_hex(4)}"
    temporary = path.with_name(f".{path.name}.{socket.gethostname()}.{writing}.tmp")
    try:
        make(temporary)
        if isinstance(content, str):  # a lone surrogate (a file name that is no UTF-8) is escaped
            content = content.encode("utf-8", "backslashreplace")
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _remove_abandoned(path: Path) -> None:
    """What was to become ``path`` and whose process was killed; of another machine after a day."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        host, _, writing = left.name[len(path.name) + 2 : -len(".tmp")].rpartition(".")
        pid = writing.partition("-")[0]
        with contextlib.suppress(OSError):
            gone = host == socket.gethostname() and not Path("/proc", pid).exists()
            if gone or time.time() - left.stat().st_mtime > ABANDONED_AFTER_S:
                left.unlink()


def write_figures(
    directory: Path,
    groups: Sequence[Group],
    lang: Lang,
    *,
    export: bool = False,
    check: Callable[[Path], None] | None = None,
) -> tuple[tuple[str, str], ...]:
    """Draw into ``directory/figures``; (title, path relative to ``directory``) of each.

    ``export``: that is no campaign's directory. ``check`` raises where a file must not be written;
    nothing is then.
    """
    from backends.results.svg_figures import draw_figures  # noqa: PLC0415 (matplotlib: 1 s)

    write = write_atomically if export else write_in_campaign
    written = []
    figures = draw_figures(groups, lang)
    if check is not None:
        for figure in figures:
            check(directory / "figures" / figure.name)
    for figure in figures:
        write(directory / "figures" / figure.name, figure.svg)
        written.append((figure.title, f"figures/{figure.name}"))
    return tuple(written)
