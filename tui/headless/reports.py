"""report and compare: tables of campaigns, and what became slower."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from backends.campaign.record.run_results import run_results
from backends.results.compare import compare as compare_runs
from backends.results.compare import comparison_document, comparison_table
from backends.results.files import write_atomically, write_figures
from backends.results.layouts.common import LayoutOptions
from backends.results.publish import Layout, publish
from backends.results.render import render_markdown
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from backends.workspace import Workspace
from profiles.errors import DlperfError, SelectionError
from tui.headless.common import open_workspace, print_json, say

OK, REGRESSION = 0, 1


def report(arguments: argparse.Namespace) -> int:
    """``report``: one layout of one or more campaigns."""
    workspace = open_workspace(arguments)
    paths = [workspace.find_campaign(name) for name in arguments.campaigns_named]
    base = _base(arguments.output, paths)
    runs = [_linked(run, path, base) for path in paths for run in _runs(workspace, path)]
    layout: Layout = "speedup" if arguments.layout is None else arguments.layout
    text = publish(
        " + ".join(path.name for path in paths),
        runs,
        layout=layout,
        format=arguments.format,
        center=arguments.center,
        options=LayoutOptions(
            lang=arguments.lang,
            style=arguments.style,
            columns=tuple(arguments.columns.split(",")) if arguments.columns else None,
            decimals=arguments.decimals,
        ),
    )
    if arguments.output is None:
        print(text, end="")
    else:
        _write(arguments.output, text)
        say(f"written: {arguments.output}")
    if arguments.figures:
        for _title, name in write_figures(base, summarise(runs), arguments.lang):
            say(f"written: {base / name}")
    return OK


def _base(output: Path | None, paths: Sequence[Path]) -> Path:
    """What links are relative to: the written file's directory, else the one campaign's own."""
    if output is not None:
        return output.parent
    return paths[0] if len(paths) == 1 else Path.cwd()


def _linked(run: RunResult, campaign: Path, base: Path) -> RunResult:
    if run.log is None or campaign.resolve() == base.resolve():
        return run
    return replace(run, log=os.path.relpath(campaign / run.log, base))


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        raise DlperfError(
            f"cannot write: {error.strerror}", where=str(path), remedy="give another -o"
        ) from error


def compare(arguments: argparse.Namespace) -> int:
    """``compare``: exit code 1 when the candidate has a regression."""
    workspace = open_workspace(arguments)
    baseline, candidate = (
        _runs(workspace, workspace.find_campaign(name))
        for name in (arguments.baseline, arguments.candidate)
    )
    result = compare_runs(baseline, candidate, parse_threshold(arguments.threshold))
    if arguments.json:
        print_json(comparison_document(result))
    else:
        print(render_markdown([comparison_table(result)]), end="")
    return REGRESSION if result.regressions else OK


def parse_threshold(text: str) -> float:
    """``2%`` or ``2`` as 0.02.

    Raises
    ------
    SelectionError: it is no number.
    """
    try:
        return float(text.strip().removesuffix("%")) / 100
    except ValueError:
        raise SelectionError(
            f"{text!r} is no percentage", where="--threshold", remedy="such as 2%"
        ) from None


def _runs(workspace: Workspace, path: Path) -> tuple[RunResult, ...]:
    runs = run_results(workspace.state(path))
    if not runs:
        raise SelectionError("the campaign has no runs", where=str(path))
    return runs
