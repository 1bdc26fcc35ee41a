"""All that is known of a case, to be read by itself: with the exact command of a run of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.text import Text

from profiles.errors import DlperfError
from profiles.format.case import Case
from tui.backend_protocols import Workspace
from tui.matrix_below import case_lines, one_line
from tui.matrix_marks import Marks
from tui.matrix_request import Asked, lacking_settings, selection
from tui.plan_words import stand_in_lines
from tui.text import Hanging, plain
from tui.theme import WARN

WHOLE = 1000
"""Columns and lines: none is cut."""
DEEPER = 2
"""Columns by which a line goes on further to the right."""


def about_case(part: Marks, case: Case, asked: Asked, workspace: Workspace, now: float) -> Hanging:
    command = tuple(_command(part, case, asked.hosts, workspace))
    lines = case_lines(part, case, asked, now, WHOLE, WHOLE, command, beside=False)
    return Hanging(Text("\n", end="").join([*_refused(part, case, asked), *lines]), DEEPER)


def _refused(part: Marks, case: Case, asked: Asked) -> Iterator[Text]:
    """Before all that it would be."""
    for row in asked.cells(part):
        for cell in row:
            if cell.case.key == case.key and cell.reason and not cell.awaits:
                yield Text(f"{case.label} cannot run here: {plain(cell.reason)}", WARN)
                yield Text()


def _command(part: Marks, case: Case, hosts: str, workspace: Workspace) -> Iterator[str]:
    """What the first host executes, on these hosts or on such as can run it, and what stands there
    for what is not known yet. Nothing where no plan comes of the case."""
    profile = part.profile
    lacking = {name: name.upper() for name in lacking_settings(part)}
    given = replace(part, settings={**part.settings, **lacking})
    asked = selection({profile.name: given}, {profile.name: [case]}, repeats=1, hosts=hosts)
    try:
        plan = workspace.plan(asked)
        runs = workspace.dry_run(plan) or workspace.dry_run_elsewhere(plan)
    except DlperfError:  # said where it is marked
        return
    for run in runs[:1]:
        yield f"on {run.hosts[0]}: {one_line(run.commands[0])}"
        yield from stand_in_lines(runs)
        for name, word in lacking.items():
            yield f"{word} stands for the setting {name}, which s gives"
