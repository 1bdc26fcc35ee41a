"""The runs of a campaign that is on disk."""

from __future__ import annotations

from pathlib import Path

from backends.campaign.record.run_results import run_results
from backends.results.run_result import RunResult
from backends.use_cases import Workspace
from profiles.errors import SelectionError
from tui.cli.shared.output import say


def runs_of(workspace: Workspace, path: Path) -> tuple[RunResult, ...]:
    """What must be known of them is said. Raises :class:`SelectionError` where there is none."""
    for remark in workspace.remarks(path):
        say(f"note: {path.name}: {remark}")
    runs = run_results(workspace.state(path))
    if not runs:
        raise SelectionError("the campaign has no runs", where=str(path))
    return runs
